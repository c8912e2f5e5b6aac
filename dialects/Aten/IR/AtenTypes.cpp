//===- AtenTypes.cpp - dtypes and layouts ---------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Aten/IR/Aten.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace pkb;
using namespace pkb::aten;

Type aten::getElementType(MLIRContext *context, ScalarType dtype) {
  Builder b(context);
  switch (dtype) {
  case ScalarType::Float64:
    return b.getF64Type();
  case ScalarType::Float32:
    return b.getF32Type();
  case ScalarType::Float16:
    return b.getF16Type();
  case ScalarType::BFloat16:
    return b.getBF16Type();
  case ScalarType::Float8E4M3FN:
    return Float8E4M3FNType::get(context);
  case ScalarType::Float8E5M2:
    return Float8E5M2Type::get(context);
  case ScalarType::Int64:
    return b.getI64Type();
  case ScalarType::Int32:
    return b.getI32Type();
  case ScalarType::Int16:
    return b.getI16Type();
  case ScalarType::Int8:
    return b.getI8Type();
  case ScalarType::UInt8:
    return b.getIntegerType(8, /*isSigned=*/false);
  case ScalarType::Bool:
    return b.getI1Type();
  case ScalarType::Complex64:
    return ComplexType::get(b.getF32Type());
  case ScalarType::Complex128:
    return ComplexType::get(b.getF64Type());
  }
  llvm_unreachable("covered switch");
}

std::optional<ScalarType> aten::getScalarType(Type type) {
  for (uint32_t i = 0; i <= getMaxEnumValForScalarType(); ++i)
    if (auto dtype = symbolizeScalarType(i))
      if (aten::getElementType(type.getContext(), *dtype) == type)
        return dtype;
  return std::nullopt;
}

int64_t aten::getElementBytes(Type type) {
  if (auto complex = dyn_cast<ComplexType>(type))
    return 2 * getElementBytes(complex.getElementType());
  if (!type.isIntOrFloat())
    return 0;
  return (type.getIntOrFloatBitWidth() + 7) / 8;
}

int64_t aten::getElementBytes(ScalarType dtype) {
  switch (dtype) {
  case ScalarType::Complex128:
    return 16;
  case ScalarType::Float64:
  case ScalarType::Int64:
  case ScalarType::Complex64:
    return 8;
  case ScalarType::Float32:
  case ScalarType::Int32:
    return 4;
  case ScalarType::Float16:
  case ScalarType::BFloat16:
  case ScalarType::Int16:
    return 2;
  case ScalarType::Float8E4M3FN:
  case ScalarType::Float8E5M2:
  case ScalarType::Int8:
  case ScalarType::UInt8:
  case ScalarType::Bool:
    return 1;
  }
  llvm_unreachable("covered switch");
}

SmallVector<int64_t> aten::getContiguousStrides(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size(), 1);
  for (int64_t i = int64_t(shape.size()) - 2; i >= 0; --i)
    strides[i] = strides[i + 1] * std::max<int64_t>(shape[i + 1], 1);
  return strides;
}

Layout aten::getLayout(RankedTensorType type) {
  if (auto strided = dyn_cast_or_null<StridedAttr>(type.getEncoding()))
    return {SmallVector<int64_t>(strided.getStrides()), strided.getOffset()};
  return {getContiguousStrides(type.getShape()), 0};
}

RankedTensorType aten::getTensorType(ArrayRef<int64_t> shape, Type elementType,
                                     ArrayRef<int64_t> strides,
                                     int64_t offset) {
  bool contiguous = offset == 0;
  bool empty = llvm::is_contained(shape, 0);
  SmallVector<int64_t> natural = getContiguousStrides(shape);
  for (size_t i = 0; i < shape.size() && !empty; ++i)
    contiguous &= shape[i] == 1 || strides[i] == natural[i];
  if (contiguous || empty)
    return RankedTensorType::get(shape, elementType);
  // One spelling for each layout: the strides of dimensions of size 1 do not
  // matter, so they are the natural ones.
  SmallVector<int64_t> spelled(strides);
  for (int64_t i = int64_t(shape.size()) - 1; i >= 0; --i)
    if (shape[i] == 1)
      spelled[i] = i + 1 < int64_t(shape.size())
                       ? spelled[i + 1] * shape[i + 1]
                       : 1;
  return RankedTensorType::get(
      shape, elementType,
      StridedAttr::get(elementType.getContext(), spelled, offset));
}

RankedTensorType aten::getContiguousType(RankedTensorType type) {
  return RankedTensorType::get(type.getShape(), type.getElementType());
}

ByteRange aten::getWindow(RankedTensorType type) {
  int64_t bytes = getElementBytes(type.getElementType());
  Layout layout = getLayout(type);
  int64_t begin = layout.offset * bytes;
  if (type.getNumElements() == 0)
    return {begin, begin};
  int64_t last = layout.offset;
  for (auto [size, stride] : llvm::zip_equal(type.getShape(), layout.strides))
    last += (size - 1) * stride;
  return {begin, (last + 1) * bytes};
}

bool aten::isRowMajor(RankedTensorType type) {
  Layout layout = getLayout(type);
  return !getTensorType(type.getShape(), type.getElementType(), layout.strides,
                        /*offset=*/0)
              .getEncoding();
}

bool aten::isOnHost(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (auto call = dyn_cast<CallOp>(op)) {
      int64_t index = cast<OpResult>(value).getResultNumber();
      if (index < call.getNumFresh())
        return call->hasAttr(kHostAttrName);
      value = call.getInputs()[call.getMutates()[index - call.getNumFresh()]];
    } else if (auto view = dyn_cast<AsStridedOp>(op)) {
      value = view.getBase();
    } else if (auto write = dyn_cast<ViewWriteOp>(op)) {
      value = write.getBase();
    } else {
      return false;
    }
  }
  return false;
}

bool aten::isDense(RankedTensorType type) {
  Layout layout = getLayout(type);
  SmallVector<std::pair<int64_t, int64_t>> dims; // stride, size
  for (auto [size, stride] : llvm::zip_equal(type.getShape(), layout.strides)) {
    if (size == 0)
      return true;
    if (size != 1)
      dims.emplace_back(stride, size);
  }
  llvm::sort(dims);
  int64_t expected = 1;
  for (auto [stride, size] : dims) {
    if (stride != expected)
      return false;
    expected *= size;
  }
  return true;
}
