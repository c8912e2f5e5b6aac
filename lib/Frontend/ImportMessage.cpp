//===- ImportMessage.cpp - sends and receives of the record ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Frontend/Importer.h"
#include "lib/Frontend/Program.h"
#include "pkb/Support/Error.h"

using namespace mlir;
using namespace pkb;
using namespace pkb::frontend;

/// What is sent is the value that the tensor has at the call, wherever the
/// permutation is placed.
llvm::Error Importer::importSend(int64_t index) {
  const Event &event = program.events[index];
  auto inputs = getTensors(*event.json, "inputs");
  if (!inputs)
    return inputs.takeError();
  if (inputs->size() != 1)
    return makeError("must have one input, got: ", inputs->size());
  if (program.storages[program.tensors[inputs->front()].storage].onHost)
    return makeError("a tensor in host memory is not supported; move it to the "
                     "device first");
  llvm::Expected<Value> value =
      readContiguous(inputs->front(), locationOf(event.site));
  if (!value)
    return value.takeError();
  sent[index] = *value;
  return llvm::Error::success();
}

/// One permutation: this rank's part of it.
llvm::Error Importer::importExchange(const Exchange &exchange) {
  int64_t rank = ranks.ranks.front();
  int64_t send = exchange.sendOf[rank], receive = exchange.receiveOf[rank];
  Location loc =
      locationOf(program.events[receive == -1 ? send : receive].site);
  Value input = send == -1 ? Value() : sent.at(send);
  Type type = input ? comm::getFreshType(input.getType()) : Type();
  if (receive != -1) {
    auto outputs = getTensors(*program.events[receive].json, "outputs");
    if (!outputs)
      return outputs.takeError();
    auto types = getOutputTypes(*outputs);
    if (!types)
      return types.takeError();
    if (types->size() != 1)
      return makeError("must have one output, got: ", types->size());
    type = types->front();
  }
  if (!input)
    input = comm::AbsentOp::create(builder, loc, type);
  auto group = comm::GroupAttr::get(builder.getContext(), exchange.rows);
  Value result = comm::PermuteOp::create(builder, loc, type, input, group,
                                         exchange.pairs);
  if (receive != -1)
    received[receive] = result;
  return llvm::Error::success();
}

/// The messages that meet before event `place`.
llvm::Error Importer::importMessages(int64_t place) {
  int64_t rank = ranks.ranks.front();
  for (const Exchange *exchange : schedule.getMessages(rank, place)) {
    Block &block = *builder.getInsertionBlock();
    Operation *before = block.empty() ? nullptr : &block.back();
    if (llvm::Error error = importExchange(*exchange)) {
      int64_t receive = exchange->receiveOf[rank];
      const Event &event =
          program.events[receive == -1 ? exchange->sendOf[rank] : receive];
      return makeError(program.where(event.site), ": ", describe(event), ": ",
                       llvm::toString(std::move(error)));
    }
    numberCollectives(before, *exchange);
  }
  return llvm::Error::success();
}

/// A wait writes what a receive got; of other calls it needs nothing: values
/// order a collective and its users.
llvm::Error Importer::importDelivery(int64_t index) {
  int64_t call =
      program.events[index].json->getInteger("collective").value_or(-1);
  auto at = received.find(call);
  if (at == received.end())
    return llvm::Error::success();
  const Event &event = program.events[call];
  auto outputs = getTensors(*event.json, "outputs");
  if (!outputs)
    return outputs.takeError();
  int64_t tensor = outputs->front();
  storages.define(program.tensors[tensor].storage, storages.getWindow(tensor),
                  at->second);
  received.erase(at); // a second wait for it does nothing
  return importWrites(*event.json, locationOf(event.site));
}
