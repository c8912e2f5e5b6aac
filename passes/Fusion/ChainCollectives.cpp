// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- ChainCollectives.cpp - collectives that follow each other --------===//
//
// A region whose result is what another collective's region reads becomes, with it, the phases of one region.
// docs/Rationale/Fusion.md.
//
//===----------------------------------------------------------------------===//

#include "passes/Fusion/Alone.h"
#include "passes/Fusion/Passes.h"
#include "pkb/Analysis/Decisions.h"
#include "pkb/Analysis/FusedRegion.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
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

/// Those of `views` that `operands` are, or are views of, in order.
static SmallVector<Operation *> viewsBehind(ValueRange operands, ArrayRef<Operation *> views) {
  llvm::SmallDenseSet<Operation *> needed;
  auto note = [&](Value operand) {
    for (Operation *maker = operand.getDefiningOp(); llvm::is_contained(views, maker); maker = maker->getOperand(0).getDefiningOp())
      needed.insert(maker);
  };
  llvm::for_each(operands, note);
  return llvm::filter_to_vector(views, [&](Operation *view) { return needed.contains(view); });
}

/// A copy of `op` as a phase at `at`: a region of its own with `operands`, behind those of `views` that it reads.
static comm::FusedOp makePhase(OpBuilder &at, Operation *op, ValueRange operands, ArrayRef<Operation *> all, const IRMapping &known) {
  SmallVector<Operation *> views = viewsBehind(operands, all);
  llvm::SmallSetVector<Value, 8> inputs;
  auto note = [&](ValueRange read) {
    for (Value operand : read)
      if (!llvm::is_contained(views, operand.getDefiningOp()))
        inputs.insert(operand);
  };
  for (Operation *view : views)
    note(view->getOperands());
  note(operands);
  SmallVector<Value> read;
  for (Value input : inputs)
    read.push_back(known.lookupOrDefault(input));
  auto phase = comm::FusedOp::create(at, op->getLoc(), op->getResultTypes(), read);
  Block &body = phase.getBody().emplaceBlock();
  IRMapping mapping;
  for (Value input : inputs)
    mapping.map(input, body.addArgument(input.getType(), input.getLoc()));
  OpBuilder inside = OpBuilder::atBlockEnd(&body);
  for (Operation *view : views)
    inside.clone(*view, mapping);
  SmallVector<Value> yielded;
  if (auto fused = dyn_cast<comm::FusedOp>(op)) {
    for (auto [argument, input] : llvm::zip_equal(fused.getEntry().getArguments(), operands))
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

/// Copies `op`, a chain, a region or a collective, to `at` as phases, and maps its results to theirs.
static void addPhases(OpBuilder &at, Operation *op, ArrayRef<Operation *> views, IRMapping &mapping) {
  auto chain = dyn_cast<comm::FusedOp>(op);
  if (!chain || comm::getPhases(chain).empty()) {
    mapping.map(op->getResults(), makePhase(at, op, op->getOperands(), views, mapping).getResults());
    return;
  }
  auto outside = [&](Value operand) {
    auto argument = dyn_cast<BlockArgument>(operand);
    return argument ? chain.getInputs()[argument.getArgNumber()] : operand;
  };
  for (comm::FusedOp phase : comm::getPhases(chain)) {
    SmallVector<Value> operands = llvm::map_to_vector(phase.getInputs(), outside);
    mapping.map(phase.getResults(), makePhase(at, phase, operands, views, mapping).getResults());
  }
  for (auto [result, value] : llvm::zip_equal(chain.getResults(), chain.getEntry().getTerminator()->getOperands()))
    mapping.map(result, mapping.lookup(value));
}

comm::FusedOp Link::join(std::string &why) {
  if (!findPlace()) {
    why = "something between the two collectives depends on the first and is needed by the second, or writes in place";
    return {};
  }
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
  addPhases(inside, first, {}, mapping);
  addPhases(inside, second, views, mapping);
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

/// "all_reduce (line 12)".
static std::string nameWithLine(comm::CollectiveOpInterface collective) {
  std::string name = collective->getName().stripDialect().str();
  FileLineColLoc place = placeOf(collective.getLoc());
  return place ? name + " (line " + std::to_string(place.getLine()) + ")" : name;
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
    names += (names.empty() ? "" : ", ") + nameWithLine(collective);
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
