// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Pipelines.cpp - phases with their gates --------------------------===//

#include "passes/Pipelines/Pipelines.h"

#include "passes/Contract/Passes.h"
#include "passes/Fusion/Passes.h"
#include "passes/Lowering/Passes.h"
#include "passes/Normalize/Passes.h"
#include "passes/Select/Passes.h"

#include "mlir/Dialect/Transform/Transforms/Passes.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace pkb;

namespace {
using Fail = llvm::function_ref<LogicalResult(const Twine &)>;
} // namespace

/// Passes that the option `name` names.
static LogicalResult addPasses(OpPassManager &manager, StringRef name, StringRef pipeline, Fail fail) {
  if (pipeline.empty())
    return success();
  std::string why;
  llvm::raw_string_ostream os(why);
  if (failed(parsePassPipeline(pipeline, manager, os)))
    return fail("option " + name + " must be a list of passes: " + StringRef(why).trim());
  return success();
}

/// The sequence @__transform_main of a file.
static LogicalResult addScript(OpPassManager &manager, StringRef path, Fail fail) {
  if (path.empty())
    return success();
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (std::error_code code = buffer.getError())
    return fail("cannot open the script '" + path + "': " + code.message());
  if (!(*buffer)->getBuffer().contains("@__transform_main"))
    return fail("script '" + path + "' must have a transform.named_sequence @__transform_main");
  transform::PreloadLibraryPassOptions library;
  library.transformLibraryPaths.push_back(path.str());
  manager.addPass(transform::createPreloadLibraryPass(library));
  manager.addPass(transform::createInterpreterPass());
  return success();
}

/// Level L1: what is communicated.
static LogicalResult buildComm(OpPassManager &manager, const PipelineOptions &options, Fail fail) {
  VerifyCommPassOptions verify;
  verify.arenaBytes = options.arenaBytes;
  manager.addPass(createVerifyCommPass(verify));
  manager.addPass(createElideClonesPass());
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
  if (failed(addScript(manager, options.script, fail)) || failed(addPasses(manager, "comm-passes", options.commPasses, fail)))
    return failure();
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
  manager.addPass(createVerifyCommPass(verify));
  return success();
}

/// Level L2: how the bytes move.
static LogicalResult buildXfer(OpPassManager &manager, const PipelineOptions &options, Fail fail) {
  manager.addPass(createConvertCommToXferPass());
  if (failed(addPasses(manager, "xfer-passes", options.xferPasses, fail)))
    return failure();
  VerifyXferPassOptions verify;
  verify.arenaBytes = options.arenaBytes;
  manager.addPass(createVerifyXferPass(verify));
  return success();
}

/// Level L3: what is called.
static LogicalResult buildCuda(OpPassManager &manager, const PipelineOptions &options, Fail fail) {
  manager.addPass(createConvertXferToCudaPass());
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
  if (failed(addPasses(manager, "cuda-passes", options.cudaPasses, fail)))
    return failure();
  manager.addPass(createVerifyCudaEmittablePass());
  return success();
}

LogicalResult pkb::buildPipeline(OpPassManager &manager, const PipelineOptions &options, Fail fail) {
  return success(succeeded(buildComm(manager, options, fail)) && succeeded(buildXfer(manager, options, fail)) &&
                 succeeded(buildCuda(manager, options, fail)));
}

void pkb::registerPkbPipelines() {
  registerPassPipeline(
      "pkb-pipeline", "level L1 to L3 for a target, with the gate of each level",
      [](OpPassManager &manager, StringRef text, Fail fail) -> LogicalResult {
        PipelineOptions options;
        std::string why;
        llvm::raw_string_ostream os(why);
        if (failed(options.parseFromString(text, os))) {
          StringRef reason = StringRef(why).trim();
          reason.consume_front("<Pass-Options-Parser>: ");
          // What is wrong with a value has been said by its parser.
          return reason.empty() ? failure() : fail("option --pkb-pipeline=" + text + " must have options that --help lists, got: " + reason);
        }
        return buildPipeline(manager, options, fail);
      },
      [](llvm::function_ref<void(const detail::PassOptions &)> show) { show(PipelineOptions()); });
}
