//===- AtenDialect.td - what PyTorch does ------------------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PKB_DIALECTS_ATEN_IR_ATENDIALECT_TD
#define PKB_DIALECTS_ATEN_IR_ATENDIALECT_TD

include "mlir/IR/DialectBase.td"
include "mlir/IR/OpBase.td"

def Aten_Dialect : Dialect {
  let name = "aten";
  let cppNamespace = "::pkb::aten";
  let summary = "any ATen operator, and views of storages";
  let description = [{
    Level L1: everything of a PyTorch program that is not communication.

    Invariants:

    * A tensor type without encoding is contiguous and row-major. Any other
      layout is said by the encoding `#aten.strided<[strides], offset>`, in
      elements of the tensor's own type, counted from the start of its storage.
      The window of a type is the set of bytes of the storage it reaches.
    * A storage that is written has *versions*: each write returns a new value
      with the type of the old one. `aten.as_strided` reads another window of
      the storage of a version, `aten.view_write` makes a version in which a
      window is overwritten. So aliasing is exact without a table of views.
    * Operands of `aten.call` are never changed: the operator's in-place writes
      come out as results, one for each index in `mutates`.

    Discardable attributes:

    * `aten.program` (`#aten.program`, on a module): where the program is from,
      and the trees of its inputs and outputs.
    * `aten.host` (unit, on `aten.call`): its fresh results lie in host memory.
    * `aten.alias_of` (`#aten.alias`, on a result of a function): the result is
      a window of the storage of an argument or of another result.
    * `aten.mutation_of` (integer, on a result): the result is what the storage
      of that argument holds at the end; it must be written there.
    * `aten.alias_of` on an argument: the argument is a window of the storage of
      another argument.
    * `aten.alias_bytes` (integer, on an argument, once it is a memref): by how many
      bytes it begins behind that other argument.
    * `aten.written` (unit, on an argument, once it is a memref): a call changes
      what lies there.
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
  let hasConstantMaterializer = 1;
}

class Aten_Op<string mnemonic, list<Trait> traits = []>
    : Op<Aten_Dialect, mnemonic, traits>;

#endif // PKB_DIALECTS_ATEN_IR_ATENDIALECT_TD
