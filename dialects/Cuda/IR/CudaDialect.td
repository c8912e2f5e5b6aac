// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- CudaDialect.td - level L3: what is called ----------------*- tablegen -*-===//

#ifndef PKB_DIALECTS_CUDA_IR_CUDADIALECT_TD
#define PKB_DIALECTS_CUDA_IR_CUDADIALECT_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/DialectBase.td"
include "mlir/IR/AttrTypeBase.td"

def Cuda_Dialect : Dialect {
  let name = "cuda";
  let cppNamespace = "::pkb::cuda";
  let summary = "calls of the device header and steps of the host plan";
  let description = [{
    Level L3, the exit dialect: one op per function of `runtime/include/pkb_rt/device.h`, and one op per kind of step of the manifest's
    host plan. Printing an op decides nothing. Besides these ops a kernel holds `arith` on `index`, on scalars and on
    vectors, `scf.for` and `scf.if`.

    Every op that orders something carries `site`, a number unique in the program: the name under which a mutant, a report or a
    proof speaks of it.
  }];
  let useDefaultTypePrinterParser = 1;
  let dependentDialects = ["::pkb::comm::CommDialect", "::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect", "::mlir::memref::MemRefDialect"];
}

class Cuda_Op<string mnemonic, list<Trait> traits = []> : Op<Cuda_Dialect, mnemonic, traits>;

#endif // PKB_DIALECTS_CUDA_IR_CUDADIALECT_TD
