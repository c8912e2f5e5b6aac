//===- AtenEnums.td - closed sets of words -----------------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PKB_DIALECTS_ATEN_IR_ATENENUMS_TD
#define PKB_DIALECTS_ATEN_IR_ATENENUMS_TD

include "mlir/IR/EnumAttr.td"

// Names as torch spells them, without `torch.`.
def Aten_ScalarType : I32Enum<"ScalarType", "a torch dtype", [
    I32EnumCase<"Float64", 0, "float64">,
    I32EnumCase<"Float32", 1, "float32">,
    I32EnumCase<"Float16", 2, "float16">,
    I32EnumCase<"BFloat16", 3, "bfloat16">,
    I32EnumCase<"Float8E4M3FN", 4, "float8_e4m3fn">,
    I32EnumCase<"Float8E5M2", 5, "float8_e5m2">,
    I32EnumCase<"Int64", 6, "int64">,
    I32EnumCase<"Int32", 7, "int32">,
    I32EnumCase<"Int16", 8, "int16">,
    I32EnumCase<"Int8", 9, "int8">,
    I32EnumCase<"UInt8", 10, "uint8">,
    I32EnumCase<"Bool", 11, "bool">,
    I32EnumCase<"Complex64", 12, "complex64">,
    I32EnumCase<"Complex128", 13, "complex128">]> {
  let cppNamespace = "::pkb::aten";
}

def Aten_TorchLayout : I32Enum<"TorchLayout", "a torch layout", [
    I32EnumCase<"Strided", 0, "strided">]> {
  let cppNamespace = "::pkb::aten";
}

def Aten_MemoryFormat : I32Enum<"MemoryFormat", "a torch memory format", [
    I32EnumCase<"Contiguous", 0, "contiguous">,
    I32EnumCase<"Preserve", 1, "preserve">,
    I32EnumCase<"ChannelsLast", 2, "channels_last">,
    I32EnumCase<"ChannelsLast3d", 3, "channels_last_3d">]> {
  let cppNamespace = "::pkb::aten";
}

def Aten_DeviceKind : I32Enum<"DeviceKind", "a kind of torch device", [
    I32EnumCase<"CPU", 0, "cpu">,
    I32EnumCase<"CUDA", 1, "cuda">,
    I32EnumCase<"Meta", 2, "meta">]> {
  let cppNamespace = "::pkb::aten";
}

def Aten_AliasKind : I32Enum<"AliasKind", "whose storage is shared", [
    I32EnumCase<"Argument", 0, "argument">,
    I32EnumCase<"Result", 1, "result">]> {
  let cppNamespace = "::pkb::aten";
}

def Aten_TreeKind : I32Enum<"TreeKind", "a node of a Python value", [
    I32EnumCase<"Tensor", 0, "tensor">,
    I32EnumCase<"Tuple", 1, "tuple">,
    I32EnumCase<"List", 2, "list">,
    I32EnumCase<"Dict", 3, "dict">,
    I32EnumCase<"None", 4, "none">,
    I32EnumCase<"Int", 5, "int">,
    I32EnumCase<"Float", 6, "float">,
    I32EnumCase<"Bool", 7, "bool">,
    I32EnumCase<"Str", 8, "str">,
    I32EnumCase<"Size", 9, "size">,
    I32EnumCase<"DType", 10, "dtype">,
    I32EnumCase<"Device", 11, "device">,
    I32EnumCase<"Group", 12, "group">,
    I32EnumCase<"Module", 13, "module">]> {
  let cppNamespace = "::pkb::aten";
}

#endif // PKB_DIALECTS_ATEN_IR_ATENENUMS_TD
