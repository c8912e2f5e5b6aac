//===- ExportedRecord.cpp - a graph of torch.export as a record -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Frontend/ExportedRecord.h"
#include "pkb/Support/Error.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace llvm;
using namespace pkb;
using namespace pkb::frontend;
using aten::ScalarType;

/// torch.export's numbers of dtypes.
static std::optional<ScalarType> scalarTypeOf(int64_t number) {
  switch (number) {
  case 1:
    return ScalarType::UInt8;
  case 2:
    return ScalarType::Int8;
  case 3:
    return ScalarType::Int16;
  case 4:
    return ScalarType::Int32;
  case 5:
    return ScalarType::Int64;
  case 6:
    return ScalarType::Float16;
  case 7:
    return ScalarType::Float32;
  case 8:
    return ScalarType::Float64;
  case 10:
    return ScalarType::Complex64;
  case 11:
    return ScalarType::Complex128;
  case 12:
    return ScalarType::Bool;
  case 13:
    return ScalarType::BFloat16;
  case 29:
    return ScalarType::Float8E4M3FN;
  case 30:
    return ScalarType::Float8E5M2;
  default:
    return std::nullopt;
  }
}

static std::string printed(const json::Value &value) {
  std::string text;
  raw_string_ostream(text) << value;
  return text;
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

bool RecordBuilder::Layout::isContiguous() const {
  int64_t step = 1;
  for (size_t d = sizes.size(); d-- > 0;) {
    if (sizes[d] == 0)
      return true;
    if (sizes[d] != 1 && strides[d] != step)
      return false;
    step *= sizes[d];
  }
  return true;
}

int64_t RecordBuilder::Layout::getEnd() const {
  int64_t last = offset;
  for (auto [size, stride] : zip_equal(sizes, strides)) {
    if (size == 0)
      return 0;
    last += (size - 1) * stride;
  }
  return (last + 1) * aten::getElementBytes(dtype);
}

/// A number of a layout; a symbol is refused by its text.
static Expected<int64_t> readNumber(const json::Value *value) {
  const json::Object *object = value ? value->getAsObject() : nullptr;
  auto number = object ? object->getInteger("as_int") : std::nullopt;
  if (!number)
    return makeError("has the symbolic size ",
                     value ? printed(*value) : std::string("null"),
                     ", which is not supported; export without dynamic shapes");
  return *number;
}

Expected<RecordBuilder::Layout>
RecordBuilder::readLayout(StringRef name) const {
  const json::Object *all = graph.getObject("tensor_values");
  const json::Object *value = all ? all->getObject(name) : nullptr;
  if (!value)
    return makeError("tensor '", name, "' is used but not described");
  Layout layout;
  auto dtype = scalarTypeOf(value->getInteger("dtype").value_or(0));
  if (!dtype)
    return makeError("tensor '", name, "' has a dtype that is not supported");
  layout.dtype = *dtype;
  if (value->getInteger("layout").value_or(0) != 7)
    return makeError("tensor '", name, "' must be dense");
  for (auto [key, to] : {std::pair("sizes", &layout.sizes),
                         std::pair("strides", &layout.strides)}) {
    const json::Array *list = value->getArray(key);
    if (!list)
      return makeError("tensor '", name, "' has no ", key);
    for (const json::Value &element : *list) {
      Expected<int64_t> number = readNumber(&element);
      if (!number)
        return prefixError("tensor '" + name.str() + "'", number.takeError());
      to->push_back(*number);
    }
  }
  Expected<int64_t> offset = readNumber(value->get("storage_offset"));
  if (!offset)
    return offset.takeError();
  layout.offset = *offset;
  if (layout.sizes.size() != layout.strides.size())
    return makeError("tensor '", name, "' must have as many strides as sizes");
  return layout;
}

int64_t RecordBuilder::addStorage(int64_t bytes, StringRef origin) {
  int64_t id = storageBytes.size();
  storageBytes.push_back(bytes);
  isConstant.push_back(origin == "literal");
  storages.push_back(json::Object{{"id", id}, {"bytes", bytes}, {"origin", origin}});
  return id;
}

int64_t RecordBuilder::addTensor(const Layout &layout, int64_t storage) {
  auto [at, added] = tensorOfLayout.try_emplace(
      {storage, layout.dtype, layout.sizes, layout.strides, layout.offset},
      layouts.size());
  int64_t id = at->second;
  if (!added)
    return id;
  layouts.push_back(layout);
  storageOf.push_back(storage);
  // A view may reach farther than what was known of its storage.
  storageBytes[storage] = std::max(storageBytes[storage], layout.getEnd());
  (*storages[storage].getAsObject())["bytes"] = storageBytes[storage];
  tensors.push_back(json::Object{
      {"id", id},
      {"storage", storage},
      {"dtype", stringifyScalarType(layout.dtype)},
      {"sizes", json::Array(layout.sizes)},
      {"strides", json::Array(layout.strides)},
      {"offset", layout.offset}});
  return id;
}

int64_t RecordBuilder::addFresh(const Layout &layout, StringRef origin) {
  return addTensor(layout, addStorage(layout.getEnd(), origin));
}

Expected<int64_t> RecordBuilder::defineFresh(StringRef name) {
  Expected<Layout> layout = readLayout(name);
  if (!layout)
    return layout.takeError();
  return tensorOf[name] = addFresh(*layout, "op");
}

Expected<int64_t> RecordBuilder::defineView(StringRef name, int64_t of) {
  Expected<Layout> layout = readLayout(name);
  if (!layout)
    return layout.takeError();
  return tensorOf[name] = addTensor(*layout, storageOf[of]);
}

Error RecordBuilder::addInput(StringRef name) {
  Expected<Layout> layout = readLayout(name);
  if (!layout)
    return layout.takeError();
  tensorOf[name] = addFresh(*layout, "input");
  return Error::success();
}

Error RecordBuilder::addConstant(StringRef name, const std::string &key,
                                 const std::string &hash, StringRef bytes) {
  Expected<Layout> layout = readLayout(name);
  if (!layout)
    return layout.takeError();
  auto [at, added] = constants.try_emplace(key, 0);
  if (added) {
    at->second = addStorage(bytes.size(), "literal");
    // All of the storage is the constant, flat.
    Layout flat;
    flat.dtype = layout->dtype;
    flat.sizes = {int64_t(bytes.size()) / aten::getElementBytes(layout->dtype)};
    flat.strides = {1};
    std::string file = "tensors/" + hash + ".bin";
    literals.push_back(json::Object{
        {"tensor", addTensor(flat, at->second)}, {"file", file}, {"site", -1}});
    members[file] = bytes.str();
  }
  if (layout->getEnd() > int64_t(bytes.size()))
    return makeError("constant '", name, "' needs ", layout->getEnd(),
                     " bytes, its member has ", bytes.size());
  tensorOf[name] = addTensor(*layout, at->second);
  return Error::success();
}

Expected<int64_t> RecordBuilder::getTensor(StringRef name) const {
  auto at = tensorOf.find(name);
  if (at == tensorOf.end())
    return makeError("tensor '", name, "' is used before anything makes it");
  return at->second;
}

//===----------------------------------------------------------------------===//
// Lines and arguments
//===----------------------------------------------------------------------===//

/// The innermost line of the stack trace that is not torch's own.
int64_t RecordBuilder::addSite(const Node &node) {
  const json::Object *metadata = node.getObject("metadata");
  StringRef trace =
      metadata ? metadata->getString("stack_trace").value_or("") : "";
  std::pair<std::string, int64_t> found("?", 0);
  SmallVector<StringRef> lines;
  trace.split(lines, '\n');
  for (StringRef line : lines) {
    line = line.ltrim();
    if (!line.consume_front("File \""))
      continue;
    auto [file, rest] = line.split("\", line ");
    int64_t number;
    if (file.contains("-packages/torch/") || rest.consumeInteger(10, number))
      continue;
    found = {file.str(), number};
  }
  auto [at, added] = siteOf.try_emplace(found, sites.size());
  if (added)
    sites.push_back(json::Object{{"file", found.first}, {"line", found.second}});
  return at->second;
}

/// One argument of a node in the notation of the record.
Expected<json::Value> RecordBuilder::readArgument(const Node &argument) const {
  static const StringRef memoryFormats[] = {"", "contiguous", "channels_last",
                                            "channels_last_3d", "preserve"};
  if (argument.size() != 1)
    return makeError("argument ", printed(json::Object(argument)),
                     " must be of one kind");
  StringRef kind = argument.begin()->first;
  const json::Value &value = argument.begin()->second;
  auto idOf = [&](const json::Value &tensor) -> Expected<int64_t> {
    const json::Object *object = tensor.getAsObject();
    return getTensor(object ? object->getString("name").value_or("") : "");
  };
  if (kind == "as_none")
    return json::Object{{"n", nullptr}};
  if (kind == "as_tensor") {
    Expected<int64_t> id = idOf(value);
    if (!id)
      return id.takeError();
    return json::Object{{"t", *id}};
  }
  if (kind == "as_optional_tensor" && value.getAsObject())
    return readArgument(*value.getAsObject());
  if (kind == "as_tensors" || kind == "as_optional_tensors") {
    json::Array ids;
    for (const json::Value &element : *value.getAsArray()) {
      const json::Object *tensor = element.getAsObject();
      if (tensor && tensor->get("as_none")) {
        ids.push_back(nullptr);
        continue;
      }
      const json::Value *inner = tensor ? tensor->get("as_tensor") : nullptr;
      Expected<int64_t> id = idOf(inner ? *inner : element);
      if (!id)
        return id.takeError();
      ids.push_back(*id);
    }
    return json::Object{{"ts", std::move(ids)}};
  }
  if (kind == "as_float") {
    auto text = value.getAsString();
    if (!text)
      return json::Object{{"f", value}};
    return json::Object{{"f", StringSwitch<StringRef>(*text)
                                  .Case("Infinity", "inf")
                                  .Case("-Infinity", "-inf")
                                  .Default("nan")}};
  }
  StringRef plain = StringSwitch<StringRef>(kind)
                        .Case("as_int", "i")
                        .Case("as_ints", "is")
                        .Case("as_floats", "fs")
                        .Case("as_string", "s")
                        .Case("as_bool", "b")
                        .Case("as_bools", "bs")
                        .Default("");
  if (!plain.empty())
    return json::Object{{plain, value}};
  if (kind == "as_sym_int" && value.getAsObject() &&
      value.getAsObject()->getInteger("as_int"))
    return json::Object{{"i", *value.getAsObject()->getInteger("as_int")}};
  if (kind == "as_sym_ints") {
    json::Array numbers;
    for (const json::Value &element : *value.getAsArray()) {
      Expected<int64_t> number = readNumber(&element);
      if (!number)
        return number.takeError();
      numbers.push_back(*number);
    }
    return json::Object{{"is", std::move(numbers)}};
  }
  int64_t number = value.getAsInteger().value_or(-1);
  if (kind == "as_scalar_type" && scalarTypeOf(number))
    return json::Object{{"dtype", stringifyScalarType(*scalarTypeOf(number))}};
  if (kind == "as_memory_format" && number > 0 && number < 5)
    return json::Object{{"mf", memoryFormats[number]}};
  if (kind == "as_layout" && number == 7)
    return json::Object{{"layout", "strided"}};
  if (kind == "as_device")
    return json::Object{{"device", "cuda"}};
  const json::Object *complex = value.getAsObject();
  if (kind == "as_complex" && complex && complex->get("real") && complex->get("imag"))
    return json::Object{
        {"c", json::Array{*complex->get("real"), *complex->get("imag")}}};
  return makeError("argument ", printed(json::Object(argument)),
                   " is not supported");
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

/// The argument `name` of a node; null if it was left out.
static const json::Object *findArgument(const json::Object &node, StringRef name) {
  if (const json::Array *inputs = node.getArray("inputs"))
    for (const json::Value &value : *inputs)
      if (const json::Object *input = value.getAsObject())
        if (input->getString("name") == name)
          return input->getObject("arg");
  return nullptr;
}

/// Operators whose results are always windows of their first argument.
static bool alwaysViews(StringRef op) {
  static const StringRef names[] = {
      "alias", "as_strided", "chunk", "detach", "diagonal", "expand", "expand_as",
      "imag", "lift_fresh", "movedim", "moveaxis", "mT", "mH", "narrow",
      "numpy_T", "permute", "real", "select", "slice", "split",
      "split_with_sizes", "squeeze", "swapaxes", "swapdims", "t",
      "tensor_split", "transpose", "unbind", "unfold", "unsafe_chunk",
      "unsqueeze", "view", "view_as", "view_as_complex", "view_as_real"};
  return is_contained(names, op) && !op.starts_with("unsafe");
}

/// Operators that give a window where strides allow it, else a copy.
static bool mayReshape(StringRef op) {
  return is_contained({"reshape", "reshape_as", "flatten", "unflatten", "ravel"}, op);
}

/// Operators that give their argument itself where it is as asked for.
static bool mayConvert(StringRef op) {
  return is_contained({"contiguous", "to", "type_as", "float", "half", "bfloat16",
                       "double"},
                      op);
}

static bool drawsRandomNumbers(const json::Object &node, StringRef op) {
  static const StringRef names[] = {
      "rand", "randn", "randint", "rand_like", "randn_like", "randint_like",
      "randperm", "bernoulli", "bernoulli_", "normal", "normal_", "uniform_",
      "random_", "exponential_", "geometric_", "log_normal_", "cauchy_",
      "multinomial", "poisson", "binomial", "dropout", "dropout_",
      "native_dropout", "feature_dropout", "alpha_dropout",
      "feature_alpha_dropout", "rrelu"};
  if (!is_contained(names, op))
    return false;
  const json::Object *train = findArgument(node, "train");
  return !train || train->getBoolean("as_bool").value_or(true);
}

/// True if torch views a tensor of these sizes and strides in other sizes
/// without a copy.
static bool canView(ArrayRef<int64_t> sizes, ArrayRef<int64_t> strides,
                    ArrayRef<int64_t> wanted) {
  if (is_contained(sizes, 0))
    return true;
  int64_t d = int64_t(wanted.size()) - 1;
  if (sizes.empty())
    return all_of(wanted, [](int64_t size) { return size == 1; });
  int64_t base = strides.back(), elements = 1, viewed = 1;
  for (int64_t s = int64_t(sizes.size()) - 1; s >= 0; --s) {
    elements *= sizes[s];
    bool ends = s == 0 || (sizes[s - 1] != 1 && strides[s - 1] != elements * base);
    if (!ends)
      continue;
    while (d >= 0 && (viewed < elements || wanted[d] == 1))
      viewed *= wanted[d--];
    if (viewed != elements)
      return false;
    if (s > 0) {
      base = strides[s - 1];
      elements = viewed = 1;
    }
  }
  return d == -1;
}

Expected<bool> RecordBuilder::isView(const Node &node, StringRef op,
                                     int64_t operand, StringRef result) const {
  if (alwaysViews(op))
    return true;
  if (!mayReshape(op) && !mayConvert(op))
    return false;
  Expected<Layout> to = readLayout(result);
  if (!to)
    return to.takeError();
  const Layout &from = layouts[operand];
  if (mayReshape(op))
    return canView(from.sizes, from.strides, to->sizes);
  const json::Object *copy = findArgument(node, "copy");
  return from.dtype == to->dtype && from.sizes == to->sizes &&
         from.strides == to->strides &&
         !(copy && copy->getBoolean("as_bool").value_or(false));
}

Error RecordBuilder::readOp(const Node &node, StringRef space, StringRef op,
                            StringRef overload) {
  if (drawsRandomNumbers(node, op))
    return makeError("draws random numbers; pass the random tensor as an argument, "
                     "or switch dropout off");
  json::Array args, kwargs, results, mutates;
  int64_t self = -1;
  if (const json::Array *inputs = node.getArray("inputs"))
    for (const json::Value &value : *inputs) {
      const json::Object *input = value.getAsObject();
      const json::Object *argument = input ? input->getObject("arg") : nullptr;
      if (!argument)
        return makeError("has a damaged argument");
      StringRef name = input->getString("name").value_or("");
      if (name == "pin_memory") // of host memory
        continue;
      Expected<json::Value> read = readArgument(*argument);
      if (!read)
        return prefixError("argument '" + name.str() + "'", read.takeError());
      const json::Object *object = read->getAsObject();
      auto tensor = object->getInteger("t");
      if (tensor && self == -1)
        self = *tensor;
      bool writes = name == "out" || (args.empty() && op.ends_with("_") &&
                                      !op.ends_with("__"));
      if (writes && tensor)
        mutates.push_back(*tensor);
      else if (writes && object->getArray("ts"))
        append_range(mutates, *object->getArray("ts"));
      if (input->getInteger("kind").value_or(1) == 2)
        kwargs.push_back(json::Array{name.str(), std::move(*read)});
      else
        args.push_back(std::move(*read));
    }
  for (const json::Value &id : mutates)
    if (isConstant[storageOf[*id.getAsInteger()]])
      return makeError("writes to a parameter, a buffer or a constant of the "
                       "module; pass it as an argument");

  auto define = [&](StringRef name, size_t index) -> Expected<int64_t> {
    if (index < mutates.size())
      return defineView(name, *mutates[index].getAsInteger());
    if (self == -1)
      return defineFresh(name);
    Expected<bool> view = isView(node, op, self, name);
    if (!view)
      return view.takeError();
    return *view ? defineView(name, self) : defineFresh(name);
  };
  auto nameOf = [](const json::Value &value) {
    const json::Object *tensor = value.getAsObject();
    return tensor ? tensor->getString("name").value_or("") : StringRef();
  };
  static const json::Array none;
  const json::Array *outputs = node.getArray("outputs");
  size_t index = 0;
  for (const json::Value &value : outputs ? *outputs : none) {
    const json::Object *output = value.getAsObject();
    const json::Value *one = output ? output->get("as_tensor") : nullptr;
    const json::Array *list = output ? output->getArray("as_tensors") : nullptr;
    if (one) {
      Expected<int64_t> id = define(nameOf(*one), index++);
      if (!id)
        return id.takeError();
      results.push_back(json::Object{{"t", *id}});
    } else if (list) {
      json::Array ids;
      for (const json::Value &element : *list) {
        Expected<int64_t> id = define(nameOf(element), index++);
        if (!id)
          return id.takeError();
        ids.push_back(*id);
      }
      results.push_back(json::Object{{"ts", std::move(ids)}});
    } else if (output && output->get("as_none")) {
      results.push_back(json::Object{{"n", nullptr}});
    } else {
      return makeError("gives ", printed(value), ", which is not supported");
    }
  }
  events.push_back(json::Object{{"kind", "op"},
                                {"op", (space + "::" + op).str()},
                                {"overload", overload == "default" ? "" : overload.str()},
                                {"site", addSite(node)},
                                {"args", std::move(args)},
                                {"kwargs", std::move(kwargs)},
                                {"results", std::move(results)},
                                {"mutates", std::move(mutates)},
                                {"rng", false}});
  return Error::success();
}

Error RecordBuilder::overwrite(StringRef target, StringRef source) {
  Expected<int64_t> to = getTensor(target);
  if (!to)
    return to.takeError();
  Expected<int64_t> from = getTensor(source);
  if (!from)
    return from.takeError();
  json::Value whole = json::Object{{"t", *to}};
  events.push_back(json::Object{
      {"kind", "op"}, {"op", "aten::copy_"}, {"overload", ""},
      {"site", addSite(Node())}, {"args", json::Array{whole, json::Object{{"t", *from}}}},
      {"kwargs", json::Array()}, {"results", json::Array{whole}},
      {"mutates", json::Array{*to}}, {"rng", false}});
  return Error::success();
}

/// torch.ops.<namespace>.<operator>.<overload>
Error RecordBuilder::readNode(const Node &node) {
  StringRef target = node.getString("target").value_or("");
  StringRef rest = target;
  auto [space, name] =
      rest.consume_front("torch.ops.") ? rest.split('.') : std::pair(StringRef(), rest);
  auto [op, overload] = name.split('.');
  if (space.empty() || space == "higher_order" || op.empty())
    return makeError("calls ", target, ", which is not supported");
  if (space == "aten" && op.starts_with("_assert_"))
    return Error::success();
  if (space != "_c10d_functional" && space != "_c10d_functional_autograd") {
    if (space == "c10d" || space == "_dtensor" || space == "symm_mem")
      return makeError("calls ", target,
                       ", which is not supported in a .pt2 file; make a bundle "
                       "with pkb-export");
    return readOp(node, space, op, overload);
  }
  return readCollective(node, op);
}

Error RecordBuilder::readNodes() {
  const json::Array *nodes = graph.getArray("nodes");
  if (!nodes)
    return makeError("has no nodes");
  for (const json::Value &value : *nodes) {
    const json::Object *node = value.getAsObject();
    if (!node)
      return makeError("has a damaged node");
    if (Error error = readNode(*node)) {
      const json::Object &site = *sites[addSite(*node)].getAsObject();
      return makeError(*site.getString("file"), ":", *site.getInteger("line"), ": ",
                       StringRef(node->getString("target").value_or("?")), ": ",
                       toString(std::move(error)));
    }
  }
  return Error::success();
}

json::Value RecordBuilder::takeJson(json::Value inputs, json::Value outputs) {
  return json::Object{{"storages", std::move(storages)},
                      {"tensors", std::move(tensors)},
                      {"literals", std::move(literals)},
                      {"events", std::move(events)},
                      {"sites", std::move(sites)},
                      {"inputs", std::move(inputs)},
                      {"outputs", std::move(outputs)}};
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

Error RecordBuilder::checkGroup(const Node &node) {
  const json::Object *group = findArgument(node, "group_name");
  StringRef name = group ? group->getString("as_string").value_or("") : "";
  if (name != "0")
    return makeError("group '", name, "' is not known: a .pt2 file does not say "
                     "which ranks it has; use the default group, or make a bundle "
                     "with pkb-export");
  const json::Object *size = findArgument(node, "group_size");
  int64_t number = size ? size->getInteger("as_int").value_or(0) : 0;
  if (number && groupSize && number != groupSize)
    return makeError("group '0' has ", number, " ranks here and ", groupSize,
                     " elsewhere");
  if (number)
    groupSize = number;
  return Error::success();
}

/// One collective: `target` is the tensor that it overwrites, or empty.
Error RecordBuilder::addCollective(json::Object event, int64_t input,
                                   StringRef result, StringRef target) {
  Expected<Layout> layout = readLayout(result);
  if (!layout)
    return layout.takeError();
  if (!layout->isContiguous())
    return makeError("must give a contiguous tensor, got: '", result, "'");
  int64_t output = addFresh(*layout, "op"), to = output;
  if (!target.empty()) {
    Expected<int64_t> given = getTensor(target);
    if (!given)
      return given.takeError();
    to = *given;
  }
  tensorOf[result] = to;
  event["inputs"] = json::Array{input};
  event["outputs"] = json::Array{output};
  event["writes"] =
      to == output ? json::Array() : json::Array{json::Array{output, to}};
  events.push_back(std::move(event));
  ++collectives;
  return Error::success();
}

Error RecordBuilder::readCollective(const Node &node, StringRef op) {
  // Names of operands and results, one each or lists of them.
  auto namesOf = [](const json::Object *argument) {
    SmallVector<StringRef> names;
    auto add = [&](const json::Object *tensor) {
      names.push_back(tensor ? tensor->getString("name").value_or("") : "");
    };
    if (const json::Array *list =
            argument ? argument->getArray("as_tensors") : nullptr)
      for (const json::Value &element : *list)
        add(element.getAsObject());
    else if (const json::Object *one =
                 argument ? argument->getObject("as_tensor") : nullptr)
      add(one);
    return names;
  };
  const json::Array *outputs = node.getArray("outputs");
  SmallVector<StringRef> results;
  if (outputs)
    for (const json::Value &output : *outputs)
      append_range(results, namesOf(output.getAsObject()));

  if (op == "wait_tensor" || op == "_wrap_tensor_autograd") {
    SmallVector<StringRef> waited = namesOf(findArgument(node, op == "wait_tensor" ? "tensor" : "input"));
    if (waited.size() != 1 || results.size() != 1)
      return makeError("must wait for one tensor");
    Expected<int64_t> id = getTensor(waited.front());
    if (!id)
      return id.takeError();
    tensorOf[results.front()] = *id;
    return Error::success();
  }
  StringRef base = op;
  bool coalesced = base.consume_back("_coalesced_") || base.consume_back("_coalesced");
  bool inPlace = op.ends_with("_");
  if (!coalesced)
    base.consume_back("_");
  bool toTarget = base.consume_back("_out");
  StringRef name = StringSwitch<StringRef>(base)
                       .Case("all_reduce", "all_reduce")
                       .Case("all_gather_into_tensor", "all_gather")
                       .Case("reduce_scatter_tensor", "reduce_scatter")
                       .Case("all_to_all_single", "all_to_all")
                       .Case("broadcast", "broadcast")
                       .Default("");
  if (name.empty())
    return makeError("is not a collective that is known");
  if (Error error = checkGroup(node))
    return error;
  SmallVector<StringRef> inputs =
      namesOf(findArgument(node, coalesced ? "inputs" : "input"));
  SmallVector<StringRef> targets =
      toTarget ? namesOf(findArgument(node, "out")) : SmallVector<StringRef>();
  if (inPlace)
    targets = inputs;
  if (inputs.empty() || inputs.size() != results.size() ||
      (!targets.empty() && targets.size() != results.size()))
    return makeError("must have as many results as inputs, got: ", results.size(),
                     " and ", inputs.size());

  json::Object event{{"kind", "collective"}, {"name", name}, {"group", 0},
                     {"site", addSite(node)}, {"async", false}, {"api", op.str()},
                     {"reduce", nullptr}, {"splits", nullptr}};
  if (const json::Object *reduce = findArgument(node, "reduce_op")) {
    StringRef kind = reduce->getString("as_string").value_or("");
    event["reduce"] = kind == "product" ? "prod" : kind.str();
  }
  if (const json::Object *source = findArgument(node, "src"))
    event["root"] = source->getInteger("as_int").value_or(-1);
  if (name == "all_to_all") {
    json::Object splits;
    for (auto [key, argument] : {std::pair("in", "input_split_sizes"),
                                 std::pair("out", "output_split_sizes")}) {
      const json::Object *given = findArgument(node, argument);
      Expected<json::Value> read = readArgument(given ? *given : json::Object());
      if (!read)
        return read.takeError();
      const json::Array *numbers = read->getAsObject()->getArray("is");
      if (numbers && !numbers->empty())
        splits[key] = json::Array(*numbers);
    }
    if (!splits.empty())
      event["splits"] = std::move(splits);
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    Expected<int64_t> input = getTensor(inputs[i]);
    if (!input)
      return input.takeError();
    if (Error error = addCollective(event, *input, results[i],
                                    targets.empty() ? StringRef() : targets[i]))
      return error;
  }
  return Error::success();
}
