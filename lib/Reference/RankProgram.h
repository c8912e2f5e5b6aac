// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- RankProgram.h - the host program of one rank -------------*- C++ -*-===//
//
// Private to lib/Reference. Operations on tensors are in CommLevel.cpp, those on memrefs in XferLevel.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef PKB_LIB_REFERENCE_RANKPROGRAM_H
#define PKB_LIB_REFERENCE_RANKPROGRAM_H

#include "World.h"

#include "dialects/Aten/IR/Aten.h"
#include "dialects/Comm/IR/Comm.h"
#include "dialects/Xfer/IR/Xfer.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace pkb::reference {

class RankProgram : public Agent {
public:
  RankProgram(World &world, int64_t rank, mlir::func::FuncOp function, std::vector<Tensor> arguments);

  llvm::Expected<Progress> step() override;
  std::string waitingFor() override;

  int64_t getRank() const { return rank; }
  bool hasEnded() const { return ended; }
  /// What the function returned.
  llvm::ArrayRef<std::pair<mlir::Value, Tensor>> getReturned() const { return returned; }
  llvm::Expected<Window> windowOfValue(mlir::Value value) { return windowOf(value.getType(), values.lookup(value)); }
  /// The collective at which this rank waits for its row; null if it does not.
  comm::CollectiveOpInterface getArrived() const { return arrived; }
  void blockEnded() { --runningBlocks; }

private:
  using Result = llvm::Expected<Progress>;
  Result run(mlir::Operation *op);
  llvm::Error bind(mlir::Value value); // to fresh memory

  // CommLevel.cpp
  Result runCall(aten::CallOp call);
  Result runView(aten::AsStridedOp view);
  Result runViewWrite(aten::ViewWriteOp write);
  Result runLiteral(aten::LiteralOp literal);
  Result runHostRead(comm::HostReadOp read);
  Result runCollective(comm::CollectiveOpInterface collective);
  // XferLevel.cpp
  Result runCopy(mlir::memref::CopyOp copy);
  Result runConstant(mlir::memref::GetGlobalOp use);
  Result runReinterpret(mlir::memref::ReinterpretCastOp cast);
  Result runLaunch(xfer::LaunchOp launch);

  World &world;
  int64_t rank;
  mlir::func::FuncOp function;
  llvm::DenseMap<mlir::Value, Tensor> values;
  llvm::DenseMap<mlir::Value, Scalar> scalars;
  mlir::Block::iterator next, end;
  std::optional<mlir::Block::iterator> target; // where the operation at hand goes on, if not behind itself
  bool ended = false;
  std::vector<std::pair<mlir::Value, Tensor>> returned;

  comm::CollectiveOpInterface arrived;
  bool met = false;          // the collective has been carried out
  int64_t runningBlocks = 0; // of the kernel launched last
};

} // namespace pkb::reference

#endif // PKB_LIB_REFERENCE_RANKPROGRAM_H
