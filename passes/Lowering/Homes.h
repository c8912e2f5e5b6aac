// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Homes.h - where a program leaves a value in the end ------*- C++ -*-===//
//
// Private to the conversion of comm to xfer.
//
//===----------------------------------------------------------------------===//

#ifndef PKB_PASSES_LOWERING_HOMES_H
#define PKB_PASSES_LOWERING_HOMES_H

#include "dialects/Aten/IR/Aten.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <optional>

namespace pkb {

/// The argument that holds a value when the call ends.
struct Home {
  int64_t argument;
  /// The write of the value into a part of the argument; null where it becomes the whole argument.
  aten::ViewWriteOp write;
  /// What makes the argument's later versions of it, the last first.
  llvm::SmallVector<mlir::Operation *> path;
};

/// The home of `value`, or of what later becomes of it in place, as the results of `function` say (`aten.mutation_of`); the first that is found, if any.
/// write: of the value into a part of a storage, if that is already known.
std::optional<Home> homeOf(mlir::func::FuncOp function, mlir::Value value, aten::ViewWriteOp write = {});

} // namespace pkb

#endif // PKB_PASSES_LOWERING_HOMES_H
