// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- AtenCalls.h - ATen operators through the C table ---------*- C++ -*-===//
//
// Private to lib/Reference.
//
//===----------------------------------------------------------------------===//

#ifndef PKB_LIB_REFERENCE_ATENCALLS_H
#define PKB_LIB_REFERENCE_ATENCALLS_H

#include "Memory.h"

#include "dialects/Aten/IR/Aten.h"
#include "pkb_rt/aten.h"

namespace pkb::reference {

/// Runs operators on the CPU. The library is opened for the first one.
class AtenCalls {
public:
  explicit AtenCalls(std::string library) : library(std::move(library)) {}
  ~AtenCalls();
  AtenCalls(const AtenCalls &) = delete;
  AtenCalls &operator=(const AtenCalls &) = delete;

  /// `windows`: those of the inputs, then those of the fresh results (or outs). Operands in `mutates` and the fresh
  /// results are written; what has undefined contents stays as it is.
  llvm::Error run(aten::CallOp call, llvm::ArrayRef<Window> windows);

private:
  /// One operator, prepared.
  struct Prepared {
    pkb_aten_plan *plan = nullptr;
    pkb_aten_frame *frame = nullptr;
  };
  llvm::Error open();
  llvm::Expected<Prepared> prepare(aten::CallOp call, llvm::ArrayRef<Window> windows);

  std::string library;
  const pkb_aten_api *table = nullptr;
  llvm::DenseMap<mlir::Operation *, Prepared> prepared;
};

} // namespace pkb::reference

#endif // PKB_LIB_REFERENCE_ATENCALLS_H
