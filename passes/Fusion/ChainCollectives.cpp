// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- ChainCollectives.cpp - collectives that follow each other --------===//
//
// A region whose result is what another collective's region reads becomes, with it, the phases of one region.
// docs/Rationale/Fusion.md.
//
//===----------------------------------------------------------------------===//

#include "passes/Fusion/Alone.h"
#include "passes/Fusion/Passes.h"
#include "pkb/Analysis/FusedRegion.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/SetVector.h"

#define DEBUG_TYPE "pkb-chain-collectives"

namespace pkb {
#define GEN_PASS_DEF_CHAINCOLLECTIVESPASS
#include "passes/Fusion/Passes.h.inc"
} // namespace pkb

using namespace mlir;
using namespace pkb;

namespace {

/// A collective, alone or in a region, that goes on where another one ends.
class Link {
public:
  Link(Operation *first, Operation *second) : first(first), second(second) {}

  /// Makes one region of both; null, and the program unchanged, where that has no form as one kernel.
  comm::FusedOp join(std::string &why);

private:
  bool findPlace();
  bool isFeed(Operation *op) const { return llvm::is_contained(views, op); }

  Operation *first, *second;
  SmallVector<Operation *> views; // of what the first one gives, that the second one alone reads
  Operation *place = nullptr;     // in front of which both can stand
};

struct ChainCollectivesPass : pkb::impl::ChainCollectivesPassBase<ChainCollectivesPass> {
  void runOnOperation() override;

private:
  void extend(Operation *second);
};

} // namespace

static bool isRegionOrCollective(Operation *op) { return op && isa<comm::FusedOp, comm::CollectiveOpInterface>(op); }

/// The tensor that `value` is a view of, or itself.
static Value baseOf(Value value) {
  while (auto view = value.getDefiningOp<aten::AsStridedOp>())
    value = view.getBase();
  return value;
}

/// True if moving a collective across `op` could make a copy of something necessary.
static bool writesInPlace(Operation *op) {
  auto call = dyn_cast<aten::CallOp>(op);
  return isa<aten::ViewWriteOp>(op) || (call && !call.getMutates().empty());
}

bool Link::findPlace() {
  // Views of the first one's results that lead to the second one only go with it.
  SmallVector<Operation *> open(second->getBlock()->getOps<aten::AsStridedOp>().begin(),
                                second->getBlock()->getOps<aten::AsStridedOp>().end());
  for (Operation *view : llvm::reverse(open))
    if (baseOf(view->getResult(0)).getDefiningOp() == first &&
        llvm::all_of(view->getUsers(), [&](Operation *user) { return user == second || isFeed(user); }))
      views.push_back(view);
  bool canSink = true, canHoist = true;
  for (Operation *op = first->getNextNode(); op != second; op = op->getNextNode()) {
    if (isFeed(op))
      continue;
    bool uses = llvm::any_of(op->getOperands(), [&](Value operand) { return operand.getDefiningOp() == first; });
    bool feeds = llvm::any_of(op->getUsers(), [&](Operation *user) { return user == second || isFeed(user); });
    canSink &= !uses && !writesInPlace(op);
    canHoist &= !feeds && !writesInPlace(op);
  }
  place = canSink ? second : canHoist ? first->getNextNode() : nullptr;
  return place;
}

/// A copy of `op` as a phase at `at`: a region of its own, behind the `views` that it reads.
static comm::FusedOp makePhase(OpBuilder &at, Operation *op, ArrayRef<Operation *> views, const IRMapping &known) {
  if (auto fused = dyn_cast<comm::FusedOp>(op); fused && views.empty()) {
    IRMapping mapping = known;
    return cast<comm::FusedOp>(at.clone(*op, mapping));
  }
  llvm::SmallSetVector<Value, 8> inputs;
  auto note = [&](Operation *inner) {
    for (Value operand : inner->getOperands())
      if (!llvm::is_contained(views, operand.getDefiningOp()))
        inputs.insert(operand);
  };
  for (Operation *view : views)
    note(view);
  note(op);
  SmallVector<Value> operands;
  for (Value input : inputs)
    operands.push_back(known.lookupOrDefault(input));
  auto phase = comm::FusedOp::create(at, op->getLoc(), op->getResultTypes(), operands);
  Block &body = phase.getBody().emplaceBlock();
  IRMapping mapping;
  for (Value input : inputs)
    mapping.map(input, body.addArgument(input.getType(), input.getLoc()));
  OpBuilder inside = OpBuilder::atBlockEnd(&body);
  for (Operation *view : views)
    inside.clone(*view, mapping);
  SmallVector<Value> yielded;
  if (auto fused = dyn_cast<comm::FusedOp>(op)) {
    for (auto [argument, input] : llvm::zip_equal(fused.getEntry().getArguments(), fused.getInputs()))
      mapping.map(argument, mapping.lookup(input));
    for (Operation &inner : fused.getEntry().without_terminator())
      inside.clone(inner, mapping);
    for (Value value : fused.getEntry().getTerminator()->getOperands())
      yielded.push_back(mapping.lookup(value));
  } else {
    Operation *clone = inside.clone(*op, mapping);
    yielded.append(clone->result_begin(), clone->result_end());
  }
  comm::YieldOp::create(inside, op->getLoc(), yielded);
  return phase;
}

comm::FusedOp Link::join(std::string &why) {
  if (!findPlace()) {
    why = "something between the two collectives depends on the first and is needed by the second, or writes in place";
    return {};
  }
  SmallVector<Operation *> phases;
  if (auto chain = dyn_cast<comm::FusedOp>(first); chain && !comm::getPhases(chain).empty())
    llvm::append_range(phases, comm::getPhases(chain));
  else
    phases.push_back(first);

  llvm::SmallSetVector<Value, 8> inputs;
  inputs.insert(first->operand_begin(), first->operand_end());
  for (Operation *op : llvm::concat<Operation *>(views, SmallVector<Operation *>{second}))
    for (Value operand : op->getOperands())
      if (operand.getDefiningOp() != first && !isFeed(operand.getDefiningOp()))
        inputs.insert(operand);
  SmallVector<Value> results;
  auto isInside = [&](Operation *user) { return user == second || isFeed(user); };
  for (Value result : first->getResults())
    if (!llvm::all_of(result.getUsers(), isInside))
      results.push_back(result);
  results.append(second->result_begin(), second->result_end());

  OpBuilder builder(place);
  auto chain = comm::FusedOp::create(builder, second->getLoc(), TypeRange(ValueRange(results)), inputs.getArrayRef());
  Block &body = chain.getBody().emplaceBlock();
  IRMapping mapping;
  for (Value input : inputs)
    mapping.map(input, body.addArgument(input.getType(), input.getLoc()));
  OpBuilder inside = OpBuilder::atBlockEnd(&body);
  if (phases.front() != first) {
    auto old = cast<comm::FusedOp>(first);
    for (auto [argument, input] : llvm::zip_equal(old.getEntry().getArguments(), old.getInputs()))
      mapping.map(argument, mapping.lookup(input));
  }
  for (Operation *phase : phases)
    mapping.map(phase->getResults(), makePhase(inside, phase, {}, mapping).getResults());
  if (phases.front() != first)
    for (auto [result, value] :
         llvm::zip_equal(first->getResults(), cast<comm::FusedOp>(first).getEntry().getTerminator()->getOperands()))
      mapping.map(result, mapping.lookup(value));
  mapping.map(second->getResults(), makePhase(inside, second, views, mapping).getResults());
  SmallVector<Value> yielded;
  for (Value result : results)
    yielded.push_back(mapping.lookup(result));
  comm::YieldOp::create(inside, second->getLoc(), yielded);
  if (failed(checkFused(chain, why))) {
    chain.erase();
    return {};
  }
  for (auto [old, result] : llvm::zip_equal(results, chain.getResults()))
    old.replaceUsesWithIf(result, [&](OpOperand &use) { return !isInside(use.getOwner()); });
  second->erase();
  for (Operation *view : llvm::reverse(views))
    view->erase();
  first->erase();
  return chain;
}

/// The collective's region that `second` goes on from: the last one whose results it reads. Null if there is none.
static Operation *findFirst(Operation *second) {
  Operation *found = nullptr;
  for (Value operand : second->getOperands()) {
    Operation *maker = baseOf(operand).getDefiningOp();
    if (isRegionOrCollective(maker) && maker->getBlock() == second->getBlock() &&
        (!found || found->isBeforeInBlock(maker)))
      found = maker;
  }
  return found;
}

void ChainCollectivesPass::extend(Operation *second) {
  constexpr size_t mostPhases = 4; // each has buffers and code of its own
  Operation *first = findFirst(second);
  if (!first)
    return;
  SmallVector<comm::CollectiveOpInterface> before = collectivesOf(first), after = collectivesOf(second);
  std::string why;
  for (comm::CollectiveOpInterface collective : llvm::concat<comm::CollectiveOpInterface>(before, after))
    if (StringRef alone = whyAlone(collective); !alone.empty())
      why = alone;
  if (why.empty() && before.front().getGroup() != after.front().getGroup())
    why = "the one before it is of another group";
  if (why.empty() && before.size() >= mostPhases)
    why = "there are " + std::to_string(before.size()) + " collectives in the kernel before it";
  Location loc = after.front().getLoc();
  std::string names;
  for (comm::CollectiveOpInterface collective : before)
    names += (names.empty() ? "" : ", ") + collective->getName().stripDialect().str();
  std::string last = after.front()->getName().stripDialect().str();
  if (why.empty() && Link(first, second).join(why))
    remark::passed(loc, remark::RemarkOpts::name("chained").category("fusion"))
        << last + " goes on in the kernel of " + names;
  else
    remark::missed(loc, remark::RemarkOpts::name("not-chained").category("fusion"))
        << last + " does not go on in the kernel of " + names + ": " + why;
}

void ChainCollectivesPass::runOnOperation() {
  for (auto function : getOperation().getOps<func::FuncOp>())
    for (Block &block : function.getBody())
      for (Operation &op : llvm::make_early_inc_range(block))
        if (isRegionOrCollective(&op))
          extend(&op);
}
