//===- Passes.td - gates between levels --------------------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PKB_PASSES_CONTRACT_PASSES_TD
#define PKB_PASSES_CONTRACT_PASSES_TD

include "mlir/Pass/PassBase.td"

//===----------------------------------------------------------------------===//
// L1
//===----------------------------------------------------------------------===//

def VerifyCommPass : Pass<"pkb-verify-comm", "::mlir::ModuleOp"> {
  let summary = "check that a module is a program of level L1";
  let description = [{
    Changes nothing; reports every offender.

    * (`verify_comm_c1`) The module has a mesh.
    * (`verify_comm_c2`) It has a function `main` with one block, so all ranks
      meet its collectives in one order.
    * (`verify_comm_c3`) All operations are of `comm`, `aten`, `linalg`,
      `tensor`, `arith`, `math` or `func`.
    * (`verify_comm_c4`) Operands and results are values, not memory.
    * (`verify_comm_c5`) The ranks of every group are in the mesh.

    *Precondition*: none. *Postcondition*: the above. *Declines*: never.
  }];
}

//===----------------------------------------------------------------------===//
// L2
//===----------------------------------------------------------------------===//

//===----------------------------------------------------------------------===//
// L3
//===----------------------------------------------------------------------===//

#endif // PKB_PASSES_CONTRACT_PASSES_TD
