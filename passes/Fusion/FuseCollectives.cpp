// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- FuseCollectives.cpp - collectives with what is around them -------===//
//
// What may move into a kernel is found from the flow of data; whether it has a form as one kernel is FusedRegion's to say. docs/Rationale/Fusion.md.
//
//===----------------------------------------------------------------------===//

#include "passes/Fusion/Alone.h"
#include "passes/Fusion/LeftOut.h"
#include "passes/Fusion/Passes.h"
#include "passes/Fusion/RowPhases.h"
#include "pkb/Analysis/Decisions.h"
#include "pkb/Analysis/FusedRegion.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#define DEBUG_TYPE "pkb-fuse-collectives"

namespace pkb {
#define GEN_PASS_DEF_FUSECOLLECTIVESPASS
#include "passes/Fusion/Passes.h.inc"
} // namespace pkb

using namespace mlir;
using namespace pkb;

namespace {

/// The operators that go into one kernel with a collective.
class Candidate {
public:
  explicit Candidate(comm::CollectiveOpInterface collective) : collective(collective) { members.insert(collective); }

  void growConsumers();
  void dropLooseViews();
  void growProducers();
  /// Forgets the last consumer, then the producers and begins anew; false if there is nothing left.
  bool shrink();
  /// True if nothing is computed besides: views cost nothing wherever they are.
  bool isAlone() const {
    return llvm::none_of(members, [](Operation *op) { return isa<aten::CallOp>(op); });
  }
  /// The region, in front of the collective; the program still uses the original operators.
  comm::FusedOp build();
  /// Makes the program use the results of `fused` instead of the original operators, which go away.
  void commit(comm::FusedOp fused);
  FusionDecision decide() const;
  /// Why something was left out from the start; empty if nothing was that could say why.
  StringRef whyRefused() const { return refusal; }

private:
  bool canConsume(Operation *op, SmallVectorImpl<Operation *> &pulled);
  bool canReduce(aten::CallOp call, const RowShape &shape);
  bool canPull(Operation *user, Value value, SmallVectorImpl<Operation *> &pulled) const;
  bool isAvailable(Value value) const;
  bool isUsedOutside(Value value) const;

  comm::CollectiveOpInterface collective;
  llvm::SmallSetVector<Operation *, 16> members; // no order
  SmallVector<SmallVector<Operation *>> consumers; // each after what only it needs, in the order of the program
  SmallVector<SmallVector<Operation *>> dropped;
  bool producers = true;
  std::string refusal; // of what could have been the first reduction
  SmallVector<Value> results;
};

struct FuseCollectivesPass : pkb::impl::FuseCollectivesPassBase<FuseCollectivesPass> {
  void runOnOperation() override;

private:
  void fuse(comm::CollectiveOpInterface collective);
};

} // namespace

/// True for operators that FusedRegion may understand. Kernels do not read memory of the host.
static bool isFusible(Operation *op) {
  if (!op || llvm::any_of(op->getOperands(), aten::isOnHost))
    return false;
  if (auto call = dyn_cast<aten::CallOp>(op))
    return isElementwise(call) || getReducedRows(call);
  auto view = dyn_cast<aten::AsStridedOp>(op);
  return view && view.getBase().getType().getElementType() == view.getType().getElementType();
}

/// True if `value` exists when the collective is called.
bool Candidate::isAvailable(Value value) const {
  Operation *maker = value.getDefiningOp();
  return !maker || maker->isBeforeInBlock(collective);
}

bool Candidate::isUsedOutside(Value value) const {
  return llvm::any_of(value.getUsers(), [&](Operation *user) { return !members.contains(user); });
}

/// True if `value`, which is made after the collective, can be made in the region: from what is available, for members only.
bool Candidate::canPull(Operation *user, Value value, SmallVectorImpl<Operation *> &pulled) const {
  auto call = value.getDefiningOp<aten::CallOp>();
  if (!call || !isFusible(call) || !isElementwise(call) || !call.getMutates().empty() || call->getBlock() != user->getBlock())
    return false;
  if (llvm::is_contained(pulled, call.getOperation()))
    return true;
  auto isInside = [&](Operation *other) { return other == user || members.contains(other) || llvm::is_contained(pulled, other); };
  if (!llvm::all_of(value.getUsers(), isInside))
    return false;
  for (Value operand : call.getInputs()) {
    bool inside = operand.getDefiningOp() && members.contains(operand.getDefiningOp());
    if (!inside && !isAvailable(operand) && !canPull(call, operand, pulled))
      return false;
  }
  pulled.push_back(call);
  return true;
}

/// True if the rows that `call` reduces are those that other members reduce, of what the collective gives or exchanges one number for.
bool Candidate::canReduce(aten::CallOp call, const RowShape &shape) {
  if (getRowReduction(call) && isForMessage(call->getResult(0)))
    return false;
  if (shape.width <= FusedRegion::kShortRow) {
    refusal = FusedRegion::whyShort(shape.width);
    return false;
  }
  int64_t given = cast<RankedTensorType>(collective.getCollectiveResults().front().getType()).getNumElements();
  if (given != shape.rows && given != shape.rows * shape.width)
    return false;
  return llvm::all_of(consumers, [&](ArrayRef<Operation *> group) {
    auto other = dyn_cast<aten::CallOp>(group.back());
    std::optional<RowShape> known = other ? getReducedRows(other) : std::nullopt;
    return !known || *known == shape;
  });
}

/// True if `op` can be computed in the region, together with `pulled`.
bool Candidate::canConsume(Operation *op, SmallVectorImpl<Operation *> &pulled) {
  if (!isFusible(op))
    return false;
  if (auto call = dyn_cast<aten::CallOp>(op))
    if (std::optional<RowShape> shape = getReducedRows(call); shape && !canReduce(call, *shape))
      return false;
  bool uses = false;
  for (Value operand : op->getOperands()) {
    bool inside = operand.getDefiningOp() && members.contains(operand.getDefiningOp());
    uses |= inside;
    if (!inside && !isAvailable(operand) && !canPull(op, operand, pulled))
      return false;
  }
  // A write in place to memory that the region does not make would have to wait for all that read it.
  if (auto call = dyn_cast<aten::CallOp>(op))
    for (int64_t index : call.getMutates())
      if (!members.contains(call.getInputs()[index].getDefiningOp()))
        return false;
  return uses;
}

/// From the collective on: what is computed from its result and from what is there when it is called.
void Candidate::growConsumers() {
  constexpr size_t most = 64;
  llvm::SmallSetVector<Operation *, 16> open;
  auto follow = [&](Operation *op) {
    for (Operation *user : op->getUsers())
      if (user->getBlock() == op->getBlock())
        open.insert(user);
  };
  follow(collective);
  while (!open.empty() && consumers.size() < most) {
    // The first in the program: all that it uses has been looked at.
    Operation *next = *llvm::min_element(open, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
    open.remove(next);
    SmallVector<Operation *> group;
    if (members.contains(next) || !canConsume(next, group))
      continue;
    group.push_back(next);
    members.insert(group.begin(), group.end());
    follow(next);
    consumers.push_back(std::move(group));
  }
  dropLooseViews();
}

/// A view that nothing here is computed from is one of what the kernel gives.
void Candidate::dropLooseViews() {
  for (size_t index = consumers.size(); index-- > 0;) {
    Operation *last = consumers[index].back();
    if (!isa<aten::AsStridedOp>(last) ||
        llvm::any_of(last->getUsers(), [&](Operation *user) { return members.contains(user); }))
      continue;
    members.remove(last);
    dropped.push_back(std::move(consumers[index]));
    consumers.erase(consumers.begin() + index);
  }
}

/// Backward from the members: what nobody else needs.
void Candidate::growProducers() {
  SmallVector<Operation *> open(members.begin(), members.end());
  while (!open.empty()) {
    Operation *op = open.pop_back_val();
    for (Value operand : op->getOperands()) {
      Operation *maker = operand.getDefiningOp();
      if (!maker || members.contains(maker) || !isFusible(maker) || !maker->isBeforeInBlock(collective))
        continue;
      auto call = dyn_cast<aten::CallOp>(maker);
      if ((call && (!call.getMutates().empty() || getRowOperator(call))) || isUsedOutside(operand))
        continue;
      // A view of something from outside is a tensor like any other; of what is computed inside it is another order of the elements.
      if (auto view = dyn_cast<aten::AsStridedOp>(maker); view && !isFusible(view.getBase().getDefiningOp()))
        continue;
      members.insert(maker);
      open.push_back(maker);
      // Another user of its operands may have become a member only now.
      for (Value below : maker->getOperands())
        if (Operation *user = below.getDefiningOp())
          llvm::append_range(open, llvm::make_filter_range(user->getUsers(), [&](Operation *other) { return members.contains(other); }));
    }
  }
}

bool Candidate::shrink() {
  members.clear();
  members.insert(collective);
  if (!consumers.empty()) {
    dropped.push_back(consumers.pop_back_val());
  } else if (producers) {
    producers = false;
    consumers.swap(dropped);
    llvm::sort(consumers,
               [](ArrayRef<Operation *> a, ArrayRef<Operation *> b) { return a.back()->isBeforeInBlock(b.back()); });
  } else {
    return false;
  }
  for (ArrayRef<Operation *> group : consumers)
    members.insert(group.begin(), group.end());
  dropLooseViews();
  if (producers)
    growProducers();
  return true;
}

comm::FusedOp Candidate::build() {
  SmallVector<Operation *> order(members.begin(), members.end());
  llvm::sort(order, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  llvm::SmallSetVector<Value, 8> inputs;
  results.clear();
  for (Operation *op : order) {
    for (Value operand : op->getOperands())
      if (!operand.getDefiningOp() || !members.contains(operand.getDefiningOp()))
        inputs.insert(operand);
    for (Value result : op->getResults())
      if (isUsedOutside(result))
        results.push_back(result);
  }
  OpBuilder builder(collective);
  auto fused = comm::FusedOp::create(builder, collective.getLoc(), TypeRange(ValueRange(results)), inputs.getArrayRef());
  Block &body = fused.getBody().emplaceBlock();
  IRMapping mapping;
  for (Value input : inputs)
    mapping.map(input, body.addArgument(input.getType(), input.getLoc()));
  OpBuilder inside = OpBuilder::atBlockEnd(&body);
  for (Operation *op : order)
    inside.clone(*op, mapping);
  SmallVector<Value> yielded;
  for (Value result : results)
    yielded.push_back(mapping.lookup(result));
  comm::YieldOp::create(inside, collective.getLoc(), yielded);
  return fused;
}

void Candidate::commit(comm::FusedOp fused) {
  for (auto [old, result] : llvm::zip(results, fused.getResults()))
    old.replaceUsesWithIf(result, [&](OpOperand &use) { return !members.contains(use.getOwner()); });
  SmallVector<Operation *> order(members.begin(), members.end());
  llvm::sort(order, [](Operation *a, Operation *b) { return b->isBeforeInBlock(a); });
  for (Operation *op : order)
    op->erase();
}

static FusionDecision decisionOf(comm::CollectiveOpInterface collective) {
  FusionDecision decision;
  decision.function = functionNameOf(collective);
  decision.collective = collective->getName().stripDialect();
  return decision;
}

FusionDecision Candidate::decide() const {
  SmallVector<Operation *> order(members.begin(), members.end());
  llvm::sort(order, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  FusionDecision decision = decisionOf(collective);
  for (Operation *op : order) {
    auto call = dyn_cast<aten::CallOp>(op);
    if (!call)
      continue;
    StringRef name = call.getCallee();
    name.consume_front("aten::");
    (op->isBeforeInBlock(collective) ? decision.before : decision.after).push_back(name.str());
  }
  return decision;
}

static void remarkFused(comm::CollectiveOpInterface collective, const FusionDecision &decision) {
  std::string text = decision.collective + " is one kernel with ";
  if (!decision.before.empty())
    text += llvm::join(decision.before, ", ") + " before it";
  if (!decision.before.empty() && !decision.after.empty())
    text += " and ";
  if (!decision.after.empty())
    text += llvm::join(decision.after, ", ") + " after it";
  remark::passed(collective.getLoc(), remark::RemarkOpts::name("fused").category("fusion")) << describe(decision, text, collective.getContext());
}

static void remarkAlone(comm::CollectiveOpInterface collective, StringRef why) {
  FusionDecision decision = decisionOf(collective);
  decision.why = why;
  std::string text = decision.collective + " is a kernel of its own: " + decision.why;
  remark::missed(collective.getLoc(), remark::RemarkOpts::name("not-fused").category("fusion"))
      << describe(decision, text, collective.getContext());
}

void FuseCollectivesPass::fuse(comm::CollectiveOpInterface collective) {
  Candidate candidate(collective);
  candidate.growConsumers();
  candidate.growProducers();
  std::string first;
  do {
    if (candidate.isAlone())
      continue;
    std::string why;
    comm::FusedOp fused = candidate.build();
    // The peers count on a collective whose result nobody reads, too: its kernel writes to memory of its own.
    if (fused.getResults().empty())
      why = "nobody reads what it gives";
    else if (fused = splitRows(fused); succeeded(checkFused(fused, why))) {
      remarkFused(collective, candidate.decide());
      candidate.commit(fused);
      return;
    }
    if (first.empty())
      first = why;
    fused.erase();
  } while (candidate.shrink());
  remarkAlone(collective, whyLeftOut(collective, first.empty() ? candidate.whyRefused() : first));
}

/// Views as early as their tensors are: the window of a tensor that a kernel reads must be there before it.
static void hoistViews(func::FuncOp function) {
  for (auto view : llvm::to_vector(function.getOps<aten::AsStridedOp>())) {
    if (Operation *maker = view.getBase().getDefiningOp())
      view->moveAfter(maker);
    else
      view->moveBefore(view->getBlock(), view->getBlock()->begin());
  }
}

void FuseCollectivesPass::runOnOperation() {
  SmallVector<CallSteps> before;
  for (auto function : getOperation().getOps<func::FuncOp>())
    before.push_back(countSteps(function));
  for (auto function : getOperation().getOps<func::FuncOp>())
    hoistViews(function);
  for (auto function : getOperation().getOps<func::FuncOp>())
    for (auto collective : llvm::to_vector(function.getOps<comm::CollectiveOpInterface>()))
      if (collective.getCollectiveInputs().empty())
        continue;
      else if (StringRef why = whyAlone(collective); !why.empty())
        remarkAlone(collective, why);
      else
        fuse(collective);
  for (auto [function, steps] : llvm::zip_equal(getOperation().getOps<func::FuncOp>(), before))
    remarkSteps(function, steps, "fusion");
}
