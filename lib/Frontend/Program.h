//===- Program.h - the recorded program of one rank -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LIB_FRONTEND_PROGRAM_H
#define LIB_FRONTEND_PROGRAM_H

#include "lib/Frontend/Bundle.h"

namespace pkb::frontend {

/// Reads rank<k>.json. Checks that tensors lie in their storages and that every
/// event is of a known kind; the error names what is wrong and where.
llvm::Expected<RankProgram> readProgram(llvm::json::Value root, int64_t rank);

/// The bytes of its storage that a tensor reaches.
aten::ByteRange getWindow(const Tensor &tensor);

/// Gives each piece of memory that arguments reach a storage of its own that
/// begins with it. Where a piece lies in the caller's allocation is chance: it
/// may differ between ranks and from call to call.
llvm::Error splitInputStorages(RankProgram &program);

/// The number of elements of a tensor.
int64_t countElements(const Tensor &tensor);

/// True for the collectives that can be imported.
bool isSupportedCollective(llvm::StringRef name);

/// Where the program makes a storage, or first uses one that it is given: an index into its sites, -1 if it does not.
int64_t siteOfStorage(const RankProgram &program, int64_t storage);

/// "aten::add_.Tensor" or "all_reduce": how messages name an event.
std::string describe(const Event &event);

} // namespace pkb::frontend

#endif // LIB_FRONTEND_PROGRAM_H
