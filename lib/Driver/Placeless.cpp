// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Placeless.cpp - messages about no line of the program ------------===//

#include "Placeless.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/WithColor.h"

using namespace mlir;
using namespace pkb;

static llvm::raw_ostream &begin(DiagnosticSeverity severity, StringRef prefix) {
  switch (severity) {
  case DiagnosticSeverity::Error:
    return llvm::WithColor::error(llvm::errs(), prefix);
  case DiagnosticSeverity::Warning:
    return llvm::WithColor::warning(llvm::errs(), prefix);
  case DiagnosticSeverity::Note:
    return llvm::WithColor::note(llvm::errs(), prefix);
  case DiagnosticSeverity::Remark:
    return llvm::WithColor::remark(llvm::errs(), prefix);
  }
  return llvm::errs();
}

/// What a message begins with: the line that it is about, or the name of the tool.
static std::string prefixOf(Location loc, StringRef tool) {
  if (auto place = loc->findInstanceOf<FileLineColLoc>())
    return (place.getFilename().getValue() + ":" + Twine(place.getLine()) + ":" + Twine(place.getColumn())).str();
  return tool.str();
}

void pkb::nameToolWherePlaceless(MLIRContext &context, StringRef tool) {
  context.getDiagEngine().registerHandler([tool = tool.str()](Diagnostic &message) -> LogicalResult {
    if (message.getLocation()->findInstanceOf<FileLineColLoc>())
      return failure(); // for the handler that shows the line
    begin(message.getSeverity(), tool) << message << "\n";
    for (Diagnostic &note : message.getNotes())
      begin(note.getSeverity(), prefixOf(note.getLocation(), tool)) << note << "\n";
    return success();
  });
}
