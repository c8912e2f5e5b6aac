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

#endif // PKB_PASSES_NORMALIZE_PASSES_TD
