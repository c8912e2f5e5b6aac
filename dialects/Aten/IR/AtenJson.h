//===- AtenJson.h - the bundle's encoding of arguments ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Arguments of operators and Python trees between their attributes and the JSON
// that bundles and manifests hold (docs/Rationale/Bundle.md). Both ways, so that
// one file knows every encoding.
//
//===----------------------------------------------------------------------===//

#ifndef DIALECTS_ATEN_IR_ATENJSON_H
#define DIALECTS_ATEN_IR_ATENJSON_H

#include "dialects/Aten/IR/Aten.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

namespace pkb::aten {

/// The index (of an operand, argument or result) for a tensor's id.
using IndexOfTensor = llvm::function_ref<llvm::Expected<int64_t>(int64_t id)>;
/// What stands for the tensor with that index (a slot number, say).
using TensorOfIndex = llvm::function_ref<llvm::json::Value(int64_t index)>;

/// {"t": id}, {"i": 1}, … as an attribute of aten.call. The error names an
/// encoding that is not known, or a symbolic value.
llvm::Expected<mlir::Attribute>
argumentFromJson(mlir::MLIRContext *context, const llvm::json::Value &json,
                 IndexOfTensor operandOf);

/// The inverse of argumentFromJson; also takes #aten.result and #aten.results.
llvm::json::Value argumentToJson(mlir::Attribute argument,
                                 TensorOfIndex operand, TensorOfIndex result);

/// The call as the members op, overload, args, kwargs, results and mutates of
/// an event. `result` gets the index of a fresh result (or of an out).
llvm::json::Object callToJson(CallOp op, TensorOfIndex operand,
                              TensorOfIndex result);

/// A tree as an attribute. `groupOf` makes the attribute for a group's id.
llvm::Expected<TreeAttr>
treeFromJson(mlir::MLIRContext *context, const llvm::json::Value &json,
             IndexOfTensor indexOf,
             llvm::function_ref<llvm::Expected<mlir::Attribute>(int64_t id)>
                 groupOf);

/// The inverse of treeFromJson. A leaf is {"kind": "tensor", "id": index};
/// `group` says what a group's attribute becomes.
llvm::json::Value
treeToJson(TreeAttr tree,
           llvm::function_ref<llvm::json::Value(mlir::Attribute)> group);

/// "bfloat16" for a tensor's element type; empty for one torch does not have.
llvm::StringRef getDTypeName(mlir::Type elementType);

/// An integer, or an error that names the symbolic expression in its place.
llvm::Expected<int64_t> integerFromJson(const llvm::json::Value &json);

} // namespace pkb::aten

#endif // DIALECTS_ATEN_IR_ATENJSON_H
