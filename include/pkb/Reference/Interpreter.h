// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Interpreter.h - run a module of level L1 or L2 -----------*- C++ -*-===//
//
// All ranks of a program in one process, their tensors in host memory. It defines what both levels mean, is slow, and
// is what a lowering is held against (docs/Rationale/Reference.md).
//
//===----------------------------------------------------------------------===//

#ifndef PKB_REFERENCE_INTERPRETER_H
#define PKB_REFERENCE_INTERPRETER_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

#include <memory>
#include <string>
#include <vector>

namespace pkb::reference {

class World;

/// What the caller passes on one rank: for each argument its elements in row-major order, without gaps. Arguments that
/// are windows of one storage (aten.alias_of) hold, in this order, what is written to it.
struct RankInputs {
  std::vector<std::vector<char>> arguments;
};

/// What the caller sees on one rank after a call, elements in row-major order without gaps.
struct Observed {
  std::string name; // "result 0", "argument 1": the contents after the call
  mlir::Type type;  // shape and element type; the layout does not matter
  bool defined;     // false: the program promises nothing about the elements on this rank
  std::vector<char> bytes;
};

/// What random inputs are like: floats of full precision in [-2, 2), integers of all bits, bools of both kinds.
struct InputOptions {
  int64_t limit = 0; // if positive, integers are in [0, limit)
  bool special =
      false; // one float in eight is a NaN, an infinity, a zero of either sign, the largest or the smallest number
};

struct RunOptions {
  /// Of the order in which ranks and blocks run.
  uint64_t scheduleSeed = 0;
  /// Path of libpkb_aten.so; programs that call operators need it.
  std::string atenLibrary;
};

/// One program on all its ranks. Calls follow each other on the same ranks: symmetric memory, flags and parities live
/// on.
class Interpreter {
public:
  /// Reads `module` (its function @main, or the functions of the ranks), which must outlive the interpreter. Fails with
  /// one line where something has no meaning here.
  static llvm::Expected<std::unique_ptr<Interpreter>> create(mlir::ModuleOp module, const RunOptions &options);
  ~Interpreter();

  int64_t worldSize() const;
  /// The types of the arguments on `rank`.
  llvm::ArrayRef<mlir::Type> argumentTypes(int64_t rank) const;

  /// Inputs that follow from `seed` alone, different on every rank.
  llvm::Expected<std::vector<RankInputs>> randomInputs(uint64_t seed, const InputOptions &options) const;

  /// Runs the program once on every rank. Fails with one message, of several lines for a deadlock, where ranks wait for
  /// ever, a race is seen, or an operation fails.
  llvm::Expected<std::vector<std::vector<Observed>>> call(const std::vector<RankInputs> &inputs);

private:
  explicit Interpreter(std::unique_ptr<World> world);
  std::unique_ptr<World> world;
};

/// The first element in which two outcomes of one call differ, as text; empty if there is none. NaNs are equal to each
/// other. Floats may differ by `ulps` units in the last place.
std::string firstDifference(llvm::ArrayRef<std::vector<Observed>> left, llvm::ArrayRef<std::vector<Observed>> right,
                            int64_t ulps = 0);

/// An element's text, for reports.
std::string elementText(const Observed &tensor, int64_t index);

} // namespace pkb::reference

#endif // PKB_REFERENCE_INTERPRETER_H
