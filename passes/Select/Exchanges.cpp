// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Exchanges.cpp - what operations of level L1 ask of the machine ---===//

#include "passes/Select/Exchanges.h"

#include "pkb/Analysis/FusedRegion.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace pkb;

static int64_t bytesOf(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  return type.getNumElements() * xfer::elementBytes(type.getElementType());
}

Exchange pkb::exchangeOf(comm::CollectiveOpInterface op, int64_t arenaBytes, const Machine &machine) {
  Exchange exchange;
  static_cast<MechanismQuestion &>(exchange) = questionOf(op, arenaBytes, machine.copyEngines);
  for (Value input : op.getCollectiveInputs())
    exchange.localBytes += bytesOf(input);
  for (Value result : op.getCollectiveResults())
    exchange.localBytes += bytesOf(result);
  exchange.messages = exchange.ranks - 1;
  if (isa<comm::PermuteOp>(op.getOperation()))
    exchange.messages = std::min<int64_t>(exchange.messages, 1);
  if (auto uneven = dyn_cast<comm::UnevenOpInterface>(op.getOperation())) {
    // All ranks must choose alike: the one that touches most decides.
    exchange.localBytes = 0;
    for (int64_t index = 0; index < int64_t(op.getGroup().getRanks().size()); ++index) {
      int64_t elements = 0;
      for (int64_t count : llvm::concat<int64_t>(uneven.getInputCounts(index), uneven.getResultCounts(index)))
        elements += count;
      exchange.localBytes = std::max(exchange.localBytes, elements * xfer::elementBytes(exchange.element));
    }
  }
  return exchange;
}

Exchange pkb::exchangeOf(comm::FusedOp op, int64_t arenaBytes, const Machine &machine) {
  Exchange exchange = exchangeOf(op.getCollectives().front(), arenaBytes, machine);
  exchange.localBytes = 0;
  for (Value value : llvm::concat<Value>(SmallVector<Value>(op.getInputs()), SmallVector<Value>(op.getResults())))
    exchange.localBytes += bytesOf(value);
  return exchange;
}

RowExchange pkb::rowExchangeOf(comm::FusedOp op, int64_t arenaBytes) {
  FusedRegion region(op);
  RowExchange exchange{region.collective().getGroup().getSize(), region.rows(), 0, arenaBytes};
  for (Value value : llvm::concat<Value>(SmallVector<Value>(op.getInputs()), SmallVector<Value>(op.getResults())))
    exchange.localBytes += bytesOf(value);
  for (Value value : llvm::concat<Value>(SmallVector<Value>(op.getEntry().getArguments()), SmallVector<Value>(op.getEntry().getTerminator()->getOperands())))
    if (region.isFull(value))
      exchange.rowBytes = std::max(exchange.rowBytes, bytesOf(value) / std::max<int64_t>(1, exchange.rows));
  return exchange;
}

/// Why `mechanism` cannot be the kernel that `op` is, and what it would do with the collectives of `op` alone.
static std::string whyNoKernel(comm::FusedOp op, xfer::Mechanism mechanism, int64_t arenaBytes, const Machine &machine) {
  SmallVector<comm::CollectiveOpInterface> collectives = collectivesOf(op);
  bool several = collectives.size() > 1;
  double alone = 0;
  for (comm::CollectiveOpInterface collective : collectives) {
    SmallVector<Choice> choices = enumerateChoices(op.getContext(), exchangeOf(collective, arenaBytes, machine), machine);
    const Choice *choice = llvm::find_if(choices, [&](const Choice &each) { return each.mechanism == mechanism; });
    if (!choice->schedule)
      return choice->reason;
    alone += choice->predictedUs;
  }
  return llvm::formatv("only kernels of ours {0} {1:F1} us", several ? "hold several collectives; apart they take" :
                       "take in what is around a collective; alone it takes", alone);
}

SmallVector<Choice> pkb::enumerateOthers(comm::FusedOp op, int64_t arenaBytes, const Machine &machine) {
  SmallVector<Choice> choices;
  for (xfer::Mechanism mechanism : {xfer::Mechanism::CopyEngine, xfer::Mechanism::Nccl})
    choices.push_back({mechanism, {}, 0, whyNoKernel(op, mechanism, arenaBytes, machine)});
  return choices;
}

SmallVector<Choice> pkb::enumerateFused(comm::FusedOp op, const Exchange &exchange, const Machine &machine) {
  SmallVector<Choice> choices = enumerateChoices(op.getContext(), exchange, machine);
  llvm::erase_if(choices, [](const Choice &choice) {
    return choice.mechanism != xfer::Mechanism::LdSt && choice.mechanism != xfer::Mechanism::LL;
  });
  choices.append(enumerateOthers(op, exchange.arenaBytes, machine));
  return choices;
}
