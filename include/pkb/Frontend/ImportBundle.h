//===- ImportBundle.h - from a bundle to level L1 ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PKB_FRONTEND_IMPORTBUNDLE_H
#define PKB_FRONTEND_IMPORTBUNDLE_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/Error.h"
#include <map>
#include <string>

namespace pkb {

/// True if `bytes` begin like a bundle (a zip file).
bool looksLikeBundle(llvm::StringRef bytes);

/// Why `bytes` of a file that is no bundle are no module either, if that can be
/// seen: a Python file by its name, an emitted program by its beginning. Names
/// `path` and says what to do. Empty for everything else.
std::string whyNoModule(llvm::StringRef bytes, llvm::StringRef path);

/// Reads a bundle (docs/Rationale/Bundle.md), checks it, unifies the programs of
/// its ranks and returns them as one module of level L1. `files` holds the bytes of
/// one bundle, or of programs that torch.export saved: one for all ranks, or one
/// for each. `worldSize` is the number of ranks, or 0 where the files say it.
/// `path` is used in messages only.
///
/// The error of a bundle that cannot be imported has one line: what is wrong,
/// where (`model.py:8` when it is in the user's program) and what to do.
llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>>
importBundle(llvm::ArrayRef<llvm::StringRef> files, llvm::StringRef path,
             int64_t worldSize, mlir::MLIRContext &context);

/// Lines of the user's files that the program's locations name, by file and number.
using SourceLines = std::map<std::pair<std::string, int64_t>, std::string>;

/// The lines that a bundle (the same arguments as above) recorded with its events.
/// Empty where it did not record any; the error is that of importBundle.
llvm::Expected<SourceLines> readSourceLines(llvm::ArrayRef<llvm::StringRef> files,
                                            int64_t worldSize);

} // namespace pkb

#endif // PKB_FRONTEND_IMPORTBUNDLE_H
