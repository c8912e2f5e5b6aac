// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Decisions.h - what passes decide about a collective ------*- C++ -*-===//
//
// A remark says to people what was decided and why. The same remark carries the decision as data, for who makes more of it than a line of text
// (pkb-opt --explain). The text of a remark does not change by that. docs/Rationale/Explain.md.
//
//===----------------------------------------------------------------------===//

#ifndef PKB_ANALYSIS_DECISIONS_H
#define PKB_ANALYSIS_DECISIONS_H

#include "dialects/Xfer/IR/Xfer.h"

#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

#include <optional>
#include <string>
#include <vector>

namespace pkb {

/// What a message is measured in: bytes to one peer, or rows of which each rank sends a line of statistics to every other.
enum class MessageUnit { Bytes, Rows };

/// Why a mechanism is the one: its predicted time, a wish of the user for all collectives, or a schedule that was there before.
enum class MechanismOrigin { Fastest, Asked, Given };

/// One mechanism for one collective.
struct MechanismOption {
  xfer::Mechanism mechanism = xfer::Mechanism::LdSt;
  std::optional<double> predictedUs; // of one call, in microseconds; none if it is not legal
  std::string reason;                // why it is not legal
};

/// Which mechanism moves a collective.
struct MechanismDecision {
  std::string function, collective; // names: of the function, and `all_reduce`
  comm::GroupAttr group;
  int64_t exchange = -1; // that other functions have too, where ranks run different ones (comm.exchange); -1: all ranks run this one
  int64_t phase = 0; // of its kernel, counted from 0: what is in one kernel is decided together
  int64_t amount = 0; // of the largest message, in `unit`
  MessageUnit unit = MessageUnit::Bytes;
  xfer::Mechanism taken = xfer::Mechanism::LdSt;
  MechanismOrigin origin = MechanismOrigin::Fastest;
  std::vector<MechanismOption> options; // the legal ones and the others; none if nothing was compared
};

/// What a collective shares its kernel with.
struct FusionDecision {
  std::string function, collective;
  std::vector<std::string> before, after; // names of operators of PyTorch, in the order of the program
  std::string why;                        // why there are none; empty if there are
};

/// Which operators leave the kernel of a collective again, for kernels of their own.
struct ApartDecision {
  std::string function, collective;
  std::vector<std::string> operators; // names of operators of PyTorch, in the order of the program
};

/// What one call of a function consists of at level L1, before or after fusion.
struct CallSteps {
  int64_t exchanges = 0; // collectives, or regions of collectives that share a kernel
  int64_t operators = 0; // of PyTorch, outside of such regions
};
struct StepsDecision {
  std::string function;
  std::vector<int64_t> ranks; // that run it; empty: all
  CallSteps before, after;
};

/// What one call of `function` consists of now.
CallSteps countSteps(mlir::FunctionOpInterface function);

/// A remark on what a pass of `category` has made of the calls of `function`, which were `before`.
void remarkSteps(mlir::FunctionOpInterface function, CallSteps before, llvm::StringRef category);

/// The text of a remark, with the decision behind it.
mlir::remark::detail::Remark::Arg describe(const MechanismDecision &decision, llvm::StringRef text, mlir::MLIRContext *context);
mlir::remark::detail::Remark::Arg describe(const FusionDecision &decision, llvm::StringRef text, mlir::MLIRContext *context);
mlir::remark::detail::Remark::Arg describe(const ApartDecision &decision, llvm::StringRef text, mlir::MLIRContext *context);
mlir::remark::detail::Remark::Arg describe(const StepsDecision &decision, llvm::StringRef text, mlir::MLIRContext *context);

/// The decision behind a remark, if it is of that kind.
std::optional<MechanismDecision> getMechanismDecision(const mlir::remark::detail::Remark &remark);
std::optional<FusionDecision> getFusionDecision(const mlir::remark::detail::Remark &remark);
std::optional<ApartDecision> getApartDecision(const mlir::remark::detail::Remark &remark);
std::optional<StepsDecision> getStepsDecision(const mlir::remark::detail::Remark &remark);

/// The name of the function that `op` is in; empty if it is in none.
std::string functionNameOf(mlir::Operation *op);

/// The innermost place in a file that `loc` names; null if there is none.
mlir::FileLineColLoc placeOf(mlir::Location loc);

/// The places from which the function with that place was called, innermost first.
llvm::SmallVector<mlir::FileLineColLoc> callersOf(mlir::Location loc);

} // namespace pkb

#endif // PKB_ANALYSIS_DECISIONS_H
