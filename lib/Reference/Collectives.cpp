// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Collectives.cpp - what each collective computes ---------------------===//
//
// Every collective is the same sentence: member k of a row has a list of parts, one for each member or one for all; the
// result of member k is made of the parts that are meant for it. They differ in which parts, and whether those are
// joined or combined.
//
//===----------------------------------------------------------------------===//

#include "Collectives.h"

#include "pkb/Support/Error.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace pkb;
using namespace pkb::reference;

namespace {

/// The members of one row at one collective.
class Meeting {
public:
  Meeting(MutableArrayRef<Contribution> members, int64_t row)
      : members(members), row(row), element(*ElementType::get(elementType())) {}

  llvm::Error run();

private:
  int64_t size() const { return members.size(); }
  comm::CollectiveOpInterface op() const { return members.front().op; }
  Type elementType() const { return cast<ShapedType>(op()->getOperand(0).getType()).getElementType(); }

  int64_t countOf(int64_t sender, int64_t receiver, int64_t whole) const;
  llvm::Expected<Bytes> partFor(int64_t sender, int64_t receiver) const;
  llvm::Expected<Bytes> wholeOf(int64_t sender) const;
  llvm::Expected<Bytes> combined(ArrayRef<Bytes> parts) const;
  llvm::Error give(int64_t member, ArrayRef<Bytes> parts);

  llvm::Error exchange();    // all_to_all, scatter
  llvm::Error collect();     // all_gather, gather
  llvm::Error reduce();      // all_reduce, reduce
  llvm::Error reduceParts(); // reduce_scatter
  llvm::Error broadcast();
  llvm::Error permute(comm::PermuteOp permute);

  MutableArrayRef<Contribution> members;
  int64_t row;
  ElementType element;
};

} // namespace

/// The root's position, where only it gets or gives something.
static std::optional<int64_t> rootOf(comm::CollectiveOpInterface op, int64_t row) {
  auto rooted = dyn_cast<comm::RootedOpInterface>(op.getOperation());
  return rooted ? std::optional(rooted.getRootPosition(row)) : std::nullopt;
}

/// Elements of the part that `sender` has for `receiver` of an input of `whole` elements.
int64_t Meeting::countOf(int64_t sender, int64_t receiver, int64_t whole) const {
  auto uneven = dyn_cast<comm::UnevenOpInterface>(op().getOperation());
  if (!uneven)
    return whole / size();
  int64_t first = row * size();
  if (uneven.getCountsPerRank() == 1)
    return uneven.getCounts()[first + receiver];
  return uneven.getCounts()[(first + sender) * size() + receiver];
}

llvm::Expected<Bytes> Meeting::wholeOf(int64_t sender) const {
  const std::optional<Bytes> &input = members[sender].inputs.front();
  if (!input)
    return makeError("needs the input of member ", sender, ", which is absent there");
  return *input;
}

/// What `sender` has for `receiver`: one of its inputs, or a piece of its only one.
llvm::Expected<Bytes> Meeting::partFor(int64_t sender, int64_t receiver) const {
  const Contribution &from = members[sender];
  if (from.inputs.size() > 1) {
    if (!from.inputs[receiver])
      return makeError("needs input ", receiver, " of member ", sender, ", which is absent there");
    return *from.inputs[receiver];
  }
  llvm::Expected<Bytes> whole = wholeOf(sender);
  if (!whole)
    return whole.takeError();
  int64_t elements = whole->size() / element.bytes, begin = 0;
  for (int64_t earlier = 0; earlier < receiver; ++earlier)
    begin += countOf(sender, earlier, elements);
  int64_t count = countOf(sender, receiver, elements);
  if (begin + count > elements)
    return makeError("member ", sender, " has ", elements, " elements and needs ", begin + count);
  auto first = whole->begin() + begin * element.bytes;
  return Bytes(first, first + count * element.bytes);
}

/// The parts as the results of `member`: one each, or one after the other.
llvm::Error Meeting::give(int64_t member, ArrayRef<Bytes> parts) {
  Contribution &to = members[member];
  auto results = to.op.getCollectiveResults();
  if (results.size() == parts.size()) {
    to.results.assign(parts.begin(), parts.end());
  } else {
    Bytes joined;
    for (const Bytes &part : parts)
      joined.insert(joined.end(), part.begin(), part.end());
    to.results = {joined};
  }
  for (auto [result, bytes] : llvm::zip_equal(results, to.results)) {
    int64_t expected = cast<ShapedType>(result.getType()).getNumElements() * element.bytes;
    if (static_cast<int64_t>(bytes->size()) != expected)
      return makeError("gives member ", member, " ", bytes->size() / element.bytes, " elements for a result of type ",
                       result.getType());
  }
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Movement
//===----------------------------------------------------------------------===//

llvm::Error Meeting::exchange() {
  std::optional<int64_t> root = rootOf(op(), row);
  for (int64_t receiver = 0; receiver < size(); ++receiver) {
    SmallVector<Bytes> parts;
    for (int64_t sender = 0; sender < size(); ++sender) {
      if (root && sender != *root)
        continue;
      llvm::Expected<Bytes> part = partFor(sender, receiver);
      if (!part)
        return part.takeError();
      parts.push_back(std::move(*part));
    }
    if (llvm::Error error = give(receiver, parts))
      return error;
  }
  return llvm::Error::success();
}

llvm::Error Meeting::collect() {
  SmallVector<Bytes> parts;
  for (int64_t sender = 0; sender < size(); ++sender) {
    llvm::Expected<Bytes> whole = wholeOf(sender);
    if (!whole)
      return whole.takeError();
    parts.push_back(std::move(*whole));
  }
  std::optional<int64_t> root = rootOf(op(), row);
  for (int64_t receiver = 0; receiver < size(); ++receiver) {
    if (root && receiver != *root) {
      members[receiver].results.assign(members[receiver].op.getCollectiveResults().size(), std::nullopt);
      continue;
    }
    if (llvm::Error error = give(receiver, parts))
      return error;
  }
  return llvm::Error::success();
}

llvm::Error Meeting::broadcast() {
  llvm::Expected<Bytes> whole = wholeOf(*rootOf(op(), row));
  if (!whole)
    return whole.takeError();
  for (int64_t receiver = 0; receiver < size(); ++receiver)
    if (llvm::Error error = give(receiver, *whole))
      return error;
  return llvm::Error::success();
}

llvm::Error Meeting::permute(comm::PermuteOp permute) {
  ArrayRef<int64_t> ranks = permute.getGroup().getRow(row);
  for (int64_t receiver = 0; receiver < size(); ++receiver) {
    std::optional<int64_t> sender = permute.getSender(ranks[receiver]);
    if (!sender) {
      members[receiver].results = {std::nullopt};
      continue;
    }
    llvm::Expected<Bytes> whole = wholeOf(*permute.getGroup().getPositionOf(*sender));
    if (!whole)
      return whole.takeError();
    if (llvm::Error error = give(receiver, *whole))
      return error;
  }
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

Arithmetic reference::arithmeticOf(comm::ReduceKind kind) {
  switch (kind) {
  case comm::ReduceKind::Sum:
  case comm::ReduceKind::Avg:
  case comm::ReduceKind::PremulSum:
    return Arithmetic::Add;
  case comm::ReduceKind::Prod:
    return Arithmetic::Mul;
  case comm::ReduceKind::Min:
    return Arithmetic::Min;
  case comm::ReduceKind::Max:
    return Arithmetic::Max;
  case comm::ReduceKind::BAnd:
    return Arithmetic::And;
  case comm::ReduceKind::BOr:
    return Arithmetic::Or;
  case comm::ReduceKind::BXor:
    return Arithmetic::Xor;
  }
  llvm_unreachable("all kinds are above");
}

/// A NaN among the contributions of a min or max is as if it were not there.
static bool leavesOut(comm::ReduceKind kind, Scalar value, ElementType type) {
  return (kind == comm::ReduceKind::Min || kind == comm::ReduceKind::Max) && type.isFloat() && std::isnan(toDouble(value, type));
}

llvm::Expected<Bytes> reference::combineParts(const Combination &combination, ArrayRef<Bytes> parts) {
  ElementType element = combination.element, wide = combination.accumulation;
  for (const Bytes &part : parts)
    if (part.size() != parts.front().size())
      return makeError("combines tensors of ", parts.front().size(), " and ", part.size(), " bytes");
  Bytes result(parts.front().size());
  for (size_t place = 0; place < result.size(); place += element.bytes) {
    Scalar total;
    for (auto [number, part] : llvm::enumerate(parts)) {
      Scalar value = convert(Scalar::load(part.data() + place, element), element, wide);
      if (combination.kind == comm::ReduceKind::PremulSum)
        value = scale(Arithmetic::Mul, value, combination.factors[number], wide);
      if (number == 0 || leavesOut(combination.kind, total, wide))
        total = value;
      else if (!leavesOut(combination.kind, value, wide))
        total = combine(arithmeticOf(combination.kind), total, value, wide);
    }
    if (combination.kind == comm::ReduceKind::Avg)
      total = scale(Arithmetic::Div, total, static_cast<double>(parts.size()), wide);
    convert(total, wide, element).store(result.data() + place, element);
  }
  return result;
}

/// One part of each member, in rank order.
llvm::Expected<Bytes> Meeting::combined(ArrayRef<Bytes> parts) const {
  auto reduction = cast<comm::ReductionOpInterface>(op().getOperation());
  Combination combination{reduction.getKind(), element, *ElementType::get(reduction.getAccumulation()), {}};
  if (std::optional<ArrayRef<double>> factors = reduction.getFactors())
    combination.factors = factors->slice(row * size(), size());
  return combineParts(combination, parts);
}

llvm::Error Meeting::reduce() {
  SmallVector<Bytes> parts;
  for (int64_t sender = 0; sender < size(); ++sender) {
    llvm::Expected<Bytes> whole = wholeOf(sender);
    if (!whole)
      return whole.takeError();
    parts.push_back(std::move(*whole));
  }
  llvm::Expected<Bytes> total = combined(parts);
  if (!total)
    return total.takeError();
  std::optional<int64_t> root = rootOf(op(), row);
  for (int64_t receiver = 0; receiver < size(); ++receiver)
    if (llvm::Error error = give(receiver, root && receiver != *root ? parts[receiver] : *total))
      return error;
  return llvm::Error::success();
}

llvm::Error Meeting::reduceParts() {
  for (int64_t receiver = 0; receiver < size(); ++receiver) {
    SmallVector<Bytes> parts;
    for (int64_t sender = 0; sender < size(); ++sender) {
      llvm::Expected<Bytes> part = partFor(sender, receiver);
      if (!part)
        return part.takeError();
      parts.push_back(std::move(*part));
    }
    llvm::Expected<Bytes> total = combined(parts);
    if (!total)
      return total.takeError();
    if (llvm::Error error = give(receiver, *total))
      return error;
  }
  return llvm::Error::success();
}

llvm::Error Meeting::run() {
  return llvm::TypeSwitch<Operation *, llvm::Error>(op())
      .Case<comm::AllToAllOp, comm::AllToAllVOp, comm::ScatterOp>([&](auto) { return exchange(); })
      .Case<comm::AllGatherOp, comm::AllGatherVOp, comm::GatherOp>([&](auto) { return collect(); })
      .Case<comm::AllReduceOp, comm::ReduceOp>([&](auto) { return reduce(); })
      .Case<comm::ReduceScatterOp, comm::ReduceScatterVOp>([&](auto) { return reduceParts(); })
      .Case<comm::BroadcastOp>([&](auto) { return broadcast(); })
      .Case([&](comm::PermuteOp op) { return permute(op); })
      .Default([](Operation *) { return makeError("is not defined here"); });
}

llvm::Error reference::carryOut(MutableArrayRef<Contribution> members, int64_t row) {
  if (isa<comm::BarrierOp>(members.front().op))
    return llvm::Error::success();
  return Meeting(members, row).run();
}
