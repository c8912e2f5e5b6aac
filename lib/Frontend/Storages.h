//===- Storages.h - versions of storages while importing --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PyTorch tensors are windows of storages that are written in place. The
// importer keeps, for each piece of a storage that has been made, the value that
// it holds now (its version). Reading a tensor derives its value from the
// version; writing one makes a new version. So views need no table, and what a
// write through one view does to another is exact.
//
//===----------------------------------------------------------------------===//

#ifndef LIB_FRONTEND_STORAGES_H
#define LIB_FRONTEND_STORAGES_H

#include "lib/Frontend/Bundle.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Value.h"

namespace pkb::frontend {

/// The bytes [begin, end) of a storage that were made together.
struct StorageRegion {
  int64_t begin = 0;
  int64_t end = 0;
  mlir::Value version;
  mlir::Value initial;
  int64_t argument = -1; // the argument that `initial` is, or -1
};

class Storages {
public:
  Storages(const RankProgram &program, mlir::OpBuilder &builder)
      : program(program), builder(builder), regions(program.storages.size()) {}

  /// The bytes of the storage that a tensor reaches.
  aten::ByteRange getWindow(int64_t tensor) const;

  /// True if something has made the bytes of this tensor, so that it is a view
  /// of what is there.
  bool isMade(int64_t tensor) const { return find(tensor) != nullptr; }

  /// The region that holds a tensor; null if nothing has made its bytes.
  const StorageRegion *find(int64_t tensor) const;

  /// The type of a tensor in a region that begins at `begin`.
  llvm::Expected<mlir::RankedTensorType> getType(int64_t tensor,
                                                 int64_t begin) const;
  /// The type of a tensor that is made by an operation: offset 0.
  llvm::Expected<mlir::RankedTensorType> getFreshType(int64_t tensor) const {
    return getType(tensor, getWindow(tensor).begin);
  }

  /// Says that `value`, which covers the bytes `window`, is made now.
  StorageRegion &define(int64_t storage, aten::ByteRange window, mlir::Value value);

  /// The value that a tensor has now, its lazy conjugation and negation done.
  llvm::Expected<mlir::Value> read(int64_t tensor, mlir::Location loc);

  /// Overwrites a tensor with the elements of `value`, row by row; the shapes may
  /// differ if `value` is contiguous.
  llvm::Error write(int64_t tensor, mlir::Value value, mlir::Location loc);

  /// The regions of a storage.
  llvm::ArrayRef<StorageRegion> getRegions(int64_t storage) const {
    return regions[storage];
  }

private:
  StorageRegion *findMutable(int64_t tensor) {
    return const_cast<StorageRegion *>(std::as_const(*this).find(tensor));
  }

  /// `value` after an operator of one tensor argument.
  mlir::Value apply(llvm::StringRef callee, mlir::Value value,
                    mlir::Location loc);

  const RankProgram &program;
  mlir::OpBuilder &builder;
  std::vector<llvm::SmallVector<StorageRegion, 1>> regions;
  // The value of a tensor in a version, so that it is derived once.
  llvm::DenseMap<std::pair<mlir::Value, int64_t>, mlir::Value> derived;
};

} // namespace pkb::frontend

#endif // LIB_FRONTEND_STORAGES_H
