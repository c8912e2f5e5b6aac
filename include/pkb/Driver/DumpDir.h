// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- DumpDir.h - the IR after every pass, one file each -------*- C++ -*-===//
//
// pkb-opt --dump-dir.
//
//===----------------------------------------------------------------------===//

#ifndef PKB_DRIVER_DUMPDIR_H
#define PKB_DRIVER_DUMPDIR_H

#include "mlir/Pass/PassManager.h"
#include "llvm/Support/Error.h"

namespace pkb {

/// Makes `folder` if it is not there, and removes what an earlier dump left in it. Other files stay.
llvm::Error prepareDumpFolder(llvm::StringRef folder);

/// From now on `manager` writes the whole module into `folder` before its first pass (`000-input.mlir`) and after each pass
/// (`001-pkb-verify-comm.mlir`); after one that fails, too (`007-pkb-verify-xfer-failed.mlir`, in generic form where the IR is not valid). The files
/// are complete and can be read again; a file that cannot be written is reported, is the last, and sets `incomplete`, which must outlive the
/// manager. Passes run one after the other.
void dumpAfterEachPass(mlir::PassManager &manager, llvm::StringRef folder, bool &incomplete);

} // namespace pkb

#endif // PKB_DRIVER_DUMPDIR_H
