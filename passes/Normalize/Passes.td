//===- Passes.td - one spelling for each program -----------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PKB_PASSES_NORMALIZE_PASSES_TD
#define PKB_PASSES_NORMALIZE_PASSES_TD

include "mlir/Pass/PassBase.td"

def ElideClonesPass : Pass<"pkb-elide-clones"> {
  let summary = "remove copies and fresh tensors that values make needless";
  let description = [{
    PyTorch programs copy to keep a value that they later overwrite, and make
    tensors only to have them overwritten. On values neither is needed:

    * A copy (`clone`, `contiguous`, `detach`, `alias`, `lift_fresh`,
      `_to_copy`, …) whose result has the type of its operand is the operand.
    * A `copy_` between tensors of one shape and element type is a
      `aten.view_write` of its source, or the source itself.
    * A collective's reshaped result is asked of the collective directly.
    * A tensor of undefined contents (`empty`, `empty_like`, `new_empty`,
      `empty_strided`) of which nothing is read before it is overwritten, goes
      away with the call that made it.

    *Precondition*: level L1.

    *Postcondition*: level L1; no copy whose result has the type of its operand.

    *Declines*: copies that change the layout or the element type; calls that
    draw random numbers.

    Example: see `test/Passes/Normalize/elide-clones.mlir`.
  }];
  let dependentDialects = ["::pkb::aten::AtenDialect", "::pkb::comm::CommDialect"];
}

def ApplyPatternsPass : Pass<"pkb-apply-patterns"> {
  let summary = "apply the rewrite patterns of a file";
  let description = [{
    Reads a file of `pdl.pattern`s, as `mlir-pdll -x=mlir` makes them of a PDLL file, and applies them until nothing changes. Patterns
    may use the constraints `Lacks(op, name)`, the operation has no attribute of that name, and `UsedOnce(op)`, its only result has one use.

    *Precondition*: none; it works at every level. What the patterns make must be valid: the verifier runs after the pass, the gates of a pipeline
    later.

    *Postcondition*: no pattern of the file matches.

    *Fails*: where the file cannot be read, is no valid module, or has no patterns; where patterns undo each other.

    Example: see `test/Passes/Normalize/apply-patterns.mlir` and `docs/Examples/patterns`.
  }];
  let options = [
    Option<"file", "file", "std::string", /*default=*/"\"\"", "file of pdl.pattern operations">
  ];
  let dependentDialects = ["::mlir::pdl::PDLDialect", "::mlir::pdl_interp::PDLInterpDialect", "::pkb::aten::AtenDialect", "::pkb::comm::CommDialect",
                           "::pkb::xfer::XferDialect", "::pkb::cuda::CudaDialect"];
}

#endif // PKB_PASSES_NORMALIZE_PASSES_TD
