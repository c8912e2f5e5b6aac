// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- LeftOut.h - why operators stay outside of a kernel -------*- C++ -*-===//
//
// Private to the Fusion family.
//
//===----------------------------------------------------------------------===//

#ifndef PKB_PASSES_FUSION_LEFTOUT_H
#define PKB_PASSES_FUSION_LEFTOUT_H

#include "dialects/Comm/IR/Comm.h"

#include <string>

namespace pkb {

/// Why the operators before and after a collective with a message have no place in its kernel, in words for the author of the program. `known`: what is
/// known already of those after it, or empty.
std::string whyLeftOut(comm::CollectiveOpInterface collective, llvm::StringRef known);

/// True if `value` becomes, element by element, the message of a collective: that one's kernel reduces the rows.
bool isForMessage(mlir::Value value);

} // namespace pkb

#endif // PKB_PASSES_FUSION_LEFTOUT_H
