// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- ElementOrder.cpp - the elements of a tensor in another's order ---===//

#include "pkb/Analysis/ElementOrder.h"

using namespace mlir;
using namespace pkb;

ElementOrder ElementOrder::rowMajor(ArrayRef<int64_t> shape) {
  ElementOrder order;
  order.shape.assign(shape.begin(), shape.end());
  order.steps = aten::getContiguousStrides(shape);
  for (auto [size, step] : llvm::zip_equal(order.shape, order.steps))
    if (size == 1)
      step = 0; // there is no neighbour
  return order;
}

namespace {
/// A dimension: elements `stride` apart in memory, whose numbers are `step` apart.
struct Extent {
  int64_t size, stride, step;
};
} // namespace

std::optional<ElementOrder> ElementOrder::through(RankedTensorType from, RankedTensorType to) const {
  if (!aten::isDense(from) || !aten::isDense(to) || from.getNumElements() != to.getNumElements() ||
      from.getElementType() != to.getElementType() || aten::getLayout(from).offset != aten::getLayout(to).offset)
    return std::nullopt;
  // The dimensions of `from` by stride, those that follow each other in memory and in number as one.
  SmallVector<Extent> extents;
  for (auto [size, stride, step] : llvm::zip_equal(shape, aten::getLayout(from).strides, steps))
    if (size > 1)
      extents.push_back({size, stride, step});
  llvm::sort(extents, [](const Extent &a, const Extent &b) { return a.stride < b.stride; });
  SmallVector<Extent> merged;
  for (const Extent &extent : extents) {
    if (!merged.empty() && extent.stride == merged.back().size * merged.back().stride && extent.step == merged.back().size * merged.back().step)
      merged.back().size *= extent.size;
    else
      merged.push_back(extent);
  }
  ElementOrder order;
  order.shape.assign(to.getShape().begin(), to.getShape().end());
  for (auto [size, stride] : llvm::zip_equal(to.getShape(), aten::getLayout(to).strides)) {
    if (size == 1) {
      order.steps.push_back(0);
      continue;
    }
    // The dimension of `from` that this one lies in.
    const Extent *home = nullptr;
    for (const Extent &extent : merged)
      if (extent.stride <= stride)
        home = &extent;
    if (!home || stride % home->stride != 0 || (stride / home->stride) * size > home->size)
      return std::nullopt;
    order.steps.push_back(stride / home->stride * home->step);
  }
  return order;
}

RankedTensorType ElementOrder::sorted(RankedTensorType window) const {
  aten::Layout layout = aten::getLayout(window);
  SmallVector<int64_t> dims;
  for (int64_t dim = 0; dim < window.getRank(); ++dim)
    if (window.getDimSize(dim) > 1)
      dims.push_back(dim);
  llvm::stable_sort(dims, [&](int64_t a, int64_t b) { return steps[a] > steps[b]; });
  SmallVector<int64_t> sizes, strides;
  for (int64_t dim : dims) {
    sizes.push_back(window.getDimSize(dim));
    strides.push_back(layout.strides[dim]);
  }
  return aten::getTensorType(sizes, window.getElementType(), strides, layout.offset);
}
