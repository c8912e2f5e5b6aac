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

#endif // PKB_DIALECTS_XFER_IR_XFERATTRS_TD
