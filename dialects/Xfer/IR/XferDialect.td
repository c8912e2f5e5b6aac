// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- XferDialect.td - level L2: how the bytes move ------------*- tablegen -*-===//

#ifndef PKB_DIALECTS_XFER_IR_XFERDIALECT_TD
#define PKB_DIALECTS_XFER_IR_XFERDIALECT_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/DialectBase.td"

def Xfer_Dialect : Dialect {
  let name = "xfer";
  let cppNamespace = "::pkb::xfer";
  let summary = "how the bytes of a collective move between ranks";
  let description = [{
    Level L2. A collective has become a kernel that pushes chunks into symmetric buffers of its peers, signals, waits and
    consumes. Two scopes: *host scope* (`xfer.launch` beside `aten.call` and memrefs in a `func.func`) and *kernel scope* (the
    body of `xfer.kernel`).

    Invariants:
    * every read of a symmetric buffer names the token of the wait that makes it legal;
    * no fence, scope, barrier or epoch is written here: the lowering to `cuda` derives them from the token graph;
    * one `xfer.pipeline` moves one message in chunks; block b of a rank talks to block b of its peers only.
  }];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let dependentDialects = ["::pkb::comm::CommDialect", "::mlir::memref::MemRefDialect", "::mlir::arith::ArithDialect"];
}

class Xfer_Op<string mnemonic, list<Trait> traits = []> : Op<Xfer_Dialect, mnemonic, traits>;

#endif // PKB_DIALECTS_XFER_IR_XFERDIALECT_TD
