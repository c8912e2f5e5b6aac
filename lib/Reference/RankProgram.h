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
  /// The operation at which this rank waits for its row; null if it does not.
  mlir::Operation *getArrived() const { return arrived; }
  void blockEnded() { --runningBlocks; }
  /// A block of the kernel launched last has come to its next sync of all blocks.
  void blockCame() { ++arrivals; }
  /// True if all its blocks have come to `syncs` of them.
  bool haveAllCome(int64_t syncs) const { return arrivals >= syncs * launchedBlocks; }

private:
  using Result = llvm::Expected<Progress>;
  Result run(mlir::Operation *op);
  llvm::Error bind(mlir::Value value); // to fresh memory
  /// Windows of memrefs; std::nullopt for one that does not exist on this rank.
  llvm::Expected<std::vector<std::optional<Window>>> windowsOf(mlir::ValueRange operands);
  /// Waits for the ranks of its row of `group`; the last one to arrive carries out `body` (programs in group order,
  /// number of the row) for all.
  Result rendezvous(mlir::Operation *op, comm::GroupAttr group,
                    llvm::function_ref<llvm::Error(llvm::ArrayRef<RankProgram *>, int64_t)> body);

  // CommLevel.cpp
  Result runCall(aten::CallOp call);
  Result runView(aten::AsStridedOp view);
  Result runViewWrite(aten::ViewWriteOp write);
  Result runLiteral(aten::LiteralOp literal);
  Result runHostRead(mlir::Operation *read); // comm.host_read, xfer.host_read
  Result runCollective(comm::CollectiveOpInterface collective);
  // XferLevel.cpp
  Result runCopy(mlir::memref::CopyOp copy);
  Result runConstant(mlir::memref::GetGlobalOp use);
  Result runReinterpret(mlir::Operation *cast);
  Result runLaunch(xfer::LaunchOp launch);
  Result runLibraryCall(xfer::LibraryCallOp call);
  Result runTransfer(xfer::TransferOp transfer);

  World &world;
  int64_t rank;
  mlir::func::FuncOp function;
  llvm::DenseMap<mlir::Value, Tensor> values;
  llvm::DenseMap<mlir::Value, Scalar> scalars;
  mlir::Block::iterator next, end;
  std::optional<mlir::Block::iterator> target; // where the operation at hand goes on, if not behind itself
  bool ended = false;
  std::vector<std::pair<mlir::Value, Tensor>> returned;

  mlir::Operation *arrived = nullptr;
  llvm::SmallVector<RankProgram *> row; // whom it waits for there, and itself
  bool met = false;                     // the operation has been carried out
  int64_t runningBlocks = 0;            // of the kernel launched last
  int64_t launchedBlocks = 0, arrivals = 0;
};

} // namespace pkb::reference

#endif // PKB_LIB_REFERENCE_RANKPROGRAM_H
