// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Explain.cpp - what became of each collective, and why ------------===//

#include "pkb/Driver/Explain.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace pkb;
namespace json = llvm::json;

namespace {

/// Hands every remark of a context to an explanation.
class Listener : public remark::detail::MLIRRemarkStreamerBase {
public:
  explicit Listener(Explanation &explanation) : explanation(explanation) {}
  void streamOptimizationRemark(const remark::detail::Remark &remark) override { explanation.add(remark); }

private:
  Explanation &explanation;
};

} // namespace

LogicalResult Explanation::listen(MLIRContext &context) {
  remark::RemarkCategories everything;
  everything.passed = everything.missed = everything.analysis = everything.failed = ".*";
  return remark::enableOptimizationRemarks(context, std::make_unique<Listener>(*this), std::make_unique<remark::RemarkEmittingPolicyAll>(), everything);
}

/// The innermost place in a file that `loc` names.
static FileLineColLoc placeOf(Location loc) {
  FileLineColLoc place;
  loc->walk([&](Location inner) {
    place = dyn_cast<FileLineColLoc>(inner);
    return place ? WalkResult::interrupt() : WalkResult::advance();
  });
  return place;
}

std::string Explanation::lineOf(StringRef file, int64_t line) const {
  auto known = sources.find({file.str(), line});
  if (known != sources.end())
    return StringRef(known->second).trim().str();
  auto buffer = llvm::MemoryBuffer::getFile(file, /*IsText=*/true);
  if (!buffer)
    return "";
  StringRef rest = (*buffer)->getBuffer();
  for (int64_t number = 1; number < line; ++number)
    rest = rest.split('\n').second;
  return rest.split('\n').first.trim().str();
}

/// The entry of a call. One line may call several times: decisions of one kind come in the order of the program.
ExplainedCollective &Explanation::find(Location loc, StringRef function, StringRef collective, bool forMechanism) {
  FileLineColLoc place = placeOf(loc);
  std::string file = place ? place.getFilename().str() : "";
  int64_t line = place ? place.getLine() : 0;
  for (ExplainedCollective &known : collectives)
    if (known.file == file && known.line == line && known.function == function && known.collective == collective &&
        !(forMechanism ? known.mechanism.has_value() : known.fusion.has_value()))
      return known;
  ExplainedCollective call;
  call.file = file;
  call.line = line;
  call.text = place ? lineOf(file, line) : "";
  call.function = function;
  call.collective = collective;
  collectives.push_back(std::move(call));
  return collectives.back();
}

void Explanation::add(const remark::detail::Remark &remark) {
  if (auto fusion = getFusionDecision(remark)) {
    find(remark.getLocation(), fusion->function, fusion->collective, /*forMechanism=*/false).fusion = std::move(fusion);
  } else if (auto mechanism = getMechanismDecision(remark)) {
    ExplainedCollective &call = find(remark.getLocation(), mechanism->function, mechanism->collective, /*forMechanism=*/true);
    for (int64_t row = 0; row < mechanism->group.getNumRows(); ++row)
      call.group.emplace_back(mechanism->group.getRow(row));
    mechanism->group = {};
    call.mechanism = std::move(mechanism);
  } else if (auto made = getStepsDecision(remark)) {
    steps.push_back(std::move(*made));
  } else {
    for (const remark::detail::Remark::Arg &argument : remark.getArgs())
      if (!llvm::is_contained(notes, argument.val))
        notes.push_back(argument.val);
  }
}

std::vector<std::string> Explanation::getFunctions() const {
  std::vector<std::string> names;
  for (const ExplainedCollective &call : collectives)
    if (!llvm::is_contained(names, call.function))
      names.push_back(call.function);
  return names;
}

const StepsDecision *Explanation::stepsOf(StringRef function) const {
  auto found = llvm::find_if(steps, [&](const StepsDecision &step) { return step.function == function; });
  return found == steps.end() ? nullptr : &*found;
}

Explanation::Steps Explanation::countAfter(StringRef function) const {
  Steps after;
  for (const ExplainedCollective &call : collectives) {
    if (call.function != function || !call.mechanism || call.mechanism->continues)
      continue;
    xfer::Mechanism taken = call.mechanism->taken;
    (taken == xfer::Mechanism::Nccl ? after.library : taken == xfer::Mechanism::CopyEngine ? after.engines : after.kernels) += 1;
  }
  if (const StepsDecision *step = stepsOf(function))
    after.operators = step->after.operators;
  return after;
}

static StringRef originInWords(MechanismOrigin origin) {
  switch (origin) {
  case MechanismOrigin::Fastest:
    return "fastest";
  case MechanismOrigin::Asked:
    return "asked";
  case MechanismOrigin::Given:
    return "given";
  }
  return "";
}

json::Value Explanation::toJson() const {
  json::Array calls;
  for (const ExplainedCollective &call : collectives) {
    json::Array group;
    for (const std::vector<int64_t> &row : call.group)
      group.push_back(json::Array(row));
    json::Object object{{"file", call.file}, {"line", call.line}, {"text", json::fixUTF8(call.text)}, {"function", call.function},
                        {"collective", call.collective}, {"group", std::move(group)}};
    if (const auto &mechanism = call.mechanism) {
      json::Array options;
      for (const MechanismOption &option : mechanism->options) {
        json::Object entry{{"mechanism", xfer::stringifyMechanism(option.mechanism)}, {"predicted_us", option.predictedUs}};
        if (!option.predictedUs)
          entry["reason"] = option.reason;
        options.push_back(std::move(entry));
        if (option.mechanism == mechanism->taken)
          object["predicted_us"] = option.predictedUs;
      }
      object[mechanism->unit == MessageUnit::Bytes ? "message_bytes" : "message_rows"] = mechanism->amount;
      object["mechanism"] = xfer::stringifyMechanism(mechanism->taken);
      object["origin"] = originInWords(mechanism->origin);
      object["continues"] = mechanism->continues;
      object["choices"] = std::move(options);
    }
    if (const auto &fusion = call.fusion) {
      object["fused_before"] = json::Array(fusion->before);
      object["fused_after"] = json::Array(fusion->after);
      if (!fusion->why.empty())
        object["not_fused"] = fusion->why;
    }
    calls.push_back(std::move(object));
  }
  json::Array functions;
  for (const std::string &name : getFunctions()) {
    Steps after = countAfter(name);
    json::Object object{{"name", name},
                        {"after", json::Object{{"kernels", after.kernels}, {"library_calls", after.library}, {"copy_engine_exchanges", after.engines}}}};
    if (const StepsDecision *step = stepsOf(name)) {
      object["ranks"] = json::Array(step->ranks);
      object["before"] = json::Object{{"collectives", step->before.exchanges}, {"operators", step->before.operators}};
      (*object.getObject("after"))["operators"] = after.operators;
    }
    functions.push_back(std::move(object));
  }
  return json::Object{{"schema", "pkb-explain"}, {"version", json::Array{1, 0}}, {"program", json::fixUTF8(program)},
                      {"functions", std::move(functions)}, {"collectives", std::move(calls)}, {"notes", json::Array(notes)}};
}
