// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Explain.h - what became of each collective, and why ------*- C++ -*-===//
//
// pkb-opt --explain. The decisions come out of the passes' remarks (pkb/Analysis/Decisions.h). docs/Rationale/Explain.md.
//
//===----------------------------------------------------------------------===//

#ifndef PKB_DRIVER_EXPLAIN_H
#define PKB_DRIVER_EXPLAIN_H

#include "pkb/Analysis/Decisions.h"
#include "pkb/Frontend/ImportBundle.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <map>

namespace pkb {

/// A collective call of the user's program, by its source line. Holds nothing of a context: it outlives the module.
struct ExplainedCollective {
  std::string file; // empty if not known
  int64_t line = 0;
  std::string text; // of the line; empty if not known
  std::vector<std::string> callers; // "model.py:46": the lines from which the function with that line was called, innermost first
  std::string function, collective;
  std::vector<std::vector<int64_t>> group; // its rows
  std::optional<MechanismDecision> mechanism; // without its group
  std::optional<FusionDecision> fusion;       // none if nothing was tried
  std::optional<size_t> kernelOf; // the collective that begins its kernel, by number; none if it does that itself
  std::vector<std::string> shots; // collectives that it was made of for its kernel; empty if it is one itself
  std::vector<std::string> more;  // what else passes said of it
};

/// Gathers decisions while passes run, and shows them.
class Explanation {
public:
  /// \param program name of the input, for the heading
  explicit Explanation(std::string program) : program(std::move(program)) {}

  /// Lines of the user's files; of a file that is not among them, those on disk are used.
  void setSourceLines(SourceLines lines) { sources = std::move(lines); }
  /// From now on every remark of `context` comes here, and nowhere else. Fails with a diagnostic.
  llvm::LogicalResult listen(mlir::MLIRContext &context);
  /// Takes the decision behind a remark, if it has one.
  void add(const mlir::remark::detail::Remark &remark);

  /// How many copies a call of each function makes, which is known once the program is lowered.
  void setCopies(std::map<std::string, int64_t> made) { copies = std::move(made); }

  /// One table for each function (one function where all ranks run the same).
  void printTable(llvm::raw_ostream &os) const;
  /// The same for machines: schema `pkb-explain`, docs/Tools/pkb-opt.md.
  llvm::json::Value toJson() const;

private:
  struct Steps { // of one call; what `fused` is of `exchanges` depends on the choice of mechanisms
    int64_t kernels = 0, library = 0, engines = 0, operators = 0;
  };

  struct Place { // of a decision
    explicit Place(mlir::Location loc);
    bool isOf(const ExplainedCollective &call) const;

    mlir::FileLineColLoc line; // null if not known
    std::vector<std::string> callers;
  };

  ExplainedCollective *find(const Place &place, llvm::StringRef function, llvm::StringRef collective, bool forMechanism);
  ExplainedCollective &add(const Place &place, llvm::StringRef function, llvm::StringRef collective);
  void addFusion(const Place &place, FusionDecision fusion);
  void addApart(const Place &place, const ApartDecision &apart);
  void addMechanism(const Place &place, MechanismDecision mechanism);
  void addSteps(StepsDecision made);
  void addText(const Place &place, const std::string &text);
  std::string lineOf(llvm::StringRef file, int64_t line) const;
  std::vector<std::string> getFunctions() const;
  const StepsDecision *stepsOf(llvm::StringRef function) const;
  Steps countAfter(llvm::StringRef function) const;
  int64_t countCalls() const;
  std::vector<std::string> whatMovesIt(const ExplainedCollective &call) const;
  void printFunction(llvm::raw_ostream &os, llvm::StringRef function, bool alone) const;

  std::string program;
  SourceLines sources;
  std::vector<ExplainedCollective> collectives; // in the order of the program, function by function
  std::optional<size_t> lastKernel; // the last of them so far that begins a kernel: what is in one is decided together
  std::vector<StepsDecision> steps;
  std::map<std::string, int64_t> copies; // by function; empty where the program was not lowered
  std::vector<std::string> notes;
};

} // namespace pkb

#endif // PKB_DRIVER_EXPLAIN_H
