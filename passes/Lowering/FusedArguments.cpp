// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- FusedArguments.cpp - the tensors of one fused kernel -------------===//

#include "passes/Lowering/FusedArguments.h"

#include "dialects/Aten/IR/Aten.h"

using namespace mlir;
using namespace pkb;

/// The number of the result of `op` that `value` is; std::nullopt if nobody outside gets it.
static std::optional<int64_t> resultNumber(comm::FusedOp op, Value value) {
  for (auto [number, yielded] : llvm::enumerate(op.getEntry().getTerminator()->getOperands()))
    if (yielded == value)
      return op.getInputs().size() + number;
  return std::nullopt;
}

/// `window` with the dimensions that follow each other in memory as one.
static RankedTensorType merged(RankedTensorType window) {
  aten::Layout layout = aten::getLayout(window);
  SmallVector<int64_t> sizes, strides;
  for (auto [size, stride] : llvm::zip_equal(window.getShape(), layout.strides)) {
    if (size == 1)
      continue;
    if (!sizes.empty() && strides.back() == stride * size) {
      sizes.back() *= size;
      strides.back() = stride;
      continue;
    }
    sizes.push_back(size);
    strides.push_back(stride);
  }
  if (sizes.empty()) {
    sizes.push_back(window.getNumElements());
    strides.push_back(1);
  }
  return aten::getTensorType(sizes, window.getElementType(), strides, layout.offset);
}

Value FusedArguments::argument(int64_t number, RankedTensorType window) {
  Value &argument = arguments[{number, window}];
  if (!argument) {
    Value operand = memory.windowOf(number, window);
    if (!operand)
      return {};
    launched.push_back(operand);
    argument = kernel.getEntry().addArgument(operand.getType(), kernel.getLoc());
  }
  return argument;
}

/// A window of what one phase leaves for another; `number` is that of a result of the comm.fused, -1 where nobody
/// outside gets it.
Value FusedArguments::shared(Value value, int64_t number, RankedTensorType window) {
  auto type = cast<RankedTensorType>(value.getType());
  RankedTensorType whole = RankedTensorType::get({type.getNumElements()}, type.getElementType());
  Value base = views.lookup({value, whole});
  if (!base) {
    launched.push_back(number < 0 ? memory.scratch(whole) : memory.windowOf(number, whole));
    base = kernel.getEntry().addArgument(launched.back().getType(), kernel.getLoc());
    views[{value, whole}] = base;
  }
  window = merged(window);
  Value &view = views[{value, window}];
  if (!view) {
    OpBuilder at = OpBuilder::atBlockBegin(&kernel.getEntry());
    aten::Layout layout = aten::getLayout(window);
    auto result = MemRefType::get(window.getShape(), window.getElementType(),
                                  StridedLayoutAttr::get(at.getContext(), layout.offset, layout.strides));
    view = memref::ReinterpretCastOp::create(at, kernel.getLoc(), result, base, layout.offset, window.getShape(),
                                             layout.strides);
  }
  return view;
}

Value FusedArguments::of(comm::FusedOp region, int64_t number, RankedTensorType window) {
  if (region == op)
    return argument(number, window);
  int64_t inputs = region.getInputs().size();
  Value value = number < inputs ? region.getInputs()[number] : region.getResult(number - inputs);
  if (auto outside = dyn_cast<BlockArgument>(value))
    return argument(outside.getArgNumber(), window);
  std::optional<int64_t> result = resultNumber(op, value);
  bool isShared = llvm::any_of(value.getUsers(), [](Operation *user) { return isa<comm::FusedOp>(user); });
  return isShared || !result ? shared(value, result.value_or(-1), window) : argument(*result, window);
}
