//===- OptMain.h - what pkb-opt does ----------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PKB_DRIVER_OPTMAIN_H
#define PKB_DRIVER_OPTMAIN_H

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include <string>
#include <vector>

namespace pkb {

/// What is written: by the extension of the output, unless asked for.
enum class EmitKind { Auto, Mlir, Bytecode, Cuda, Artefact };

/// How the decisions about collectives are shown, if they are.
enum class ExplainKind { None, Table, Json };

struct OptRequest {
  // A path, "-" for standard input; a folder holds rank0.pt2, rank1.pt2, ...
  std::string input;
  std::string output; // path, "-" for standard output
  EmitKind emit = EmitKind::Auto;
  int64_t worldSize = 0; // number of ranks; 0: the input says it
  ExplainKind explain = ExplainKind::None;
  std::string explainOutput; // path; empty for standard error
  std::string dumpFolder;    // for the IR after every pass; empty for none
};

/// The command line with `--target-file F` given to the pipeline too, as its
/// option `target-file=F`. Sets \p error when there is no pipeline to give it to.
std::vector<std::string> passTargetFile(int argc, char **argv,
                                        std::string &error);

/// Reads the input (bundle, textual IR or bytecode, told apart by their first
/// bytes), runs the pass pipeline of `config` and writes the output: whole, or
/// not at all. Returns the exit status: 0, or 1 after a message on stderr.
int runOpt(const OptRequest &request, mlir::DialectRegistry &registry,
           const mlir::MlirOptMainConfig &config);

} // namespace pkb

#endif // PKB_DRIVER_OPTMAIN_H
