//===- CollectiveTables.cpp - what all ranks say of a collective ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Frontend/CollectiveTables.h"
#include "dialects/Aten/IR/AtenJson.h"
#include "lib/Frontend/Program.h"
#include "pkb/Support/Error.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace pkb;
using namespace pkb::frontend;

namespace {
/// One call of one rank, its tensors by their numbers of elements.
struct Call {
  int64_t rank = 0;
  const RankProgram *program = nullptr;
  const Event *event = nullptr;
  SmallVector<int64_t> inputs, outputs;
  // Elements that go to and come from each position of the row; empty: the
  // collective has no parts, or this rank has none.
  SmallVector<int64_t> sent, received;

  std::string getLine() const { return program->where(event->site); }
};

class TableBuilder {
public:
  TableBuilder(const Bundle &bundle, const Exchange &exchange)
      : bundle(bundle), exchange(exchange),
        size(exchange.rows.front().size()) {}

  Expected<CollectiveTables> run();

private:
  Error readCall(int64_t rank, ArrayRef<int64_t> row);
  Error readSizes(Call &call, StringRef key, SmallVectorImpl<int64_t> &sizes);
  Error readParts(Call &call, int64_t root, int64_t position);
  Expected<SmallVector<int64_t>> cutRows(const Call &call, StringRef inputs,
                                         StringRef splits, ArrayRef<int64_t> sizes);
  Error checkParts(ArrayRef<Call> row) const;
  Expected<int64_t> readRoot(const Call &call) const;
  static Expected<double> readFactor(const Call &call);
  void setCounts();

  const Bundle &bundle;
  const Exchange &exchange;
  int64_t size; // of a row
  StringRef name;
  std::vector<Call> calls; // of all ranks, row by row
  CollectiveTables tables;
};
} // namespace


/// The tensors of the list `key`.
static Expected<SmallVector<const Tensor *>> readTensors(const Call &call,
                                                         StringRef key) {
  const json::Array *list = call.event->json->getArray(key);
  if (!list)
    return makeError("has no list '", key, "'");
  SmallVector<const Tensor *> tensors;
  for (const json::Value &value : *list) {
    Expected<int64_t> id = aten::integerFromJson(value);
    if (!id)
      return prefixError(key, id.takeError());
    Expected<int64_t> index = call.program->getTensor(*id);
    if (!index)
      return index.takeError();
    tensors.push_back(&call.program->tensors[*index]);
  }
  return tensors;
}

Error TableBuilder::readSizes(Call &call, StringRef key,
                              SmallVectorImpl<int64_t> &sizes) {
  auto tensors = readTensors(call, key);
  if (!tensors)
    return tensors.takeError();
  for (const Tensor *tensor : *tensors)
    sizes.push_back(countElements(*tensor));
  return Error::success();
}

Expected<int64_t> TableBuilder::readRoot(const Call &call) const {
  auto root = call.event->json->getInteger("root");
  if (!root || *root < 0 || *root >= size)
    return makeError("root must be one of the ", size, " ranks of the group, got: ",
                     root ? std::to_string(*root) : "none");
  return *root;
}

Expected<double> TableBuilder::readFactor(const Call &call) {
  const json::Value *value = call.event->json->get("factor");
  if (auto number = value ? value->getAsNumber() : std::nullopt)
    return *number;
  auto text = value ? value->getAsString() : std::nullopt;
  double factor;
  if (!text || text->getAsDouble(factor))
    return makeError("has no factor, which premul_sum needs");
  return factor;
}

/// The parts of one flat tensor, by the rows of its dimension 0 that 'splits'
/// gives, else of equal size.
Expected<SmallVector<int64_t>>
TableBuilder::cutRows(const Call &call, StringRef tensors, StringRef splits,
                      ArrayRef<int64_t> sizes) {
  const json::Object *object = call.event->json->getObject("splits");
  const json::Array *rows = object ? object->getArray(splits) : nullptr;
  int64_t total = sizes.front();
  if (!rows) {
    if (total % size)
      return makeError(tensors.drop_back(), " of ", total,
                       " elements cannot be cut into ", size, " equal parts");
    return SmallVector<int64_t>(size, total / size);
  }
  auto described = readTensors(call, tensors);
  if (!described)
    return described.takeError();
  ArrayRef<int64_t> shape = (*described).front()->sizes;
  int64_t rowElements = 1, sum = 0;
  for (int64_t extent : shape.drop_front(shape.empty() ? 0 : 1))
    rowElements *= extent;
  SmallVector<int64_t> parts;
  for (const json::Value &value : *rows) {
    auto count = value.getAsInteger();
    if (!count) {
      std::string text;
      raw_string_ostream(text) << value;
      return makeError("has the symbolic split ", text,
                       ", which is not supported; export without --dynamic");
    }
    if (*count < 0)
      return makeError("split sizes must not be negative, got: ", *count);
    sum += *count;
    parts.push_back(*count * rowElements);
  }
  int64_t extent = shape.empty() ? 1 : shape.front();
  if (int64_t(parts.size()) != size || sum != extent)
    return makeError(splits, "put split sizes must be ", size,
                     " numbers that add up to dimension 0, ", extent, ", got ",
                     parts.size(), " that add up to ", sum);
  return parts;
}

/// What the call exchanges with each position of its row.
Error TableBuilder::readParts(Call &call, int64_t root, int64_t position) {
  auto mustHave = [&](ArrayRef<int64_t> list, StringRef what,
                      ArrayRef<int64_t> numbers) -> Error {
    if (is_contained(numbers, int64_t(list.size())))
      return Error::success();
    std::string text;
    raw_string_ostream os(text);
    interleave(numbers, os, " or ");
    return makeError("must have ", text, " ", what, " on rank ", call.rank,
                     ", got: ", list.size());
  };
  auto oneOrAll = [&](bool all) {
    return all ? SmallVector<int64_t>{1, size} : SmallVector<int64_t>{1};
  };
  bool isRoot = position == root;
  bool gathers = name == "all_gather" || (name == "gather" && isRoot);
  bool scatters = name == "reduce_scatter" || name == "all_to_all" ||
                  (name == "scatter" && isRoot);
  SmallVector<int64_t> inputs = oneOrAll(scatters);
  SmallVector<int64_t> outputs = oneOrAll(gathers || name == "all_to_all");
  if (name == "barrier")
    inputs = outputs = {0};
  else if (name == "scatter" && !isRoot)
    inputs = {0};
  else if (name == "gather" && !isRoot)
    outputs = {0};
  else if (name == "reduce" && !isRoot)
    outputs = {0, 1};
  if (Error error = mustHave(call.inputs, "inputs", inputs))
    return error;
  if (Error error = mustHave(call.outputs, "outputs", outputs))
    return error;

  auto partsOf = [&](StringRef tensors, StringRef splits,
                     ArrayRef<int64_t> sizes) -> Expected<SmallVector<int64_t>> {
    if (sizes.size() > 1)
      return SmallVector<int64_t>(sizes);
    return cutRows(call, tensors, splits, sizes);
  };
  if (scatters) {
    auto parts = partsOf("inputs", "in", call.inputs);
    if (!parts)
      return parts.takeError();
    call.sent = std::move(*parts);
  } else if (name == "all_gather" || name == "gather") {
    call.sent.assign(size, call.inputs.front());
  }
  if (gathers || name == "all_to_all") {
    auto parts = partsOf("outputs", "out", call.outputs);
    if (!parts)
      return parts.takeError();
    call.received = std::move(*parts);
  } else if (name == "reduce_scatter" || name == "scatter") {
    call.received.assign(size, call.outputs.front());
  }
  return Error::success();
}

Error TableBuilder::readCall(int64_t rank, ArrayRef<int64_t> row) {
  Call call;
  call.rank = rank;
  call.program = &bundle.getProgram(rank);
  call.event = &call.program->events[exchange.eventOf[rank]];
  name = call.event->json->getString("name").value_or("");
  if (Error error = readSizes(call, "inputs", call.inputs))
    return error;
  if (Error error = readSizes(call, "outputs", call.outputs))
    return error;
  int64_t root = -1;
  if (is_contained({"broadcast", "reduce", "gather", "scatter"}, name)) {
    Expected<int64_t> given = readRoot(call);
    if (!given)
      return given.takeError();
    root = *given;
    if (rank == row.front())
      tables.roots.push_back(row[root]);
  }
  if (call.event->json->getString("reduce").value_or("") == "premul_sum") {
    Expected<double> factor = readFactor(call);
    if (!factor)
      return factor.takeError();
    tables.factors.push_back(*factor);
  }
  int64_t position = find(row, rank) - row.begin();
  if (Error error = readParts(call, root, position))
    return error;
  calls.push_back(std::move(call));
  return Error::success();
}

/// What a rank sends is what its peer expects.
Error TableBuilder::checkParts(ArrayRef<Call> row) const {
  for (auto [from, sender] : enumerate(row))
    for (auto [to, receiver] : enumerate(row)) {
      if (sender.sent.empty() || receiver.received.empty() ||
          sender.sent[to] == receiver.received[from])
        continue;
      return makeError("rank ", sender.rank, " (", sender.getLine(), ") sends ",
                       sender.sent[to], " elements to rank ", receiver.rank, " (",
                       receiver.getLine(), "), which expects ",
                       receiver.received[from],
                       "; sizes must match on all ranks");
    }
  // PyTorch refuses other lists too.
  for (const Call &call : row)
    if (is_contained({"gather", "scatter"}, name) &&
        (!all_equal(call.sent) || !all_equal(call.received)))
      return makeError("tensors of the list must have one size on rank ",
                       call.rank, " (", call.getLine(), ")");
  return Error::success();
}

void TableBuilder::setCounts() {
  for (const Call &call : calls)
    if (name == "all_gather")
      tables.counts.push_back(call.sent.front());
    else if (name == "reduce_scatter")
      tables.counts.push_back(call.received.front());
    else if (name == "all_to_all")
      append_range(tables.counts, call.sent);
  tables.even = all_equal(tables.counts);
}

Expected<CollectiveTables> TableBuilder::run() {
  for (ArrayRef<int64_t> row : exchange.rows) {
    size_t first = calls.size();
    for (int64_t rank : row)
      if (Error error = readCall(rank, row))
        return std::move(error);
    if (Error error = checkParts(ArrayRef(calls).drop_front(first)))
      return std::move(error);
  }
  setCounts();
  return std::move(tables);
}

Expected<CollectiveTables> frontend::makeTables(const Bundle &bundle,
                                                const Exchange &exchange) {
  return TableBuilder(bundle, exchange).run();
}
