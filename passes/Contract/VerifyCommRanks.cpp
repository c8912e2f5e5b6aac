//===- VerifyCommRanks.cpp - ranks that run different functions -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Comm/IR/Comm.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Remarks.h"
#include "passes/Contract/VerifyCommRules.h"
#include <map>

using namespace mlir;
using namespace pkb;

namespace {
class RankPrograms {
public:
  RankPrograms(ModuleOp module, int64_t size)
      : module(module), functionOf(size) {}

  bool verify() {
    if (!assignRanks())
      return false;
    for (auto function : module.getOps<func::FuncOp>())
      function.walk([&](comm::CollectiveOpInterface op) { collect(op); });
    for (auto &[number, ops] : exchanges)
      checkExchange(ops);
    if (legal)
      checkOrder();
    return legal;
  }

private:
  using Collective = comm::CollectiveOpInterface;

  InFlightDiagnostic reject(Operation *op) {
    legal = false;
    return op->emitOpError();
  }
  static func::FuncOp functionOfOp(Operation *op) {
    return op->getParentOfType<func::FuncOp>();
  }

  bool assignRanks();
  void collect(Collective op);
  void checkExchange(MutableArrayRef<Collective> ops);
  void checkSame(Collective op, Collective first);
  void checkOrder();

  ModuleOp module;
  SmallVector<func::FuncOp> functionOf; // by rank
  std::map<int64_t, SmallVector<Collective>> exchanges;
  bool legal = true;
};
} // namespace

/// verify_comm_c2
bool RankPrograms::assignRanks() {
  for (auto function : module.getOps<func::FuncOp>()) {
    if (auto why = function->getAttrOfType<StringAttr>(comm::kDifferenceAttrName))
      remark::analysis(function.getLoc(),
                       remark::RemarkOpts::name("own-program").category("ranks"))
          << ("@" + function.getName() + ": " + why.getValue()).str();
    DenseI64ArrayAttr ranks = comm::getRanks(function);
    if (!ranks || function.isExternal()) {
      reject(function) << "must have a body and the ranks that run it (attribute "
                       << comm::kRanksAttrName << "), as the others have";
      continue;
    }
    for (int64_t rank : ranks.asArrayRef()) {
      if (rank >= int64_t(functionOf.size()))
        reject(function) << "must be for ranks of the mesh of "
                         << functionOf.size() << ", got rank: " << rank;
      else if (functionOf[rank])
        reject(function) << "must be for ranks that no other function has, got "
                         << "rank: " << rank;
      else
        functionOf[rank] = function;
    }
  }
  for (auto [rank, function] : llvm::enumerate(functionOf))
    if (legal && !function)
      reject(module) << "must have a function for each rank, got none for rank "
                     << rank;
  return legal;
}

void RankPrograms::collect(Collective op) {
  // verify_comm_c7
  if (IntegerAttr number = comm::getExchange(op))
    exchanges[number.getInt()].push_back(op);
  else
    reject(op) << "must have a number (attribute " << comm::kExchangeAttrName
               << ") in a function that only some ranks run";
}

/// The same but for the shapes: rows of memory have no dimensions. Where sizes
/// differ between ranks, the operation's table has them.
void RankPrograms::checkSame(Collective op, Collective first) {
  auto attributesOf = [](Operation *op) {
    NamedAttrList list(op->getDiscardableAttrDictionary());
    list.erase(comm::kExchangeAttrName);
    for (NamedAttribute attribute : op->getPropertiesAsAttribute()
                                        ? cast<DictionaryAttr>(op->getPropertiesAsAttribute())
                                        : DictionaryAttr::get(op->getContext()))
      list.set(attribute.getName(), attribute.getValue());
    return list.getDictionary(op->getContext());
  };
  auto sizesOf = [&](Operation *op) {
    SmallVector<std::pair<Type, int64_t>> sizes;
    for (Type type : llvm::concat<const Type>(
             SmallVector<Type>(op->getOperandTypes()),
             SmallVector<Type>(op->getResultTypes())))
      if (auto tensor = dyn_cast<RankedTensorType>(type))
        sizes.emplace_back(tensor.getElementType(), tensor.hasStaticShape() ? tensor.getNumElements() : -1);
      else
        sizes.emplace_back(type, 1);
    return sizes;
  };
  // Parts of different sizes: the table says how large they are on each rank.
  auto fitsTable = [&](comm::UnevenOpInterface uneven) {
    ArrayRef<int64_t> members = op.getGroup().getRanks();
    return llvm::all_of(comm::getRanks(functionOfOp(op)).asArrayRef(), [&](int64_t rank) {
      const int64_t *at = llvm::find(members, rank);
      return at == members.end() || uneven.fits(at - members.begin());
    });
  };
  auto uneven = dyn_cast<comm::UnevenOpInterface>(op.getOperation());
  bool same = op->getName() == first->getName() &&
              op->getNumOperands() == first->getNumOperands() &&
              attributesOf(op) == attributesOf(first) &&
              (uneven ? fitsTable(uneven) : sizesOf(op) == sizesOf(first));
  if (same)
    return;
  InFlightDiagnostic error = reject(op)
                             << "must be the same operation as the others of its "
                             << "number " << comm::getExchange(op).getInt();
  error.attachNote(first.getLoc()) << "one of the others";
}

void RankPrograms::checkExchange(MutableArrayRef<Collective> ops) {
  SmallVector<Operation *> opOf(functionOf.size());
  for (Collective op : ops) {
    checkSame(op, ops.front());
    for (int64_t rank : comm::getRanks(functionOfOp(op)).asArrayRef()) {
      if (opOf[rank])
        reject(op) << "must have a number of its own on rank " << rank
                   << ", got: " << comm::getExchange(op).getInt();
      opOf[rank] = op;
    }
  }
  comm::GroupAttr group = ops.front().getGroup();
  SmallVector<bool> isMember(functionOf.size());
  for (int64_t row = 0; row < group.getNumRows(); ++row)
    for (int64_t rank : group.getRow(row))
      if (rank < int64_t(isMember.size()))
        isMember[rank] = true;
  for (auto [rank, op] : llvm::enumerate(opOf)) {
    if (isMember[rank] && !op)
      reject(ops.front()) << "must also be in @" << functionOf[rank].getName()
                          << ", since rank " << rank << " is in its group";
    if (op && !isMember[rank])
      reject(op) << "must not be run by rank " << rank
                 << ", which is not in its group";
  }
}

/// All ranks must be able to meet their collectives in the order in which they
/// stand.
void RankPrograms::checkOrder() {
  SmallVector<SmallVector<Collective>> queues(functionOf.size());
  for (auto [rank, function] : llvm::enumerate(functionOf))
    function.walk([&, rank = rank](Collective op) { queues[rank].push_back(op); });
  SmallVector<size_t> next(functionOf.size(), 0);
  auto numberAt = [&](int64_t rank) -> std::optional<int64_t> {
    if (next[rank] == queues[rank].size())
      return std::nullopt;
    return comm::getExchange(queues[rank][next[rank]]).getInt();
  };
  for (bool progress = true; progress;) {
    progress = false;
    for (size_t rank = 0; rank < queues.size(); ++rank)
      while (std::optional<int64_t> number = numberAt(rank)) {
        SmallVector<int64_t> members;
        comm::GroupAttr group = queues[rank][next[rank]].getGroup();
        for (int64_t row = 0; row < group.getNumRows(); ++row)
          llvm::append_range(members, group.getRow(row));
        if (!llvm::all_of(members, [&](int64_t r) { return numberAt(r) == number; }))
          break;
        for (int64_t member : members)
          ++next[member];
        progress = true;
      }
  }
  for (auto [rank, queue] : llvm::enumerate(queues))
    if (next[rank] < queue.size()) {
      Collective op = queue[next[rank]];
      reject(op) << "is never met by all its ranks: they make their collectives "
                 << "in different orders";
      return;
    }
}

bool pkb::verifyRankPrograms(ModuleOp module, int64_t meshSize) {
  return RankPrograms(module, meshSize).verify();
}
