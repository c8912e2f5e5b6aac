//===- Program.cpp - the recorded program of one rank ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Frontend/Program.h"
#include "dialects/Aten/IR/AtenJson.h"
#include "pkb/Support/Error.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace pkb;
using namespace pkb::frontend;

std::string RankProgram::where(int64_t site) const {
  if (site < 0 || site >= int64_t(sites.size()))
    return "an unknown line";
  return sites[site].file + ":" + std::to_string(sites[site].line);
}

Expected<int64_t> RankProgram::getTensor(int64_t id) const {
  auto at = isId(id) ? tensorOfId.find(id) : tensorOfId.end();
  if (at == tensorOfId.end())
    return makeError("tensor ", id, " is used but not described");
  return at->second;
}

aten::ByteRange frontend::getWindow(const Tensor &tensor) {
  int64_t bytes = aten::getElementBytes(tensor.dtype);
  int64_t begin = tensor.offset * bytes, last = tensor.offset;
  for (auto [size, stride] : zip_equal(tensor.sizes, tensor.strides)) {
    if (size == 0)
      return {begin, begin};
    last += (size - 1) * stride;
  }
  return {begin, (last + 1) * bytes};
}

int64_t frontend::countElements(const Tensor &tensor) {
  int64_t count = 1;
  for (int64_t size : tensor.sizes)
    count *= size;
  return count;
}

bool frontend::isSupportedCollective(StringRef name) {
  return is_contained({"all_reduce", "all_gather", "all_to_all", "barrier",
                       "broadcast", "gather", "reduce", "reduce_scatter",
                       "scatter"},
                      name);
}

std::string frontend::describe(const Event &event) {
  if (event.kind == EventKind::Wait)
    return "wait";
  if (event.kind == EventKind::Collective)
    return event.json->getString("name").value_or("").str();
  std::string name = event.json->getString("op").value_or("").str();
  StringRef overload = event.json->getString("overload").value_or("");
  return overload.empty() ? name : name + "." + overload.str();
}

/// The member `key` as an integer; the error names a symbol in its place.
static Expected<int64_t> getInteger(const json::Object &object, StringRef key) {
  const json::Value *value = object.get(key);
  if (!value)
    return makeError("has no '", key, "'");
  Expected<int64_t> integer = aten::integerFromJson(*value);
  if (!integer)
    return prefixError(key, integer.takeError());
  return integer;
}

static Expected<SmallVector<int64_t>> getIntegers(const json::Object &object,
                                                  StringRef key) {
  const json::Array *array = object.getArray(key);
  if (!array)
    return makeError("has no '", key, "'");
  SmallVector<int64_t> list;
  for (const json::Value &value : *array) {
    Expected<int64_t> integer = aten::integerFromJson(value);
    if (!integer)
      return prefixError(key, integer.takeError());
    list.push_back(*integer);
  }
  return list;
}

/// Calls `read` for each object of the list `key`.
static Error readList(const json::Object &root, StringRef key,
                      function_ref<Error(const json::Object &)> read) {
  const json::Array *array = root.getArray(key);
  if (!array)
    return makeError("has no list '", key, "'");
  for (const auto &[index, value] : enumerate(*array)) {
    std::string where = (key + "[" + Twine(index) + "]").str();
    const json::Object *object = value.getAsObject();
    if (!object)
      return makeError(where, " is not an object");
    if (Error error = read(*object))
      return prefixError(where, std::move(error));
  }
  return Error::success();
}

static Error readStorage(const json::Object &object, RankProgram &program,
                         DenseMap<int64_t, int64_t> &storageOfId) {
  Storage storage;
  for (auto [key, to] : {std::pair{"id", &storage.id},
                         std::pair{"bytes", &storage.bytes}}) {
    Expected<int64_t> value = getInteger(object, key);
    if (!value)
      return value.takeError();
    *to = *value;
  }
  StringRef name = object.getString("origin").value_or("");
  auto origin = StringSwitch<std::optional<Origin>>(name)
                    .Case("input", Origin::Input)
                    .Case("literal", Origin::Literal)
                    .Case("op", Origin::Op)
                    .Default(std::nullopt);
  if (!origin)
    return makeError("origin '", name, "' is not known");
  storage.origin = *origin;
  storage.onHost = object.getString("device").value_or("") == "cpu";
  if (storage.bytes < 0 || !isId(storage.id) ||
      !storageOfId.try_emplace(storage.id, program.storages.size()).second)
    return makeError("storage ", storage.id,
                     " must be there once, with its bytes");
  program.storages.push_back(storage);
  return Error::success();
}

/// Checks that the elements lie in their storage, without overflow.
static Error checkWindow(const Tensor &tensor, int64_t bytesPerElement,
                         int64_t storageBytes) {
  int64_t last = tensor.offset, count = bytesPerElement;
  if (tensor.offset < 0)
    return makeError("offset must not be negative, got: ", tensor.offset);
  for (auto [size, stride] : zip_equal(tensor.sizes, tensor.strides)) {
    if (size < 0 || stride < 0)
      return makeError("sizes and strides must not be negative, got: ", size,
                       " and ", stride);
    int64_t step;
    if (MulOverflow(count, size, count) ||
        (size > 0 && (MulOverflow(size - 1, stride, step) ||
                      AddOverflow(last, step, last))))
      return makeError("sizes and strides are too large");
  }
  int64_t end;
  if (MulOverflow(last, bytesPerElement, end) ||
      AddOverflow(end, bytesPerElement, end))
    return makeError("sizes and strides are too large");
  if (!is_contained(tensor.sizes, 0) && end > storageBytes)
    return makeError("reaches byte ", end, " of a storage of ", storageBytes);
  return Error::success();
}

/// The site of the first event whose JSON names a tensor that `isMeant`, by its id, below one of `keys`; -1 if none does.
static int64_t firstNamed(const RankProgram &program, function_ref<bool(int64_t)> isMeant, ArrayRef<StringRef> keys) {
  const json::Array *events = program.root->getAsObject()->getArray("events");
  auto names = [&](const json::Value &value, auto &&self) -> bool {
    if (const json::Array *array = value.getAsArray())
      return any_of(*array, [&](const json::Value &v) { return self(v, self); });
    if (const json::Object *object = value.getAsObject())
      for (StringRef key : {"t", "ts", "args", "kwargs", "results", "list"})
        if (const json::Value *inner = object->get(key))
          if (self(*inner, self))
            return true;
    std::optional<int64_t> id = value.getAsInteger();
    return id && isMeant(*id);
  };
  if (events)
    for (const json::Value &value : *events)
      if (const json::Object *event = value.getAsObject())
        for (StringRef key : keys)
          if (const json::Value *list = event->get(key))
            if (names(*list, names))
              return event->getInteger("site").value_or(-1);
  return -1;
}

/// The site of the first event whose JSON names the tensor; -1 if none does.
static int64_t firstUse(const RankProgram &program, int64_t id) {
  return firstNamed(program, [&](int64_t named) { return named == id; }, {"args", "kwargs", "results", "inputs", "outputs"});
}

int64_t frontend::siteOfStorage(const RankProgram &program, int64_t storage) {
  auto isIn = [&](int64_t id) {
    auto tensor = isId(id) ? program.tensorOfId.find(id) : program.tensorOfId.end();
    return tensor != program.tensorOfId.end() && program.tensors[tensor->second].storage == storage;
  };
  if (program.storages[storage].origin == Origin::Input)
    return firstNamed(program, isIn, {"args", "kwargs", "inputs", "outputs"});
  for (const Literal &literal : program.literals)
    if (program.tensors[literal.tensor].storage == storage)
      return literal.site;
  return firstNamed(program, isIn, {"results", "outputs"});
}

static Error readTensor(const json::Object &object, RankProgram &program,
                        const DenseMap<int64_t, int64_t> &storageOfId) {
  Tensor tensor;
  int64_t storageId = 0;
  for (auto [key, to] :
       {std::pair{"id", &tensor.id}, std::pair{"storage", &storageId},
        std::pair{"offset", &tensor.offset}}) {
    Expected<int64_t> value = getInteger(object, key);
    if (!value)
      return value.takeError();
    *to = *value;
  }
  for (auto [key, to] : {std::pair{"sizes", &tensor.sizes},
                         std::pair{"strides", &tensor.strides}}) {
    Expected<SmallVector<int64_t>> value = getIntegers(object, key);
    if (!value)
      return value.takeError();
    *to = std::move(*value);
  }
  StringRef name = object.getString("dtype").value_or("");
  auto dtype = aten::symbolizeScalarType(name);
  if (!dtype)
    return makeError("tensor of dtype '", name, "' (first at ",
                     program.where(firstUse(program, tensor.id)),
                     ") is not supported");
  tensor.dtype = *dtype;
  tensor.conjugate = object.getBoolean("conj").value_or(false);
  tensor.negative = object.getBoolean("neg").value_or(false);
  auto storage =
      isId(storageId) ? storageOfId.find(storageId) : storageOfId.end();
  if (storage == storageOfId.end())
    return makeError("storage ", storageId, " is used but not described");
  tensor.storage = storage->second;
  if (tensor.sizes.size() != tensor.strides.size())
    return makeError("must have as many strides as sizes, got: ",
                     tensor.strides.size(), " and ", tensor.sizes.size());
  if (Error error = checkWindow(tensor, aten::getElementBytes(tensor.dtype),
                                program.storages[tensor.storage].bytes))
    return error;
  if (!isId(tensor.id) ||
      !program.tensorOfId.try_emplace(tensor.id, program.tensors.size()).second)
    return makeError("id of a tensor must be a small number that no other has, "
                     "got: ",
                     tensor.id);
  program.tensors.push_back(std::move(tensor));
  return Error::success();
}

static Error readEvent(const json::Object &object, RankProgram &program) {
  Event event;
  event.json = &object;
  event.site = object.getInteger("site").value_or(-1);
  StringRef name = object.getString("kind").value_or("");
  auto kind = StringSwitch<std::optional<EventKind>>(name)
                  .Case("op", EventKind::Op)
                  .Case("collective", EventKind::Collective)
                  .Case("wait", EventKind::Wait)
                  .Default(std::nullopt);
  if (!kind)
    return makeError("event of kind '", name, "' at ",
                     program.where(event.site), " is not supported");
  event.kind = *kind;
  program.events.push_back(event);
  return Error::success();
}

/// `source/model.py` is the copy of the user's `model.py`; files that would
/// collide lie in numbered folders.
static StringRef stripFolders(StringRef file) {
  if (file.consume_front("source/") && file.starts_with("_")) {
    auto [folder, rest] = file.split('/');
    if (!rest.empty() && all_of(folder.drop_front(), isDigit))
      return rest;
  }
  return file;
}

Expected<RankProgram> frontend::readProgram(json::Value value, int64_t rank) {
  RankProgram program;
  program.rank = rank;
  program.root = std::make_unique<json::Value>(std::move(value));
  const json::Object &root = *program.root->getAsObject();
  DenseMap<int64_t, int64_t> storageOfId;

  if (Error error = readList(root, "sites", [&](const json::Object &object) {
        auto fileOf = [](const json::Object &frame) {
          return stripFolders(frame.getString("file").value_or("?")).str();
        };
        Site &site = program.sites.emplace_back();
        site.file = fileOf(object);
        site.line = object.getInteger("line").value_or(0);
        site.text = object.getString("text").value_or("").str();
        if (const json::Array *callers = object.getArray("callers"))
          for (const json::Value &caller : *callers)
            if (const json::Object *frame = caller.getAsObject())
              site.callers.emplace_back(fileOf(*frame),
                                        frame->getInteger("line").value_or(0));
        return Error::success();
      }))
    return std::move(error);
  if (Error error = readList(root, "storages", [&](const json::Object &object) {
        return readStorage(object, program, storageOfId);
      }))
    return std::move(error);
  if (Error error = readList(root, "tensors", [&](const json::Object &object) {
        return readTensor(object, program, storageOfId);
      }))
    return std::move(error);
  if (Error error = readList(root, "literals", [&](const json::Object &object) -> Error {
        Expected<int64_t> id = getInteger(object, "tensor");
        if (!id)
          return id.takeError();
        Expected<int64_t> tensor = program.getTensor(*id);
        if (!tensor)
          return tensor.takeError();
        program.literals.push_back(
            {*tensor, object.getString("file").value_or("").str(),
             object.getInteger("site").value_or(-1)});
        return Error::success();
      }))
    return std::move(error);
  if (Error error = readList(root, "events", [&](const json::Object &object) {
        return readEvent(object, program);
      }))
    return std::move(error);
  program.inputs = root.get("inputs");
  program.outputs = root.get("outputs");
  if (!program.inputs || !program.outputs)
    return makeError("has no inputs or no outputs");
  if (Error error = splitInputStorages(program))
    return std::move(error);
  return program;
}
