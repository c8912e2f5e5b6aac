// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- CollectiveKernels.h - one collective as one kernel -------*- C++ -*-===//
//
// Private to the conversion of comm to xfer.
//
//===----------------------------------------------------------------------===//

#ifndef PKB_PASSES_LOWERING_COLLECTIVEKERNELS_H
#define PKB_PASSES_LOWERING_COLLECTIVEKERNELS_H

#include "dialects/Comm/IR/Comm.h"
#include "dialects/Xfer/IR/Xfer.h"

namespace pkb {

/// Builds the kernels of `op` by its schedule: one for all rows of its group that do the same, named `name`, `name`_1, ... Arguments, of type
/// `operands` (tensors whose size differs between ranks: of unknown size): the collective's inputs, then its results, contiguous memrefs. Returns
/// their names, of which each rank launches all: those of other rows it skips. Emits an error and fails for a reduction or element type that no
/// kernel can carry out.
llvm::FailureOr<llvm::SmallVector<mlir::FlatSymbolRefAttr>> buildCollectiveKernels(mlir::OpBuilder &builder, comm::CollectiveOpInterface op,
                                                                                   llvm::StringRef name, mlir::TypeRange operands);

} // namespace pkb

#endif // PKB_PASSES_LOWERING_COLLECTIVEKERNELS_H
