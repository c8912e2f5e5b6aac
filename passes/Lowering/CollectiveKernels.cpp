// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- CollectiveKernels.cpp - one collective as one kernel -------------===//
//
// All collectives here are one exchange: every rank pushes one message to every other rank and consumes one from each. They differ in which
// message goes where and in what is done with those that arrive.
//
//===----------------------------------------------------------------------===//

#include "passes/Lowering/CollectiveKernels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace pkb;

namespace {

/// What the kernel of a collective promises to compute.
xfer::Collective collectiveOf(Operation *op) {
  if (isa<comm::AllReduceOp>(op))
    return xfer::Collective::AllReduce;
  if (isa<comm::AllGatherOp>(op))
    return xfer::Collective::AllGather;
  return isa<comm::AllToAllOp>(op) ? xfer::Collective::AllToAll : xfer::Collective::None;
}

/// Builds the body of one kernel.
class ExchangeBuilder {
public:
  ExchangeBuilder(OpBuilder &builder, comm::CollectiveOpInterface op, xfer::ScheduleAttr schedule)
      : builder(builder), op(op), schedule(schedule), loc(op.getLoc()), size(op.getGroup().getSize()) {}

  LogicalResult build(StringRef name, TypeRange operands);

private:
  LogicalResult checkReduction(Type element);
  Value messageOf(OpBuilder &at, ValueRange tensors, Value rank, Value &part);
  void produce(Block &block);
  void consume(Block &block);
  Value combine(OpBuilder &at, ValueRange contributions);
  bool inBand() const { return schedule.getMechanism() == xfer::Mechanism::LL; }

  OpBuilder &builder;
  comm::CollectiveOpInterface op;
  xfer::ScheduleAttr schedule;
  Location loc;
  int64_t size;
  xfer::KernelOp kernel;
  xfer::TileType tile;
  Value buffer, flags;
  ValueRange inputs, results;
};

} // namespace

LogicalResult ExchangeBuilder::checkReduction(Type element) {
  std::optional<comm::ReduceKind> kind = op.getReduceKind();
  if (!kind)
    return success();
  if (*kind != comm::ReduceKind::Sum)
    return op.emitOpError() << "has no kernel for reduction " << comm::stringifyReduceKind(*kind) << ", only for sum";
  bool number = isa<Float64Type, Float32Type, Float16Type, BFloat16Type>(element) ||
                (isa<IntegerType>(element) && !element.isInteger(1));
  if (!number)
    return op.emitOpError() << "has no kernel that sums " << element;
  return success();
}

LogicalResult ExchangeBuilder::build(StringRef name, TypeRange operands) {
  Type element = cast<MemRefType>(operands.front()).getElementType();
  int64_t bytes = xfer::elementBytes(element);
  if (bytes == 0 || 16 % bytes != 0)
    return op.emitOpError() << "has no kernel for elements of type " << element;
  if (failed(checkReduction(element)))
    return failure();

  // Elements of one message: what one rank sends to one other.
  int64_t elements = cast<MemRefType>(operands.front()).getNumElements();
  if (op.getPartCount() > 1)
    elements /= size;
  int64_t chunk = schedule.getChunk() / bytes;
  std::string source;
  if (auto place = dyn_cast<FileLineColLoc>(loc))
    source = (place.getFilename().getValue() + ":" + Twine(place.getLine()) + " ").str();
  std::string summary;
  llvm::raw_string_ostream(summary) << source << op->getName().stripDialect() << " of " << elements << " x " << element;
  kernel = xfer::KernelOp::create(builder, loc, builder.getStringAttr(name), op.getGroup(), schedule,
                                  op->getAttrOfType<FloatAttr>(xfer::kPredictedAttrName), builder.getStringAttr(summary),
                                  xfer::CollectiveAttr::get(builder.getContext(), collectiveOf(op.getOperation())));
  Block &entry = kernel.getBody().emplaceBlock();
  for (Type type : operands)
    entry.addArgument(type, loc);
  size_t numInputs = op.getCollectiveInputs().size();
  inputs = ValueRange(entry.getArguments()).take_front(numInputs);
  results = ValueRange(entry.getArguments()).drop_front(numInputs);

  OpBuilder at = OpBuilder::atBlockEnd(&entry);
  tile = xfer::TileType::get(at.getContext(), element);
  auto type = xfer::SymmType::get(at.getContext(), element, chunk, schedule.getSlots(), 2,
                                  inBand() ? xfer::Protocol::Lines : xfer::Protocol::Staged);
  buffer = xfer::SymmBufferOp::create(at, loc, type);
  flags = xfer::FlagsOp::create(at, loc, xfer::FlagsType::get(at.getContext()));
  auto pipeline = xfer::PipelineOp::create(at, loc, at.getI64IntegerAttr(elements), at.getI64IntegerAttr(chunk));
  for (Region *region : {&pipeline.getProduce(), &pipeline.getConsume()})
    region->emplaceBlock().addArgument(xfer::ChunkType::get(at.getContext()), loc);
  produce(pipeline.getProduce().front());
  consume(pipeline.getConsume().front());
  return success();
}

/// The tensor that belongs to `rank` among `tensors`, and in `part` which of its messages, if it holds several.
Value ExchangeBuilder::messageOf(OpBuilder &at, ValueRange tensors, Value rank, Value &part) {
  if (tensors.size() == 1 || size == 1) {
    part = size == 1 ? Value() : rank;
    return tensors.front();
  }
  part = Value();
  return xfer::SelectOp::create(at, loc, tensors.front().getType(), rank, tensors);
}

void ExchangeBuilder::produce(Block &block) {
  OpBuilder at = OpBuilder::atBlockEnd(&block);
  Value chunk = block.getArgument(0);
  auto mechanism = xfer::MechanismAttr::get(at.getContext(), schedule.getMechanism());
  Type token = xfer::TokenType::get(at.getContext());
  bool personal = op.getPartCount() > 1 || inputs.size() > 1; // each rank gets another message
  SmallVector<Value> tokens;

  Value own;
  if (!op.getReduceKind())
    own = xfer::OwnRankOp::create(at, loc, at.getIndexType());
  if (!personal) {
    Value value = xfer::LoadOp::create(at, loc, tile, inputs.front(), Value(), chunk);
    tokens.push_back(xfer::PutOp::create(at, loc, token, value, buffer, Value(), chunk, mechanism));
    if (own) { // all_gather: the own message is already where it is read
      Value part, dest = messageOf(at, results, own, part);
      xfer::StoreOp::create(at, loc, value, dest, part, chunk);
    }
  } else {
    auto peers = xfer::ForPeersOp::create(at, loc);
    Block &body = peers.getBody().emplaceBlock();
    Value peer = body.addArgument(at.getIndexType(), loc);
    OpBuilder inside = OpBuilder::atBlockEnd(&body);
    Value part, source = messageOf(inside, inputs, peer, part);
    Value value = xfer::LoadOp::create(inside, loc, tile, source, part, chunk);
    xfer::PutOp::create(inside, loc, token, value, buffer, peer, chunk, mechanism);
  }
  xfer::SignalOp::create(at, loc, flags, Value(), chunk, tokens, inBand());
  if (personal) {
    Value part, source = messageOf(at, inputs, own, part);
    Value value = xfer::LoadOp::create(at, loc, tile, source, part, chunk);
    Value destPart, dest = messageOf(at, results, own, destPart);
    xfer::StoreOp::create(at, loc, value, dest, destPart, chunk);
  }
}

void ExchangeBuilder::consume(Block &block) {
  OpBuilder at = OpBuilder::atBlockEnd(&block);
  Value chunk = block.getArgument(0);
  Type token = xfer::TokenType::get(at.getContext());
  if (op.getReduceKind()) {
    Value arrived = xfer::WaitOp::create(at, loc, token, flags, Value(), chunk, inBand());
    Value own = xfer::LoadOp::create(at, loc, tile, inputs.front(), Value(), chunk);
    SmallVector<Type> tiles(size, tile);
    auto all = xfer::ContributionsOp::create(at, loc, tiles, buffer, own, chunk, arrived);
    xfer::StoreOp::create(at, loc, combine(at, all.getTiles()), results.front(), Value(), chunk);
    return;
  }
  auto peers = xfer::ForPeersOp::create(at, loc);
  Block &body = peers.getBody().emplaceBlock();
  Value peer = body.addArgument(at.getIndexType(), loc);
  OpBuilder inside = OpBuilder::atBlockEnd(&body);
  Value arrived = xfer::WaitOp::create(inside, loc, token, flags, peer, chunk, inBand());
  Value value = xfer::ConsumeOp::create(inside, loc, tile, buffer, peer, chunk, arrived);
  Value part, dest = messageOf(inside, results, peer, part);
  xfer::StoreOp::create(inside, loc, value, dest, part, chunk);
}

/// Adds the contributions in rank order in the accumulation type and rounds once.
Value ExchangeBuilder::combine(OpBuilder &at, ValueRange contributions) {
  Type element = tile.getElementType();
  Type accumulation = cast<comm::AllReduceOp>(op.getOperation()).getAccumulation();
  auto map = xfer::MapOp::create(at, loc, tile, contributions);
  Block &body = map.getBody().emplaceBlock();
  OpBuilder inside = OpBuilder::atBlockEnd(&body);
  bool wider = accumulation != element;
  Value sum;
  for (size_t rank = 0; rank < contributions.size(); ++rank) {
    Value value = body.addArgument(element, loc);
    if (isa<FloatType>(element)) {
      if (wider)
        value = arith::ExtFOp::create(inside, loc, accumulation, value);
      sum = sum ? Value(arith::AddFOp::create(inside, loc, sum, value)) : value;
    } else {
      // Sums of integers wrap; a wider accumulation gives the same bits.
      sum = sum ? Value(arith::AddIOp::create(inside, loc, sum, value)) : value;
    }
  }
  if (isa<FloatType>(element) && wider)
    sum = arith::TruncFOp::create(inside, loc, element, sum);
  xfer::YieldOp::create(inside, loc, sum);
  return map.getResult();
}

LogicalResult pkb::buildCollectiveKernel(OpBuilder &builder, comm::CollectiveOpInterface op, StringRef name,
                                         TypeRange operands) {
  if (!isa<comm::AllReduceOp, comm::AllGatherOp, comm::AllToAllOp>(op.getOperation()))
    return op.emitOpError() << "has no kernel";
  auto schedule = op->getAttrOfType<xfer::ScheduleAttr>(xfer::kScheduleAttrName);
  if (!schedule)
    return op.emitOpError() << "must have a schedule (attribute " << xfer::kScheduleAttrName
                            << "); run pkb-select-mechanism first";
  return ExchangeBuilder(builder, op, schedule).build(name, operands);
}
