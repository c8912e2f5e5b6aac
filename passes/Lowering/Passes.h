// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Passes.h - from one level to the next --------------------*- C++ -*-===//

#ifndef PKB_PASSES_LOWERING_PASSES_H
#define PKB_PASSES_LOWERING_PASSES_H

#include "mlir/Pass/Pass.h"

namespace pkb {

#define GEN_PASS_DECL
#include "passes/Lowering/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/Lowering/Passes.h.inc"

} // namespace pkb

#endif // PKB_PASSES_LOWERING_PASSES_H
