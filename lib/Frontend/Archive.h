//===- Archive.h - members of a zip file in memory --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LIB_FRONTEND_ARCHIVE_H
#define LIB_FRONTEND_ARCHIVE_H

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"
#include <string>

namespace pkb::frontend {

/// All members of a zip file, inflated, by name. The error says that the file
/// is no zip file, is cut off, or which member is damaged.
llvm::Expected<llvm::StringMap<std::string>>
readArchive(llvm::StringRef bytes);

} // namespace pkb::frontend

#endif // LIB_FRONTEND_ARCHIVE_H
