// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- RegionSyntax.h - regions in the text of operations -------*- C++ -*-===//
//
// What custom<...> directives of our dialects use to read and print regions.
//
// A generated parser that fails frees the regions it has read, while a name that was used before its definition may still refer to a value
// in them: the parser then writes to freed memory. So regions come last in the text and are let go by hand.
//
//===----------------------------------------------------------------------===//

#ifndef PKB_SUPPORT_REGIONSYNTAX_H
#define PKB_SUPPORT_REGIONSYNTAX_H

#include "mlir/IR/OpImplementation.h"

namespace pkb {

/// Fails after nothing refers to what the regions define.
inline mlir::ParseResult letGo(llvm::ArrayRef<mlir::Region *> regions) {
  for (mlir::Region *region : regions)
    for (mlir::Block &block : *region)
      block.dropAllDefinedValueUses();
  return mlir::failure();
}

/// A region of one block; `{}` is one of one empty block. The caller lets it go if this or anything after it fails.
inline mlir::ParseResult parseBlockOf(mlir::OpAsmParser &parser, mlir::Region &region) {
  if (parser.parseRegion(region))
    return mlir::failure();
  if (region.empty())
    region.emplaceBlock();
  return mlir::success();
}

/// custom<Body>($body).
inline mlir::ParseResult parseBody(mlir::OpAsmParser &parser, mlir::Region &body) {
  return mlir::failed(parseBlockOf(parser, body)) ? letGo(&body) : mlir::success();
}
inline void printBody(mlir::OpAsmPrinter &printer, mlir::Operation *, mlir::Region &body) { printer.printRegion(body); }

} // namespace pkb

#endif // PKB_SUPPORT_REGIONSYNTAX_H
