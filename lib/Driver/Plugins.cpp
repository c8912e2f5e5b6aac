// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Plugins.cpp - passes and dialects from outside -------------------===//

#include "pkb/Driver/Plugins.h"

#include "pkb/PluginAbi.h.inc"
#include "pkb/Support/Error.h"

#include "mlir/Tools/Plugins/PassPlugin.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdlib>
#include <cstring>

using namespace pkb;
using llvm::StringRef;

/// Plugins that include pkb/Plugin.h say for which headers they were built.
static llvm::Error checkAbi(const mlir::PassPlugin &plugin) {
  StringRef version = plugin.getPluginVersion();
  if (version.starts_with("pkb ") && version != PKB_PLUGIN_ABI)
    return makeError("it was built for ", version, ", and this is ", PKB_PLUGIN_ABI, "; build it again with tools/dev/build-plugin");
  return llvm::Error::success();
}

/// The loader maps what the headers promise, and dies where the file ends before that.
static bool isCutOff(const std::string &path) {
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!file || !(*file)->getBuffer().starts_with(llvm::ELF::ElfMagic))
    return false;
  size_t size = (*file)->getBufferSize();
  if (size < sizeof(llvm::ELF::Elf64_Ehdr))
    return true;
  llvm::ELF::Elf64_Ehdr header;
  std::memcpy(&header, (*file)->getBufferStart(), sizeof(header));
  return header.e_shoff > size || uint64_t(header.e_shentsize) * header.e_shnum > size - header.e_shoff;
}

/// MLIR ends the process where two passes have one name.
[[noreturn]] static void explainRegistration(void *, const char *reason, bool) {
  llvm::errs() << "error: cannot register the passes of a pass plugin: " << reason << "; give its pass a name that is not taken\n";
  std::_Exit(1);
}

static llvm::Error checkPlugin(const std::string &path) {
  auto explain = [&](llvm::Error error) { return prefixError("cannot load the pass plugin '" + path + "'", std::move(error)); };
  if (!llvm::sys::fs::exists(path))
    return explain(makeError("no such file"));
  if (!llvm::sys::fs::is_regular_file(path)) // opening a pipe waits for its writer
    return explain(makeError("it is no regular file"));
  if (isCutOff(path))
    return explain(makeError("it is cut off; build it again"));
  llvm::Expected<mlir::PassPlugin> plugin = mlir::PassPlugin::load(path);
  if (!plugin) {
    std::string why = llvm::toString(plugin.takeError());
    StringRef text = why; // "Could not load library 'x': x: undefined symbol: y"
    text.consume_front("Could not load library '" + path + "': ");
    text.consume_front(path + ": ");
    if (text.contains("entry point not found"))
      return explain(makeError("it has no mlirGetPassPluginInfo; end it with PKB_PASS_PLUGIN(MyPass) of pkb/Plugin.h"));
    return explain(makeError(text));
  }
  if (llvm::Error error = checkAbi(*plugin))
    return explain(std::move(error));
  return llvm::Error::success();
}

llvm::Error pkb::checkPlugins(std::vector<std::string> &arguments) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    StringRef option = StringRef(arguments[i]).ltrim('-');
    if (option == arguments[i] || !option.consume_front("load-pass-plugin"))
      continue;
    bool apart = option.empty();
    if (apart ? i + 1 == arguments.size() : option.front() != '=')
      continue;
    // The loader would look for a name without a folder elsewhere.
    llvm::SmallString<128> path(apart ? StringRef(arguments[i + 1]) : option.drop_front());
    if (std::error_code code = llvm::sys::fs::make_absolute(path))
      return makeError("cannot find the pass plugin '", path, "': ", code.message());
    if (llvm::Error error = checkPlugin(std::string(path)))
      return error;
    llvm::remove_fatal_error_handler();
    llvm::install_fatal_error_handler(explainRegistration);
    arguments[apart ? i + 1 : i] = (apart ? "" : "--load-pass-plugin=") + std::string(path);
  }
  return llvm::Error::success();
}
