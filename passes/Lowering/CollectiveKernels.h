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

/// Builds `xfer.kernel @name` for `op` by its schedule. Arguments, of type `operands`: the collective's inputs, then its results, contiguous
/// memrefs. Emits an error and fails for a collective, reduction or element type that no kernel can carry out.
llvm::LogicalResult buildCollectiveKernel(mlir::OpBuilder &builder, comm::CollectiveOpInterface op, llvm::StringRef name,
                                          mlir::TypeRange operands);

} // namespace pkb

#endif // PKB_PASSES_LOWERING_COLLECTIVEKERNELS_H
