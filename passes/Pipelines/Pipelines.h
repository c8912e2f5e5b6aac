// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Pipelines.h - phases with their gates --------------------*- C++ -*-===//

#ifndef PKB_PASSES_PIPELINES_PIPELINES_H
#define PKB_PASSES_PIPELINES_PIPELINES_H

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"

namespace pkb {

/// Options of `pkb-pipeline`.
struct PipelineOptions : mlir::PassPipelineOptions<PipelineOptions> {
  Option<std::string> target{*this, "target", llvm::cl::desc("target machine and number of ranks, such as h200x4; without it an h200 is assumed"),
                             llvm::cl::init("")};
  Option<std::string> targetFile{*this, "target-file", llvm::cl::desc("machine file that replaces the built-in ones"),
                                 llvm::cl::init("")};
  Option<std::string> mechanism{*this, "mechanism", llvm::cl::desc("use this mechanism for every collective"), llvm::cl::init("")};
  Option<bool> fuse{*this, "fuse", llvm::cl::desc("put collectives and the operators around them into one kernel"), llvm::cl::init(true)};
  Option<std::string> script{*this, "script", llvm::cl::desc("transform script to run at level L1, before fusion"), llvm::cl::init("")};
  Option<std::string> commPasses{*this, "comm-passes", llvm::cl::desc("passes to run at level L1, before fusion"), llvm::cl::init("")};
  Option<std::string> xferPasses{*this, "xfer-passes", llvm::cl::desc("passes to run at level L2, before its gate"), llvm::cl::init("")};
  Option<std::string> cudaPasses{*this, "cuda-passes", llvm::cl::desc("passes to run at level L3, before its gate"), llvm::cl::init("")};
  Option<int64_t> arenaBytes{*this, "arena-bytes", llvm::cl::desc("bytes of the symmetric region of one rank"),
                             llvm::cl::init(256ll << 20)};
};

/// Level L1 to L3, with the gate of each level. The result can be emitted. What options bring in from outside runs between the gates; fails through
/// `fail` where it cannot be found.
mlir::LogicalResult buildPipeline(mlir::OpPassManager &manager, const PipelineOptions &options,
                                  llvm::function_ref<mlir::LogicalResult(const llvm::Twine &)> fail);

/// Registers `pkb-pipeline`.
void registerPkbPipelines();

} // namespace pkb

#endif // PKB_PASSES_PIPELINES_PIPELINES_H
