// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- LeftOut.cpp - why operators stay outside of a kernel -------------===//

#include "passes/Fusion/LeftOut.h"

#include "pkb/Analysis/Decisions.h"
#include "pkb/Analysis/FusedRegion.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace pkb;

namespace {

enum class Obstacle {
  NoForm,     // no call of this operator has a form in a kernel
  AsCalled,   // others have one
  OnlyBehind, // it has one behind a collective
  Host,       // reads memory of the host
  InPlace,    // writes to a tensor that the kernel does not make
  Part,       // reads a window of what the collective gives
  Bits,       // reads it as another type
  Late,       // reads something else that is computed only behind the collective
  Message,    // reduces rows for the next collective
  OtherRows,  // reduces, but not what the collective gives
  Elsewhere,  // computes the message, and somebody else needs that too
};

/// The operators on one side of a collective, by what is in their way.
class Side {
public:
  explicit Side(StringRef place) : place(place) {}
  void add(Obstacle obstacle, aten::CallOp call);
  std::string inWords() const;

private:
  std::string sentence(Obstacle obstacle, ArrayRef<std::string> names) const;

  StringRef place; // " after it"
  llvm::MapVector<Obstacle, std::vector<std::string>> found;
};

/// Looks at what is computed from the result of a collective.
class Behind {
public:
  explicit Behind(comm::CollectiveOpInterface collective) : collective(collective) {}
  std::string inWords();

private:
  std::optional<Obstacle> obstacleOf(aten::CallOp call) const;
  bool isGiven(Value value) const { return given.contains(value); }
  bool isThere(Value value) const;

  comm::CollectiveOpInterface collective;
  Side side{" after it"};
  llvm::DenseSet<Value> given; // by the collective, and views of that
  llvm::DenseMap<Value, Obstacle> views; // that are not all of it as it is
};

} // namespace

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

void Side::add(Obstacle obstacle, aten::CallOp call) {
  StringRef name = call.getCallee();
  name.consume_front("aten::");
  std::vector<std::string> &names = found[obstacle];
  if (!llvm::is_contained(names, name))
    names.push_back(name.str());
}

bool pkb::isForMessage(Value value) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    if (isa<comm::CollectiveOpInterface>(user))
      return true;
    auto call = dyn_cast<aten::CallOp>(user);
    bool onward = (call && isElementwise(call)) || isa<aten::AsStridedOp>(user);
    auto elements = [](Value of) { return cast<RankedTensorType>(of.getType()).getNumElements(); };
    return onward && elements(user->getResult(0)) == elements(value) && isForMessage(user->getResult(0));
  });
}

/// "a", "a and b", "a, b and 3 more".
static std::string listOf(ArrayRef<std::string> names) {
  constexpr size_t most = 3;
  if (names.size() > most)
    return llvm::join(names.take_front(most - 1), ", ") + " and " + std::to_string(names.size() - (most - 1)) + " more";
  return names.size() == 1 ? names.front() : llvm::join(names.drop_back(), ", ") + " and " + names.back();
}

std::string Side::sentence(Obstacle obstacle, ArrayRef<std::string> names) const {
  bool one = names.size() == 1;
  auto verb = [&](const char *single, const char *plural) { return listOf(names) + place.str() + (one ? single : plural); };
  switch (obstacle) {
  case Obstacle::NoForm:
    return verb(" has", " have") + " no form in a kernel";
  case Obstacle::AsCalled:
    return verb(" has", " have") + " no form in a kernel with these types, dimensions or options";
  case Obstacle::OnlyBehind:
    return verb(" has", " have") + " a form in a kernel only after a collective";
  case Obstacle::Host:
    return verb(" works", " work") + " on memory of the host";
  case Obstacle::InPlace:
    return verb(" writes", " write") + " in place to a tensor that is there already, and a kernel gives new ones";
  case Obstacle::Part:
    return "only a part of what it gives goes into " + listOf(names);
  case Obstacle::Bits:
    return "what it gives goes into " + listOf(names) + " as another dtype, bit for bit";
  case Obstacle::Late:
    return verb(" needs", " need") + " something that is computed only later, too";
  case Obstacle::Message:
    return verb(" makes", " make") + " the message of the next collective";
  case Obstacle::OtherRows:
    return verb(" does", " do") + " not reduce the rows that it gives";
  case Obstacle::Elsewhere:
    return "what " + verb(" computes", " compute") + " is needed elsewhere, too";
  }
  return "";
}

std::string Side::inWords() const {
  std::string text;
  for (const auto &[obstacle, names] : found)
    text += (text.empty() ? "" : "; ") + sentence(obstacle, names);
  return text;
}

/// True if `call` computes with its operands: what makes an empty tensor of the same shape does not.
static bool computes(aten::CallOp call) {
  StringRef name = call.getCallee();
  return !call.getInputs().empty() && !name.ends_with("_like") && !name.starts_with("aten::new_");
}

static bool hasForm(aten::CallOp call) { return isElementwise(call) || getReducedRows(call); }

/// What is in the way of a call wherever it stands.
static std::optional<Obstacle> obstacleOfCall(aten::CallOp call) {
  if (call->hasAttr(aten::kHostAttrName) || llvm::any_of(call.getInputs(), aten::isOnHost))
    return Obstacle::Host;
  if (!hasForm(call))
    return isKnownOperator(call.getCallee()) ? Obstacle::AsCalled : Obstacle::NoForm;
  return std::nullopt;
}

/// True if `value` exists when the collective is called.
bool Behind::isThere(Value value) const {
  Operation *maker = value.getDefiningOp();
  return !maker || maker->isBeforeInBlock(collective);
}

std::optional<Obstacle> Behind::obstacleOf(aten::CallOp call) const {
  if (std::optional<Obstacle> own = obstacleOfCall(call))
    return own;
  for (int64_t index : call.getMutates())
    if (!isGiven(call.getInputs()[index]))
      return Obstacle::InPlace;
  for (Value input : call.getInputs())
    if (auto view = views.find(input); view != views.end())
      return view->second;
  for (Value input : call.getInputs())
    if (!isGiven(input) && !isThere(input))
      return Obstacle::Late;
  if (!getReducedRows(call))
    return std::nullopt;
  return getRowReduction(call) && isForMessage(call.getResult(0)) ? Obstacle::Message : Obstacle::OtherRows;
}

std::string Behind::inWords() {
  SmallVector<Value> open(collective.getCollectiveResults());
  given.insert(open.begin(), open.end());
  llvm::SetVector<Operation *> calls;
  while (!open.empty()) {
    Value value = open.pop_back_val();
    for (Operation *user : value.getUsers()) {
      if (user->getBlock() != collective->getBlock())
        continue;
      if (auto call = dyn_cast<aten::CallOp>(user); call && computes(call))
        calls.insert(user);
      auto view = dyn_cast<aten::AsStridedOp>(user);
      if (!view || !given.insert(view.getResult()).second)
        continue;
      RankedTensorType from = typeOf(value), to = typeOf(view.getResult());
      if (auto known = views.find(value); known != views.end())
        views.try_emplace(view.getResult(), known->second);
      else if (from.getElementType() != to.getElementType())
        views.try_emplace(view.getResult(), Obstacle::Bits);
      else if (to.getNumElements() < from.getNumElements())
        views.try_emplace(view.getResult(), Obstacle::Part);
      open.push_back(view.getResult());
    }
  }
  SmallVector<Operation *> order(calls.begin(), calls.end());
  llvm::sort(order, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  for (Operation *call : order)
    if (std::optional<Obstacle> obstacle = obstacleOf(cast<aten::CallOp>(call)))
      side.add(*obstacle, cast<aten::CallOp>(call));
  return side.inWords();
}

/// The row of another collective, told to the reader of the one at `here`: "line 12", with what else tells two apart.
static std::string rowInWords(Location other, Location here) {
  FileLineColLoc place = placeOf(other), mine = placeOf(here);
  if (!place)
    return "";
  std::string text = "line " + std::to_string(place.getLine());
  if (!mine || mine.getFilename() != place.getFilename())
    text += " of " + place.getFilename().str();
  SmallVector<FileLineColLoc> callers = callersOf(here);
  auto theirs = llvm::to_vector(llvm::make_filter_range(callersOf(other), [&](FileLineColLoc caller) { return !llvm::is_contained(callers, caller); }));
  if (mine && mine.getLine() == place.getLine() && !theirs.empty())
    text += ", called from " + theirs.front().getFilename().str() + ":" + std::to_string(theirs.front().getLine());
  return text;
}

/// The kernels of other collectives that give the messages, behind views: what is computed before this one is in those.
static std::string whereBefore(comm::CollectiveOpInterface collective) {
  llvm::SetVector<Operation *> kernels;
  for (Value message : collective.getCollectiveInputs()) {
    while (auto view = message.getDefiningOp<aten::AsStridedOp>())
      message = view.getBase();
    if (auto kernel = message.getDefiningOp<comm::FusedOp>())
      kernels.insert(kernel);
  }
  if (kernels.empty())
    return "";
  std::vector<std::string> rows;
  for (Operation *kernel : kernels)
    if (std::string row = rowInWords(kernel->getLoc(), collective.getLoc()); !row.empty() && !llvm::is_contained(rows, row))
      rows.push_back(row);
  return rows.empty() ? "what comes before it is in the kernel of another collective"
                      : "what comes before it stands in the row of " + llvm::join(rows, " and ");
}

/// What computes the messages, behind views.
static std::string whyBefore(comm::CollectiveOpInterface collective) {
  Side side(" before it");
  for (Value value : collective.getCollectiveInputs()) {
    bool shared = !value.hasOneUse();
    while (auto view = value.getDefiningOp<aten::AsStridedOp>()) {
      value = view.getBase();
      shared |= !value.hasOneUse();
    }
    auto call = value.getDefiningOp<aten::CallOp>();
    if (!call || !computes(call))
      continue;
    if (std::optional<Obstacle> own = obstacleOfCall(call))
      side.add(*own, call);
    else if (!call.getMutates().empty())
      side.add(Obstacle::InPlace, call);
    else if (getRowOperator(call))
      side.add(Obstacle::OnlyBehind, call);
    else if (shared)
      side.add(Obstacle::Elsewhere, call);
  }
  return side.inWords();
}

std::string pkb::whyLeftOut(comm::CollectiveOpInterface collective, StringRef known) {
  SmallVector<std::string> reasons{known.empty() ? Behind(collective).inWords() : known.str(), whyBefore(collective), whereBefore(collective)};
  llvm::erase_if(reasons, [](const std::string &reason) { return reason.empty(); });
  return reasons.empty() ? "there is no operator next to it" : llvm::join(reasons, "; ");
}
