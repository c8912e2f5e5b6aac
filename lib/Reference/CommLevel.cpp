// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- CommLevel.cpp - level L1: operations on tensors ---------------------===//
//
// A tensor is a version of a storage. Nothing changes a version: what writes makes another one.
//
//===----------------------------------------------------------------------===//

#include "Collectives.h"
#include "RankProgram.h"

#include "pkb/Support/Error.h"

using namespace mlir;
using namespace pkb;
using namespace pkb::reference;

static Tensor copyOf(const Tensor &tensor) {
  return {tensor.absent() ? nullptr : std::make_shared<Bytes>(*tensor.memory), tensor.base};
}

/// A number as a tensor of no dimension.
static Tensor tensorOf(const Scalar &scalar, Type type) {
  ElementType element = *ElementType::get(type);
  auto bytes = std::make_shared<Bytes>(element.bytes);
  scalar.store(bytes->data(), element);
  return {bytes, 0};
}

RankProgram::Result RankProgram::runCall(aten::CallOp call) {
  // On memrefs the operator writes where it is told; on tensors, into new versions.
  SmallVector<Tensor> inputs;
  for (Value input : call.getInputs())
    inputs.push_back(isa<ShapedType>(input.getType()) ? values.lookup(input) : tensorOf(scalars.lookup(input), input.getType()));
  SmallVector<Value> outs =
      call.isBufferized() ? SmallVector<Value>(call.getOuts()) : SmallVector<Value>(call.getFreshResults());
  if (!call.isBufferized()) {
    for (int64_t index : call.getMutates()) {
      inputs[index] = copyOf(inputs[index]);
      values[call.getNewVersion(index)] = inputs[index];
    }
    for (Value out : outs)
      if (llvm::Error error = bind(out))
        return error;
  }
  SmallVector<Window> windows;
  for (auto [value, tensor] : llvm::zip_equal(call.getInputs(), inputs)) {
    Type type = value.getType();
    llvm::Expected<Window> window = windowOf(isa<ShapedType>(type) ? type : RankedTensorType::get({}, type), tensor);
    if (!window)
      return window.takeError();
    windows.push_back(*window);
  }
  for (Value out : outs) {
    llvm::Expected<Window> window = windowOfValue(out);
    if (!window)
      return window.takeError();
    windows.push_back(*window);
  }
  if (llvm::Error error = world.aten().run(call, windows))
    return error;
  return Progress::Ran;
}

RankProgram::Result RankProgram::runView(aten::AsStridedOp view) {
  values[view.getResult()] = values.lookup(view.getBase());
  return Progress::Ran;
}

RankProgram::Result RankProgram::runViewWrite(aten::ViewWriteOp write) {
  llvm::Expected<Window> piece = windowOfValue(write.getPiece());
  if (!piece)
    return piece.takeError();
  Tensor version = copyOf(values.lookup(write.getBase()));
  llvm::Expected<Window> target = windowOf(write.getWindowType(), version);
  if (!target)
    return target.takeError();
  target->scatter(piece->gather());
  values[write.getResult()] = version;
  return Progress::Ran;
}

RankProgram::Result RankProgram::runLiteral(aten::LiteralOp literal) {
  llvm::Expected<Bytes> bytes = bytesOf(literal.getValue());
  if (!bytes)
    return bytes.takeError();
  values[literal.getResult()] = {std::make_shared<Bytes>(std::move(*bytes)), 0};
  return Progress::Ran;
}

RankProgram::Result RankProgram::runHostRead(Operation *read) {
  llvm::Expected<Window> window = windowOfValue(read->getOperand(0));
  if (!window)
    return window.takeError();
  scalars[read->getResult(0)] = Scalar::load(window->gather().data(), window->element);
  return Progress::Ran;
}

RankProgram::Result RankProgram::runCollective(comm::CollectiveOpInterface collective) {
  comm::GroupAttr group = collective.getGroup();
  if (!group.getRowOf(rank)) { // results that nobody may use
    for (Value result : collective->getResults())
      values[result] = Tensor();
    return Progress::Ran;
  }
  return rendezvous(collective, group, [](ArrayRef<RankProgram *> row, int64_t number) -> llvm::Error {
    SmallVector<Contribution> members;
    for (RankProgram *program : row) {
      Contribution &own =
          members.emplace_back(Contribution{cast<comm::CollectiveOpInterface>(program->arrived), {}, {}});
      for (Value input : own.op.getCollectiveInputs()) {
        const Tensor &tensor = program->values[input];
        if (tensor.absent()) {
          own.inputs.push_back(std::nullopt);
          continue;
        }
        llvm::Expected<Window> window = windowOf(input.getType(), tensor);
        if (!window)
          return window.takeError();
        own.inputs.push_back(window->gather());
      }
    }
    if (llvm::Error error = carryOut(members, number))
      return error;
    for (auto [program, own] : llvm::zip_equal(row, members))
      for (auto [result, bytes] : llvm::zip_equal(own.op.getCollectiveResults(), own.results))
        program->values[result] = bytes ? Tensor{std::make_shared<Bytes>(std::move(*bytes)), 0} : Tensor();
    return llvm::Error::success();
  });
}
