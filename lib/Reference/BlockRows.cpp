// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- BlockRows.cpp - what a block does with rows and lines ----------------===//
//
// A tile of rows holds the elements of one row after the other, a tile of single values one element per row. A device combines a row in an order of its own; here
// it is the order of the elements.
//
//===----------------------------------------------------------------------===//

#include "BlockAgent.h"
#include "Collectives.h"

#include "pkb/Support/Error.h"

using namespace mlir;
using namespace pkb;
using namespace pkb::reference;

static int64_t rowsOf(const Tile &tile) { return tile.bytes.size() / (tile.lanes * tile.element.bytes); }

BlockAgent::Result BlockAgent::runRowReduce(xfer::RowReduceOp reduce) {
  const Tile &rows = tiles[reduce.getRows()];
  Tile result{rows.element, 1, Bytes(rowsOf(rows) * rows.element.bytes)};
  int64_t bytes = rows.element.bytes;
  for (int64_t row = 0; row < rowsOf(rows); ++row) {
    const char *first = rows.bytes.data() + row * rows.lanes * bytes;
    Scalar total = Scalar::load(first, rows.element);
    for (int64_t lane = 1; lane < rows.lanes; ++lane)
      total = combine(arithmeticOf(reduce.getKind()), total, Scalar::load(first + lane * bytes, rows.element), rows.element);
    total.store(result.bytes.data() + row * bytes, rows.element);
  }
  tiles[reduce.getResult()] = std::move(result);
  return Progress::Ran;
}

BlockAgent::Result BlockAgent::runBroadcast(xfer::BroadcastOp broadcast) {
  const Tile &values = tiles[broadcast.getValue()];
  Tile rows = emptyTile(broadcast.getRows(), currentChunk);
  int64_t bytes = rows.element.bytes;
  if (rowsOf(values) != rowsOf(rows))
    return makeError("spreads ", rowsOf(values), " values over ", rowsOf(rows), " rows");
  for (int64_t place = 0; place < rowsOf(rows) * rows.lanes; ++place)
    std::copy_n(values.bytes.data() + place / rows.lanes * bytes, bytes, rows.bytes.data() + place * bytes);
  tiles[broadcast.getRows()] = std::move(rows);
  return Progress::Ran;
}

/// What the values do not fill is zero, as it is in fresh bytes.
BlockAgent::Result BlockAgent::runLine(xfer::LineOp line) {
  Tile lines = emptyTile(line.getLine(), currentChunk);
  int64_t bytes = lines.element.bytes;
  for (auto [number, operand] : llvm::enumerate(line.getValues())) {
    const Tile &values = tiles[operand];
    if (rowsOf(values) != rowsOf(lines))
      return makeError("has ", rowsOf(values), " values for ", rowsOf(lines), " lines");
    for (int64_t row = 0; row < rowsOf(lines); ++row)
      std::copy_n(values.bytes.data() + row * bytes, bytes, lines.bytes.data() + (row * lines.lanes + number) * bytes);
  }
  tiles[line.getLine()] = std::move(lines);
  return Progress::Ran;
}

BlockAgent::Result BlockAgent::runPart(xfer::PartOp part) {
  const Tile &lines = tiles[part.getLine()];
  Tile values{lines.element, 1, Bytes(rowsOf(lines) * lines.element.bytes)};
  int64_t bytes = lines.element.bytes, number = part.getNumber();
  for (int64_t row = 0; row < rowsOf(lines); ++row)
    std::copy_n(lines.bytes.data() + (row * lines.lanes + number) * bytes, bytes, values.bytes.data() + row * bytes);
  tiles[part.getResult()] = std::move(values);
  return Progress::Ran;
}
