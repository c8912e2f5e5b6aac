// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- FusedKernels.cpp - a comm.fused as one kernel --------------------===//
//
// What the message is computed from goes into the pipeline's `produce`, what is computed from the collective's result into `consume`. Values that both
// sides need are computed on both.
//
//===----------------------------------------------------------------------===//

#include "passes/Lowering/FusedKernels.h"
#include "passes/Lowering/CollectiveKernels.h"
#include "passes/Lowering/Combination.h"
#include "passes/Lowering/FusedArguments.h"
#include "passes/Lowering/RowTiles.h"

#include "pkb/Analysis/FusedRegion.h"
#include "pkb/Analysis/Phases.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace pkb;

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

namespace {

/// Builds the pipeline of one region, in a kernel of its own or in one that is there.
class FusedBuilder : public MessageEnds {
public:
  FusedBuilder(OpBuilder &builder, comm::FusedOp op, xfer::ScheduleAttr schedule, FusedArguments &tensors)
      : builder(builder), op(op), region(op), schedule(schedule), tensors(tensors),
        loc(region.collective() ? region.collective().getLoc() : op.getLoc()) {}

  /// A kernel with this one collective.
  LogicalResult build(StringRef name);
  /// The next phase of `chain`.
  LogicalResult append(xfer::KernelOp chain);
  /// The comment above the emitted kernel.
  std::string summary();

  Value load(OpBuilder &at, Value part, Value chunk) override;
  void store(OpBuilder &at, Value tile, Value part, Value chunk) override;

private:
  LogicalResult buildRows(StringRef name);
  xfer::PipelineOp exchangeRows();
  comm::ReduceKindAttr reductionAttr();
  void appendRows(xfer::KernelOp chain);
  /// The tiles of one message that are made in one block, of a region over elements.
  struct Elements {
    OpBuilder &at;
    FusedSide side;
    Value part, chunk;
    DenseMap<Value, Value> tiles;
  };
  Value elementsOf(Elements &elements, Value value, const ElementOrder &order);
  Value elementsOfLeaf(Elements &elements, Value leaf, RankedTensorType window, const ElementOrder &order);

  /// One region of the pipeline: where it grows, and the tiles that have been made there.
  struct Side {
    explicit Side(Block &block) : at(OpBuilder::atBlockEnd(&block)), chunk(block.getArgument(0)) {}

    OpBuilder at;
    Value chunk;
    DenseMap<Value, Value> tiles;                       // of computed values
    DenseMap<std::pair<Value, Type>, Value> loads;      // by argument and window
  };

  xfer::TileType tileType(Type element, bool full);
  Value argumentFor(int64_t number, RankedTensorType window);
  Value load(Side &side, BlockArgument leaf, RankedTensorType window, bool full);
  Value tileOf(Side &side, Value value);
  Value operandOf(Side &side, aten::CallOp call, Value operand);
  void compute(Side &side, aten::CallOp call, const RowOperator &rows);
  Value combined(Side &side, ValueRange contributions);
  void produce(Block &block);
  void consume(Block &block);
  void storeResults(Side &side);
  bool inBand() const { return schedule.getMechanism() == xfer::Mechanism::LL; }

  OpBuilder &builder;
  comm::FusedOp op;
  FusedRegion region;
  xfer::ScheduleAttr schedule;
  FusedArguments &tensors;
  Location loc;
  xfer::KernelOp kernel;
  VectorType line;
  Value buffer, flags;
};

} // namespace

xfer::TileType FusedBuilder::tileType(Type element, bool full) {
  return xfer::TileType::get(builder.getContext(), full ? VectorType::get({region.width()}, element) : element);
}

/// The kernel's argument for a window of operand `number`.
Value FusedBuilder::argumentFor(int64_t number, RankedTensorType window) { return tensors.of(op, number, window); }

Value FusedBuilder::load(Side &side, BlockArgument leaf, RankedTensorType window, bool full) {
  Value &tile = side.loads[{leaf, window}];
  if (!tile) {
    Value argument = argumentFor(leaf.getArgNumber(), window);
    tile = xfer::LoadOp::create(side.at, leaf.getLoc(), tileType(window.getElementType(), full), argument, Value(), Value(), side.chunk);
  }
  return tile;
}

Value FusedBuilder::operandOf(Side &side, aten::CallOp call, Value operand) {
  Value result = call->getResult(0);
  switch (region.accessOf(call, operand)) {
  case OperandAccess::Memory:
    return load(side, cast<BlockArgument>(operand), FusedRegion::broadcastWindow(typeOf(operand), typeOf(result).getShape()),
                region.isFull(result));
  case OperandAccess::OfRow: {
    Value tile = tileOf(side, operand);
    return RowTiles(side.at, call.getLoc(), region.width()).spread(tile);
  }
  case OperandAccess::SameIndex:
    return tileOf(side, operand);
  case OperandAccess::Illegal:
    break;
  }
  return {}; // FusedRegion::check has looked
}

/// Makes the tiles of all results of an operator on rows.
void FusedBuilder::compute(Side &side, aten::CallOp call, const RowOperator &rows) {
  auto window = [&](Value weight) {
    return weight ? load(side, cast<BlockArgument>(weight), FusedRegion::broadcastWindow(typeOf(weight), typeOf(rows.input).getShape()), true) : Value();
  };
  SmallVector<Type> elements = llvm::map_to_vector(call->getResults(), [](Value result) -> Type { return typeOf(result).getElementType(); });
  Value input = tileOf(side, rows.input), weight = window(rows.weight), bias = window(rows.bias);
  SmallVector<Value> tiles = RowTiles(side.at, call.getLoc(), region.width()).computed(rows, input, weight, bias, elements);
  for (auto [result, tile] : llvm::zip_equal(call->getResults(), tiles))
    side.tiles[result] = tile;
}

/// The tile of a value of the region.
Value FusedBuilder::tileOf(Side &side, Value value) {
  value = FusedRegion::resolve(value);
  if (Value tile = side.tiles.lookup(value))
    return tile;
  if (auto leaf = dyn_cast<BlockArgument>(value))
    return load(side, leaf, typeOf(leaf), region.isFull(leaf));
  auto call = value.getDefiningOp<aten::CallOp>();
  Value tile;
  if (std::optional<RowReduction> reduction = getRowReduction(call)) {
    Value rows = tileOf(side, getReducedTensor(call));
    tile = RowTiles(side.at, call.getLoc(), region.width()).reduced(rows, *reduction, typeOf(value).getElementType());
  } else if (std::optional<RowOperator> rows = getRowOperator(call)) {
    compute(side, call, *rows);
    return side.tiles.lookup(value);
  } else {
    SmallVector<Value> tiles;
    for (Value operand : call.getInputs())
      tiles.push_back(operandOf(side, call, operand));
    auto map = xfer::MapOp::create(side.at, call.getLoc(), tileType(typeOf(value).getElementType(), region.isFull(value)), tiles);
    Block &body = map.getBody().emplaceBlock();
    for (Value operand : call.getInputs())
      body.addArgument(typeOf(operand).getElementType(), call.getLoc());
    OpBuilder inside = OpBuilder::atBlockEnd(&body);
    SmallVector<Value> elements(body.args_begin(), body.args_end());
    xfer::YieldOp::create(inside, call.getLoc(), buildElementwise(inside, call, elements));
    tile = map.getResult();
  }
  side.tiles[value] = tile;
  return tile;
}

/// The contributions combined in rank order.
Value FusedBuilder::combined(Side &side, ValueRange contributions) {
  auto reduce = cast<comm::AllReduceOp>(region.collective().getOperation());
  return Combination{reduce.getKind(), reduce.getInput().getType().getElementType(), reduce.getAccumulation(), {}}.build(side.at, loc, contributions);
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

/// A tile of what the region reads, in the order of the message.
Value FusedBuilder::elementsOfLeaf(Elements &elements, Value leaf, RankedTensorType window, const ElementOrder &order) {
  Value argument = argumentFor(FusedRegion::leafOf(leaf).getArgNumber(), order.sorted(window));
  return xfer::LoadOp::create(elements.at, leaf.getLoc(), tileType(window.getElementType(), false), argument, elements.part, Value(),
                              elements.chunk);
}

/// The tile of a value of the region; `order` is that of a value which is read.
Value FusedBuilder::elementsOf(Elements &elements, Value value, const ElementOrder &order) {
  if (Value tile = elements.tiles.lookup(value))
    return tile;
  if (FusedRegion::leafOf(value))
    return elementsOfLeaf(elements, value, typeOf(value), order);
  if (auto view = value.getDefiningOp<aten::AsStridedOp>())
    return elementsOf(elements, view.getBase(), order); // another order of the dimensions, the same numbers
  auto call = value.getDefiningOp<aten::CallOp>();
  const ElementOrder &own = region.orderOf(elements.side, value);
  SmallVector<Value> tiles;
  for (Value input : call.getInputs())
    tiles.push_back(FusedRegion::leafOf(input) ? elementsOfLeaf(elements, input, FusedRegion::broadcastWindow(typeOf(input), typeOf(value).getShape()), own)
                                               : elementsOf(elements, input, own));
  auto map = xfer::MapOp::create(elements.at, call.getLoc(), tileType(typeOf(value).getElementType(), false), tiles);
  Block &body = map.getBody().emplaceBlock();
  for (Value input : call.getInputs())
    body.addArgument(typeOf(input).getElementType(), call.getLoc());
  OpBuilder inside = OpBuilder::atBlockEnd(&body);
  SmallVector<Value> arguments(body.args_begin(), body.args_end());
  xfer::YieldOp::create(inside, call.getLoc(), buildElementwise(inside, call, arguments));
  return elements.tiles[value] = map.getResult();
}

Value FusedBuilder::load(OpBuilder &at, Value part, Value chunk) {
  Elements elements{at, FusedSide::Message, part, chunk, DenseMap<Value, Value>()};
  Value message = region.collective().getCollectiveInputs().front();
  return elementsOf(elements, message, ElementOrder::rowMajor(typeOf(message).getShape()));
}

void FusedBuilder::store(OpBuilder &at, Value tile, Value part, Value chunk) {
  Elements elements{at, FusedSide::Result, part, chunk, DenseMap<Value, Value>()};
  elements.tiles[region.collective().getCollectiveResults().front()] = tile;
  for (auto [number, value] : llvm::enumerate(op.getEntry().getTerminator()->getOperands())) {
    const ElementOrder &order = region.orderOf(FusedSide::Result, value);
    Value result = elementsOf(elements, value, order);
    Value dest = argumentFor(op.getInputs().size() + number, order.sorted(typeOf(value)));
    xfer::StoreOp::create(at, value.getLoc(), result, dest, part, Value(), chunk);
  }
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

void FusedBuilder::produce(Block &block) {
  Side side(block);
  Value value = tileOf(side, region.collective().getCollectiveInputs().front());
  Value message = xfer::LineOp::create(side.at, loc, xfer::TileType::get(builder.getContext(), line), value);
  auto mechanism = xfer::MechanismAttr::get(builder.getContext(), schedule.getMechanism());
  Value token = xfer::PutOp::create(side.at, loc, xfer::TokenType::get(builder.getContext()), message, buffer, Value(), side.chunk, mechanism,
                                    /*self=*/builder.getUnitAttr());
  xfer::SignalOp::create(side.at, loc, flags, Value(), side.chunk, token, inBand());
}

void FusedBuilder::consume(Block &block) {
  Side side(block);
  int64_t ranks = region.collective().getGroup().getSize();
  Value arrived = xfer::WaitOp::create(side.at, loc, xfer::TokenType::get(builder.getContext()), flags, Value(), side.chunk, inBand());
  SmallVector<Type> lines(ranks, xfer::TileType::get(builder.getContext(), line));
  auto all = xfer::ContributionsOp::create(side.at, loc, lines, buffer, Value(), side.chunk, arrived);
  SmallVector<Value> contributions;
  for (Value tile : all.getTiles())
    contributions.push_back(xfer::PartOp::create(side.at, loc, tileType(line.getElementType(), false), tile, 0));
  side.tiles[region.collective().getCollectiveResults().front()] = combined(side, contributions);
  storeResults(side);
}

void FusedBuilder::storeResults(Side &side) {
  for (auto [number, value] : llvm::enumerate(op.getEntry().getTerminator()->getOperands())) {
    Value dest = argumentFor(op.getInputs().size() + number, typeOf(value));
    xfer::StoreOp::create(side.at, value.getLoc(), tileOf(side, value), dest, Value(), Value(), side.chunk);
  }
}

LogicalResult FusedBuilder::build(StringRef name) {
  std::string why;
  if (failed(region.check(why)))
    return op.emitOpError() << "has no form as one kernel: " << why;
  if (region.overRows())
    return buildRows(name);
  auto created = [&](xfer::KernelOp made) {
    kernel = made;
    tensors.setKernel(made);
  };
  if (failed(buildExchangeKernel(builder, region.collective(), schedule, name, summary(), *this, created)))
    return failure();
  if (auto predicted = op->getAttrOfType<FloatAttr>(xfer::kPredictedAttrName))
    kernel.setPredictedUsAttr(predicted);
  return success();
}

LogicalResult FusedBuilder::append(xfer::KernelOp chain) {
  std::string why;
  if (failed(region.check(why)))
    return op.emitOpError() << "has no form as a phase of a kernel: " << why;
  kernel = chain;
  if (!region.collective()) {
    appendRows(chain);
    return success();
  }
  if (region.overRows()) {
    xfer::PipelineOp pipeline = exchangeRows();
    pipeline.setImplementsAttr(xfer::CollectiveAttr::get(builder.getContext(), xfer::Collective::AllReduce));
    pipeline.setReductionAttr(reductionAttr());
    return success();
  }
  return appendExchange(region.collective(), chain, *this);
}

std::string FusedBuilder::summary() {
  std::string text, place;
  if (auto file = loc->findInstanceOf<FileLineColLoc>())
    place = (file.getFilename().getValue() + ":" + Twine(file.getLine()) + " ").str();
  int64_t calls = llvm::range_size(op.getEntry().getOps<aten::CallOp>());
  if (!region.collective()) {
    llvm::raw_string_ostream(text) << calls << (calls == 1 ? " operator" : " operators") << " on rows of " << region.width();
    return text;
  }
  llvm::raw_string_ostream(text) << place << region.collective()->getName().stripDialect() << " of " << region.rows() << " x "
                                 << typeOf(region.collective().getCollectiveInputs().front()).getElementType() << " fused with " << calls
                                 << (calls == 1 ? " operator" : " operators");
  return text;
}

/// How contributions are combined; null for a sum.
comm::ReduceKindAttr FusedBuilder::reductionAttr() {
  comm::ReduceKind reduction = *region.collective().getReduceKind();
  return reduction == comm::ReduceKind::Sum ? comm::ReduceKindAttr() : comm::ReduceKindAttr::get(builder.getContext(), reduction);
}

LogicalResult FusedBuilder::buildRows(StringRef name) {
  kernel = xfer::KernelOp::create(
      builder, loc, builder.getStringAttr(name), region.collective().getGroup(), schedule,
      op->getAttrOfType<FloatAttr>(xfer::kPredictedAttrName), builder.getStringAttr(summary()),
      xfer::CollectiveAttr::get(builder.getContext(), xfer::Collective::AllReduce), builder.getUnitAttr(), reductionAttr(),
      DenseF64ArrayAttr(), IntegerAttr(), DenseI64ArrayAttr(), DenseI64ArrayAttr());
  tensors.setKernel(kernel);
  kernel.getBody().emplaceBlock();
  exchangeRows();
  return success();
}

/// The pipeline, at the end of the kernel, that exchanges a line for each row.
xfer::PipelineOp FusedBuilder::exchangeRows() {
  Type element = typeOf(region.collective().getCollectiveInputs().front()).getElementType();
  line = VectorType::get({16 / xfer::elementBytes(element)}, element);
  int64_t chunk = schedule.getChunk() / 16;
  OpBuilder at = OpBuilder::atBlockEnd(&kernel.getEntry());
  buffer = xfer::SymmBufferOp::create(at, loc,
                                      xfer::SymmType::get(at.getContext(), line, chunk, schedule.getSlots(), 2,
                                                          inBand() ? xfer::Protocol::Lines : xfer::Protocol::Staged));
  flags = xfer::FlagsOp::create(at, loc, xfer::FlagsType::get(at.getContext()));
  auto pipeline = xfer::PipelineOp::create(at, loc, at.getI64IntegerAttr(region.rows()), at.getI64IntegerAttr(chunk),
                                           xfer::CollectiveAttr(), comm::ReduceKindAttr());
  for (Region *part : {&pipeline.getProduce(), &pipeline.getConsume()})
    part->emplaceBlock().addArgument(xfer::ChunkType::get(at.getContext()), loc);
  produce(pipeline.getProduce().front());
  consume(pipeline.getConsume().front());
  return pipeline;
}

/// How many rows a block works on at a time: those of a chunk of the pipeline before, which it has stored itself, where these are whole ones and keep all its
/// warps busy; else as many as give each block the same number.
static int64_t rowsAtATime(xfer::KernelOp kernel, const FusedRegion &region) {
  auto before = cast<xfer::PipelineOp>(kernel.getEntry().back());
  xfer::ScheduleAttr schedule = kernel.getSchedule();
  int64_t elements = before.getElements(), chunk = before.getChunk(), own = chunk / region.width();
  int64_t share = llvm::divideCeil(region.rows(), schedule.getBlocks()), warps = schedule.getThreads() / 32;
  bool whole = elements == region.rows() * region.width() && chunk % region.width() == 0;
  return whole && own >= std::min(share, warps) ? own : share;
}

/// A pipeline that computes, row by row, from what earlier ones have left.
void FusedBuilder::appendRows(xfer::KernelOp chain) {
  int64_t chunk = rowsAtATime(chain, region);
  OpBuilder at = OpBuilder::atBlockEnd(&chain.getEntry());
  auto pipeline = xfer::PipelineOp::create(at, loc, at.getI64IntegerAttr(region.rows()), at.getI64IntegerAttr(chunk),
                                           xfer::CollectiveAttr(), comm::ReduceKindAttr());
  for (Region *part : {&pipeline.getProduce(), &pipeline.getConsume()})
    part->emplaceBlock().addArgument(xfer::ChunkType::get(at.getContext()), loc);
  Side side(pipeline.getProduce().front());
  storeResults(side);
}

//===----------------------------------------------------------------------===//
// Phases
//===----------------------------------------------------------------------===//

/// Builds the kernel of a chain of phases: a pipeline for each, and a sync before those that load what an earlier one
/// has stored.
static LogicalResult buildChain(OpBuilder &builder, comm::FusedOp op, xfer::ScheduleAttr schedule, StringRef name,
                                FusedArguments &tensors) {
  std::string why;
  if (failed(checkFused(op, why)))
    return op.emitOpError() << "has no form as one kernel: " << why;
  std::string summary;
  for (comm::FusedOp phase : comm::getPhases(op))
    summary += (summary.empty() ? "" : ", then ") + FusedBuilder(builder, phase, schedule, tensors).summary();
  MLIRContext *context = builder.getContext();
  auto kernel = xfer::KernelOp::create(
      builder, op.getLoc(), builder.getStringAttr(name), op.getCollectives().front().getGroup(), schedule,
      op->getAttrOfType<FloatAttr>(xfer::kPredictedAttrName), builder.getStringAttr(summary),
      xfer::CollectiveAttr::get(context, xfer::Collective::None), builder.getUnitAttr(), comm::ReduceKindAttr(),
      DenseF64ArrayAttr(), IntegerAttr(), DenseI64ArrayAttr(), DenseI64ArrayAttr());
  kernel.getBody().emplaceBlock();
  tensors.setKernel(kernel);
  for (comm::FusedOp phase : comm::getPhases(op)) {
    if (failed(FusedBuilder(builder, phase, schedule, tensors).append(kernel)))
      return failure();
    auto pipeline = cast<xfer::PipelineOp>(kernel.getEntry().back());
    if (std::optional<xfer::SyncScope> scope = neededSync(pipeline)) {
      OpBuilder before(pipeline);
      xfer::SyncOp::create(before, pipeline.getLoc(), *scope);
    }
  }
  return success();
}

FailureOr<SmallVector<Value>> pkb::buildFusedKernel(OpBuilder &builder, comm::FusedOp op, StringRef name,
                                                    FusedMemory memory) {
  auto schedule = op->getAttrOfType<xfer::ScheduleAttr>(xfer::kScheduleAttrName);
  if (!schedule)
    return op.emitOpError() << "must have a schedule (attribute " << xfer::kScheduleAttrName
                            << "); run pkb-select-mechanism first";
  FusedArguments tensors(op, memory);
  bool chain = !comm::getPhases(op).empty();
  if (failed(chain ? buildChain(builder, op, schedule, name, tensors)
                   : FusedBuilder(builder, op, schedule, tensors).build(name)))
    return failure();
  return SmallVector<Value>(tensors.operands());
}
