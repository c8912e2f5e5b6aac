//===- Aten.h - the aten dialect: umbrella header ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// ATen operators, views of storages and literals. The only header of this
// dialect that other folders include (with AtenJson.h for the bundle's encoding
// of arguments).
//
//===----------------------------------------------------------------------===//

#ifndef DIALECTS_ATEN_IR_ATEN_H
#define DIALECTS_ATEN_IR_ATEN_H

#include "dialects/Aten/IR/AtenConstants.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/TensorEncoding.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include <optional>

#include "dialects/Aten/IR/AtenDialect.h.inc"
#include "dialects/Aten/IR/AtenEnums.h.inc"

namespace pkb::aten {
class TreeAttr;
} // namespace pkb::aten

#define GET_ATTRDEF_CLASSES
#include "dialects/Aten/IR/AtenAttrs.h.inc"

#define GET_OP_CLASSES
#include "dialects/Aten/IR/AtenOps.h.inc"

namespace pkb::aten {

/// The element type that stands for a torch dtype: signless integers, ui8 for
/// uint8, i1 for bool.
mlir::Type getElementType(mlir::MLIRContext *context, ScalarType dtype);

/// The torch dtype that `type` stands for; std::nullopt if torch has none.
std::optional<ScalarType> getScalarType(mlir::Type type);

/// Bytes of one element in memory (1 for i1); 0 for a type torch does not have.
int64_t getElementBytes(mlir::Type type);
int64_t getElementBytes(ScalarType dtype);

/// Strides of a contiguous row-major tensor of `shape`, in elements. As torch
/// does, a dimension of size 0 counts as 1.
llvm::SmallVector<int64_t> getContiguousStrides(llvm::ArrayRef<int64_t> shape);

/// Strides and offset of a tensor, in elements: from its encoding, or
/// contiguous at 0 without one. The shape must be static.
struct Layout {
  llvm::SmallVector<int64_t> strides;
  int64_t offset = 0;
};
Layout getLayout(mlir::RankedTensorType type);

/// The tensor type with this layout; no encoding when contiguous at 0 (strides
/// of dimensions of size 1, and of empty tensors, do not matter).
mlir::RankedTensorType getTensorType(llvm::ArrayRef<int64_t> shape,
                                     mlir::Type elementType,
                                     llvm::ArrayRef<int64_t> strides,
                                     int64_t offset);

/// `type` without its encoding.
mlir::RankedTensorType getContiguousType(mlir::RankedTensorType type);

/// The bytes [begin, end) of the storage that a tensor of this type reaches
/// (all bytes between its first and last); begin == end when it is empty.
struct ByteRange {
  int64_t begin = 0;
  int64_t end = 0;
};
ByteRange getWindow(mlir::RankedTensorType type);

/// True if no byte of the storage can be in both windows (by their first and last bytes).
inline bool areApart(mlir::RankedTensorType a, mlir::RankedTensorType b) {
  ByteRange x = getWindow(a), y = getWindow(b);
  return x.end <= y.begin || y.end <= x.begin;
}

/// True if the elements lie in memory without gaps and without overlap.
bool isDense(mlir::RankedTensorType type);

/// True if they also lie in row-major order; the offset does not matter.
bool isRowMajor(mlir::RankedTensorType type);

/// True if the tensor lies in host memory: a call marked with kHostAttrName made
/// the storage that it is a window of.
bool isOnHost(mlir::Value value);

/// True for an operator whose result has undefined contents (aten::empty and its
/// kin).
bool makesUndefined(llvm::StringRef callee);

} // namespace pkb::aten

#endif // DIALECTS_ATEN_IR_ATEN_H
