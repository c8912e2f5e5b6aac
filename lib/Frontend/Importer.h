//===- Importer.h - from records to operations ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LIB_FRONTEND_IMPORTER_H
#define LIB_FRONTEND_IMPORTER_H

#include "dialects/Comm/IR/Comm.h"
#include "lib/Frontend/CollectiveTables.h"
#include "lib/Frontend/Storages.h"
#include "lib/Frontend/Schedule.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace pkb::frontend {

/// Builds the function of one class of ranks. The record of its first rank
/// stands for all of them.
class Importer {
public:
  /// `schedule` numbers the operations that the functions of several classes
  /// have in common.
  Importer(const Bundle &bundle, Schedule &schedule, const RankClass &ranks,
           mlir::MLIRContext &context)
      : bundle(bundle), program(bundle.getProgram(ranks.ranks.front())),
        schedule(schedule), ranks(ranks), builder(&context),
        storages(program, builder) {}

  /// Appends the function `name` to the module, with its trees.
  llvm::Expected<mlir::func::FuncOp> run(mlir::ModuleOp module,
                                         llvm::StringRef name);
  /// Where the function is from. To be called after run.
  aten::ProgramAttr getProvenance();
  mlir::Location getLoc();

private:
  // ImportFunction.cpp
  llvm::Error importArguments(mlir::func::FuncOp function);
  llvm::Error importArgumentsOf(llvm::ArrayRef<int64_t> tensors,
                                llvm::ArrayRef<int64_t> arguments,
                                mlir::func::FuncOp function);
  llvm::Error importLiterals();
  llvm::Error importLiteralsOf(llvm::ArrayRef<const Literal *> literals);
  llvm::Error importResults(mlir::func::FuncOp function);
  llvm::Expected<mlir::Attribute> groupOfTree(int64_t id);

  // ImportOp.cpp
  llvm::Error importOp(const Event &event);
  bool makesOnlyViews(const llvm::json::Object &event) const;

  // ImportCollective.cpp
  const Exchange &exchangeOf(int64_t index) const {
    return schedule.at(ranks.ranks.front(), index);
  }
  llvm::Error importCollective(int64_t index);
  llvm::Error importWrites(const llvm::json::Object &event, mlir::Location loc);

  llvm::Error importEvent(int64_t index);
  /// The types of the outputs of an event, which must be fresh and contiguous.
  llvm::Expected<llvm::SmallVector<mlir::Type>>
  getOutputTypes(llvm::ArrayRef<int64_t> outputs);

  // ImportMessage.cpp
  llvm::Error importSend(int64_t index);
  llvm::Error importMessages(int64_t place);
  llvm::Error importExchange(const Exchange &exchange);
  llvm::Error importDelivery(int64_t index);

  void numberCollectives(mlir::Operation *before, const Exchange &exchange);

  mlir::Location locationOf(int64_t site);
  llvm::Expected<llvm::SmallVector<int64_t>>
  getTensors(const llvm::json::Object &event, llvm::StringRef key);
  /// The tensor's value as a contiguous one, copied if need be.
  llvm::Expected<mlir::Value> readContiguous(int64_t tensor,
                                             mlir::Location loc);

  const Bundle &bundle;
  const RankProgram &program;
  Schedule &schedule;
  const RankClass &ranks;
  mlir::OpBuilder builder;
  Storages storages;
  llvm::DenseMap<int64_t, mlir::Value> sent, received; // by event
  llvm::SmallVector<int64_t> argumentTensors; // by argument
  aten::TreeAttr inputTree, outputTree;
};

} // namespace pkb::frontend

#endif // LIB_FRONTEND_IMPORTER_H
