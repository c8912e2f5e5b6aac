// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- XferAttrs.td - schedules ---------------------------------*- tablegen -*-===//

#ifndef PKB_DIALECTS_XFER_IR_XFERATTRS_TD
#define PKB_DIALECTS_XFER_IR_XFERATTRS_TD

include "mlir/IR/AttrTypeBase.td"
include "dialects/Xfer/IR/XferEnums.td"

def Xfer_ScheduleAttr : AttrDef<Xfer_Dialect, "Schedule"> {
  let mnemonic = "schedule";
  let summary = "how one collective is carried out";
  let description = [{
    Everything a rule or a proposal may choose: the mechanism, the launch geometry and the chunking of the message. Changing it never changes
    what is computed; whether it is legal is decided by the legality table and by `verify-xfer`.

    * `blocks`, `threads`: grid and block of the kernel, the same on every rank;
    * `chunk`: bytes a block moves to one peer before it signals, a multiple of 16;
    * `depth`: how many chunks the push runs ahead of the consumption;
    * `slots`: chunks that a block's ring in each peer's staging buffer holds; 2 * depth + 2 or as many as there are chunks;
    * `unroll`: vectors a thread loads before it stores;
    * `per_sm`: blocks that must fit on one multiprocessor for the whole grid to be resident.
  }];
  let parameters = (ins EnumParameter<Xfer_Mechanism>:$mechanism, "int64_t":$blocks, "int64_t":$threads, "int64_t":$chunk,
                        "int64_t":$depth, "int64_t":$slots, "int64_t":$unroll,
                        DefaultValuedParameter<"int64_t", "1">:$per_sm);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Xfer_CallAttr : AttrDef<Xfer_Dialect, "Call"> {
  let mnemonic = "call";
  let summary = "one of the calls that a host operation makes together";
  let description = [{
    Names operands of its operation by number, and places in them by elements from their start. Ranks are positions in the group.

    * `function`: a collective of the whole group, or a message from one rank to one rank (perhaps itself);
    * `count`: elements of a message, or those that one rank contributes (`reduce_scatter`: gets);
    * `from`, `from_offset`: what is read, `to`, `to_offset`: where the result goes;
    * `root`: of `broadcast` and `reduce`;
    * `source`, `dest`: of a `message`;
    * `row`: the only row of the group that makes this call, -1 if all do.
  }];
  let parameters = (ins EnumParameter<Xfer_LibraryFunction>:$function, "int64_t":$count, DefaultValuedParameter<"int64_t", "0">:$from,
                        DefaultValuedParameter<"int64_t", "0">:$from_offset, DefaultValuedParameter<"int64_t", "0">:$to,
                        DefaultValuedParameter<"int64_t", "0">:$to_offset, DefaultValuedParameter<"int64_t", "0">:$root,
                        DefaultValuedParameter<"int64_t", "0">:$source, DefaultValuedParameter<"int64_t", "0">:$dest,
                        DefaultValuedParameter<"int64_t", "-1">:$row);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Xfer_CallArrayAttr : TypedArrayAttrBase<Xfer_CallAttr, "calls that are made together">;

#endif // PKB_DIALECTS_XFER_IR_XFERATTRS_TD
