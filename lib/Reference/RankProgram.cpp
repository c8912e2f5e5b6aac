// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- RankProgram.cpp - the host program of one rank ---------------------===//

#include "RankProgram.h"

#include "pkb/Support/Error.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace pkb;
using namespace pkb::reference;

RankProgram::RankProgram(World &world, int64_t rank, func::FuncOp function, std::vector<Tensor> arguments)
    : world(world), rank(rank), function(function) {
  Block &body = function.getBody().front();
  for (auto [argument, tensor] : llvm::zip_equal(body.getArguments(), arguments))
    values[argument] = tensor;
  next = body.begin();
  end = body.end();
}

llvm::Error RankProgram::bind(Value value) {
  llvm::Expected<Tensor> fresh = allocate(value.getType());
  if (!fresh)
    return fresh.takeError();
  values[value] = *fresh;
  return llvm::Error::success();
}

llvm::Expected<Progress> RankProgram::step() {
  if (ended)
    return Progress::Ended;
  if (runningBlocks > 0)
    return Progress::Blocked;
  Operation *op = &*next;
  Result result = run(op);
  if (!result) {
    std::string text = llvm::toString(result.takeError());
    return makeError("rank ", rank, ": ", op->getName(), " at ", placeOf(op), ": ", text);
  }
  if (*result == Progress::Ran)
    next = target.value_or(std::next(next));
  target.reset();
  ended = *result == Progress::Ended;
  return result;
}

RankProgram::Result RankProgram::run(Operation *op) {
  return llvm::TypeSwitch<Operation *, Result>(op)
      .Case([&](aten::CallOp call) { return runCall(call); })
      .Case([&](aten::AsStridedOp view) { return runView(view); })
      .Case([&](aten::ViewWriteOp write) { return runViewWrite(write); })
      .Case([&](aten::LiteralOp literal) { return runLiteral(literal); })
      .Case([&](comm::CollectiveOpInterface collective) { return runCollective(collective); })
      .Case([&](comm::FusedOp fused) { // its body runs in its place
        for (auto [argument, input] : llvm::zip_equal(fused.getEntry().getArguments(), fused.getInputs()))
          values[argument] = values.lookup(input);
        target = fused.getEntry().begin();
        return Progress::Ran;
      })
      .Case([&](comm::YieldOp yield) {
        auto fused = cast<comm::FusedOp>(yield->getParentOp());
        for (auto [result, value] : llvm::zip_equal(fused.getResults(), yield.getValues()))
          values[result] = values.lookup(value);
        target = std::next(Block::iterator(fused));
        return Progress::Ran;
      })
      .Case<comm::AbsentOp, xfer::AbsentOp>([&](auto absent) {
        values[absent.getResult()] = Tensor();
        return Progress::Ran;
      })
      .Case<comm::HostReadOp, xfer::HostReadOp>([&](auto read) { return runHostRead(read); })
      .Case([&](comm::RankOp own) -> Result {
        int64_t number = rank;
        if (std::optional<comm::GroupAttr> group = own.getGroup()) {
          std::optional<int64_t> position = group->getPositionOf(rank);
          if (!position)
            return makeError("is not in the group");
          number = *position;
        }
        scalars[own.getResult()] = fromInteger(number, *ElementType::get(own.getType()));
        return Progress::Ran;
      })
      .Case([&](comm::WorldSizeOp size) {
        scalars[size.getResult()] = fromInteger(world.size(), *ElementType::get(size.getType()));
        return Progress::Ran;
      })
      .Case([&](memref::AllocOp alloc) -> Result {
        if (llvm::Error error = bind(alloc.getResult()))
          return error;
        return Progress::Ran;
      })
      .Case([&](memref::CopyOp copy) { return runCopy(copy); })
      .Case([&](memref::GetGlobalOp use) { return runConstant(use); })
      .Case<memref::ReinterpretCastOp, xfer::BitcastOp>([&](auto cast) { return runReinterpret(cast); })
      .Case([&](xfer::LibraryCallOp call) { return runLibraryCall(call); })
      .Case([&](xfer::LaunchOp launch) { return runLaunch(launch); })
      .Case([&](xfer::TransferOp transfer) { return runTransfer(transfer); })
      .Case([&](func::ReturnOp ret) {
        for (Value value : ret.getOperands())
          returned.emplace_back(value, values.lookup(value));
        return Progress::Ended;
      })
      .Default([&](Operation *other) -> Result {
        SmallVector<Scalar> operands;
        for (Value operand : other->getOperands())
          operands.push_back(scalars.lookup(operand));
        std::optional<Scalar> value = evaluate(other, operands);
        if (!value)
          return makeError("has no meaning here; run pkb-interpret on a module of level L1 or L2");
        scalars[other->getResult(0)] = *value;
        return Progress::Ran;
      });
}

/// True if two ranks that have arrived at these operations take part in one exchange: the same operation, or, in
/// functions of different ranks, one of the same number or with the same calls.
static bool meet(Operation *left, Operation *right) {
  if (left == right)
    return true;
  if (left->getName() != right->getName())
    return false;
  if (auto call = dyn_cast<xfer::LibraryCallOp>(left))
    return call.getCalls() == cast<xfer::LibraryCallOp>(right).getCalls();
  IntegerAttr number = comm::getExchange(left);
  return number && number == comm::getExchange(right);
}

RankProgram::Result RankProgram::rendezvous(Operation *op, comm::GroupAttr group,
                                            llvm::function_ref<llvm::Error(ArrayRef<RankProgram *>, int64_t)> body) {
  if (met) {
    arrived = nullptr;
    met = false;
    return Progress::Ran;
  }
  if (arrived)
    return Progress::Blocked;
  arrived = op;
  int64_t number = *group.getRowOf(rank);
  row.clear();
  for (int64_t member : group.getRow(number))
    row.push_back(&world.program(member));
  for (RankProgram *other : row)
    if (!other->arrived || other->met || !meet(other->arrived, op))
      return Progress::Blocked;
  if (llvm::Error error = body(row, number))
    return error;
  for (RankProgram *other : row)
    other->met = true;
  return rendezvous(op, group, body);
}

std::string RankProgram::waitingFor() {
  if (!arrived)
    return "";
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "rank " << rank << " waits in " << arrived->getName() << " at " << placeOf(arrived) << " for";
  for (RankProgram *other : row) {
    if (other->ended)
      os << " rank " << other->rank << " (has returned)";
    else if (other->arrived && !meet(other->arrived, arrived))
      os << " rank " << other->rank << " (is in " << other->arrived->getName() << " at " << placeOf(other->arrived)
         << ")";
  }
  return text;
}
