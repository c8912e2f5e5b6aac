//===- JoinLists.cpp - collectives of lists as collectives of one tensor --===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Aten/IR/Aten.h"
#include "dialects/Comm/IR/Comm.h"
#include "passes/Normalize/Patterns.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace pkb;
using namespace pkb::aten;

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// A one-dimensional row-major window of `count` elements.
static RankedTensorType lineType(Type element, int64_t offset, int64_t count) {
  return getTensorType({count}, element, {1}, offset);
}

static SmallVector<int64_t> stackedShape(RankedTensorType type, int64_t size) {
  SmallVector<int64_t> shape(type.getShape());
  shape.insert(shape.begin(), size);
  return shape;
}

/// If `call` puts `parts` one after the other in memory (cat or stack along
/// dimension 0 of exactly these), returns true.
static bool joinsInOrder(CallOp call, ResultRange parts) {
  bool cat = call.getCallee() == "aten::cat";
  if ((!cat && call.getCallee() != "aten::stack") || call.isBufferized() ||
      !call.getMutates().empty() || call.getNumResults() != 1 ||
      call.getArgs().empty() || !call.getKwargs().empty())
    return false;
  auto list = dyn_cast<OperandsAttr>(call.getArgs()[0]);
  if (!list || list.getIndices().size() != parts.size())
    return false;
  if (call.getArgs().size() > 1) {
    auto dim = dyn_cast<IntegerAttr>(call.getArgs()[1]);
    if (!dim || dim.getInt() != 0)
      return false;
  }
  for (auto [part, index] : llvm::zip_equal(parts, list.getIndices()))
    if (index < 0 || call.getInputs()[index] != part)
      return false;
  RankedTensorType part = typeOf(parts.front()), all = typeOf(call.getResult(0));
  return part.getRank() > 0 && !all.getEncoding() &&
         all.getElementType() == part.getElementType() &&
         all.getNumElements() == part.getNumElements() * int64_t(parts.size());
}

/// True if every result is only written somewhere, or all are only joined.
static bool areOnlyJoined(Operation *op) {
  for (OpResult result : op->getResults())
    for (OpOperand &use : result.getUses()) {
      if (auto write = dyn_cast<ViewWriteOp>(use.getOwner());
          write && use.get() == write.getPiece() &&
          write.getBase() != write.getPiece() &&
          isRowMajor(write.getWindowType()))
        continue;
      auto call = dyn_cast<CallOp>(use.getOwner());
      if (!call || !joinsInOrder(call, op->getResults()))
        return false;
    }
  return !op->use_empty();
}

/// Replaces the uses that areOnlyJoined() found by uses of `all`, the results
/// of `op` one after the other.
static void replaceJoined(Operation *op, Value all, PatternRewriter &rewriter) {
  MLIRContext *context = op->getContext();
  RankedTensorType part = typeOf(op->getResult(0));
  int64_t count = part.getNumElements();
  for (OpResult result : op->getResults())
    for (Operation *user : llvm::make_early_inc_range(result.getUsers())) {
      rewriter.setInsertionPoint(user);
      if (isa<CallOp>(user)) {
        rewriter.replaceOpWithNewOp<AsStridedOp>(
            user, user->getResult(0).getType(), all);
        continue;
      }
      auto write = cast<ViewWriteOp>(user);
      int64_t offset = getLayout(write.getWindowType()).offset;
      Value piece = AsStridedOp::create(
          rewriter, op->getLoc(),
          lineType(part.getElementType(), result.getResultNumber() * count,
                   count),
          all);
      rewriter.replaceOpWithNewOp<ViewWriteOp>(
          write, write.getType(), write.getBase(), piece,
          StridedAttr::get(context, {1}, offset));
    }
}

/// If `values` are consecutive row-major pieces of one version, in order,
/// returns it.
static Value getCommonBase(ValueRange values) {
  auto first = values.front().getDefiningOp<AsStridedOp>();
  if (!first)
    return {};
  Value base = first.getBase();
  int64_t end = aten::getWindow(first.getType()).begin;
  for (Value value : values) {
    auto view = value.getDefiningOp<AsStridedOp>();
    if (!view || view.getBase() != base || !isRowMajor(view.getType()) ||
        aten::getWindow(view.getType()).begin != end)
      return {};
    end = aten::getWindow(view.getType()).end;
  }
  return base;
}

/// True if the list of results that `op` (all_gather, gather, all_to_all) has can
/// be one tensor, and its list of inputs, if any, is one. Ranks that use none of
/// the results do not mind.
static bool isJoinable(Operation *op) {
  if (op->getNumResults() < 2 || !typeOf(op->getResult(0)).hasStaticShape())
    return false;
  if (isa<comm::AllToAllOp>(op) && !getCommonBase(op->getOperands()))
    return false;
  return op->use_empty() || areOnlyJoined(op);
}

/// The list that `op`, which isJoinable, gives becomes one tensor.
static void join(Operation *op, PatternRewriter &rewriter) {
  rewriter.setInsertionPoint(op);
  RankedTensorType part = typeOf(op->getResult(0));
  SmallVector<int64_t> shape = stackedShape(part, op->getNumResults());
  Value input = op->getOperand(0);
  if (isa<comm::AllToAllOp>(op)) {
    RankedTensorType window = getTensorType(
        shape, part.getElementType(), getContiguousStrides(shape),
        getLayout(typeOf(input)).offset);
    input = AsStridedOp::create(rewriter, op->getLoc(), window,
                                getCommonBase(op->getOperands()));
  }
  OperationState state(op->getLoc(), op->getName(), input,
                       RankedTensorType::get(shape, part.getElementType()),
                       op->getAttrs());
  Operation *joined = rewriter.create(state);
  replaceJoined(op, joined->getResult(0), rewriter);
  rewriter.eraseOp(op);
}

namespace {
template <typename CollectiveOp>
struct JoinResults : OpRewritePattern<CollectiveOp> {
  using OpRewritePattern<CollectiveOp>::OpRewritePattern;
  LogicalResult matchAndRewrite(CollectiveOp op,
                                PatternRewriter &rewriter) const override {
    if (comm::getExchange(op))
      return rewriter.notifyMatchFailure(op, "other ranks have lists");
    if (op->use_empty() || !isJoinable(op))
      return rewriter.notifyMatchFailure(op, "not pieces of one tensor");
    join(op, rewriter);
    return success();
  }
};

/// Two writes of neighbouring pieces to neighbouring places are one.
struct MergeWrites : OpRewritePattern<ViewWriteOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ViewWriteOp op,
                                PatternRewriter &rewriter) const override {
    auto earlier = op.getBase().getDefiningOp<ViewWriteOp>();
    if (!earlier || !earlier->hasOneUse())
      return rewriter.notifyMatchFailure(op, "no write of its own before");
    auto second = op.getPiece().getDefiningOp<AsStridedOp>();
    auto first = earlier.getPiece().getDefiningOp<AsStridedOp>();
    if (!first || !second || first.getBase() != second.getBase())
      return rewriter.notifyMatchFailure(op, "not pieces of one tensor");
    RankedTensorType from[2] = {first.getType(), second.getType()};
    RankedTensorType to[2] = {earlier.getWindowType(), op.getWindowType()};
    for (RankedTensorType type : {from[0], from[1], to[0], to[1]})
      if (!type.hasStaticShape() || !isRowMajor(type) ||
          type.getElementType() != from[0].getElementType() ||
          type.getNumElements() == 0)
        return rewriter.notifyMatchFailure(op, "not row-major of one type");
    if (aten::getWindow(from[0]).end != aten::getWindow(from[1]).begin ||
        aten::getWindow(to[0]).end != aten::getWindow(to[1]).begin)
      return rewriter.notifyMatchFailure(op, "not neighbours");
    Value piece = AsStridedOp::create(
        rewriter, op.getLoc(),
        lineType(from[0].getElementType(), getLayout(from[0]).offset,
                 from[0].getNumElements() + from[1].getNumElements()),
        first.getBase());
    rewriter.replaceOpWithNewOp<ViewWriteOp>(
        op, op.getType(), earlier.getBase(), piece,
        StridedAttr::get(op.getContext(), {1}, getLayout(to[0]).offset));
    return success();
  }
};

/// A collective whose one result is only read in one other legal shape makes it
/// in that shape.
template <typename CollectiveOp>
struct ReshapeResult : OpRewritePattern<CollectiveOp> {
  using OpRewritePattern<CollectiveOp>::OpRewritePattern;
  LogicalResult matchAndRewrite(CollectiveOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getNumResults() != 1 || op->use_empty())
      return rewriter.notifyMatchFailure(op, "not one used result");
    RankedTensorType wanted;
    for (Operation *user : op->getUsers()) {
      auto read = dyn_cast<AsStridedOp>(user);
      if (!read || (wanted && read.getType() != wanted))
        return rewriter.notifyMatchFailure(op, "read in more than one shape");
      wanted = read.getType();
    }
    if (!isLegal(op, wanted))
      return rewriter.notifyMatchFailure(op, "not a legal result");
    rewriter.modifyOpInPlace(op, [&] { op->getResult(0).setType(wanted); });
    for (Operation *user : llvm::make_early_inc_range(op->getUsers()))
      rewriter.replaceOp(user, op->getResults());
    return success();
  }

  static bool isLegal(CollectiveOp op, RankedTensorType type) {
    RankedTensorType input = typeOf(op->getOperand(0));
    int64_t size = op.getGroup().getSize();
    if (type.getEncoding() || !type.hasStaticShape() ||
        type.getElementType() != input.getElementType())
      return false;
    if constexpr (std::is_same_v<CollectiveOp, comm::AllToAllOp>)
      return type.getRank() > 0 && type.getDimSize(0) % size == 0 &&
             type.getNumElements() == input.getNumElements();
    SmallVector<int64_t> joined(input.getShape());
    if (!joined.empty())
      joined.front() *= size;
    return type.getShape() == ArrayRef(stackedShape(input, size)) ||
           (!joined.empty() && type.getShape() == ArrayRef(joined));
  }
};

/// An all_to_all of a reshaped tensor reads the tensor itself.
struct ReshapedInput : OpRewritePattern<comm::AllToAllOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(comm::AllToAllOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getInputs().size() != 1)
      return rewriter.notifyMatchFailure(op, "not one input");
    auto view = op.getInputs().front().getDefiningOp<AsStridedOp>();
    if (!view)
      return rewriter.notifyMatchFailure(op, "input is not a view");
    RankedTensorType base = typeOf(view.getBase()), input = view.getType();
    if (base.getEncoding() || !base.hasStaticShape() || base.getRank() == 0 ||
        base.getDimSize(0) % op.getGroup().getSize() ||
        base.getElementType() != input.getElementType() ||
        base.getNumElements() != input.getNumElements())
      return rewriter.notifyMatchFailure(op, "not a reshape of a legal input");
    rewriter.modifyOpInPlace(
        op, [&] { op.getInputsMutable().assign(view.getBase()); });
    return success();
  }
};
} // namespace

void pkb::populateJoinPatterns(RewritePatternSet &patterns) {
  patterns.add<JoinResults<comm::AllGatherOp>, JoinResults<comm::AllToAllOp>,
               MergeWrites, ReshapeResult<comm::AllGatherOp>,
               ReshapeResult<comm::GatherOp>, ReshapeResult<comm::AllToAllOp>,
               ReshapedInput>(patterns.getContext());
}

bool pkb::joinExchanges(Operation *root) {
  llvm::MapVector<int64_t, SmallVector<Operation *>> exchanges;
  root->walk([&](comm::CollectiveOpInterface op) {
    if (IntegerAttr number = comm::getExchange(op);
        number && isa<comm::AllGatherOp, comm::GatherOp, comm::AllToAllOp>(
                      op.getOperation()))
      exchanges[number.getInt()].push_back(op);
  });
  PatternRewriter rewriter(root->getContext());
  bool changed = false;
  for (auto &[number, ops] : exchanges) {
    auto isUsed = [](Operation *op) { return !op->use_empty(); };
    if (!llvm::any_of(ops, isUsed) || !llvm::all_of(ops, isJoinable))
      continue;
    for (Operation *op : ops)
      join(op, rewriter);
    changed = true;
  }
  return changed;
}
