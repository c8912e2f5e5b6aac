// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- DumpDir.cpp - the IR after every pass, one file each -------------===//

#include "pkb/Driver/DumpDir.h"

#include "pkb/Support/Error.h"

#include "mlir/Pass/PassInstrumentation.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Regex.h"
#include "llvm/Support/WithColor.h"

using namespace mlir;
using namespace pkb;
namespace fs = llvm::sys::fs;

llvm::Error pkb::prepareDumpFolder(StringRef folder) {
  if (std::error_code code = fs::create_directories(folder))
    return makeError("cannot make the folder '", folder, "': ", code.message());
  if (!fs::is_directory(folder))
    return makeError("cannot dump into '", folder, "': it is not a folder");
  llvm::Regex ours("^[0-9][0-9][0-9]+-[^/]*\\.mlir$");
  std::error_code code;
  std::vector<std::string> old;
  for (fs::directory_iterator entry(folder, code), end; entry != end && !code; entry.increment(code))
    if (ours.match(llvm::sys::path::filename(entry->path())))
      old.push_back(entry->path());
  for (const std::string &path : old)
    if (std::error_code removed = fs::remove(path))
      return makeError("cannot replace '", path, "': ", removed.message());
  if (code)
    return makeError("cannot list the folder '", folder, "': ", code.message());
  return llvm::Error::success();
}

namespace {

class Dump : public PassInstrumentation {
public:
  Dump(StringRef folder, bool &incomplete) : folder(folder), incomplete(incomplete) {}

  void runBeforePass(Pass *pass, Operation *op) override {
    if (number == 0)
      write("input", op, /*valid=*/true);
  }
  void runAfterPass(Pass *pass, Operation *op) override {
    if (isNamed(pass))
      write(pass->getArgument(), op, /*valid=*/true);
  }
  void runAfterPassFailed(Pass *pass, Operation *op) override {
    if (isNamed(pass))
      write((pass->getArgument() + "-failed").str(), op, /*valid=*/false);
  }

private:
  /// False for the pass manager's own adaptors, which run the passes that matter.
  static bool isNamed(Pass *pass) { return !pass->getArgument().empty(); }
  void write(StringRef what, Operation *op, bool valid);

  std::string folder;
  int64_t number = 0;
  bool &incomplete;
};

} // namespace

void Dump::write(StringRef what, Operation *op, bool valid) {
  if (incomplete)
    return;
  while (Operation *parent = op->getParentOp())
    op = parent;
  SmallString<128> path(folder);
  llvm::sys::path::append(path, llvm::formatv("{0:d3}-{1}.mlir", number++, what).str());
  std::error_code code;
  llvm::raw_fd_ostream os(path, code);
  if (!code) {
    OpPrintingFlags flags;
    if (!valid)
      flags.printGenericOpForm();
    op->print(os, flags);
    os << "\n";
    os.close();
    code = os.error();
    os.clear_error();
  }
  if (code) {
    incomplete = true;
    llvm::WithColor::error(llvm::errs(), "pkb-opt") << "cannot write '" << path << "': " << code.message() << "; no more is dumped\n";
  }
}

void pkb::dumpAfterEachPass(PassManager &manager, StringRef folder, bool &incomplete) {
  manager.getContext()->disableMultithreading();
  manager.addInstrumentation(std::make_unique<Dump>(folder, incomplete));
}
