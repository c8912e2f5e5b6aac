//===- CommAssembly.cpp - text of tables, classes of operations -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Comm/IR/Comm.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace pkb::comm;

/// Prints `[[a, b], [c, d]]` from flat numbers.
static void printRows(OpAsmPrinter &printer, ArrayRef<int64_t> numbers, int64_t length) {
  printer << "[";
  while (!numbers.empty()) {
    size_t count = std::min(numbers.size(), size_t(length));
    printer << "[";
    llvm::interleaveComma(numbers.take_front(count), printer);
    numbers = numbers.drop_front(count);
    printer << (numbers.empty() ? "]" : "], ");
  }
  printer << "]";
}

static ParseResult parseRows(OpAsmParser &parser, DenseI64ArrayAttr &numbers, int64_t length) {
  SmallVector<int64_t> flat;
  auto parseRow = [&]() -> ParseResult {
    SMLoc loc = parser.getCurrentLocation();
    size_t before = flat.size();
    if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                       [&] { return parser.parseInteger(flat.emplace_back()); }))
      return failure();
    int64_t count = int64_t(flat.size() - before);
    if (count != length)
      return parser.emitError(loc, "expected a row of ") << length << " numbers, got: " << count;
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseRow))
    return failure();
  numbers = parser.getBuilder().getDenseI64ArrayAttr(flat);
  return success();
}

static void printPairs(OpAsmPrinter &printer, Operation *, DenseI64ArrayAttr pairs) { printRows(printer, pairs, 2); }

static ParseResult parsePairs(OpAsmParser &parser, DenseI64ArrayAttr &pairs) { return parseRows(parser, pairs, 2); }

static void printTable(OpAsmPrinter &printer, Operation *, DenseI64ArrayAttr table, GroupAttr group) {
  printRows(printer, table, group.getSize());
}

static ParseResult parseTable(OpAsmParser &parser, DenseI64ArrayAttr &table, GroupAttr group) {
  return parseRows(parser, table, group.getSize());
}

void pkb::comm::printFactors(OpAsmPrinter &printer, Operation *, DenseF64ArrayAttr factors) {
  printer << "[";
  llvm::interleaveComma(factors.asArrayRef(), printer, [&](double factor) { printer.printFloat(APFloat(factor)); });
  printer << "]";
}

ParseResult pkb::comm::parseFactors(OpAsmParser &parser, DenseF64ArrayAttr &factors) {
  SmallVector<double> numbers;
  auto parseFactor = [&]() -> ParseResult {
    APFloat factor(0.0);
    if (parser.parseFloat(APFloat::IEEEdouble(), factor))
      return failure();
    numbers.push_back(factor.convertToDouble());
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseFactor))
    return failure();
  factors = parser.getBuilder().getDenseF64ArrayAttr(numbers);
  return success();
}

/// A parser that fails frees the region while a name may still refer to a value in it, so the region comes last and is let go by hand.
static ParseResult parseFusedBody(OpAsmParser &parser, Region &body) {
  if (succeeded(parser.parseRegion(body)) && !body.empty())
    return success();
  for (Block &block : body)
    block.dropAllDefinedValueUses();
  return parser.emitError(parser.getCurrentLocation(), "expected a body");
}

static void printFusedBody(OpAsmPrinter &printer, Operation *, Region &body) { printer.printRegion(body); }

#define GET_OP_CLASSES
#include "dialects/Comm/IR/CommOps.cpp.inc"
