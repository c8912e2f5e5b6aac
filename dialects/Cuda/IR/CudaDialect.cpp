// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- CudaDialect.cpp - registration and verifiers ---------------------===//

#include "dialects/Cuda/IR/Cuda.h"

#include "pkb/Support/RegionSyntax.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace pkb;
using namespace pkb::cuda;

#include "dialects/Cuda/IR/CudaDialect.cpp.inc"
#include "dialects/Cuda/IR/CudaEnums.cpp.inc"
#include "dialects/Cuda/IR/CudaOpInterfaces.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/Cuda/IR/CudaTypes.cpp.inc"

//===----------------------------------------------------------------------===//
// Regions in text: last, and let go by hand (pkb/Support/RegionSyntax.h)
//===----------------------------------------------------------------------===//

static ParseResult parseLoadStore(OpAsmParser &parser, Region &load, Region &store) {
  if (parser.parseKeyword("load") || parseBlockOf(parser, load) || parser.parseKeyword("store") || parseBlockOf(parser, store))
    return letGo({&load, &store});
  return success();
}

static void printLoadStore(OpAsmPrinter &printer, Operation *, Region &load, Region &store) {
  printer << "load ";
  printer.printRegion(load);
  printer << " store ";
  printer.printRegion(store);
}

static ParseResult parseLoadMap(OpAsmParser &parser, Region &load, Region &map) {
  if (parser.parseKeyword("load") || parseBlockOf(parser, load) || parser.parseKeyword("map") || parseBlockOf(parser, map))
    return letGo({&load, &map});
  return success();
}

static void printLoadMap(OpAsmPrinter &printer, Operation *, Region &load, Region &map) {
  printer << "load ";
  printer.printRegion(load);
  printer << " map ";
  printer.printRegion(map);
}

static ParseResult parseStream(OpAsmParser &parser, Region &fetch, Region &produce, Region &consume) {
  if (parser.parseKeyword("fetch") || parseBlockOf(parser, fetch) || parser.parseKeyword("produce") || parseBlockOf(parser, produce) ||
      parser.parseKeyword("consume") || parseBlockOf(parser, consume))
    return letGo({&fetch, &produce, &consume});
  return success();
}

static void printStream(OpAsmPrinter &printer, Operation *, Region &fetch, Region &produce, Region &consume) {
  printer << "fetch ";
  printer.printRegion(fetch);
  printer << " produce ";
  printer.printRegion(produce);
  printer << " consume ";
  printer.printRegion(consume);
}

using pkb::comm::parseFactors;
using pkb::comm::printFactors;

#define GET_OP_CLASSES
#include "dialects/Cuda/IR/CudaOps.cpp.inc"

void CudaDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/Cuda/IR/CudaTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/Cuda/IR/CudaOps.cpp.inc"
      >();
}

LogicalResult RowType::verify(function_ref<InFlightDiagnostic()> emitError, VectorType vector, int64_t count) {
  if (count < 1 || vector.getRank() != 1)
    return emitError() << "a row must have at least one vector of one dimension, got: " << count << " of " << vector;
  return success();
}

LogicalResult KernelOp::verify() {
  // kernel_c1
  for (auto [name, value] : {std::pair<StringRef, int64_t>("ranks", getRanks()), {"blocks", getBlocks()},
                             {"threads", getThreads()}, {"min_blocks", getMinBlocks()}})
    if (value < 1)
      return emitOpError() << name << " must be positive, got: " << value;
  if (getThreads() > 1024)
    return emitOpError() << "threads must be at most 1024, got: " << getThreads();
  if (static_cast<int64_t>(getPointers()) < 0)
    return emitOpError() << "pointers must not be negative, got: " << static_cast<int64_t>(getPointers());
  return success();
}

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  // launch_c1
  auto kernel = symbols.lookupNearestSymbolFrom<KernelOp>(*this, getKernelAttr());
  if (!kernel)
    return emitOpError() << "must name a cuda.kernel, got: " << getKernelAttr();
  if (kernel.getPointers() != getOperands().size())
    return emitOpError() << "must have " << kernel.getPointers() << " operands for " << getKernelAttr()
                         << ", got: " << getOperands().size();
  return success();
}

LogicalResult TableOp::verify() {
  // table_c1
  if (getValues().empty())
    return emitOpError() << "must have at least one value";
  return success();
}

/// `load` maps an index to the values that `use`, named `name` in the text, takes after an index of its own.
static LogicalResult verifyLoop(Operation *op, Block &load, Block &use, StringRef name) {
  if (load.getNumArguments() != 1 || !load.getArgument(0).getType().isIndex())
    return op->emitOpError() << "load must have one index argument";
  if (load.empty() || !isa<YieldOp>(load.back()))
    return op->emitOpError() << "load must end with cuda.yield";
  auto yield = cast<YieldOp>(load.back());
  if (use.getNumArguments() != 1 + yield.getValues().size() || !use.getArgument(0).getType().isIndex())
    return op->emitOpError() << name << " must have an index argument and " << yield.getValues().size()
                             << " more, got: " << use.getNumArguments();
  for (auto [value, argument] : llvm::zip(yield.getValues(), use.getArguments().drop_front()))
    if (value.getType() != argument.getType())
      return op->emitOpError() << name << " must take the yielded " << value.getType() << ", got: " << argument.getType();
  return success();
}

/// No lane has more vectors than `perLane`, if that is given, of which `unroll` are in flight.
static LogicalResult verifyPerLane(Operation *op, std::optional<int64_t> perLane, int64_t unroll) {
  if (perLane && *perLane < unroll)
    return op->emitOpError() << "must have at most as many vectors in flight as a lane has, got: " << unroll << " of " << *perLane;
  return success();
}

LogicalResult ForEachOp::verify() {
  // for_each_c2
  if (getPerLane() && getSpread() != Spread::Row)
    return emitOpError() << "must be over a row to have vectors per lane, got: " << stringifySpread(getSpread());
  if (failed(verifyPerLane(*this, getPerLane(), getUnroll())))
    return failure();
  // for_each_c1
  return verifyLoop(*this, getLoad().front(), getStore().front(), "store");
}

static LogicalResult verifyWindow(Operation *op, ArrayRef<int64_t> sizes, ArrayRef<int64_t> strides) {
  if (sizes.empty() || sizes.size() != strides.size())
    return op->emitOpError() << "must have as many strides as sizes, at least one, got: " << strides.size() << " and " << sizes.size();
  return success();
}

LogicalResult LoadStridedOp::verify() {
  // load_strided_c1
  return verifyWindow(*this, getSizes(), getStrides());
}

LogicalResult StoreStridedOp::verify() {
  // store_strided_c1
  return verifyWindow(*this, getSizes(), getStrides());
}

static LogicalResult verifyTeam(Operation *op, int64_t team) {
  if (!llvm::is_contained({32, 128, 256, 512, 1024}, team))
    return op->emitOpError() << "must have a team of 32, 128, 256, 512 or 1024 lanes, got: " << team;
  return success();
}

LogicalResult ForEachRowOp::verify() {
  // for_each_row_c2
  if (failed(verifyTeam(*this, getTeam())))
    return failure();
  // for_each_row_c1
  Block &body = getBody().front();
  if (body.getNumArguments() != 1 || !body.getArgument(0).getType().isIndex())
    return emitOpError() << "must have one index argument";
  return success();
}

/// `block` takes two indices and then values of `types`.
static LogicalResult verifyRowBlock(Operation *op, Block &block, TypeRange types, StringRef name) {
  TypeRange found = block.getArgumentTypes();
  if (found.size() != 2 + types.size() || !found[0].isIndex() || !found[1].isIndex() || found.drop_front(2) != types)
    return op->emitOpError() << name << " must take two indices and the values that are yielded before it (" << types << "), got: " << found;
  return success();
}

LogicalResult StreamRowsOp::verify() {
  // stream_rows_c1
  if (failed(verifyTeam(*this, getTeam())))
    return failure();
  auto rows = static_cast<int64_t>(getRows()), ahead = static_cast<int64_t>(getAhead());
  auto steps = static_cast<int64_t>(getSteps()), full = static_cast<int64_t>(getFull());
  if (rows < 1 || steps < 1)
    return emitOpError() << "must have rows and steps, got: " << rows << " and " << steps;
  if (ahead < 0 || full < 0 || full > steps)
    return emitOpError() << "must not run behind itself, nor have more full steps than steps, got: ahead " << ahead << ", full " << full << " of " << steps;
  // stream_rows_c2
  auto yieldOf = [](Block &block) { return block.empty() ? YieldOp() : dyn_cast<YieldOp>(block.back()); };
  YieldOp fetched = yieldOf(getFetch().front()), sent = yieldOf(getProduce().front());
  if (!fetched || !sent)
    return emitOpError() << "fetch and produce must end with cuda.yield";
  if (fetched.getValues().empty() || !llvm::all_of(fetched.getValues().getTypes(), llvm::IsaPred<RowType>))
    return emitOpError() << "fetch must yield rows, got: " << fetched.getValues().getTypes();
  SmallVector<Type> types(fetched.getValues().getTypes());
  // stream_rows_c3
  if (failed(verifyRowBlock(*this, getFetch().front(), {}, "fetch")) || failed(verifyRowBlock(*this, getProduce().front(), types, "produce")))
    return failure();
  llvm::append_range(types, sent.getValues().getTypes());
  return verifyRowBlock(*this, getConsume().front(), types, "consume");
}

LogicalResult GatherLLOp::verify() {
  // gather_ll_c1
  auto kernel = (*this)->getParentOfType<KernelOp>();
  if (kernel && getValues().size() != kernel.getRanks())
    return emitOpError() << "must have a result for each of " << kernel.getRanks() << " ranks, got: " << getValues().size();
  constexpr size_t mostRanks = 32;
  if (getValues().size() > mostRanks)
    return emitOpError() << "must be for at most " << mostRanks << " ranks, a lane for each, got: " << getValues().size();
  if (!llvm::all_of(getValues().getTypes(), [&](Type type) { return type == getOwn().getType(); }))
    return emitOpError() << "must have results of type " << getOwn().getType() << ", got: " << getValues().getTypes();
  return success();
}

LogicalResult RowReduceOp::verify() {
  // row_reduce_c1
  if (!llvm::is_contained({comm::ReduceKind::Sum, comm::ReduceKind::Prod, comm::ReduceKind::Min, comm::ReduceKind::Max}, getKind()))
    return emitOpError() << "kind must be sum, prod, min or max, got: " << comm::stringifyReduceKind(getKind());
  // row_reduce_c3
  if (failed(verifyPerLane(*this, getPerLane(), getUnroll())))
    return failure();
  // row_reduce_c2
  Block &map = getMap().front();
  if (failed(verifyLoop(*this, getLoad().front(), map, "map")))
    return failure();
  auto result = cast<VectorType>(getResult().getType());
  auto yield = map.empty() ? YieldOp() : dyn_cast<YieldOp>(map.back());
  auto yielded = yield && yield.getValues().size() == 1 ? dyn_cast<VectorType>(yield.getValues().front().getType()) : VectorType();
  if (!yielded || yielded.getElementType() != result.getElementType() || result.getNumElements() != 1)
    return emitOpError() << "map must yield one vector of the element type of the result, which must have one element, got: " << result;
  return success();
}
