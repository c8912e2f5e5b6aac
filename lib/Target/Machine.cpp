// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Machine.cpp - machine files --------------------------------------===//

#include "pkb/Target/Machine.h"

#include "pkb/Support/Json.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cmath>

using namespace llvm;
using namespace pkb;

namespace {

struct BuiltinMachine {
  const char *name;
  const char *text;
};

constexpr BuiltinMachine builtin[] = {
#include "lib/Target/Machines.inc"
};

} // namespace

static Error bad(const Twine &message) { return createStringError(message); }

std::vector<std::string> pkb::builtinMachines() {
  std::vector<std::string> names;
  for (const BuiltinMachine &machine : builtin)
    names.emplace_back(machine.name);
  return names;
}

/// A positive number of `object`, or an error that names it.
static Expected<double> positive(const json::Object &object, StringRef key, StringRef where) {
  std::optional<double> value = object.getNumber(key);
  if (!value || *value <= 0)
    return bad("machine file " + where + ": '" + key + "' must be a positive number");
  return *value;
}

static Error readRates(const json::Object &entry, StringRef where, MachineRates &rates) {
  struct Field {
    StringRef key;
    double &value;
  };
  for (Field field : {Field{"kernel_us", rates.kernelUs}, Field{"hop_us", rates.hopUs}, Field{"order_us", rates.orderUs},
                      Field{"ldst_peak_gbs", rates.ldstPeakGBs}, Field{"ldst_sm_gbs", rates.ldstSmGBs},
                      Field{"ll_peak_gbs", rates.llPeakGBs}, Field{"hbm_gbs", rates.hbmGBs},
                      Field{"exposed_memory", rates.exposedMemory},
                      Field{"exposed_memory_pipelined", rates.exposedMemoryPipelined}, Field{"copy_us", rates.copyUs},
                      Field{"copy_peak_gbs", rates.copyPeakGBs}}) {
    Expected<double> value = positive(entry, field.key, where);
    if (!value)
      return value.takeError();
    field.value = *value;
  }
  // "nccl": {"all_reduce": [[bytes, us], ...], ...}; absent where there is no library.
  const json::Object *nccl = entry.getObject("nccl");
  if (!nccl)
    return Error::success();
  for (const auto &collective : *nccl) {
    StringRef name(collective.first);
    const json::Array *points = collective.second.getAsArray();
    std::vector<MachineRates::Point> &list = rates.nccl[name.str()];
    for (const json::Value &item : points ? *points : json::Array()) {
      const json::Array *pair = item.getAsArray();
      std::optional<double> bytes = pair && pair->size() == 2 ? (*pair)[0].getAsNumber() : std::nullopt;
      std::optional<double> us = bytes ? (*pair)[1].getAsNumber() : std::nullopt;
      if (!us || *us <= 0 || *bytes <= (list.empty() ? 0 : list.back().bytes))
        return bad("machine file " + where + ": 'nccl' of '" + name + "' must be a list of [bytes, us], ascending and positive");
      list.push_back({*bytes, *us});
    }
    if (list.empty())
      return bad("machine file " + where + ": 'nccl' of '" + name + "' must be a list of [bytes, us], ascending and positive");
  }
  return Error::success();
}

double pkb::ncclTime(const MachineRates &rates, StringRef collective, double bytes) {
  auto found = rates.nccl.find(collective.str());
  if (found == rates.nccl.end())
    found = rates.nccl.find("all_gather");
  if (found == rates.nccl.end())
    return -1;
  const std::vector<MachineRates::Point> &points = found->second;
  if (bytes <= points.front().bytes)
    return points.front().us;
  if (bytes >= points.back().bytes)
    return points.back().us * bytes / points.back().bytes;
  size_t i = 1;
  while (points[i].bytes < bytes)
    ++i;
  const MachineRates::Point &low = points[i - 1], &high = points[i];
  double share = std::log(bytes / low.bytes) / std::log(high.bytes / low.bytes);
  return low.us * std::pow(high.us / low.us, share);
}

static Expected<Machine> parseMachine(StringRef text, StringRef where, int64_t ranks) {
  Expected<json::Value> value = parseJson(text);
  if (!value)
    return bad("machine file " + where + " is not JSON: " + toString(value.takeError()));
  const json::Object *object = value->getAsObject();
  if (!object || object->getString("schema").value_or("") != "pkb-machine")
    return bad("machine file " + where + ": 'schema' must be \"pkb-machine\"");
  const json::Array *version = object->getArray("version");
  if (!version || version->empty() || (*version)[0].getAsInteger().value_or(0) != 1)
    return bad("machine file " + where + ": 'version' must be [1, ...]");

  Machine machine;
  machine.ranks = ranks;
  machine.name = object->getString("machine").value_or("").str();
  machine.device = object->getString("device").value_or("").str();
  machine.multicast = object->getBoolean("multicast").value_or(false);
  machine.nvlink = object->getString("link").value_or("") == "nvlink";
  machine.copyEngines = object->getInteger("copy_engines").value_or(0);
  for (auto [key, field] : {std::pair<StringRef, int64_t *>("sms", &machine.sms), {"threads_per_sm", &machine.threadsPerSm}}) {
    Expected<double> number = positive(*object, key, where);
    if (!number)
      return number.takeError();
    *field = static_cast<int64_t>(*number);
  }
  const json::Object *worlds = object->getObject("worlds");
  if (!worlds || worlds->empty())
    return bad("machine file " + where + ": 'worlds' must have an entry per measured world size");
  // The nearest measured world size.
  const json::Object *nearest = nullptr;
  for (const auto &world : *worlds) {
    int64_t size = 0;
    const json::Object *entry = world.second.getAsObject();
    if (!entry || StringRef(world.first).getAsInteger(10, size) || size < 1)
      return bad("machine file " + where + ": 'worlds' has a malformed entry '" + StringRef(world.first) + "'");
    if (!nearest || std::abs(size - ranks) < std::abs(machine.measuredRanks - ranks)) {
      nearest = entry;
      machine.measuredRanks = size;
    }
  }
  if (Error error = readRates(*nearest, where, machine.rates))
    return std::move(error);
  return machine;
}

Expected<Machine> pkb::loadMachine(StringRef name, StringRef file) {
  auto [machine, number] = name.rsplit('x');
  int64_t ranks = 0;
  if (machine.empty() || number.getAsInteger(10, ranks) || ranks < 1)
    return bad("target must be <machine>x<ranks>, such as h200x4, got: '" + name + "'");
  if (!file.empty()) {
    auto buffer = MemoryBuffer::getFile(file);
    if (!buffer)
      return bad("cannot open machine file '" + file + "': " + buffer.getError().message());
    return parseMachine((*buffer)->getBuffer(), "'" + file.str() + "'", ranks);
  }
  for (const BuiltinMachine &known : builtin)
    if (machine == known.name)
      return parseMachine(known.text, machine, ranks);
  return bad("unknown machine '" + machine + "' in target '" + name + "'; known: " + join(builtinMachines(), ", ") +
             " (or give a machine file)");
}
