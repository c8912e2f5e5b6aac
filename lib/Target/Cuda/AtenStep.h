// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- AtenStep.h - arguments of aten.call as JSON --------------*- C++ -*-===//
//
// Private to lib/Target/Cuda. The encoding is that of the bundle (docs/Rationale/Bundle.md), `t` being a slot.
//
//===----------------------------------------------------------------------===//

#ifndef PKB_LIB_TARGET_CUDA_ATENSTEP_H
#define PKB_LIB_TARGET_CUDA_ATENSTEP_H

#include "dialects/Aten/IR/Aten.h"

#include "llvm/Support/JSON.h"

namespace pkb {

/// Number of the slot of operand, or result, i of a call.
using SlotOf = llvm::function_ref<int64_t(int64_t)>;

llvm::json::Value argumentToJson(mlir::Attribute argument, SlotOf operand);
/// A member of `returns`; null where the program does not use the result.
llvm::json::Value returnToJson(mlir::Attribute returned, SlotOf operand, SlotOf result);
llvm::json::Value treeToJson(aten::TreeAttr tree);

} // namespace pkb

#endif // PKB_LIB_TARGET_CUDA_ATENSTEP_H
