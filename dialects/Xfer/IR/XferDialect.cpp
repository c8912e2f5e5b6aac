// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- XferDialect.cpp - registration, attributes and types -------------===//

#include "dialects/Xfer/IR/Xfer.h"

#include "pkb/Support/RegionSyntax.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace pkb;
using namespace pkb::xfer;

#include "dialects/Xfer/IR/XferDialect.cpp.inc"
#include "dialects/Xfer/IR/XferEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Xfer/IR/XferAttrs.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/Xfer/IR/XferTypes.cpp.inc"

//===----------------------------------------------------------------------===//
// Regions in text
//===----------------------------------------------------------------------===//

static ParseResult parseProduceConsume(OpAsmParser &parser, Region &produce, Region &consume) {
  if (parser.parseKeyword("produce") || parseBlockOf(parser, produce) || parser.parseKeyword("consume") ||
      parseBlockOf(parser, consume))
    return letGo({&produce, &consume});
  return success();
}

static void printProduceConsume(OpAsmPrinter &printer, Operation *, Region &produce, Region &consume) {
  printer << "produce ";
  printer.printRegion(produce);
  printer << " consume ";
  printer.printRegion(consume);
}

static ParseResult parseMapBody(OpAsmParser &parser, Region &body, SmallVectorImpl<Type> &tiles, Type &result) {
  FunctionType type;
  if (parseBlockOf(parser, body) || parser.parseColon())
    return letGo(&body);
  SMLoc place = parser.getCurrentLocation();
  if (parser.parseType(type))
    return letGo(&body);
  if (type.getNumResults() != 1) {
    parser.emitError(place) << "expected one result, got: " << type.getNumResults();
    return letGo(&body);
  }
  tiles.append(type.getInputs().begin(), type.getInputs().end());
  result = type.getResult(0);
  return success();
}

static void printMapBody(OpAsmPrinter &printer, Operation *op, Region &body, TypeRange tiles, Type result) {
  printer.printRegion(body);
  printer << " : ";
  printer.printFunctionalType(tiles, TypeRange(result));
}

/// The type of a buffer, and after a comma that of an own tile, if there is one.
static ParseResult parseBufferAndOwn(OpAsmParser &parser, Type &buffer, Type &own) {
  SymmType symm;
  TileType tile;
  if (parser.parseCustomTypeWithFallback(symm))
    return failure();
  buffer = symm;
  if (failed(parser.parseOptionalComma()))
    return success();
  if (parser.parseCustomTypeWithFallback(tile))
    return failure();
  own = tile;
  return success();
}

static void printBufferAndOwn(OpAsmPrinter &printer, Operation *, Type buffer, Type own) {
  printer.printStrippedAttrOrType(cast<SymmType>(buffer));
  if (!own)
    return;
  printer << ", ";
  printer.printStrippedAttrOrType(cast<TileType>(own));
}

using pkb::comm::parseFactors;
using pkb::comm::printFactors;

#define GET_OP_CLASSES
#include "dialects/Xfer/IR/XferOps.cpp.inc"

void XferDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Xfer/IR/XferAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/Xfer/IR/XferTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/Xfer/IR/XferOps.cpp.inc"
      >();
}

int64_t pkb::xfer::elementBytes(Type type) {
  if (auto complex = dyn_cast<ComplexType>(type))
    return 2 * elementBytes(complex.getElementType());
  if (auto vector = dyn_cast<VectorType>(type))
    return vector.getRank() == 1 ? vector.getNumElements() * elementBytes(vector.getElementType()) : 0;
  if (!type.isIntOrFloat())
    return 0;
  return (type.getIntOrFloatBitWidth() + 7) / 8;
}

LogicalResult ScheduleAttr::verify(function_ref<InFlightDiagnostic()> emitError, Mechanism, int64_t blocks,
                                   int64_t threads, int64_t chunk, int64_t depth, int64_t slots, int64_t unroll,
                                   int64_t perSm) {
  if (blocks < 1)
    return emitError() << "schedule must have at least one block, got: " << blocks;
  if (threads < 1 || threads > 1024)
    return emitError() << "schedule must have 1 to 1024 threads, got: " << threads;
  if (chunk < 16 || chunk % 16 != 0)
    return emitError() << "schedule must have a chunk that is a positive multiple of 16 bytes, got: " << chunk;
  if (depth < 0)
    return emitError() << "schedule must have a depth of at least 0, got: " << depth;
  if (slots < 1)
    return emitError() << "schedule must have at least one slot, got: " << slots;
  if (unroll < 1 || unroll > 16)
    return emitError() << "schedule must have an unroll factor of 1 to 16, got: " << unroll;
  if (perSm < 1 || perSm > 2048 / threads)
    return emitError() << "schedule must have 1 or more blocks per multiprocessor and at most 2048 threads in them, got: "
                       << perSm << " blocks of " << threads;
  return success();
}

LogicalResult CallAttr::verify(function_ref<InFlightDiagnostic()> emitError, LibraryFunction, int64_t count, int64_t, int64_t fromOffset, int64_t,
                               int64_t toOffset, int64_t, int64_t, int64_t, int64_t) {
  constexpr int64_t most = int64_t(1) << 50; // times a group's ranks and an element's bytes it fits 64 bits
  for (auto [name, value] : {std::pair<StringRef, int64_t>("count", count), {"from_offset", fromOffset}, {"to_offset", toOffset}})
    if (value < 0 || value > most)
      return emitError() << "call must have a " << name << " of 0 to 2^50, got: " << value;
  return success();
}

LogicalResult SymmType::verify(function_ref<InFlightDiagnostic()> emitError, Type elementType, int64_t chunk,
                               int64_t slots, int64_t parities, Protocol) {
  int64_t bytes = elementBytes(elementType);
  if (bytes == 0)
    return emitError() << "symmetric buffer must have an element type of fixed size, got: " << elementType;
  if (chunk < 1 || chunk * bytes % 16 != 0)
    return emitError() << "symmetric buffer must have chunks of a positive multiple of 16 bytes, got: " << chunk
                       << " elements of " << bytes << " bytes";
  if (slots < 1)
    return emitError() << "symmetric buffer must have at least one slot, got: " << slots;
  if (parities < 1 || parities > 2)
    return emitError() << "symmetric buffer must have 1 or 2 parities, got: " << parities;
  return success();
}
