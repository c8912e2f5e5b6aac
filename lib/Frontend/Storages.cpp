//===- Storages.cpp - versions of storages while importing ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Frontend/Storages.h"
#include "pkb/Support/Error.h"

using namespace mlir;
using namespace pkb;
using namespace pkb::frontend;

aten::ByteRange Storages::getWindow(int64_t index) const {
  const Tensor &tensor = program.tensors[index];
  int64_t bytes = aten::getElementBytes(tensor.dtype);
  int64_t begin = tensor.offset * bytes, last = tensor.offset;
  for (auto [size, stride] : llvm::zip_equal(tensor.sizes, tensor.strides)) {
    if (size == 0)
      return {begin, begin};
    last += (size - 1) * stride;
  }
  return {begin, (last + 1) * bytes};
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
  if (*type == region->version.getType())
    return region->version;
  Value &value = derived[{region->version, tensor}];
  if (!value)
    value = aten::AsStridedOp::create(builder, loc, *type, region->version);
  return value;
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
  if (from.getShape() != type->getShape() ||
      from.getElementType() != type->getElementType())
    return makeError("tensor ", program.tensors[tensor].id,
                     " is overwritten by one of another shape or dtype");
  if (type->getNumElements() == 0)
    return llvm::Error::success();
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
