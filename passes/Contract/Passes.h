//===- Passes.h - gates between levels ----------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PKB_PASSES_CONTRACT_PASSES_H
#define PKB_PASSES_CONTRACT_PASSES_H

#include "mlir/Pass/Pass.h"

namespace pkb {

#define GEN_PASS_DECL
#include "passes/Contract/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/Contract/Passes.h.inc"

} // namespace pkb

#endif // PKB_PASSES_CONTRACT_PASSES_H
