//===- Passes.h - one spelling for each program -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PKB_PASSES_NORMALIZE_PASSES_H
#define PKB_PASSES_NORMALIZE_PASSES_H

#include "mlir/Pass/Pass.h"

namespace pkb {

#define GEN_PASS_DECL
#include "passes/Normalize/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/Normalize/Passes.h.inc"

} // namespace pkb

#endif // PKB_PASSES_NORMALIZE_PASSES_H
