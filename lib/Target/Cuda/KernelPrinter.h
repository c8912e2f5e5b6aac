// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- KernelPrinter.h - one kernel as C++ ----------------------*- C++ -*-===//
//
// Private to lib/Target/Cuda.
//
//===----------------------------------------------------------------------===//

#ifndef PKB_LIB_TARGET_CUDA_KERNELPRINTER_H
#define PKB_LIB_TARGET_CUDA_KERNELPRINTER_H

#include "dialects/Cuda/IR/Cuda.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/raw_ostream.h"

namespace pkb {

/// Prints the text of one cuda.kernel.
class KernelPrinter {
public:
  KernelPrinter(cuda::KernelOp kernel, llvm::raw_ostream &os) : kernel(kernel), os(os) {}
  llvm::LogicalResult print();

private:
  llvm::LogicalResult printBlock(mlir::Block &block);
  llvm::LogicalResult printOp(mlir::Operation *op);
  llvm::LogicalResult printLambda(mlir::Block &block, bool takesHow);
  std::string alignmentOf(mlir::Operation *loop);
  llvm::LogicalResult printForEach(cuda::ForEachOp loop);
  llvm::LogicalResult printForEachRow(cuda::ForEachRowOp loop);
  llvm::LogicalResult printStreamRows(cuda::StreamRowsOp stream);
  llvm::LogicalResult printRowReduce(cuda::RowReduceOp reduce);
  llvm::LogicalResult printFor(mlir::scf::ForOp loop);
  llvm::LogicalResult printIf(mlir::scf::IfOp branch);
  /// The expression of an op with one result; empty if there is none.
  std::string expression(mlir::Operation *op);
  std::string arithmetic(mlir::Operation *op);
  std::string use(mlir::Value value);
  std::string declareName(llvm::StringRef hint);
  std::string declare(mlir::Value value, llvm::StringRef hint);
  std::string vectorArguments(mlir::Type type);
  llvm::raw_ostream &line() { return os.indent(2 * depth); }

  cuda::KernelOp kernel;
  llvm::raw_ostream &os;
  unsigned depth = 1;
  llvm::DenseMap<mlir::Value, std::string> names;
  llvm::StringMap<unsigned> taken;
};

/// The C++ name of an element type ("pkb::bf16"); empty if there is none.
std::string elementTypeName(mlir::Type type);

} // namespace pkb

#endif // PKB_LIB_TARGET_CUDA_KERNELPRINTER_H
