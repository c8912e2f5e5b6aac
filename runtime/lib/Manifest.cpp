// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Manifest.h"

#include "Error.h"
#include "Sha256.h"
#include "pkb_rt/layout.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

namespace pkb_rt {
namespace {

using Json = nlohmann::json;

struct DtypeRow {
  const char *name;
  int64_t bytes;
};

constexpr DtypeRow kDtypes[PKB_DTYPE_COUNT] = {
    {"float64", 8},       {"float32", 4},     {"float16", 2},   {"bfloat16", 2},   {"int8", 1},
    {"int16", 2},         {"int32", 4},       {"int64", 8},     {"uint8", 1},      {"bool", 1},
    {"float8_e4m3fn", 1}, {"float8_e5m2", 1}, {"complex64", 8}, {"complex128", 16}};

/// Reads fields of one JSON object, with messages that say where it stands.
class Reader {
public:
  Reader(const Json &object, std::string where) : object(object), where(std::move(where)) {
    if (!object.is_object()) {
      bad("must be an object");
    }
  }

  template <typename... Parts>
  [[noreturn]] void bad(const Parts &...parts) const {
    fail(PKB_ERROR_PROGRAM, "manifest: ", where, " ", parts...);
  }
  bool has(const char *key) const { return object.contains(key) && !object[key].is_null(); }
  const Json &at(const char *key) const {
    if (!object.contains(key)) {
      bad("has no '", key, "'");
    }
    return object[key];
  }
  int64_t integer(const char *key, int64_t low, int64_t high) const { return integer(at(key), key, low, high); }
  int64_t integer(const Json &value, const char *key, int64_t low, int64_t high) const {
    if (value.is_object() && value.contains("expr")) {
      bad("'", key, "' is a symbol (", value.dump(), "), which this run time does not know; compile for fixed shapes");
    }
    if (!value.is_number_integer() || value.get<int64_t>() < low || value.get<int64_t>() > high) {
      bad("'", key, "' must be an integer from ", low, " to ", high, ", got: ", value.dump());
    }
    return value.get<int64_t>();
  }
  std::string string(const char *key) const {
    if (!at(key).is_string()) {
      bad("'", key, "' must be a string, got: ", at(key).dump());
    }
    return at(key).get<std::string>();
  }
  bool boolean(const char *key) const {
    if (!at(key).is_boolean()) {
      bad("'", key, "' must be true or false, got: ", at(key).dump());
    }
    return at(key).get<bool>();
  }
  const Json &array(const char *key) const {
    if (!at(key).is_array()) {
      bad("'", key, "' must be a list, got: ", at(key).dump());
    }
    return at(key);
  }
  std::vector<int64_t> integers(const char *key) const {
    std::vector<int64_t> result;
    for (const Json &item : array(key)) {
      result.push_back(integer(item, key, 0, int64_t(1) << 56));
    }
    return result;
  }
  const std::string &place() const { return where; }

private:
  const Json &object;
  std::string where;
};

int32_t readDtype(const Reader &reader) {
  std::string name = reader.string("dtype");
  auto *row =
      std::find_if(std::begin(kDtypes), std::end(kDtypes), [&](const DtypeRow &row) { return name == row.name; });
  if (row == std::end(kDtypes)) {
    reader.bad("has dtype '", name, "', which this run time does not know");
  }
  return int32_t(row - kDtypes);
}

Shape readShape(const Reader &reader) {
  Shape shape;
  shape.dtype = readDtype(reader);
  shape.sizes = reader.integers("sizes");
  shape.strides = reader.integers("strides");
  if (shape.sizes.size() != shape.strides.size() || shape.sizes.size() > PKB_MAX_DIMS) {
    reader.bad("has ", shape.sizes.size(), " sizes and ", shape.strides.size(),
               " strides; there must be as many of each, at most ", PKB_MAX_DIMS);
  }
  int64_t elements = 1, last = 0;
  for (size_t i = 0; i < shape.sizes.size(); ++i) {
    int64_t span = 0;
    if (__builtin_mul_overflow(elements, shape.sizes[i], &elements) ||
        __builtin_mul_overflow(shape.sizes[i], shape.strides[i], &span) || __builtin_add_overflow(last, span, &last) ||
        elements > int64_t(1) << 56 || last > int64_t(1) << 56) {
      reader.bad("is larger than any memory: sizes ", reader.at("sizes").dump(), ", strides ",
                 reader.at("strides").dump());
    }
  }
  return shape;
}

Argument readArgument(const Reader &reader, int64_t arguments) {
  Argument argument{readShape(reader)};
  argument.written = reader.has("written") && reader.boolean("written");
  if (reader.has("alias_of")) {
    argument.aliasOf = int32_t(reader.integer("alias_of", 0, arguments - 1));
    argument.aliasBytes = reader.integer("alias_bytes", 0, int64_t(1) << 56);
  }
  return argument;
}

void readSlots(Manifest &m, const Json &list) {
  m.slots.resize(list.size());
  std::vector<bool> seen(list.size());
  for (size_t i = 0; i < list.size(); ++i) {
    Reader reader(list[i], cat("slot ", i));
    size_t id = size_t(reader.integer("id", 0, int64_t(list.size()) - 1));
    if (seen[id]) {
      reader.bad("has id ", id, ", which another slot has too");
    }
    seen[id] = true;
    Slot &slot = m.slots[id];
    slot.shape = readShape(reader);
    std::string kind = reader.string("kind");
    if (kind == "argument") {
      slot.kind = SlotKind::Argument;
      slot.index = int32_t(reader.integer("index", 0, int64_t(m.arguments.size()) - 1));
    } else if (kind == "output") {
      slot.kind = SlotKind::Output;
      slot.index = int32_t(reader.integer("index", 0, int64_t(m.outputs.size()) - 1));
    } else if (kind == "view") {
      slot.kind = SlotKind::View;
      slot.of = int32_t(reader.integer("of", 0, int64_t(list.size()) - 1));
      slot.offset = reader.integer("offset", 0, int64_t(1) << 56) * dtypeBytes(slot.shape.dtype);
    } else if (kind == "temporary") {
      slot.kind = SlotKind::Temporary;
      slot.offset = reader.integer("workspace", 0, m.workspaceBytes);
      if (slot.offset + slot.shape.extentBytes() > m.workspaceBytes) {
        reader.bad("ends behind the workspace of ", m.workspaceBytes, " bytes");
      }
    } else if (kind == "aten") {
      slot.kind = SlotKind::Aten;
      slot.host = reader.has("device");
      if (slot.host && reader.string("device") != "cpu") {
        reader.bad("is on device '", reader.string("device"), "'; a slot that names one is on 'cpu'");
      }
    } else if (kind == "constant") {
      slot.kind = SlotKind::Constant;
      slot.offset = reader.integer("offset", 0, int64_t(1) << 56);
      if (m.dataSha256.empty()) {
        reader.bad("is a constant, but the manifest names no data file");
      }
    } else {
      reader.bad("has kind '", kind, "', which this run time does not know");
    }
  }
  for (size_t i = 0; i < m.slots.size(); ++i) {
    Slot &slot = m.slots[i];
    int32_t root = int32_t(i);
    int64_t offset = 0;
    for (size_t hops = 0; m.slots[root].kind == SlotKind::View; ++hops) {
      if (hops > m.slots.size()) {
        fail(PKB_ERROR_PROGRAM, "manifest: slot ", i, " is a view of itself");
      }
      offset += m.slots[root].offset;
      root = m.slots[root].of;
    }
    slot.root = root;
    slot.rootOffset = offset;
    slot.host = m.slots[root].host;
    // What an operator returns has the strides it likes; everything else must contain its views.
    if (m.slots[root].kind != SlotKind::Aten && slot.kind == SlotKind::View && slot.shape.extentBytes() > 0 &&
        offset + slot.shape.extentBytes() > m.slots[root].shape.extentBytes()) {
      fail(PKB_ERROR_PROGRAM, "manifest: slot ", i, " ends behind slot ", root, ", which it views");
    }
  }
}

void readOutputs(Manifest &m, const Json &list) {
  for (size_t i = 0; i < list.size(); ++i) {
    Reader reader(list[i], cat("output ", i));
    Output &output = m.outputs[i];
    output.slot = int32_t(reader.integer("slot", 0, int64_t(m.slots.size()) - 1));
    output.shape = readShape(reader);
    const Slot &slot = m.slots[output.slot];
    const Slot &root = m.slots[slot.root];
    if (root.kind == SlotKind::Argument) {
      output.aliasOf = root.index;
    } else if (root.kind == SlotKind::Output && (root.index != int32_t(i) || slot.kind == SlotKind::View)) {
      output.aliasOf = int32_t(m.arguments.size()) + root.index;
    } else if (root.kind != SlotKind::Output) {
      reader.bad("is in slot ", output.slot, ", whose memory is neither an argument's nor an output's");
    }
    output.aliasOffset = output.aliasOf >= 0 ? slot.rootOffset : 0;
    if (reader.has("alias_of") && reader.integer("alias_of", 0, int64_t(m.arguments.size()) - 1) != output.aliasOf) {
      reader.bad("says that it is argument ", reader.integer("alias_of", 0, 1 << 30), ", its slot does not");
    }
  }
  for (size_t i = 0; i < m.outputs.size(); ++i) {
    int32_t base = m.outputs[i].aliasOf - int32_t(m.arguments.size());
    if (base >= 0 && m.outputs[base].aliasOf >= 0) {
      fail(PKB_ERROR_PROGRAM, "manifest: output ", i, " shares the memory of output ", base,
           ", which has none of its own");
    }
  }
}

void readGroups(Manifest &m, const Json &list) {
  m.groups.resize(list.size());
  for (size_t i = 0; i < list.size(); ++i) {
    Reader reader(list[i], cat("group ", i));
    Group &group = m.groups[size_t(reader.integer("id", 0, int64_t(list.size()) - 1))];
    std::vector<bool> seen(size_t(m.worldSize));
    for (const Json &row : reader.array("partition")) {
      std::vector<int> ranks;
      if (!row.is_array() || row.empty()) {
        reader.bad("has a row that is not a list of ranks: ", row.dump());
      }
      for (const Json &item : row) {
        int rank = int(reader.integer(item, "partition", 0, m.worldSize - 1));
        if (seen[size_t(rank)]) {
          reader.bad("lists rank ", rank, " twice");
        }
        seen[size_t(rank)] = true;
        ranks.push_back(rank);
      }
      group.rows.push_back(ranks);
    }
  }
}

void readKernels(Manifest &m, const Json &list) {
  for (size_t i = 0; i < list.size(); ++i) {
    Reader reader(list[i], cat("kernel ", i));
    Kernel kernel;
    kernel.name = reader.string("name");
    kernel.block = uint32_t(reader.integer("block", 1, 1024));
    kernel.minBlocks = uint32_t(reader.has("min_blocks") ? reader.integer("min_blocks", 1, 64) : 1);
    auto grid = reader.integers("grid");
    if (grid.size() != 2 || grid[0] < 1 || grid[1] < grid[0] || grid[1] > PKB_MAX_BLOCKS) {
      reader.bad("'grid' must be [least, most] with at most ", PKB_MAX_BLOCKS,
                 " blocks, got: ", reader.at("grid").dump());
    }
    kernel.gridMin = uint32_t(grid[0]);
    kernel.gridMax = uint32_t(grid[1]);
    kernel.ranks = int32_t(reader.integer("ranks", 1, PKB_MAX_RANKS));
    kernel.pointers = int32_t(reader.integer("pointers", 0, 4096));
    m.kernels.push_back(kernel);
  }
}

void readLaunch(Manifest &m, const Reader &reader, Step &step) {
  std::string name = reader.string("kernel");
  auto found =
      std::find_if(m.kernels.begin(), m.kernels.end(), [&](const Kernel &kernel) { return kernel.name == name; });
  if (found == m.kernels.end()) {
    reader.bad("launches kernel '", name, "', which is not in the table of kernels");
  }
  step.kernel = int32_t(found - m.kernels.begin());
  step.group = int32_t(reader.integer("group", 0, int64_t(m.groups.size()) - 1));
  step.grid = uint32_t(reader.integer("grid", found->gridMin, found->gridMax));
  if (reader.has("block") && reader.integer("block", 1, 1024) != found->block) {
    reader.bad("launches '", name, "' with ", reader.at("block").dump(), " threads, it was compiled for ",
               found->block);
  }
  for (const auto &row : m.groups[size_t(step.group)].rows) {
    if (int32_t(row.size()) != found->ranks) {
      reader.bad("launches '", name, "', compiled for ", found->ranks, " ranks, on a group of ", row.size());
    }
  }
  for (const Json &item : reader.array("pointers")) {
    Reader pointer(item, reader.place() + " pointer");
    if (pointer.at("slot").is_null()) { // a tensor that does not exist on this rank
      step.pointers.push_back({-1, 0});
      continue;
    }
    step.pointers.push_back({int32_t(pointer.integer("slot", 0, int64_t(m.slots.size()) - 1)),
                             pointer.has("offset") ? pointer.integer("offset", 0, int64_t(1) << 56) : 0});
    if (m.slots[size_t(step.pointers.back().slot)].host) {
      pointer.bad("is slot ", step.pointers.back().slot, ", which is memory of the host; a kernel cannot read it");
    }
  }
  if (int32_t(step.pointers.size()) != found->pointers) {
    reader.bad("passes ", step.pointers.size(), " pointers to '", name, "', which takes ", found->pointers);
  }
}

/// Slots that arguments or results of an operator name, at any depth.
void collectSlots(const Reader &reader, const Json &json, size_t slots, std::vector<int32_t> &out) {
  if (json.is_object()) {
    for (auto &[key, value] : json.items()) {
      std::vector<Json> named;
      if (key == "t") {
        named = {value};
      } else if (key == "ts" && value.is_array()) {
        named.assign(value.begin(), value.end());
      } else {
        collectSlots(reader, value, slots, out);
      }
      for (const Json &slot : named) {
        if (!slot.is_null()) {
          out.push_back(int32_t(reader.integer(slot, "t", 0, int64_t(slots) - 1)));
        }
      }
    }
  } else if (json.is_array()) {
    for (const Json &item : json) {
      collectSlots(reader, item, slots, out);
    }
  }
}

/// The value of a word in a table of words, by its place.
template <typename Enum, size_t N>
Enum readWord(const Reader &reader, const char *key, const char *const (&words)[N]) {
  std::string text = reader.string(key);
  for (size_t i = 0; i < N; ++i) {
    if (text == words[i]) {
      return Enum(i);
    }
  }
  reader.bad("has ", key, " '", text, "', which this run time does not know");
}

constexpr const char *kFunctions[] = {"all_reduce", "reduce_scatter", "all_gather", "broadcast", "reduce", "message"};
constexpr const char *kReductions[] = {"none", "sum", "avg", "min", "max", "prod", "premul_sum"};

Pointer readPlace(const Manifest &m, const Reader &reader, const char *key) {
  Reader place(reader.at(key), reader.place() + " " + key);
  if (place.at("slot").is_null()) {
    return {-1, 0};
  }
  return {int32_t(place.integer("slot", 0, int64_t(m.slots.size()) - 1)), place.integer("offset", 0, int64_t(1) << 56)};
}

/// A `library` step, or with `transfer` one whose messages go to an offset in the staging memory of their destination.
void readCalls(Manifest &m, const Reader &reader, Step &step, bool transfer) {
  step.kind = transfer ? StepKind::Transfer : StepKind::Library;
  if (!transfer && reader.string("library") != "nccl") {
    reader.bad("calls library '", reader.string("library"), "', which this run time does not know");
  }
  step.group = int32_t(reader.integer("group", 0, int64_t(m.groups.size()) - 1));
  step.dtype = readDtype(reader);
  if (reader.has("reduce")) {
    step.reduce = readWord<LibraryReduce>(reader, "reduce", kReductions);
  }
  const auto &rows = m.groups[size_t(step.group)].rows;
  int64_t ranks = int64_t(rows.front().size()), bytes = dtypeBytes(step.dtype);
  for (const auto &row : rows) {
    if (int64_t(row.size()) != ranks) {
      reader.bad("is for a group whose rows have ", ranks, " and ", row.size(), " ranks");
    }
  }
  if (step.reduce == LibraryReduce::PremulSum) {
    for (const Json &item : reader.array("factors")) {
      if (!item.is_number()) {
        reader.bad("'factors' must be numbers, got: ", item.dump());
      }
      step.factors.push_back(item.get<double>());
    }
    if (step.factors.size() != rows.size() * size_t(ranks)) {
      reader.bad("must have ", rows.size() * size_t(ranks), " factors, got: ", step.factors.size());
    }
  }
  for (const Json &item : reader.array("calls")) {
    Reader entry(item, reader.place() + " call");
    LibraryCall call;
    call.function = readWord<LibraryFunction>(entry, "function", kFunctions);
    call.count = entry.integer("count", 0, (int64_t(1) << 56) / bytes);
    bool message = call.function == LibraryFunction::Message;
    if (transfer && !message) {
      entry.bad("must be a message, got: ", entry.at("function").dump());
    }
    bool reduces = call.function == LibraryFunction::AllReduce || call.function == LibraryFunction::ReduceScatter ||
                   call.function == LibraryFunction::Reduce;
    if (reduces && step.reduce == LibraryReduce::None) {
      entry.bad("reduces, and its step names no reduction");
    }
    if (call.function == LibraryFunction::Broadcast || call.function == LibraryFunction::Reduce) {
      call.root = int32_t(entry.integer("root", 0, ranks - 1));
    }
    if (message) {
      call.source = int32_t(entry.integer("source", 0, ranks - 1));
      call.dest = int32_t(entry.integer("dest", 0, ranks - 1));
    }
    if (entry.has("row")) {
      call.row = int32_t(entry.integer("row", 0, int64_t(rows.size()) - 1));
    }
    call.from = readPlace(m, entry, "from");
    if (!transfer) {
      call.to = readPlace(m, entry, "to");
    } else {
      call.to.offset = entry.integer("to", 0, int64_t(1) << 46);
      if (pkb_stage_offset(int(ranks)) + call.to.offset + call.count * bytes > m.regionBytes) {
        entry.bad("ends behind the ", m.regionBytes, " bytes of the region");
      }
    }
    step.calls.push_back(call);
  }
}

/// A number of the device that operators after the step take as an argument: its slot is in memory of the host.
void readHostRead(const Manifest &m, const Reader &reader, Step &step) {
  step.kind = StepKind::Aten;
  step.readsHost = true;
  step.from = int32_t(reader.integer("from", 0, int64_t(m.slots.size()) - 1));
  step.to = int32_t(reader.integer("to", 0, int64_t(m.slots.size()) - 1));
  step.uses = {step.from, step.to};
  const Slot &from = m.slots[size_t(step.from)], &to = m.slots[size_t(step.to)];
  if (to.kind != SlotKind::Aten || !to.host || !to.shape.sizes.empty()) {
    reader.bad("reads into slot ", step.to, ", which is not one number in memory of the host");
  }
  if (from.shape.dtype != to.shape.dtype || from.shape.extentBytes() != to.shape.extentBytes()) {
    reader.bad("reads slot ", step.from, ", which is not one number of the dtype of slot ", step.to);
  }
}

void readSteps(Manifest &m, const Json &list) {
  for (size_t i = 0; i < list.size(); ++i) {
    Reader reader(list[i], cat("step ", i));
    Step step;
    std::string kind = reader.string("kind");
    step.source = reader.has("source") ? reader.string("source") : "";
    if (kind == "launch") {
      readLaunch(m, reader, step);
    } else if (kind == "aten") {
      step.kind = StepKind::Aten;
      step.json = list[i].dump();
      collectSlots(reader, reader.array("results"), m.slots.size(), step.makes);
      step.uses = step.makes;
      step.mutates = reader.has("mutates") && !reader.array("mutates").empty();
      collectSlots(reader, reader.array("args"), m.slots.size(), step.uses);
      if (reader.has("kwargs")) {
        collectSlots(reader, reader.array("kwargs"), m.slots.size(), step.uses);
      }
    } else if (kind == "host_read") {
      readHostRead(m, reader, step);
      step.json = list[i].dump();
    } else if (kind == "copy") {
      step.kind = StepKind::Copy;
      step.from = int32_t(reader.integer("from", 0, int64_t(m.slots.size()) - 1));
      step.to = int32_t(reader.integer("to", 0, int64_t(m.slots.size()) - 1));
      const Shape &from = m.slots[size_t(step.from)].shape, &to = m.slots[size_t(step.to)].shape;
      if (from.sizes != to.sizes) {
        reader.bad("copies slot ", step.from, " into slot ", step.to, ", whose sizes differ");
      }
    } else if (kind == "library" || kind == "transfer") {
      readCalls(m, reader, step, kind == "transfer");
    } else {
      reader.bad("has kind '", kind, "', which this run time does not know");
    }
    m.steps.push_back(std::move(step));
  }
}

/// Whether the ranks of a group take part in a step together.
bool isCommon(const Json &step) {
  return step.is_object() && (step.value("kind", Json()) == "launch" || step.value("kind", Json()) == "library" ||
                              step.value("kind", Json()) == "transfer");
}

/// What a program does on a group, in order: kernels and library calls.
std::string stepsOn(const Json &program, size_t group) {
  std::string names;
  for (const Json &step : Reader(program, "program").array("steps")) {
    if (isCommon(step) && step.value("group", Json()) == group) {
      names += (names.empty() ? "" : ", ") + step.value("kernel", step.value("library", Json("transfer"))).dump();
    }
  }
  return names;
}

/// The own entry of "programs", after a look at what concerns all ranks: each has one program, and the ranks of a group
/// launch the same kernels on it, or they would wait for each other for ever.
const Json &ownProgram(const Reader &top, int rank, int32_t worldSize, const std::vector<Group> &groups) {
  std::vector<const Json *> programOf(size_t(worldSize), nullptr);
  for (const Json &item : top.array("programs")) {
    Reader program(item, cat("program ", &item - &top.array("programs")[0]));
    for (int64_t member : program.integers("ranks")) {
      if (member >= worldSize || programOf[size_t(member)]) {
        program.bad("is for rank ", member, ", which ",
                    member >= worldSize ? cat("is not one of ", worldSize) : "another program is for too");
      }
      programOf[size_t(member)] = &item;
    }
  }
  for (int32_t member = 0; member < worldSize; ++member) {
    if (!programOf[size_t(member)]) {
      top.bad("has no program for rank ", member);
    }
  }
  for (size_t group = 0; group < groups.size(); ++group) {
    for (const std::vector<int> &row : groups[group].rows) {
      std::string first = stepsOn(*programOf[size_t(row.front())], group);
      for (int member : row) {
        std::string theirs = stepsOn(*programOf[size_t(member)], group);
        if (theirs != first) {
          top.bad("has programs that do not go together: on group ", group, " rank ", row.front(), " runs [", first,
                  "], rank ", member, " [", theirs, "]");
        }
      }
    }
  }
  if (rank < 0 || rank >= worldSize) {
    top.bad("has no program for rank ", rank);
  }
  return *programOf[size_t(rank)];
}

void readUsedGroups(Manifest &m, const Json &steps) {
  for (const Json &step : steps) {
    if (isCommon(step)) {
      size_t group = size_t(Reader(step, "step").integer("group", 0, int64_t(m.groups.size()) - 1));
      m.meets = true;
      m.channelOn[group] = m.channelOn[group] || step["kind"] != "library";
    }
  }
}

std::string manifestText(const std::string &path, const std::string &text) {
  static const std::string open = "/* pkb-manifest";
  size_t begin = text.find(open);
  size_t brace = begin == std::string::npos ? begin : text.find('{', begin);
  if (brace == std::string::npos || text.find_first_not_of(" \t\r\n") != begin) {
    fail(PKB_ERROR_PROGRAM, "'", path,
         "' does not begin with a manifest comment; it must be a .cu file that pkb-opt wrote");
  }
  size_t end = text.find("*/", brace);
  if (end == std::string::npos) {
    fail(PKB_ERROR_PROGRAM, "'", path, "' is cut off inside its manifest; write it again with pkb-opt");
  }
  return text.substr(brace, end - brace);
}

} // namespace

int64_t dtypeBytes(int32_t dtype) { return kDtypes[dtype].bytes; }
const char *dtypeName(int32_t dtype) { return dtype >= 0 && dtype < PKB_DTYPE_COUNT ? kDtypes[dtype].name : "unknown"; }

int64_t Shape::elements() const {
  int64_t n = 1;
  for (int64_t size : sizes) {
    n *= size;
  }
  return n;
}

int64_t Shape::extentBytes() const {
  int64_t last = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 0) {
      return 0;
    }
    last += (sizes[i] - 1) * strides[i];
  }
  return (last + 1) * dtypeBytes(dtype);
}

bool Shape::contiguous() const {
  int64_t expected = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    if (sizes[i] == 0) {
      return true;
    }
    if (sizes[i] != 1 && strides[i] != expected) {
      return false;
    }
    expected *= sizes[i];
  }
  return true;
}

bool Manifest::isByAten(const Step &step) const {
  if (step.kind == StepKind::Copy) {
    const Slot &from = slots[size_t(step.from)], &to = slots[size_t(step.to)];
    return from.shape.dtype != to.shape.dtype || !from.shape.contiguous() || !to.shape.contiguous() || from.host || to.host;
  }
  return step.kind == StepKind::Aten;
}

bool Manifest::needsAten() const {
  return std::any_of(steps.begin(), steps.end(), [&](const Step &step) { return isByAten(step); });
}

std::string programId(const std::string &text, const std::string &recorded) {
  std::string zeroed = text;
  size_t at = recorded.empty() ? std::string::npos : zeroed.find(recorded);
  if (at != std::string::npos) {
    std::fill_n(zeroed.begin() + std::ptrdiff_t(at), recorded.size(), '0');
  }
  return sha256Hex(zeroed);
}

Manifest parseProgram(const std::string &path, const std::string &text, int rank) {
  Manifest m;
  m.text = manifestText(path, text);
  Json json;
  try {
    json = Json::parse(m.text);
  } catch (const Json::exception &error) {
    fail(PKB_ERROR_PROGRAM, "the manifest of '", path, "' is damaged: ", error.what());
  }
  Reader top(json, cat("of '", path, "'"));
  if (top.string("schema") != "pkb-manifest") {
    top.bad("has schema '", top.string("schema"), "', expected 'pkb-manifest'");
  }
  auto version = top.integers("version");
  if (version.size() != 2 || version[0] != PKB_MANIFEST_MAJOR || version[1] > PKB_MANIFEST_MINOR) {
    top.bad("has version ", top.at("version").dump(), ", this run time reads ", PKB_MANIFEST_MAJOR, ".0 to ",
            PKB_MANIFEST_MAJOR, ".", PKB_MANIFEST_MINOR, "; compile the program again or use a newer run time");
  }
  m.name = top.has("name") ? top.string("name") : "program";
  m.worldSize = int32_t(top.integer("world_size", 1, PKB_MAX_RANKS));
  std::string recorded = top.has("program") ? top.string("program") : "";
  m.program = programId(text, recorded);
  if (!recorded.empty() && recorded != m.program) {
    fail(PKB_ERROR_PROGRAM, "'", path, "' was changed after it was emitted (its text has id ", m.program.substr(0, 12),
         ", its manifest says ", recorded.substr(0, 12), "); write it again with pkb-opt");
  }
  if (top.has("data")) {
    const Json &data = top.at("data");
    m.dataSha256 = data.is_object() ? Reader(data, "data").string("sha256") : top.string("data");
  }
  readGroups(m, top.array("groups"));
  m.channelOn.resize(m.groups.size());
  if (top.has("programs")) {
    Json own = ownProgram(top, rank, m.worldSize, m.groups);
    for (const Json &program : top.array("programs")) {
      readUsedGroups(m, Reader(program, "program").array("steps"));
    }
    json.erase("programs");
    json.update(own);
    m.text = json.dump(1);
  } else {
    readUsedGroups(m, top.array("steps"));
  }
  m.regionBytes = top.has("region_bytes") ? top.integer("region_bytes", 0, int64_t(1) << 46) : 0;
  m.workspaceBytes = top.has("workspace_bytes") ? top.integer("workspace_bytes", 0, int64_t(1) << 46) : 0;
  if (top.has("guards") && !top.array("guards").empty()) {
    top.bad("has guards that this run time does not know: ", top.array("guards").dump());
  }
  for (const Json &item : top.array("arguments")) {
    m.arguments.push_back(readArgument(Reader(item, cat("argument ", m.arguments.size())), int64_t(top.array("arguments").size())));
  }
  for (const Argument &argument : m.arguments) {
    if (argument.aliasOf >= 0 && m.arguments[size_t(argument.aliasOf)].aliasOf >= 0) {
      fail(PKB_ERROR_PROGRAM, "manifest: argument ", &argument - m.arguments.data(), " must lie in one with memory of its own, got: argument ", argument.aliasOf);
    }
  }
  m.outputs.resize(top.array("outputs").size());
  readSlots(m, top.array("slots"));
  for (size_t i = 0; i < m.slots.size(); ++i) {
    const Slot &slot = m.slots[i];
    if (slot.kind == SlotKind::Argument && slot.shape.extentBytes() > m.arguments[size_t(slot.index)].extentBytes()) {
      fail(PKB_ERROR_PROGRAM, "manifest: slot ", i, " is longer than argument ", slot.index);
    }
  }
  readOutputs(m, top.array("outputs"));
  readKernels(m, top.array("kernels"));
  readSteps(m, top.array("steps"));
  if (top.has("sites")) {
    for (const Json &item : top.array("sites")) {
      Reader site(item, "site");
      m.sites[uint64_t(site.integer("id", 0, int64_t(1) << 32))] =
          cat("kernel ", site.string("kernel"), site.has("primitive") ? ", " + site.string("primitive") : "",
              site.has("source") ? " of " + site.string("source") : "");
    }
  }
  return m;
}

} // namespace pkb_rt
