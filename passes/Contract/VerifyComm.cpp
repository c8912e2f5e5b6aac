//===- VerifyComm.cpp - gate of level L1 ----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Aten/IR/Aten.h"
#include "dialects/Comm/IR/Comm.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Contract/Passes.h"
#include "passes/Contract/VerifyCommRules.h"
#include "pkb/Analysis/Mechanisms.h"
#include "pkb/Support/OptionError.h"

#define DEBUG_TYPE "pkb-verify-comm"

namespace pkb {
#define GEN_PASS_DEF_VERIFYCOMMPASS
#include "passes/Contract/Passes.h.inc"
} // namespace pkb

using namespace mlir;
using namespace pkb;

namespace {
struct VerifyComm : pkb::impl::VerifyCommPassBase<VerifyComm> {
  using VerifyCommPassBase::VerifyCommPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    // verify_comm_c1
    auto mesh =
        module->getAttrOfType<comm::MeshAttr>(comm::kMeshAttrName);
    if (!mesh) {
      module.emitError("module must have a mesh (attribute ")
          << comm::kMeshAttrName << ")";
      return signalPassFailure();
    }
    if (arenaBytes < 1) {
      emitOptionError(&getContext(), "arena-bytes", arenaBytes.getValue()) << "must be positive";
      return signalPassFailure();
    }
    // Every offender is reported, not the first one only.
    bool legal = true;
    // verify_comm_c2
    auto main = module.lookupSymbol<func::FuncOp>("main");
    bool differ = llvm::any_of(module.getOps<func::FuncOp>(), comm::getRanks);
    if (!differ && (!main || main.isExternal())) {
      module.emitError("module must have a function @main with a body");
      legal = false;
    }
    for (auto function : module.getOps<func::FuncOp>())
      if ((function == main || differ) && !function.isExternal() &&
          !function.getBody().hasOneBlock()) {
        function.emitError("@")
            << function.getName()
            << " must have one block, got: " << function.getBody().getBlocks().size();
        legal = false;
      }
    if (differ)
      legal &= verifyRankPrograms(module, mesh.getSize());
    module.walk([&](Operation *op) {
      legal &= isLegal(op) && hasLegalTypes(op) && isInMesh(op, mesh) && isForCollectives(op) && hasLegalMechanism(op, mesh);
    });
    if (!legal)
      signalPassFailure();
  }

private:
  /// verify_comm_c3
  static bool isLegal(Operation *op) {
    StringRef dialect = op->getName().getDialectNamespace();
    if (isa<ModuleOp, func::FuncOp, func::ReturnOp>(op))
      return true;
    if (dialect == comm::CommDialect::getDialectNamespace() ||
        dialect == aten::AtenDialect::getDialectNamespace() ||
        dialect == "arith" || dialect == "math" || dialect == "tensor" ||
        dialect == "linalg")
      return true;
    // Regions of linalg ops end in linalg.yield, of tensor ops in tensor.yield.
    op->emitOpError("must not be at level L1");
    return false;
  }

  /// verify_comm_c4
  static bool hasLegalTypes(Operation *op) {
    auto isMemory = [](Type type) { return isa<BaseMemRefType>(type); };
    if (llvm::none_of(op->getOperandTypes(), isMemory) &&
        llvm::none_of(op->getResultTypes(), isMemory))
      return true;
    op->emitOpError("must work on values at level L1, got a memref");
    return false;
  }

  /// verify_comm_c5
  static bool isInMesh(Operation *op, comm::MeshAttr mesh) {
    comm::GroupAttr group;
    if (auto collective = dyn_cast<comm::CollectiveOpInterface>(op))
      group = collective.getGroup();
    else if (auto rank = dyn_cast<comm::RankOp>(op))
      group = rank.getGroupAttr();
    if (!group || group.getMaxRank() < mesh.getSize())
      return true;
    op->emitOpError("group must be within the mesh of ")
        << mesh.getSize() << " ranks, got rank: " << group.getMaxRank();
    return false;
  }

  /// verify_comm_c6
  static bool isForCollectives(Operation *op) {
    if (!isa<comm::AbsentOp>(op))
      return true;
    for (Operation *user : op->getUsers())
      if (!isa<comm::CommDialect>(user->getDialect())) {
        op->emitOpError("must be used by operations of comm only, got: ") << user->getName();
        return false;
      }
    return true;
  }

  /// verify_comm_c8
  bool hasLegalMechanism(Operation *op, comm::MeshAttr mesh) {
    auto collective = dyn_cast<comm::CollectiveOpInterface>(op);
    auto schedule = op->getAttrOfType<xfer::ScheduleAttr>(xfer::kScheduleAttrName);
    if (!collective || !schedule)
      return true;
    // A mesh whose links nobody knows is of no machine yet.
    int64_t copyEngines = mesh.getLink() == comm::LinkKind::Unknown ? 1 : mesh.getCopyEngines();
    std::optional<std::string> reason = whyIllegal(schedule.getMechanism(), questionOf(collective, arenaBytes, copyEngines));
    if (!reason)
      return true;
    op->emitOpError("must have a schedule with a mechanism that is legal for it, got: ")
        << xfer::stringifyMechanism(schedule.getMechanism()) << ": " << *reason;
    return false;
  }
};
} // namespace
