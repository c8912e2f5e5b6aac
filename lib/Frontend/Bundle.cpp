//===- Bundle.cpp - read and check a bundle -------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Frontend/Bundle.h"
#include "lib/Frontend/Archive.h"
#include "lib/Frontend/ExportedProgram.h"
#include "lib/Frontend/Program.h"
#include "pkb/Frontend/ImportBundle.h"
#include "pkb/Support/Error.h"
#include "pkb/Support/Json.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SHA256.h"

using namespace llvm;
using namespace pkb;
using namespace pkb::frontend;

/// The version of the schema that this reader knows.
static constexpr int64_t kMajor = 1, kMinor = 1;

bool pkb::looksLikeBundle(StringRef bytes) {
  return bytes.starts_with(StringRef("PK\3\4", 4)) ||
         bytes.starts_with(StringRef("PK\5\6", 4)); // a zip without members
}

std::string pkb::whyNoModule(StringRef bytes, StringRef path) {
  if (sys::path::extension(path) == ".py")
    return ("'" + path + "' is a Python file; export a function of it first: pkb-export " + path + ":FUNCTION --inputs " + path +
            ":INPUTS --world-size W -o X.pkb")
        .str();
  if (bytes.starts_with("/* pkb-manifest"))
    return ("'" + path + "' is an emitted program; run it with pkb-run, or give the bundle that it was made from").str();
  return "";
}

static std::string sha256(StringRef bytes) {
  std::array<uint8_t, 32> hash = SHA256::hash(arrayRefFromStringRef(bytes));
  return toHex(hash, /*LowerCase=*/true);
}

/// Parses a member that must be a JSON object of this schema and version.
static Expected<json::Value> parseMember(const Bundle &bundle, StringRef name,
                                         StringRef schema) {
  Expected<json::Value> value = parseJson(bundle.members.at(name));
  if (!value)
    return prefixError("member '" + name.str() + "' is not JSON",
                       value.takeError());
  const json::Object *object = value->getAsObject();
  auto found = object ? object->getString("schema") : std::nullopt;
  if (!found || *found != schema)
    return makeError("member '", name, "' must have the schema ", schema,
                     ", got: ", found ? *found : "none");
  const json::Array *version = object->getArray("version");
  auto part = [&](size_t i) {
    return version && version->size() == 2 ? (*version)[i].getAsInteger()
                                           : std::nullopt;
  };
  if (!part(0) || !part(1))
    return makeError("member '", name, "' has no schema version");
  if (*part(0) != kMajor || *part(1) > kMinor)
    return makeError("member '", name, "' has schema version ", *part(0), ".",
                     *part(1), ", this pkb-opt reads ", kMajor, ".", kMinor,
                     "; export with the pkb-export of the same release");
  return value;
}

/// Compares every member with the hash that bundle.json holds.
static Error checkFiles(const Bundle &bundle, const json::Object &root) {
  const json::Object *files = root.getObject("files");
  if (!files)
    return makeError("member 'bundle.json' lists no files");
  for (const auto &[key, value] : *files) {
    StringRef name = key;
    auto member = bundle.members.find(name);
    // A missing rank has a message of its own.
    if (member == bundle.members.end()) {
      if (name.starts_with("rank"))
        continue;
      return makeError("member '", name, "' is missing");
    }
    auto expected = value.getAsString();
    if (!expected || *expected != sha256(member->second))
      return makeError("member '", name,
                       "' is damaged: its sha256 is not the one in bundle.json");
  }
  return Error::success();
}

static Error readGroups(Bundle &bundle, const json::Object &root) {
  const json::Array *groups = root.getArray("groups");
  if (!groups)
    return makeError("member 'bundle.json' lists no groups");
  for (const json::Value &value : *groups) {
    const json::Object *group = value.getAsObject();
    auto id = group ? group->getInteger("id") : std::nullopt;
    const json::Array *ranks = group ? group->getArray("ranks") : nullptr;
    if (!id || !ranks)
      return makeError("group in bundle.json must have an id and ranks");
    SmallVector<int64_t> list;
    for (const json::Value &rank : *ranks) {
      auto number = rank.getAsInteger();
      if (!number || *number < 0 || *number >= bundle.worldSize ||
          is_contained(list, *number))
        return makeError("ranks of group ", *id, " must be different and below ",
                         bundle.worldSize);
      list.push_back(*number);
    }
    if (list.empty() || !isId(*id) || !bundle.groups.try_emplace(*id, list).second)
      return makeError("group ", *id, " must be there once, with its ranks");
  }
  return Error::success();
}

/// Symbols and guards are of a record that this reader cannot import.
static Error checkPlain(const json::Object &root) {
  for (StringRef key : {"symbols", "guards"})
    if (const json::Array *list = root.getArray(key))
      if (!list->empty()) {
        std::string first;
        raw_string_ostream(first) << list->front();
        return makeError("bundle has ", key, " (", first,
                         "), which are not supported; export without --dynamic");
      }
  return Error::success();
}

/// True if \p text is the text of rank 0 with another number: as it is when the
/// ranks run one program with one set of groups.
static bool isFirstRank(StringRef first, StringRef text, int64_t rank) {
  StringRef key = "\"rank\": ";
  size_t at = first.find(key);
  if (at == StringRef::npos || !first.substr(at + key.size()).starts_with("0,"))
    return false;
  at += key.size();
  StringRef tail = first.substr(at + 1);
  std::string number = std::to_string(rank);
  return text.size() == at + number.size() + tail.size() &&
         text.starts_with(first.substr(0, at)) &&
         text.substr(at).starts_with(number) && text.ends_with(tail);
}

static Error readRanks(Bundle &bundle) {
  for (int64_t rank = 0; rank < bundle.worldSize; ++rank) {
    std::string name = "rank" + std::to_string(rank) + ".json";
    if (!bundle.members.contains(name))
      return makeError("bundle lacks the program of rank ", rank, " of ",
                       bundle.worldSize, " (member '", name,
                       "'); export again");
    if (rank > 0 && isFirstRank(bundle.members.at("rank0.json"),
                                bundle.members.at(name), rank)) {
      bundle.ranks.emplace_back();
      continue;
    }
    Expected<json::Value> value = parseMember(bundle, name, "pkb-rank");
    if (!value)
      return value.takeError();
    const json::Object &root = *value->getAsObject();
    StringRef capture = root.getString("capture").value_or("");
    if (capture != bundle.capture)
      return makeError("member '", name, "' is of capture ", capture,
                       ", the bundle of ", bundle.capture,
                       ": it mixes two exports; export again");
    if (root.getInteger("rank").value_or(-1) != rank ||
        root.getInteger("world_size").value_or(-1) != bundle.worldSize)
      return makeError("member '", name, "' must be rank ", rank, " of ",
                       bundle.worldSize, ", got: rank ",
                       root.getInteger("rank").value_or(-1), " of ",
                       root.getInteger("world_size").value_or(-1));
    Expected<RankProgram> program = readProgram(std::move(*value), rank);
    if (!program)
      return prefixError("member '" + name + "'", program.takeError());
    bundle.ranks.emplace_back(std::move(*program));
  }
  return Error::success();
}

Expected<Bundle> frontend::readBundle(ArrayRef<StringRef> files,
                                      int64_t worldSize) {
  if (files.size() > 1)
    return bundleExportedPrograms(files, worldSize);
  StringRef bytes = files.front();
  Bundle bundle;
  Expected<StringMap<std::string>> members = readArchive(bytes);
  if (!members)
    return members.takeError();
  if (isExportedProgram(*members))
    return bundleExportedPrograms(files, worldSize);
  bundle.members = std::move(*members);
  if (!bundle.members.contains("bundle.json"))
    return makeError("has no member 'bundle.json', so it is no bundle; make one "
                     "with pkb-export");
  Expected<json::Value> value =
      parseMember(bundle, "bundle.json", "pkb-bundle");
  if (!value)
    return value.takeError();
  const json::Object &root = *value->getAsObject();
  if (Error error = checkFiles(bundle, root))
    return std::move(error);

  bundle.sha256 = sha256(bytes);
  bundle.worldSize = root.getInteger("world_size").value_or(0);
  bundle.capture = root.getString("capture").value_or("").str();
  bundle.torch = root.getString("torch").value_or("").str();
  if (const json::Object *function = root.getObject("function"))
    bundle.function = function->getString("qualname").value_or("").str();
  if (bundle.worldSize < 1 || bundle.capture.empty())
    return makeError("member 'bundle.json' must have a world size of at least 1 "
                     "and a capture id");
  if (worldSize && worldSize != bundle.worldSize)
    return makeError("is for ", bundle.worldSize, " ranks, got: --world-size ",
                     worldSize);
  if (Error error = checkPlain(root))
    return std::move(error);
  if (Error error = readGroups(bundle, root))
    return std::move(error);
  if (Error error = readRanks(bundle))
    return std::move(error);
  return bundle;
}
