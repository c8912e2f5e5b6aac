// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- PhaseMaker.h - phases of a comm.fused that is cut ----------*- C++ -*-===//

#ifndef PKB_ANALYSIS_PHASEMAKER_H
#define PKB_ANALYSIS_PHASEMAKER_H

#include "dialects/Comm/IR/Comm.h"

#include "mlir/IR/IRMapping.h"

namespace pkb {

/// A comm.fused under construction: a phase of a region that is cut into several.
class PhaseMaker {
public:
  /// It will stand where `builder` does.
  PhaseMaker(mlir::OpBuilder &builder, mlir::Location loc);

  /// The value of the phase that stands for `outer`, which becomes an input.
  mlir::Value input(mlir::Value outer);
  /// Clones into the phase what `value`, of the region that is cut, is computed from, as far as `mapping` does not know it. `outer` says of values of that region
  /// what the phase reads for them.
  mlir::Value clone(mlir::Value value, mlir::IRMapping &mapping, const llvm::DenseMap<mlir::Value, mlir::Value> &outer);
  comm::FusedOp finish(mlir::ValueRange yielded);

private:
  mlir::OpBuilder &builder;
  mlir::Location loc;
  std::unique_ptr<mlir::Block> body = std::make_unique<mlir::Block>();
  llvm::DenseMap<mlir::Value, mlir::Value> known;
  llvm::SmallVector<mlir::Value> inputs;

public:
  mlir::OpBuilder inside; // at the end of the phase
};

} // namespace pkb

#endif // PKB_ANALYSIS_PHASEMAKER_H
