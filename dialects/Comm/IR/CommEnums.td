//===- CommEnums.td - closed sets of words -----------------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PKB_DIALECTS_COMM_IR_COMMENUMS_TD
#define PKB_DIALECTS_COMM_IR_COMMENUMS_TD

include "mlir/IR/EnumAttr.td"

def Comm_ReduceKind : I32Enum<"ReduceKind", "how contributions are combined", [
    I32EnumCase<"Sum", 0, "sum">,
    I32EnumCase<"Avg", 1, "avg">,
    I32EnumCase<"Min", 2, "min">,
    I32EnumCase<"Max", 3, "max">,
    I32EnumCase<"Prod", 4, "prod">,
    I32EnumCase<"BAnd", 5, "band">,
    I32EnumCase<"BOr", 6, "bor">,
    I32EnumCase<"BXor", 7, "bxor">,
    I32EnumCase<"PremulSum", 8, "premul_sum">]> {
  let cppNamespace = "::pkb::comm";
}

def Comm_LinkKind : I32Enum<"LinkKind", "what connects the ranks of a mesh", [
    I32EnumCase<"Unknown", 0, "unknown">,
    I32EnumCase<"NVLink", 1, "nvlink">,
    I32EnumCase<"PCIe", 2, "pcie">]> {
  let cppNamespace = "::pkb::comm";
}

#endif // PKB_DIALECTS_COMM_IR_COMMENUMS_TD
