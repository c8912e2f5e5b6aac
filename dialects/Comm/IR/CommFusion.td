//===- CommFusion.td - what shares a kernel with a collective --*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PKB_DIALECTS_COMM_IR_COMMFUSION_TD
#define PKB_DIALECTS_COMM_IR_COMMFUSION_TD

include "dialects/Comm/IR/CommDialect.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Comm_FusedOp : Comm_Op<"fused", [IsolatedFromAbove, SingleBlock, RecursiveMemoryEffects]> {
  let summary = "collectives and the operators around them that share one kernel";
  let description = [{
    The body holds the collectives and the operators unchanged, so it means what it would mean in its place: its arguments are the inputs, its
    results what `comm.yield` gives. That all of it becomes one kernel is a promise that the lowering keeps or refuses.

    Collectives that follow each other in one kernel are its *phases*: a body of regions that hold one collective each. A phase without a collective
    works on the rows of what earlier phases have left.

    ```mlir
    %r = comm.fused(%x) : (tensor<8x64xf32>) -> tensor<8x1xf32> {
    ^bb0(%a: tensor<8x64xf32>):
      %0 = aten.call "aten::sum" overload "dim_IntList"(%a) args [#aten.operand<0>, array<i64: -1>, true]
          returns [#aten.result<0>] : (tensor<8x64xf32>) -> tensor<8x1xf32>
      %1 = comm.all_reduce sum %0 in <[[0, 1]]> accumulate f32 deterministic : tensor<8x1xf32>
      comm.yield %1 : tensor<8x1xf32>
    }
    ```

    **Constraints:**
    * (`fused_c1`) The body has an argument for each input, of its type, and ends with a `comm.yield` of values of the types of the results.
    * (`fused_c2`) The body holds a collective, but for that of a phase behind another; all that it holds are of one group.
    * (`fused_c3`) Where the body holds another `comm.fused`, it holds nothing else; each of those holds at most one collective, the first of them one.
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$inputs);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    `(` $inputs `)` `:` functional-type($inputs, $results) attr-dict-with-keyword custom<FusedBody>($body)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::Block &getEntry() { return getBody().front(); }
    /// The collectives of the body, those of its phases included, in order.
    ::llvm::SmallVector<::pkb::comm::CollectiveOpInterface> getCollectives();
    /// True for a phase that holds no collective.
    bool isLocal() { return getCollectives().empty(); }
  }];
}

def Comm_YieldOp : Comm_Op<"yield", [Pure, Terminator, HasParent<"FusedOp">]> {
  let summary = "the results of a `comm.fused`";
  let description = "Its traits and `fused_c1` suffice as a verifier.";
  let arguments = (ins Variadic<AnyRankedTensor>:$values);
  let assemblyFormat = "$values attr-dict `:` type($values)";
}

#endif // PKB_DIALECTS_COMM_IR_COMMFUSION_TD
