// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Decisions.cpp - what passes decide about a collective ------------===//

#include "pkb/Analysis/Decisions.h"

#include "dialects/Aten/IR/Aten.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace pkb;
using remark::detail::Remark;

//===----------------------------------------------------------------------===//
// A decision is a list: its kind, then its fields in the order of the struct.
//===----------------------------------------------------------------------===//

namespace {

enum class Kind : int64_t { Mechanism, Fusion, Apart, Steps };

/// Fields, one after the other, into a list.
class Writer {
public:
  Writer(Kind kind, MLIRContext *context) : builder(context) { add(int64_t(kind)); }

  Writer &add(int64_t value) { return add(builder.getI64IntegerAttr(value)); }
  Writer &add(const std::string &text) { return add(builder.getStringAttr(text)); }
  Writer &add(double value) { return add(builder.getF64FloatAttr(value)); }
  Writer &add(const std::vector<std::string> &texts) {
    SmallVector<StringRef> list(texts.begin(), texts.end());
    return add(builder.getStrArrayAttr(list));
  }
  Writer &add(Attribute attribute) {
    fields.push_back(attribute);
    return *this;
  }

  Remark::Arg finish(StringRef text) {
    Remark::Arg argument(text);
    argument.attr = builder.getArrayAttr(fields);
    return argument;
  }

private:
  Builder builder;
  SmallVector<Attribute> fields;
};

/// The same fields in the same order out of a list.
class Reader {
public:
  explicit Reader(ArrayAttr list) : fields(list.getValue()) {}

  int64_t number() { return cast<IntegerAttr>(next()).getInt(); }
  double real() { return cast<FloatAttr>(next()).getValueAsDouble(); }
  std::string text() { return cast<StringAttr>(next()).str(); }
  std::vector<std::string> texts() {
    std::vector<std::string> list;
    for (auto text : cast<ArrayAttr>(next()).getAsRange<StringAttr>())
      list.push_back(text.str());
    return list;
  }
  Attribute next() {
    Attribute field = fields.front();
    fields = fields.drop_front();
    return field;
  }
  bool done() const { return fields.empty(); }

private:
  ArrayRef<Attribute> fields;
};

} // namespace

/// The fields of a remark's decision, if it has one of that kind.
static std::optional<Reader> open(const Remark &remark, Kind kind) {
  for (const Remark::Arg &argument : remark.getArgs())
    if (auto list = dyn_cast_if_present<ArrayAttr>(argument.getAttribute())) {
      Reader reader(list);
      if (reader.number() == int64_t(kind))
        return reader;
    }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// The decisions
//===----------------------------------------------------------------------===//

Remark::Arg pkb::describe(const MechanismDecision &decision, StringRef text, MLIRContext *context) {
  Writer writer(Kind::Mechanism, context);
  writer.add(decision.function).add(decision.collective).add(decision.group).add(decision.exchange).add(decision.phase).add(decision.amount).add(int64_t(decision.unit));
  writer.add(int64_t(decision.taken)).add(int64_t(decision.origin));
  for (const MechanismOption &option : decision.options)
    writer.add(int64_t(option.mechanism)).add(int64_t(option.predictedUs.has_value())).add(option.predictedUs.value_or(0)).add(option.reason);
  return writer.finish(text);
}

std::optional<MechanismDecision> pkb::getMechanismDecision(const Remark &remark) {
  std::optional<Reader> reader = open(remark, Kind::Mechanism);
  if (!reader)
    return std::nullopt;
  MechanismDecision decision;
  decision.function = reader->text();
  decision.collective = reader->text();
  decision.group = cast<comm::GroupAttr>(reader->next());
  decision.exchange = reader->number();
  decision.phase = reader->number();
  decision.amount = reader->number();
  decision.unit = MessageUnit(reader->number());
  decision.taken = xfer::Mechanism(reader->number());
  decision.origin = MechanismOrigin(reader->number());
  while (!reader->done()) {
    MechanismOption option;
    option.mechanism = xfer::Mechanism(reader->number());
    bool legal = reader->number();
    double predictedUs = reader->real();
    if (legal)
      option.predictedUs = predictedUs;
    option.reason = reader->text();
    decision.options.push_back(option);
  }
  return decision;
}

Remark::Arg pkb::describe(const FusionDecision &decision, StringRef text, MLIRContext *context) {
  Writer writer(Kind::Fusion, context);
  writer.add(decision.function).add(decision.collective).add(decision.before).add(decision.after).add(decision.why);
  return writer.finish(text);
}

std::optional<FusionDecision> pkb::getFusionDecision(const Remark &remark) {
  std::optional<Reader> reader = open(remark, Kind::Fusion);
  if (!reader)
    return std::nullopt;
  FusionDecision decision;
  decision.function = reader->text();
  decision.collective = reader->text();
  decision.before = reader->texts();
  decision.after = reader->texts();
  decision.why = reader->text();
  return decision;
}

Remark::Arg pkb::describe(const ApartDecision &decision, StringRef text, MLIRContext *context) {
  Writer writer(Kind::Apart, context);
  writer.add(decision.function).add(decision.collective).add(decision.operators);
  return writer.finish(text);
}

std::optional<ApartDecision> pkb::getApartDecision(const Remark &remark) {
  std::optional<Reader> reader = open(remark, Kind::Apart);
  if (!reader)
    return std::nullopt;
  ApartDecision decision;
  decision.function = reader->text();
  decision.collective = reader->text();
  decision.operators = reader->texts();
  return decision;
}

Remark::Arg pkb::describe(const StepsDecision &decision, StringRef text, MLIRContext *context) {
  Writer writer(Kind::Steps, context);
  writer.add(decision.function).add(Builder(context).getDenseI64ArrayAttr(decision.ranks));
  for (const CallSteps &steps : {decision.before, decision.after})
    writer.add(steps.exchanges).add(steps.operators);
  return writer.finish(text);
}

std::optional<StepsDecision> pkb::getStepsDecision(const Remark &remark) {
  std::optional<Reader> reader = open(remark, Kind::Steps);
  if (!reader)
    return std::nullopt;
  StepsDecision decision;
  decision.function = reader->text();
  decision.ranks = cast<DenseI64ArrayAttr>(reader->next()).asArrayRef();
  for (CallSteps *steps : {&decision.before, &decision.after}) {
    steps->exchanges = reader->number();
    steps->operators = reader->number();
  }
  return decision;
}

FileLineColLoc pkb::placeOf(Location loc) { return loc->findInstanceOf<FileLineColLoc>(); }

SmallVector<FileLineColLoc> pkb::callersOf(Location loc) {
  SmallVector<FileLineColLoc> callers;
  for (auto call = loc->findInstanceOf<CallSiteLoc>(); call; call = dyn_cast<CallSiteLoc>(call.getCaller()))
    if (FileLineColLoc caller = placeOf(call.getCaller()))
      callers.push_back(caller);
  return callers;
}

std::string pkb::functionNameOf(Operation *op) {
  auto function = op->getParentOfType<FunctionOpInterface>();
  return function ? function.getName().str() : std::string();
}

CallSteps pkb::countSteps(FunctionOpInterface function) {
  CallSteps steps;
  for (Operation &op : function.getFunctionBody().getOps()) {
    steps.exchanges += isa<comm::FusedOp, comm::CollectiveOpInterface>(op);
    steps.operators += isa<aten::CallOp>(op);
  }
  return steps;
}

void pkb::remarkSteps(FunctionOpInterface function, CallSteps before, StringRef category) {
  StepsDecision decision{function.getName().str(), {}, before, countSteps(function)};
  if (DenseI64ArrayAttr ranks = comm::getRanks(function))
    decision.ranks = ranks.asArrayRef();
  std::string text = llvm::formatv("@{0}: a call is {1} collectives and {2} operators before {3}, {4} kernels or library calls and {5} operators after it",
                                   decision.function, before.exchanges, before.operators, category, decision.after.exchanges, decision.after.operators);
  remark::analysis(function.getLoc(), remark::RemarkOpts::name("steps").category(category)) << describe(decision, text, function.getContext());
}
