// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Chains.cpp - several collectives in one kernel, or not -----------===//

#include "passes/Select/Chains.h"

#include "pkb/Analysis/FusedRegion.h"
#include "pkb/Analysis/PhaseMaker.h"
#include "pkb_rt/layout.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace pkb;

static const Choice *choiceOf(ArrayRef<Choice> choices, xfer::Mechanism mechanism) {
  return llvm::find_if(choices, [&](const Choice &choice) { return choice.mechanism == mechanism; });
}

/// Bytes of LL lines that a message needs.
static int64_t linesOf(const Exchange &exchange) {
  return pkb_ll_line_bytes(exchange.messageBytes, /*packed=*/1);
}

static int64_t bytesOf(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  return type.getNumElements() * xfer::elementBytes(type.getElementType());
}

RowPass pkb::rowPassOf(comm::FusedOp phase) {
  FusedRegion region(phase);
  RowPass pass;
  pass.rows = region.rows();
  auto touch = [&](Value value, int64_t &bytes) {
    bytes += bytesOf(value);
    if (region.isFull(value))
      pass.rowBytes = std::max(pass.rowBytes, bytesOf(value) / pass.rows);
  };
  for (Value value : llvm::concat<Value>(SmallVector<Value>(phase.getEntry().getArguments()),
                                         SmallVector<Value>(phase.getEntry().getTerminator()->getOperands())))
    touch(value, pass.localBytes);
  for (auto call : phase.getEntry().getOps<aten::CallOp>()) {
    ++pass.operators;
    pass.passes += getRowOperator(call) ? 2 : bool(getRowReduction(call));
    pass.reducing += getReducedRows(call).has_value();
    for (Value value : llvm::concat<Value>(SmallVector<Value>(call.getInputs()), SmallVector<Value>(call->getResults())))
      pass.operatorBytes += bytesOf(value);
  }
  return pass;
}

/// A phase of rows: what the meeting of all blocks costs beside its flag, a pass over a row at least, and a lane for each vector of it; how much longer the memory
/// takes than its rate says. An operator as a kernel of its own, beside its launch, and as much again where it reduces. Fitted (docs/Rationale/CostModel.md); in us.
static constexpr double kMeetingUs = 2.7, kPassUs = 0.5, kVectorUs = 0.2, kMemory = 1.3, kOperatorUs = 2.3;

double pkb::timeAsOperators(const RowPass &pass, const Machine &machine) {
  return pass.operators * (machine.rates.kernelUs + kOperatorUs) + pass.reducing * kOperatorUs + pass.operatorBytes / (machine.rates.hbmGBs * 1e3);
}

/// `schedule` with a lane for each vector of a block's rows, as far as two blocks fit on a multiprocessor.
static xfer::ScheduleAttr withLanesFor(ArrayRef<RowPass> passes, xfer::ScheduleAttr schedule) {
  constexpr int64_t mostThreads = 512;
  int64_t threads = schedule.getThreads();
  for (const RowPass &pass : passes) {
    int64_t rows = llvm::divideCeil(pass.rows, schedule.getBlocks());
    threads = std::max(threads, std::min(mostThreads, rows * rowLanesFor(pass.rowBytes, /*perLane=*/1, mostThreads)));
  }
  return xfer::ScheduleAttr::get(schedule.getContext(), schedule.getMechanism(), schedule.getBlocks(), threads, schedule.getChunk(), schedule.getDepth(),
                                 schedule.getSlots(), schedule.getUnroll(), schedule.getPerSm());
}

/// The time of `pass` in a kernel of such a schedule: that of the memory, and of the team with the most rows.
static double timeOf(const RowPass &pass, xfer::ScheduleAttr schedule, const Machine &machine) {
  int64_t rows = llvm::divideCeil(pass.rows, schedule.getBlocks()), vectors = llvm::divideCeil(pass.rowBytes, 16);
  int64_t team = rowTeamOf(rows, vectors, schedule.getThreads());
  int64_t rounds = llvm::divideCeil(rows, std::max<int64_t>(1, schedule.getThreads() / team)), perLane = llvm::divideCeil(vectors, team);
  double lane = static_cast<double>(rounds * pass.passes) * (kPassUs + static_cast<double>(perLane) * kVectorUs);
  return kMeetingUs + lane + kMemory * pass.localBytes / (machine.rates.hbmGBs * 1e3);
}

SmallVector<Choice> pkb::enumerateChainChoices(MLIRContext *context, ArrayRef<Exchange> phases, ArrayRef<RowPass> passes, PhaseBorder border,
                                               const Machine &machine) {
  // The longest message makes the schedule; every phase has buffers of its own.
  Exchange longest =
      *llvm::max_element(phases, [](const Exchange &a, const Exchange &b) { return a.messageBytes < b.messageBytes; });
  int64_t headroom = pkb_stage_offset(longest.ranks);
  longest.arenaBytes = headroom + (longest.arenaBytes - headroom) / static_cast<int64_t>(phases.size());
  SmallVector<Choice> schedules = enumerateChoices(context, longest, machine), choices;
  int64_t lines = 0;
  for (const Exchange &phase : phases)
    lines += linesOf(phase);
  for (xfer::Mechanism mechanism : {xfer::Mechanism::LdSt, xfer::Mechanism::LL}) {
    Choice choice = *choiceOf(schedules, mechanism);
    choice.predictedUs = machine.rates.kernelUs;
    for (const Exchange &phase : phases) {
      SmallVector<Choice> alone = enumerateChoices(context, phase, machine);
      const Choice *own = choiceOf(alone, mechanism);
      if (!own->schedule && choice.schedule) {
        choice.schedule = {};
        choice.reason = own->reason;
      }
      choice.predictedUs += own->predictedUs - machine.rates.kernelUs;
    }
    // A flag among the blocks of one device does not cross the link.
    double ofBlocks = machine.rates.orderUs + machine.rates.hopUs / 2;
    choice.predictedUs += (border == PhaseBorder::Grid ? ofBlocks : machine.rates.orderUs) * (phases.size() - 1);
    if (choice.schedule && !passes.empty())
      choice.schedule = withLanesFor(passes, choice.schedule);
    if (choice.schedule)
      for (const RowPass &pass : passes)
        choice.predictedUs += ofBlocks + timeOf(pass, choice.schedule, machine);
    if (int64_t room = pkb_ll_slot_bytes(longest.ranks);
        mechanism == xfer::Mechanism::LL && choice.schedule && lines > room) {
      choice.schedule = {};
      choice.reason =
          llvm::formatv("{0} messages need {1} bytes of LL lines, there are {2}", phases.size(), lines, room);
    }
    choices.push_back(choice);
  }
  return choices;
}

//===----------------------------------------------------------------------===//
// Apart
//===----------------------------------------------------------------------===//

SmallVector<Operation *> pkb::takeApart(comm::FusedOp chain) {
  OpBuilder builder(chain);
  IRMapping mapping;
  mapping.map(chain.getEntry().getArguments(), chain.getInputs());
  SmallVector<Operation *> parts;
  for (comm::FusedOp phase : comm::getPhases(chain)) {
    bool computes = !phase.isLocal() && llvm::any_of(phase.getEntry().without_terminator(), [](Operation &op) {
      return !isa<comm::CollectiveOpInterface, aten::AsStridedOp>(op);
    });
    if (computes) {
      parts.push_back(builder.clone(*phase, mapping));
      continue;
    }
    IRMapping inner;
    for (auto [argument, input] : llvm::zip_equal(phase.getEntry().getArguments(), phase.getInputs()))
      inner.map(argument, mapping.lookup(input));
    for (Operation &op : phase.getEntry().without_terminator()) {
      Operation *clone = builder.clone(op, inner);
      if (isa<comm::CollectiveOpInterface>(clone))
        parts.push_back(clone);
    }
    for (auto [result, value] : llvm::zip_equal(phase.getResults(), phase.getEntry().getTerminator()->getOperands()))
      mapping.map(result, inner.lookup(value));
  }
  for (auto [result, value] : llvm::zip_equal(chain.getResults(), chain.getEntry().getTerminator()->getOperands()))
    result.replaceAllUsesWith(mapping.lookup(value));
  chain.erase();
  return parts;
}

//===----------------------------------------------------------------------===//
// Two shots
//===----------------------------------------------------------------------===//

static comm::AllReduceOp allReduceOf(Operation *op) {
  if (auto fused = dyn_cast<comm::FusedOp>(op)) {
    SmallVector<comm::CollectiveOpInterface> collectives = fused.getCollectives();
    return collectives.size() == 1 ? dyn_cast<comm::AllReduceOp>(collectives.front().getOperation())
                                   : comm::AllReduceOp();
  }
  return dyn_cast<comm::AllReduceOp>(op);
}

std::string pkb::whyNotTwoShots(Operation *op) {
  comm::AllReduceOp reduce = allReduceOf(op);
  if (!reduce)
    return "it is no all_reduce";
  if (reduce.getFactors() || comm::getExchange(op))
    return "its ranks do not all do the same";
  RankedTensorType type = reduce.getInput().getType();
  int64_t ranks = reduce.getGroup().getSize();
  if (ranks <= 2)
    return "two ranks have nothing to share";
  auto fused = dyn_cast<comm::FusedOp>(op);
  if (fused && llvm::any_of(fused.getEntry().getOps<aten::CallOp>(), [](aten::CallOp call) { return !call.getMutates().empty(); }))
    return "an operator beside it writes in place";
  if (!aten::isDense(type) || aten::getLayout(type).offset != 0)
    return "its tensor does not lie in one piece";
  if (type.getNumElements() == 0 || type.getNumElements() % ranks != 0)
    return llvm::formatv("{0} elements are no whole number for each of {1} ranks", type.getNumElements(), ranks);
  return "";
}

comm::FusedOp pkb::splitIntoTwoShots(Operation *op) {
  comm::AllReduceOp reduce = allReduceOf(op);
  Location loc = reduce.getLoc();
  RankedTensorType whole = reduce.getInput().getType();
  int64_t ranks = reduce.getGroup().getSize();
  auto flat = [&](int64_t elements) { return RankedTensorType::get({elements}, whole.getElementType()); };
  RankedTensorType all = flat(whole.getNumElements()), part = flat(whole.getNumElements() / ranks);

  OpBuilder builder(op);
  auto chain = comm::FusedOp::create(builder, loc, op->getResultTypes(), op->getOperands());
  Block &body = chain.getBody().emplaceBlock();
  DenseMap<Value, Value> outer; // what the all_reduce's region, or the operation itself, reads -> the chain's
  auto fused = dyn_cast<comm::FusedOp>(op);
  for (auto [number, operand] : llvm::enumerate(op->getOperands()))
    outer[fused ? Value(fused.getEntry().getArgument(number)) : operand] = body.addArgument(operand.getType(), loc);
  OpBuilder inChain = OpBuilder::atBlockEnd(&body);

  PhaseMaker scatter(inChain, loc);
  IRMapping before;
  Value message = scatter.clone(reduce.getInput(), before, outer);
  if (whole != all)
    message = aten::AsStridedOp::create(scatter.inside, loc, all, message).getResult();
  auto mine =
      comm::ReduceScatterOp::create(scatter.inside, loc, part, reduce.getKind(), ValueRange(message), reduce.getGroup(),
                                    DenseF64ArrayAttr(), reduce.getAccumulation(), reduce.getDeterministic());
  comm::FusedOp first = scatter.finish(mine->getResults());

  PhaseMaker gather(inChain, loc);
  auto sums = comm::AllGatherOp::create(gather.inside, loc, TypeRange{all}, gather.input(first.getResult(0)),
                                        reduce.getGroup());
  Value sum = sums.getResult(0);
  if (whole != all)
    sum = aten::AsStridedOp::create(gather.inside, loc, whole, sum).getResult();
  SmallVector<Value> yielded{sum};
  if (fused) {
    IRMapping after;
    after.map(reduce.getResult(), sum);
    yielded.clear();
    for (Value value : fused.getEntry().getTerminator()->getOperands())
      yielded.push_back(gather.clone(value, after, outer));
  }
  comm::FusedOp second = gather.finish(yielded);
  comm::YieldOp::create(inChain, loc, second.getResults());
  std::string why;
  if (failed(checkFused(chain, why))) {
    chain.erase();
    return {};
  }
  op->replaceAllUsesWith(chain.getResults());
  op->erase();
  return chain;
}

bool pkb::splitFirstIntoTwoShots(comm::FusedOp chain) {
  comm::FusedOp both = splitIntoTwoShots(comm::getPhases(chain).front());
  if (!both)
    return false;
  OpBuilder builder(both);
  IRMapping mapping;
  mapping.map(both.getEntry().getArguments(), both.getInputs());
  for (comm::FusedOp phase : comm::getPhases(both))
    builder.clone(*phase, mapping);
  for (auto [result, value] : llvm::zip_equal(both.getResults(), both.getEntry().getTerminator()->getOperands()))
    result.replaceAllUsesWith(mapping.lookup(value));
  both.erase();
  return true;
}
