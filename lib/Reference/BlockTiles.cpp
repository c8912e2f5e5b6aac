// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- BlockTiles.cpp - what a block does with tiles -----------------------===//

#include "BlockAgent.h"

#include "pkb/Support/Error.h"

using namespace mlir;
using namespace pkb;
using namespace pkb::reference;

/// A tile of the type of `tile`, with room for what `chunk` has.
Tile BlockAgent::emptyTile(Value tile, Value chunk) {
  Type type = cast<xfer::TileType>(tile.getType()).getElementType();
  auto vector = dyn_cast<VectorType>(type);
  Tile empty{*ElementType::get(vector ? vector.getElementType() : type), vector ? vector.getNumElements() : 1, {}};
  empty.bytes.resize(chunks.lookup(chunk).length * empty.lanes * empty.element.bytes);
  return empty;
}

llvm::Expected<BlockAgent::Place> BlockAgent::placeOfMessage(Value memory, Value part, Value at, Value chunk,
                                                             const Tile &tile) {
  const Chunk &piece = chunks.lookup(chunk);
  int64_t each = tile.lanes * tile.element.bytes;
  int64_t first = part ? numbers.lookup(part) * pipeline.getElements() : at ? numbers.lookup(at) : 0;
  Place place{nullptr, (first + piece.start) * each, piece.length * each};
  if (place.size == 0)
    return place;
  if (auto select = memory.getDefiningOp<xfer::SelectOp>()) {
    int64_t number = numbers.lookup(select.getRank());
    if (number < 0 || number >= static_cast<int64_t>(select.getTensors().size()))
      return makeError("selects tensor ", number, " of ", select.getTensors().size());
    memory = select.getTensors()[number];
  }
  const std::optional<Window> &tensor = tensors[xfer::argumentBehind(memory).getArgNumber()];
  if (!tensor)
    return makeError("touches a tensor that does not exist on this rank");
  const Window *window = &*tensor;
  if (!isa<BlockArgument>(memory)) { // another order of its elements
    auto [known, fresh] = views.try_emplace(memory, *tensor);
    if (fresh) {
      llvm::Expected<Window> view = windowOf(memory.getType(), Tensor{tensor->memory, tensor->offset});
      if (!view)
        return view.takeError();
      known->second = std::move(*view);
    }
    window = &known->second;
  }
  int64_t all = window->count() * window->element.bytes;
  if (place.begin < 0 || place.begin + place.size > all)
    return makeError("touches bytes [", place.begin, ", ", place.begin + place.size, ") of a tensor of ", all);
  place.window = window;
  return place;
}

BlockAgent::Result BlockAgent::runLoad(xfer::LoadOp load) {
  Tile tile = emptyTile(load.getTile(), load.getChunk());
  llvm::Expected<Place> place = placeOfMessage(load.getSource(), load.getPart(), load.getAt(), load.getChunk(), tile);
  if (!place)
    return place.takeError();
  if (place->window)
    place->window->read(place->begin, tile.bytes);
  tiles[load.getTile()] = std::move(tile);
  return Progress::Ran;
}

BlockAgent::Result BlockAgent::runStore(xfer::StoreOp store) {
  const Tile &tile = tiles[store.getTile()];
  llvm::Expected<Place> place = placeOfMessage(store.getDest(), store.getPart(), store.getAt(), store.getChunk(), tile);
  if (!place)
    return place.takeError();
  if (place->size > static_cast<int64_t>(tile.bytes.size()))
    return makeError("stores ", place->size, " bytes of a tile of ", tile.bytes.size());
  if (place->window)
    place->window->write(place->begin, ArrayRef(tile.bytes).take_front(place->size));
  return Progress::Ran;
}

/// Where in a region `source` pushes this chunk.
SlotAddress BlockAgent::slotOf(Value buffer, int64_t source, const Chunk &chunk) {
  auto type = cast<xfer::SymmType>(buffer.getType());
  int64_t half = type.getParities() == 1 ? 0 : call % 2, bytes = xfer::elementBytes(type.getElementType());
  if (type.getProtocol() == xfer::Protocol::Lines) // at its place in the message
    return {true, half, source, bufferOffsets.lookup(buffer) + chunk.start * bytes};
  int64_t slot = (source * static_cast<int64_t>(kernel.getSchedule().getBlocks()) + block) * type.getSlots() +
                 chunk.step % type.getSlots();
  return {false, half, source, bufferOffsets.lookup(buffer) + slot * type.getChunk() * bytes};
}

BlockAgent::Result BlockAgent::runPut(xfer::PutOp put) {
  if (put.getMechanism() == xfer::Mechanism::CopyEngine) // a transfer before the launch has carried it out
    return Progress::Ran;
  const Tile &tile = tiles[put.getTile()];
  auto type = cast<xfer::SymmType>(put.getBuffer().getType());
  int64_t room = type.getChunk() * xfer::elementBytes(type.getElementType());
  if (static_cast<int64_t>(tile.bytes.size()) > room)
    return makeError("writes ", tile.bytes.size(), " bytes into a slot of ", room);
  SmallVector<int64_t> receivers = targets(put.getPeer());
  if (put.getSelf())
    receivers.push_back(position);
  for (int64_t target : receivers)
    if (llvm::Error error =
            view.write(target, slotOf(put.getBuffer(), position, chunks.lookup(put.getChunk())), tile.bytes))
      return error;
  return Progress::Ran;
}

/// Fills tiles of known size with what `sources` have pushed. A read of LL lines waits for them.
BlockAgent::Result BlockAgent::readSlots(Value buffer, ArrayRef<int64_t> sources, Value chunk,
                                         MutableArrayRef<Tile> read) {
  const Chunk &place = chunks.lookup(chunk);
  bool lines = cast<xfer::SymmType>(buffer.getType()).getProtocol() == xfer::Protocol::Lines;
  for (auto [source, tile] : llvm::zip_equal(sources, read))
    if (lines && !view.arrived(slotOf(buffer, source, place), tile.bytes.size()))
      return Progress::Blocked;
  for (auto [source, tile] : llvm::zip_equal(sources, read))
    if (llvm::Error error = view.read(source, slotOf(buffer, source, place), tile.bytes))
      return error;
  return Progress::Ran;
}

BlockAgent::Result BlockAgent::runConsume(xfer::ConsumeOp consume) {
  Tile tile = emptyTile(consume.getTile(), consume.getChunk());
  Result result = readSlots(consume.getBuffer(), numbers.lookup(consume.getPeer()), consume.getChunk(), tile);
  if (result)
    tiles[consume.getTile()] = std::move(tile);
  return result;
}

BlockAgent::Result BlockAgent::runContributions(xfer::ContributionsOp contributions) {
  Value own = contributions.getOwn(); // without it this rank has put its chunk to itself
  SmallVector<int64_t> sources;
  for (int64_t source = 0; source < size; ++source)
    if (!own || source != position)
      sources.push_back(source);
  SmallVector<Tile> read(sources.size(), emptyTile(contributions.getTiles().front(), contributions.getChunk()));
  Result result = readSlots(contributions.getBuffer(), sources, contributions.getChunk(), read);
  if (!result || *result == Progress::Blocked)
    return result;
  for (auto [source, tile] : llvm::zip_equal(sources, read))
    tiles[contributions.getTiles()[source]] = std::move(tile);
  if (own) {
    Tile mine = tiles[own];
    tiles[contributions.getTiles()[position]] = std::move(mine);
  }
  return Progress::Ran;
}

BlockAgent::Result BlockAgent::runMap(xfer::MapOp map) {
  // Values of the body are numbered once, then the body runs for each element.
  Block &body = map.getBody().front();
  DenseMap<Value, unsigned> numberOf;
  for (BlockArgument argument : body.getArguments())
    numberOf[argument] = argument.getArgNumber();
  SmallVector<std::pair<Operation *, SmallVector<unsigned>>> code;
  for (Operation &op : body.without_terminator()) {
    SmallVector<unsigned> operands;
    for (Value operand : op.getOperands())
      operands.push_back(numberOf.lookup(operand));
    if (op.getNumResults() != 1)
      return makeError("must have operations of one result in its body, got: ", op.getName());
    unsigned number = numberOf.size();
    numberOf[op.getResult(0)] = number;
    code.emplace_back(&op, std::move(operands));
  }
  unsigned yielded = numberOf.lookup(cast<xfer::YieldOp>(body.getTerminator()).getValues().front());

  SmallVector<const Tile *> inputs;
  for (Value tile : map.getTiles())
    inputs.push_back(&tiles[tile]);
  Tile result = emptyTile(map.getResult(), currentChunk);
  size_t count = inputs.empty() ? result.bytes.size() / result.element.bytes
                                : inputs.front()->bytes.size() / inputs.front()->element.bytes;
  result.bytes.resize(count * result.element.bytes);
  SmallVector<Scalar> values(numberOf.size()), operands;
  for (size_t i = 0; i < count; ++i) {
    for (auto [number, input] : llvm::enumerate(inputs))
      values[number] = Scalar::load(input->bytes.data() + i * input->element.bytes, input->element);
    for (auto [number, instruction] : llvm::enumerate(code)) {
      operands.clear();
      for (unsigned operand : instruction.second)
        operands.push_back(values[operand]);
      std::optional<Scalar> value = evaluate(instruction.first, operands);
      if (!value)
        return makeError("has ", instruction.first->getName(), " in its body, which has no meaning here");
      values[inputs.size() + number] = *value;
    }
    values[yielded].store(result.bytes.data() + i * result.element.bytes, result.element);
  }
  tiles[map.getResult()] = std::move(result);
  return Progress::Ran;
}
