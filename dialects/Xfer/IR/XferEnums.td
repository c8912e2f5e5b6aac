// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- XferEnums.td - closed sets of words of level L2 ----------*- tablegen -*-===//

#ifndef PKB_DIALECTS_XFER_IR_XFERENUMS_TD
#define PKB_DIALECTS_XFER_IR_XFERENUMS_TD

include "mlir/IR/EnumAttr.td"
include "dialects/Xfer/IR/XferDialect.td"

class Xfer_Enum<string name, string summary, list<I32EnumAttrCase> cases> : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::pkb::xfer";
  let genSpecializedAttr = 0;
}

def Xfer_Mechanism : Xfer_Enum<"Mechanism", "how the bytes of one transfer cross the link", [
  I32EnumAttrCase<"CopyEngine", 0, "copy_engine">,
  I32EnumAttrCase<"Tma", 1, "tma">,
  I32EnumAttrCase<"Nvls", 2, "nvls">,
  I32EnumAttrCase<"LdSt", 3, "ldst">,
  I32EnumAttrCase<"LL", 4, "ll">,
  I32EnumAttrCase<"Nccl", 5, "nccl">]>;

def Xfer_MechanismAttr : EnumAttr<Xfer_Dialect, Xfer_Mechanism, "mechanism"> {
  let assemblyFormat = "$value";
}

def Xfer_Protocol : Xfer_Enum<"Protocol", "how a reader learns that data in a symmetric buffer has arrived", [
  I32EnumAttrCase<"Staged", 0, "staged">,
  I32EnumAttrCase<"Lines", 1, "lines">]>;

def Xfer_Collective : Xfer_Enum<"Collective", "what a kernel promises to compute", [
  I32EnumAttrCase<"None", 0, "none">,
  I32EnumAttrCase<"AllReduce", 1, "all_reduce">,
  I32EnumAttrCase<"AllGather", 2, "all_gather">,
  I32EnumAttrCase<"AllToAll", 3, "all_to_all">,
  I32EnumAttrCase<"ReduceScatter", 4, "reduce_scatter">,
  I32EnumAttrCase<"Broadcast", 5, "broadcast">,
  I32EnumAttrCase<"Reduce", 6, "reduce">,
  I32EnumAttrCase<"Gather", 7, "gather">,
  I32EnumAttrCase<"Scatter", 8, "scatter">,
  I32EnumAttrCase<"Permute", 9, "permute">,
  I32EnumAttrCase<"Barrier", 10, "barrier">]>;

def Xfer_SyncScope : Xfer_Enum<"SyncScope", "whose stores an xfer.sync makes loadable", [
  I32EnumAttrCase<"Block", 0, "block">,
  I32EnumAttrCase<"Grid", 1, "grid">]>;

def Xfer_SyncScopeAttr : EnumAttr<Xfer_Dialect, Xfer_SyncScope, "sync_scope"> {
  let assemblyFormat = "$value";
}

def Xfer_LibraryFunction : Xfer_Enum<"LibraryFunction", "what one call outside of our kernels does", [
  I32EnumAttrCase<"AllReduce", 0, "all_reduce">,
  I32EnumAttrCase<"ReduceScatter", 1, "reduce_scatter">,
  I32EnumAttrCase<"AllGather", 2, "all_gather">,
  I32EnumAttrCase<"Broadcast", 3, "broadcast">,
  I32EnumAttrCase<"Reduce", 4, "reduce">,
  I32EnumAttrCase<"Message", 5, "message">]>;

def Xfer_CollectiveAttr : EnumAttr<Xfer_Dialect, Xfer_Collective, "collective"> {
  let assemblyFormat = "$value";
}

#endif // PKB_DIALECTS_XFER_IR_XFERENUMS_TD
