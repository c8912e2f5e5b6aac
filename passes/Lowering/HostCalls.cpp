// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- HostCalls.cpp - collectives that are no kernel -------------------===//
//
// A collective whose tensors lie in one piece is the library's own; every other one is a list of messages, or of reductions to one rank each, that are made
// together.
//
//===----------------------------------------------------------------------===//

#include "passes/Lowering/HostCalls.h"

#include "pkb/Analysis/Mechanisms.h"

using namespace mlir;
using namespace pkb;

namespace {

using Function = xfer::LibraryFunction;

/// Where a message lies: an operand, and an element of it.
struct Place {
  int64_t operand = 0, offset = 0;
};

/// Lists the calls of one collective, row by row where rows differ.
class CallList {
public:
  CallList(comm::CollectiveOpInterface op, int64_t elements)
      : op(op), uneven(dyn_cast<comm::UnevenOpInterface>(op.getOperation())), group(op.getGroup()), size(group.getSize()),
        inputs(std::max<int64_t>(1, op.getCollectiveInputs().size())), results(op.getCollectiveResults().size()), inputParts(op.getPartCount()),
        elements(elements) {}

  SmallVector<Attribute> run();
  /// What each rank of row `number` has for other ranks, each to the slot of `slot` elements that its source has in staging memory.
  SmallVector<Attribute> toSlots(int64_t number, int64_t slot);

private:
  void listRow();
  void listPairs(comm::PermuteOp permute);
  int64_t rootOf(int64_t index);
  /// A rank of the row has something for another one.
  bool sends(int64_t source, int64_t dest);
  /// Elements of the message from one rank of the row to another.
  int64_t count(int64_t source, int64_t dest);
  Place input(int64_t source, int64_t dest);
  Place result(int64_t source, int64_t dest);
  void collective(Function function, int64_t root = 0) { add(function, elements, {0, 0}, {inputs, 0}, root, 0, 0); }
  void message(int64_t source, int64_t dest) {
    add(Function::Message, count(source, dest), input(source, dest), result(source, dest), 0, source, dest);
  }
  void add(Function function, int64_t count, Place from, Place to, int64_t root, int64_t source, int64_t dest) {
    calls.push_back(xfer::CallAttr::get(op->getContext(), function, count, from.operand, from.offset, to.operand, to.offset, root, source, dest, label));
  }

  comm::CollectiveOpInterface op;
  comm::UnevenOpInterface uneven;
  comm::GroupAttr group;
  int64_t size, inputs, results, inputParts, elements;
  int64_t row = 0, label = -1; // the row that is listed, and what its calls say
  SmallVector<Attribute> calls;
};

} // namespace

int64_t CallList::rootOf(int64_t index) { return cast<comm::RootedOpInterface>(op.getOperation()).getRootPosition(index); }

int64_t CallList::count(int64_t source, int64_t dest) {
  if (!uneven)
    return elements;
  if (uneven.getCountsPerRank() > 1)
    return uneven.getCounts()[(row * size + source) * size + dest];
  bool ofReceiver = isReduction(collectiveNamed(op));
  return uneven.getCounts()[row * size + (ofReceiver ? dest : source)];
}

/// What `source` sends to `dest`: an input of its own, or a part behind those of earlier receivers, or all there is.
Place CallList::input(int64_t source, int64_t dest) {
  if (inputs > 1)
    return {dest, 0};
  Place place;
  for (int64_t earlier = 0; inputParts > 1 && earlier < dest; ++earlier)
    place.offset += count(source, earlier);
  return place;
}

/// Where `dest` has what `source` sends.
Place CallList::result(int64_t source, int64_t dest) {
  if (results > 1)
    return {inputs + source, 0};
  xfer::Collective collective = collectiveNamed(op);
  bool parts = collective == xfer::Collective::AllGather || collective == xfer::Collective::AllToAll || collective == xfer::Collective::Gather;
  Place place{inputs, 0};
  for (int64_t earlier = 0; parts && earlier < source; ++earlier)
    place.offset += count(earlier, dest);
  return place;
}

void CallList::listPairs(comm::PermuteOp permute) {
  for (int64_t source = 0; source < size; ++source)
    if (std::optional<int64_t> receiver = permute.getReceiver(group.getRow(row)[source]))
      message(source, *group.getPositionOf(*receiver));
}

void CallList::listRow() {
  xfer::Collective collectiveKind = collectiveNamed(op);
  switch (collectiveKind) {
  case xfer::Collective::AllReduce:
    return collective(Function::AllReduce);
  case xfer::Collective::ReduceScatter:
    if (inputs == 1 && !uneven)
      return collective(Function::ReduceScatter);
    for (int64_t dest = 0; dest < size; ++dest)
      if (int64_t part = count(0, dest); part > 0)
        add(Function::Reduce, part, input(0, dest), {inputs, 0}, dest, 0, 0);
    return;
  case xfer::Collective::Reduce: {
    int64_t root = rootOf(row);
    collective(Function::Reduce, root);
    for (int64_t rank = 0; rank < size; ++rank) // the others keep what they have
      if (rank != root)
        message(rank, rank);
    return;
  }
  case xfer::Collective::Broadcast:
    return collective(Function::Broadcast, rootOf(row));
  case xfer::Collective::AllGather:
    if (results == 1 && !uneven)
      return collective(Function::AllGather);
    [[fallthrough]];
  case xfer::Collective::AllToAll:
    for (int64_t source = 0; source < size; ++source)
      for (int64_t dest = 0; dest < size; ++dest)
        message(source, dest);
    return;
  case xfer::Collective::Gather:
    for (int64_t source = 0; source < size; ++source)
      message(source, rootOf(row));
    return;
  case xfer::Collective::Scatter:
    for (int64_t dest = 0; dest < size; ++dest)
      message(rootOf(row), dest);
    return;
  case xfer::Collective::Permute:
    return listPairs(cast<comm::PermuteOp>(op.getOperation()));
  case xfer::Collective::Barrier: // as c10d does it: whoever has the sum has heard of everybody
    return collective(Function::AllReduce);
  case xfer::Collective::None:
    return;
  }
}

SmallVector<Attribute> CallList::run() {
  auto rooted = dyn_cast<comm::RootedOpInterface>(op.getOperation());
  bool differ = group.getNumRows() > 1 && (uneven || isa<comm::PermuteOp>(op.getOperation()) || (rooted && !rooted.getUniformRootPosition()));
  for (row = 0; row < (differ ? group.getNumRows() : 1); ++row) {
    label = differ ? row : -1;
    listRow();
  }
  return calls;
}

bool CallList::sends(int64_t source, int64_t dest) {
  switch (collectiveNamed(op)) {
  case xfer::Collective::Broadcast:
  case xfer::Collective::Scatter:
    return source == rootOf(row);
  case xfer::Collective::Reduce:
  case xfer::Collective::Gather:
    return dest == rootOf(row);
  case xfer::Collective::Permute:
    return cast<comm::PermuteOp>(op.getOperation()).getReceiver(group.getRow(row)[source]) == group.getRow(row)[dest];
  default:
    return true;
  }
}

SmallVector<Attribute> CallList::toSlots(int64_t number, int64_t slot) {
  row = number;
  for (int64_t source = 0; source < size; ++source)
    for (int64_t dest = 0; dest < size; ++dest)
      if (source != dest && sends(source, dest) && count(source, dest) > 0)
        add(Function::Message, count(source, dest), input(source, dest), {0, source * slot}, 0, source, dest);
  return calls;
}

LogicalResult pkb::buildTransfer(OpBuilder &builder, comm::CollectiveOpInterface op, xfer::KernelOp kernel, ValueRange inputs) {
  auto memory = cast<MemRefType>(inputs.front().getType());
  int64_t elements = memory.getNumElements() / op.getPartCount();
  if (auto uneven = dyn_cast<comm::UnevenOpInterface>(op.getOperation()))
    elements = *llvm::max_element(uneven.getCounts());
  xfer::ScheduleAttr schedule = kernel.getSchedule();
  int64_t slot = schedule.getBlocks() * schedule.getChunk() / xfer::elementBytes(memory.getElementType());
  if (schedule.getSlots() != 1 || schedule.getDepth() != 0 || elements > slot)
    return op.emitOpError() << "by copy_engine must have a schedule of one chunk per block that holds the " << elements << " elements of a message, got: "
                            << schedule;
  // The rows of a kernel do the same.
  int64_t row = *op.getGroup().getRowOf(kernel.getGroup().getRow(0).front());
  xfer::TransferOp::create(builder, op.getLoc(), FlatSymbolRefAttr::get(kernel.getSymNameAttr()), inputs, kernel.getGroup(),
                           builder.getArrayAttr(CallList(op, elements).toSlots(row, slot)));
  return success();
}

xfer::KernelOp pkb::buildBarrierKernel(OpBuilder &builder, Location loc, comm::GroupAttr group, StringRef name) {
  MLIRContext *context = builder.getContext();
  int64_t threads = std::min<int64_t>(32 * group.getSize(), 1024);
  auto schedule = xfer::ScheduleAttr::get(context, xfer::Mechanism::LdSt, /*blocks=*/1, threads, /*chunk=*/16, /*depth=*/0, /*slots=*/1, /*unroll=*/1,
                                          /*perSm=*/1);
  OperationState state(loc, xfer::KernelOp::getOperationName());
  xfer::KernelOp::Properties &properties = state.getOrAddProperties<xfer::KernelOp::Properties>();
  properties.setSymName(builder.getStringAttr(name));
  properties.setGroup(group);
  properties.setSchedule(schedule);
  properties.setSummary(builder.getStringAttr("all ranks wait for each other"));
  properties.setImplements(xfer::CollectiveAttr::get(context, xfer::Collective::Barrier));
  state.addRegion();
  auto kernel = cast<xfer::KernelOp>(builder.create(state));
  OpBuilder at = OpBuilder::atBlockEnd(&kernel.getBody().emplaceBlock());
  Value flags = xfer::FlagsOp::create(at, loc, xfer::FlagsType::get(context));
  auto pipeline = xfer::PipelineOp::create(at, loc, at.getI64IntegerAttr(0), at.getI64IntegerAttr(16),
                                           xfer::CollectiveAttr(), comm::ReduceKindAttr());
  for (Region *region : {&pipeline.getProduce(), &pipeline.getConsume()})
    region->emplaceBlock().addArgument(xfer::ChunkType::get(context), loc);
  OpBuilder produce = OpBuilder::atBlockEnd(&pipeline.getProduce().front()), consume = OpBuilder::atBlockEnd(&pipeline.getConsume().front());
  xfer::SignalOp::create(produce, loc, flags, Value(), pipeline.getProduce().front().getArgument(0), ValueRange(), /*in_band=*/false);
  xfer::WaitOp::create(consume, loc, xfer::TokenType::get(context), flags, Value(), pipeline.getConsume().front().getArgument(0), /*in_band=*/false);
  return kernel;
}

LogicalResult pkb::buildLibraryCall(OpBuilder &builder, comm::CollectiveOpInterface op, ValueRange operands) {
  // Of one message, where all have the same size.
  int64_t elements = cast<MemRefType>(operands.front().getType()).getNumElements() / op.getPartCount();
  SmallVector<Attribute> calls = CallList(op, elements).run();
  auto reduction = dyn_cast<comm::ReductionOpInterface>(op.getOperation());
  auto kind = reduction ? comm::ReduceKindAttr::get(builder.getContext(), reduction.getKind()) : comm::ReduceKindAttr();
  if (isa<comm::BarrierOp>(op.getOperation()))
    kind = comm::ReduceKindAttr::get(builder.getContext(), comm::ReduceKind::Sum);
  auto factors = reduction && reduction.getFactors() ? builder.getDenseF64ArrayAttr(*reduction.getFactors()) : DenseF64ArrayAttr();
  xfer::LibraryCallOp::create(builder, op.getLoc(), xfer::MechanismAttr::get(builder.getContext(), xfer::Mechanism::Nccl), operands, op.getGroup(), kind,
                              factors, builder.getArrayAttr(calls), op->getAttrOfType<FloatAttr>(xfer::kPredictedAttrName));
  return success();
}
