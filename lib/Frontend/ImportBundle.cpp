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
  auto place = [&](StringRef file, int64_t line) -> Location {
    return FileLineColLoc::get(builder.getContext(), file,
                               std::max<int64_t>(line, 0), 1);
  };
  SmallVector<Location> stack{place(at.file, at.line)};
  for (const auto &[file, line] : at.callers)
    stack.push_back(place(file, line));
  Location loc = stack.pop_back_val();
  while (!stack.empty())
    loc = CallSiteLoc::get(stack.pop_back_val(), loc);
  return loc;
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

Location Importer::getLoc() {
  return program.events.empty() ? Location(builder.getUnknownLoc())
                                : locationOf(program.events.front().site);
}

/// Gives the collectives behind `before` the numbers that their counterparts
/// have in the functions of the other ranks.
void Importer::numberCollectives(Operation *before, const Exchange &exchange) {
  if (int64_t(ranks.ranks.size()) == bundle.worldSize)
    return; // there is no other function
  Block &block = *builder.getInsertionBlock();
  int64_t part = 0;
  for (auto at = before ? std::next(before->getIterator()) : block.begin();
       at != block.end(); ++at)
    if (isa<comm::CollectiveOpInterface>(*at))
      at->setAttr(comm::kExchangeAttrName,
                  builder.getI64IntegerAttr(
                      schedule.getId(exchange, part++)));
}

llvm::Error Importer::importEvent(int64_t index) {
  const Event &event = program.events[index];
  if (event.kind == EventKind::Op)
    return importOp(event);
  if (event.kind == EventKind::Wait)
    return importDelivery(index);
  std::string name = describe(event);
  if (name == "send")
    return importSend(index);
  if (name == "recv")
    return llvm::Error::success(); // it is delivered at its wait
  Block &block = *builder.getInsertionBlock();
  Operation *before = block.empty() ? nullptr : &block.back();
  if (llvm::Error error = importCollective(index))
    return error;
  numberCollectives(before, exchangeOf(index));
  return llvm::Error::success();
}

llvm::Expected<func::FuncOp> Importer::run(ModuleOp module, StringRef name) {
  builder.setInsertionPointToEnd(module.getBody());
  auto function = func::FuncOp::create(builder, getLoc(), name,
                                       builder.getFunctionType({}, {}));
  bool alone = int64_t(ranks.ranks.size()) == bundle.worldSize;
  if (!alone)
    function->setAttr(comm::kRanksAttrName,
                      builder.getDenseI64ArrayAttr(ranks.ranks));
  Block *body = function.addEntryBlock();
  builder.setInsertionPointToEnd(body);
  if (llvm::Error error = importArguments(function))
    return std::move(error);
  if (llvm::Error error = importLiterals())
    return std::move(error);
  for (int64_t index = 0; index < int64_t(program.events.size()); ++index) {
    if (llvm::Error error = importMessages(index))
      return std::move(error);
    const Event &event = program.events[index];
    if (llvm::Error error = importEvent(index))
      return makeError(program.where(event.site), ": ", describe(event), ": ",
                       llvm::toString(std::move(error)));
  }
  if (llvm::Error error = importMessages(program.events.size()))
    return std::move(error);
  if (llvm::Error error = importResults(function))
    return std::move(error);
  return function;
}

aten::ProgramAttr Importer::getProvenance() {
  return aten::ProgramAttr::get(builder.getContext(), bundle.function,
                                bundle.sha256, bundle.capture, bundle.torch,
                                inputTree, outputTree);
}

/// One function, or one for each class of ranks, named after its first rank.
static llvm::Expected<OwningOpRef<ModuleOp>>
importClasses(const Bundle &bundle, Schedule &schedule,
              llvm::ArrayRef<RankClass> classes, MLIRContext &context) {
  context.loadDialect<aten::AtenDialect, comm::CommDialect,
                      func::FuncDialect>();
  OwningOpRef<ModuleOp> module;
  for (const RankClass &ranks : classes) {
    Importer importer(bundle, schedule, ranks, context);
    if (!module)
      module = ModuleOp::create(importer.getLoc());
    bool alone = classes.size() == 1;
    std::string name = "main";
    if (!alone)
      name += "_" + std::to_string(ranks.ranks.front());
    auto function = importer.run(*module, name);
    if (!function)
      return function.takeError();
    Operation *from = alone ? module->getOperation() : function->getOperation();
    from->setAttr(aten::kProgramAttrName, importer.getProvenance());
    if (!ranks.difference.empty())
      (*function)->setAttr(comm::kDifferenceAttrName,
                           StringAttr::get(&context, ranks.difference));
  }
  (*module)->setAttr(comm::kMeshAttrName,
                     comm::MeshAttr::get(&context, bundle.worldSize,
                                         comm::LinkKind::Unknown, false, 0));
  return module;
}

/// "model.py:8: message" for a diagnostic of the verifier.
static std::string format(Diagnostic &diagnostic) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (auto at = diagnostic.getLocation()->findInstanceOf<FileLineColLoc>())
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
  llvm::Expected<std::vector<RankClass>> classes = classifyRanks(*bundle);
  if (!classes)
    return prefixError(prefix, classes.takeError());
  llvm::Expected<Schedule> schedule = Schedule::make(*bundle, *classes);
  if (!schedule)
    return prefixError(prefix, schedule.takeError());
  auto module = importClasses(*bundle, *schedule, *classes, context);
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

llvm::Expected<SourceLines> pkb::readSourceLines(ArrayRef<StringRef> files,
                                                 int64_t worldSize) {
  llvm::Expected<Bundle> bundle = readBundle(files, worldSize);
  if (!bundle)
    return bundle.takeError();
  SourceLines lines;
  for (const std::optional<RankProgram> &program : bundle->ranks)
    if (program)
      for (const Site &site : program->sites)
        if (!site.text.empty())
          lines.try_emplace({site.file, site.line}, site.text);
  return lines;
}
