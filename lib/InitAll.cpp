//===- InitAll.cpp - registration of everything ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "pkb/InitAll.h"
#include "dialects/Aten/IR/Aten.h"
#include "dialects/Comm/IR/Comm.h"
#include "dialects/Cuda/IR/Cuda.h"
#include "dialects/Xfer/IR/Xfer.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/PDL/IR/PDL.h"
#include "mlir/Dialect/PDLInterp/IR/PDLInterp.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Transform/DebugExtension/DebugExtension.h"
#include "mlir/Dialect/Transform/IR/TransformDialect.h"
#include "mlir/Dialect/Transform/LoopExtension/LoopExtension.h"
#include "mlir/Dialect/Transform/PDLExtension/PDLExtension.h"
#include "mlir/Dialect/Transform/Transforms/Passes.h"
#include "mlir/Dialect/Transform/TuneExtension/TuneExtension.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "passes/Normalize/Passes.h"
#include "passes/Contract/Passes.h"
#include "passes/Fusion/Passes.h"
#include "passes/Lowering/Passes.h"
#include "passes/Select/Passes.h"
#include "passes/Pipelines/Pipelines.h"

using namespace mlir;

void pkb::registerAllDialects(DialectRegistry &registry) {
  registry.insert<aten::AtenDialect, comm::CommDialect>();
  registry.insert<xfer::XferDialect, cuda::CudaDialect>();
  registry.insert<affine::AffineDialect, arith::ArithDialect,
                  bufferization::BufferizationDialect, func::FuncDialect,
                  linalg::LinalgDialect, math::MathDialect,
                  memref::MemRefDialect, scf::SCFDialect,
                  tensor::TensorDialect, transform::TransformDialect,
                  vector::VectorDialect>();
  // Scripts and pattern files: docs/Rationale/Openness.md.
  registry.insert<pdl::PDLDialect, pdl_interp::PDLInterpDialect>();
  transform::registerDebugExtension(registry);
  transform::registerLoopExtension(registry);
  transform::registerPDLExtension(registry);
  transform::registerTuneExtension(registry);
}

void pkb::registerAllPasses() {
  registerTransformsPasses();
  transform::registerTransformPasses();
  registerPkbNormalizePasses();
  registerPkbContractPasses();
  registerPkbFusionPasses();
  registerPkbLoweringPasses();
  registerPkbSelectPasses();
  registerPkbPipelines();
}
