// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Passes.td - what shares a kernel -------------------------*- tablegen -*-===//

#ifndef PKB_PASSES_FUSION_PASSES_TD
#define PKB_PASSES_FUSION_PASSES_TD

include "mlir/Pass/PassBase.td"

def FuseCollectivesPass : Pass<"pkb-fuse-collectives", "::mlir::ModuleOp"> {
  let summary = "put collectives and the operators around them into one kernel";
  let description = [{
    Gathers, for each collective, the operators that its message is computed from and those that are computed from its result, as far as they work
    element by element or reduce rows, into one `comm.fused`. The body holds them unchanged. The remark `fused` says what a collective is fused with,
    `not-fused` why something is not, in words for the author of the program.

    *Precondition*: level L1, `pkb-verify-comm`; best after `pkb-elide-clones`.

    *Postcondition*: level L1; each `comm.fused` has a form as one kernel.

    *Declines*: operators that others need as well, that are not computed element by element, or whose other operands are not there when
    the collective is called.

    Example: see `test/Passes/Fusion/fuse-collectives.mlir`.
  }];
  let dependentDialects = ["::pkb::comm::CommDialect", "::pkb::aten::AtenDialect"];
}

def ChainCollectivesPass : Pass<"pkb-chain-collectives", "::mlir::ModuleOp"> {
  let summary = "put collectives that follow each other into one kernel";
  let description = [{
    A collective, alone or in a `comm.fused`, that reads what another one of the same group gives becomes a phase of one `comm.fused` with it. Chains grow
    from the front: what is computed between the collectives must have gone into their regions before. The remark `chained` says what goes on where,
    `not-chained` why something does not.

    *Precondition*: level L1, `pkb-fuse-collectives`.

    *Postcondition*: level L1; each `comm.fused` has a form as one kernel. Whether one kernel is faster than several is for `pkb-select-mechanism` to say, which
    takes apart what is not.

    *Declines*: collectives with something between them that stays outside and depends on the first, or that writes in place; an exchange of a number for each row beside one of elements.

    Example: see `test/Passes/Fusion/chain-collectives.mlir`.
  }];
  let dependentDialects = ["::pkb::comm::CommDialect", "::pkb::aten::AtenDialect"];
}

#endif // PKB_PASSES_FUSION_PASSES_TD
