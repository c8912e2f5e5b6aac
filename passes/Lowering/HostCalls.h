// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- HostCalls.h - collectives that are no kernel -------------*- C++ -*-===//
//
// Private to the Lowering family. A collective becomes a call of a library.
//
//===----------------------------------------------------------------------===//

#ifndef PKB_PASSES_LOWERING_HOSTCALLS_H
#define PKB_PASSES_LOWERING_HOSTCALLS_H

#include "dialects/Xfer/IR/Xfer.h"

namespace pkb {

/// Builds the call of a library that `op` is. `operands` are the memory of its inputs, then of its results, all of its function.
llvm::LogicalResult buildLibraryCall(mlir::OpBuilder &builder, comm::CollectiveOpInterface op, mlir::ValueRange operands);

} // namespace pkb

#endif // PKB_PASSES_LOWERING_HOSTCALLS_H
