// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- SelectMechanism.cpp - choose how each collective's bytes move ----===//

#include "dialects/Comm/IR/Comm.h"
#include "dialects/Cuda/IR/Cuda.h"
#include "passes/Select/Chains.h"
#include "passes/Select/Exchanges.h"
#include "passes/Select/Passes.h"
#include "pkb/Analysis/Decisions.h"
#include "pkb/Analysis/FusedRegion.h"
#include "pkb/Support/OptionError.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

namespace pkb {
#define GEN_PASS_DEF_SELECTMECHANISMPASS
#include "passes/Select/Passes.h.inc"
} // namespace pkb

using namespace mlir;
using namespace pkb;

namespace {

/// What is assumed where nothing is said.
constexpr const char *kDefaultMachine = "h200";
constexpr int64_t kDefaultArenaBytes = 256ll << 20;

struct SelectMechanismPass : pkb::impl::SelectMechanismPassBase<SelectMechanismPass> {
  using SelectMechanismPassBase::SelectMechanismPassBase;

  void runOnOperation() override;

private:
  FailureOr<Machine> readTarget(comm::MeshAttr mesh);
  FailureOr<std::optional<xfer::Mechanism>> readMechanism();
  LogicalResult choose(comm::CollectiveOpInterface op, const Machine &machine, std::optional<xfer::Mechanism> wanted);
  LogicalResult choose(comm::FusedOp op, const Machine &machine, std::optional<xfer::Mechanism> wanted);
  LogicalResult chooseChain(comm::FusedOp op, const Machine &machine, std::optional<xfer::Mechanism> wanted);
  LogicalResult chooseRowChain(comm::FusedOp op, const Machine &machine, std::optional<xfer::Mechanism> wanted);
  LogicalResult takeChain(comm::FusedOp op, StringRef names, double apart, int64_t amount, MessageUnit unit, ArrayRef<Choice> choices,
                          std::optional<xfer::Mechanism> wanted);
  void considerTwoShots(Operation *op, const Machine &machine, std::optional<xfer::Mechanism> wanted);
  LogicalResult take(Operation *op, StringRef what, int64_t amount, MessageUnit unit, ArrayRef<Choice> choices,
                     std::optional<xfer::Mechanism> wanted);
};

} // namespace

LogicalResult SelectMechanismPass::choose(comm::CollectiveOpInterface op, const Machine &machine,
                                          std::optional<xfer::Mechanism> wanted) {
  Exchange exchange = exchangeOf(op, arenaBytes, machine);
  std::string what = llvm::formatv("{0} of {1} bytes per peer among {2} ranks", op->getName().stripDialect(), exchange.messageBytes,
                                   exchange.ranks);
  return take(op, what, exchange.messageBytes, MessageUnit::Bytes, enumerateChoices(&getContext(), exchange, machine), wanted);
}

/// The best legal choice by `wanted`, or by anything where nothing is asked for; null if there is none.
static const Choice *bestOf(ArrayRef<Choice> choices, std::optional<xfer::Mechanism> wanted) {
  const Choice *best = nullptr;
  for (const Choice &choice : choices)
    if (choice.schedule && (!wanted || choice.mechanism == *wanted) &&
        (!best || choice.predictedUs < best->predictedUs))
      best = &choice;
  return best;
}

/// The predicted times, or why there are none.
static std::string tableOf(ArrayRef<Choice> choices) {
  std::string table;
  for (const Choice &choice : choices)
    table += llvm::formatv("{0}{1} {2}", table.empty() ? "" : ", ", xfer::stringifyMechanism(choice.mechanism),
                           choice.schedule ? llvm::formatv("{0:F1} us", choice.predictedUs).str() : "not legal: " + choice.reason);
  return table;
}

/// What is decided about the first collective of `op`, but for what is taken.
static MechanismDecision decisionOf(Operation *op, int64_t amount, MessageUnit unit) {
  comm::CollectiveOpInterface collective = collectivesOf(op).front();
  MechanismDecision decision;
  decision.function = functionNameOf(op);
  decision.collective = collective->getName().stripDialect();
  decision.group = collective.getGroup();
  if (IntegerAttr exchange = comm::getExchange(collective))
    decision.exchange = exchange.getInt();
  decision.amount = amount;
  decision.unit = unit;
  return decision;
}

/// The same, with what there is to choose from.
static MechanismDecision decisionOf(Operation *op, int64_t amount, MessageUnit unit, ArrayRef<Choice> choices, std::optional<xfer::Mechanism> wanted) {
  MechanismDecision decision = decisionOf(op, amount, unit);
  decision.origin = wanted ? MechanismOrigin::Asked : MechanismOrigin::Fastest;
  for (const Choice &choice : choices)
    decision.options.push_back({choice.mechanism, choice.schedule ? std::optional(choice.predictedUs) : std::nullopt, choice.reason});
  return decision;
}

/// Reports `decision` for every collective that `op` is or holds.
static void report(Operation *op, MechanismDecision decision, bool passed, StringRef name, const std::string &text) {
  for (auto [phase, collective] : llvm::enumerate(collectivesOf(op))) {
    decision.phase = phase;
    decision.collective = collective->getName().stripDialect();
    auto options = remark::RemarkOpts::name(name).category("select");
    if (passed)
      remark::passed(collective.getLoc(), options) << describe(decision, text, op->getContext());
    else
      remark::analysis(collective.getLoc(), options) << describe(decision, text, op->getContext());
  }
}

/// Reports that `chain` is taken apart: of each collective, which operators on rows leave its kernel.
static void reportApart(comm::FusedOp chain, const std::string &text) {
  auto options = remark::RemarkOpts::name("apart").category("select");
  std::vector<std::pair<comm::CollectiveOpInterface, std::vector<std::string>>> leave;
  for (comm::FusedOp phase : comm::getPhases(chain)) {
    if (!phase.isLocal()) {
      leave.emplace_back(phase.getCollectives().front(), std::vector<std::string>());
      continue;
    }
    if (leave.empty())
      continue;
    for (auto call : phase.getEntry().getOps<aten::CallOp>()) {
      StringRef name = call.getCallee();
      name.consume_front("aten::");
      leave.back().second.push_back(name.str());
    }
  }
  for (auto &[collective, operators] : leave) {
    ApartDecision decision{functionNameOf(chain), collective->getName().stripDialect().str(), operators};
    remark::missed(collective.getLoc(), options) << describe(decision, text, chain.getContext());
  }
}

/// If `op` came with a schedule, says so and returns true.
static bool keeps(Operation *op, StringRef what, int64_t amount, MessageUnit unit, ArrayRef<Choice> choices) {
  auto schedule = op->getAttrOfType<xfer::ScheduleAttr>(xfer::kScheduleAttrName);
  if (!schedule)
    return false;
  MechanismDecision decision = decisionOf(op, amount, unit, choices, /*wanted=*/std::nullopt);
  decision.taken = schedule.getMechanism();
  decision.origin = MechanismOrigin::Given;
  // What is predicted is the time of another schedule.
  llvm::erase_if(decision.options, [&](const MechanismOption &option) { return option.mechanism == decision.taken; });
  report(op, decision, /*passed=*/false, "given-schedule", llvm::formatv("{0}: keeps its schedule, by {1}", what, xfer::stringifyMechanism(decision.taken)).str());
  return true;
}

/// Every mechanism for an all_reduce that sends `whole`, as a reduce_scatter and an all_gather in one kernel, with `passes` behind them.
static SmallVector<Choice> enumerateTwoShots(MLIRContext *context, const Exchange &whole, const Machine &machine, ArrayRef<RowPass> passes = {}) {
  Exchange scatter = whole;
  scatter.collective = xfer::Collective::ReduceScatter;
  scatter.messageBytes = whole.messageBytes / whole.ranks;
  scatter.wholeVectors = scatter.messageBytes % 16 == 0;
  scatter.localBytes = whole.localBytes / 2 + scatter.messageBytes;
  Exchange gather = scatter;
  gather.collective = xfer::Collective::AllGather;
  gather.reduction = std::nullopt;
  return enumerateChainChoices(context, {scatter, gather}, passes, PhaseBorder::Block, machine);
}

/// The time of a phase as a kernel of its own, or as what else can carry it out; 0 if nothing can.
static double timeAlone(comm::FusedOp phase, const Exchange &exchange, const Machine &machine, std::optional<xfer::Mechanism> wanted) {
  MLIRContext *context = phase.getContext();
  // One that computes nothing could be done by anything.
  bool computes = !phase.getEntry().getOps<aten::CallOp>().empty();
  SmallVector<Choice> choices = computes ? enumerateFused(phase, exchange, machine) : enumerateChoices(context, exchange, machine);
  if (whyNotTwoShots(phase).empty())
    choices.append(enumerateTwoShots(context, exchange, machine));
  const Choice *best = bestOf(choices, wanted);
  return best ? best->predictedUs : 0;
}

/// Gives a chain its schedule, or takes it apart where its collectives are faster in kernels of their own, or cannot share one.
LogicalResult SelectMechanismPass::chooseChain(comm::FusedOp op, const Machine &machine, std::optional<xfer::Mechanism> wanted) {
  if (FusedRegion(comm::getPhases(op).front()).overRows())
    return chooseRowChain(op, machine, wanted);
  SmallVector<Exchange> phases;
  SmallVector<RowPass> passes;
  std::string names;
  double apart = 0;
  int64_t longest = 0;
  for (comm::FusedOp phase : comm::getPhases(op)) {
    if (phase.isLocal()) {
      passes.push_back(rowPassOf(phase));
      names += llvm::formatv(", {0} {1} on rows", passes.back().operators, passes.back().operators == 1 ? "operator" : "operators");
      apart += timeAsOperators(passes.back(), machine);
      continue;
    }
    phases.push_back(exchangeOf(phase, arenaBytes, machine));
    names += (names.empty() ? "" : ", ") + phase.getCollectives().front()->getName().stripDialect().str();
    longest = std::max(longest, phases.back().messageBytes);
    apart += timeAlone(phase, phases.back(), machine, wanted);
  }
  SmallVector<Choice> choices = enumerateChainChoices(&getContext(), phases, passes, PhaseBorder::Grid, machine);
  SmallVector<Choice> others = enumerateOthers(op, arenaBytes, machine);
  SmallVector<Choice> all = choices;
  all.append(others);
  if (keeps(op, names + " in one kernel", longest, MessageUnit::Bytes, all))
    return success();
  const Choice *best = bestOf(choices, wanted);
  SmallVector<Choice> twoShots;
  if (comm::FusedOp first = comm::getPhases(op).front(); phases.size() == 1 && whyNotTwoShots(first).empty())
    twoShots = enumerateTwoShots(&getContext(), phases.front(), machine, passes);
  const Choice *two = bestOf(twoShots, wanted);
  if (two && two->predictedUs <= apart && (!best || two->predictedUs < best->predictedUs) && splitFirstIntoTwoShots(op)) {
    choices = std::move(twoShots);
    names = "two-shot " + names;
  }
  choices.append(others);
  return takeChain(op, names, apart, longest, MessageUnit::Bytes, choices, wanted);
}

/// The same for a chain of exchanges of one line for each row.
LogicalResult SelectMechanismPass::chooseRowChain(comm::FusedOp op, const Machine &machine, std::optional<xfer::Mechanism> wanted) {
  SmallVector<RowExchange> phases;
  std::string names;
  double apart = 0;
  int64_t most = 0;
  for (comm::FusedOp phase : comm::getPhases(op)) {
    phases.push_back(rowExchangeOf(phase, arenaBytes));
    most = std::max(most, phases.back().rows);
    names += (names.empty() ? "" : ", ") + phase.getCollectives().front()->getName().stripDialect().str();
    SmallVector<Choice> alone = enumerateRowChoices(&getContext(), phases.back(), machine);
    if (const Choice *best = bestOf(alone, wanted))
      apart += best->predictedUs;
  }
  SmallVector<Choice> choices = enumerateRowChainChoices(&getContext(), phases, machine);
  choices.append(enumerateOthers(op, arenaBytes, machine));
  if (keeps(op, names + " of rows in one kernel", most, MessageUnit::Rows, choices))
    return success();
  return takeChain(op, names + " of rows", apart, most, MessageUnit::Rows, choices, wanted);
}

/// Gives a chain the best of `choices` if that is no slower than its phases `apart`, in us; else takes it apart.
LogicalResult SelectMechanismPass::takeChain(comm::FusedOp op, StringRef names, double apart, int64_t amount, MessageUnit unit,
                                             ArrayRef<Choice> choices, std::optional<xfer::Mechanism> wanted) {
  const Choice *best = bestOf(choices, wanted);
  if (best && best->predictedUs <= apart) {
    std::string what = llvm::formatv("{0} in one kernel among {1} ranks, apart {2:F1} us", names, op.getCollectives().front().getGroup().getSize(), apart);
    return take(op, what, amount, unit, choices, wanted);
  }
  std::string why = best ? llvm::formatv("predicted {0:F1} us, in one kernel {1:F1} us", apart, best->predictedUs).str()
                         : "no mechanism " + std::string(wanted ? "that is asked for " : "") + "can carry out all of them: " + tableOf(choices);
  reportApart(op, (names + " get kernels of their own: " + why).str());
  takeApart(op);
  return success();
}

/// An all_reduce among more than two ranks in two shots, where that is predicted to be faster.
void SelectMechanismPass::considerTwoShots(Operation *op, const Machine &machine, std::optional<xfer::Mechanism> wanted) {
  auto fused = dyn_cast<comm::FusedOp>(op);
  if (op->hasAttrOfType<xfer::ScheduleAttr>(xfer::kScheduleAttrName) || (fused && FusedRegion(fused).overRows()) || !whyNotTwoShots(op).empty())
    return;
  Exchange whole = fused ? exchangeOf(fused, arenaBytes, machine) : exchangeOf(cast<comm::CollectiveOpInterface>(op), arenaBytes, machine);
  SmallVector<Choice> oneShot = fused ? enumerateFused(fused, whole, machine) : enumerateChoices(&getContext(), whole, machine);
  SmallVector<Choice> twoShots = enumerateTwoShots(&getContext(), whole, machine);
  const Choice *one = bestOf(oneShot, wanted), *two = bestOf(twoShots, wanted);
  if (!two || (one && one->predictedUs <= two->predictedUs))
    return;
  // What only kernels of ours do in two shots is one shot by the others.
  SmallVector<Choice> all = twoShots;
  llvm::copy_if(oneShot, std::back_inserter(all), [&](const Choice &choice) {
    return llvm::none_of(twoShots, [&](const Choice &shots) { return shots.mechanism == choice.mechanism; });
  });
  MechanismDecision decision = decisionOf(op, whole.messageBytes, MessageUnit::Bytes, all, wanted);
  decision.taken = two->mechanism;
  std::string text = llvm::formatv("{0}all_reduce of {1} bytes among {2} ranks in two shots: {3} by {4}, predicted {5}; in one shot {6}",
                                   fused ? "fused " : "", whole.messageBytes, whole.ranks, wanted ? "asked for" : "fastest",
                                   xfer::stringifyMechanism(two->mechanism), tableOf(twoShots), tableOf(oneShot));
  comm::FusedOp chain = splitIntoTwoShots(op);
  if (!chain)
    return;
  chain->setAttr(xfer::kScheduleAttrName, two->schedule);
  chain->setAttr(xfer::kPredictedAttrName, Builder(&getContext()).getF64FloatAttr(two->predictedUs));
  report(chain, decision, /*passed=*/true, "mechanism", text);
}

LogicalResult SelectMechanismPass::choose(comm::FusedOp op, const Machine &machine, std::optional<xfer::Mechanism> wanted) {
  if (!comm::getPhases(op).empty()) // it has its schedule
    return success();
  FusedRegion region(op);
  if (!region.overRows()) {
    comm::CollectiveOpInterface collective = region.collective();
    Exchange exchange = exchangeOf(op, arenaBytes, machine);
    SmallVector<Choice> choices = enumerateFused(op, exchange, machine);
    std::string what = llvm::formatv("fused {0} of {1} bytes per peer among {2} ranks", collective->getName().stripDialect(),
                                     exchange.messageBytes, exchange.ranks);
    return take(op, what, exchange.messageBytes, MessageUnit::Bytes, choices, wanted);
  }
  RowExchange exchange = rowExchangeOf(op, arenaBytes);
  std::string what = llvm::formatv("fused {0} of {1} rows among {2} ranks", region.collective()->getName().stripDialect(), exchange.rows,
                                   exchange.ranks);
  SmallVector<Choice> choices = enumerateRowChoices(&getContext(), exchange, machine);
  choices.append(enumerateOthers(op, arenaBytes, machine));
  return take(op, what, exchange.rows, MessageUnit::Rows, choices, wanted);
}

/// Gives `op` the best of the legal choices; `what` says what it moves, `amount` and `unit` how much.
LogicalResult SelectMechanismPass::take(Operation *op, StringRef what, int64_t amount, MessageUnit unit, ArrayRef<Choice> choices,
                                        std::optional<xfer::Mechanism> wanted) {
  if (keeps(op, what, amount, unit, choices))
    return success();
  const Choice *best = bestOf(choices, wanted);
  std::string table = tableOf(choices);
  if (!best && wanted) {
    InFlightDiagnostic error = emitOptionError(&getContext(), "mechanism", mechanism.getValue()) << "cannot be had for " << what << ": " << table;
    error.attachNote(op->getLoc()) << "the collective is here"
                                   << (isa<comm::FusedOp>(op) ? ", fused with what is around it (--pkb-pipeline=fuse=false leaves it alone)" : "");
    return error;
  }
  if (!best) {
    InFlightDiagnostic error = op->emitOpError() << "has no legal mechanism: " << what << ": " << table;
    if (arenaBytes != kDefaultArenaBytes)
      error << " (option arena-bytes=" << arenaBytes.getValue() << " says how much room there is)";
    return error;
  }
  op->setAttr(xfer::kScheduleAttrName, best->schedule);
  op->setAttr(xfer::kPredictedAttrName, Builder(&getContext()).getF64FloatAttr(best->predictedUs));
  std::string text = llvm::formatv("{0}: {1} by {2}, predicted {3}", what, wanted ? "asked for" : "fastest",
                                   xfer::stringifyMechanism(best->mechanism), table);
  MechanismDecision decision = decisionOf(op, amount, unit, choices, wanted);
  decision.taken = best->mechanism;
  report(op, decision, /*passed=*/true, "mechanism", text);
  return success();
}

/// The machine that the options name, else the module, else the one that is assumed.
FailureOr<Machine> SelectMechanismPass::readTarget(comm::MeshAttr mesh) {
  auto known = getOperation()->getAttrOfType<StringAttr>(cuda::kTargetAttrName);
  std::string name = !target.empty() ? target.getValue() : known ? known.str() : std::string(kDefaultMachine) + "x" + std::to_string(mesh.getSize());
  llvm::Expected<Machine> machine = loadMachine(name, targetFile);
  if (!machine && targetFile.empty())
    return emitOptionError(&getContext(), "target", name) << "names no machine: " << llvm::toString(machine.takeError());
  if (!machine)
    return emitOptionError(&getContext(), "target-file", targetFile.getValue()) << "has no target " << name << ": " << llvm::toString(machine.takeError());
  if (machine->ranks != mesh.getSize())
    return emitOptionError(&getContext(), "target", name) << "must have as many ranks as the program (" << mesh.getSize() << "), got: " << machine->ranks;
  if (target.empty() && !known)
    emitRemark(UnknownLoc::get(&getContext())) << "no target is named, " << name << " is assumed (option target=<machine>x<ranks>)";
  getOperation()->setAttr(cuda::kTargetAttrName, StringAttr::get(&getContext(), name));
  return std::move(*machine);
}

FailureOr<std::optional<xfer::Mechanism>> SelectMechanismPass::readMechanism() {
  if (mechanism.empty())
    return std::optional<xfer::Mechanism>();
  std::optional<xfer::Mechanism> wanted = xfer::symbolizeMechanism(mechanism);
  if (!wanted || !llvm::is_contained(kMechanisms, *wanted)) {
    std::string names = llvm::join(llvm::map_range(kMechanisms, xfer::stringifyMechanism), ", ");
    return emitOptionError(&getContext(), "mechanism", mechanism.getValue()) << "must be one of " << names;
  }
  return wanted;
}

void SelectMechanismPass::runOnOperation() {
  ModuleOp module = getOperation();
  comm::MeshAttr mesh = comm::getMesh(module);
  if (!mesh) {
    module.emitError() << "module must have a mesh (attribute " << comm::kMeshAttrName << ")";
    return signalPassFailure();
  }
  if (arenaBytes < 1) {
    emitOptionError(&getContext(), "arena-bytes", arenaBytes.getValue()) << "must be positive";
    return signalPassFailure();
  }
  FailureOr<std::optional<xfer::Mechanism>> asked = readMechanism();
  if (failed(asked))
    return signalPassFailure();
  FailureOr<Machine> machine = readTarget(mesh);
  if (failed(machine))
    return signalPassFailure();
  std::optional<xfer::Mechanism> wanted = *asked;
  if (machine->measuredRanks != machine->ranks)
    remark::analysis(module.getLoc(), remark::RemarkOpts::name("scaled-rates").category("select"))
        << llvm::formatv("no rates measured for {0}x{1}: those of {2} ranks are used", machine->name, machine->ranks, machine->measuredRanks).str();

  module->setAttr(xfer::kSmsAttrName, IntegerAttr::get(IntegerType::get(&getContext(), 64), machine->sms));
  module->setAttr(comm::kMeshAttrName,
                  comm::MeshAttr::get(&getContext(), mesh.getSize(),
                                      machine->nvlink ? comm::LinkKind::NVLink : comm::LinkKind::Unknown,
                                      machine->multicast, machine->copyEngines));
  SmallVector<CallSteps> before;
  for (auto function : module.getOps<FunctionOpInterface>())
    before.push_back(countSteps(function));
  // What is one kernel, and what is several, is decided first.
  SmallVector<comm::FusedOp> chains;
  module.walk([&](comm::FusedOp op) {
    if (!comm::getPhases(op).empty())
      chains.push_back(op);
  });
  for (comm::FusedOp chain : chains)
    if (failed(chooseChain(chain, *machine, wanted)))
      return signalPassFailure();
  SmallVector<Operation *> allReduces;
  module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    auto fused = dyn_cast<comm::FusedOp>(op);
    if (isa<comm::AllReduceOp>(op) || (fused && comm::getPhases(fused).empty()))
      allReduces.push_back(op);
    return fused ? WalkResult::skip() : WalkResult::advance();
  });
  for (Operation *op : allReduces)
    considerTwoShots(op, *machine, wanted);
  for (auto [function, steps] : llvm::zip_equal(module.getOps<FunctionOpInterface>(), before))
    if (CallSteps after = countSteps(function); after.exchanges != steps.exchanges || after.operators != steps.operators)
      remarkSteps(function, steps, "select");
  WalkResult result = module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (auto fused = dyn_cast<comm::FusedOp>(op)) // what it holds is one kernel
      return failed(choose(fused, *machine, wanted)) ? WalkResult::interrupt() : WalkResult::skip();
    auto collective = dyn_cast<comm::CollectiveOpInterface>(op);
    return collective && failed(choose(collective, *machine, wanted)) ? WalkResult::interrupt() : WalkResult::advance();
  });
  if (result.wasInterrupted())
    signalPassFailure();
}
