// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Collectives.h - what each collective computes ------------*- C++ -*-===//
//
// Private to lib/Reference.
//
//===----------------------------------------------------------------------===//

#ifndef PKB_LIB_REFERENCE_COLLECTIVES_H
#define PKB_LIB_REFERENCE_COLLECTIVES_H

#include "Memory.h"

#include "dialects/Comm/IR/Comm.h"

namespace pkb::reference {

/// What one rank of a row gives to a collective and gets from it: tensors as their elements in row-major order. An
/// absent tensor, and a result whose elements are not defined on this rank, is std::nullopt.
struct Contribution {
  comm::CollectiveOpInterface op; // of that rank's program
  llvm::SmallVector<std::optional<Bytes>> inputs, results;
};

/// How contributions are combined.
struct Combination {
  comm::ReduceKind kind;
  ElementType element, accumulation;
  llvm::ArrayRef<double> factors; // of premul_sum, one for each part
};
Arithmetic arithmeticOf(comm::ReduceKind kind);

/// The parts, of equal size, combined element by element: in their order, in the accumulation type, rounded once.
llvm::Expected<Bytes> combineParts(const Combination &combination, llvm::ArrayRef<Bytes> parts);

/// Fills in the results of all members of row `row`, given in group order.
llvm::Error carryOut(llvm::MutableArrayRef<Contribution> members, int64_t row);

} // namespace pkb::reference

#endif // PKB_LIB_REFERENCE_COLLECTIVES_H
