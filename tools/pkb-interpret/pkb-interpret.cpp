// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- pkb-interpret.cpp - run a module on all its ranks -------------------===//

#include "pkb/Driver/InterpretMain.h"
#include "pkb/InitAll.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/Path.h"

namespace cl = llvm::cl;

static int anchor;

/// The library beside this program.
static std::string atenLibrary(const char *program) {
  llvm::SmallString<128> path(llvm::sys::fs::getMainExecutable(program, &anchor));
  llvm::sys::path::remove_filename(path);
  llvm::sys::path::append(path, "..", "lib", "libpkb_aten.so");
  return path.str().str();
}

int main(int argc, char **argv) {
  llvm::InitLLVM initialize(argc, argv);
  pkb::InterpretRequest request;
  request.aten = atenLibrary(argv[0]);
  cl::OptionCategory category("pkb-interpret");
  auto group = cl::cat(category);
  cl::opt<std::string, true> input(cl::Positional, cl::desc("<bundle or module>"), cl::Required,
                                   cl::location(request.input), group);
  cl::opt<std::string, true> against("against", cl::desc("Another module that must compute the same"),
                                     cl::location(request.against), group);
  cl::opt<std::string, true> lower("lower", cl::desc("Pass pipeline after which the module must compute the same"),
                                   cl::location(request.lower), group);
  cl::opt<std::string, true> inputs("inputs", cl::desc("Folder with rank<r>.<argument>.bin (default: random)"),
                                    cl::location(request.inputs), group);
  cl::opt<std::string, true> outputs("outputs", cl::desc("Folder for what the last call left"),
                                     cl::location(request.outputs), group);
  cl::opt<std::string, true> aten("aten-library", cl::desc("Path of libpkb_aten.so"), cl::location(request.aten),
                                  cl::init(request.aten), group);
  cl::opt<uint64_t, true> seed("seed", cl::desc("First seed of inputs and scheduling"), cl::location(request.seed),
                               group);
  cl::opt<int64_t, true> seeds("seeds", cl::desc("Number of seeds"), cl::location(request.seeds), cl::init(1), group);
  cl::opt<int64_t, true> calls("calls", cl::desc("Calls one after the other, per seed"), cl::location(request.calls),
                               cl::init(1), group);
  cl::opt<int64_t, true> limit("int-limit", cl::desc("Random integers are in [0, N)"),
                               cl::location(request.random.limit), group);
  cl::opt<bool, true> special("special-values",
                              cl::desc("One random float in eight is a NaN, an infinity, a zero, ..."),
                              cl::location(request.random.special), group);
  cl::opt<int64_t, true> ulps("ulps", cl::desc("Units in the last place by which floats may differ"),
                              cl::location(request.ulps), group);
  cl::opt<int64_t, true> print("print", cl::desc("Elements of a tensor that are printed"), cl::location(request.print),
                               cl::init(16), group);
  cl::opt<bool, true> json("json", cl::desc("Print results as JSON lines"), cl::location(request.json), group);
  cl::opt<bool, true> split("split-input-file", cl::desc("Each piece between '// -----' is a module"),
                            cl::location(request.split), group);
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(argc, argv,
                              "pkb-interpret: run a module of level L1 or L2 on all its ranks, on the host\n");
  mlir::DialectRegistry registry;
  pkb::registerAllDialects(registry);
  pkb::registerAllPasses();
  return pkb::runInterpret(request, registry);
}
