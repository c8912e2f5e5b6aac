// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Pipelines.cpp - phases with their gates --------------------------===//

#include "passes/Pipelines/Pipelines.h"

#include "passes/Contract/Passes.h"
#include "passes/Fusion/Passes.h"
#include "passes/Lowering/Passes.h"
#include "passes/Normalize/Passes.h"
#include "passes/Select/Passes.h"

#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace pkb;

/// Level L1: what is communicated.
static void buildComm(OpPassManager &manager, const PipelineOptions &options) {
  manager.addPass(createVerifyCommPass());
  manager.addPass(createElideClonesPass());
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
  if (options.fuse) {
    manager.addPass(createFuseCollectivesPass());
    manager.addPass(createChainCollectivesPass());
  }
  SelectMechanismPassOptions select;
  select.target = options.target;
  select.targetFile = options.targetFile;
  select.mechanism = options.mechanism;
  select.arenaBytes = options.arenaBytes;
  manager.addPass(createSelectMechanismPass(select));
  manager.addPass(createVerifyCommPass());
}

/// Level L2: how the bytes move.
static void buildXfer(OpPassManager &manager, const PipelineOptions &options) {
  manager.addPass(createConvertCommToXferPass());
  VerifyXferPassOptions verify;
  verify.arenaBytes = options.arenaBytes;
  manager.addPass(createVerifyXferPass(verify));
}

/// Level L3: what is called.
static void buildCuda(OpPassManager &manager) {
  manager.addPass(createConvertXferToCudaPass());
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
  manager.addPass(createVerifyCudaEmittablePass());
}

void pkb::buildPipeline(OpPassManager &manager, const PipelineOptions &options) {
  buildComm(manager, options);
  buildXfer(manager, options);
  buildCuda(manager);
}

void pkb::registerPkbPipelines() {
  PassPipelineRegistration<PipelineOptions>("pkb-pipeline", "level L1 to L3 for a target, with the gate of each level",
                                            [](OpPassManager &manager, const PipelineOptions &options) {
                                              buildPipeline(manager, options);
                                            });
}
