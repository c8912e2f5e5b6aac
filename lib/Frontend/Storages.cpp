//===- Storages.cpp - versions of storages while importing ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Frontend/Storages.h"
#include "lib/Frontend/Program.h"
#include "pkb/Support/Error.h"

using namespace mlir;
using namespace pkb;
using namespace pkb::frontend;

aten::ByteRange Storages::getWindow(int64_t index) const {
  return frontend::getWindow(program.tensors[index]);
}

const StorageRegion *Storages::find(int64_t tensor) const {
  aten::ByteRange window = getWindow(tensor);
  const auto &candidates = regions[program.tensors[tensor].storage];
  for (const StorageRegion &region : candidates)
    if (window.begin >= region.begin && window.end <= region.end)
      return &region;
  // An empty tensor may lie anywhere.
  if (window.begin == window.end && !candidates.empty())
    return &candidates.front();
  return nullptr;
}

llvm::Expected<RankedTensorType> Storages::getType(int64_t index,
                                             int64_t begin) const {
  const Tensor &tensor = program.tensors[index];
  int64_t bytes = aten::getElementBytes(tensor.dtype);
  int64_t from = tensor.offset * bytes - begin;
  if (llvm::is_contained(tensor.sizes, 0))
    from = 0;
  if (from % bytes)
    return makeError("tensor ", tensor.id, " of ",
                     stringifyScalarType(tensor.dtype),
                     " is not aligned to its elements, which is not supported");
  return aten::getTensorType(
      tensor.sizes, aten::getElementType(builder.getContext(), tensor.dtype),
      tensor.strides, from / bytes);
}

StorageRegion &Storages::define(int64_t storage, aten::ByteRange window, Value value) {
  StorageRegion region;
  region.begin = window.begin;
  region.end = window.end;
  region.version = region.initial = value;
  regions[storage].push_back(region);
  return regions[storage].back();
}

llvm::Expected<Value> Storages::read(int64_t tensor, Location loc) {
  StorageRegion *region = findMutable(tensor);
  if (!region)
    return makeError("tensor ", program.tensors[tensor].id,
                     " is read before anything makes it");
  llvm::Expected<RankedTensorType> type = getType(tensor, region->begin);
  if (!type)
    return type.takeError();
  const Tensor &described = program.tensors[tensor];
  bool lazy = described.conjugate || described.negative;
  if (*type == region->version.getType() && !lazy)
    return region->version;
  Value &value = derived[{region->version, tensor}];
  if (value)
    return value;
  value = region->version;
  if (*type != value.getType())
    value = aten::AsStridedOp::create(builder, loc, *type, value);
  if (described.conjugate)
    value = apply("aten::conj_physical", value, loc);
  if (described.negative)
    value = apply("aten::neg", value, loc);
  return value;
}

Value Storages::apply(StringRef callee, Value value, Location loc) {
  MLIRContext *context = builder.getContext();
  return aten::CallOp::create(
             builder, loc, TypeRange{value.getType()}, callee, "",
             ValueRange{value}, ValueRange(),
             builder.getArrayAttr({aten::OperandAttr::get(context, 0)}),
             builder.getDictionaryAttr({}),
             builder.getArrayAttr({aten::ResultAttr::get(context, 0)}),
             ArrayRef<int64_t>(), /*rng=*/false)
      .getResult(0);
}

llvm::Error Storages::write(int64_t tensor, Value value, Location loc) {
  StorageRegion *region = findMutable(tensor);
  if (!region)
    return makeError("tensor ", program.tensors[tensor].id,
                     " is written before anything makes it");
  llvm::Expected<RankedTensorType> type = getType(tensor, region->begin);
  if (!type)
    return type.takeError();
  auto from = cast<RankedTensorType>(value.getType());
  if (from.getNumElements() != type->getNumElements() ||
      from.getElementType() != type->getElementType() ||
      (from.getShape() != type->getShape() && from.getEncoding()))
    return makeError("tensor ", program.tensors[tensor].id,
                     " is overwritten by one of another shape or dtype");
  if (type->getNumElements() == 0)
    return llvm::Error::success();
  const Tensor &described = program.tensors[tensor];
  if (described.conjugate)
    value = apply("aten::conj_physical", value, loc);
  if (described.negative)
    value = apply("aten::neg", value, loc);
  if (from.getShape() != type->getShape()) {
    from = aten::getContiguousType(*type);
    value = aten::AsStridedOp::create(builder, loc, from, value);
  }
  if (from == *type && from == region->version.getType()) {
    region->version = value;
    return llvm::Error::success();
  }
  aten::StridedAttr window;
  if (from != *type) {
    aten::Layout layout = aten::getLayout(*type);
    window = aten::StridedAttr::get(builder.getContext(), layout.strides,
                                    layout.offset);
  }
  region->version = aten::ViewWriteOp::create(
      builder, loc, region->version.getType(), region->version, value, window);
  return llvm::Error::success();
}
