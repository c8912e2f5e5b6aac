// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- OptionError.h - errors about options of passes -----------*- C++ -*-===//

#ifndef PKB_SUPPORT_OPTIONERROR_H
#define PKB_SUPPORT_OPTIONERROR_H

#include "mlir/IR/Diagnostics.h"

namespace pkb {

/// Begins an error with "option NAME=VALUE ". It has no line: what is wrong was said to the tool, and not by the program. `value` is streamed.
template <typename Value> mlir::InFlightDiagnostic emitOptionError(mlir::MLIRContext *context, llvm::StringRef name, const Value &value) {
  mlir::InFlightDiagnostic error = mlir::emitError(mlir::UnknownLoc::get(context));
  error << "option " << name << "=" << value << " ";
  return error;
}

} // namespace pkb

#endif // PKB_SUPPORT_OPTIONERROR_H
