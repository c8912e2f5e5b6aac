//===- AtenOps.td - operators, views, literals -------------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PKB_DIALECTS_ATEN_IR_ATENOPS_TD
#define PKB_DIALECTS_ATEN_IR_ATENOPS_TD

include "dialects/Aten/IR/AtenAttrs.td"
include "dialects/Aten/IR/AtenDialect.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Aten_Input : AnyTypeOf<[AnyRankedTensor, AnyMemRef, AnySignlessInteger, AnyFloat]>;

def Aten_CallOp : Aten_Op<"call", [
    AttrSizedOperandSegments, DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "call an ATen operator";
  let description = [{
    Calls `callee`.`overload` (names of the operator in torch's registry).

    `args` are its positional arguments in the order of the schema, `kwargs` its
    keyword arguments; defaults may be left out. An argument is

    | torch | attribute |
    |---|---|
    | Tensor, Tensor list | `#aten.operand<i>`, `#aten.operands<[i, -1]>` |
    | int, float, bool | `1 : i64`, `1.0 : f64`, `true`, or `#aten.operand<i>` where that operand is a number that the host has (`comm.host_read`) |
    | complex, str | `#aten.complex<1.0 : f64, 0.0 : f64>`, `"s"` |
    | lists of int, float, bool | `array<i64: …>`, `array<f64: …>`, `array<i1: …>` |
    | None | `unit` |
    | dtype, layout | `#aten.dtype<float32>`, `#aten.layout<strided>` |
    | memory format, device | `#aten.memory_format<preserve>`, `#aten.device<cuda>` |
    | any other list | `[…]` |

    `returns` says what the results of the operator are, in the order of the
    schema: `#aten.result<i>`, `#aten.results<[i, …]>` (a list),
    `#aten.operand<i>` (the operand itself, as in-place operators return) or
    `unit` (a view, a number: nothing that the program takes from here).

    The results of the call are first the fresh tensors named by `returns`, then
    the new version of each operand in `mutates`, in that order.

    On tensors it has no effect on memory, except that tensors of undefined
    contents (`aten::empty` and its kin) are made anew by each call. After bufferization the operands are
    memrefs, the call has no results, its fresh tensors are written to `outs`
    (result i to out i) and the operands in `mutates` in place.

    ```mlir
    %0 = aten.call "aten::mm" (%a, %b) args [#aten.operand<0>, #aten.operand<1>]
        returns [#aten.result<0>]
        : (tensor<8x4xf32>, tensor<4x2xf32>) -> tensor<8x2xf32>
    %1 = aten.call "aten::add_" overload "Tensor" (%x, %y)
        args [#aten.operand<0>, #aten.operand<1>] kwargs {alpha = 2 : i64}
        returns [#aten.operand<0>] mutates [0]
        : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    ```

    **Constraints:**
    * (`call_c1`) Each attribute in `args`, `kwargs` and `returns` is one of the
      above, and indices are in range.
    * (`call_c2`) On tensors there are no `outs`, and the results are the fresh
      tensors (each named once in `returns`), then one for each index in
      `mutates`, of the type of that operand.
    * (`call_c3`) On memrefs there are no results, and as many `outs` as fresh
      tensors in `returns`.
    * (`call_c4`) `mutates` names each operand at most once.
    * (`call_c5`) A number among the operands is an argument of its own: neither
      `#aten.operands`, `returns` nor `mutates` names it.
  }];
  // StrAttr: the operators of torch are an open set that torch names.
  let arguments = (ins StrAttr:$callee, DefaultValuedAttr<StrAttr, "\"\"">:$overload,
      Variadic<Aten_Input>:$inputs, Variadic<AnyMemRef>:$outs,
      ArrayAttr:$args, DefaultValuedAttr<DictionaryAttr, "{}">:$kwargs,
      ArrayAttr:$returns, DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$mutates,
      UnitAttr:$rng);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    $callee (`overload` $overload^)? `(` $inputs `)`
    (`outs` `(` $outs^ `)`)? `args` $args (`kwargs` $kwargs^)?
    `returns` $returns (`mutates` $mutates^)? (`rng` $rng^)? attr-dict `:`
    functional-type(operands, results)
  }];
  let extraClassDeclaration = [{
    /// The number of results (or outs) that are fresh tensors.
    int64_t getNumFresh();
    /// The fresh results, in order; empty on memrefs.
    ::mlir::ResultRange getFreshResults();
    /// The result that is the new version of operand `index`; null if the
    /// operand is not mutated, and on memrefs.
    ::mlir::Value getNewVersion(int64_t index);
    /// True if the operands are memrefs.
    bool isBufferized();
  }];
  let hasVerifier = 1;
}

def Aten_AsStridedOp : Aten_Op<"as_strided", [Pure]> {
  let summary = "read another window of the storage of a version";
  let description = [{
    The value of `base`'s storage seen through the type of the result: sizes
    from its shape, strides and offset from its encoding. Offsets count from the
    start of the storage also when `base` has an offset itself. The element type
    may differ (torch's `view(dtype)`): the bytes are the same.

    ```mlir
    %row = aten.as_strided %0
        : tensor<4x8xf32> -> tensor<8xf32, #aten.strided<[1], 16>>
    ```

    **Constraints:**
    * (`as_strided_c1`) The window of the result lies in the window of `base`.
  }];
  let arguments = (ins AnyRankedTensor:$base);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$base attr-dict `:` type($base) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

def Aten_ViewWriteOp : Aten_Op<"view_write", [Pure,
    AllTypesMatch<["base", "result"]>]> {
  let summary = "a version of a storage in which a window is overwritten";
  let description = [{
    `base`, except that the window of its storage described by `window` (by
    default: by the type of `piece`) holds the elements of `piece`. With
    `window`, the layout of `piece` itself does not matter.

    ```mlir
    %1 = aten.view_write %0, %piece
        : tensor<4x8xf32>, tensor<8xf32, #aten.strided<[1], 16>>
    %2 = aten.view_write %1, %part window <[1], 24>
        : tensor<4x8xf32>, tensor<8xf32>
    ```

    **Constraints:**
    * (`view_write_c1`) The window lies in the window of `base`.
    * (`view_write_c2`) `window` has one stride for each dimension of `piece`.
  }];
  let arguments = (ins AnyRankedTensor:$base, AnyRankedTensor:$piece,
      OptionalAttr<Aten_StridedAttr>:$window);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $base `,` $piece (`window` $window^)? attr-dict `:` type($base) `,` type($piece)
  }];
  let extraClassDeclaration = [{
    /// The type of the overwritten window: the shape and element type of
    /// `piece` with the layout of the window (no encoding if contiguous at 0).
    ::mlir::RankedTensorType getWindowType();
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

def Aten_LiteralOp : Aten_Op<"literal", [Pure, ConstantLike,
    AllTypesMatch<["value", "result"]>]> {
  let summary = "a constant tensor";
  let description = [{
    ```mlir
    %0 = aten.literal dense<[1.0, 2.0]> : tensor<2xf32>
    %1 = aten.literal dense_resource<weights> : tensor<1024x1024xbf16>
    ```

    The result has the type of `value`.

    **Constraints:**
    * (`literal_c1`) The result is a contiguous ranked tensor.
  }];
  let arguments = (ins ElementsAttr:$value);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "attr-dict $value";
  let builders = [OpBuilder<(ins "::mlir::ElementsAttr":$value), [{
    build($_builder, $_state, value.getType(), value);
  }]>];
  let hasVerifier = 1;
  let hasFolder = 1;
}

#endif // PKB_DIALECTS_ATEN_IR_ATENOPS_TD
