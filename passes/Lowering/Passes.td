// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Passes.td - from one level to the next -------------------*- tablegen -*-===//

#ifndef PKB_PASSES_LOWERING_PASSES_TD
#define PKB_PASSES_LOWERING_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertCommToXferPass : Pass<"pkb-convert-comm-to-xfer", "::mlir::ModuleOp"> {
  let summary = "bufferize the program and turn each collective into a kernel that pushes";
  let description = [{
    Rewrites `@main` from tensors to memrefs and each collective of level L1 into one `xfer.kernel` and its `xfer.launch`.

    *Precondition*: `pkb-verify-comm` holds and every collective has a schedule (`pkb-select-mechanism`).

    *Postcondition*: only level L2: `xfer`, `aten.call` on memrefs, `memref`, `func`.

    The program was imperative and its storages are known, so each storage version becomes the same memory as the one before: a
    write in place stays in place. A copy is made where an older version is still read after the write, and where a result is a
    view of memory that the caller cannot own.

    *Declines*: nothing; a collective without a schedule, or an op of another level, is an error.
  }];
  let dependentDialects = ["::pkb::xfer::XferDialect", "::mlir::memref::MemRefDialect", "::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect"];
}

def ConvertXferToCudaPass : Pass<"pkb-convert-xfer-to-cuda", "::mlir::ModuleOp"> {
  let summary = "turn kernels of level L2 into calls of the device header";
  let description = [{
    Expands pipelines into loops over the chunks of a block, tiles into vectors of 16 bytes spread over its threads, and the token graph into
    ordering: a block barrier and a release at system scope for each signal, an acquire at system scope and a block barrier for each wait, an
    epoch read at the start and bumped at the end by every block, each for its share of the cells. LL transfers carry their signal themselves and get none of these.

    *Precondition*: `pkb-verify-xfer` holds.

    *Postcondition*: kernels are `cuda`, `arith` and `scf` only; each ordering primitive has a site number of its own.

    *Declines*: nothing; what it cannot expand (a tile used on the other side of a signal or wait) is an error.
  }];
  let dependentDialects = ["::pkb::cuda::CudaDialect", "::mlir::scf::SCFDialect", "::mlir::arith::ArithDialect",
                           "::mlir::vector::VectorDialect"];
}

#endif // PKB_PASSES_LOWERING_PASSES_TD
