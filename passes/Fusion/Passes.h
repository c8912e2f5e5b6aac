// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Passes.h - what shares a kernel --------------------------*- C++ -*-===//

#ifndef PKB_PASSES_FUSION_PASSES_H
#define PKB_PASSES_FUSION_PASSES_H

#include "mlir/Pass/Pass.h"

namespace pkb {

#define GEN_PASS_DECL
#include "passes/Fusion/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/Fusion/Passes.h.inc"

} // namespace pkb

#endif // PKB_PASSES_FUSION_PASSES_H
