// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- TransferCodes.cpp - why a kernel of level L2 is rejected ---------===//

#include "pkb/Analysis/TransferCodes.h"

#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace pkb;

namespace {
struct Row {
  StringLiteral code, title;
};
} // namespace

static constexpr Row rows[] = {
#define PKB_TRANSFER_CODE(name, code, title) {code, title},
#include "pkb/Analysis/TransferCodes.def"
#undef PKB_TRANSFER_CODE
};

StringRef pkb::transferCodeName(TransferCode code) { return rows[static_cast<unsigned>(code)].code; }
StringRef pkb::transferCodeTitle(TransferCode code) { return rows[static_cast<unsigned>(code)].title; }

void TransferReporter::report(TransferCode code, Operation *op, const Twine &witness, ArrayRef<Note> notes) {
  if (!reported.insert({static_cast<unsigned>(code), op}).second || silent)
    return;
  InFlightDiagnostic error = op->emitOpError();
  error << transferCodeName(code) << ": " << transferCodeTitle(code) << ": " << witness;
  for (const Note &note : notes)
    error.attachNote(note.first->getLoc()) << note.second;
}

bool TransferReporter::has(TransferCode code) const {
  return llvm::any_of(reported, [&](auto &entry) { return entry.first == static_cast<unsigned>(code); });
}
