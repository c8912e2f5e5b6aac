//===- AtenAttrs.cpp - constraints of attributes --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Aten/IR/Aten.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace pkb::aten;

LogicalResult
StridedAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                    ArrayRef<int64_t> strides, int64_t offset) {
  // strided_c2
  if (offset < 0)
    return emitError() << "offset must not be negative, got: " << offset;
  for (int64_t stride : strides)
    if (stride < 0)
      return emitError() << "strides must not be negative, got: " << stride;
  return success();
}

LogicalResult StridedAttr::verifyEncoding(
    ArrayRef<int64_t> shape, Type elementType,
    llvm::function_ref<InFlightDiagnostic()> emitError) const {
  // strided_c1
  if (shape.size() != getStrides().size())
    return emitError() << "encoding must have one stride for each of "
                       << shape.size()
                       << " dimensions, got: " << getStrides().size();
  return success();
}

LogicalResult
TreeAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                 TreeKind kind, int64_t index, ArrayRef<TreeAttr> items,
                 ArrayRef<Attribute> keys, Attribute value) {
  StringRef name = stringifyTreeKind(kind);
  bool nested = kind == TreeKind::Tuple || kind == TreeKind::List ||
                kind == TreeKind::Dict || kind == TreeKind::Module;
  bool keyed = kind == TreeKind::Dict || kind == TreeKind::Module;
  bool valued = (!nested || kind == TreeKind::Module) && kind != TreeKind::Tensor &&
                kind != TreeKind::None;
  // tree_c1
  if ((kind == TreeKind::Tensor) != (index >= 0))
    return emitError() << "index must be there for a tensor only, got: " << name
                       << " with index " << index;
  if (!nested && !items.empty())
    return emitError() << "items must be in a tuple, list, dict or module only, "
                          "got: "
                       << name;
  if (!keyed && !keys.empty())
    return emitError() << "keys must be in a dict or module only, got: " << name;
  if (valued != bool(value))
    return emitError() << (valued ? "value must be there for kind "
                                  : "value must not be there for kind ")
                       << name;
  // tree_c2
  if (keyed && keys.size() != items.size())
    return emitError() << name << " must have as many keys as items, got: "
                       << keys.size() << " and " << items.size();
  return success();
}
