// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Plugin.h - what a pass from outside the tree includes ----*- C++ -*-===//
//
// One file that ends with PKB_PASS_PLUGIN(MyPass) becomes a library by `tools/dev/build-plugin MyPass.cpp -o MyPass.so`, and
// `pkb-opt --load-pass-plugin=MyPass.so` knows its pass. docs/Examples/plugin has one; docs/Rationale/Openness.md says why so.
//
//===----------------------------------------------------------------------===//

#ifndef PKB_PLUGIN_H
#define PKB_PLUGIN_H

#include "dialects/Aten/IR/Aten.h"
#include "dialects/Comm/IR/Comm.h"
#include "dialects/Cuda/IR/Cuda.h"
#include "dialects/Xfer/IR/Xfer.h"
#include "pkb/PluginAbi.h.inc" // PKB_PLUGIN_ABI, made by the build: what the headers above were

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Tools/Plugins/PassPlugin.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

/// The entry point of a plugin: registers the pass (a default-constructible mlir::Pass with getArgument()).
#define PKB_PASS_PLUGIN(PASS)                                                                                          \
  extern "C" LLVM_ATTRIBUTE_WEAK ::mlir::PassPluginLibraryInfo mlirGetPassPluginInfo() {                               \
    return {MLIR_PLUGIN_API_VERSION, #PASS, PKB_PLUGIN_ABI, [] { ::mlir::PassRegistration<PASS>(); }};                 \
  }

#endif // PKB_PLUGIN_H
