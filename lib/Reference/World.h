// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- World.h - all ranks of a program and who runs next -------*- C++ -*-===//
//
// Every rank, and every block of a kernel on every rank, is an agent that does one operation at a time. One scheduler
// picks who is next, so a run follows from its seed, and that nobody can go on is a state and not a timeout. Private to
// lib/Reference.
//
//===----------------------------------------------------------------------===//

#ifndef PKB_LIB_REFERENCE_WORLD_H
#define PKB_LIB_REFERENCE_WORLD_H

#include "AtenCalls.h"
#include "Channel.h"
#include "pkb/Reference/Interpreter.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <map>

namespace pkb::reference {

class RankProgram;

enum class Progress : uint8_t { Ran, Blocked, Ended };

class Agent {
public:
  virtual ~Agent() = default;
  /// Does one operation, or nothing if it must wait for another agent.
  virtual llvm::Expected<Progress> step() = 0;
  /// What a blocked agent waits for, as a line of a report; empty if it waits for agents of its own.
  virtual std::string waitingFor() = 0;
};

/// "file.py:12" where the operation is from a user's file, else its name in the module.
std::string placeOf(mlir::Operation *op);

class World {
public:
  World(mlir::ModuleOp module, const RunOptions &options);
  ~World();

  /// Finds the function of each rank. Once, before anything else.
  llvm::Error open();

  int64_t size() const { return ranks; }
  mlir::func::FuncOp functionOf(int64_t rank) const { return functions[rank]; }
  mlir::ModuleOp getModule() const { return module; }
  AtenCalls &aten() { return atenCalls; }

  /// One call of the program on all ranks. `arguments` by rank.
  llvm::Error call(std::vector<std::vector<Tensor>> arguments);
  RankProgram &program(int64_t rank) { return *programs[rank]; }

  /// The symmetric memory of the ranks that `row` lists.
  Channel &channelOf(llvm::ArrayRef<int64_t> row);
  /// Another agent of the call in flight.
  void add(std::unique_ptr<Agent> agent) { agents.push_back(std::move(agent)); }

private:
  llvm::Error deadlock();
  uint64_t random() { return mixBits(randomState++); }

  mlir::ModuleOp module;
  int64_t ranks = 1;
  uint64_t randomState;
  AtenCalls atenCalls;
  std::vector<mlir::func::FuncOp> functions;
  std::vector<std::unique_ptr<RankProgram>> programs;
  std::vector<std::unique_ptr<Agent>> agents; // blocks of kernels
  std::map<std::vector<int64_t>, Channel> channels;
};

} // namespace pkb::reference

#endif // PKB_LIB_REFERENCE_WORLD_H
