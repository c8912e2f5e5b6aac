// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Explain.cpp - what became of each collective, and why ------------===//

#include "pkb/Driver/Explain.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"

#include <set>

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

Explanation::Place::Place(Location loc) : line(placeOf(loc)) {
  for (FileLineColLoc caller : callersOf(loc))
    callers.push_back((caller.getFilename().getValue() + ":" + Twine(caller.getLine())).str());
}

bool Explanation::Place::isOf(const ExplainedCollective &call) const {
  return line ? call.file == line.getFilename() && call.line == line.getLine() && call.callers == callers : call.file.empty();
}

/// The entry of a call that lacks such a decision; null if there is none. One line may call several times: decisions of one kind come in the order of
/// the program.
ExplainedCollective *Explanation::find(const Place &place, StringRef function, StringRef collective, bool forMechanism) {
  for (ExplainedCollective &call : collectives)
    if (place.isOf(call) && call.function == function && (collective.empty() || call.collective == collective) &&
        !(forMechanism ? call.mechanism.has_value() : call.fusion.has_value()))
      return &call;
  return nullptr;
}

ExplainedCollective &Explanation::add(const Place &place, StringRef function, StringRef collective) {
  ExplainedCollective &call = collectives.emplace_back();
  if (place.line) {
    call.file = place.line.getFilename().str();
    call.line = place.line.getLine();
    call.text = lineOf(call.file, call.line);
    call.callers = place.callers;
  }
  call.function = function;
  call.collective = collective;
  return call;
}

void Explanation::addFusion(const Place &place, FusionDecision fusion) {
  ExplainedCollective *call = find(place, fusion.function, fusion.collective, /*forMechanism=*/false);
  (call ? *call : add(place, fusion.function, fusion.collective)).fusion = std::move(fusion);
}

/// What selection takes apart is undecided yet, and was fused with those operators.
void Explanation::addApart(const Place &place, const ApartDecision &apart) {
  for (ExplainedCollective &call : collectives) {
    if (!place.isOf(call) || call.function != apart.function || call.collective != apart.collective || call.mechanism || !call.fusion)
      continue;
    std::vector<std::string> stay = call.fusion->after;
    bool held = llvm::all_of(llvm::reverse(apart.operators), [&](const std::string &name) {
      auto found = std::find(stay.rbegin(), stay.rend(), name);
      if (found == stay.rend())
        return false;
      stay.erase(std::next(found).base());
      return true;
    });
    if (!held)
      continue;
    call.fusion->after = stay;
    if (stay.empty() && call.fusion->before.empty() && call.fusion->why.empty())
      call.fusion->why = "what was in it is taken apart again";
    return;
  }
}

void Explanation::addMechanism(const Place &place, MechanismDecision mechanism) {
  // A call that became several collectives in one kernel is one entry: they have its line and are no calls of the program.
  ExplainedCollective *call = find(place, mechanism.function, mechanism.collective, /*forMechanism=*/true);
  if (!call && mechanism.phase > 0) {
    for (ExplainedCollective &made : llvm::reverse(collectives))
      if (place.isOf(made) && made.function == mechanism.function && !made.shots.empty()) {
        made.shots.push_back(mechanism.collective);
        return;
      }
  }
  if (!call && (call = find(place, mechanism.function, "", /*forMechanism=*/true)))
    call->shots.push_back(mechanism.collective);
  ExplainedCollective &entry = call ? *call : add(place, mechanism.function, mechanism.collective);
  for (int64_t row = 0; row < mechanism.group.getNumRows(); ++row)
    entry.group.emplace_back(mechanism.group.getRow(row));
  mechanism.group = {};
  size_t index = static_cast<size_t>(&entry - collectives.data());
  if (mechanism.phase == 0)
    lastKernel = index;
  else
    entry.kernelOf = lastKernel;
  entry.mechanism = std::move(mechanism);
}

void Explanation::addText(const Place &place, const std::string &text) {
  ExplainedCollective *call = nullptr;
  for (ExplainedCollective &made : collectives)
    if (place.line && place.isOf(made))
      call = &made;
  std::vector<std::string> &list = call ? call->more : notes;
  if (!llvm::is_contained(list, text))
    list.push_back(text);
}

/// A later pass may have changed what an earlier one made of a function.
void Explanation::addSteps(StepsDecision made) {
  for (StepsDecision &known : steps)
    if (known.function == made.function) {
      known.after = made.after;
      return;
    }
  steps.push_back(std::move(made));
}

void Explanation::add(const remark::detail::Remark &remark) {
  Place place(remark.getLocation());
  if (auto fusion = getFusionDecision(remark))
    addFusion(place, std::move(*fusion));
  else if (auto mechanism = getMechanismDecision(remark))
    addMechanism(place, std::move(*mechanism));
  else if (auto made = getStepsDecision(remark))
    addSteps(std::move(*made));
  else { // what is no success and no failure is about the whole program
    if (auto apart = getApartDecision(remark))
      addApart(place, *apart);
    for (const remark::detail::Remark::Arg &argument : remark.getArgs())
      addText(remark.getRemarkType() == llvm::remarks::Type::Analysis ? Place(UnknownLoc::get(remark.getLocation().getContext())) : place, argument.val);
  }
}

std::vector<std::string> Explanation::getFunctions() const {
  std::vector<std::string> names;
  for (const ExplainedCollective &call : collectives)
    if (!llvm::is_contained(names, call.function))
      names.push_back(call.function);
  return names;
}

/// The collectives of the program as its ranks call them together: one that several functions take part in is one.
int64_t Explanation::countCalls() const {
  std::set<int64_t> shared;
  int64_t own = 0;
  for (const ExplainedCollective &call : collectives)
    if (call.mechanism && call.mechanism->exchange >= 0)
      shared.insert(call.mechanism->exchange);
    else
      ++own;
  return own + static_cast<int64_t>(shared.size());
}

const StepsDecision *Explanation::stepsOf(StringRef function) const {
  auto found = llvm::find_if(steps, [&](const StepsDecision &step) { return step.function == function; });
  return found == steps.end() ? nullptr : &*found;
}

Explanation::Steps Explanation::countAfter(StringRef function) const {
  Steps after;
  for (const ExplainedCollective &call : collectives) {
    if (call.function != function || !call.mechanism || call.mechanism->phase > 0)
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
      object["phase"] = mechanism->phase;
      if (call.kernelOf)
        object["kernel_of"] = int64_t(*call.kernelOf);
      if (mechanism->exchange >= 0)
        object["exchange"] = mechanism->exchange;
      object["origin"] = originInWords(mechanism->origin);
      object["choices"] = std::move(options);
    }
    if (!call.callers.empty())
      object["callers"] = json::Array(call.callers);
    if (!call.shots.empty())
      object["shots"] = json::Array(call.shots);
    if (!call.more.empty())
      object["remarks"] = json::Array(call.more);
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
    if (auto made = copies.find(name); made != copies.end())
      (*object.getObject("after"))["copies"] = made->second;
    functions.push_back(std::move(object));
  }
  return json::Object{{"schema", "pkb-explain"}, {"version", json::Array{1, 3}}, {"program", json::fixUTF8(program)},
                      {"calls", countCalls()}, {"functions", std::move(functions)}, {"collectives", std::move(calls)}, {"notes", json::Array(notes)}};
}
