//===- SplitInputs.cpp - one storage for each argument that stands alone --===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Frontend/Program.h"
#include "pkb/Support/Error.h"
#include "llvm/ADT/SmallSet.h"

using namespace llvm;
using namespace pkb;
using namespace pkb::frontend;

namespace {
/// Bytes of a storage that arguments reach, without a gap between them.
struct Piece {
  int64_t begin;
  int64_t end;
  int64_t storage; // index of the storage that stands for it
};
} // namespace

static void collectTensors(const json::Value &tree, const RankProgram &program,
                           SmallVectorImpl<int64_t> &tensors) {
  const json::Object *node = tree.getAsObject();
  if (!node)
    return;
  if (node->getString("kind").value_or("") == "tensor")
    if (auto id = node->getInteger("id"); id && isId(*id))
      if (auto at = program.tensorOfId.find(*id);
          at != program.tensorOfId.end())
        tensors.push_back(at->second);
  if (const json::Array *items = node->getArray("items"))
    for (const json::Value &item : *items)
      collectTensors(item, program, tensors);
}

/// The pieces of one storage, in the order of their bytes.
static SmallVector<Piece> getPieces(const RankProgram &program,
                                    ArrayRef<int64_t> arguments,
                                    int64_t storage) {
  SmallVector<Piece> windows, pieces;
  for (int64_t argument : arguments)
    if (program.tensors[argument].storage == storage) {
      auto [begin, end] = getWindow(program.tensors[argument]);
      windows.push_back({begin, end, -1});
    }
  sort(windows, [](const Piece &a, const Piece &b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  for (const Piece &window : windows) {
    if (!pieces.empty() && (window.begin < pieces.back().end ||
                            window.begin == pieces.back().begin))
      pieces.back().end = std::max(pieces.back().end, window.end);
    else
      pieces.push_back(window);
  }
  return pieces;
}

Error frontend::splitInputStorages(RankProgram &program) {
  SmallVector<int64_t> arguments;
  collectTensors(*program.inputs, program, arguments);
  std::vector<SmallVector<Piece>> piecesOf(program.storages.size());
  SmallSet<int64_t, 16> seen;
  for (int64_t argument : arguments) {
    int64_t storage = program.tensors[argument].storage;
    if (!seen.insert(storage).second)
      continue;
    piecesOf[storage] = getPieces(program, arguments, storage);
    for (auto [number, piece] : enumerate(piecesOf[storage])) {
      // The first piece keeps the storage, so that most programs see no other.
      piece.storage = number == 0 ? storage : int64_t(program.storages.size());
      if (number > 0)
        program.storages.push_back(program.storages[storage]);
    }
  }
  for (Tensor &tensor : program.tensors) {
    if (size_t(tensor.storage) >= piecesOf.size())
      continue;
    auto [begin, end] = getWindow(tensor);
    for (const Piece &piece : piecesOf[tensor.storage]) {
      if (begin < piece.begin || end > piece.end)
        continue;
      int64_t bytes = aten::getElementBytes(tensor.dtype);
      if (piece.begin % bytes)
        return makeError("tensor ", tensor.id, " of ",
                         stringifyScalarType(tensor.dtype),
                         " is not aligned to its elements, which is not "
                         "supported");
      tensor.storage = piece.storage;
      tensor.offset -= piece.begin / bytes;
      break;
    }
  }
  return Error::success();
}
