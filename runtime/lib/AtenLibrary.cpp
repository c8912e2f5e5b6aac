// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "AtenLibrary.h"

#include "Compile.h"
#include "Environment.h"
#include "Error.h"

#include <dlfcn.h>
#include <vector>

namespace pkb_rt {
namespace {

std::string loaderText() {
  const char *text = dlerror();
  return text ? text : "unknown error";
}

/// libtorch_cpu of the interpreter that PKB_PYTHON names, for processes that have not loaded torch: libpkb_aten then
/// finds it by its name among the libraries that are already open.
void openTorchOf(const std::string &python) {
  std::string output;
  const char *query =
      "import importlib.util as u, os; s = u.find_spec('torch'); print(os.path.dirname(s.origin) if s else '')";
  if (runProgram({python, "-c", query}, output) != 0) {
    return;
  }
  while (!output.empty() && (output.back() == '\n' || output.back() == '\r')) {
    output.pop_back();
  }
  for (const char *name : {"libc10.so", "libtorch_cpu.so"}) {
    if (!output.empty()) {
      dlopen((output + "/lib/" + name).c_str(), RTLD_NOW | RTLD_GLOBAL);
    }
  }
}

} // namespace

const pkb_aten_api *loadAten() {
  std::string asked = environmentText("PKB_ATEN_LIBRARY");
  std::string path = asked.empty() ? libraryDirectory() + "/libpkb_aten.so" : asked;
  std::string python = environmentText("PKB_PYTHON");
  void *library = nullptr;
  if (!python.empty() && !dlopen("libtorch_cpu.so", RTLD_NOW | RTLD_NOLOAD)) {
    openTorchOf(python);
  }
  library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    fail(PKB_ERROR_ATEN, "the program calls PyTorch operators, and libpkb_aten.so cannot be loaded: ", loaderText(),
         "; set PKB_ATEN_LIBRARY to it, and PKB_PYTHON to an interpreter that has its torch");
  }
  auto table = reinterpret_cast<const pkb_aten_api *(*)()>(dlsym(library, "pkb_aten_table"));
  if (!table || table()->abi_version != PKB_ATEN_ABI_VERSION) {
    fail(PKB_ERROR_ATEN, "'", path, "' is of another version than this run time (", PKB_ATEN_ABI_VERSION,
         "); use those of one build");
  }
  return table();
}

} // namespace pkb_rt
