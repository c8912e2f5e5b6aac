// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Placeless.h - messages about no line of the program ------*- C++ -*-===//
//
// Private to the drivers.
//
//===----------------------------------------------------------------------===//

#ifndef PKB_DRIVER_PLACELESS_H
#define PKB_DRIVER_PLACELESS_H

#include "mlir/Support/LLVM.h"

namespace pkb {

/// From now on a diagnostic of `context` that has no line, such as one about an option, begins with the name of the tool; its notes with their lines.
void nameToolWherePlaceless(mlir::MLIRContext &context, llvm::StringRef tool);

} // namespace pkb

#endif // PKB_DRIVER_PLACELESS_H
