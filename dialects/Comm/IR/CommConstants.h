//===- CommConstants.h - names of discardable attributes --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIALECTS_COMM_IR_COMMCONSTANTS_H
#define DIALECTS_COMM_IR_COMMCONSTANTS_H

#include "llvm/ADT/StringRef.h"

namespace pkb::comm {

/// Module attribute of type MeshAttr.
inline constexpr llvm::StringLiteral kMeshAttrName = "comm.mesh";
/// Attribute of a function, an array of i64: the ranks that run it, where ranks
/// run different functions of one module.
inline constexpr llvm::StringLiteral kRanksAttrName = "comm.ranks";
/// String attribute of such a function, for people: how its ranks differ from
/// those of the first function.
inline constexpr llvm::StringLiteral kDifferenceAttrName = "comm.difference";
/// Integer attribute of a collective in such a function: its number, the same on
/// the collectives of other functions that it communicates with.
inline constexpr llvm::StringLiteral kExchangeAttrName = "comm.exchange";

} // namespace pkb::comm

#endif // DIALECTS_COMM_IR_COMMCONSTANTS_H
