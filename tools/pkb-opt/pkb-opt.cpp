//===- pkb-opt.cpp - import, optimise, verify, emit -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "pkb/Driver/OptMain.h"
#include "pkb/Driver/Plugins.h"
#include "pkb/InitAll.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/WithColor.h"
#include <csignal>

namespace cl = llvm::cl;

int main(int argc, char **argv) {
  llvm::InitLLVM initialize(argc, argv);
  std::signal(SIGXFSZ, SIG_IGN); // a limit on file sizes is an error of the write, as a full disk is
  mlir::DialectRegistry registry;
  pkb::registerAllDialects(registry);
  pkb::registerAllPasses();

  cl::opt<pkb::EmitKind> emit(
      "emit", cl::desc("What to write (default: by the output's extension)"),
      cl::init(pkb::EmitKind::Auto),
      cl::values(
          clEnumValN(pkb::EmitKind::Mlir, "mlir", "textual IR"),
          clEnumValN(pkb::EmitKind::Bytecode, "bytecode", "MLIR bytecode"),
          clEnumValN(pkb::EmitKind::Cuda, "cuda", "CUDA with manifest"),
          clEnumValN(pkb::EmitKind::Artefact, "artefact",
                     "one file with CUDA, constants, compiled kernels and the "
                     "function's source")));
  cl::opt<std::string> targetFile(
      "target-file", cl::value_desc("file"),
      cl::desc("Machine file for --pkb-pipeline, in place of the built-in one"));
  cl::opt<int64_t> worldSize(
      "world-size", cl::value_desc("ranks"),
      cl::desc("Number of ranks of a .pt2 file that does not say it"));

  cl::opt<bool> explain(
      "explain", cl::desc("Say on standard error what became of each collective, and why"));
  cl::opt<std::string> json(
      "json", cl::value_desc("file"), cl::ValueOptional,
      cl::desc("With --explain: as JSON, into a file or on standard error"));
  cl::opt<std::string> dumpFolder(
      "dump-dir", cl::value_desc("folder"),
      cl::desc("Write the IR before the first and after every pass, one file each"));

  std::string error;
  std::vector<std::string> arguments =
      pkb::passTargetFile(argc, argv, error);
  if (!error.empty()) {
    llvm::WithColor::error(llvm::errs(), "pkb-opt") << error << "\n";
    return 1;
  }
  if (llvm::Error plugins = pkb::checkPlugins(arguments)) {
    llvm::WithColor::error(llvm::errs(), "pkb-opt")
        << llvm::toString(std::move(plugins)) << "\n";
    return 1;
  }
  // A message names the line of the user's file; the operation is for who asks.
  llvm::StringRef printOp = "--mlir-print-op-on-diagnostic";
  if (llvm::none_of(arguments, [&](llvm::StringRef argument) {
        return argument.ltrim('-').starts_with(printOp.ltrim('-'));
      }))
    arguments.push_back((printOp + "=false").str());
  std::vector<char *> pointers;
  for (std::string &argument : arguments)
    pointers.push_back(argument.data());
  pkb::OptRequest request;
  std::tie(request.input, request.output) = mlir::registerAndParseCLIOptions(
      int(pointers.size()), pointers.data(),
      "pkb-opt: import, optimise, verify, emit multi-GPU kernels", registry);
  request.emit = emit;
  request.worldSize = worldSize;
  if (worldSize.getNumOccurrences() && worldSize < 1) {
    llvm::WithColor::error(llvm::errs(), "pkb-opt")
        << "--world-size must be at least 1, got: " << worldSize << "\n";
    return 1;
  }
  if (json.getNumOccurrences() && !explain) {
    llvm::WithColor::error(llvm::errs(), "pkb-opt")
        << "--json is the form of an explanation; add --explain\n";
    return 1;
  }
  if (explain)
    request.explain = json.getNumOccurrences() ? pkb::ExplainKind::Json
                                               : pkb::ExplainKind::Table;
  request.explainOutput = json;
  request.dumpFolder = dumpFolder;
  auto config = mlir::MlirOptMainConfig::createFromCLOptions();
  return pkb::runOpt(request, registry, config);
}
