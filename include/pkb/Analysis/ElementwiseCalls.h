// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- ElementwiseCalls.h - what an operator does to one element -*- C++ -*-===//
//
// Which calls of ATen map elements to elements, or reduce rows, and how: in the precision and with the roundings of ATen's CUDA kernels. bf16 and f16
// are computed in f32 and rounded once per operator. What is not known here stays an aten.call.
//
//===----------------------------------------------------------------------===//

#ifndef PKB_ANALYSIS_ELEMENTWISECALLS_H
#define PKB_ANALYSIS_ELEMENTWISECALLS_H

#include "dialects/Aten/IR/Aten.h"
#include "dialects/Comm/IR/Comm.h"

namespace pkb {

/// True if each element of the one result is a function of the elements of the operands at the same index (broadcast to the shape of the
/// result) that buildElementwise can write down. An in-place call counts: its result is the new version.
bool isElementwise(aten::CallOp call);

/// True if isElementwise accepts some calls of the operator `callee` ("aten::add_").
bool isElementwiseOperator(llvm::StringRef callee);

/// The function for one element, of the result's element type. `elements` has one value per input of `call`, of the input's element type.
mlir::Value buildElementwise(mlir::OpBuilder &builder, aten::CallOp call, llvm::ArrayRef<mlir::Value> elements);

/// A reduction over the innermost dimensions of a tensor.
struct RowReduction {
  comm::ReduceKind kind;
  int64_t rows = 0, width = 0; // `rows` results of `width` elements each
  mlir::Type accumulation;     // f32 or f64
  bool squares = false;        // elements are squared first, and the root is taken of the result
  double scale = 1;            // the result is multiplied by this
};

/// What `call` reduces; std::nullopt if it is no such reduction.
std::optional<RowReduction> getRowReduction(aten::CallOp call);

/// The tensor that a row reduction reduces.
mlir::Value getReducedTensor(aten::CallOp call);

/// `value` as `type`, with the roundings of a conversion in ATen. Both are numbers that isElementwise accepts.
mlir::Value convertElement(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value, mlir::Type type);

} // namespace pkb

#endif // PKB_ANALYSIS_ELEMENTWISECALLS_H
