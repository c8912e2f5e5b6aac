// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Interpreter.cpp - run a module of level L1 or L2 --------------------===//

#include "pkb/Reference/Interpreter.h"

#include "RankProgram.h"
#include "World.h"

#include "pkb/Support/Error.h"

using namespace mlir;
using namespace pkb;
using namespace pkb::reference;

Interpreter::Interpreter(std::unique_ptr<World> world) : world(std::move(world)) {}
Interpreter::~Interpreter() = default;

llvm::Expected<std::unique_ptr<Interpreter>> Interpreter::create(ModuleOp module, const RunOptions &options) {
  auto world = std::make_unique<World>(module, options);
  if (llvm::Error error = world->open())
    return error;
  return std::unique_ptr<Interpreter>(new Interpreter(std::move(world)));
}

int64_t Interpreter::worldSize() const { return world->size(); }

ArrayRef<Type> Interpreter::argumentTypes(int64_t rank) const { return world->functionOf(rank).getArgumentTypes(); }

/// The argument whose storage argument `index` is a window of; itself if it has its own.
static int64_t rootOf(func::FuncOp function, int64_t index) {
  auto alias = function.getArgAttrOfType<aten::AliasAttr>(index, aten::kAliasOfAttrName);
  return alias && alias.getKind() == aten::AliasKind::Argument && alias.getIndex() < index
             ? rootOf(function, alias.getIndex())
             : index;
}

/// Memory for the arguments of one rank, one storage for those that share it.
static llvm::Expected<std::vector<Tensor>> makeArguments(func::FuncOp function) {
  std::vector<Extent> extents; // by argument; of a root, of all that share its storage
  for (auto [index, type] : llvm::enumerate(function.getArgumentTypes())) {
    llvm::Expected<Extent> extent = extentOf(type);
    if (!extent)
      return makeError("argument ", index, ": ", llvm::toString(extent.takeError()));
    extents.push_back(*extent);
    int64_t root = rootOf(function, index);
    if (root == static_cast<int64_t>(index))
      continue;
    if (isa<MemRefType>(type))
      return makeError("argument ", index, " is a view of argument ", root,
                       ", and a memref does not say where it begins; give the module of level L1");
    extents[root] = {std::min(extents[root].begin, extent->begin), std::max(extents[root].end, extent->end)};
  }
  std::vector<Tensor> arguments;
  for (size_t index = 0; index < extents.size(); ++index) {
    int64_t root = rootOf(function, index);
    const Extent &extent = extents[root];
    arguments.push_back(root == static_cast<int64_t>(index)
                            ? Tensor{std::make_shared<Bytes>(extent.end - extent.begin, kPoison), -extent.begin}
                            : arguments[root]);
  }
  return arguments;
}

llvm::Expected<std::vector<RankInputs>> Interpreter::randomInputs(uint64_t seed, const InputOptions &options) const {
  std::vector<RankInputs> inputs(worldSize());
  for (int64_t rank = 0; rank < worldSize(); ++rank)
    for (auto [index, type] : llvm::enumerate(argumentTypes(rank))) {
      // The layout does not matter, so that both sides of a lowering get the same.
      auto shaped = dyn_cast<ShapedType>(type);
      if (!shaped || !shaped.hasStaticShape())
        return makeError("argument ", index, " must be a tensor of static shape, got: ", type);
      Type plain = RankedTensorType::get(shaped.getShape(), shaped.getElementType());
      llvm::Expected<Tensor> tensor = allocate(plain);
      if (!tensor)
        return makeError("argument ", index, ": ", llvm::toString(tensor.takeError()));
      llvm::Expected<Window> window = windowOf(plain, *tensor);
      if (!window)
        return window.takeError();
      fillRandom(*window, mixBits(seed) + rank * 1000003 + index, options);
      inputs[rank].arguments.push_back(window->gather());
    }
  return inputs;
}

/// What an L1 function returns as the last version of an argument's storage is what the caller finds in it.
static llvm::DenseMap<int64_t, int64_t> resultOfMutation(func::FuncOp function) {
  llvm::DenseMap<int64_t, int64_t> results;
  for (unsigned result = 0; result < function.getNumResults(); ++result)
    if (auto mutation = function.getResultAttrOfType<IntegerAttr>(result, aten::kMutationOfAttrName))
      results[mutation.getInt()] = result;
  return results;
}

static llvm::Expected<std::vector<Observed>> observe(RankProgram &program, func::FuncOp function,
                                                     ArrayRef<Tensor> arguments) {
  std::vector<Observed> seen;
  auto add = [&](const Twine &name, Type type, const Tensor &tensor) -> llvm::Error {
    auto shaped = cast<ShapedType>(type);
    Observed observed{
        name.str(), RankedTensorType::get(shaped.getShape(), shaped.getElementType()), !tensor.absent(), {}};
    if (observed.defined) {
      llvm::Expected<Window> window = windowOf(type, tensor);
      if (!window)
        return makeError(name, ": ", llvm::toString(window.takeError()));
      observed.bytes = window->gather();
    }
    seen.push_back(std::move(observed));
    return llvm::Error::success();
  };
  llvm::DenseMap<int64_t, int64_t> mutations = resultOfMutation(function);
  int64_t number = 0;
  for (auto [index, returned] : llvm::enumerate(program.getReturned()))
    if (!function.getResultAttrOfType<IntegerAttr>(index, aten::kMutationOfAttrName))
      if (llvm::Error error = add("result " + Twine(number++), returned.first.getType(), returned.second))
        return error;
  for (auto [index, type] : llvm::enumerate(function.getArgumentTypes())) {
    auto mutation = mutations.find(rootOf(function, index));
    auto own = mutations.find(index);
    const Tensor &last = own != mutations.end()        ? program.getReturned()[own->second].second
                         : mutation != mutations.end() ? program.getReturned()[mutation->second].second
                                                       : arguments[index];
    if (llvm::Error error = add("argument " + Twine(index), type, last))
      return error;
  }
  return seen;
}

llvm::Expected<std::vector<std::vector<Observed>>> Interpreter::call(const std::vector<RankInputs> &inputs) {
  if (static_cast<int64_t>(inputs.size()) != worldSize())
    return makeError("needs inputs for ", worldSize(), " ranks, got: ", inputs.size());
  std::vector<std::vector<Tensor>> arguments;
  for (int64_t rank = 0; rank < worldSize(); ++rank) {
    func::FuncOp function = world->functionOf(rank);
    llvm::Expected<std::vector<Tensor>> made = makeArguments(function);
    if (!made)
      return makeError("rank ", rank, ": ", llvm::toString(made.takeError()));
    if (inputs[rank].arguments.size() != made->size())
      return makeError("rank ", rank, " takes ", made->size(), " arguments, got: ", inputs[rank].arguments.size());
    for (auto [index, tensor] : llvm::enumerate(*made)) {
      llvm::Expected<Window> window = windowOf(function.getArgumentTypes()[index], tensor);
      if (!window)
        return window.takeError();
      const std::vector<char> &bytes = inputs[rank].arguments[index];
      int64_t expected = window->count() * window->element.bytes;
      if (static_cast<int64_t>(bytes.size()) != expected)
        return makeError("rank ", rank, " argument ", index, " has ", expected, " bytes, got: ", bytes.size());
      window->scatter(bytes);
    }
    arguments.push_back(std::move(*made));
  }
  if (llvm::Error error = world->call(arguments))
    return error;
  std::vector<std::vector<Observed>> seen;
  for (int64_t rank = 0; rank < worldSize(); ++rank) {
    llvm::Expected<std::vector<Observed>> own = observe(world->program(rank), world->functionOf(rank), arguments[rank]);
    if (!own)
      return makeError("rank ", rank, " ", llvm::toString(own.takeError()));
    seen.push_back(std::move(*own));
  }
  return seen;
}
