// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- CudaEmitter.cpp - print level L3 as CUDA C++ ---------------------===//

#include "pkb/Target/CudaEmitter.h"

#include "KernelPrinter.h"
#include "Manifest.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SHA256.h"

using namespace mlir;
using namespace pkb;
namespace json = llvm::json;

static std::string sha256(StringRef text) {
  return llvm::toHex(llvm::SHA256::hash(llvm::arrayRefFromStringRef(text)), /*LowerCase=*/true);
}

/// JSON with one line per element of the long lists: readable, and a diff shows what changed.
static void printManifest(const json::Object &manifest, llvm::raw_ostream &os) {
  // Fixed order, so that equal programs have equal text.
  static constexpr StringLiteral order[] = {
      "schema", "version",     "name",    "program", "world_size", "target",  "bundle",       "capture",         "torch", "data",
      "groups", "arguments",   "outputs", "slots",   "steps",      "kernels", "region_bytes", "workspace_bytes", "sites", "guards",
      "remarks", "input_tree", "output_tree",  "programs"};
  os << "{";
  bool first = true;
  for (StringRef key : order) {
    const json::Value *value = manifest.get(key);
    if (!value)
      continue;
    os << (first ? "" : ",") << "\n\"" << key << "\": ";
    first = false;
    const json::Array *array = value->getAsArray();
    if (!array || array->empty() || !array->front().getAsObject()) {
      os << *value;
      continue;
    }
    os << "[";
    for (size_t i = 0; i < array->size(); ++i)
      os << (i == 0 ? "\n  " : ",\n  ") << (*array)[i];
    os << "]";
  }
  os << "\n}";
}

FailureOr<EmittedProgram> pkb::emitProgram(ModuleOp module) {
  ManifestBuilder builder(module);
  FailureOr<json::Object> manifest = builder.build();
  if (failed(manifest))
    return failure();
  EmittedProgram program;
  program.data = builder.data();
  program.copies = builder.getCopies();
  (*manifest)["data"] = nullptr;
  if (!program.data.empty())
    (*manifest)["data"] = json::Object{{"sha256", sha256(program.data)}, {"bytes", static_cast<int64_t>(program.data.size())}};
  if (auto target = module->getAttrOfType<StringAttr>(cuda::kTargetAttrName))
    (*manifest)["target"] = target.getValue();

  std::string kernels;
  llvm::raw_string_ostream os(kernels);
  os << "#include \"pkb_rt/device.h\"\n";
  for (auto kernel : module.getOps<cuda::KernelOp>()) {
    os << "\n";
    if (failed(KernelPrinter(kernel, os).print()))
      return failure();
  }

  auto render = [&]() {
    std::string text = "/* pkb-manifest\n";
    llvm::raw_string_ostream out(text);
    std::string json;
    llvm::raw_string_ostream jsonOut(json);
    printManifest(*manifest, jsonOut);
    // Only a string can hold the end of the comment, and there a slash may be written with a backslash.
    for (size_t at = json.find("*/"); at != std::string::npos; at = json.find("*/", at))
      json.replace(at, 2, "*\\/");
    out << json << "\n*/\n" << kernels;
    return text;
  };
  // The program's id is the hash of the text with zeros in its place.
  (*manifest)["program"] = std::string(64, '0');
  (*manifest)["program"] = sha256(render());
  program.text = render();
  return program;
}

LogicalResult pkb::emitCuda(ModuleOp module, llvm::raw_ostream &os) {
  FailureOr<EmittedProgram> program = emitProgram(module);
  if (failed(program))
    return failure();
  if (!program->data.empty())
    return module.emitError() << "program has " << program->data.size()
                              << " bytes of constants and must be written to a file, with its data beside it";
  os << program->text;
  return success();
}
