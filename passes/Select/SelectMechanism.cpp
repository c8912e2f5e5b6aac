// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- SelectMechanism.cpp - choose how each collective's bytes move ----===//

#include "dialects/Comm/IR/Comm.h"
#include "dialects/Cuda/IR/Cuda.h"
#include "passes/Select/Passes.h"
#include "passes/Select/Schedules.h"
#include "pkb/Analysis/Decisions.h"
#include "pkb/Analysis/FusedRegion.h"

#include "llvm/Support/FormatVariadic.h"

namespace pkb {
#define GEN_PASS_DEF_SELECTMECHANISMPASS
#include "passes/Select/Passes.h.inc"
} // namespace pkb

using namespace mlir;
using namespace pkb;

static int64_t bytesOf(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  return type.getNumElements() * xfer::elementBytes(type.getElementType());
}

/// What `op` sends and touches.
static Exchange exchangeOf(comm::CollectiveOpInterface op, int64_t arenaBytes, const Machine &machine) {
  Exchange exchange;
  static_cast<MechanismQuestion &>(exchange) = questionOf(op, arenaBytes, machine.copyEngines);
  for (Value input : op.getCollectiveInputs())
    exchange.localBytes += bytesOf(input);
  for (Value result : op.getCollectiveResults())
    exchange.localBytes += bytesOf(result);
  exchange.messages = exchange.ranks - 1;
  if (isa<comm::PermuteOp>(op.getOperation()))
    exchange.messages = std::min<int64_t>(exchange.messages, 1);
  if (auto uneven = dyn_cast<comm::UnevenOpInterface>(op.getOperation())) {
    // All ranks must choose alike: the one that touches most decides.
    exchange.localBytes = 0;
    for (int64_t index = 0; index < int64_t(op.getGroup().getRanks().size()); ++index) {
      int64_t elements = 0;
      for (int64_t count : llvm::concat<int64_t>(uneven.getInputCounts(index), uneven.getResultCounts(index)))
        elements += count;
      exchange.localBytes = std::max(exchange.localBytes, elements * xfer::elementBytes(exchange.element));
    }
  }
  return exchange;
}

namespace {

struct SelectMechanismPass : pkb::impl::SelectMechanismPassBase<SelectMechanismPass> {
  using SelectMechanismPassBase::SelectMechanismPassBase;

  void runOnOperation() override;

private:
  LogicalResult choose(comm::CollectiveOpInterface op, const Machine &machine, std::optional<xfer::Mechanism> wanted);
  LogicalResult choose(comm::FusedOp op, const Machine &machine, std::optional<xfer::Mechanism> wanted);
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

LogicalResult SelectMechanismPass::choose(comm::FusedOp op, const Machine &machine, std::optional<xfer::Mechanism> wanted) {
  FusedRegion region(op);
  if (!region.overRows()) {
    comm::CollectiveOpInterface collective = region.collective();
    Exchange exchange = exchangeOf(collective, arenaBytes, machine);
    exchange.localBytes = 0;
    for (Value value : llvm::concat<Value>(SmallVector<Value>(op.getInputs()), SmallVector<Value>(op.getResults())))
      exchange.localBytes += bytesOf(value);
    // Only kernels of ours compute.
    SmallVector<Choice> choices = enumerateChoices(&getContext(), exchange, machine);
    llvm::erase_if(choices, [](const Choice &choice) { return choice.mechanism != xfer::Mechanism::LdSt && choice.mechanism != xfer::Mechanism::LL; });
    std::string what = llvm::formatv("fused {0} of {1} bytes per peer among {2} ranks", collective->getName().stripDialect(),
                                     exchange.messageBytes, exchange.ranks);
    return take(op, what, exchange.messageBytes, MessageUnit::Bytes, choices, wanted);
  }
  RowExchange exchange{region.collective().getGroup().getSize(), region.rows(), 0, arenaBytes};
  for (Value value : llvm::concat<Value>(SmallVector<Value>(op.getInputs()), SmallVector<Value>(op.getResults())))
    exchange.localBytes += bytesOf(value);
  std::string what = llvm::formatv("fused {0} of {1} rows among {2} ranks", region.collective()->getName().stripDialect(), exchange.rows,
                                   exchange.ranks);
  return take(op, what, exchange.rows, MessageUnit::Rows, enumerateRowChoices(&getContext(), exchange, machine), wanted);
}

/// The collective that `op` is or holds.
static comm::CollectiveOpInterface collectiveOf(Operation *op) {
  auto fused = dyn_cast<comm::FusedOp>(op);
  return fused ? fused.getCollectives().front() : cast<comm::CollectiveOpInterface>(op);
}

static MechanismDecision decisionOf(Operation *op, int64_t amount, MessageUnit unit) {
  comm::CollectiveOpInterface collective = collectiveOf(op);
  MechanismDecision decision;
  decision.function = functionNameOf(op);
  decision.collective = collective->getName().stripDialect();
  decision.group = collective.getGroup();
  decision.amount = amount;
  decision.unit = unit;
  return decision;
}

/// If `op` came with a schedule, says so and returns true.
static bool keeps(Operation *op, StringRef what, int64_t amount, MessageUnit unit) {
  auto schedule = op->getAttrOfType<xfer::ScheduleAttr>(xfer::kScheduleAttrName);
  if (!schedule)
    return false;
  MechanismDecision decision = decisionOf(op, amount, unit);
  decision.taken = schedule.getMechanism();
  decision.origin = MechanismOrigin::Given;
  std::string text = llvm::formatv("{0}: keeps its schedule, by {1}", what, xfer::stringifyMechanism(decision.taken));
  remark::analysis(op->getLoc(), remark::RemarkOpts::name("given-schedule").category("select")) << describe(decision, text, op->getContext());
  return true;
}

/// Gives `op` the best of the legal choices; `what` says what it moves, `amount` and `unit` how much.
LogicalResult SelectMechanismPass::take(Operation *op, StringRef what, int64_t amount, MessageUnit unit, ArrayRef<Choice> choices,
                                        std::optional<xfer::Mechanism> wanted) {
  if (keeps(op, what, amount, unit))
    return success();
  MechanismDecision decision = decisionOf(op, amount, unit);
  decision.origin = wanted ? MechanismOrigin::Asked : MechanismOrigin::Fastest;
  const Choice *best = nullptr;
  std::string table;
  for (const Choice &choice : choices) {
    table += llvm::formatv("{0}{1} {2}", table.empty() ? "" : ", ", xfer::stringifyMechanism(choice.mechanism),
                           choice.schedule ? llvm::formatv("{0:F1} us", choice.predictedUs).str()
                                           : "not legal: " + choice.reason);
    decision.options.push_back({choice.mechanism, choice.schedule ? std::optional(choice.predictedUs) : std::nullopt, choice.reason});
    if (!choice.schedule || (wanted && choice.mechanism != *wanted))
      continue;
    if (!best || choice.predictedUs < best->predictedUs)
      best = &choice;
  }
  if (!best)
    return op->emitOpError() << "has no legal mechanism" << (wanted ? " " + xfer::stringifyMechanism(*wanted).str() : std::string())
                             << " for " << (unit == MessageUnit::Rows ? "" : "messages of ") << amount
                             << (unit == MessageUnit::Rows ? " rows: " : " bytes: ") << table;
  op->setAttr(xfer::kScheduleAttrName, best->schedule);
  op->setAttr(xfer::kPredictedAttrName, Builder(&getContext()).getF64FloatAttr(best->predictedUs));
  std::string text = llvm::formatv("{0}: {1} by {2}, predicted {3}", what, wanted ? "asked for" : "fastest",
                                   xfer::stringifyMechanism(best->mechanism), table);
  decision.taken = best->mechanism;
  remark::passed(op->getLoc(), remark::RemarkOpts::name("mechanism").category("select")) << describe(decision, text, &getContext());
  return success();
}

void SelectMechanismPass::runOnOperation() {
  ModuleOp module = getOperation();
  comm::MeshAttr mesh = comm::getMesh(module);
  if (!mesh) {
    module.emitError() << "module must have a mesh (attribute " << comm::kMeshAttrName << ")";
    return signalPassFailure();
  }
  std::string name = target.empty() ? "h200x" + std::to_string(mesh.getSize()) : target.getValue();
  llvm::Expected<Machine> machine = loadMachine(name, targetFile);
  if (!machine) {
    module.emitError() << llvm::toString(machine.takeError());
    return signalPassFailure();
  }
  if (machine->ranks != mesh.getSize()) {
    module.emitError() << "target " << name << " must have as many ranks as the program (" << mesh.getSize()
                       << "), got: " << machine->ranks;
    return signalPassFailure();
  }
  std::optional<xfer::Mechanism> wanted;
  if (!mechanism.empty()) {
    wanted = xfer::symbolizeMechanism(mechanism);
    if (!wanted) {
      module.emitError() << "mechanism must be one of ldst, ll, copy_engine, nccl, got: '" << mechanism << "'";
      return signalPassFailure();
    }
  }
  if (machine->measuredRanks != machine->ranks)
    remark::analysis(module.getLoc(), remark::RemarkOpts::name("scaled-rates").category("select"))
        << llvm::formatv("no rates measured for {0}: those of {1} ranks are used", name, machine->measuredRanks).str();

  module->setAttr(cuda::kTargetAttrName, StringAttr::get(&getContext(), name));
  module->setAttr(xfer::kSmsAttrName, IntegerAttr::get(IntegerType::get(&getContext(), 64), machine->sms));
  module->setAttr(comm::kMeshAttrName,
                  comm::MeshAttr::get(&getContext(), mesh.getSize(),
                                      machine->nvlink ? comm::LinkKind::NVLink : comm::LinkKind::Unknown, machine->multicast,
                                      machine->copyEngines));
  WalkResult result = module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (auto fused = dyn_cast<comm::FusedOp>(op)) // what it holds is one kernel
      return failed(choose(fused, *machine, wanted)) ? WalkResult::interrupt() : WalkResult::skip();
    auto collective = dyn_cast<comm::CollectiveOpInterface>(op);
    return collective && failed(choose(collective, *machine, wanted)) ? WalkResult::interrupt() : WalkResult::advance();
  });
  if (result.wasInterrupted())
    signalPassFailure();
}
