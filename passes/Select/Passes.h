// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Passes.h - choosing a mechanism and a schedule ----------*- C++ -*-===//

#ifndef PKB_PASSES_SELECT_PASSES_H
#define PKB_PASSES_SELECT_PASSES_H

#include "mlir/Pass/Pass.h"

namespace pkb {

#define GEN_PASS_DECL
#include "passes/Select/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/Select/Passes.h.inc"

} // namespace pkb

#endif // PKB_PASSES_SELECT_PASSES_H
