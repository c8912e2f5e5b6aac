//===- ArtefactOutput.h - an emitted program as one file --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PKB_DRIVER_ARTEFACTOUTPUT_H
#define PKB_DRIVER_ARTEFACTOUTPUT_H

#include "pkb/Target/CudaEmitter.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace pkb {

/// Writes program, constants, compiled kernels and the sources in `bundle` (the
/// bytes of one, or empty) to the artefact `path` (docs/Rationale/Artefact.md),
/// whole or not at all. What it does without, a compiler say, is a remark on
/// standard error. The error has one line: what is wrong and what to do.
llvm::Error writeArtefact(const EmittedProgram &program, llvm::StringRef bundle,
                          const std::string &path);

} // namespace pkb

#endif // PKB_DRIVER_ARTEFACTOUTPUT_H
