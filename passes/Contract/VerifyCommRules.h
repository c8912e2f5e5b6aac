//===- VerifyCommRules.h - parts of the gate of level L1 --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to VerifyComm.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef PKB_PASSES_CONTRACT_VERIFYCOMMRULES_H
#define PKB_PASSES_CONTRACT_VERIFYCOMMRULES_H

#include "mlir/IR/BuiltinOps.h"

namespace pkb {

/// Checks functions that only some ranks run (verify_comm_c2, verify_comm_c7).
/// Reports every offender; true if there is none.
bool verifyRankPrograms(mlir::ModuleOp module, int64_t meshSize);

} // namespace pkb

#endif // PKB_PASSES_CONTRACT_VERIFYCOMMRULES_H
