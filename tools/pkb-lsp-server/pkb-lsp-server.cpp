// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- pkb-lsp-server.cpp - our dialects in an editor -------------------===//
//
// The language server of MLIR with our dialects: errors as one types, definitions and uses of values and symbols, types under the cursor. An editor
// starts it as its server for .mlir files. docs/Tools/pkb-lsp-server.md.
//
//===----------------------------------------------------------------------===//

#include "pkb/InitAll.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  pkb::registerAllDialects(registry);
  return mlir::failed(mlir::MlirLspServerMain(argc, argv, registry));
}
