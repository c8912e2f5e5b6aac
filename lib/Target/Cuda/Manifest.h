// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Manifest.h - the host plan as JSON -----------------------*- C++ -*-===//
//
// Private to lib/Target/Cuda.
//
//===----------------------------------------------------------------------===//

#ifndef PKB_LIB_TARGET_CUDA_MANIFEST_H
#define PKB_LIB_TARGET_CUDA_MANIFEST_H

#include "dialects/Aten/IR/Aten.h"
#include "dialects/Cuda/IR/Cuda.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/JSON.h"

#include <map>

namespace pkb {

/// Turns the functions of level L3 into slots and steps: `@main`, or one program for each set of ranks that has its own function.
class ManifestBuilder {
public:
  explicit ManifestBuilder(mlir::ModuleOp module) : module(module) {}

  /// The manifest without `program` and `data`.
  llvm::FailureOr<llvm::json::Object> build();
  /// The constants, concatenated; each at the offset that its slot names.
  const std::string &data() const { return constants; }
  /// How many copies a call makes, by function.
  const std::map<std::string, int64_t> &getCopies() const { return copies; }

private:
  llvm::FailureOr<llvm::json::Object> buildProgram(mlir::func::FuncOp function);
  llvm::LogicalResult collectSlots(mlir::func::FuncOp main);
  llvm::LogicalResult collectOutputs(mlir::func::FuncOp main);
  llvm::LogicalResult collectSteps(mlir::func::FuncOp main);
  llvm::LogicalResult addConstant(mlir::memref::GetGlobalOp use);
  void addKernels();
  int64_t addSlot(llvm::json::Object shape, llvm::StringRef kind, llvm::json::Object fields);
  int64_t addSlot(mlir::Value value, llvm::StringRef kind, llvm::json::Object fields);
  llvm::LogicalResult addView(mlir::Operation *view, int64_t offset);
  int64_t addGroup(comm::GroupAttr group);
  llvm::json::Value slotJson(mlir::Value operand) const;
  llvm::json::Value copyStep(mlir::MemRefType type, int64_t from, int64_t to, std::string source);
  llvm::json::Value callStep(aten::CallOp call);
  llvm::json::Value libraryStep(cuda::LibraryCallOp call);
  llvm::json::Array callList(mlir::OperandRange operands, mlir::ArrayAttr calls, bool transfer);

  mlir::ModuleOp module;
  llvm::DenseMap<mlir::Value, int64_t> slotOf;
  llvm::DenseMap<mlir::Value, int64_t> roomOf; // bytes from a slot's first to the end of the memory it lies in
  llvm::DenseMap<mlir::Value, int64_t> outputOf; // allocations that are memory of the caller
  llvm::DenseMap<mlir::Attribute, int64_t> groupOf;
  llvm::json::Array slots, steps, endSteps, arguments, outputs; // of one program
  llvm::json::Array kernels, groups, sites;
  std::string constants;
  std::map<std::string, int64_t> copies;
  int64_t workspace = 0; // of one program
  int64_t region = 0;
};

/// Where `function` is from: its own attribute, or the module's.
aten::ProgramAttr provenanceOf(mlir::func::FuncOp function);

/// "file.py:12" of the innermost frame of a location; empty if it has none.
std::string sourceOf(mlir::Location loc);

} // namespace pkb

#endif // PKB_LIB_TARGET_CUDA_MANIFEST_H
