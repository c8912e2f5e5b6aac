//===- Unify.cpp - which ranks run one program -----------------------------===//
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

char RanksDiffer::ID = 0;

template <typename... Parts>
static Error makeDifference(const Parts &...parts) {
  std::string text;
  raw_string_ostream os(text);
  (os << ... << parts);
  return make_error<RanksDiffer>(text);
}

namespace {
/// Compares two ranks. Ids of tensors and storages may differ: they must
/// correspond one to one.
class RankPair {
public:
  RankPair(const Bundle &bundle, const RankProgram &first,
           const RankProgram &other)
      : bundle(bundle), first(first), other(other), tensorOf(first.tensors.size(), -1),
        firstTensorOf(other.tensors.size(), -1),
        storageOf(first.storages.size(), -1),
        firstStorageOf(other.storages.size(), -1) {}

  /// Success if both ranks run one program; RanksDiffer if not.
  Error run();

  /// Group ids of the other rank by those of the first, as met in trees.
  std::map<int64_t, int64_t> treeGroups;
  /// Group ids of the other rank, in the order in which they were met.
  std::vector<int64_t> groups;

private:
  Error compareEvent(const Event &a, const Event &b);
  Error compareTrees(const json::Value &a, const json::Value &b, What what);
  Error compareLiterals();
  Error differ(const std::string &what, const std::string &a,
               const std::string &b) const {
    return makeDifference(what, " is ", a, " on rank ", first.rank, " (",
                          firstLine, ") and ", b, " on rank ", other.rank, " (",
                          otherLine, ")");
  }
  Error compareTensor(const json::Value &a, const json::Value &b, What what);
  Error compareTensorLists(const json::Value &a, const json::Value &b,
                           What what);
  Error compareArgument(const json::Value &a, const json::Value &b, What what);
  Error compareOp(const json::Object &a, const json::Object &b);
  Error compareCollective(const json::Object &a, const json::Object &b);
  Error compareGroups(const json::Value &a, const json::Value &b, What what);

  const Bundle &bundle;
  const RankProgram &first;
  const RankProgram &other;
  // Indices of corresponding tensors and storages, -1 where none is known yet.
  std::vector<int64_t> tensorOf, firstTensorOf, storageOf, firstStorageOf;
  std::string firstLine = "its arguments", otherLine = "its arguments";
  std::string name = "the function";
};
} // namespace

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
    return makeDifference(what(), " is another tensor on rank ", first.rank,
                          " (", firstLine, ") than on rank ", other.rank, " (",
                          otherLine, ")");
  if (!pairUp(storageOf, firstStorageOf, ta.storage, tb.storage))
    return makeDifference("the tensors that ", what(), " shares its memory with "
                          "differ between rank ", first.rank, " (", firstLine,
                          ") and rank ", other.rank, " (", otherLine, ")");
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

/// Roots, factors and split sizes may differ: an operation has tables of them.
Error RankPair::compareCollective(const json::Object &a,
                                  const json::Object &b) {
  for (StringRef key : {"reduce", "tag"})
    if (member(a, key) != member(b, key))
      return differ("'" + key.str() + "' of " + name, printed(member(a, key)),
                    printed(member(b, key)));
  if (Error error = compareGroups(member(a, "group"), member(b, "group"),
                                  [&] { return "the group of " + name; }))
    return error;
  for (StringRef key : {"inputs", "outputs", "writes"})
    if (Error error =
            compareTensorLists(member(a, key), member(b, key),
                               [&] { return key.str() + " of " + name; }))
      return error;
  return Error::success();
}

/// One operation can stand for groups that are the same, or have no rank in
/// common and as many ranks.
Error RankPair::compareGroups(const json::Value &a, const json::Value &b,
                              What what) {
  SmallVector<int64_t> rows[2];
  for (auto [value, line, row] : {std::tuple(&a, &firstLine, &rows[0]),
                                  std::tuple(&b, &otherLine, &rows[1])}) {
    auto id = value->getAsInteger();
    auto at = id && isId(*id) ? bundle.groups.find(*id) : bundle.groups.end();
    if (at == bundle.groups.end())
      return makeError(*line, ": ", what(), " is ", printed(*value),
                       ", which bundle.json does not list");
    *row = at->second;
  }
  groups.push_back(*b.getAsInteger());
  bool apart = rows[0].size() == rows[1].size() &&
               none_of(rows[0], [&](int64_t rank) {
                 return is_contained(rows[1], rank);
               });
  return rows[0] == rows[1] || apart
             ? Error::success()
             : differ(what(), printed(rows[0]), printed(rows[1]));
}

Error RankPair::compareEvent(const Event &a, const Event &b) {
  firstLine = first.where(a.site);
  otherLine = other.where(b.site);
  name = describe(a);
  if (a.kind != b.kind || name != describe(b))
    return makeDifference("rank ", first.rank, " runs ", name, " at ", firstLine,
                          " where rank ", other.rank, " runs ", describe(b),
                          " at ", otherLine);
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
    if (Error error =
            compareGroups(member(*nodeA, "id"), member(*nodeB, "id"), what))
      return error;
    int64_t idA = *nodeA->getInteger("id"), idB = *nodeB->getInteger("id");
    auto [at, added] = treeGroups.try_emplace(idA, idB);
    return added || at->second == idB
               ? Error::success()
               : differ(what(), "group " + std::to_string(idA),
                        "group " + std::to_string(idB));
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

/// Constants are compared by the storages that both programs use: a program may
/// see one through views only.
Error RankPair::compareLiterals() {
  std::map<int64_t, SmallVector<const Literal *>> ofFirst, ofOther;
  for (const Literal &literal : first.literals)
    ofFirst[first.tensors[literal.tensor].storage].push_back(&literal);
  for (const Literal &literal : other.literals)
    ofOther[other.tensors[literal.tensor].storage].push_back(&literal);
  for (auto &[storage, literals] : ofFirst) {
    if (storageOf[storage] == -1)
      continue; // never used
    ArrayRef<const Literal *> theirs = ofOther[storageOf[storage]];
    const Literal &front = *literals.front();
    firstLine = first.where(front.site);
    if (theirs.size() != literals.size())
      return makeDifference("tensor ", first.tensors[front.tensor].id,
                            " is a constant on rank ", first.rank, " (",
                            firstLine, ") but not on rank ", other.rank);
    for (auto [mine, their] : zip_equal(literals, theirs)) {
      const Tensor &a = first.tensors[mine->tensor];
      const Tensor &b = other.tensors[their->tensor];
      bool same = mine->file == their->file && a.dtype == b.dtype &&
                  a.sizes == b.sizes && a.strides == b.strides &&
                  a.offset == b.offset;
      if (same)
        continue;
      firstLine = first.where(mine->site);
      otherLine = other.where(their->site);
      return differ("a constant tensor", mine->file, their->file);
    }
  }
  return Error::success();
}

Error RankPair::run() {
  if (Error error = compareTrees(*first.inputs, *other.inputs, [] {
        return std::string("the arguments");
      }))
    return error;
  size_t common = std::min(first.events.size(), other.events.size());
  for (size_t i = 0; i < common; ++i)
    if (Error error = compareEvent(first.events[i], other.events[i]))
      return error;
  if (first.events.size() != other.events.size()) {
    bool firstLonger = first.events.size() > common;
    const RankProgram &longer = firstLonger ? first : other;
    const RankProgram &shorter = firstLonger ? other : first;
    const Event &event = longer.events[common];
    return makeDifference("rank ", longer.rank, " runs ", describe(event), " at ",
                          longer.where(event.site), " where rank ",
                          shorter.rank, " has ended");
  }
  if (Error error = compareTrees(*first.outputs, *other.outputs, [] {
        return std::string("the results");
      }))
    return error;
  return compareLiterals();
}

//===----------------------------------------------------------------------===//
// All ranks
//===----------------------------------------------------------------------===//

namespace {
/// A class in the making.
struct Candidate {
  RankClass ranks;
  std::vector<std::map<int64_t, int64_t>> treeGroups; // by member
  std::vector<std::vector<int64_t>> groups;           // likewise
};
} // namespace

/// The groups of a new member must be those of the others, or have no rank in
/// common with them.
static Error checkGroups(const Bundle &bundle, const Candidate &candidate,
                         ArrayRef<int64_t> groups, int64_t rank) {
  for (auto [member, theirs] : zip(candidate.ranks.ranks, candidate.groups))
    for (auto [a, b] : zip_equal(theirs, groups)) {
      ArrayRef<int64_t> rowA = bundle.groups.at(a), rowB = bundle.groups.at(b);
      if (rowA != rowB && any_of(rowA, [&](int64_t r) {
            return is_contained(rowB, r);
          }))
        return makeDifference("rank ", member, " uses the group ", printed(rowA),
                              " where rank ", rank, " uses the group ",
                              printed(rowB));
    }
  return Error::success();
}

/// The rows of each group in the trees of a class, by its first rank's id.
static void collectTreeGroups(const Bundle &bundle, Candidate &candidate) {
  for (auto [id, same] : candidate.treeGroups.front()) {
    Rows &rows = candidate.ranks.treeGroups[id];
    for (auto &ofRank : candidate.treeGroups) {
      const auto &row = bundle.groups.at(ofRank.at(id));
      if (!is_contained(rows, row))
        rows.push_back(row);
    }
  }
}

/// Makes `rank` a member of the class if it runs the program of its first rank;
/// returns why not otherwise.
static Expected<std::optional<std::string>>
join(const Bundle &bundle, Candidate &candidate, int64_t rank) {
  const RankProgram &program = bundle.getProgram(rank);
  int64_t first = candidate.ranks.ranks.front();
  // A rank with the text of rank 0 need not be compared again.
  if (&program == &bundle.getProgram(first) && first != rank) {
    candidate.treeGroups.push_back(candidate.treeGroups.front());
    candidate.groups.push_back(candidate.groups.front());
    candidate.ranks.ranks.push_back(rank);
    return std::nullopt;
  }
  RankPair pair(bundle, bundle.getProgram(first), program);
  Error error = pair.run();
  if (!error)
    error = checkGroups(bundle, candidate, pair.groups, rank);
  std::optional<std::string> difference;
  if (Error hard = handleErrors(std::move(error), [&](const RanksDiffer &info) {
        difference = info.message();
      }))
    return std::move(hard);
  if (difference)
    return difference;
  candidate.treeGroups.push_back(std::move(pair.treeGroups));
  candidate.groups.push_back(std::move(pair.groups));
  if (first != rank)
    candidate.ranks.ranks.push_back(rank);
  return std::nullopt;
}

/// A class of one rank.
static Expected<Candidate> startClass(const Bundle &bundle, int64_t rank) {
  Candidate candidate;
  candidate.ranks.ranks.push_back(rank);
  // A program agrees with itself, if it can be read at all.
  auto reason = join(bundle, candidate, rank);
  if (!reason)
    return reason.takeError();
  return candidate;
}

Expected<std::vector<RankClass>>
frontend::classifyRanks(const Bundle &bundle) {
  std::vector<Candidate> candidates;
  for (int64_t rank = 0; rank < bundle.worldSize; ++rank) {
    std::optional<std::string> difference; // from the first class
    bool found = false;
    for (Candidate &candidate : candidates) {
      auto reason = join(bundle, candidate, rank);
      if (!reason)
        return reason.takeError();
      found = !*reason;
      if (found)
        break;
      if (!difference)
        difference = std::move(**reason);
    }
    if (found)
      continue;
    Expected<Candidate> fresh = startClass(bundle, rank);
    if (!fresh)
      return fresh.takeError();
    fresh->ranks.difference = difference.value_or("");
    candidates.push_back(std::move(*fresh));
  }
  std::vector<RankClass> classes;
  for (Candidate &candidate : candidates) {
    collectTreeGroups(bundle, candidate);
    classes.push_back(std::move(candidate.ranks));
  }
  return classes;
}

Error frontend::splitClass(const Bundle &bundle,
                           std::vector<RankClass> &classes, size_t index) {
  RankClass whole = std::move(classes[index]);
  classes.erase(classes.begin() + index);
  for (int64_t rank : whole.ranks) {
    Expected<Candidate> alone = startClass(bundle, rank);
    if (!alone)
      return alone.takeError();
    collectTreeGroups(bundle, *alone);
    alone->ranks.difference = whole.difference;
    classes.push_back(std::move(alone->ranks));
  }
  sort(classes, [](const RankClass &a, const RankClass &b) {
    return a.ranks.front() < b.ranks.front();
  });
  return Error::success();
}
