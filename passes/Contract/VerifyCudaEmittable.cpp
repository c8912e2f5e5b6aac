// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- VerifyCudaEmittable.cpp - gate of level L3 -----------------------===//
//
// What lib/Target/Cuda can print, said once: a module that passes prints, and the printer decides nothing.
//
//===----------------------------------------------------------------------===//

#include "dialects/Aten/IR/Aten.h"
#include "dialects/Cuda/IR/Cuda.h"
#include "passes/Contract/Passes.h"
#include "pkb_rt/layout.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/StringExtras.h"

#define DEBUG_TYPE "pkb-verify-cuda-emittable"

namespace pkb {
#define GEN_PASS_DEF_VERIFYCUDAEMITTABLEPASS
#include "passes/Contract/Passes.h.inc"
} // namespace pkb

using namespace mlir;
using namespace pkb;

/// Element types that the device header has a name for.
static bool hasDeviceType(Type type) {
  if (auto integer = dyn_cast<IntegerType>(type))
    return llvm::is_contained({1u, 8u, 16u, 32u, 64u}, integer.getWidth());
  return isa<Float64Type, Float32Type, Float16Type, BFloat16Type, Float8E4M3FNType, Float8E5M2Type>(type);
}

/// Numbers of elements that a vector of the device header can have.
static bool isLength(int64_t elements) {
  return llvm::isPowerOf2_64(elements % 3 == 0 ? elements / 3 : elements);
}

/// Types of values in a kernel.
static bool isKernelType(Type type) {
  if (auto vector = dyn_cast<VectorType>(type))
    return vector.getRank() == 1 && !vector.isScalable() && isLength(vector.getNumElements()) &&
           hasDeviceType(vector.getElementType());
  return type.isIndex() || type.isInteger(1) || isa<cuda::PtrType, cuda::TicketType, cuda::RowType>(type);
}

/// Operations of `arith` that are an operator or a function of the device header, on scalars of type index and on
/// vectors.
static bool isExpression(Operation *op) {
  bool vector = isa<VectorType>(op->getResult(0).getType());
  if (auto compare = dyn_cast<arith::CmpIOp>(op))
    return !vector && !llvm::is_contained({arith::CmpIPredicate::ult, arith::CmpIPredicate::ule,
                                           arith::CmpIPredicate::ugt, arith::CmpIPredicate::uge},
                                          compare.getPredicate());
  if (auto select = dyn_cast<arith::SelectOp>(op))
    return select.getCondition().getType().isInteger(1) || vector;
  if (auto compare = dyn_cast<arith::CmpFOp>(op))
    return vector && llvm::is_contained({arith::CmpFPredicate::OEQ, arith::CmpFPredicate::UNE, arith::CmpFPredicate::OLT,
                                         arith::CmpFPredicate::OLE, arith::CmpFPredicate::OGT, arith::CmpFPredicate::OGE},
                                        compare.getPredicate());
  if (isa<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::MinSIOp, arith::MaxSIOp, arith::MinUIOp, arith::MaxUIOp,
          arith::DivUIOp, arith::DivSIOp>(op))
    return true;
  if (isa<arith::AndIOp>(op))
    return true;
  if (isa<arith::RemUIOp, arith::RemSIOp>(op))
    return !vector;
  if (isa<arith::OrIOp, arith::XOrIOp>(op))
    return vector;
  return vector && isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::DivFOp, arith::MinimumFOp, arith::MaximumFOp, arith::MinNumFOp, arith::MaxNumFOp,
                       arith::ExtFOp, arith::TruncFOp, arith::SIToFPOp, arith::UIToFPOp, arith::FPToSIOp, arith::ExtSIOp, arith::ExtUIOp,
                       arith::TruncIOp, arith::NegFOp, math::AbsFOp, math::AbsIOp, math::RsqrtOp, math::SqrtOp, math::ExpOp, math::Exp2Op,
                       math::ExpM1Op, math::LogOp, math::Log2Op, math::Log1pOp, math::TanhOp, math::ErfOp, math::SinOp, math::CosOp,
                       math::FloorOp, math::CeilOp, math::PowFOp>(op);
}

static bool isIdentifier(StringRef name) {
  return !name.empty() && (llvm::isAlpha(name.front()) || name.front() == '_') &&
         llvm::all_of(name, [](char c) { return llvm::isAlnum(c) || c == '_'; });
}

namespace {

struct VerifyCudaEmittablePass : pkb::impl::VerifyCudaEmittablePassBase<VerifyCudaEmittablePass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    legal = true;
    checkModule(module);
    DenseMap<int64_t, Operation *> sites;
    for (auto kernel : module.getOps<cuda::KernelOp>())
      checkKernel(kernel, sites);
    if (!legal)
      signalPassFailure();
  }

private:
  InFlightDiagnostic reject(Operation *op) {
    legal = false;
    return op->emitOpError();
  }

  void checkModule(ModuleOp module);
  void checkPlan(func::FuncOp main);
  void checkMemory(Operation *op, Value value);
  void checkKernel(cuda::KernelOp kernel, DenseMap<int64_t, Operation *> &sites);
  void checkGeometry(cuda::KernelOp kernel);
  void checkEpochs(cuda::KernelOp kernel);
  void checkRows(cuda::KernelOp kernel, Operation *op);
  void checkOp(cuda::KernelOp kernel, Operation *op);

  bool legal = true;
};

} // namespace

//===----------------------------------------------------------------------===//
// The host plan
//===----------------------------------------------------------------------===//

void VerifyCudaEmittablePass::checkModule(ModuleOp module) {
  // verify_cuda_emittable_c1
  auto main = module.lookupSymbol<func::FuncOp>("main");
  bool differ = llvm::any_of(module.getOps<func::FuncOp>(), comm::getRanks);
  if (!differ && (!main || !llvm::hasSingleElement(main.getBody())))
    reject(module) << "must have a function @main of one block";
  for (Operation &op : module.getOps()) {
    auto function = dyn_cast<func::FuncOp>(op);
    if (function && (differ ? bool(comm::getRanks(function)) : function == main)) {
      if (llvm::hasSingleElement(function.getBody()))
        checkPlan(function);
      else if (differ)
        reject(function) << "must have one block";
    } else if (!isa<cuda::KernelOp, memref::GlobalOp>(op)) {
      reject(&op) << "must not stand at the top of a module at level L3";
    }
  }
}

/// verify_cuda_emittable_c3: `value` is an argument, or made by an op that has a slot in the plan.
void VerifyCudaEmittablePass::checkMemory(Operation *op, Value value) {
  auto type = dyn_cast<MemRefType>(value.getType());
  int64_t offset = 0;
  SmallVector<int64_t> strides;
  bool isStatic = type && type.hasStaticShape() && succeeded(type.getStridesAndOffset(strides, offset)) &&
                  !ShapedType::isDynamic(offset) && llvm::none_of(strides, ShapedType::isDynamic);
  if (!isStatic)
    reject(op) << "must work on memrefs of static shape and strides, got: " << value.getType();
  else if (!aten::getScalarType(type.getElementType()))
    reject(op) << "must work on elements that a tensor can have, got: " << type.getElementType();
  else if (Operation *maker = value.getDefiningOp();
           maker && !isa<memref::AllocOp, memref::ReinterpretCastOp, memref::GetGlobalOp, cuda::BitcastOp>(maker) &&
           !(isa<cuda::AbsentOp>(maker) && isa<cuda::LaunchOp, cuda::LibraryCallOp, cuda::TransferOp>(op)))
    reject(op)
        << "must use memory of @main's arguments, memref.alloc, memref.reinterpret_cast or memref.get_global, got: "
        << maker->getName();
}

void VerifyCudaEmittablePass::checkPlan(func::FuncOp main) {
  for (Operation &op : main.getBody().front()) {
    // verify_cuda_emittable_c2
    if (!isa<cuda::LaunchOp, cuda::AbsentOp, cuda::BitcastOp, cuda::HostReadOp, cuda::LibraryCallOp, cuda::TransferOp, aten::CallOp, memref::AllocOp, memref::CopyOp,
             memref::ReinterpretCastOp,
             memref::GetGlobalOp, func::ReturnOp>(op)) {
      reject(&op) << "has no form in the host plan";
      continue;
    }
    for (Value operand : op.getOperands())
      if (!isa<aten::CallOp>(op) || !operand.getDefiningOp<cuda::HostReadOp>())
        checkMemory(&op, operand);
    // An allocation that nobody uses has a slot, too.
    if (auto alloc = dyn_cast<memref::AllocOp>(op); alloc && alloc.getMemref().use_empty())
      checkMemory(&op, alloc.getMemref());
    if (auto use = dyn_cast<memref::GetGlobalOp>(op)) {
      auto global = SymbolTable::lookupNearestSymbolFrom<memref::GlobalOp>(use, use.getNameAttr());
      if (!global || !isa_and_nonnull<ElementsAttr>(global.getInitialValueAttr()))
        reject(use) << "must name a memref.global with a value";
    }
  }
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

void VerifyCudaEmittablePass::checkGeometry(cuda::KernelOp kernel) {
  // verify_cuda_emittable_c4
  auto ranks = static_cast<int64_t>(kernel.getRanks());
  if (!isIdentifier(kernel.getSymName()))
    reject(kernel) << "must have a name that is an identifier of C, got: " << kernel.getSymName();
  if (ranks != kernel.getGroup().getSize())
    reject(kernel) << "must be for the ranks of its group (" << kernel.getGroup().getSize() << "), got: " << ranks;
  if (ranks > PKB_MAX_RANKS)
    reject(kernel) << "must be for at most " << PKB_MAX_RANKS << " ranks, got: " << ranks;
  else if (int64_t least = pkb_stage_offset(ranks), region = kernel.getRegionBytes(); region < least)
    reject(kernel) << "must have region_bytes of at least " << least << " (flags and LL lines of " << ranks
                   << " ranks), got: " << region;
  if (static_cast<int64_t>(kernel.getBlocks()) > PKB_MAX_BLOCKS)
    reject(kernel) << "must have at most " << PKB_MAX_BLOCKS << " blocks, got: " << kernel.getBlocks();
  if (kernel.getMinBlocks() > 2048 / kernel.getThreads())
    reject(kernel) << "must have at most 2048 threads resident on a multiprocessor, got: " << kernel.getMinBlocks()
                   << " blocks of " << kernel.getThreads();
}

/// verify_cuda_emittable_c5: the epoch is read first and bumped last, once each.
void VerifyCudaEmittablePass::checkEpochs(cuda::KernelOp kernel) {
  Block &body = kernel.getBody().front();
  int64_t begins = 0, ends = 0;
  kernel.walk([&](cuda::EpochBeginOp) { ++begins; });
  kernel.walk([&](cuda::EpochEndOp) { ++ends; });
  if (begins != 1 || body.getOps<cuda::EpochBeginOp>().empty())
    reject(kernel) << "must read its epoch once, at its top level, got: " << begins;
  if (ends != 1 || body.empty() || !isa<cuda::EpochEndOp>(body.back()))
    reject(kernel) << "must end its epoch once, as its last operation, got: " << ends;
}

void VerifyCudaEmittablePass::checkOp(cuda::KernelOp kernel, Operation *op) {
  // verify_cuda_emittable_c6
  bool isCuda = op->getName().getDialectNamespace() == cuda::CudaDialect::getDialectNamespace();
  if (isa<cuda::KernelOp, cuda::LaunchOp, cuda::AbsentOp, cuda::BitcastOp, cuda::HostReadOp, cuda::LibraryCallOp, cuda::TransferOp>(op) || !isCuda) {
    if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
      if (!isa<IntegerAttr, SplatElementsAttr>(constant.getValue()))
        reject(op) << "must be an integer or a vector of one number to be emitted, got: " << constant.getValue();
    } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
      if (!loop.getInitArgs().empty())
        reject(op) << "must not carry values to be emitted, got: " << loop.getInitArgs().size();
    } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
      if (branch.getNumResults() != 0)
        reject(op) << "must not have results to be emitted, got: " << branch.getNumResults();
    } else if (!isa<scf::YieldOp>(op) && (op->getNumResults() != 1 || op->getNumRegions() != 0 || !isExpression(op))) {
      reject(op) << "has no form in the emitted text";
    }
  }
  for (Type type : op->getResultTypes())
    if (!isKernelType(type))
      reject(op) << "must have a result that the device header has a type for, got: " << type;
  // verify_cuda_emittable_c7
  if (auto pointer = dyn_cast<cuda::PointerOp>(op)) {
    IntegerAttr number;
    if (matchPattern(pointer.getNumber(), m_Constant(&number)) &&
        (number.getInt() < 0 || number.getInt() >= static_cast<int64_t>(kernel.getPointers())))
      reject(op) << "must be one of the kernel's " << kernel.getPointers() << " pointers, got: " << number.getInt();
  }
  // verify_cuda_emittable_c8
  if (op->getParentOfType<cuda::ForEachOp>() &&
      isa<cuda::BlockBarrierOp, cuda::SignalOp, cuda::WaitOp, cuda::WaitBlocksOp, cuda::EpochBeginOp, cuda::EpochEndOp,
          cuda::ForEachOp, cuda::ForEachRowOp, cuda::StreamRowsOp>(op))
    reject(op) << "must not stand in cuda.for_each, which each thread runs by itself";
  auto loop = dyn_cast<cuda::ForEachOp>(op);
  Operation *rows = op->getParentOfType<cuda::ForEachRowOp>();
  if (!rows)
    rows = op->getParentOfType<cuda::StreamRowsOp>();
  if (rows && isa<cuda::BlockBarrierOp, cuda::SignalOp, cuda::WaitOp, cuda::WaitBlocksOp, cuda::EpochBeginOp,
                  cuda::EpochEndOp, cuda::ForEachRowOp, cuda::StreamRowsOp>(op))
    reject(op) << "must not stand in " << rows->getName() << ", which each team runs by itself";
  if (loop && (loop.getSpread() == cuda::Spread::Row) != static_cast<bool>(rows))
    reject(op) << "must be spread over a row exactly in cuda.for_each_row or cuda.stream_rows, got: " << cuda::stringifySpread(loop.getSpread());
}

/// verify_cuda_emittable_c10
void VerifyCudaEmittablePass::checkRows(cuda::KernelOp kernel, Operation *op) {
  auto threads = static_cast<int64_t>(kernel.getThreads());
  if (auto stream = dyn_cast<cuda::StreamRowsOp>(op); stream && threads / static_cast<int64_t>(stream.getTeam()) < static_cast<int64_t>(stream.getRows()))
    reject(op) << "must have a team of " << static_cast<int64_t>(stream.getTeam()) << " threads for each of " << static_cast<int64_t>(stream.getRows())
               << " rows, got: " << threads << " threads";
  if (auto kept = dyn_cast<cuda::KeptOp>(op)) {
    auto number = dyn_cast<BlockArgument>(kept.getVector());
    if (!number || number.getOwner() != op->getBlock() || !isa<cuda::ForEachOp, cuda::RowReduceOp>(op->getParentOp()))
      reject(op) << "must be the vector that its loop is at, which is in a register";
  }
  if (auto gather = dyn_cast<cuda::GatherLLOp>(op);
      gather && op->getParentRegion() != &cast<cuda::StreamRowsOp>(op->getParentOp()).getConsume())
    reject(op) << "must stand behind what is sent, in the third region";
  // Loops without a loop reach every vector.
  auto covers = [&](std::optional<int64_t> perLane, Value count, int64_t lanes) {
    IntegerAttr number;
    auto stream = op->getParentOfType<cuda::StreamRowsOp>();
    auto rows = op->getParentOfType<cuda::ForEachRowOp>();
    if (!perLane || (!stream && !rows))
      return;
    int64_t team = stream ? stream.getTeam() : rows.getTeam();
    if (!matchPattern(count, m_Constant(&number)))
      reject(op) << "must have a constant number of vectors to have " << *perLane << " per lane";
    else if (int64_t vectors = llvm::divideCeil(number.getInt(), lanes); vectors > *perLane * team)
      reject(op) << "must have at most " << *perLane << " vectors for each of " << team << " lanes, got: " << vectors;
  };
  if (auto loop = dyn_cast<cuda::ForEachOp>(op))
    covers(loop.getPerLane(), loop.getCount(), 1);
  if (auto reduce = dyn_cast<cuda::RowReduceOp>(op))
    covers(reduce.getPerLane(), reduce.getLength(),
           cast<VectorType>(cast<cuda::YieldOp>(reduce.getMap().front().back()).getValues().front().getType()).getNumElements());
}

void VerifyCudaEmittablePass::checkKernel(cuda::KernelOp kernel, DenseMap<int64_t, Operation *> &sites) {
  checkGeometry(kernel);
  checkEpochs(kernel);
  kernel.getBody().walk([&](Operation *op) {
    checkOp(kernel, op);
    checkRows(kernel, op);
    auto sited = dyn_cast<cuda::SitedOpInterface>(op);
    if (!sited)
      return;
    // verify_cuda_emittable_c9
    int64_t site = sited.getSiteNumber();
    if (site < 1)
      reject(op) << "must have a positive site, got: " << site;
    auto [place, fresh] = sites.try_emplace(site, op);
    if (!fresh) {
      InFlightDiagnostic error = reject(op) << "must have a site of its own, got: " << site;
      error.attachNote(place->second->getLoc()) << "the other operation of this site";
    }
  });
}
