//===- AtenAttrs.td - layouts, arguments, provenance -------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PKB_DIALECTS_ATEN_IR_ATENATTRS_TD
#define PKB_DIALECTS_ATEN_IR_ATENATTRS_TD

include "dialects/Aten/IR/AtenDialect.td"
include "dialects/Aten/IR/AtenEnums.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/TensorEncoding.td"

class Aten_Attr<string name, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<Aten_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

def Aten_StridedAttr : Aten_Attr<"Strided", "strided", [
    DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let summary = "where the elements of a tensor lie in its storage";
  let description = [{
    Element (i, j, …) lies at `offset + i * strides[0] + j * strides[1] + …`,
    counted in elements from the start of the storage.

    Example: `tensor<8x4xf32, #aten.strided<[1, 8], 0>>` is column-major.

    **Constraints:**
    * (`strided_c1`) There is one stride for each dimension.
    * (`strided_c2`) Strides and offset are not negative.
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$strides,
                        "int64_t":$offset);
  let assemblyFormat = "`<` custom<Integers>($strides) `,` $offset `>`";
  let genVerifyDecl = 1;
}

//===----------------------------------------------------------------------===//
// Arguments of aten.call
//===----------------------------------------------------------------------===//

def Aten_OperandAttr : Aten_Attr<"Operand", "operand"> {
  let summary = "an argument or result that is an operand of the call";
  let parameters = (ins "int64_t":$index);
  let assemblyFormat = "`<` $index `>`";
}

def Aten_OperandsAttr : Aten_Attr<"Operands", "operands"> {
  let summary = "a list of operands of the call; -1 stands for None";
  let parameters = (ins ArrayRefParameter<"int64_t">:$indices);
  let assemblyFormat = "`<` custom<Integers>($indices) `>`";
}

def Aten_ResultAttr : Aten_Attr<"Result", "result"> {
  let summary = "a result of the operator that is a result of the call";
  let parameters = (ins "int64_t":$index);
  let assemblyFormat = "`<` $index `>`";
}

def Aten_ResultsAttr : Aten_Attr<"Results", "results"> {
  let summary = "a list of results of the call; -1 stands for None";
  let parameters = (ins ArrayRefParameter<"int64_t">:$indices);
  let assemblyFormat = "`<` custom<Integers>($indices) `>`";
}

def Aten_ScalarTypeAttr : EnumAttr<Aten_Dialect, Aten_ScalarType, "dtype"> {
  let assemblyFormat = "`<` $value `>`";
}
def Aten_TorchLayoutAttr : EnumAttr<Aten_Dialect, Aten_TorchLayout, "layout"> {
  let assemblyFormat = "`<` $value `>`";
}
def Aten_MemoryFormatAttr
    : EnumAttr<Aten_Dialect, Aten_MemoryFormat, "memory_format"> {
  let assemblyFormat = "`<` $value `>`";
}

def Aten_DeviceAttr : Aten_Attr<"Device", "device"> {
  let summary = "a torch device; index -1 is the current one";
  let parameters = (ins EnumParameter<Aten_DeviceKind>:$kind,
                        DefaultValuedParameter<"int64_t", "-1">:$index);
  let assemblyFormat = "`<` $kind (`,` $index^)? `>`";
}

def Aten_ComplexAttr : Aten_Attr<"Complex", "complex"> {
  let summary = "a complex number";
  let description = "Example: `#aten.complex<1.0 : f64, -2.0 : f64>`.";
  let parameters = (ins "::mlir::FloatAttr":$real, "::mlir::FloatAttr":$imaginary);
  let assemblyFormat = "`<` $real `,` $imaginary `>`";
}

//===----------------------------------------------------------------------===//
// Attributes of functions and modules
//===----------------------------------------------------------------------===//

def Aten_AliasAttr : Aten_Attr<"Alias", "alias"> {
  let summary = "whose storage a result or an argument is a window of";
  let description = [{
    Example: `#aten.alias<argument, 0>`. The window is the type of the result or
    argument that carries the attribute.
  }];
  let parameters = (ins EnumParameter<Aten_AliasKind>:$kind, "int64_t":$index);
  let assemblyFormat = "`<` $kind `,` $index `>`";
}

def Aten_TreeAttr : Aten_Attr<"Tree", "tree"> {
  let summary = "the structure of a Python value around its tensors";
  let description = [{
    * `tensor`: `index` is the number of the function's argument or result.
    * `tuple`, `list`, `dict`, `module`: `items`, and for the last two as many
      `keys`; for `module` (an nn.Module with its parameters and buffers) its
      class as `value`.
    * `none`; all others: `value` (integer, float, bool, string, integer array
      for `size`, `#aten.dtype`, `#aten.device`, `#comm.group` for `group`).

    Example: `#aten.tree<tuple items [<tensor at 0>, <int value 3 : i64>, <none>]>`.

    **Constraints:**
    * (`tree_c1`) Exactly the parameters of its kind are there.
    * (`tree_c2`) A `dict` or `module` has as many keys as items.
  }];
  let parameters = (ins EnumParameter<Aten_TreeKind>:$kind,
      DefaultValuedParameter<"int64_t", "-1">:$index,
      OptionalArrayRefParameter<"::pkb::aten::TreeAttr">:$items,
      OptionalArrayRefParameter<"::mlir::Attribute">:$keys,
      OptionalParameter<"::mlir::Attribute">:$value);
  let builders = [
    AttrBuilder<(ins "::pkb::aten::TreeKind":$kind), [{
      return $_get($_ctxt, kind, -1, ::llvm::ArrayRef<TreeAttr>(),
                   ::llvm::ArrayRef<::mlir::Attribute>(), ::mlir::Attribute());
    }]>];
  let assemblyFormat = [{
    `<` $kind (`at` $index^)? (`items` `[` $items^ `]`)? (`keys` `[` $keys^ `]`)?
    (`value` $value^)? `>`
  }];
  let genVerifyDecl = 1;
}

def Aten_ProgramAttr : Aten_Attr<"Program", "program"> {
  let summary = "where a program is from, and what surrounds its tensors";
  let description = [{
    * `function`: qualified name of the user's function.
    * `bundle`: sha256 of the bundle file, in hex; `capture`: its capture id.
    * `torch`: version of torch that recorded it.
    * `inputs`, `outputs`: trees whose leaves are arguments and results.

    The strings are names given by the outside world.
  }];
  let parameters = (ins StringRefParameter<"qualified name">:$function,
      StringRefParameter<"sha256 of the bundle">:$bundle,
      StringRefParameter<"capture id">:$capture,
      StringRefParameter<"torch version">:$torch,
      "::pkb::aten::TreeAttr":$inputs, "::pkb::aten::TreeAttr":$outputs);
  let assemblyFormat = "`<` struct(params) `>`";
}

#endif // PKB_DIALECTS_ATEN_IR_ATENATTRS_TD
