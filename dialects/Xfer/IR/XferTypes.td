// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- XferTypes.td - symmetric buffers, flags, tokens ----------*- tablegen -*-===//

#ifndef PKB_DIALECTS_XFER_IR_XFERTYPES_TD
#define PKB_DIALECTS_XFER_IR_XFERTYPES_TD

include "mlir/IR/AttrTypeBase.td"
include "dialects/Xfer/IR/XferEnums.td"

class Xfer_Type<string name, string typeMnemonic> : TypeDef<Xfer_Dialect, name> {
  let mnemonic = typeMnemonic;
}

def Xfer_SymmType : Xfer_Type<"Symm", "symm"> {
  let summary = "symmetric buffer: the same offsets on every rank of the group";
  let description = [{
    Holds, per parity, source rank and block, a ring of `slots` chunks of `chunk` elements. `staged` buffers are plain memory guarded by
    flags, `lines` buffers hold LL lines that carry their own epoch.
  }];
  let parameters = (ins "::mlir::Type":$elementType, "int64_t":$chunk, "int64_t":$slots, "int64_t":$parities,
                        EnumParameter<Xfer_Protocol>:$protocol);
  let assemblyFormat = "`<` $elementType `,` `chunk` `=` $chunk `,` `slots` `=` $slots `,` `parities` `=` $parities `,` $protocol `>`";
  let genVerifyDecl = 1;
}

def Xfer_FlagsType : Xfer_Type<"Flags", "flags"> {
  let summary = "one monotone 64-bit arrival flag per (source rank, block), each on its own line";
}

def Xfer_TokenType : Xfer_Type<"Token", "token"> {
  let summary = "proof that something has happened: a put was issued, a wait was satisfied";
}

def Xfer_ChunkType : Xfer_Type<"Chunk", "chunk"> {
  let summary = "one step of a pipeline: which elements of the message, which slot of the ring";
}

def Xfer_TileType : Xfer_Type<"Tile", "tile"> {
  let summary = "the elements of one chunk, as a value";
  let description = [{
    An element is a number, or a vector of one dimension: a row of a tensor, or a line of 16 bytes.
  }];
  let parameters = (ins "::mlir::Type":$elementType);
  let assemblyFormat = "`<` $elementType `>`";
}

#endif // PKB_DIALECTS_XFER_IR_XFERTYPES_TD
