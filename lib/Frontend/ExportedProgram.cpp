//===- ExportedProgram.cpp - programs saved by torch.export ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Frontend/ExportedProgram.h"
#include "lib/Frontend/Archive.h"
#include "lib/Frontend/ExportedRecord.h"
#include "lib/Frontend/Program.h"
#include "pkb/Support/Error.h"
#include "pkb/Support/Json.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SHA256.h"

using namespace llvm;
using namespace pkb;
using namespace pkb::frontend;

/// The version of torch.export's schema that this reader knows.
static constexpr int64_t kSchema = 8;

static std::string sha256(StringRef bytes) {
  return toHex(SHA256::hash(arrayRefFromStringRef(bytes)), /*LowerCase=*/true);
}

bool frontend::isExportedProgram(const StringMap<std::string> &members) {
  return any_of(members, [](const auto &member) {
    return member.getKey().ends_with("archive_format") ||
           member.getKey().ends_with("serialized_exported_program.json");
  });
}

//===----------------------------------------------------------------------===//
// Archive
//===----------------------------------------------------------------------===//

namespace {
/// Reads one archive: its signature, its constants, its trees.
class ProgramReader {
public:
  explicit ProgramReader(const StringMap<std::string> &members)
      : members(members) {}

  Expected<ExportedRecord> run();

private:
  Expected<json::Value> parse(StringRef name) const;
  Error findModel();
  Error readInputs(const json::Object &signature);
  Error readConstant(StringRef name, StringRef constant, StringRef folder,
                     StringRef config);
  Error readOutputs(const json::Object &signature);
  Expected<json::Value> leafOf(const json::Object &argument);
  Expected<json::Value> makeTree(const json::Value &spec,
                                 MutableArrayRef<json::Value> leaves,
                                 size_t &next);
  Expected<json::Value> parseSpec(StringRef key) const;

  const StringMap<std::string> &members;
  std::string folder; // of the archive
  json::Value root = nullptr;
  const json::Object *graphModule = nullptr;
  std::unique_ptr<RecordBuilder> record;
  json::Value inputs = nullptr, outputs = nullptr;
  StringMap<json::Value> configs;
};
} // namespace

Expected<json::Value> ProgramReader::parse(StringRef name) const {
  auto at = members.find(folder + name.str());
  if (at == members.end())
    return makeError("lacks the member '", folder + name.str(), "'");
  Expected<json::Value> value = parseJson(at->second);
  if (!value)
    return prefixError("member '" + folder + name.str() + "' is not JSON",
                       value.takeError());
  return value;
}

Error ProgramReader::findModel() {
  SmallVector<StringRef> models;
  for (const auto &member : members) {
    StringRef name = member.getKey();
    if (name.ends_with("serialized_exported_program.json"))
      return makeError("is an archive of an older torch; save the program with "
                       "torch 2.11");
    size_t at = name.find("models/");
    if (name.ends_with(".json") && at != StringRef::npos)
      models.push_back(name);
  }
  if (models.size() != 1)
    return makeError("must hold one program, got: ", models.size());
  folder = models.front().substr(0, models.front().find("models/")).str();
  auto order = members.find(folder + "byteorder");
  if (order != members.end() && StringRef(order->second).trim() != "little")
    return makeError("must be little-endian, got: ", order->second);
  Expected<json::Value> value = parse(models.front().substr(folder.size()));
  if (!value)
    return value.takeError();
  root = std::move(*value);
  const json::Object *object = root.getAsObject();
  const json::Object *version =
      object ? object->getObject("schema_version") : nullptr;
  int64_t major = version ? version->getInteger("major").value_or(-1) : -1;
  if (major != kSchema)
    return makeError("has version ", major, " of torch.export's schema, this "
                     "pkb-opt reads ", kSchema, "; save it with torch 2.11");
  graphModule = object->getObject("graph_module");
  const json::Object *graph =
      graphModule ? graphModule->getObject("graph") : nullptr;
  if (!graph || !graphModule->getObject("signature"))
    return makeError("has no graph or no signature");
  record = std::make_unique<RecordBuilder>(*graph);
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Signature
//===----------------------------------------------------------------------===//

/// The bytes of a parameter, buffer or constant: its whole storage.
Error ProgramReader::readConstant(StringRef name, StringRef constant,
                                  StringRef data, StringRef config) {
  if (!configs.contains(config)) {
    Expected<json::Value> value = parse(config);
    if (!value)
      return value.takeError();
    configs.try_emplace(config, std::move(*value));
  }
  const json::Object *all = configs.at(config).getAsObject();
  const json::Object *table = all ? all->getObject("config") : nullptr;
  const json::Object *entry = table ? table->getObject(constant) : nullptr;
  auto path = entry ? entry->getString("path_name") : std::nullopt;
  if (!path)
    return makeError("lacks the bytes of '", constant,
                     "'; save the program with its weights");
  if (entry->getBoolean("use_pickle").value_or(false))
    return makeError("constant '", constant,
                     "' is pickled, which cannot be read; make it a plain tensor "
                     "on the CPU");
  auto bytes = members.find(folder + data.str() + path->str());
  if (bytes == members.end())
    return makeError("lacks the member '", folder + data.str() + path->str(), "'");
  return record->addConstant(name, (data + *path).str(), sha256(bytes->second),
                             bytes->second);
}

/// A value of the signature as a leaf of our trees.
Expected<json::Value> ProgramReader::leafOf(const json::Object &argument) {
  if (const json::Object *tensor = argument.getObject("as_tensor")) {
    Expected<int64_t> id =
        record->getTensor(tensor->getString("name").value_or(""));
    if (!id)
      return id.takeError();
    return json::Object{{"kind", "tensor"}, {"id", *id}};
  }
  if (argument.get("as_none"))
    return json::Object{{"kind", "none"}};
  for (auto [key, kind] :
       {std::pair("as_int", "int"), std::pair("as_float", "float"),
        std::pair("as_bool", "bool"), std::pair("as_string", "str")})
    if (const json::Value *value = argument.get(key))
      return json::Object{{"kind", kind}, {"value", *value}};
  std::string text;
  raw_string_ostream(text) << json::Value(json::Object(argument));
  return makeError("argument or result ", text,
                   " is not supported; use tensors and plain numbers");
}

Expected<json::Value> ProgramReader::parseSpec(StringRef key) const {
  const json::Array *calls = graphModule->getArray("module_call_graph");
  const json::Object *call =
      calls && !calls->empty() ? calls->front().getAsObject() : nullptr;
  const json::Object *signature = call ? call->getObject("signature") : nullptr;
  auto text = signature ? signature->getString(key) : std::nullopt;
  if (!text)
    return makeError("has no '", key, "'");
  Expected<json::Value> value = parseJson(*text);
  if (!value)
    return value.takeError();
  const json::Array *pair = value->getAsArray();
  if (!pair || pair->size() != 2)
    return makeError("'", key, "' must be a version and a tree");
  return (*pair)[1];
}

/// The tree of a pytree specification with these leaves.
Expected<json::Value> ProgramReader::makeTree(const json::Value &spec,
                                              MutableArrayRef<json::Value> leaves,
                                              size_t &next) {
  const json::Object *node = spec.getAsObject();
  if (!node)
    return makeError("tree of arguments or results is damaged");
  auto type = node->getString("type");
  if (!type) {
    if (next == leaves.size())
      return makeError("has fewer arguments or results than its tree");
    return std::move(leaves[next++]);
  }
  json::Array items;
  if (const json::Array *children = node->getArray("children_spec"))
    for (const json::Value &child : *children) {
      Expected<json::Value> item = makeTree(child, leaves, next);
      if (!item)
        return item.takeError();
      items.push_back(std::move(*item));
    }
  if (*type == "builtins.tuple" || *type == "builtins.list")
    return json::Object{{"kind", *type == "builtins.tuple" ? "tuple" : "list"},
                        {"items", std::move(items)}};
  if (*type == "builtins.dict") {
    Expected<json::Value> keys =
        parseJson(node->getString("context").value_or("null"));
    if (!keys)
      return keys.takeError();
    if (keys->getAsArray())
      return json::Object{
          {"kind", "dict"}, {"keys", std::move(*keys)}, {"items", std::move(items)}};
  }
  return makeError("an argument or result of type ", *type,
                   " is not supported; use tuples, lists and dictionaries");
}

Error ProgramReader::readInputs(const json::Object &signature) {
  const json::Array *specs = signature.getArray("input_specs");
  if (!specs)
    return makeError("signature has no input_specs");
  std::vector<json::Value> leaves;
  auto nameOf = [](const json::Object &spec) {
    const json::Object *argument = spec.getObject("arg");
    return argument ? argument->getString("name").value_or("") : StringRef();
  };
  for (const json::Value &value : *specs) {
    const json::Object *spec = value.getAsObject();
    if (!spec)
      return makeError("signature has a damaged input");
    StringRef weights = "data/weights/", constants = "data/constants/";
    Error error = Error::success();
    if (const json::Object *user = spec->getObject("user_input")) {
      const json::Object *argument = user->getObject("arg");
      if (!argument)
        return joinErrors(std::move(error),
                          makeError("signature has an input without a name"));
      if (const json::Object *tensor = argument->getObject("as_tensor"))
        error = joinErrors(std::move(error),
                           record->addInput(tensor->getString("name").value_or("")));
      if (error)
        return error;
      Expected<json::Value> leaf = leafOf(*argument);
      if (!leaf)
        return leaf.takeError();
      leaves.push_back(std::move(*leaf));
    } else if (const json::Object *constant = spec->getObject("constant_input")) {
      const json::Object *argument = constant->getObject("value");
      Expected<json::Value> leaf = leafOf(argument ? *argument : json::Object());
      if (!leaf)
        return joinErrors(std::move(error), leaf.takeError());
      leaves.push_back(std::move(*leaf));
    } else if (const json::Object *parameter = spec->getObject("parameter")) {
      error = joinErrors(
          std::move(error),
          readConstant(nameOf(*parameter),
                       parameter->getString("parameter_name").value_or(""),
                       weights, "data/weights/model_weights_config.json"));
    } else if (const json::Object *buffer = spec->getObject("buffer")) {
      bool kept = buffer->getBoolean("persistent").value_or(true);
      error = joinErrors(
          std::move(error),
          readConstant(nameOf(*buffer), buffer->getString("buffer_name").value_or(""),
                       kept ? weights : constants,
                       kept ? "data/weights/model_weights_config.json"
                            : "data/constants/model_constants_config.json"));
    } else if (const json::Object *tensor = spec->getObject("tensor_constant")) {
      error = joinErrors(
          std::move(error),
          readConstant(nameOf(*tensor),
                       tensor->getString("tensor_constant_name").value_or(""),
                       constants, "data/constants/model_constants_config.json"));
    } else {
      return joinErrors(std::move(error),
                        makeError("takes an input of kind '",
                                  spec->empty() ? StringRef("none")
                                                : StringRef(spec->begin()->first),
                                  "', which is not supported"));
    }
    if (error)
      return error;
  }
  Expected<json::Value> spec = parseSpec("in_spec");
  if (!spec)
    return spec.takeError();
  size_t next = 0;
  Expected<json::Value> tree = makeTree(*spec, leaves, next);
  if (!tree)
    return tree.takeError();
  if (next != leaves.size())
    return makeError("has more arguments than its tree");
  // (positional arguments, {keyword: argument}): all become positional.
  json::Array *both = tree->getAsObject()->getArray("items");
  json::Object *positional = both && both->size() == 2
                                 ? (*both)[0].getAsObject()
                                 : nullptr;
  json::Object *keywords = positional ? (*both)[1].getAsObject() : nullptr;
  if (!keywords || !positional->getArray("items") || !keywords->getArray("items"))
    return makeError("'in_spec' must be a tuple and a dictionary");
  for (json::Value &item : *keywords->getArray("items"))
    positional->getArray("items")->push_back(std::move(item));
  inputs = std::move(*positional);
  return Error::success();
}

Error ProgramReader::readOutputs(const json::Object &signature) {
  const json::Array *specs = signature.getArray("output_specs");
  if (!specs)
    return makeError("signature has no output_specs");
  std::vector<json::Value> leaves;
  for (const json::Value &value : *specs) {
    const json::Object *spec = value.getAsObject();
    const json::Object *user = spec ? spec->getObject("user_output") : nullptr;
    const json::Object *mutation =
        spec ? spec->getObject("user_input_mutation") : nullptr;
    if (mutation) {
      const json::Object *from = mutation->getObject("arg");
      if (Error error = record->overwrite(
              mutation->getString("user_input_name").value_or(""),
              from ? from->getString("name").value_or("") : ""))
        return error;
      continue;
    }
    const json::Object *argument = user ? user->getObject("arg") : nullptr;
    if (!argument)
      return makeError("gives an output of kind '",
                       !spec || spec->empty() ? StringRef("none")
                                              : StringRef(spec->begin()->first),
                       "', which is not supported; return a tensor");
    Expected<json::Value> leaf = leafOf(*argument);
    if (!leaf)
      return leaf.takeError();
    leaves.push_back(std::move(*leaf));
  }
  Expected<json::Value> spec = parseSpec("out_spec");
  if (!spec)
    return spec.takeError();
  size_t next = 0;
  Expected<json::Value> tree = makeTree(*spec, leaves, next);
  if (!tree)
    return tree.takeError();
  outputs = std::move(*tree);
  return Error::success();
}

Expected<ExportedRecord> ProgramReader::run() {
  if (Error error = findModel())
    return std::move(error);
  const json::Object &signature = *graphModule->getObject("signature");
  if (Error error = readInputs(signature))
    return std::move(error);
  if (Error error = record->readNodes())
    return std::move(error);
  if (!record->hasCollectives())
    return makeError("has no collective: torch.export drops collectives that it "
                     "cannot trace; make a bundle with pkb-export");
  if (Error error = readOutputs(signature))
    return std::move(error);
  ExportedRecord result;
  result.torch = root.getAsObject()->getString("torch_version").value_or("").str();
  result.torch = StringRef(result.torch).split('+').first.str();
  result.groupSize = record->getGroupSize();
  result.members = record->takeMembers();
  result.json = record->takeJson(std::move(inputs), std::move(outputs));
  return std::move(result);
}

Expected<ExportedRecord>
frontend::readExportedProgram(const StringMap<std::string> &members) {
  return ProgramReader(members).run();
}

//===----------------------------------------------------------------------===//
// All ranks
//===----------------------------------------------------------------------===//

Expected<Bundle> frontend::bundleExportedPrograms(ArrayRef<StringRef> files,
                                                  int64_t worldSize) {
  Bundle bundle;
  std::string hashes;
  std::vector<ExportedRecord> records;
  for (auto [rank, file] : enumerate(files)) {
    hashes += sha256(file);
    std::string where = files.size() > 1 ? "rank " + std::to_string(rank) : "";
    Expected<StringMap<std::string>> members = readArchive(file);
    if (!members)
      return where.empty() ? members.takeError()
                           : prefixError(where, members.takeError());
    Expected<ExportedRecord> record = readExportedProgram(*members);
    if (!record)
      return where.empty() ? record.takeError()
                           : prefixError(where, record.takeError());
    records.push_back(std::move(*record));
  }
  bundle.worldSize = files.size() > 1 ? int64_t(files.size()) : worldSize;
  for (auto [rank, record] : enumerate(records)) {
    if (!bundle.worldSize)
      bundle.worldSize = record.groupSize;
    if (record.groupSize && record.groupSize != bundle.worldSize)
      return makeError("has collectives of ", record.groupSize,
                       " ranks on rank ", rank, ", but there are ",
                       bundle.worldSize);
  }
  if (!bundle.worldSize)
    return makeError("does not say for how many ranks it is; use --world-size");
  bundle.sha256 = files.size() > 1 ? sha256(hashes) : hashes;
  bundle.capture = bundle.sha256.substr(0, 32);
  bundle.torch = records.front().torch;
  bundle.function = "forward";
  bundle.groups[0] = to_vector(seq<int64_t>(0, bundle.worldSize));
  for (auto [rank, record] : enumerate(records)) {
    for (auto &member : record.members)
      bundle.members[member.getKey()] = std::move(member.second);
    Expected<RankProgram> program = readProgram(std::move(record.json), rank);
    if (!program)
      return program.takeError();
    bundle.ranks.emplace_back(std::move(*program));
  }
  bundle.ranks.resize(bundle.worldSize);
  return std::move(bundle);
}
