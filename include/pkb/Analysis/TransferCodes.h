// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- TransferCodes.h - why a kernel of level L2 is rejected ---*- C++ -*-===//

#ifndef PKB_ANALYSIS_TRANSFERCODES_H
#define PKB_ANALYSIS_TRANSFERCODES_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseSet.h"

#include <string>
#include <utility>

namespace pkb {

/// Reasons of rejection, one enumerator per row of TransferCodes.def.
enum class TransferCode {
#define PKB_TRANSFER_CODE(name, code, title) name,
#include "pkb/Analysis/TransferCodes.def"
#undef PKB_TRANSFER_CODE
};

/// The stable code ("XV201").
llvm::StringRef transferCodeName(TransferCode code);
/// One line that says what is wrong, without the witness.
llvm::StringRef transferCodeTitle(TransferCode code);

/// Collects rejections. A mistake shows up on every rank, chunk and block; only its first witness is reported, that is,
/// one error per code and operation.
class TransferReporter {
public:
  /// An operation with what it has to do with the witness.
  using Note = std::pair<mlir::Operation *, std::string>;

  /// Emits "'op' op CODE: title: witness" at `op`, unless this code has been reported there.
  void report(TransferCode code, mlir::Operation *op, const llvm::Twine &witness, llvm::ArrayRef<Note> notes = {});
  /// True if anything has been reported.
  bool failed() const { return !reported.empty(); }
  /// True if `code` has been reported at any operation.
  bool has(TransferCode code) const;
  /// Keeps what would be reported, without emitting it (for a trial).
  void silence() { silent = true; }

private:
  llvm::DenseSet<std::pair<unsigned, mlir::Operation *>> reported;
  bool silent = false;
};

} // namespace pkb

#endif // PKB_ANALYSIS_TRANSFERCODES_H
