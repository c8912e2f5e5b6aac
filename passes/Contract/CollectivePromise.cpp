// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- CollectivePromise.cpp - what a kernel promises to compute --------===//

#include "passes/Contract/CollectivePromise.h"

using namespace mlir;
using namespace pkb;
using xfer::Collective;

CollectivePromise::CollectivePromise(const TransferModel &model, const llvm::BitVector &read, const llvm::BitVector &written)
    : model(model), kernel(model.getKernel()), collective(kernel.getImplements()), ranks(model.size()),
      root(kernel.getRoot().value_or(0)) {
  inputs.assign(read.set_bits_begin(), read.set_bits_end());
  results.assign(written.set_bits_begin(), written.set_bits_end());
  if (auto given = kernel.getSources())
    sources.assign(given->begin(), given->end());
  if (auto given = kernel.getCounts())
    counts.assign(given->begin(), given->end());
  if (!inputs.empty()) {
    even = model.elementsOf(inputs.front());
    if (isPersonal() && inputs.size() == 1)
      even /= ranks;
  }
}

bool CollectivePromise::reduces() const {
  return collective == Collective::AllReduce || collective == Collective::ReduceScatter || collective == Collective::Reduce;
}

/// True if a rank has another message for each rank.
bool CollectivePromise::isPersonal() const {
  return collective == Collective::AllToAll || collective == Collective::ReduceScatter || collective == Collective::Scatter;
}

/// True if a rank gets another message from each rank and keeps them apart.
bool CollectivePromise::isCollected() const {
  return collective == Collective::AllToAll || collective == Collective::AllGather || collective == Collective::Gather;
}

/// True if `source` contributes to the result of `target`.
bool CollectivePromise::sends(int64_t source, int64_t target) const {
  switch (collective) {
  case Collective::Broadcast:
  case Collective::Scatter:
    return source == root;
  case Collective::Reduce: // who is not the root keeps its own
    return target == root || source == target;
  case Collective::Gather:
    return target == root;
  case Collective::Permute:
    return sources[target] == source;
  default:
    return true;
  }
}

int64_t CollectivePromise::elements(int64_t source, int64_t target) const {
  if (counts.empty())
    return even;
  if (collective == Collective::AllToAll)
    return counts[source * ranks + target];
  return counts[isPersonal() ? target : source];
}

/// Where `source` has its message for `target`.
Message CollectivePromise::inputOf(int64_t source, int64_t target) const {
  Message message{inputs.front(), 0, elements(source, target)};
  if (!isPersonal())
    return message;
  if (inputs.size() > 1) {
    message.argument = inputs[target];
    return message;
  }
  for (int64_t before = 0; before < target; ++before)
    message.offset += elements(source, before);
  return message;
}

/// Where `target` keeps the message of `source`.
Message CollectivePromise::resultOf(int64_t target, int64_t source) const {
  Message message{results.front(), 0, elements(source, target)};
  if (!isCollected())
    return message;
  if (results.size() > 1) {
    message.argument = results[source];
    return message;
  }
  for (int64_t before = 0; before < source; ++before)
    message.offset += elements(before, target);
  return message;
}

bool CollectivePromise::fits(std::string &why) const {
  llvm::raw_string_ostream os(why);
  os << xfer::stringifyCollective(collective) << " on " << ranks << " ranks ";
  if (collective == Collective::Barrier) {
    os << "has no tensors";
    return inputs.empty() && results.empty();
  }
  auto one = [&](size_t tensors, bool perRank) {
    return tensors == 1 || (perRank && static_cast<int64_t>(tensors) == ranks);
  };
  if (!one(inputs.size(), isPersonal()) || !one(results.size(), isCollected())) {
    os << "reads 1 tensor" << (isPersonal() ? " or one per rank" : "") << " and writes 1" << (isCollected() ? " or one per rank" : "")
       << ", this one reads " << inputs.size() << " and writes " << results.size();
    return false;
  }
  if (collective == Collective::Permute && sources.empty()) {
    os << "must say from which rank each rank gets its message";
    return false;
  }
  bool perPair = collective == Collective::AllToAll;
  if (!counts.empty()) {
    os << "has one count per " << (perPair ? "pair" : "rank") << ", this one has " << counts.size();
    return static_cast<int64_t>(counts.size()) == (perPair ? ranks * ranks : ranks);
  }
  auto check = [&](ArrayRef<int32_t> tensors, bool split) {
    int64_t expected = even * (split && tensors.size() == 1 ? ranks : 1);
    for (int32_t tensor : tensors)
      if (int64_t has = model.elementsOf(tensor); has != expected) {
        os << "moves messages of " << even << " elements, so argument " << tensor << " has " << expected << ", this one has " << has;
        return false;
      }
    return true;
  };
  if (even < 0) {
    os << "needs counts where tensors have no size of their own";
    return false;
  }
  return check(inputs, isPersonal()) && check(results, isCollected());
}

SmallVector<PromisedMessage> CollectivePromise::writtenBy(int64_t rank) const {
  SmallVector<PromisedMessage> list;
  if (collective == Collective::Barrier)
    return list;
  for (int64_t source = 0; source < ranks; ++source) {
    if (!sends(source, rank) || elements(source, rank) == 0)
      continue;
    if (list.empty() || !reduces())
      list.push_back({resultOf(rank, source), {}, reduces() && (collective != Collective::Reduce || rank == root)});
    list.back().contributions.push_back({source, inputOf(source, rank)});
  }
  return list;
}
