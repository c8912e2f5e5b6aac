// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- CudaInterfaces.td - ops with a site ----------------------*- tablegen -*-===//

#ifndef PKB_DIALECTS_CUDA_IR_CUDAINTERFACES_TD
#define PKB_DIALECTS_CUDA_IR_CUDAINTERFACES_TD

include "mlir/IR/OpBase.td"

def Cuda_SitedOpInterface : OpInterface<"SitedOpInterface"> {
  let cppNamespace = "::pkb::cuda";
  let description = [{
    An ordering primitive. Its site is a number unique in the program, by which mutants, reports and proofs name it.
  }];
  let methods = [
    InterfaceMethod<"The site.", "int64_t", "getSiteNumber", (ins), [{}],
                    /*defaultImplementation=*/[{ return static_cast<int64_t>($_op.getSite()); }]>
  ];
}

#endif // PKB_DIALECTS_CUDA_IR_CUDAINTERFACES_TD
