// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- XferLevel.cpp - level L2: host operations on memrefs ----------------===//

#include "BlockAgent.h"
#include "RankProgram.h"

#include "pkb/Support/Error.h"

using namespace mlir;
using namespace pkb;
using namespace pkb::reference;

RankProgram::Result RankProgram::runCopy(memref::CopyOp copy) {
  llvm::Expected<Window> from = windowOfValue(copy.getSource());
  if (!from)
    return from.takeError();
  llvm::Expected<Window> to = windowOfValue(copy.getTarget());
  if (!to)
    return to.takeError();
  to->scatter(from->gather());
  return Progress::Ran;
}

RankProgram::Result RankProgram::runConstant(memref::GetGlobalOp use) {
  auto global = SymbolTable::lookupNearestSymbolFrom<memref::GlobalOp>(use, use.getNameAttr());
  auto value = global ? dyn_cast_or_null<ElementsAttr>(global.getInitialValueAttr()) : ElementsAttr();
  if (!value)
    return makeError("must name a constant");
  llvm::Expected<Bytes> bytes = bytesOf(value);
  if (!bytes)
    return bytes.takeError();
  values[use.getResult()] = {std::make_shared<Bytes>(std::move(*bytes)), 0};
  return Progress::Ran;
}

/// The offset of the new type counts from where the source's elements begin.
RankProgram::Result RankProgram::runReinterpret(memref::ReinterpretCastOp cast) {
  const Tensor &tensor = values.lookup(cast.getSource());
  values[cast.getResult()] = tensor;
  return Progress::Ran;
}

/// The next operation of this rank comes after the last block has ended, as on a stream.
RankProgram::Result RankProgram::runLaunch(xfer::LaunchOp launch) {
  auto kernel = SymbolTable::lookupNearestSymbolFrom<xfer::KernelOp>(launch, launch.getKernelAttr());
  comm::GroupAttr group = kernel.getGroup();
  std::optional<int64_t> row = group.getRowOf(rank);
  if (!row)
    return Progress::Ran;
  SmallVector<Tensor> tensors;
  for (Value operand : launch.getOperands())
    tensors.push_back(values.lookup(operand));
  Channel &channel = world.channelOf(group.getRow(*row));
  int64_t position = *group.getPositionOf(rank), call = channel.beginCall(position);
  runningBlocks = kernel.getSchedule().getBlocks();
  for (int64_t block = 0; block < runningBlocks; ++block)
    world.add(std::make_unique<BlockAgent>(*this, channel, kernel, tensors, position, block, call));
  return Progress::Ran;
}
