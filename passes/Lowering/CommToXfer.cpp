// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- CommToXfer.cpp - from level L1 to level L2 -----------------------===//
//
// Bufferizes the host program and replaces each collective by a kernel (CollectiveKernels.cpp) and its launch. A program is straight-line
// code whose storages are known, so versions of a storage share memory and no alias analysis is needed: docs/Rationale/Bufferize.md.
//
//===----------------------------------------------------------------------===//

#include "dialects/Aten/IR/Aten.h"
#include "passes/Lowering/CollectiveKernels.h"
#include "passes/Lowering/FusedKernels.h"
#include "passes/Lowering/Homes.h"
#include "passes/Lowering/HostCalls.h"
#include "passes/Lowering/Passes.h"
#include "pkb/Analysis/ElementwiseCalls.h"
#include "pkb/Analysis/InPlace.h"
#include "pkb/Analysis/Reach.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/TypeSwitch.h"

namespace pkb {
#define GEN_PASS_DEF_CONVERTCOMMTOXFERPASS
#include "passes/Lowering/Passes.h.inc"
} // namespace pkb

using namespace mlir;
using namespace pkb;

namespace {

/// The memory a value lives in: a memref that covers a whole storage, and where the value's offset 0 is in it.
struct Storage {
  Value root;
  /// Element of the storage at which `root` starts (arguments are passed by the address of their first element).
  int64_t origin = 0;
};

/// What the functions of one module share.
struct ModuleState {
  struct Exchange {
    xfer::ScheduleAttr schedule;
    SmallVector<FlatSymbolRefAttr> kernels;
  };
  DenseMap<int64_t, Exchange> exchanges; // by number
  int64_t nextKernel = 0, nextLiteral = 0;
};

class Bufferizer {
public:
  Bufferizer(func::FuncOp function, ModuleState &shared)
      : function(function), builder(function.getContext()), shared(shared) {}
  LogicalResult run();

private:
  MemRefType memoryType(RankedTensorType type, int64_t origin);
  Storage allocate(Location loc, Value value);
  void bind(Value value, Value memory, Storage storage);
  void unbind(Value value);
  std::optional<Storage> castOf(Location loc, Storage storage, Type element);
  Value windowOf(Location loc, RankedTensorType window, Storage storage);
  void rescueReaders(Operation *writer, Storage storage);
  bool mustKeep(const Storage &storage);
  std::optional<Storage> placeInArgument(Operation *op, Value result);
  void placeResults(Operation *op, bool inPlace);
  Storage argumentOf(int64_t index);
  void describeArguments(func::FuncOp target);
  Storage copyOf(Location loc, Value value);
  Storage absentMemory(Location loc, Value value);

  LogicalResult convert(Operation *op);
  LogicalResult convertCall(aten::CallOp call);
  LogicalResult convertView(aten::AsStridedOp view);
  LogicalResult convertViewWrite(aten::ViewWriteOp write);
  LogicalResult convertLiteral(aten::LiteralOp literal);
  LogicalResult convertAbsent(comm::AbsentOp absent);
  bool getsNothing(comm::CollectiveOpInterface op);
  SmallVector<Value> memoryOf(comm::CollectiveOpInterface op);
  SmallVector<Value> launchOperandsOf(comm::CollectiveOpInterface op, xfer::KernelOp kernel);
  LogicalResult convertCollective(comm::CollectiveOpInterface op);
  FailureOr<SmallVector<FlatSymbolRefAttr>> kernelsOf(comm::CollectiveOpInterface op, TypeRange operands);
  LogicalResult convertFused(comm::FusedOp op);
  FailureOr<Storage> placeOfResult(func::ReturnOp op, int64_t index, DenseMap<int64_t, Storage> &places);
  LogicalResult convertReturn(func::ReturnOp op);

  func::FuncOp function;
  OpBuilder builder;
  DenseMap<Value, Value> memory; // of a number that the host has, the number
  DenseMap<Value, Storage> storages;
  DenseMap<Value, SmallVector<Value>> valuesOf; // by root
  ModuleState &shared;
};

} // namespace

/// The memref of a tensor whose storage starts `origin` elements before the memory's first element.
MemRefType Bufferizer::memoryType(RankedTensorType type, int64_t origin) {
  aten::Layout layout = aten::getLayout(type);
  int64_t offset = layout.offset - origin;
  // The strides that a memref without a layout has in front of a dimension of size 0 are dynamic.
  bool emptyInside = type.getNumElements() == 0 && type.getDimSize(0) != 0;
  if (offset == 0 && !emptyInside && !aten::getTensorType(type.getShape(), type.getElementType(), layout.strides, 0).getEncoding())
    return MemRefType::get(type.getShape(), type.getElementType());
  return MemRefType::get(type.getShape(), type.getElementType(),
                         StridedLayoutAttr::get(type.getContext(), offset, layout.strides));
}

static int64_t offsetOf(Value value) { return aten::getLayout(cast<RankedTensorType>(value.getType())).offset; }

/// New memory for `value`, whose first element is the memory's first.
Storage Bufferizer::allocate(Location loc, Value value) {
  int64_t origin = offsetOf(value);
  return {memref::AllocOp::create(builder, loc, memoryType(cast<RankedTensorType>(value.getType()), origin)), origin};
}

void Bufferizer::bind(Value value, Value buffer, Storage storage) {
  memory[value] = buffer;
  storages[value] = storage;
  valuesOf[storage.root].push_back(value);
}

void Bufferizer::unbind(Value value) {
  llvm::erase(valuesOf[storages[value].root], value);
  memory.erase(value);
  storages.erase(value);
}

/// The same memory with elements of another type; null where its first element does not lie at one of them.
std::optional<Storage> Bufferizer::castOf(Location loc, Storage storage, Type element) {
  auto type = cast<MemRefType>(storage.root.getType());
  int64_t from = xfer::elementBytes(type.getElementType()), to = xfer::elementBytes(element);
  int64_t begin = storage.origin * from, bytes = reachOf(type) * from;
  if (begin % to || bytes % to)
    return std::nullopt;
  return Storage{xfer::BitcastOp::create(builder, loc, MemRefType::get({bytes / to}, element), storage.root), begin / to};
}

/// The memref of a window of a storage; the root itself where the types agree.
Value Bufferizer::windowOf(Location loc, RankedTensorType window, Storage storage) {
  if (window.getElementType() != cast<MemRefType>(storage.root.getType()).getElementType()) {
    std::optional<Storage> other = castOf(loc, storage, window.getElementType());
    if (!other)
      return nullptr;
    storage = *other;
  }
  MemRefType type = memoryType(window, storage.origin);
  auto rootType = cast<MemRefType>(storage.root.getType());
  if (type == rootType)
    return storage.root;
  int64_t offset = 0;
  SmallVector<int64_t> strides;
  if (failed(type.getStridesAndOffset(strides, offset)))
    return nullptr;
  return memref::ReinterpretCastOp::create(builder, loc, type, storage.root, offset, window.getShape(), strides);
}

/// Before `writer` changes a storage in place: whoever reads an older version of it later gets a copy.
void Bufferizer::rescueReaders(Operation *writer, Storage storage) {
  for (Value value : SmallVector<Value>(valuesOf[storage.root])) {
    bool readLater = llvm::any_of(value.getUsers(), [&](Operation *user) {
      if (user == writer || user->isBeforeInBlock(writer))
        return false;
      // The write of a changed window back into its own storage reads nothing of the old window.
      auto write = dyn_cast<aten::ViewWriteOp>(user);
      return !(write && write.getBase() == value && write.getPiece().getDefiningOp() == writer);
    });
    if (!readLater)
      continue;
    Storage copy = copyOf(writer->getLoc(), value);
    llvm::erase(valuesOf[storage.root], value);
    bind(value, copy.root, copy);
  }
}

/// True for an argument that the program leaves as it is. A value may be written in place that was a copy of it in the user's program.
bool Bufferizer::mustKeep(const Storage &storage) {
  auto argument = dyn_cast<BlockArgument>(storage.root);
  if (!argument)
    return false;
  for (unsigned result = 0; result < function.getNumResults(); ++result)
    if (auto mutation = function.getResultAttrOfType<IntegerAttr>(result, aten::kMutationOfAttrName);
        mutation && mutation.getInt() == argument.getArgNumber())
      return false;
  return true;
}

/// The memory that `op` may write `result` into: the part of an argument that is to hold it in the end, if nobody reads behind `op` what was there. What `op`
/// itself reads of that argument is not looked at.
std::optional<Storage> Bufferizer::placeInArgument(Operation *op, Value result) {
  std::optional<Home> home = homeOf(function, result);
  if (!home || aten::isOnHost(result))
    return std::nullopt;
  Storage target = argumentOf(home->argument);
  auto type = cast<RankedTensorType>(result.getType());
  auto window = home->write ? home->write.getWindowType() : cast<RankedTensorType>(function.getArgument(home->argument).getType());
  aten::Layout layout = aten::getLayout(window), own = aten::getLayout(type);
  if (type.getElementType() != cast<MemRefType>(target.root.getType()).getElementType() || type.getElementType() != window.getElementType() ||
      type.getShape() != window.getShape() || layout.strides != own.strides || !coversReach(memoryType(type, own.offset)))
    return std::nullopt;
  // Versions that are made behind `op`, but before the part is written: of other parts, for nobody else to see.
  llvm::SmallPtrSet<Operation *, 8> writes(home->path.begin(), home->path.end());
  if (home->write) {
    Value base = home->write.getBase();
    while (!storages.contains(base)) {
      auto before = base.getDefiningOp<aten::ViewWriteOp>();
      if (!before || !base.hasOneUse() || !aten::areApart(before.getWindowType(), window))
        return std::nullopt;
      writes.insert(before);
      base = before.getBase();
    }
    if (storages[base].root != target.root)
      return std::nullopt;
  }
  Storage place{target.root, target.origin + own.offset - layout.offset};
  Extent extent = Extent::of(target.root, memoryType(type, place.origin));
  bool readLater = llvm::any_of(valuesOf[target.root], [&](Value value) {
    return Extent::of(memory[value]).overlaps(extent) && llvm::any_of(value.getUses(), [&](OpOperand &use) {
      Operation *user = use.getOwner();
      if (user == op || user->isBeforeInBlock(op))
        return false;
      if (auto view = dyn_cast<aten::AsStridedOp>(user); view && view.getType().getElementType() == type.getElementType())
        return Extent::of(target.root, memoryType(view.getType(), storages[value].origin)).overlaps(extent);
      auto write = dyn_cast<aten::ViewWriteOp>(user);
      return !write || !writes.contains(write) || &use != &write.getBaseMutable();
    });
  });
  return readLater ? std::nullopt : std::optional(place);
}

/// Gives the results of `op` memory: new, or if asked that of the arguments which are to hold them, as far as there are such.
void Bufferizer::placeResults(Operation *op, bool inPlace) {
  for (Value result : op->getResults()) {
    if (storages.contains(result))
      unbind(result);
    if (std::optional<Storage> place = inPlace ? placeInArgument(op, result) : std::nullopt) {
      bind(result, windowOf(op->getLoc(), cast<RankedTensorType>(result.getType()), *place), *place);
      continue;
    }
    Storage fresh = allocate(op->getLoc(), result);
    bind(result, fresh.root, fresh);
  }
}

LogicalResult Bufferizer::convertCall(aten::CallOp call) {
  SmallVector<Value> inputs, outs;
  // The call works on the memory of the storages; it is the later readers of the old versions that move to a copy.
  for (Value input : call.getInputs())
    inputs.push_back(memory[input]);
  SmallVector<Storage> mutated;
  for (int64_t index : call.getMutates()) {
    mutated.push_back(storages[call.getInputs()[index]]);
    if (mustKeep(mutated.back())) {
      mutated.back() = copyOf(call.getLoc(), call.getInputs()[index]);
      inputs[index] = mutated.back().root;
    }
  }
  // Copies that the user made of what an operator changes are gone: it still must not read what it has changed.
  for (int64_t index : call.getMutates())
    for (auto [other, input] : llvm::enumerate(inputs))
      if (!llvm::is_contained(call.getMutates(), int64_t(other)) && Extent::of(input).overlaps(Extent::of(inputs[index])) &&
          !(isElementwise(call) && input.getType() == inputs[index].getType()))
        input = copyOf(call.getLoc(), call.getInputs()[other]).root;
  for (const Storage &storage : mutated)
    rescueReaders(call, storage);
  for (Value result : call.getFreshResults()) {
    Storage fresh = allocate(call.getLoc(), result);
    outs.push_back(fresh.root);
    bind(result, fresh.root, fresh);
  }
  auto lowered = aten::CallOp::create(builder, call.getLoc(), TypeRange{}, call.getCalleeAttr(), call.getOverloadAttr(), inputs, outs,
                                      call.getArgsAttr(), call.getKwargsAttr(), call.getReturnsAttr(), call.getMutatesAttr(),
                                      call.getRngAttr());
  if (Attribute onHost = call->getAttr(aten::kHostAttrName))
    lowered->setAttr(aten::kHostAttrName, onHost);
  for (auto [index, storage] : llvm::zip(call.getMutates(), mutated))
    bind(call.getNewVersion(index), inputs[index], storage);
  return success();
}

LogicalResult Bufferizer::convertView(aten::AsStridedOp view) {
  RankedTensorType window = view.getResult().getType();
  Storage storage = storages[view.getBase()];
  Value buffer = windowOf(view.getLoc(), window, storage);
  if (!buffer)
    return view.emitOpError() << "must have strides that a memref can have, and lie at elements of its own type";
  bind(view.getResult(), buffer, storage);
  return success();
}

LogicalResult Bufferizer::convertViewWrite(aten::ViewWriteOp write) {
  Storage storage = storages[write.getBase()];
  Value base = memory[write.getBase()]; // that of the new version, too; later readers of the old one move to a copy
  if (mustKeep(storage)) {
    storage = copyOf(write.getLoc(), write.getBase());
    base = storage.root;
  }
  Value window = windowOf(write.getLoc(), write.getWindowType(), storage);
  if (!window)
    return write.emitOpError() << "must have a window that a memref can have";
  Value piece = memory[write.getPiece()];
  if (storages[write.getPiece()].root != storage.root || piece.getType() != window.getType()) {
    if (Extent::of(piece).overlaps(Extent::of(window)))
      piece = copyOf(write.getLoc(), write.getPiece()).root;
    rescueReaders(write, storage);
    memref::CopyOp::create(builder, write.getLoc(), piece, window);
  }
  bind(write.getResult(), base, storage);
  return success();
}

/// True if the memory of `value` is written in place, through itself or through a view.
static bool isWritten(Value value) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    if (auto call = dyn_cast<aten::CallOp>(user))
      return llvm::any_of(call.getMutates(), [&](int64_t index) { return call.getInputs()[index] == value; });
    if (auto write = dyn_cast<aten::ViewWriteOp>(user))
      return write.getBase() == value;
    auto view = dyn_cast<aten::AsStridedOp>(user);
    return view && isWritten(view.getResult());
  });
}

LogicalResult Bufferizer::convertLiteral(aten::LiteralOp literal) {
  auto type = cast<RankedTensorType>(literal.getResult().getType());
  if (type.getNumElements() == 0) { // no constant is that short
    Storage empty = allocate(literal.getLoc(), literal.getResult());
    bind(literal.getResult(), empty.root, empty);
    return success();
  }
  MemRefType buffer = memoryType(type, 0);
  std::string name = "literal_" + std::to_string(shared.nextLiteral++);
  OpBuilder atModule(function);
  memref::GlobalOp::create(atModule, literal.getLoc(), builder.getStringAttr(name), builder.getStringAttr("private"),
                           TypeAttr::get(buffer), literal.getValueAttr(), builder.getUnitAttr(), IntegerAttr());
  Value root = memref::GetGlobalOp::create(builder, literal.getLoc(), buffer, name);
  if (isWritten(literal.getResult())) { // every call starts from the constant
    Value copy = memref::AllocOp::create(builder, literal.getLoc(), buffer);
    memref::CopyOp::create(builder, literal.getLoc(), root, copy);
    root = copy;
  }
  bind(literal.getResult(), root, Storage{root, 0});
  return success();
}

/// True if `op` has no result on the ranks that run this function.
bool Bufferizer::getsNothing(comm::CollectiveOpInterface op) {
  auto gather = dyn_cast<comm::GatherOp>(op.getOperation());
  DenseI64ArrayAttr ranks = comm::getRanks(function);
  return gather && ranks && gather->use_empty() &&
         llvm::none_of(ranks.asArrayRef(), [&](int64_t rank) { return llvm::is_contained(gather.getRoots(), rank); });
}

/// The type that a kernel knows a contiguous operand by: its pointer is the address of the first element.
static MemRefType pointerType(Type operand) {
  auto type = cast<MemRefType>(operand);
  return MemRefType::get(type.getShape(), type.getElementType());
}

/// True if no rank has an element for another one. All ranks of the group find so, for they know the same sizes.
static bool movesNothing(comm::CollectiveOpInterface op) {
  SmallVector<Type> tensors(op.getCollectiveInputs().getTypes());
  llvm::append_range(tensors, op.getCollectiveResults().getTypes());
  if (auto uneven = dyn_cast<comm::UnevenOpInterface>(op.getOperation()); uneven && llvm::any_of(uneven.getCounts(), [](int64_t count) { return count > 0; }))
    return false;
  return !tensors.empty() && llvm::all_of(tensors, [](Type tensor) { return cast<RankedTensorType>(tensor).getNumElements() == 0; });
}

/// The memory of what `op` is given, then of its results.
SmallVector<Value> Bufferizer::memoryOf(comm::CollectiveOpInterface op) {
  SmallVector<Value> operands;
  for (Value tensor : llvm::concat<const Value>(SmallVector<Value>(op.getCollectiveInputs()), SmallVector<Value>(op.getCollectiveResults())))
    operands.push_back(memory[tensor]);
  return operands;
}

/// The same as operands of a launch of `kernel`, which another rank's function may have made: that may know the same contiguous memory by another shape.
SmallVector<Value> Bufferizer::launchOperandsOf(comm::CollectiveOpInterface op, xfer::KernelOp kernel) {
  SmallVector<Value> operands = memoryOf(op), tensors(op.getCollectiveInputs());
  llvm::append_range(tensors, op.getCollectiveResults());
  for (auto [operand, tensor, argument] : llvm::zip_equal(operands, tensors, kernel.getEntry().getArguments())) {
    auto type = cast<MemRefType>(argument.getType());
    if (pointerType(operand.getType()) == type || !type.hasStaticShape())
      continue;
    if (operand.getDefiningOp<xfer::AbsentOp>())
      operand = xfer::AbsentOp::create(builder, op.getLoc(), type);
    else
      operand = windowOf(op.getLoc(), aten::getTensorType(type.getShape(), type.getElementType(), aten::getContiguousStrides(type.getShape()), offsetOf(tensor)),
                         storages[tensor]);
  }
  return operands;
}

/// True if the library may carry out `op` in the memory that its results have: in place as it knows that, or apart from what it reads.
static bool libraryMayShare(comm::CollectiveOpInterface op, ArrayRef<Value> operands) {
  auto [inputs, results] = std::pair(operands.take_front(op.getCollectiveInputs().size()), operands.drop_front(op.getCollectiveInputs().size()));
  return llvm::all_of(results, [&, inputs = inputs](Value result) {
    return llvm::all_of(inputs, [&](Value input) {
      return !Extent::of(input).overlaps(Extent::of(result)) ||
             (isa<comm::AllReduceOp, comm::BroadcastOp>(op.getOperation()) && input.getType() == result.getType());
    });
  });
}

LogicalResult Bufferizer::convertCollective(comm::CollectiveOpInterface op) {
  Location loc = op.getLoc();
  if (getsNothing(op)) {
    for (Value result : op.getCollectiveResults()) {
      Storage none = absentMemory(loc, result);
      bind(result, none.root, none);
    }
  } else {
    placeResults(op, /*inPlace=*/true);
  }
  if (movesNothing(op))
    return success();
  auto schedule = op->getAttrOfType<xfer::ScheduleAttr>(xfer::kScheduleAttrName);
  if (schedule && schedule.getMechanism() == xfer::Mechanism::Nccl) {
    if (!libraryMayShare(op, memoryOf(op)))
      placeResults(op, /*inPlace=*/false);
    SmallVector<Value> operands = memoryOf(op);
    if (isa<comm::BarrierOp>(op.getOperation())) // the library needs something to add up
      for (int64_t number = 0; number < 2; ++number)
        operands.push_back(memref::AllocOp::create(builder, loc, MemRefType::get({1}, builder.getI8Type())));
    return buildLibraryCall(builder, op, operands);
  }
  FailureOr<SmallVector<FlatSymbolRefAttr>> kernels = kernelsOf(op, llvm::map_to_vector(memoryOf(op), [](Value operand) -> Type {
    return pointerType(operand.getType());
  }));
  if (failed(kernels))
    return failure();
  auto first = SymbolTable::lookupNearestSymbolFrom<xfer::KernelOp>(function, kernels->front());
  SmallVector<Value> operands = launchOperandsOf(op, first);
  Operation *target = builder.getInsertionBlock()->getParentOp();
  if (llvm::any_of(*kernels, [&](FlatSymbolRefAttr kernel) {
        return !findOverlaps(SymbolTable::lookupNearestSymbolFrom<xfer::KernelOp>(function, kernel), operands, target).empty();
      })) {
    placeResults(op, /*inPlace=*/false);
    operands = launchOperandsOf(op, first);
  }
  for (FlatSymbolRefAttr kernel : *kernels) {
    if (schedule.getMechanism() != xfer::Mechanism::CopyEngine) {
      xfer::LaunchOp::create(builder, loc, kernel, operands);
      continue;
    }
    auto named = SymbolTable::lookupNearestSymbolFrom<xfer::KernelOp>(function, kernel);
    std::string name = named.getSymName().str() + "_barrier"; // functions of other ranks may have made it
    auto barrier = FlatSymbolRefAttr::get(builder.getContext(), name);
    OpBuilder atModule(function);
    if (!SymbolTable::lookupNearestSymbolFrom<xfer::KernelOp>(function, barrier))
      buildBarrierKernel(atModule, loc, named.getGroup(), name);
    xfer::LaunchOp::create(builder, loc, barrier, ValueRange());
    if (failed(buildTransfer(builder, op, named, ValueRange(operands).take_front(op.getCollectiveInputs().size()))))
      return failure();
    xfer::LaunchOp::create(builder, loc, kernel, operands);
    xfer::LaunchOp::create(builder, loc, barrier, ValueRange()); // nobody writes staging memory again before all have read
  }
  return success();
}

/// The kernels of a collective: its own, or those that another rank's function launches for the same exchange.
FailureOr<SmallVector<FlatSymbolRefAttr>> Bufferizer::kernelsOf(comm::CollectiveOpInterface op, TypeRange operands) {
  IntegerAttr exchange = comm::getExchange(op);
  auto schedule = op->getAttrOfType<xfer::ScheduleAttr>(xfer::kScheduleAttrName);
  if (exchange)
    if (auto known = shared.exchanges.find(exchange.getInt()); known != shared.exchanges.end()) {
      if (known->second.schedule != schedule)
        return op.emitOpError() << "must have the schedule that it has on other ranks, " << known->second.schedule
                                << ", got: " << schedule;
      return known->second.kernels;
    }
  std::string name = (op->getName().stripDialect() + "_" + Twine(shared.nextKernel++)).str();
  OpBuilder atModule(function);
  FailureOr<SmallVector<FlatSymbolRefAttr>> kernels = buildCollectiveKernels(atModule, op, name, operands);
  if (exchange && succeeded(kernels))
    shared.exchanges[exchange.getInt()] = {schedule, *kernels};
  return kernels;
}

LogicalResult Bufferizer::convertAbsent(comm::AbsentOp absent) {
  Storage none = absentMemory(absent.getLoc(), absent.getResult());
  bind(absent.getResult(), none.root, none);
  return success();
}

/// What stands for the memory of `value` where there is none.
Storage Bufferizer::absentMemory(Location loc, Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  return {xfer::AbsentOp::create(builder, loc, MemRefType::get(type.getShape(), type.getElementType())), 0};
}

LogicalResult Bufferizer::convertFused(comm::FusedOp op) {
  std::string name = "fused_" + std::to_string(shared.nextKernel++);
  // In place, if the kernel turns out to be one that may work so.
  for (bool inPlace : {true, false}) {
    Block *block = builder.getInsertionBlock();
    Operation *before = block->empty() ? nullptr : &block->back();
    placeResults(op, inPlace);
    SmallVector<Storage> places;
    for (Value tensor : llvm::concat<const Value>(SmallVector<Value>(op.getInputs()), SmallVector<Value>(op.getResults())))
      places.push_back(storages[tensor]);
    OpBuilder atModule(function);
    auto windowOfPlace = [&](int64_t number, RankedTensorType window) {
      return windowOf(op.getLoc(), window, places[number]);
    };
    auto scratch = [&](RankedTensorType type) -> Value {
      return memref::AllocOp::create(builder, op.getLoc(), memoryType(type, 0));
    };
    FailureOr<SmallVector<Value>> operands = buildFusedKernel(atModule, op, name, {windowOfPlace, scratch});
    if (failed(operands))
      return failure();
    auto kernel = SymbolTable::lookupNearestSymbolFrom<xfer::KernelOp>(function, builder.getStringAttr(name));
    if (!inPlace || findOverlaps(kernel, *operands, block->getParentOp()).empty()) {
      Location loc = op.getCollectives().front().getLoc();
      xfer::LaunchOp::create(builder, loc, FlatSymbolRefAttr::get(builder.getContext(), name), *operands);
      return success();
    }
    kernel.erase();
    while (!block->empty() && &block->back() != before)
      block->back().erase();
  }
  llvm_unreachable("a kernel with memory of its own is launched");
}

/// Says of the arguments of the bufferized function what their types do not: what a caller has to keep to.
void Bufferizer::describeArguments(func::FuncOp target) {
  auto startOf = [&](int64_t argument) {
    Value value = function.getArgument(argument);
    return offsetOf(value) * xfer::elementBytes(cast<RankedTensorType>(value.getType()).getElementType());
  };
  for (unsigned argument = 0; argument < function.getNumArguments(); ++argument)
    if (auto alias = function.getArgAttrOfType<aten::AliasAttr>(argument, aten::kAliasOfAttrName))
      target.setArgAttr(argument, aten::kAliasBytesAttrName, builder.getI64IntegerAttr(startOf(argument) - startOf(alias.getIndex())));
  for (unsigned result = 0; result < function.getNumResults(); ++result)
    if (auto mutation = function.getResultAttrOfType<IntegerAttr>(result, aten::kMutationOfAttrName))
      target.setArgAttr(mutation.getInt(), aten::kWrittenAttrName, builder.getUnitAttr());
}

/// The caller's memory of argument `index`, whatever has become of the values in it.
Storage Bufferizer::argumentOf(int64_t index) {
  auto target = cast<func::FuncOp>(builder.getInsertionBlock()->getParentOp());
  return Storage{target.getArgument(index), offsetOf(function.getArgument(index))};
}

/// New memory with the contents of `value`.
Storage Bufferizer::copyOf(Location loc, Value value) {
  Storage copy = allocate(loc, value);
  if (!aten::isOnHost(value)) {
    memref::CopyOp::create(builder, loc, memory[value], copy.root);
    return copy;
  }
  // Only operators make memory of the host.
  auto clone = aten::CallOp::create(builder, loc, TypeRange{}, "aten::clone", "", ValueRange{memory[value]}, ValueRange{copy.root},
                                    builder.getArrayAttr({aten::OperandAttr::get(builder.getContext(), 0)}), builder.getDictionaryAttr({}),
                                    builder.getArrayAttr({aten::ResultAttr::get(builder.getContext(), 0)}), ArrayRef<int64_t>(), false);
  clone->setAttr(aten::kHostAttrName, builder.getUnitAttr());
  return copy;
}

/// The memory that result `index` is returned in. A view is in that of its base, which may be a later result.
FailureOr<Storage> Bufferizer::placeOfResult(func::ReturnOp op, int64_t index, DenseMap<int64_t, Storage> &places) {
  SmallVector<int64_t> chain{index}; // each a view of the next
  Storage place;
  while (!place.root) {
    int64_t last = chain.back();
    auto alias = function.getResultAttrOfType<aten::AliasAttr>(last, aten::kAliasOfAttrName);
    if (auto known = places.find(last); known != places.end()) {
      place = known->second;
    } else if (!alias) {
      // A value of its own, which the caller must not find in an argument.
      place = storages[op.getOperand(last)];
      if (isa<BlockArgument>(place.root))
        place = copyOf(op.getLoc(), op.getOperand(last));
    } else if (alias.getKind() == aten::AliasKind::Argument) {
      place = argumentOf(alias.getIndex());
    } else if (llvm::is_contained(chain, alias.getIndex())) {
      return op.emitOpError() << "result " << index << " must be a view of memory, got: views that are each the next one's, " << ArrayRef(chain);
    } else {
      chain.push_back(alias.getIndex());
    }
  }
  for (int64_t view : chain)
    places[view] = place;
  return place;
}

LogicalResult Bufferizer::convertReturn(func::ReturnOp op) {
  Location loc = op.getLoc();
  for (auto [index, type] : llvm::enumerate(op.getOperandTypes()))
    if (!isa<RankedTensorType>(type))
      return op.emitOpError() << "must return tensors to be lowered, got: result " << index << " of type " << type;
  auto mutationOf = [&](int64_t result) {
    return function.getResultAttrOfType<IntegerAttr>(result, aten::kMutationOfAttrName);
  };
  // Arguments that get their last contents only here. What lies in them is saved first.
  SmallVector<std::pair<Value, Storage>> late;
  for (auto [index, value] : llvm::enumerate(op.getOperands()))
    if (auto mutation = mutationOf(index); mutation && storages[value].root != argumentOf(mutation.getInt()).root)
      late.emplace_back(value, argumentOf(mutation.getInt()));
  SmallVector<std::pair<Value, Value>> copies;
  for (auto &[value, target] : late) {
    bool overwritten = llvm::any_of(late, [&, value = value](auto &other) { return other.second.root == storages[value].root; });
    copies.emplace_back(overwritten ? copyOf(loc, value).root : memory[value], target.root);
  }

  // What is left of the results is numbered anew.
  SmallVector<int64_t> numbers(op.getNumOperands(), -1);
  int64_t left = 0;
  for (auto [index, number] : llvm::enumerate(numbers))
    if (!mutationOf(index))
      number = left++;

  SmallVector<Value> returned;
  SmallVector<DictionaryAttr> attributes;
  DenseMap<int64_t, Storage> places; // by result
  for (int64_t index = 0; index < op.getNumOperands(); ++index) {
    if (mutationOf(index))
      continue;
    FailureOr<Storage> place = placeOfResult(op, index, places);
    if (failed(place))
      return failure();
    Value value = op.getOperand(index), result = memory[value];
    if (place->root != storages[value].root)
      result = windowOf(loc, cast<RankedTensorType>(value.getType()), *place);
    if (!result)
      return op.emitOpError() << "result " << index << " must have strides that a memref can have, got: " << value.getType();
    NamedAttrList attribute(function.getResultAttrDict(index));
    if (auto alias = function.getResultAttrOfType<aten::AliasAttr>(index, aten::kAliasOfAttrName);
        alias && alias.getKind() == aten::AliasKind::Result) {
      if (numbers[alias.getIndex()] < 0)
        return op.emitOpError() << "result " << index << " must be a view of a result that is returned, got: the new contents of an argument";
      attribute.set(aten::kAliasOfAttrName, aten::AliasAttr::get(builder.getContext(), aten::AliasKind::Result, numbers[alias.getIndex()]));
    }
    returned.push_back(result);
    attributes.push_back(attribute.getDictionary(builder.getContext()));
  }
  for (auto &[from, to] : copies)
    memref::CopyOp::create(builder, loc, from, to);
  func::ReturnOp::create(builder, op.getLoc(), returned);
  auto target = cast<func::FuncOp>(builder.getInsertionBlock()->getParentOp());
  target.setType(builder.getFunctionType(target.getArgumentTypes(), TypeRange(ValueRange(returned))));
  target.setAllResultAttrs(attributes);
  return success();
}

LogicalResult Bufferizer::convert(Operation *op) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](aten::CallOp call) { return convertCall(call); })
      .Case([&](aten::AsStridedOp view) { return convertView(view); })
      .Case([&](aten::ViewWriteOp write) { return convertViewWrite(write); })
      .Case([&](aten::LiteralOp literal) { return convertLiteral(literal); })
      .Case([&](comm::FusedOp fused) { return convertFused(fused); })
      .Case([&](comm::CollectiveOpInterface collective) { return convertCollective(collective); })
      .Case([&](comm::AbsentOp absent) { return convertAbsent(absent); })
      .Case([&](comm::HostReadOp read) {
        memory[read.getResult()] = xfer::HostReadOp::create(builder, read.getLoc(), read.getResult().getType(), memory[read.getInput()]);
        return success();
      })
      .Case([&](func::ReturnOp ret) { return convertReturn(ret); })
      .Default([](Operation *other) { return other->emitOpError() << "must not be left at level L1"; });
}

LogicalResult Bufferizer::run() {
  if (!llvm::hasSingleElement(function.getBody()))
    return function.emitOpError() << "must be straight-line code";
  for (Type type : function.getArgumentTypes())
    if (!isa<RankedTensorType>(type))
      return function.emitOpError() << "must take tensors at level L1, got: " << type;
  OpBuilder atModule(function);
  SmallVector<Type> types;
  for (BlockArgument argument : function.getArguments())
    types.push_back(memoryType(cast<RankedTensorType>(argument.getType()), offsetOf(argument)));
  auto target = func::FuncOp::create(atModule, function.getLoc(), function.getName(),
                                     atModule.getFunctionType(types, {}));
  target->setDiscardableAttrs(function->getDiscardableAttrDictionary());
  Block *entry = target.addEntryBlock();
  builder.setInsertionPointToEnd(entry);
  for (auto [old, fresh] : llvm::zip(function.getArguments(), entry->getArguments()))
    bind(old, fresh, Storage{fresh, offsetOf(old)});
  SmallVector<DictionaryAttr> argumentAttrs;
  function.getAllArgAttrs(argumentAttrs);
  if (!argumentAttrs.empty())
    target.setAllArgAttrs(argumentAttrs);
  describeArguments(target);
  for (Operation &op : function.getBody().front())
    if (failed(convert(&op)))
      return failure();
  function.erase();
  return success();
}

namespace {

struct ConvertCommToXferPass : pkb::impl::ConvertCommToXferPassBase<ConvertCommToXferPass> {
  void runOnOperation() override {
    ModuleState shared;
    for (auto function : llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>()))
      if (failed(Bufferizer(function, shared).run()))
        return signalPassFailure();
  }
};

} // namespace
