//===- ImportFunction.cpp - arguments, literals and results ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Aten/IR/AtenJson.h"
#include "lib/Frontend/Importer.h"
#include "lib/Frontend/Program.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "pkb/Support/Error.h"
#include <map>

using namespace mlir;
using namespace pkb;
using namespace pkb::frontend;

/// Literals of more bytes than this become resources: they are neither uniqued
/// nor printed element by element.
static constexpr int64_t kMaxInlineBytes = 1024;

llvm::Expected<Attribute> Importer::groupOfTree(int64_t id) {
  auto at = ranks.treeGroups.find(id);
  if (at == ranks.treeGroups.end())
    return makeError("group ", id, " is used but not described");
  return comm::GroupAttr::get(builder.getContext(), at->second);
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

/// "model.py:8: argument 0, used here,", or without a line where no event names the tensor's storage.
static std::string nameWithLine(const RankProgram &program, int64_t tensor, StringRef what, size_t number, StringRef event) {
  std::string name = (what + " " + Twine(number)).str();
  int64_t site = siteOfStorage(program, program.tensors[tensor].storage);
  return site < 0 ? name : (program.where(site) + ": " + name + ", " + event + " here,").str();
}

/// Arguments that share bytes of one storage: one must contain the others, and
/// holds the version of all.
llvm::Error Importer::importArgumentsOf(ArrayRef<int64_t> tensors,
                                  ArrayRef<int64_t> arguments,
                                  func::FuncOp function) {
  aten::ByteRange all = storages.getWindow(tensors.front());
  for (int64_t tensor : tensors) {
    aten::ByteRange window = storages.getWindow(tensor);
    all.begin = std::min(all.begin, window.begin);
    all.end = std::max(all.end, window.end);
  }
  const int64_t *owner = llvm::find_if(tensors, [&](int64_t tensor) {
    aten::ByteRange window = storages.getWindow(tensor);
    return window.begin == all.begin && window.end == all.end;
  });
  if (owner == tensors.end())
    return makeError("arguments ", arguments[0], " and ", arguments[1],
                     " overlap in memory and neither contains the other, which "
                     "is not supported; pass the whole tensor");
  int64_t ownerArgument = arguments[owner - tensors.begin()];
  for (auto [tensor, argument] : llvm::zip_equal(tensors, arguments)) {
    llvm::Expected<RankedTensorType> type = storages.getType(tensor, all.begin);
    if (!type)
      return type.takeError();
    function.getArgument(argument).setType(*type);
    if (argument != ownerArgument)
      function.setArgAttr(argument, aten::kAliasOfAttrName,
                          aten::AliasAttr::get(builder.getContext(),
                                               aten::AliasKind::Argument,
                                               ownerArgument));
  }
  StorageRegion &region = storages.define(program.tensors[*owner].storage, all,
                                   function.getArgument(ownerArgument));
  region.argument = ownerArgument;
  return llvm::Error::success();
}

llvm::Error Importer::importArguments(func::FuncOp function) {
  DenseMap<int64_t, int64_t> argumentOf; // by tensor
  auto tree = aten::treeFromJson(
      builder.getContext(), *program.inputs,
      [&](int64_t id) -> llvm::Expected<int64_t> {
        llvm::Expected<int64_t> tensor = program.getTensor(id);
        if (!tensor)
          return tensor;
        auto [at, added] =
            argumentOf.try_emplace(*tensor, argumentTensors.size());
        if (added)
          argumentTensors.push_back(*tensor);
        return at->second;
      },
      [&](int64_t id) { return groupOfTree(id); });
  if (!tree)
    return prefixError("arguments", tree.takeError());
  inputTree = *tree;

  for (auto [argument, tensor] : llvm::enumerate(argumentTensors))
    if (program.storages[program.tensors[tensor].storage].onHost)
      return makeError(nameWithLine(program, tensor, "argument", argument, "used"),
                       " is a tensor in host memory, which is not supported; pass one on the device");
    else if (program.tensors[tensor].conjugate ||
             program.tensors[tensor].negative)
      return makeError("argument ", argument, " is lazily conjugated or negated, "
                       "which is not supported; call resolve_conj() and "
                       "resolve_neg() first");

  // The types are known once the offsets within shared storages are.
  Block &block = function.getBody().front();
  auto placeholder = RankedTensorType::get({}, builder.getI8Type());
  for (size_t i = 0; i < argumentTensors.size(); ++i)
    block.addArgument(placeholder, function.getLoc());
  function.setFunctionType(
      builder.getFunctionType(block.getArgumentTypes(), {}));

  // Arguments of one storage, in the order of their bytes; those that overlap
  // belong together.
  std::map<int64_t, SmallVector<int64_t>> byStorage;
  for (auto [argument, tensor] : llvm::enumerate(argumentTensors))
    byStorage[program.tensors[tensor].storage].push_back(argument);
  for (auto &[storage, arguments] : byStorage) {
    llvm::sort(arguments, [&](int64_t a, int64_t b) {
      return std::pair(storages.getWindow(argumentTensors[a]).begin, a) <
             std::pair(storages.getWindow(argumentTensors[b]).begin, b);
    });
    for (size_t i = 0; i < arguments.size();) {
      SmallVector<int64_t> together, tensors;
      int64_t end = 0;
      do {
        together.push_back(arguments[i]);
        tensors.push_back(argumentTensors[arguments[i]]);
        end = std::max(end, storages.getWindow(tensors.back()).end);
        ++i;
      } while (i < arguments.size() &&
               storages.getWindow(argumentTensors[arguments[i]]).begin < end);
      if (llvm::Error error = importArgumentsOf(tensors, together, function))
        return error;
    }
  }
  function.setFunctionType(
      builder.getFunctionType(block.getArgumentTypes(), {}));
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Literals
//===----------------------------------------------------------------------===//

/// The constant with these bytes, which are elements of `type` in order.
static ElementsAttr makeElements(RankedTensorType type, ArrayRef<char> bytes,
                                 int64_t number) {
  Type element = type.getElementType();
  if (element.isInteger(1)) {
    SmallVector<bool> values(llvm::map_range(bytes, [](char b) { return b != 0; }));
    return DenseElementsAttr::get(type, values);
  }
  if (int64_t(bytes.size()) <= kMaxInlineBytes)
    return DenseElementsAttr::getFromRawBuffer(type, bytes);
  return DenseResourceElementsAttr::get(
      type, "literal_" + std::to_string(number),
      HeapAsmResourceBlob::allocateAndCopyWithAlign(bytes, /*align=*/16));
}

/// All literals of one storage. One that is contiguous is its own version;
/// otherwise the version is the storage, put together element by element.
llvm::Error Importer::importLiteralsOf(ArrayRef<const Literal *> literals) {
  MLIRContext *context = builder.getContext();
  const Tensor &front = program.tensors[literals.front()->tensor];
  Type element = aten::getElementType(context, front.dtype);
  int64_t elementBytes = aten::getElementBytes(front.dtype);
  aten::ByteRange all = storages.getWindow(literals.front()->tensor);
  for (const Literal *literal : literals) {
    aten::ByteRange window = storages.getWindow(literal->tensor);
    all.begin = std::min(all.begin, window.begin);
    all.end = std::max(all.end, window.end);
  }
  // Whole elements of the first literal's dtype.
  all.begin -= all.begin % elementBytes;
  all.end += (elementBytes - (all.end - all.begin) % elementBytes) %
             elementBytes;

  std::string memory(all.end - all.begin, '\0');
  for (const Literal *literal : literals) {
    const Tensor &tensor = program.tensors[literal->tensor];
    auto member = bundle.members.find(literal->file);
    int64_t bytes = aten::getElementBytes(tensor.dtype);
    int64_t count = 1;
    for (int64_t size : tensor.sizes)
      count *= size;
    if (member == bundle.members.end())
      return makeError("constant tensor ", tensor.id, " (",
                       program.where(literal->site), ") lacks its member '",
                       literal->file, "'");
    StringRef data = member->second;
    if (int64_t(data.size()) != count * bytes)
      return makeError("member '", literal->file, "' must hold ", count * bytes,
                       " bytes, got: ", data.size());
    SmallVector<int64_t> at(tensor.sizes.size(), 0);
    for (int64_t i = 0; i < count; ++i) {
      int64_t position = tensor.offset;
      for (auto [index, stride] : llvm::zip_equal(at, tensor.strides))
        position += index * stride;
      std::copy_n(data.data() + i * bytes, bytes,
                  memory.data() + position * bytes - all.begin);
      for (int64_t d = int64_t(at.size()) - 1;
           d >= 0 && ++at[d] == tensor.sizes[d]; --d)
        at[d] = 0;
    }
  }

  llvm::Expected<RankedTensorType> own =
      storages.getType(literals.front()->tensor, all.begin);
  if (!own)
    return own.takeError();
  RankedTensorType type = *own;
  bool whole = !type.getEncoding() && type.getNumElements() * elementBytes ==
                                          int64_t(memory.size());
  if (!whole)
    type = RankedTensorType::get({int64_t(memory.size()) / elementBytes},
                                 element);
  auto op = aten::LiteralOp::create(
      builder, locationOf(literals.front()->site),
      makeElements(type, ArrayRef(memory.data(), memory.size()),
                   literals.front() - program.literals.data()));
  storages.define(front.storage, all, op.getResult());
  return llvm::Error::success();
}

llvm::Error Importer::importLiterals() {
  std::map<int64_t, SmallVector<const Literal *>> byStorage;
  for (const Literal &literal : program.literals)
    byStorage[program.tensors[literal.tensor].storage].push_back(&literal);
  for (auto &[storage, literals] : byStorage)
    if (llvm::Error error = importLiteralsOf(literals))
      return error;
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

llvm::Error Importer::importResults(func::FuncOp function) {
  MLIRContext *context = builder.getContext();
  DenseMap<int64_t, int64_t> resultOf; // by tensor
  SmallVector<int64_t> tensors;
  auto tree = aten::treeFromJson(
      context, *program.outputs,
      [&](int64_t id) -> llvm::Expected<int64_t> {
        llvm::Expected<int64_t> tensor = program.getTensor(id);
        if (!tensor)
          return tensor;
        auto [at, added] = resultOf.try_emplace(*tensor, tensors.size());
        if (added)
          tensors.push_back(*tensor);
        return at->second;
      },
      [&](int64_t id) { return groupOfTree(id); });
  if (!tree)
    return prefixError("results", tree.takeError());
  outputTree = *tree;

  Location loc = function.getLoc();
  SmallVector<Value> values;
  SmallVector<NamedAttrList> attributes(tensors.size());
  // What is lazily conjugated or negated is not what its storage holds.
  auto isValueOfItsOwn = [&](int64_t tensor) {
    return program.tensors[tensor].conjugate || program.tensors[tensor].negative;
  };
  for (auto [index, tensor] : llvm::enumerate(tensors)) {
    llvm::Expected<Value> value = storages.read(tensor, loc);
    if (!value)
      return prefixError("result " + std::to_string(index), value.takeError());
    values.push_back(*value);
    const StorageRegion *region = storages.find(tensor);
    if (isValueOfItsOwn(tensor))
      continue;
    if (program.storages[program.tensors[tensor].storage].onHost)
      return makeError(nameWithLine(program, tensor, "result", index, "made"),
                       " is a tensor in host memory, which is not supported; return one on the device");
    if (region->argument >= 0) {
      attributes[index].set(
          aten::kAliasOfAttrName,
          aten::AliasAttr::get(context, aten::AliasKind::Argument,
                               region->argument));
      continue;
    }
    // The first result that contains this one, if another does.
    aten::ByteRange window = storages.getWindow(tensor);
    for (auto [other, outer] : llvm::enumerate(tensors)) {
      aten::ByteRange theirs = storages.getWindow(outer);
      bool contains = storages.find(outer) == region &&
                      theirs.begin <= window.begin &&
                      theirs.end >= window.end && window.begin != window.end;
      bool same = theirs.begin == window.begin && theirs.end == window.end;
      if (other == index || !contains || isValueOfItsOwn(outer) || (same && other > index))
        continue;
      attributes[index].set(
          aten::kAliasOfAttrName,
          aten::AliasAttr::get(context, aten::AliasKind::Result, other));
      break;
    }
  }
  // What the program leaves in its arguments.
  for (auto [argument, tensor] : llvm::enumerate(argumentTensors))
    for (const StorageRegion &region :
         storages.getRegions(program.tensors[tensor].storage)) {
      if (region.argument != int64_t(argument) ||
          region.version == region.initial)
        continue;
      values.push_back(region.version);
      attributes.emplace_back().set(aten::kMutationOfAttrName,
                                    builder.getI64IntegerAttr(argument));
    }
  func::ReturnOp::create(builder, loc, values);
  function.setFunctionType(builder.getFunctionType(
      function.getArgumentTypes(), ValueRange(values).getTypes()));
  for (auto [index, list] : llvm::enumerate(attributes))
    function.setResultAttrs(index, list);
  return llvm::Error::success();
}
