// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- XferVerifiers.cpp - what one op can check by itself --------------===//
//
// Local rules only. Contributions, matching of signals and waits, cycles, residency and reuse need the whole kernel: the gate
// `pkb-verify-xfer`.
//
//===----------------------------------------------------------------------===//

#include "dialects/Xfer/IR/Xfer.h"

#include "pkb_rt/layout.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace pkb;
using namespace pkb::xfer;

//===----------------------------------------------------------------------===//
// Host scope
//===----------------------------------------------------------------------===//

bool xfer::isContiguous(MemRefType type) {
  int64_t offset = 0, natural = 1;
  SmallVector<int64_t> strides;
  if (!type.hasStaticShape() || failed(type.getStridesAndOffset(strides, offset)) || ShapedType::isDynamic(offset))
    return false;
  if (type.getNumElements() == 0)
    return true;
  for (auto [size, stride] : llvm::reverse(llvm::zip_equal(type.getShape(), strides))) {
    if (size != 1 && stride != natural)
      return false;
    natural *= size;
  }
  return true;
}

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  // launch_c1
  auto kernel = symbols.lookupNearestSymbolFrom<KernelOp>(*this, getKernelAttr());
  if (!kernel)
    return emitOpError() << "must name an xfer.kernel, got: " << getKernelAttr();
  // launch_c2
  Block &entry = kernel.getEntry();
  if (entry.getNumArguments() != getOperands().size())
    return emitOpError() << "must have " << entry.getNumArguments() << " operands for " << getKernelAttr()
                         << ", got: " << getOperands().size();
  auto fits = [](MemRefType argument, MemRefType operand) {
    return argument == operand || (argument.getElementType() == operand.getElementType() && isContiguous(operand) && argument.getLayout().isIdentity() &&
                                   (!argument.hasStaticShape() || argument.getShape() == operand.getShape()));
  };
  for (auto [index, argument, operand] : llvm::enumerate(entry.getArguments(), getOperands()))
    if (!isa<MemRefType>(operand.getType()) || !fits(cast<MemRefType>(argument.getType()), cast<MemRefType>(operand.getType())))
      return emitOpError() << "operand " << index << " must have type " << argument.getType()
                           << ", got: " << operand.getType();
  return success();
}

LogicalResult AbsentOp::verify() {
  // absent_c1
  auto type = dyn_cast<MemRefType>(getResult().getType());
  if (!type || !type.hasStaticShape() || !type.getLayout().isIdentity())
    return emitOpError() << "must be a contiguous memref of static shape, got: " << getResult().getType();
  return success();
}

LogicalResult HostReadOp::verify() {
  // host_read_c1
  auto source = cast<MemRefType>(getSource().getType());
  if (!isContiguous(source) || source.getNumElements() != 1)
    return emitOpError() << "must read a memref of one element at a static offset, got: " << source;
  return success();
}

LogicalResult BitcastOp::verify() {
  // bitcast_c1
  auto source = cast<MemRefType>(getSource().getType()), result = cast<MemRefType>(getResult().getType());
  int64_t offset = 0;
  SmallVector<int64_t> strides;
  if (!source.hasStaticShape() || failed(source.getStridesAndOffset(strides, offset)) || offset != 0 || llvm::any_of(strides, ShapedType::isDynamic))
    return emitOpError() << "must have a source of static layout from offset 0, got: " << source;
  // bitcast_c2
  int64_t elements = source.getNumElements() == 0 ? 0 : 1;
  for (auto [size, stride] : llvm::zip_equal(source.getShape(), strides))
    elements += elements ? (size - 1) * stride : 0;
  int64_t bytes = elements * elementBytes(source.getElementType()), width = elementBytes(result.getElementType());
  if (result.getRank() != 1 || !result.hasStaticShape() || !result.getLayout().isIdentity() || width == 0 || result.getNumElements() * width != bytes)
    return emitOpError() << "must give a contiguous memref of one dimension and of " << bytes << " bytes, got: " << result;
  return success();
}

/// library_call_c2, and the element type; null after an error.
static Type verifyHostOperands(Operation *op, OperandRange operands) {
  Type element;
  for (auto [index, type] : llvm::enumerate(operands.getTypes())) {
    auto memory = cast<MemRefType>(type);
    if (!isContiguous(memory)) {
      op->emitOpError() << "operand " << index << " must be a contiguous memref of static shape, got: " << type;
      return nullptr;
    }
    if (element && memory.getElementType() != element) {
      op->emitOpError() << "operand " << index << " must have elements of type " << element << ", got: " << memory.getElementType();
      return nullptr;
    }
    element = memory.getElementType();
  }
  if (!element)
    op->emitOpError() << "must have an operand";
  return element;
}

/// library_call_c3: `[offset, offset + count)` lies in operand `number`.
static LogicalResult verifyRange(Operation *op, OperandRange operands, CallAttr call, StringRef name, int64_t number, int64_t offset, int64_t count) {
  if (number < 0 || number >= static_cast<int64_t>(operands.size()))
    return op->emitOpError() << name << " of " << call << " must be one of " << operands.size() << " operands, got: " << number;
  int64_t elements = cast<MemRefType>(operands[number].getType()).getNumElements();
  if (offset < 0 || offset > elements || count > elements - offset)
    return op->emitOpError() << name << " of " << call << " must lie in the " << elements << " elements of operand " << number
                             << ", got: " << count << " from " << offset << " on";
  return success();
}

/// Whether a rank that runs the function of `op` reads in `call`, and whether one writes. A function of some ranks has their sizes, not the others'.
static std::pair<bool, bool> whoTakesPart(Operation *op, pkb::comm::GroupAttr group, CallAttr call) {
  Operation *function = op->getParentOp();
  auto ranks = function ? function->getAttrOfType<DenseI64ArrayAttr>(pkb::comm::kRanksAttrName) : DenseI64ArrayAttr();
  bool message = call.getFunction() == LibraryFunction::Message, reads = false, writes = false;
  for (int64_t row = 0; row < group.getNumRows(); ++row)
    for (auto [position, rank] : llvm::enumerate(group.getRow(row))) {
      if ((call.getRow() >= 0 && call.getRow() != row) || (ranks && !llvm::is_contained(ranks.asArrayRef(), rank)))
        continue;
      auto is = [position = static_cast<int64_t>(position)](int64_t other) { return position == other; };
      reads |= message ? is(call.getSource()) : call.getFunction() != LibraryFunction::Broadcast || is(call.getRoot());
      writes |= message ? is(call.getDest()) : call.getFunction() != LibraryFunction::Reduce || is(call.getRoot());
    }
  return {reads, writes};
}

/// library_call_c3 and library_call_c4, for the ranks that run the function. A transfer writes to staging memory, whose room the gate knows.
static LogicalResult verifyCalls(Operation *op, OperandRange operands, pkb::comm::GroupAttr group, ArrayAttr calls, bool staged) {
  int64_t ranks = group.getSize(), rows = group.getNumRows();
  SmallVector<std::array<int64_t, 5>> writes; // row, dest, operand, begin, end
  for (auto call : calls.getAsRange<CallAttr>()) {
    LibraryFunction function = call.getFunction();
    bool message = function == LibraryFunction::Message;
    for (auto [name, rank] : {std::pair<StringRef, int64_t>("root", call.getRoot()), {"source", call.getSource()}, {"dest", call.getDest()}})
      if (rank < 0 || rank >= ranks)
        return op->emitOpError() << name << " of " << call << " must be one of " << ranks << " ranks of the group, got: " << rank;
    if (call.getRow() < -1 || call.getRow() >= rows)
      return op->emitOpError() << "row of " << call << " must be one of " << rows << " rows of the group, got: " << call.getRow();
    int64_t read = function == LibraryFunction::ReduceScatter ? ranks * call.getCount() : call.getCount();
    int64_t written = function == LibraryFunction::AllGather ? ranks * call.getCount() : call.getCount();
    auto [reads, writesHere] = whoTakesPart(op, group, call);
    if (reads && failed(verifyRange(op, operands, call, "from", call.getFrom(), call.getFromOffset(), read)))
      return failure();
    if (writesHere && !staged && failed(verifyRange(op, operands, call, "to", call.getTo(), call.getToOffset(), written)))
      return failure();
    if (message && !staged)
      writes.push_back({call.getRow(), call.getDest(), call.getTo(), call.getToOffset(), call.getToOffset() + written});
  }
  llvm::sort(writes);
  for (size_t i = 1; i < writes.size(); ++i) {
    auto [row, dest, operand, begin, end] = writes[i];
    auto [otherRow, otherDest, otherOperand, otherBegin, otherEnd] = writes[i - 1];
    if (row == otherRow && dest == otherDest && operand == otherOperand && begin < otherEnd)
      return op->emitOpError() << "must have messages that write different elements, got two that write element " << begin << " of operand "
                               << operand << " at rank " << dest;
  }
  return success();
}

static bool isReduction(LibraryFunction function) {
  return function == LibraryFunction::AllReduce || function == LibraryFunction::ReduceScatter || function == LibraryFunction::Reduce;
}

LogicalResult LibraryCallOp::verify() {
  // library_call_c1
  if (getMechanism() != Mechanism::Nccl)
    return emitOpError() << "must have mechanism nccl, got: " << stringifyMechanism(getMechanism());
  // library_call_c2, library_call_c3, library_call_c4
  if (!verifyHostOperands(*this, getOperands()) || failed(verifyCalls(*this, getOperands(), getGroup(), getCalls(), /*staged=*/false)))
    return failure();
  // library_call_c5
  bool reduces = llvm::any_of(getCalls().getAsRange<CallAttr>(), [](CallAttr call) { return isReduction(call.getFunction()); });
  if (reduces != getReduce().has_value())
    return emitOpError() << "must " << (reduces ? "" : "not ") << "name a reduction" << (reduces ? "" : ", for no call reduces");
  bool scaled = getReduce() == pkb::comm::ReduceKind::PremulSum;
  int64_t factors = getFactors() ? getFactors()->size() : 0, expected = scaled ? getGroup().getRanks().size() : 0;
  if (factors != expected)
    return emitOpError() << "must have " << expected << " factors, got: " << factors;
  return success();
}

LogicalResult TransferOp::verify() {
  // transfer_c2
  if (!verifyHostOperands(*this, getOperands()) || failed(verifyCalls(*this, getOperands(), getGroup(), getCalls(), /*staged=*/true)))
    return failure();
  for (auto call : getCalls().getAsRange<CallAttr>())
    if (call.getFunction() != LibraryFunction::Message || call.getSource() == call.getDest())
      return emitOpError() << "must have messages to other ranks, got: " << call;
  return success();
}

LogicalResult TransferOp::verifySymbolUses(SymbolTableCollection &symbols) {
  // transfer_c1
  auto kernel = symbols.lookupNearestSymbolFrom<KernelOp>(*this, getKernelAttr());
  if (!kernel || kernel.getSchedule().getMechanism() != Mechanism::CopyEngine || kernel.getGroup() != getGroup())
    return emitOpError() << "must name an xfer.kernel of its group with mechanism copy_engine, got: " << getKernelAttr();
  return success();
}

//===----------------------------------------------------------------------===//
// Kernels and pipelines
//===----------------------------------------------------------------------===//

int64_t KernelOp::getGroupSize() { return getGroup().getSize(); }

LogicalResult KernelOp::verify() {
  for (auto [index, argument] : llvm::enumerate(getEntry().getArguments())) {
    // kernel_c1
    auto type = dyn_cast<MemRefType>(argument.getType());
    int64_t offset = 0;
    SmallVector<int64_t> strides;
    bool strided = type && getFused() && succeeded(type.getStridesAndOffset(strides, offset)) &&
                   llvm::none_of(strides, ShapedType::isDynamic);
    if (!type || (!type.hasStaticShape() && type.getRank() != 1) || (!type.getLayout().isIdentity() && !strided))
      return emitOpError() << "argument " << index << " must be a contiguous memref of static shape or of one unknown dimension, got: "
                           << argument.getType();
  }
  // kernel_c2
  Mechanism mechanism = getSchedule().getMechanism();
  if (mechanism != Mechanism::LdSt && mechanism != Mechanism::LL && mechanism != Mechanism::CopyEngine)
    return emitOpError() << "must have a mechanism that kernels carry out (ldst, ll, copy_engine), got: "
                         << stringifyMechanism(mechanism);
  // kernel_c3
  int64_t size = getGroupSize();
  auto isRank = [&](int64_t rank) { return rank >= 0 && rank < size; };
  if (std::optional<ArrayRef<double>> factors = getFactors(); factors && static_cast<int64_t>(factors->size()) != size)
    return emitOpError() << "must have one factor per rank (" << size << "), got: " << factors->size();
  if (std::optional<uint64_t> root = getRoot(); root && !isRank(*root))
    return emitOpError() << "must have a root among the " << size << " ranks of its group, got: " << static_cast<int64_t>(*root);
  if (std::optional<ArrayRef<int64_t>> sources = getSources()) {
    if (static_cast<int64_t>(sources->size()) != size)
      return emitOpError() << "must have one source per rank (" << size << "), got: " << sources->size();
    for (int64_t source : *sources)
      if (source != -1 && !isRank(source))
        return emitOpError() << "must have sources among the " << size << " ranks of its group, or -1, got: " << source;
  }
  if (std::optional<ArrayRef<int64_t>> counts = getCounts()) {
    int64_t number = counts->size();
    if (number != size && number != size * size)
      return emitOpError() << "must have one count per rank (" << size << ") or per pair of ranks (" << size * size << "), got: " << number;
    for (int64_t count : *counts)
      if (count < 0)
        return emitOpError() << "must have counts that are not negative, got: " << count;
  }
  // kernel_c4
  for (auto pipeline : getEntry().getOps<PipelineOp>()) {
    if (pipeline.getImplements() && getImplements() != Collective::None)
      return emitOpError() << "must leave it to its pipelines to say what they implement, got: "
                           << stringifyCollective(getImplements());
    if (pipeline.getImplements() && !getFused())
      return emitOpError() << "must be fused where a pipeline implements a collective of its own, got: "
                           << stringifyCollective(*pipeline.getImplements());
  }
  return success();
}

BlockArgument pkb::xfer::argumentBehind(Value memory) {
  while (auto cast = memory.getDefiningOp<memref::ReinterpretCastOp>())
    memory = cast.getSource();
  auto argument = dyn_cast<BlockArgument>(memory);
  return argument && isa<KernelOp>(argument.getOwner()->getParentOp()) ? argument : BlockArgument();
}

bool pkb::xfer::isPacked(SymmType type) {
  return type.getProtocol() == Protocol::Lines && !isa<VectorType>(type.getElementType()) &&
         type.getChunk() * elementBytes(type.getElementType()) % PKB_PACK_GROUP == 0;
}

int64_t pkb::xfer::linesOf(SymmBufferOp buffer) {
  uint64_t longest = 0, bytes = elementBytes(buffer.getType().getElementType());
  for (Operation *user : buffer.getBuffer().getUsers())
    if (auto pipeline = user->getParentOfType<PipelineOp>())
      longest = std::max<uint64_t>(longest, llvm::SaturatingMultiply<uint64_t>(pipeline.getElements(), bytes));
  return pkb_ll_line_bytes(std::min<uint64_t>(longest, INT64_MAX / 4), isPacked(buffer.getType()));
}

Collective PipelineOp::getCollective() {
  if (std::optional<Collective> own = getImplements())
    return *own;
  return cast<KernelOp>((*this)->getParentOp()).getImplements();
}

bool PipelineOp::countsByFlags() {
  return (*this)
      ->walk([](SignalOp signal) { return signal.getInBand() ? WalkResult::advance() : WalkResult::interrupt(); })
      .wasInterrupted();
}

bool PipelineOp::isLocal() {
  return !(*this)
              ->walk([](Operation *op) {
                return isa<PutOp, ConsumeOp, ContributionsOp, SignalOp, WaitOp>(op) ? WalkResult::interrupt() : WalkResult::advance();
              })
              .wasInterrupted();
}

pkb::comm::ReduceKind PipelineOp::getCombination() {
  if (std::optional<comm::ReduceKind> own = getReduction())
    return *own;
  return getImplements() ? comm::ReduceKind::Sum
                         : cast<KernelOp>((*this)->getParentOp()).getReduction().value_or(comm::ReduceKind::Sum);
}

LogicalResult PipelineOp::verify() {
  // pipeline_c1
  if (static_cast<int64_t>(getElements()) < 0)
    return emitOpError() << "must have a non-negative number of elements, got: "
                         << static_cast<int64_t>(getElements());
  if (static_cast<int64_t>(getChunk()) < 1)
    return emitOpError() << "must have a positive chunk, got: " << static_cast<int64_t>(getChunk());
  // Counts of bytes of a message fit 64 bits.
  constexpr uint64_t most = uint64_t(1) << 56;
  if (getElements() > most || getChunk() > most)
    return emitOpError() << "must have at most 2^56 elements in all and in a chunk, got: " << getElements() << " and " << getChunk();
  // pipeline_c2
  for (auto [name, region] : {std::pair<StringRef, Region *>("produce", &getProduce()), {"consume", &getConsume()}}) {
    Block &block = region->front();
    if (block.getNumArguments() != 1 || !isa<ChunkType>(block.getArgument(0).getType()))
      return emitOpError() << name << " must have one argument of type !xfer.chunk";
  }
  return success();
}

LogicalResult ForPeersOp::verify() {
  // for_peers_c1
  Block &block = getBody().front();
  if (block.getNumArguments() != 1 || !block.getArgument(0).getType().isIndex())
    return emitOpError() << "must have one argument of type index";
  return success();
}

LogicalResult TableOp::verify() {
  // table_c1
  auto kernel = (*this)->getParentOfType<KernelOp>();
  if (!kernel)
    return success();
  int64_t size = kernel.getGroupSize(), expected = getOther() ? size * size : size;
  if (static_cast<int64_t>(getValues().size()) != expected)
    return emitOpError() << "must have one value per " << (getOther() ? "pair of ranks (" : "rank (") << expected
                         << "), got: " << getValues().size();
  return success();
}

LogicalResult OnRanksOp::verify() {
  // on_ranks_c1
  auto kernel = (*this)->getParentOfType<KernelOp>();
  if (getRanks().empty())
    return emitOpError() << "must name at least one rank";
  for (auto [index, rank] : llvm::enumerate(getRanks())) {
    if (rank < 0 || (kernel && rank >= kernel.getGroupSize()))
      return emitOpError() << "must name ranks of the kernel's group, got: " << rank;
    if (index > 0 && getRanks()[index - 1] >= rank)
      return emitOpError() << "must name ranks in ascending order, got: " << rank << " after " << getRanks()[index - 1];
  }
  // on_ranks_c2
  if (getBody().front().getNumArguments() != 0)
    return emitOpError() << "must have a body without arguments";
  return success();
}

LogicalResult SelectOp::verify() {
  // select_c1
  auto kernel = (*this)->getParentOfType<KernelOp>();
  if (kernel && static_cast<int64_t>(getTensors().size()) != kernel.getGroupSize())
    return emitOpError() << "must have one tensor per rank (" << kernel.getGroupSize() << "), got: " << getTensors().size();
  int64_t expected = -1;
  for (Value tensor : getTensors()) {
    auto argument = dyn_cast<BlockArgument>(tensor);
    if (!argument || (expected >= 0 && static_cast<int64_t>(argument.getArgNumber()) != expected))
      return emitOpError() << "must select among consecutive arguments of the kernel";
    expected = argument.getArgNumber() + 1;
    // select_c2
    if (tensor.getType() != getTensor().getType())
      return emitOpError() << "must select among tensors of type " << getTensor().getType() << ", got: " << tensor.getType();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Data
//===----------------------------------------------------------------------===//

/// load_c1, load_c2, store_c1, store_c2: the memref holds the pipeline's message, or one per rank.
static LogicalResult verifyMessage(Operation *op, MemRefType memory, TileType tile, bool parts, bool at, Value chunk) {
  Type element = memory.getElementType(), moved = getElementTypeOrSelf(tile.getElementType());
  auto complex = dyn_cast<ComplexType>(element);
  bool halves = complex && complex.getElementType() == moved;
  bool integers = isa<IntegerType>(element) && isa<IntegerType>(moved) && elementBytes(element) == elementBytes(moved);
  if (element != moved && !halves && !integers)
    return op->emitOpError() << "must have a tile of " << memory.getElementType() << ", got: " << tile.getElementType();
  auto pipeline = op->getParentOfType<PipelineOp>();
  auto kernel = op->getParentOfType<KernelOp>();
  if (!pipeline || !kernel)
    return op->emitOpError() << "must be inside xfer.pipeline";
  if (parts && at)
    return op->emitOpError() << "must say by part or by element where its message begins, not both";
  if (!memory.hasStaticShape() || at || chunk.getDefiningOp<ClipOp>())
    return success();
  int64_t expected = pipeline.getElements() * elementWidth(tile.getElementType()) * (parts ? kernel.getGroupSize() : 1);
  int64_t elements = memory.getNumElements() * (halves ? 2 : 1);
  if (elements != expected)
    return op->emitOpError() << "must access a tensor of " << expected << " elements, got: " << elements;
  return success();
}

LogicalResult LoadOp::verify() {
  return verifyMessage(*this, cast<MemRefType>(getSource().getType()), getTile().getType(), bool(getPart()), bool(getAt()), getChunk());
}

LogicalResult StoreOp::verify() {
  return verifyMessage(*this, cast<MemRefType>(getDest().getType()), getTile().getType(), bool(getPart()), bool(getAt()), getChunk());
}

LogicalResult PutOp::verify() {
  // put_c1
  bool lines = getBuffer().getType().getProtocol() == Protocol::Lines;
  if (lines != (getMechanism() == Mechanism::LL))
    return emitOpError() << "by " << stringifyMechanism(getMechanism()) << " must write a "
                         << (lines ? "staged" : "lines") << " buffer, got: "
                         << stringifyProtocol(getBuffer().getType().getProtocol());
  // put_c2
  if (getBuffer().getType().getElementType() != getTile().getType().getElementType())
    return emitOpError() << "must put a tile of " << getBuffer().getType().getElementType()
                         << ", got: " << getTile().getType().getElementType();
  return success();
}

LogicalResult ConsumeOp::verify() {
  // consume_c1
  if (getBuffer().getType().getElementType() != getTile().getType().getElementType())
    return emitOpError() << "must yield a tile of " << getBuffer().getType().getElementType()
                         << ", got: " << getTile().getType().getElementType();
  return success();
}

LogicalResult ContributionsOp::verify() {
  // contributions_c1
  auto kernel = (*this)->getParentOfType<KernelOp>();
  if (kernel && static_cast<int64_t>(getTiles().size()) != kernel.getGroupSize())
    return emitOpError() << "must have one result per rank (" << kernel.getGroupSize() << "), got: " << getTiles().size();
  auto tile = TileType::get(getContext(), getBuffer().getType().getElementType());
  if (getOwn() && getOwn().getType() != tile)
    return emitOpError() << "must have an own tile of " << tile.getElementType() << ", got: " << getOwn().getType().getElementType();
  for (Type type : getTiles().getTypes())
    if (type != tile)
      return emitOpError() << "must have results of type " << tile << ", got: " << type;
  return success();
}

int64_t pkb::xfer::elementWidth(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  return vector ? vector.getNumElements() : 1;
}

LogicalResult MapOp::verify() {
  // map_c1
  Block &block = getBody().front();
  Type result = getResult().getType().getElementType();
  if (block.getNumArguments() != getTiles().size())
    return emitOpError() << "must have a body with " << getTiles().size() << " arguments, got: " << block.getNumArguments();
  for (auto [index, argument, tile] : llvm::enumerate(block.getArguments(), getTiles())) {
    Type element = cast<TileType>(tile.getType()).getElementType();
    // map_c2
    if (elementWidth(element) != elementWidth(result) || isa<VectorType>(element) != isa<VectorType>(result))
      return emitOpError() << "must map tiles of elements like the result's " << result << ", got: " << element;
    if (argument.getType() != getElementTypeOrSelf(element))
      return emitOpError() << "body argument " << index << " must have type " << getElementTypeOrSelf(element)
                           << ", got: " << argument.getType();
  }
  auto yield = block.empty() ? YieldOp() : dyn_cast<YieldOp>(block.back());
  if (!yield || yield.getValues().size() != 1 || yield.getValues().front().getType() != getElementTypeOrSelf(result))
    return emitOpError() << "must yield one value of type " << getElementTypeOrSelf(result);
  return success();
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

LogicalResult RowReduceOp::verify() {
  // row_reduce_c1
  if (!llvm::is_contained({comm::ReduceKind::Sum, comm::ReduceKind::Prod, comm::ReduceKind::Min, comm::ReduceKind::Max}, getKind()))
    return emitOpError() << "kind must be sum, prod, min or max, got: " << comm::stringifyReduceKind(getKind());
  // row_reduce_c2
  auto vector = dyn_cast<VectorType>(getRows().getType().getElementType());
  if (!vector || !isa<Float32Type, Float64Type>(vector.getElementType()))
    return emitOpError() << "must reduce a tile of vectors of f32 or f64, got: " << getRows().getType();
  if (getResult().getType().getElementType() != vector.getElementType())
    return emitOpError() << "must have a result of " << vector.getElementType() << ", got: " << getResult().getType().getElementType();
  return success();
}

LogicalResult BroadcastOp::verify() {
  // broadcast_c1
  auto vector = dyn_cast<VectorType>(getRows().getType().getElementType());
  if (!vector || vector.getElementType() != getValue().getType().getElementType())
    return emitOpError() << "must have a result of vectors of " << getValue().getType().getElementType() << ", got: " << getRows().getType();
  return success();
}

/// The vector type of a tile of lines; null for another tile.
static VectorType lineOf(TileType tile) {
  auto vector = dyn_cast<VectorType>(tile.getElementType());
  return vector && elementBytes(vector) == 16 ? vector : VectorType();
}

LogicalResult LineOp::verify() {
  // line_c1
  VectorType vector = lineOf(getLine().getType());
  if (!vector)
    return emitOpError() << "must make a tile of vectors of 16 bytes, got: " << getLine().getType();
  int64_t count = getValues().size();
  if (count < 1 || count > vector.getNumElements())
    return emitOpError() << "must have 1 to " << vector.getNumElements() << " operands, got: " << count;
  for (Value value : getValues())
    if (cast<TileType>(value.getType()).getElementType() != vector.getElementType())
      return emitOpError() << "must have operands of " << vector.getElementType() << ", got: " << value.getType();
  return success();
}

LogicalResult PartOp::verify() {
  // part_c1
  VectorType vector = lineOf(getLine().getType());
  if (!vector)
    return emitOpError() << "must have a tile of vectors of 16 bytes, got: " << getLine().getType();
  if (static_cast<int64_t>(getNumber()) < 0 || static_cast<int64_t>(getNumber()) >= vector.getNumElements())
    return emitOpError() << "number must be from 0 to " << vector.getNumElements() - 1 << ", got: " << static_cast<int64_t>(getNumber());
  if (getValue().getType().getElementType() != vector.getElementType())
    return emitOpError() << "must have a result of " << vector.getElementType() << ", got: " << getValue().getType().getElementType();
  return success();
}
