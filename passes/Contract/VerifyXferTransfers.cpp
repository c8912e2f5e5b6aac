// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- VerifyXferTransfers.cpp - copies between kernels -----------------===//
//
// The puts of a kernel by copy_engine are carried out by a transfer before its launch. The kernel's own proof takes them for its first events; here
// it is seen that they are those, that slots are free when they are written, and that nothing else comes before all have read.
//
//===----------------------------------------------------------------------===//

#include "passes/Contract/VerifyXferRules.h"

using namespace mlir;
using namespace pkb;

static xfer::KernelOp kernelOf(Operation *op) {
  auto launch = dyn_cast_or_null<xfer::LaunchOp>(op);
  return launch ? SymbolTable::lookupNearestSymbolFrom<xfer::KernelOp>(launch, launch.getKernelAttr()) : xfer::KernelOp();
}

/// True if `op` launches a kernel in which all ranks of `group` wait for each other.
static bool isBarrier(Operation *op, comm::GroupAttr group) {
  xfer::KernelOp kernel = kernelOf(op);
  return kernel && kernel.getImplements() == xfer::Collective::Barrier && kernel.getGroup() == group;
}

/// XV602: the calls of `transfer` are the puts of `kernel`, each into the slot of its source.
static void checkMessages(xfer::TransferOp transfer, xfer::LaunchOp launch, xfer::KernelOp kernel, TransferReporter &reporter) {
  auto wrong = [&](const Twine &what) { reporter.report(TransferCode::WrongTransfer, transfer, what, {{kernel, "the kernel"}}); };
  TransferModel model(kernel);
  TransferReporter silent;
  silent.silence();
  xfer::ScheduleAttr schedule = kernel.getSchedule();
  if (failed(model.unroll(SmallVector<int64_t>(model.pipelines().size(), 1), silent)))
    return; // reported at the kernel
  if (model.pipelines().size() != 1 || model.buffers().size() != 1 || schedule.getSlots() != 1 || chunksOf(model.pipelines().front()) > schedule.getBlocks())
    return wrong("its kernel must have one buffer, and one chunk per block, so that a message lies in one piece");
  xfer::SymmBufferOp buffer = model.buffers().front();
  if (buffer.getType().getParities() != 1)
    return wrong("the buffer of its kernel must have one parity, for copies have fixed addresses");
  for (auto [index, operand] : llvm::enumerate(transfer.getOperands()))
    if (index >= launch.getOperands().size() || launch.getOperands()[index] != operand)
      return wrong("operand " + Twine(index) + " is not that of the launch");
  // The kernel may see an element as several: the halves of a complex number.
  auto memory = cast<MemRefType>(transfer.getOperands().front().getType());
  int64_t slot = schedule.getBlocks() * buffer.getType().getChunk(), bytes = xfer::elementBytes(buffer.getType().getElementType());
  int64_t scale = xfer::elementBytes(memory.getElementType()) / bytes;
  DenseMap<std::pair<int64_t, int64_t>, xfer::CallAttr> calls;
  for (auto call : transfer.getCalls().getAsRange<xfer::CallAttr>())
    if (!calls.try_emplace({call.getSource(), call.getDest()}, call).second)
      return wrong("rank " + Twine(call.getSource()) + " has two messages for rank " + Twine(call.getDest()));
  for (int64_t source = 0; source < model.size(); ++source)
    for (int64_t dest = 0; dest < model.size(); ++dest) {
      SlotContent put = source == dest ? SlotContent() : model.slotContent(0, 0, source, dest);
      if (put.content >= 0 && model.content(put.content).message.elements == 0)
        put = SlotContent();
      auto found = calls.find({source, dest});
      if ((put.content >= 0) != (found != calls.end()))
        return wrong("rank " + Twine(source) + (put.content >= 0 ? " must have a message for rank " : " must have no message for rank ") + Twine(dest));
      if (put.content < 0)
        continue;
      xfer::CallAttr call = found->second;
      const TileContent &tile = model.content(put.content);
      Message moved{static_cast<int32_t>(call.getFrom()), call.getFromOffset() * scale, call.getCount() * scale};
      if (tile.kind != TileContent::Kind::Input || !(tile.message == moved) || call.getToOffset() * scale != source * slot || call.getRow() >= 0)
        return wrong("the message of rank " + Twine(source) + " for rank " + Twine(dest) + " must be elements " + Twine(tile.message.offset) + " to " +
                     Twine(tile.message.end()) + " of operand " + Twine(tile.message.argument) + ", to element " + Twine(source * slot));
      if (moved.elements * bytes % 16 != 0)
        return wrong("the message of rank " + Twine(source) + " for rank " + Twine(dest) + " must be whole 16 bytes, for those are read from a slot");
    }
}

void pkb::checkTransfer(xfer::TransferOp transfer, TransferReporter &reporter) {
  auto launch = dyn_cast_or_null<xfer::LaunchOp>(transfer->getNextNode());
  xfer::KernelOp kernel = kernelOf(launch);
  if (!launch || launch.getKernel() != transfer.getKernel() || !isBarrier(transfer->getPrevNode(), transfer.getGroup()) ||
      !isBarrier(launch->getNextNode(), transfer.getGroup()))
    return reporter.report(TransferCode::UnguardedTransfer, transfer,
                           "it must stand between a barrier of its group and the launch of its kernel, with another barrier behind that");
  checkMessages(transfer, launch, kernel, reporter);
}

void pkb::checkCopied(xfer::LaunchOp launch, xfer::KernelOp kernel, TransferReporter &reporter) {
  auto transfer = dyn_cast_or_null<xfer::TransferOp>(launch->getPrevNode());
  if (kernel.getSchedule().getMechanism() == xfer::Mechanism::CopyEngine && (!transfer || transfer.getKernel() != launch.getKernel()))
    reporter.report(TransferCode::UnguardedTransfer, launch, "its kernel's puts are copies, and no transfer of that kernel comes before it");
}
