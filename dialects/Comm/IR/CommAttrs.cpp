//===- CommAttrs.cpp - groups and meshes ----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Comm/IR/Comm.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace pkb::comm;

#include "dialects/Comm/IR/CommEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Comm/IR/CommAttrs.cpp.inc"

void CommDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Comm/IR/CommAttrs.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// GroupAttr
//===----------------------------------------------------------------------===//

GroupAttr GroupAttr::get(MLIRContext *context,
                         ArrayRef<SmallVector<int64_t>> rows) {
  SmallVector<int64_t> ranks;
  for (ArrayRef<int64_t> row : rows)
    llvm::append_range(ranks, row);
  return get(context, ranks, rows.empty() ? 0 : int64_t(rows.front().size()));
}

int64_t GroupAttr::getNumRows() const {
  return int64_t(getRanks().size()) / getSize();
}

ArrayRef<int64_t> GroupAttr::getRow(int64_t index) const {
  return getRanks().slice(index * getSize(), getSize());
}

std::optional<int64_t> GroupAttr::getRowOf(int64_t rank) const {
  const int64_t *at = llvm::find(getRanks(), rank);
  if (at == getRanks().end())
    return std::nullopt;
  return (at - getRanks().begin()) / getSize();
}

std::optional<int64_t> GroupAttr::getPositionOf(int64_t rank) const {
  const int64_t *at = llvm::find(getRanks(), rank);
  if (at == getRanks().end())
    return std::nullopt;
  return (at - getRanks().begin()) % getSize();
}

int64_t GroupAttr::getMaxRank() const {
  return *std::max_element(getRanks().begin(), getRanks().end());
}

Attribute GroupAttr::parse(AsmParser &parser, Type) {
  SmallVector<int64_t> ranks;
  std::optional<int64_t> size;
  SMLoc loc = parser.getCurrentLocation();
  auto parseRow = [&]() -> ParseResult {
    SMLoc rowLoc = parser.getCurrentLocation();
    size_t before = ranks.size();
    if (parser.parseCommaSeparatedList(
            AsmParser::Delimiter::Square,
            [&] { return parser.parseInteger(ranks.emplace_back()); }))
      return failure();
    int64_t length = int64_t(ranks.size() - before);
    // group_c2
    if (size && *size != length)
      return parser.emitError(rowLoc, "rows of a group must have the same size, got: ")
             << *size << " and " << length;
    size = length;
    return success();
  };
  if (parser.parseLess() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseRow) ||
      parser.parseGreater())
    return {};
  return parser.getChecked<GroupAttr>(loc, parser.getContext(), ranks,
                                      size.value_or(0));
}

void GroupAttr::print(AsmPrinter &printer) const {
  printer << "<[";
  for (int64_t row = 0; row < getNumRows(); ++row) {
    printer << (row ? ", [" : "[");
    llvm::interleaveComma(getRow(row), printer);
    printer << "]";
  }
  printer << "]>";
}

LogicalResult
GroupAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                  ArrayRef<int64_t> ranks, int64_t size) {
  // group_c1
  if (ranks.empty() || size < 1)
    return emitError() << "group must have at least one row of at least one rank";
  // group_c2
  if (ranks.size() % size_t(size))
    return emitError() << "rows of a group must have the same size, got: "
                       << ranks.size() << " ranks in rows of " << size;
  // group_c3
  llvm::SmallSet<int64_t, 16> seen;
  for (int64_t rank : ranks) {
    if (rank < 0)
      return emitError() << "ranks of a group must not be negative, got: "
                         << rank;
    if (!seen.insert(rank).second)
      return emitError() << "a rank must occur once in a group, got twice: "
                         << rank;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// MeshAttr
//===----------------------------------------------------------------------===//

LogicalResult
MeshAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                 int64_t size, LinkKind, bool, int64_t copyEngines) {
  // mesh_c1
  if (size < 1)
    return emitError() << "mesh must have at least one rank, got: " << size;
  if (copyEngines < 0)
    return emitError() << "copy_engines must not be negative, got: "
                       << copyEngines;
  return success();
}
