//===- ExportedProgram.h - programs saved by torch.export -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LIB_FRONTEND_EXPORTEDPROGRAM_H
#define LIB_FRONTEND_EXPORTEDPROGRAM_H

#include "lib/Frontend/Bundle.h"

namespace pkb::frontend {

/// True if a zip file with these members was written by torch.export.save.
bool isExportedProgram(const llvm::StringMap<std::string> &members);

/// The program of one rank in the form of rank<k>.json.
struct ExportedRecord {
  llvm::json::Value json = nullptr;
  llvm::StringMap<std::string> members; // constants, by the hash of their bytes
  int64_t groupSize = 0;                // of its collectives; 0: they do not say
  std::string torch;
};

/// Reads the graph in `members`: functional collectives of the default group,
/// static shapes. The error has one line and names the line of the user's file.
llvm::Expected<ExportedRecord>
readExportedProgram(const llvm::StringMap<std::string> &members);

/// A bundle of the programs in `files` (the bytes of .pt2 files): one for all
/// ranks, or one for each. `worldSize` is 0 where the caller does not say it.
llvm::Expected<Bundle> bundleExportedPrograms(llvm::ArrayRef<llvm::StringRef> files,
                                              int64_t worldSize);

} // namespace pkb::frontend

#endif // LIB_FRONTEND_EXPORTEDPROGRAM_H
