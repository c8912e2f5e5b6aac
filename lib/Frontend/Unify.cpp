//===- Unify.cpp - one program for all ranks ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Frontend/Unify.h"
#include "lib/Frontend/Program.h"
#include "pkb/Support/Error.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace pkb;
using namespace pkb::frontend;

static const json::Value kNull(nullptr);

static std::string printed(const json::Value &value) {
  std::string text;
  raw_string_ostream(text) << value;
  return text;
}

static std::string printed(ArrayRef<int64_t> list) {
  std::string text;
  raw_string_ostream os(text);
  os << "[";
  interleaveComma(list, os);
  os << "]";
  return text;
}

static const json::Value &member(const json::Object &object, StringRef key) {
  const json::Value *value = object.get(key);
  return value ? *value : kNull;
}

/// What is compared, put into words only if it differs.
using What = function_ref<std::string()>;

namespace pkb::frontend {
/// Compares rank 0 with one other rank. Ids of tensors and storages may differ:
/// they must correspond one to one.
class RankPair {
public:
  RankPair(const RankProgram &first, const RankProgram &other)
      : first(first), other(other), tensorOf(first.tensors.size(), -1),
        firstTensorOf(other.tensors.size(), -1),
        storageOf(first.storages.size(), -1),
        firstStorageOf(other.storages.size(), -1) {}

  Error compareEvent(const Event &a, const Event &b);
  Error compareTrees(const json::Value &a, const json::Value &b, What what);
  Error compareLiterals();

  /// Group ids of both ranks, as met in trees.
  std::map<int64_t, int64_t> treeGroups;

private:
  Error differ(const std::string &what, const std::string &a,
               const std::string &b) const {
    return makeError(what, " is ", a, " on rank ", first.rank, " (", firstLine,
                     ") and ", b, " on rank ", other.rank, " (", otherLine,
                     "); programs whose ranks differ are not supported yet; "
                     "pass what differs as an argument, if it can be one");
  }
  Error compareTensor(const json::Value &a, const json::Value &b, What what);
  Error compareTensorLists(const json::Value &a, const json::Value &b,
                           What what);
  Error compareArgument(const json::Value &a, const json::Value &b, What what);
  Error compareOp(const json::Object &a, const json::Object &b);
  Error compareCollective(const json::Object &a, const json::Object &b);

  const RankProgram &first;
  const RankProgram &other;
  // Indices of corresponding tensors and storages, -1 where none is known yet.
  std::vector<int64_t> tensorOf, firstTensorOf, storageOf, firstStorageOf;
  std::string firstLine = "its arguments", otherLine = "its arguments";
  std::string name = "the function";
};
} // namespace pkb::frontend

/// Records that a and b correspond; false if either has another partner.
static bool pairUp(std::vector<int64_t> &of, std::vector<int64_t> &back,
                   int64_t a, int64_t b) {
  if (of[a] == -1 && back[b] == -1) {
    of[a] = b;
    back[b] = a;
    return true;
  }
  return of[a] == b && back[b] == a;
}

Error RankPair::compareTensor(const json::Value &a, const json::Value &b,
                              What what) {
  auto idA = a.getAsInteger(), idB = b.getAsInteger();
  if (!idA || !idB)
    return printed(a) == printed(b) ? Error::success()
                                    : differ(what(), printed(a), printed(b));
  Expected<int64_t> indexA = first.getTensor(*idA);
  if (!indexA)
    return prefixError(firstLine + ": " + name, indexA.takeError());
  Expected<int64_t> indexB = other.getTensor(*idB);
  if (!indexB)
    return prefixError(otherLine + ": " + name, indexB.takeError());
  if (tensorOf[*indexA] == *indexB && firstTensorOf[*indexB] == *indexA)
    return Error::success();
  const Tensor &ta = first.tensors[*indexA], &tb = other.tensors[*indexB];
  if (ta.dtype != tb.dtype)
    return differ("the dtype of " + what(), stringifyScalarType(ta.dtype).str(),
                  stringifyScalarType(tb.dtype).str());
  if (ta.sizes != tb.sizes)
    return differ("the shape of " + what(), printed(ta.sizes), printed(tb.sizes));
  if (ta.strides != tb.strides)
    return differ("the strides of " + what(), printed(ta.strides),
                  printed(tb.strides));
  if (ta.offset != tb.offset)
    return differ("the storage offset of " + what(), std::to_string(ta.offset),
                  std::to_string(tb.offset));
  if (tensorOf[*indexA] != -1 || firstTensorOf[*indexB] != -1)
    return makeError(what(), " is another tensor on rank ", first.rank, " (",
                     firstLine, ") than on rank ", other.rank, " (", otherLine,
                     "); programs whose ranks differ are not supported yet");
  if (!pairUp(storageOf, firstStorageOf, ta.storage, tb.storage))
    return makeError("the tensors that ", what(), " shares its memory with differ "
                     "between rank ", first.rank, " (", firstLine, ") and rank ",
                     other.rank, " (", otherLine,
                     "); programs whose ranks differ are not supported yet");
  tensorOf[*indexA] = *indexB;
  firstTensorOf[*indexB] = *indexA;
  return Error::success();
}

Error RankPair::compareTensorLists(const json::Value &a, const json::Value &b,
                                   What what) {
  const json::Array *listA = a.getAsArray(), *listB = b.getAsArray();
  if (!listA || !listB)
    return a == b ? Error::success() : differ(what(), printed(a), printed(b));
  if (listA->size() != listB->size())
    return differ("the length of " + what(), std::to_string(listA->size()),
                  std::to_string(listB->size()));
  for (size_t i = 0; i < listA->size(); ++i) {
    auto element = [&] { return what() + "[" + std::to_string(i) + "]"; };
    const json::Value &ea = (*listA)[i], &eb = (*listB)[i];
    // Pairs, as in the writes of a collective, are lists again.
    Error error = ea.getAsArray() ? compareTensorLists(ea, eb, element)
                                  : compareTensor(ea, eb, element);
    if (error)
      return error;
  }
  return Error::success();
}

Error RankPair::compareArgument(const json::Value &a, const json::Value &b,
                                What what) {
  const json::Object *objectA = a.getAsObject(), *objectB = b.getAsObject();
  auto both = [&](StringRef key) {
    return objectA && objectB && objectA->get(key) && objectB->get(key);
  };
  if (both("t"))
    return compareTensor(*objectA->get("t"), *objectB->get("t"), what);
  if (both("ts"))
    return compareTensorLists(*objectA->get("ts"), *objectB->get("ts"), what);
  if (both("list")) {
    const json::Array *listA = objectA->getArray("list");
    const json::Array *listB = objectB->getArray("list");
    if (listA && listB && listA->size() == listB->size()) {
      for (size_t i = 0; i < listA->size(); ++i)
        if (Error error =
                compareArgument((*listA)[i], (*listB)[i], [&] {
                  return what() + "[" + std::to_string(i) + "]";
                }))
          return error;
      return Error::success();
    }
  }
  if (both("device")) {
    // Each rank has a device of its own kind's number.
    StringRef deviceA = objectA->getString("device").value_or("");
    StringRef deviceB = objectB->getString("device").value_or("");
    if (deviceA.split(':').first == deviceB.split(':').first)
      return Error::success();
  }
  if (a == b)
    return Error::success();
  auto value = [](const json::Value &argument) {
    const json::Object *object = argument.getAsObject();
    return printed(object && object->size() == 1 ? object->begin()->second
                                                 : argument);
  };
  return differ(what(), value(a), value(b));
}

Error RankPair::compareOp(const json::Object &a, const json::Object &b) {
  auto arguments = [](const json::Object &op, StringRef key) {
    const json::Array *list = op.getArray(key);
    return list ? ArrayRef<json::Value>(list->data(), list->size())
                : ArrayRef<json::Value>();
  };
  for (auto [key, what] : {std::pair{"args", "argument"},
                           std::pair{"results", "result"}}) {
    auto listA = arguments(a, key), listB = arguments(b, key);
    if (listA.size() != listB.size())
      return differ("the number of " + std::string(what) + "s of " + name,
                    std::to_string(listA.size()), std::to_string(listB.size()));
    for (size_t i = 0; i < listA.size(); ++i)
      if (Error error = compareArgument(listA[i], listB[i], [&, what = what] {
            return what + (" " + std::to_string(i)) + " of " + name;
          }))
        return error;
  }
  auto kwargsA = arguments(a, "kwargs"), kwargsB = arguments(b, "kwargs");
  if (kwargsA.size() != kwargsB.size())
    return differ("the number of keyword arguments of " + name,
                  std::to_string(kwargsA.size()),
                  std::to_string(kwargsB.size()));
  for (size_t i = 0; i < kwargsA.size(); ++i) {
    const json::Array *pairA = kwargsA[i].getAsArray();
    const json::Array *pairB = kwargsB[i].getAsArray();
    if (!pairA || !pairB || pairA->size() != 2 || pairB->size() != 2)
      return makeError("keyword argument of ", name, " at ", firstLine,
                       " must be a pair of name and value");
    if ((*pairA)[0] != (*pairB)[0])
      return differ("keyword argument " + std::to_string(i) + " of " + name,
                    printed((*pairA)[0]), printed((*pairB)[0]));
    if (Error error = compareArgument((*pairA)[1], (*pairB)[1], [&] {
          return "argument " + printed((*pairA)[0]) + " of " + name;
        }))
      return error;
  }
  return compareTensorLists(member(a, "mutates"), member(b, "mutates"),
                            [&] { return "the tensors written by " + name; });
}

Error RankPair::compareCollective(const json::Object &a,
                                  const json::Object &b) {
  for (StringRef key : {"reduce", "splits", "root", "peer", "tag"})
    if (member(a, key) != member(b, key))
      return differ("'" + key.str() + "' of " + name, printed(member(a, key)),
                    printed(member(b, key)));
  for (StringRef key : {"inputs", "outputs", "writes"})
    if (Error error =
            compareTensorLists(member(a, key), member(b, key),
                               [&] { return key.str() + " of " + name; }))
      return error;
  return Error::success();
}

Error RankPair::compareEvent(const Event &a, const Event &b) {
  firstLine = first.where(a.site);
  otherLine = other.where(b.site);
  name = describe(a);
  for (auto [event, line] : {std::pair(&a, &firstLine), std::pair(&b, &otherLine)})
    if (event->kind == EventKind::Collective &&
        !isSupportedCollective(describe(*event)))
      return makeError(*line, ": ", describe(*event),
                       ": this collective is not supported yet");
  if (a.kind != b.kind || name != describe(b)) {
    bool collectives = a.kind == EventKind::Collective &&
                       b.kind == EventKind::Collective;
    return makeError(
        "rank ", first.rank, " runs ", name, " at ", firstLine, " where rank ",
        other.rank, " runs ", describe(b), " at ", otherLine,
        collectives ? "; collectives must match on all ranks, in one order"
                    : "; programs whose ranks differ are not supported yet");
  }
  if (a.kind == EventKind::Op)
    return compareOp(*a.json, *b.json);
  if (a.kind == EventKind::Collective)
    return compareCollective(*a.json, *b.json);
  return member(*a.json, "collective") == member(*b.json, "collective")
             ? Error::success()
             : differ("the collective waited for",
                      printed(member(*a.json, "collective")),
                      printed(member(*b.json, "collective")));
}

Error RankPair::compareTrees(const json::Value &a, const json::Value &b,
                             What what) {
  const json::Object *nodeA = a.getAsObject(), *nodeB = b.getAsObject();
  if (!nodeA || !nodeB)
    return makeError(what(), " is not described");
  if (member(*nodeA, "kind") != member(*nodeB, "kind"))
    return differ("the kind of " + what(), printed(member(*nodeA, "kind")),
                  printed(member(*nodeB, "kind")));
  StringRef kind = nodeA->getString("kind").value_or("");
  if (kind == "tensor")
    return compareTensor(member(*nodeA, "id"), member(*nodeB, "id"), what);
  if (kind == "group") {
    auto idA = nodeA->getInteger("id"), idB = nodeB->getInteger("id");
    if (!idA || !idB)
      return makeError(what(), " must have the id of a group");
    auto [at, added] = treeGroups.try_emplace(*idA, *idB);
    if (!added && at->second != *idB)
      return differ(what(), "group " + std::to_string(*idA),
                    "group " + std::to_string(*idB));
    return Error::success();
  }
  for (StringRef key : {"value", "keys"})
    if (member(*nodeA, key) != member(*nodeB, key) && kind != "device")
      return differ(what(), printed(member(*nodeA, key)),
                    printed(member(*nodeB, key)));
  const json::Array *itemsA = nodeA->getArray("items");
  const json::Array *itemsB = nodeB->getArray("items");
  size_t sizeA = itemsA ? itemsA->size() : 0;
  size_t sizeB = itemsB ? itemsB->size() : 0;
  if (sizeA != sizeB)
    return differ("the length of " + what(), std::to_string(sizeA),
                  std::to_string(sizeB));
  for (size_t i = 0; i < sizeA; ++i)
    if (Error error = compareTrees((*itemsA)[i], (*itemsB)[i], [&] {
          return what() + "[" + std::to_string(i) + "]";
        }))
      return error;
  return Error::success();
}

Error RankPair::compareLiterals() {
  std::map<int64_t, const Literal *> ofOther;
  for (const Literal &literal : other.literals)
    ofOther[literal.tensor] = &literal;
  for (const Literal &literal : first.literals) {
    int64_t tensor = tensorOf[literal.tensor];
    if (tensor == -1)
      continue; // never used
    auto at = ofOther.find(tensor);
    if (at == ofOther.end())
      return makeError("tensor ", first.tensors[literal.tensor].id,
                       " is a constant on rank ", first.rank, " (",
                       first.where(literal.site), ") but not on rank ",
                       other.rank);
    if (literal.file != at->second->file) {
      firstLine = first.where(literal.site);
      otherLine = other.where(at->second->site);
      return differ("a constant tensor", literal.file, at->second->file);
    }
  }
  return Error::success();
}

//===----------------------------------------------------------------------===//
// All ranks
//===----------------------------------------------------------------------===//

namespace pkb::frontend {
class Unifier {
public:
  explicit Unifier(const Bundle &bundle) : bundle(bundle) {}

  Expected<UnifiedGroups> run() {
    const RankProgram &first = bundle.getProgram(0);
    std::vector<std::map<int64_t, int64_t>> treeGroups;
    for (int64_t rank = 0; rank < bundle.worldSize; ++rank) {
      const RankProgram &other = bundle.getProgram(rank);
      // A rank with the text of rank 0 need not be compared again.
      if (rank > 0 && &other == &first) {
        treeGroups.push_back(treeGroups.front());
        continue;
      }
      RankPair pair(first, other);
      if (Error error =
              pair.compareTrees(*first.inputs, *other.inputs,
                                [] { return std::string("the arguments"); }))
        return std::move(error);
      size_t common = std::min(first.events.size(), other.events.size());
      for (size_t i = 0; i < common; ++i)
        if (Error error = pair.compareEvent(first.events[i], other.events[i]))
          return std::move(error);
      if (first.events.size() != other.events.size())
        return lengthsDiffer(first, other, common);
      if (Error error =
              pair.compareTrees(*first.outputs, *other.outputs,
                                [] { return std::string("the results"); }))
        return std::move(error);
      if (Error error = pair.compareLiterals())
        return std::move(error);
      treeGroups.push_back(std::move(pair.treeGroups));
    }
    UnifiedGroups groups;
    for (size_t i = 0; i < first.events.size(); ++i)
      if (first.events[i].kind == EventKind::Collective) {
        Expected<Rows> rows = combineEvent(i);
        if (!rows)
          return rows.takeError();
        groups.byEvent[i] = std::move(*rows);
      }
    for (auto [id, same] : treeGroups.front()) {
      SmallVector<int64_t> ids;
      for (auto &ofRank : treeGroups)
        ids.push_back(ofRank.at(id));
      Expected<Rows> rows = combine(ids, [](int64_t) {
        return std::string("a group among the arguments or results");
      });
      if (!rows)
        return rows.takeError();
      groups.byTreeId[id] = std::move(*rows);
    }
    return groups;
  }

private:
  static Error lengthsDiffer(const RankProgram &first, const RankProgram &other,
                             size_t common) {
    bool firstLonger = first.events.size() > common;
    const RankProgram &longer = firstLonger ? first : other;
    const RankProgram &shorter = firstLonger ? other : first;
    const Event &event = longer.events[common];
    return makeError("rank ", longer.rank, " runs ", describe(event), " at ",
                     longer.where(event.site), " where rank ", shorter.rank,
                     " has ended; programs whose ranks differ are not supported "
                     "yet");
  }

  Expected<Rows> combineEvent(size_t index) {
    SmallVector<int64_t> ids;
    for (int64_t rank = 0; rank < bundle.worldSize; ++rank) {
      const RankProgram &program = bundle.getProgram(rank);
      const json::Object &event = *program.events[index].json;
      auto id = event.getInteger("group");
      if (!id)
        return makeError(describe(program.events[index]), " at ",
                         program.where(program.events[index].site),
                         " names no group");
      ids.push_back(*id);
    }
    return combine(ids, [&](int64_t rank) {
      const RankProgram &program = bundle.getProgram(rank);
      const Event &event = program.events[index];
      return describe(event) + " at " + program.where(event.site);
    });
  }

  /// One partition from the group that each rank uses at the same place.
  Expected<Rows> combine(ArrayRef<int64_t> ids,
                         function_ref<std::string(int64_t rank)> what) {
    Rows rows;
    for (auto [rank, id] : enumerate(ids)) {
      auto at = isId(id) ? bundle.groups.find(id) : bundle.groups.end();
      if (at == bundle.groups.end())
        return makeError(what(rank), " uses group ", id,
                         ", which bundle.json does not list");
      ArrayRef<int64_t> row = at->second;
      if (!is_contained(row, int64_t(rank)))
        return makeError(what(rank), " uses the group ", printed(row),
                         " on rank ", rank, ", which is not a member");
      // Every member must be at the same place with the same group.
      for (int64_t peer : row) {
        SmallVector<int64_t> theirs = bundle.groups.lookup(ids[peer]);
        if (ArrayRef<int64_t>(theirs) != row)
          return makeError("rank ", rank, " runs ", what(rank), " in the group ",
                           printed(row), " while rank ", peer, " runs ",
                           what(peer), " in the group ", printed(theirs),
                           "; collectives must match on all ranks, in one "
                           "order");
      }
      if (!rows.empty() && rows.front().size() != row.size())
        return makeError(what(rank), " joins groups of ", rows.front().size(),
                         " and ", row.size(),
                         " ranks; groups of different size are not supported "
                         "yet");
      if (!is_contained(rows, SmallVector<int64_t>(row)))
        rows.push_back(SmallVector<int64_t>(row));
    }
    return rows;
  }

  const Bundle &bundle;
};
} // namespace pkb::frontend

Expected<UnifiedGroups> frontend::unifyRanks(const Bundle &bundle) {
  return Unifier(bundle).run();
}
