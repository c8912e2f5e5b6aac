//===- CommAttrs.td - groups and meshes --------------------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PKB_DIALECTS_COMM_IR_COMMATTRS_TD
#define PKB_DIALECTS_COMM_IR_COMMATTRS_TD

include "dialects/Comm/IR/CommDialect.td"
include "dialects/Comm/IR/CommEnums.td"
include "mlir/IR/AttrTypeBase.td"

class Comm_Attr<string name, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<Comm_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

def Comm_ReduceKindAttr
    : EnumAttr<Comm_Dialect, Comm_ReduceKind, "reduce_kind">;

def Comm_GroupAttr : Comm_Attr<"Group", "group"> {
  let summary = "a partition of ranks into rows that communicate";
  let description = [{
    Disjoint rows of equally many ranks. The ranks of one row communicate with
    each other and with nobody else; the position of a rank in its row is its
    rank within the group. A rank may be in no row.

    Example: `#comm.group<[[0, 1], [2, 3]]>`.

    **Constraints:**
    * (`group_c1`) There is at least one row and each has at least one rank.
    * (`group_c2`) All rows have the same number of ranks.
    * (`group_c3`) Ranks are not negative and no rank occurs twice.
  }];
  // `ranks` holds the rows one after the other, each `size` long.
  let parameters = (ins ArrayRefParameter<"int64_t", "rows, flattened">:$ranks,
                        "int64_t":$size);
  let builders = [AttrBuilderWithInferredContext<
      (ins "::mlir::MLIRContext *":$context,
           "::llvm::ArrayRef<::llvm::SmallVector<int64_t>>":$rows)>];
  let extraClassDeclaration = [{
    /// The number of rows.
    int64_t getNumRows() const;
    /// The ranks of row `index`, in group order.
    ::llvm::ArrayRef<int64_t> getRow(int64_t index) const;
    /// The row that holds the world rank `rank`; std::nullopt if none does.
    std::optional<int64_t> getRowOf(int64_t rank) const;
    /// The position of the world rank `rank` in its row, if it has one.
    std::optional<int64_t> getPositionOf(int64_t rank) const;
    /// The largest world rank named.
    int64_t getMaxRank() const;
  }];
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Comm_MeshAttr : Comm_Attr<"Mesh", "mesh"> {
  let summary = "the ranks of a program and what connects them";
  let description = [{
    The module attribute `comm.mesh`. Import knows only `size`; selection fills
    in the rest from the target's description.

    * `size`: number of ranks.
    * `link`: what connects any two ranks (`unknown` before a target is chosen).
    * `multicast`: the links can multicast and reduce in the switch.
    * `copy_engines`: copy engines of one rank's device that a program may use.

    Example: `#comm.mesh<size = 4, link = nvlink, multicast = true, copy_engines = 3>`.

    **Constraints:**
    * (`mesh_c1`) `size` is at least 1 and `copy_engines` is not negative.
  }];
  let parameters = (ins "int64_t":$size,
      DefaultValuedParameter<"::pkb::comm::LinkKind",
                             "::pkb::comm::LinkKind::Unknown">:$link,
      DefaultValuedParameter<"bool", "false">:$multicast,
      DefaultValuedParameter<"int64_t", "0">:$copy_engines);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

#endif // PKB_DIALECTS_COMM_IR_COMMATTRS_TD
