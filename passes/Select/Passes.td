// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Passes.td - choosing a mechanism and a schedule ----------*- tablegen -*-===//

#ifndef PKB_PASSES_SELECT_PASSES_TD
#define PKB_PASSES_SELECT_PASSES_TD

include "mlir/Pass/PassBase.td"

def SelectMechanismPass : Pass<"pkb-select-mechanism", "::mlir::ModuleOp"> {
  let summary = "choose, for each collective, how its bytes move";
  let description = [{
    Predicts the time of every legal mechanism on the target machine and attaches the best one's schedule to the collective
    (`xfer.schedule`). The remark `mechanism` says what was chosen, the predicted times of all, and why others are not legal.

    *Precondition*: level L1, `pkb-verify-comm`.

    *Postcondition*: every collective has a schedule; the module's mesh has the target's topology and its name is `cuda.target`.

    *Declines*: a collective that has a schedule already keeps it. A target of another number of ranks than the program's is an error, as
    is a mechanism asked for that is not legal: errors that name the option, and no line of the program. Where neither an option nor the module (`cuda.target`) says the
    target, an h200 with the program's ranks is assumed, and a remark says so.
  }];
  let options = [
    Option<"target", "target", "std::string", /*default=*/"\"\"", "target machine and number of ranks, such as h200x4; without it the module's, else an h200">,
    Option<"targetFile", "target-file", "std::string", /*default=*/"\"\"", "machine file that replaces the built-in ones">,
    Option<"mechanism", "mechanism", "std::string", /*default=*/"\"\"", "use this mechanism for every collective (ldst, ll, copy_engine, nccl)">,
    Option<"arenaBytes", "arena-bytes", "int64_t", /*default=*/"256ll << 20", "bytes of the symmetric region of one rank">,
  ];
  let dependentDialects = ["::pkb::aten::AtenDialect", "::pkb::xfer::XferDialect", "::pkb::cuda::CudaDialect"];
}

#endif // PKB_PASSES_SELECT_PASSES_TD
