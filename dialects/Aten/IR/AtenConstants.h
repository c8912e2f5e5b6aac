//===- AtenConstants.h - names of discardable attributes --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIALECTS_ATEN_IR_ATENCONSTANTS_H
#define DIALECTS_ATEN_IR_ATENCONSTANTS_H

#include "llvm/ADT/StringRef.h"

namespace pkb::aten {

/// Attribute of type ProgramAttr: of the module or, where ranks run different
/// functions, of each function.
inline constexpr llvm::StringLiteral kProgramAttrName = "aten.program";
/// Unit attribute of aten.call: its fresh results lie in host memory.
inline constexpr llvm::StringLiteral kHostAttrName = "aten.host";
/// Attribute of type AliasAttr of a function's argument or result.
inline constexpr llvm::StringLiteral kAliasOfAttrName = "aten.alias_of";
/// Integer attribute of a function's result: the argument that it is the final
/// content of.
inline constexpr llvm::StringLiteral kMutationOfAttrName = "aten.mutation_of";
/// Unit attribute of a bufferized function's argument: a call changes what lies
/// there.
inline constexpr llvm::StringLiteral kWrittenAttrName = "aten.written";
/// Integer attribute of a bufferized function's argument with kAliasOfAttrName:
/// by how many bytes it begins behind the argument that it lies in.
inline constexpr llvm::StringLiteral kAliasBytesAttrName = "aten.alias_bytes";

} // namespace pkb::aten

#endif // DIALECTS_ATEN_IR_ATENCONSTANTS_H
