// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- CollectiveKernels.cpp - one collective as one kernel -------------===//
//
// All collectives here are one exchange: a rank pushes a message to some other ranks and consumes one from some. They differ in who sends to whom,
// which message goes where, and what is done with those that arrive. Every rank signals every other one for each chunk, also where no data goes:
// what makes slots reusable (docs/Rationale/VerifyXfer.md) rests on it.
//
//===----------------------------------------------------------------------===//

#include "passes/Lowering/CollectiveKernels.h"
#include "passes/Lowering/Combination.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace pkb;
using xfer::Collective;

namespace {

/// A collective as it concerns the ranks of one row, which are numbered from 0.
struct Exchange {
  Collective collective = Collective::None;
  std::optional<Combination> combination; // of those that reduce
  std::optional<int64_t> root;
  SmallVector<int64_t> sources; // of permute: by rank, -1 if it gets nothing
  SmallVector<int64_t> counts;  // of uneven forms, in elements of the tensors

  bool reduces() const { return combination.has_value(); }
  /// A rank has another message for each rank.
  bool isPersonal() const {
    return collective == Collective::AllToAll || collective == Collective::ReduceScatter || collective == Collective::Scatter;
  }
  /// A rank keeps a message of each rank.
  bool isCollected() const {
    return collective == Collective::AllToAll || collective == Collective::AllGather || collective == Collective::Gather;
  }
  /// `source` has a message for `target`.
  bool sends(int64_t source, int64_t target) const;
  bool operator==(const Exchange &other) const {
    return root == other.root && sources == other.sources && counts == other.counts &&
           (!combination || combination->factors == other.combination->factors);
  }
};

/// Where a message is: in a tensor of the kernel, from some element on, of some length.
struct Place {
  Value tensor, part, at, chunk;
};

/// Builds the body of one kernel.
class ExchangeBuilder {
public:
  ExchangeBuilder(OpBuilder &builder, comm::CollectiveOpInterface op, xfer::ScheduleAttr schedule, comm::GroupAttr group,
                  const Exchange &exchange)
      : builder(builder), op(op), schedule(schedule), group(group), exchange(exchange), loc(op.getLoc()), size(group.getSize()) {}

  LogicalResult build(StringRef name, TypeRange operands);
  /// With messages that `ends` computes; `created` is told of the kernel.
  LogicalResult buildFused(StringRef name, StringRef summary, MessageEnds &ends,
                           function_ref<void(xfer::KernelOp)> created);
  /// As a phase of `kernel`, with messages that `ends` computes.
  LogicalResult append(xfer::KernelOp kernel, MessageEnds &ends);

private:
  int64_t messageElements(TypeRange operands);
  xfer::KernelOp createKernel(StringRef name, int64_t elements, Type element);
  void buildBody(xfer::KernelOp kernel, int64_t elements, Type moved);
  void produce(Block &block);
  void consume(Block &block);

  SmallVector<int64_t> ranksThat(function_ref<bool(int64_t)> predicate);
  void onRanks(OpBuilder &at, ArrayRef<int64_t> ranks, function_ref<void(OpBuilder &)> body);
  Value table(OpBuilder &at, ArrayRef<int64_t> values, Value rank, Value other = {});
  int64_t count(int64_t source, int64_t target) const;
  Value entry(OpBuilder &at, function_ref<int64_t(int64_t, int64_t)> number, Value source, Value target);
  Value clipped(OpBuilder &at, Value chunk, Value source, Value target);
  Place input(OpBuilder &at, Value piece, Value source, Value target);
  Place result(OpBuilder &at, Value piece, Value source, Value target);
  Place tensorOf(OpBuilder &at, ValueRange tensors, Value rank);
  Value load(OpBuilder &at, const Place &place);
  void store(OpBuilder &at, Value value, const Place &place);
  Value put(OpBuilder &at, Value value, Value peer, Value chunk);
  Value me(OpBuilder &at) { return xfer::OwnRankOp::create(at, loc, at.getIndexType()); }
  bool inBand() const { return schedule.getMechanism() == xfer::Mechanism::LL; }
  bool uneven() const { return !exchange.counts.empty(); }

  OpBuilder &builder;
  comm::CollectiveOpInterface op;
  xfer::ScheduleAttr schedule;
  comm::GroupAttr group;
  const Exchange &exchange;
  Location loc;
  int64_t size, scale = 1; // elements of a tile per element of a tensor
  xfer::TileType tile;
  Value buffer, flags;
  ValueRange inputs, results;
  MessageEnds *ends = nullptr; // of a fused kernel
};

} // namespace

bool Exchange::sends(int64_t source, int64_t target) const {
  switch (collective) {
  case Collective::Broadcast:
  case Collective::Scatter:
    return source == *root;
  case Collective::Reduce:
  case Collective::Gather:
    return target == *root;
  case Collective::Permute:
    return sources[target] == source;
  case Collective::Barrier:
    return false;
  default:
    return true;
  }
}

//===----------------------------------------------------------------------===//
// The kernel
//===----------------------------------------------------------------------===//

/// Elements of the longest message, in elements of the tensors.
int64_t ExchangeBuilder::messageElements(TypeRange operands) {
  if (uneven())
    return *llvm::max_element(exchange.counts);
  if (operands.empty())
    return 0;
  int64_t elements = cast<MemRefType>(operands.front()).getNumElements();
  return op.getPartCount() > 1 ? elements / size : elements;
}

xfer::KernelOp ExchangeBuilder::createKernel(StringRef name, int64_t elements, Type element) {
  std::string summary;
  llvm::raw_string_ostream text(summary);
  if (auto place = loc->findInstanceOf<FileLineColLoc>())
    text << place.getFilename().getValue() << ":" << place.getLine() << " ";
  text << op->getName().stripDialect();
  if (exchange.reduces() && exchange.combination->kind != comm::ReduceKind::Sum)
    text << " (" << comm::stringifyReduceKind(exchange.combination->kind) << ")";
  if (element)
    text << " of " << elements << " x " << element;
  MLIRContext *context = builder.getContext();
  comm::ReduceKindAttr kind;
  DenseF64ArrayAttr factors;
  if (exchange.reduces() && exchange.combination->kind != comm::ReduceKind::Sum)
    kind = comm::ReduceKindAttr::get(context, exchange.combination->kind);
  if (exchange.reduces() && !exchange.combination->factors.empty())
    factors = builder.getDenseF64ArrayAttr(exchange.combination->factors);
  DenseI64ArrayAttr sources, counts;
  if (!exchange.sources.empty())
    sources = builder.getDenseI64ArrayAttr(exchange.sources);
  if (uneven())
    counts = builder.getDenseI64ArrayAttr(llvm::map_to_vector(exchange.counts, [&](int64_t number) { return number * scale; }));
  return xfer::KernelOp::create(builder, loc, builder.getStringAttr(name), group, schedule,
                                op->getAttrOfType<FloatAttr>(xfer::kPredictedAttrName), builder.getStringAttr(summary),
                                xfer::CollectiveAttr::get(context, exchange.collective), UnitAttr(), kind, factors,
                                exchange.root ? builder.getI64IntegerAttr(*exchange.root) : IntegerAttr(), sources, counts);
}

LogicalResult ExchangeBuilder::build(StringRef name, TypeRange operands) {
  Type element;
  int64_t bytes = 1;
  if (!operands.empty()) {
    element = cast<MemRefType>(operands.front()).getElementType();
    bytes = xfer::elementBytes(element);
    if (bytes == 0 || 16 % bytes != 0)
      return op.emitOpError() << "has no kernel for elements of type " << element;
  }
  if (exchange.reduces())
    if (std::string why = exchange.combination->refusal(); !why.empty())
      return op.emitOpError() << why;
  int64_t elements = messageElements(operands);
  Type moved = element ? element : builder.getI8Type();
  if (exchange.reduces()) {
    moved = computedAs(element);
    scale = bytes / xfer::elementBytes(moved);
  }
  xfer::KernelOp kernel = createKernel(name, elements, element);
  Block &entry = kernel.getBody().emplaceBlock();
  for (Type type : operands)
    entry.addArgument(uneven() ? MemRefType::get({ShapedType::kDynamic}, element) : type, loc);
  size_t numInputs = op.getCollectiveInputs().size();
  inputs = ValueRange(entry.getArguments()).take_front(numInputs);
  results = ValueRange(entry.getArguments()).drop_front(numInputs);

  buildBody(kernel, elements, moved);
  return success();
}

LogicalResult ExchangeBuilder::buildFused(StringRef name, StringRef summary, MessageEnds &fused, function_ref<void(xfer::KernelOp)> created) {
  auto type = cast<RankedTensorType>(op.getCollectiveInputs().front().getType());
  if (exchange.reduces())
    if (std::string why = exchange.combination->refusal(); !why.empty())
      return op.emitOpError() << why;
  ends = &fused;
  int64_t elements = type.getNumElements() / op.getPartCount();
  xfer::KernelOp kernel = createKernel(name, elements, type.getElementType());
  kernel.setFused(true);
  kernel.setSummary(summary);
  kernel.getBody().emplaceBlock();
  created(kernel);
  buildBody(kernel, elements, type.getElementType());
  return success();
}

LogicalResult ExchangeBuilder::append(xfer::KernelOp kernel, MessageEnds &fused) {
  auto type = cast<RankedTensorType>(op.getCollectiveInputs().front().getType());
  if (exchange.reduces())
    if (std::string why = exchange.combination->refusal(); !why.empty())
      return op.emitOpError() << why;
  ends = &fused;
  buildBody(kernel, type.getNumElements() / op.getPartCount(), type.getElementType());
  auto pipeline = cast<xfer::PipelineOp>(kernel.getEntry().back());
  MLIRContext *context = builder.getContext();
  pipeline.setImplementsAttr(xfer::CollectiveAttr::get(context, exchange.collective));
  if (exchange.reduces() && exchange.combination->kind != comm::ReduceKind::Sum)
    pipeline.setReductionAttr(comm::ReduceKindAttr::get(context, exchange.combination->kind));
  return success();
}

void ExchangeBuilder::buildBody(xfer::KernelOp kernel, int64_t elements, Type moved) {
  OpBuilder at = OpBuilder::atBlockEnd(&kernel.getEntry());
  tile = xfer::TileType::get(at.getContext(), moved);
  int64_t chunk = schedule.getChunk() / xfer::elementBytes(moved);
  int64_t parities = schedule.getMechanism() == xfer::Mechanism::CopyEngine ? 1 : 2; // copies have fixed addresses
  if (exchange.collective != Collective::Barrier)
    buffer = xfer::SymmBufferOp::create(at, loc,
                                        xfer::SymmType::get(at.getContext(), moved, chunk, schedule.getSlots(), parities,
                                                            inBand() ? xfer::Protocol::Lines : xfer::Protocol::Staged));
  flags = xfer::FlagsOp::create(at, loc, xfer::FlagsType::get(at.getContext()));
  auto pipeline = xfer::PipelineOp::create(at, loc, at.getI64IntegerAttr(elements * scale), at.getI64IntegerAttr(chunk),
                                           xfer::CollectiveAttr(), comm::ReduceKindAttr());
  for (Region *region : {&pipeline.getProduce(), &pipeline.getConsume()})
    region->emplaceBlock().addArgument(xfer::ChunkType::get(at.getContext()), loc);
  produce(pipeline.getProduce().front());
  consume(pipeline.getConsume().front());
}

//===----------------------------------------------------------------------===//
// Who and where
//===----------------------------------------------------------------------===//

SmallVector<int64_t> ExchangeBuilder::ranksThat(function_ref<bool(int64_t)> predicate) {
  SmallVector<int64_t> ranks;
  for (int64_t rank = 0; rank < size; ++rank)
    if (predicate(rank))
      ranks.push_back(rank);
  return ranks;
}

/// Builds `body` for some ranks only, if there are any.
void ExchangeBuilder::onRanks(OpBuilder &at, ArrayRef<int64_t> ranks, function_ref<void(OpBuilder &)> body) {
  if (ranks.empty())
    return;
  if (static_cast<int64_t>(ranks.size()) == size)
    return body(at);
  auto only = xfer::OnRanksOp::create(at, loc, ranks);
  OpBuilder inside = OpBuilder::atBlockEnd(&only.getBody().emplaceBlock());
  body(inside);
}

Value ExchangeBuilder::table(OpBuilder &at, ArrayRef<int64_t> values, Value rank, Value other) {
  return xfer::TableOp::create(at, loc, at.getIndexType(), at.getDenseI64ArrayAttr(values), rank, other);
}

/// Elements of the message from `source` to `target`, in elements of a tile.
int64_t ExchangeBuilder::count(int64_t source, int64_t target) const {
  bool perPair = exchange.collective == Collective::AllToAll;
  int64_t index = perPair ? source * size + target : exchange.isPersonal() ? target : source;
  return exchange.counts[index] * scale;
}

/// A number that belongs to a message.
Value ExchangeBuilder::entry(OpBuilder &at, function_ref<int64_t(int64_t, int64_t)> number, Value source, Value target) {
  SmallVector<int64_t> values;
  if (exchange.collective == Collective::AllToAll) {
    for (int64_t from = 0; from < size; ++from)
      for (int64_t to = 0; to < size; ++to)
        values.push_back(number(from, to));
    return table(at, values, source, target);
  }
  for (int64_t rank = 0; rank < size; ++rank)
    values.push_back(number(rank, rank));
  return table(at, values, exchange.isPersonal() ? target : source);
}

/// The piece of `chunk` that the message from `source` to `target` has.
Value ExchangeBuilder::clipped(OpBuilder &at, Value chunk, Value source, Value target) {
  if (!uneven())
    return chunk;
  Value elements = entry(at, [&](int64_t from, int64_t to) { return count(from, to); }, source, target);
  return xfer::ClipOp::create(at, loc, chunk.getType(), chunk, elements);
}

/// The tensor that belongs to `rank` among `tensors`, and in `part` which of its messages, if it holds several.
Place ExchangeBuilder::tensorOf(OpBuilder &at, ValueRange tensors, Value rank) {
  if (ends)
    return {{}, size == 1 ? Value() : rank, {}, {}};
  if (tensors.size() == 1 || size == 1)
    return {tensors.front(), size == 1 ? Value() : rank, {}, {}};
  return {xfer::SelectOp::create(at, loc, tensors.front().getType(), rank, tensors), {}, {}, {}};
}

/// Where `source`, which is this rank, has its message for `target`; `piece` is what a chunk has of it.
Place ExchangeBuilder::input(OpBuilder &at, Value piece, Value source, Value target) {
  Place place{ends ? Value() : inputs.front(), {}, {}, {}};
  if (exchange.isPersonal())
    place = tensorOf(at, inputs, target);
  place.chunk = piece;
  if (!uneven() || !place.part)
    return place;
  place.part = {};
  auto offset = [&](int64_t from, int64_t to) {
    int64_t sum = 0;
    for (int64_t before = 0; before < to; ++before)
      sum += count(from, before);
    return sum;
  };
  place.at = entry(at, offset, source, target);
  return place;
}

/// Where `target`, which is this rank, keeps the message of `source`; `piece` is what a chunk has of it.
Place ExchangeBuilder::result(OpBuilder &at, Value piece, Value source, Value target) {
  Place place{ends ? Value() : results.front(), {}, {}, {}};
  if (exchange.isCollected())
    place = tensorOf(at, results, source);
  place.chunk = piece;
  if (!uneven() || !place.part)
    return place;
  place.part = {};
  auto offset = [&](int64_t from, int64_t to) {
    int64_t sum = 0;
    for (int64_t before = 0; before < from; ++before)
      sum += count(before, to);
    return sum;
  };
  place.at = entry(at, offset, source, target);
  return place;
}

//===----------------------------------------------------------------------===//
// What happens to a chunk
//===----------------------------------------------------------------------===//

Value ExchangeBuilder::load(OpBuilder &at, const Place &place) {
  if (ends)
    return ends->load(at, place.part, place.chunk);
  return xfer::LoadOp::create(at, loc, tile, place.tensor, place.part, place.at, place.chunk);
}

void ExchangeBuilder::store(OpBuilder &at, Value value, const Place &place) {
  if (ends)
    return ends->store(at, value, place.part, place.chunk);
  xfer::StoreOp::create(at, loc, value, place.tensor, place.part, place.at, place.chunk);
}

Value ExchangeBuilder::put(OpBuilder &at, Value value, Value peer, Value chunk) {
  auto mechanism = xfer::MechanismAttr::get(at.getContext(), schedule.getMechanism());
  return xfer::PutOp::create(at, loc, xfer::TokenType::get(at.getContext()), value, buffer, peer, chunk, mechanism);
}

void ExchangeBuilder::produce(Block &block) {
  OpBuilder at = OpBuilder::atBlockEnd(&block);
  Value chunk = block.getArgument(0);
  auto sendsAway = [&](int64_t rank) {
    return llvm::any_of(llvm::seq<int64_t>(size), [&](int64_t peer) { return peer != rank && exchange.sends(rank, peer); });
  };
  // Who does not get the result of a reduction keeps its own input.
  auto keepsOwn = [&](int64_t rank) {
    return exchange.reduces() ? exchange.collective == Collective::Reduce && rank != *exchange.root : exchange.sends(rank, rank);
  };
  bool toAll = exchange.collective != Collective::Reduce && exchange.collective != Collective::Gather &&
               exchange.collective != Collective::Permute;
  SmallVector<int64_t> senders = ranksThat(sendsAway), keepers = ranksThat(keepsOwn);
  if (size == 1 && toAll && exchange.sends(0, 0)) // pushes to nobody, by the same text
    senders = {0};
  SmallVector<Value> tokens;
  bool kept = false;

  if (toAll && !exchange.isPersonal()) {
    onRanks(at, senders, [&](OpBuilder &inside) {
      Value own = uneven() || !exchange.reduces() ? me(inside) : Value();
      Value piece = clipped(inside, chunk, own, own);
      Value value = load(inside, input(inside, piece, own, own)), token = put(inside, value, Value(), piece);
      if (inside.getInsertionBlock() == &block)
        tokens.push_back(token);
      if ((kept = !exchange.reduces())) // the own message is already where it is read
        store(inside, value, result(inside, piece, own, own));
    });
  } else if (toAll) {
    onRanks(at, senders, [&](OpBuilder &inside) {
      auto peers = xfer::ForPeersOp::create(inside, loc);
      Block &body = peers.getBody().emplaceBlock();
      Value peer = body.addArgument(at.getIndexType(), loc);
      OpBuilder each = OpBuilder::atBlockEnd(&body);
      Value own = uneven() ? me(each) : Value(), piece = clipped(each, chunk, own, peer);
      put(each, load(each, input(each, piece, own, peer)), peer, piece);
    });
  } else {
    SmallVector<int64_t> targets(size, exchange.root.value_or(-1));
    for (auto [target, source] : llvm::enumerate(exchange.sources))
      if (source >= 0)
        targets[source] = target;
    onRanks(at, senders, [&](OpBuilder &inside) {
      Value own = me(inside);
      Value value = load(inside, input(inside, chunk, own, own));
      Value token = put(inside, value, table(inside, targets, own), chunk);
      if (inside.getInsertionBlock() == &block)
        tokens.push_back(token);
      if ((kept = exchange.collective == Collective::Reduce)) // the same ranks
        store(inside, value, result(inside, chunk, own, own));
    });
  }
  xfer::SignalOp::create(at, loc, flags, Value(), chunk, tokens, inBand());
  if (!kept)
    onRanks(at, keepers, [&](OpBuilder &inside) {
      Value own = me(inside), piece = clipped(inside, chunk, own, own);
      Value value = load(inside, input(inside, piece, own, own));
      store(inside, value, result(inside, piece, own, own));
    });
}

void ExchangeBuilder::consume(Block &block) {
  OpBuilder at = OpBuilder::atBlockEnd(&block);
  Value chunk = block.getArgument(0);
  Type token = xfer::TokenType::get(at.getContext());
  auto forPeers = [&](OpBuilder &outside, function_ref<void(OpBuilder &, Value)> body) {
    auto peers = xfer::ForPeersOp::create(outside, loc);
    Block &inside = peers.getBody().emplaceBlock();
    Value peer = inside.addArgument(at.getIndexType(), loc);
    OpBuilder each = OpBuilder::atBlockEnd(&inside);
    body(each, peer);
  };
  auto take = [&](OpBuilder &inside, Value peer, Value arrived) {
    Value own = uneven() ? me(inside) : Value(), piece = clipped(inside, chunk, peer, own);
    Value value = xfer::ConsumeOp::create(inside, loc, tile, buffer, peer, piece, arrived);
    store(inside, value, result(inside, piece, peer, own));
  };

  if (exchange.collective == Collective::AllGather || exchange.collective == Collective::AllToAll)
    return forPeers(at, [&](OpBuilder &each, Value peer) {
      take(each, peer, xfer::WaitOp::create(each, loc, token, flags, peer, chunk, inBand()));
    });

  Value arrived = xfer::WaitOp::create(at, loc, token, flags, Value(), chunk, inBand());
  if (exchange.reduces()) {
    auto combines = [&](int64_t rank) { return exchange.sends(rank, rank); };
    return onRanks(at, ranksThat(combines), [&](OpBuilder &inside) {
      Value own = exchange.isPersonal() || uneven() ? me(inside) : Value();
      Value piece = clipped(inside, chunk, own, own);
      SmallVector<Type> tiles(size, tile);
      Value mine = load(inside, input(inside, piece, own, own));
      auto all = xfer::ContributionsOp::create(inside, loc, tiles, buffer, mine, piece, arrived);
      store(inside, exchange.combination->build(inside, loc, all.getTiles()), result(inside, piece, own, own));
    });
  }
  auto gets = [&](int64_t rank) {
    return llvm::any_of(llvm::seq<int64_t>(size), [&](int64_t peer) { return peer != rank && exchange.sends(peer, rank); });
  };
  onRanks(at, ranksThat(gets), [&](OpBuilder &inside) {
    if (exchange.collective == Collective::Gather)
      return forPeers(inside, [&](OpBuilder &each, Value peer) { take(each, peer, arrived); });
    SmallVector<int64_t> sources = exchange.sources;
    if (sources.empty())
      sources.assign(size, *exchange.root);
    take(inside, table(inside, sources, me(inside)), arrived);
  });
}

//===----------------------------------------------------------------------===//
// From level L1
//===----------------------------------------------------------------------===//

static Collective collectiveOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, Collective>(op)
      .Case([](comm::AllReduceOp) { return Collective::AllReduce; })
      .Case<comm::AllGatherOp, comm::AllGatherVOp>([](auto) { return Collective::AllGather; })
      .Case<comm::AllToAllOp, comm::AllToAllVOp>([](auto) { return Collective::AllToAll; })
      .Case<comm::ReduceScatterOp, comm::ReduceScatterVOp>([](auto) { return Collective::ReduceScatter; })
      .Case([](comm::BroadcastOp) { return Collective::Broadcast; })
      .Case([](comm::ReduceOp) { return Collective::Reduce; })
      .Case([](comm::GatherOp) { return Collective::Gather; })
      .Case([](comm::ScatterOp) { return Collective::Scatter; })
      .Case([](comm::PermuteOp) { return Collective::Permute; })
      .Case([](comm::BarrierOp) { return Collective::Barrier; })
      .Default([](Operation *) { return Collective::None; });
}

/// What `op` is for the ranks of one row of its group.
static Exchange exchangeOf(comm::CollectiveOpInterface op, int64_t row) {
  Exchange exchange;
  Operation *any = op.getOperation();
  exchange.collective = collectiveOf(any);
  int64_t size = op.getGroup().getSize();
  if (auto reduction = dyn_cast<comm::ReductionOpInterface>(any)) {
    Type element = cast<RankedTensorType>(op.getCollectiveInputs().front().getType()).getElementType();
    exchange.combination = Combination{reduction.getKind(), element, reduction.getAccumulation(), {}};
    if (std::optional<ArrayRef<double>> factors = reduction.getFactors())
      exchange.combination->factors = SmallVector<double>(factors->slice(row * size, size));
  }
  if (auto rooted = dyn_cast<comm::RootedOpInterface>(any))
    exchange.root = rooted.getRootPosition(row);
  if (auto permute = dyn_cast<comm::PermuteOp>(any))
    for (int64_t rank : op.getGroup().getRow(row)) {
      std::optional<int64_t> sender = permute.getSender(rank);
      exchange.sources.push_back(sender ? *op.getGroup().getPositionOf(*sender) : -1);
    }
  if (auto uneven = dyn_cast<comm::UnevenOpInterface>(any)) {
    int64_t numbers = size * uneven.getCountsPerRank();
    exchange.counts = SmallVector<int64_t>(uneven.getCounts().slice(row * numbers, numbers));
  }
  return exchange;
}

/// What `op` is for all ranks; fails where those of different rows do different things.
static FailureOr<Exchange> commonExchangeOf(comm::CollectiveOpInterface op) {
  Exchange exchange = exchangeOf(op, 0);
  for (int64_t row = 1; row < op.getGroup().getNumRows(); ++row)
    if (!(exchangeOf(op, row) == exchange))
      return op.emitOpError() << "has another kernel for each row of its group, which cannot be fused";
  return exchange;
}

LogicalResult pkb::appendExchange(comm::CollectiveOpInterface op, xfer::KernelOp kernel, MessageEnds &ends) {
  FailureOr<Exchange> exchange = commonExchangeOf(op);
  if (failed(exchange))
    return failure();
  OpBuilder builder(op.getContext());
  return ExchangeBuilder(builder, op, kernel.getSchedule(), op.getGroup(), *exchange).append(kernel, ends);
}

LogicalResult pkb::buildExchangeKernel(OpBuilder &builder, comm::CollectiveOpInterface op, xfer::ScheduleAttr schedule,
                                       StringRef name, StringRef summary, MessageEnds &ends,
                                       function_ref<void(xfer::KernelOp)> created) {
  FailureOr<Exchange> exchange = commonExchangeOf(op);
  if (failed(exchange))
    return failure();
  return ExchangeBuilder(builder, op, schedule, op.getGroup(), *exchange).buildFused(name, summary, ends, created);
}

FailureOr<SmallVector<FlatSymbolRefAttr>> pkb::buildCollectiveKernels(OpBuilder &builder, comm::CollectiveOpInterface op, StringRef name,
                                                                      TypeRange operands) {
  auto schedule = op->getAttrOfType<xfer::ScheduleAttr>(xfer::kScheduleAttrName);
  if (!schedule)
    return op.emitOpError() << "must have a schedule (attribute " << xfer::kScheduleAttrName
                            << "); run pkb-select-mechanism first";
  comm::GroupAttr group = op.getGroup();
  std::vector<std::pair<Exchange, SmallVector<SmallVector<int64_t>>>> kinds; // with the rows that do the same
  for (int64_t row = 0; row < group.getNumRows(); ++row) {
    Exchange exchange = exchangeOf(op, row);
    if (exchange.collective == Collective::None)
      return op.emitOpError() << "has no kernel";
    auto same = llvm::find_if(kinds, [&](auto &kind) { return kind.first == exchange; });
    if (same == kinds.end())
      same = kinds.insert(kinds.end(), {exchange, {}});
    same->second.emplace_back(group.getRow(row));
  }
  SmallVector<FlatSymbolRefAttr> names;
  for (auto &[exchange, rows] : kinds) {
    std::string own = names.empty() ? name.str() : (name + "_" + Twine(names.size())).str();
    if (failed(ExchangeBuilder(builder, op, schedule, comm::GroupAttr::get(builder.getContext(), rows), exchange).build(own, operands)))
      return failure();
    names.push_back(FlatSymbolRefAttr::get(builder.getContext(), own));
  }
  return names;
}
