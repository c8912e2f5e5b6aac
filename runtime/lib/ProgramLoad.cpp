// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Artefact.h"
#include "AtenLibrary.h"
#include "CallGraph.h"
#include "Compile.h"
#include "DriverAbi.h"
#include "Error.h"
#include "Sha256.h"
#include "pkb_rt/layout.h"

#include <algorithm>
#include <cstring>

using namespace pkb_rt;

namespace {

TensorGuard guardOf(const Shape &shape) {
  TensorGuard guard;
  guard.dtype = shape.dtype;
  guard.ndim = int32_t(shape.sizes.size());
  guard.extentBytes = shape.extentBytes();
  guard.empty = guard.extentBytes == 0;
  guard.alignMask = uintptr_t(dtypeBytes(shape.dtype)) - 1;
  guard.sizes = shape.sizes.data();
  guard.strides = shape.strides.data();
  return guard;
}

} // namespace

pkb_program::pkb_program(pkb_context &context, const std::string &path, const std::string &cacheDir)
    : context(context) {
  try {
    // All that one rank can do alone comes first, so that a rank that cannot load it does not leave the others waiting.
    std::optional<std::string> error;
    pkb_status status = PKB_ERROR_PROGRAM;
    try {
      check(context.driver, context.driver->ctx_set_current(context.cuda), "making the device current");
      loadLocally(path, cacheDir);
    } catch (const Error &e) {
      error = e.what();
      status = e.status;
    }
    context.bootstrap->agree("load of a program", error, context.bootstrap->everyone(), status);
    agreeOnProgram();
    key = context.nameProgram(manifest.program, manifest.name);
    // Every rank walks the same list of groups, so their members meet in the same order.
    groupOfManifest.assign(manifest.groups.size(), -1);
    for (size_t group = 0; group < manifest.groups.size(); ++group) {
      for (const auto &row : manifest.groups[group].rows) {
        if (manifest.channelOn[group] && std::find(row.begin(), row.end(), context.rank) != row.end()) {
          groupOfManifest[group] = int32_t(groups.size());
          groups.push_back(&context.group(row));
        }
      }
    }
    openCommunicators();
    planSteps();
    context.nameSites(manifest.sites);
  } catch (...) {
    unload();
    throw;
  }
}

pkb_program::~pkb_program() { unload(); }

void pkb_program::loadLocally(const std::string &path, const std::string &cacheDir) {
  std::optional<Artefact> artefact;
  if (isArtefact(path)) {
    artefact.emplace(path);
  }
  std::string text = artefact ? artefact->text() : readFile(path);
  manifest = parseProgram(path, text, context.rank);
  if (manifest.worldSize != context.size) {
    fail(PKB_ERROR_PROGRAM, "'", path, "' was compiled for ", manifest.worldSize, " ranks, but there are ",
         context.size, "; start ", manifest.worldSize, " ranks, or export and compile it for ", context.size);
  }
  if (manifest.regionBytes > context.arenaBytes) {
    fail(PKB_ERROR_PROGRAM, "'", path, "' needs an arena of ", manifest.regionBytes, " bytes, this context has ",
         context.arenaBytes, "; set PKB_ARENA_MIB=", (manifest.regionBytes + (1 << 20) - 1) >> 20, " on all ranks");
  }
  bool writes = false;
  for (const Argument &argument : manifest.arguments) {
    inputGuards.push_back(guardOf(argument));
    if (argument.aliasOf < 0 && !inputGuards.back().empty) {
      argumentRanges.push_back({nullptr, argument.extentBytes(), int32_t(inputGuards.size()) - 1, argument.written});
    }
    writes |= argument.written;
  }
  if (!writes) {
    argumentRanges.clear();
  }
  for (const Output &output : manifest.outputs) {
    outputGuards.push_back(guardOf(output.shape));
  }
  if (!manifest.kernels.empty()) {
    loadModule(path, text, cacheDir, artefact ? &*artefact : nullptr);
  }
  if (!manifest.dataSha256.empty()) {
    if (artefact) { // its members have been hashed
      auto hash = artefact->hashes().find(kArtefactData);
      loadConstants(path + ": " + kArtefactData, artefact->data().value_or(std::string_view()), hash == artefact->hashes().end() ? "" : hash->second);
    } else {
      std::string data = readFile(path + ".data");
      loadConstants(path + ".data", data, sha256Hex(data));
    }
  }
  if (manifest.workspaceBytes > 0) {
    // One for the first stream, one spare for a first call under capture.
    for (int i = 0; i < 2; ++i) {
      pkb_cu_ptr workspace = 0;
      check(context.driver, context.driver->mem_alloc(&workspace, size_t(manifest.workspaceBytes)),
            "allocating the workspace");
      spareWorkspaces.push_back(workspace);
    }
  }
  if (manifest.needsAten()) {
    openAtenPlan();
  }
}

/// The driver's result of loading an image; what it said of the image goes into the notes.
pkb_cu_result pkb_program::loadImage(const Image &image) {
  for (const std::string &note : image.notes) {
    notes += (notes.empty() ? "" : "\n") + note;
  }
  const std::string &source = image.file.empty() ? image.bytes : image.file;
  return context.driver->module_load(&module, source.c_str(), source.size() + (image.file.empty() ? 0 : 1));
}

/// Loads the kernels that an artefact carries for this device. False, with a note, if there are none or the driver does not take them (a cubin of a
/// newer toolkit, say).
bool pkb_program::loadKernels(const Artefact &artefact, const std::string &path, const std::string &cacheDir, int capability) {
  bool emulated = context.driver->emulated;
  std::string architecture = emulated ? hostArchitecture() : architectureOf(capability);
  if (!emulated) {
    artefact.requireArchitecture(architecture, cat("device ", context.ordinal, " (", context.deviceName, ")"));
  }
  auto kernels = artefact.kernels(architecture);
  if (!kernels) {
    return false;
  }
  Image image;
  image.bytes = std::string(kernels->bytes);
  if (emulated) { // its loader opens files
    ImageRequest request;
    request.cacheDir = cacheDir;
    request.name = kernels->sha256 + ".so";
    request.asFile = true;
    request.timeout = context.timeout;
    image = cachedImage(request, [&](const std::string &file) { writeFile(file, image.bytes); });
  }
  pkb_cu_result result = loadImage(image);
  if (result != 0) {
    notes += cat(notes.empty() ? "" : "\n", "the driver does not take the ", architecture, " kernels of '", path, "' (", driverText(context.driver, result),
                 "); compiled from its text");
  }
  return result == 0;
}

void pkb_program::loadModule(const std::string &path, const std::string &text, const std::string &cacheDir, const Artefact *artefact) {
  const pkb_driver *driver = context.driver;
  CompileRequest request;
  request.path = path;
  request.text = text;
  request.cacheDir = cacheDir;
  request.timeout = context.timeout;
  request.emulated = driver->emulated != 0;
  if (!request.emulated) {
    int major = 0, minor = 0;
    check(driver, driver->device_attribute(&major, abi::kAttributeCapabilityMajor, context.device),
          "asking for the compute capability");
    check(driver, driver->device_attribute(&minor, abi::kAttributeCapabilityMinor, context.device),
          "asking for the compute capability");
    request.capability = 10 * major + minor;
    if (driver->driver_version) {
      driver->driver_version(&request.driverVersion);
    }
  }
  if (!artefact || !loadKernels(*artefact, path, cacheDir, request.capability)) {
    Image image = compileProgram(request);
    check(driver, loadImage(image), cat("loading the compiled '", path, "'").c_str());
  }
  functions.resize(manifest.kernels.size());
  for (size_t i = 0; i < manifest.kernels.size(); ++i) {
    const Kernel &kernel = manifest.kernels[i];
    check(driver, driver->module_function(&functions[i], module, kernel.name.c_str()),
          cat("finding kernel '", kernel.name, "' in '", path, "'").c_str());
  }
  for (const Step &step : manifest.steps) {
    if (step.kind == StepKind::Launch) {
      checkResidency(manifest.kernels[size_t(step.kernel)], functions[size_t(step.kernel)], step.grid);
    }
  }
}

/// Blocks wait for blocks of other ranks, so all of a grid must be resident at once.
void pkb_program::checkResidency(const Kernel &kernel, pkb_cu_function function, uint32_t grid) {
  int blocks = 0;
  check(context.driver, context.driver->function_occupancy(&blocks, function, int(kernel.block), 0),
        "asking for the occupancy");
  if (int64_t(blocks) * context.multiprocessors < int64_t(grid)) {
    fail(PKB_ERROR_PROGRAM, "kernel '", kernel.name, "' needs ", grid, " blocks of ", kernel.block,
         " threads at the same time, but device ", context.ordinal, " (", context.deviceName, ") holds ",
         int64_t(blocks) * context.multiprocessors, "; compile the program for this machine");
  }
}

void pkb_program::loadConstants(const std::string &path, std::string_view data, const std::string &digest) {
  if (digest != manifest.dataSha256) {
    fail(PKB_ERROR_PROGRAM, "'", path, "' does not belong to the program (its hash is ", digest.substr(0, 12), ", expected ",
         manifest.dataSha256.substr(0, 12), "); write both again with pkb-opt");
  }
  for (size_t i = 0; i < manifest.slots.size(); ++i) {
    const Slot &slot = manifest.slots[i];
    if (slot.kind == SlotKind::Constant && slot.offset + slot.shape.extentBytes() > int64_t(data.size())) {
      fail(PKB_ERROR_PROGRAM, "manifest: constant slot ", i, " ends behind '", path, "'");
    }
  }
  if (data.empty()) {
    return;
  }
  const pkb_driver *driver = context.driver;
  check(driver, driver->mem_alloc(&constants, data.size()), "allocating the constants");
  check(driver, driver->memcpy_async(constants, pkb_cu_ptr(uintptr_t(data.data())), data.size(), context.service),
        "copying the constants");
  check(driver, driver->stream_synchronize(context.service), "copying the constants");
}

void pkb_program::agreeOnProgram() {
  auto ids = context.bootstrap->allgather("comparison of program ids", manifest.program + manifest.name,
                                          context.bootstrap->everyone());
  std::map<std::string, std::string> ranksOf;
  for (int rank = 0; rank < context.size; ++rank) {
    std::string &list = ranksOf[ids[size_t(rank)]];
    list += (list.empty() ? "" : ", ") + std::to_string(rank);
  }
  if (ranksOf.size() > 1) {
    std::string text = "the ranks load different programs:";
    for (auto &[id, ranks] : ranksOf) {
      text += cat(" rank(s) ", ranks, " '", id.substr(64), "' ", id.substr(0, 12), ";");
    }
    fail(PKB_ERROR_BOOTSTRAP, text, " load the same file on all ranks");
  }
}

void pkb_program::planSteps() {
  uint32_t arguments = uint32_t(manifest.arguments.size()), outputs = uint32_t(manifest.outputs.size());
  workspaceSource = arguments + outputs;
  constantSource = workspaceSource + 1;
  nullSource = constantSource + 1;
  sources.assign(nullSource + 1, nullptr);
  sources[constantSource] = reinterpret_cast<char *>(constants);
  for (size_t i = 0; i < manifest.steps.size(); ++i) {
    const Step &step = manifest.steps[i];
    if (step.kind == StepKind::Launch) {
      if (groupOfManifest[size_t(step.group)] >= 0) {
        planLaunch(step, int32_t(i));
      }
    } else if (step.kind == StepKind::Library) {
      planLibrary(step, int32_t(i));
    } else if (step.kind == StepKind::Transfer) {
      planTransfer(step, int32_t(i));
    } else if (manifest.isByAten(step)) {
      hostReadStep = step.readsHost && hostReadStep < 0 ? int32_t(i) : hostReadStep;
      steps.push_back({StepKind::Aten, atenSteps++, int32_t(i)});
    } else {
      steps.push_back({StepKind::Copy, int32_t(copies.size()), int32_t(i)});
      copies.push_back({addressOf(step.from, 0), addressOf(step.to, 0), size_t(manifest.slots[size_t(step.from)].shape.extentBytes())});
    }
  }
  if (aten) {
    planAten();
    planGraph();
  }
}

/// Which memory operators are given before a call, and which addresses are asked for after which operator.
void pkb_program::planAten() {
  std::vector<bool> used(manifest.slots.size());
  auto madeBy = [&](const std::vector<int32_t> &slots) {
    std::vector<AtenSource> sources;
    for (int32_t slot : slots) {
      for (const AtenSource &source : atenSources) {
        if (source.slot == manifest.slots[size_t(slot)].root) {
          sources.push_back(source);
        }
      }
    }
    return sources;
  };
  for (const PlanStep &step : steps) {
    if (step.kind == StepKind::Aten) {
      const Step &source = manifest.steps[size_t(step.step)];
      std::vector<int32_t> slots =
          source.kind == StepKind::Copy ? std::vector<int32_t>{source.from, source.to} : source.uses;
      for (int32_t slot : slots) {
        used[size_t(slot)] = true;
      }
      atenMakes.push_back(madeBy(source.makes));
    }
  }
  for (size_t i = 0; i < used.size(); ++i) {
    if (used[i] && manifest.slots[size_t(manifest.slots[i].root)].kind != SlotKind::Aten) {
      atenBound.push_back({int32_t(i), addressOf(int32_t(i), 0)});
    }
  }
}

/// Source and offset of byte `offset` of a slot.
Address pkb_program::addressOf(int32_t slotId, int64_t offset) {
  const Slot &slot = manifest.slots[size_t(slotId)];
  const Slot &root = manifest.slots[size_t(slot.root)];
  offset += slot.rootOffset;
  switch (root.kind) {
  case SlotKind::Argument:
    return {uint32_t(root.index), offset};
  case SlotKind::Output: {
    // An output that is an argument, or another output, has its slot there.
    return {uint32_t(manifest.arguments.size()) + uint32_t(root.index), offset};
  }
  case SlotKind::Temporary:
    return {workspaceSource, root.offset + offset};
  case SlotKind::Constant:
    return {constantSource, root.offset + offset};
  case SlotKind::Aten:
  case SlotKind::View:
    break;
  }
  for (const AtenSource &known : atenSources) {
    if (known.slot == slot.root) {
      return {known.source, offset};
    }
  }
  uint32_t source = uint32_t(sources.size());
  sources.push_back(nullptr);
  atenSources.push_back({source, slot.root});
  return {source, offset};
}

void pkb_program::planLaunch(const Step &step, int32_t number) {
  const Kernel &kernel = manifest.kernels[size_t(step.kernel)];
  PlanLaunch launch;
  launch.function = functions[size_t(step.kernel)];
  launch.grid = step.grid;
  launch.block = kernel.block;
  launch.group = uint32_t(groupOfManifest[size_t(step.group)]);
  launch.ranks = uint32_t(kernel.ranks);
  launch.params = paramBytes;
  launch.paramBytes =
      uint32_t(sizeof(ArgsHeader) + 8 * size_t(kernel.ranks) + 8 * size_t(std::max(kernel.pointers, 1)));
  if (launch.paramBytes > 32764) { // what a launch can pass
    fail(PKB_ERROR_PROGRAM, "kernel '", kernel.name, "' takes ", kernel.pointers,
         " pointers, more than one launch can pass");
  }
  launch.firstPatch = uint32_t(patches.size());
  launch.step = number;
  size_t at = paramBytes + sizeof(ArgsHeader) + 8 * size_t(kernel.ranks);
  for (const Pointer &pointer : step.pointers) {
    patches.push_back({at, pointer.slot < 0 ? Address{nullSource, 0} : addressOf(pointer.slot, pointer.offset)});
    at += 8;
  }
  launch.lastPatch = uint32_t(patches.size());
  paramBytes += (launch.paramBytes + 15u) / 16 * 16;
  steps.push_back({StepKind::Launch, int32_t(launches.size()), number});
  launches.push_back(launch);
}

/// Hands the slots and the operator steps, in their order, to the C table.
void pkb_program::openAtenPlan() {
  aten = loadAten();
  std::vector<pkb_aten_slot> slots;
  for (const Slot &slot : manifest.slots) {
    pkb_aten_slot desc = {};
    desc.dtype = slot.shape.dtype;
    desc.ndim = int32_t(slot.shape.sizes.size());
    desc.sizes = slot.shape.sizes.data();
    desc.strides = slot.shape.strides.data();
    desc.root = slot.root;
    desc.offset = slot.rootOffset;
    desc.host = slot.host;
    bool own = manifest.slots[size_t(slot.root)].kind == SlotKind::Aten;
    desc.memory = !own ? PKB_ATEN_BOUND : slot.kind == SlotKind::View ? PKB_ATEN_VIEW : PKB_ATEN_OWN;
    slots.push_back(desc);
  }
  char error[2048] = {};
  if (aten->plan_create(slots.data(), int32_t(slots.size()), !context.driver->emulated, context.ordinal, &atenPlan,
                        error, sizeof(error)) != PKB_ATEN_DONE) {
    atenPlan = nullptr;
    fail(PKB_ERROR_ATEN, error);
  }
  for (size_t i = 0; i < manifest.steps.size(); ++i) {
    const Step &step = manifest.steps[i];
    if (!manifest.isByAten(step)) {
      continue;
    }
    std::string json = step.json;
    if (step.kind == StepKind::Copy) {
      json = cat("{\"kind\": \"copy\", \"from\": ", step.from, ", \"to\": ", step.to, "}");
    }
    if (aten->plan_add(atenPlan, json.c_str(), error, sizeof(error)) != PKB_ATEN_DONE) {
      fail(PKB_ERROR_ATEN, "step ", i, step.source.empty() ? "" : " (" + step.source + ")", ": ", error);
    }
  }
}

void pkb_program::unload() {
  const pkb_driver *driver = context.driver;
  if (!driver || !context.cuda) {
    return;
  }
  driver->ctx_set_current(context.cuda);
  if (!bindings.empty()) {
    context.drain();
  }
  for (auto &binding : bindings) {
    binding->graph.reset();
  }
  closeLibraries();
  if (aten) {
    for (pkb_aten_frame *kept : keptFrames) {
      aten->frame_destroy(kept);
    }
    if (frame) {
      aten->frame_destroy(frame);
    }
    if (atenPlan) {
      aten->plan_destroy(atenPlan);
    }
  }
  keptFrames.clear();
  frame = nullptr;
  atenPlan = nullptr;
  for (auto &binding : bindings) {
    if (binding->workspace) {
      driver->mem_free(binding->workspace);
    }
  }
  for (pkb_cu_ptr workspace : spareWorkspaces) {
    driver->mem_free(workspace);
  }
  spareWorkspaces.clear();
  bindings.clear();
  if (constants) {
    driver->mem_free(constants);
  }
  constants = 0;
  if (module) {
    driver->module_unload(module);
  }
  module = nullptr;
}
