//===- ImportBundle.cpp - from a bundle to level L1 -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "pkb/Frontend/ImportBundle.h"
#include "dialects/Aten/IR/AtenJson.h"
#include "lib/Frontend/Importer.h"
#include "lib/Frontend/Program.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "pkb/Support/Error.h"

using namespace mlir;
using namespace pkb;
using namespace pkb::frontend;

Location Importer::locationOf(int64_t site) {
  if (site < 0 || site >= int64_t(program.sites.size()))
    return builder.getUnknownLoc();
  const Site &at = program.sites[site];
  return FileLineColLoc::get(builder.getContext(), at.file,
                             std::max<int64_t>(at.line, 0), 1);
}

llvm::Expected<SmallVector<int64_t>> Importer::getTensors(const llvm::json::Object &event,
                                                    StringRef key) {
  SmallVector<int64_t> tensors;
  const llvm::json::Array *list = event.getArray(key);
  if (!list)
    return makeError("has no list '", key, "'");
  for (const llvm::json::Value &value : *list) {
    llvm::Expected<int64_t> id = aten::integerFromJson(value);
    if (!id)
      return id.takeError();
    llvm::Expected<int64_t> tensor = program.getTensor(*id);
    if (!tensor)
      return tensor.takeError();
    tensors.push_back(*tensor);
  }
  return tensors;
}

llvm::Expected<OwningOpRef<ModuleOp>> Importer::run() {
  MLIRContext *context = builder.getContext();
  context->loadDialect<aten::AtenDialect, comm::CommDialect,
                       func::FuncDialect>();
  Location loc = program.events.empty()
                     ? Location(builder.getUnknownLoc())
                     : locationOf(program.events.front().site);
  OwningOpRef<ModuleOp> module = ModuleOp::create(builder, loc);
  builder.setInsertionPointToEnd(module->getBody());
  auto function = func::FuncOp::create(builder, loc, "main",
                                       builder.getFunctionType({}, {}));
  builder.setInsertionPointToEnd(function.addEntryBlock());
  if (llvm::Error error = importArguments(function))
    return std::move(error);
  if (llvm::Error error = importLiterals())
    return std::move(error);
  for (auto [index, event] : llvm::enumerate(program.events)) {
    llvm::Error error = llvm::Error::success();
    if (event.kind == EventKind::Op)
      error = llvm::joinErrors(std::move(error), importOp(event));
    else if (event.kind == EventKind::Collective)
      error = llvm::joinErrors(std::move(error), importCollective(index));
    // A wait needs nothing: values order its collective and its users.
    if (error)
      return makeError(program.where(event.site), ": ", describe(event), ": ",
                       llvm::toString(std::move(error)));
  }
  if (llvm::Error error = importResults(function))
    return std::move(error);

  (*module)->setAttr(comm::kMeshAttrName,
                     comm::MeshAttr::get(context, bundle.worldSize,
                                         comm::LinkKind::Unknown, false, 0));
  (*module)->setAttr(aten::kProgramAttrName,
                     aten::ProgramAttr::get(context, bundle.function,
                                            bundle.sha256, bundle.capture,
                                            bundle.torch, inputTree,
                                            outputTree));
  return module;
}

/// "model.py:8: message" for a diagnostic of the verifier.
static std::string format(Diagnostic &diagnostic) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (auto at = dyn_cast<FileLineColLoc>(diagnostic.getLocation()))
    os << at.getFilename().getValue() << ":" << at.getLine() << ": ";
  os << diagnostic;
  return text;
}

llvm::Expected<OwningOpRef<ModuleOp>>
pkb::importBundle(ArrayRef<StringRef> files, StringRef path, int64_t worldSize,
                  MLIRContext &context) {
  std::string prefix = "bundle '" + path.str() + "'";
  llvm::Expected<Bundle> bundle = readBundle(files, worldSize);
  if (!bundle)
    return prefixError(prefix, bundle.takeError());
  llvm::Expected<UnifiedGroups> groups = unifyRanks(*bundle);
  if (!groups)
    return prefixError(prefix, groups.takeError());
  auto module = Importer(*bundle, *groups, context).run();
  if (!module)
    return prefixError(prefix, module.takeError());
  // What the dialects refuse is bad input too: one line, not a dump.
  std::string first;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (first.empty())
      first = format(diagnostic);
    return success();
  });
  if (failed(verify(**module)))
    return makeError(prefix, ": ", first);
  return module;
}
