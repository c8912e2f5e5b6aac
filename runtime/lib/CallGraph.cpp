// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "CallGraph.h"

#include "DriverAbi.h"
#include "Environment.h"
#include "Error.h"

#include <algorithm>
#include <cstring>
#include <utility>

using namespace pkb_rt;

CallGraph::~CallGraph() {
  const pkb_driver *driver = context.driver;
  if (capturing) { // given up half way
    char error[256];
    void *unused = nullptr;
    if (atenCapture) {
      aten->capture_end(atenPlan, atenCapture, captured, &unused, error, sizeof(error));
    } else {
      driver->capture_end(captured, &graph);
    }
  }
  if (atenCapture) {
    aten->capture_destroy(atenCapture);
  } else if (exec) {
    driver->graph_exec_destroy(exec);
  }
  if (graph) {
    driver->graph_destroy(graph);
  }
  if (frame) {
    aten->frame_destroy(frame);
  }
  for (pkb_cu_ptr buffer : buffers) {
    driver->mem_free(buffer);
  }
}

void CallGraph::begin() {
  const pkb_driver *driver = context.driver;
  capture = std::unique_lock<std::mutex>(context.captureMutex);
  if (!context.captureStream) {
    check(driver, driver->stream_create(&context.captureStream, abi::kStreamNonBlocking), "making a stream to capture");
  }
  captured = context.captureStream;
  for (const StagedTensor &tensor : plan.staged) {
    pkb_cu_ptr buffer = 0;
    check(driver, driver->mem_alloc(&buffer, tensor.bytes), "allocating a graph's copy of a tensor");
    buffers.push_back(buffer);
  }
  char error[2048] = {};
  if (aten->frame_create(atenPlan, &frame, error, sizeof(error)) != PKB_ATEN_DONE) {
    frame = nullptr;
    fail(PKB_ERROR_ATEN, error);
  }
  if (driver->emulated) {
    check(driver, driver->capture_begin(captured), "starting a capture");
  } else if (aten->capture_begin(atenPlan, captured, &atenCapture, error, sizeof(error)) != PKB_ATEN_DONE) {
    fail(PKB_ERROR_ATEN, error);
  }
  capturing = true;
}

pkb_cu_graph_node CallGraph::lastNode() {
  pkb_cu_graph_node node = nullptr;
  check(context.driver, context.driver->capture_last_node(captured, &node), "asking for a captured node");
  return node;
}

void CallGraph::addLaunch(const PlanLaunch &launch, const std::vector<unsigned char> &params,
                          const std::vector<PlanPatch> &patches) {
  LaunchNode made = {nullptr, launch.function, launch.grid, launch.block, {}, {}};
  for (uint32_t i = launch.firstPatch; i < launch.lastPatch; ++i) {
    if (plan.varies[patches[i].address.source]) {
      made.pointers.push_back({patches[i].at - launch.params, patches[i].address});
    }
  }
  if (made.pointers.empty()) {
    return;
  }
  made.node = lastNode();
  made.params.assign(params.begin() + ptrdiff_t(launch.params),
                     params.begin() + ptrdiff_t(launch.params + launch.paramBytes));
  launches.push_back(std::move(made));
}

void CallGraph::addCopy(const PlanCopy &copy, const std::vector<char *> &sources) {
  auto end = [&](const Address &address) {
    return End{sources[address.source] + address.offset, address, plan.varies[address.source]};
  };
  CopyNode made = {nullptr, end(copy.from), end(copy.to), copy.bytes};
  if (copy.bytes > 0 && (made.from.varies || made.to.varies)) {
    made.node = lastNode();
    copies.push_back(made);
  }
}

void CallGraph::stage(const std::vector<char *> &callers, bool in) {
  const pkb_driver *driver = context.driver;
  for (size_t i = 0; i < plan.staged.size(); ++i) {
    const StagedTensor &tensor = plan.staged[i];
    if (!(in ? tensor.in : tensor.out)) {
      continue;
    }
    End caller{callers[tensor.source], {tensor.source, 0}, true}, own{memory(i), {}, false};
    const End &from = in ? caller : own, &to = in ? own : caller;
    check(driver,
          driver->memcpy_async(pkb_cu_ptr(uintptr_t(to.now)), pkb_cu_ptr(uintptr_t(from.now)), tensor.bytes, captured),
          "capturing the copy of a tensor");
    copies.push_back({lastNode(), from, to, tensor.bytes});
  }
}

void CallGraph::end() {
  const pkb_driver *driver = context.driver;
  capturing = false;
  std::unique_lock<std::mutex> done = std::move(capture);
  if (!atenCapture) {
    check(driver, driver->capture_end(captured, &graph), "ending a capture");
    check(driver, driver->graph_instantiate(&exec, graph), "making a graph executable");
    return;
  }
  char error[2048] = {};
  void *made = nullptr;
  if (aten->capture_end(atenPlan, atenCapture, captured, &made, error, sizeof(error)) != PKB_ATEN_DONE) {
    fail(PKB_ERROR_ATEN, error);
  }
  exec = static_cast<pkb_cu_graph_exec>(made);
}

/// Takes the address of this call; true if it is another than before.
bool CallGraph::End::follow(const std::vector<char *> &sources) {
  char *next = varies ? sources[address.source] + address.offset : now;
  return std::exchange(now, next) != next;
}

pkb_cu_result CallGraph::launch(pkb_cu_stream stream, const std::vector<char *> &sources) {
  const pkb_driver *driver = context.driver;
  for (CopyNode &copy : copies) {
    bool moved = copy.from.follow(sources);
    moved |= copy.to.follow(sources);
    if (moved) {
      if (pkb_cu_result result = driver->graph_exec_set_copy(exec, copy.node, pkb_cu_ptr(uintptr_t(copy.to.now)),
                                                             pkb_cu_ptr(uintptr_t(copy.from.now)), copy.bytes)) {
        return result;
      }
    }
  }
  for (LaunchNode &launch : launches) {
    bool changed = false;
    for (const Pointer &pointer : launch.pointers) {
      char *now = sources[pointer.address.source] + pointer.address.offset;
      if (std::memcmp(launch.params.data() + pointer.at, &now, sizeof(now)) != 0) {
        std::memcpy(launch.params.data() + pointer.at, &now, sizeof(now));
        changed = true;
      }
    }
    if (changed) {
      if (pkb_cu_result result =
              driver->graph_exec_set_launch(exec, launch.node, launch.function, launch.grid, launch.block,
                                            launch.params.data(), launch.params.size())) {
        return result;
      }
    }
  }
  return driver->graph_launch(exec, stream);
}

StreamBinding::StreamBinding() = default;
StreamBinding::~StreamBinding() = default;

//===----------------------------------------------------------------------===//
// Of a program
//===----------------------------------------------------------------------===//

namespace {

constexpr int32_t kDirectCalls = 2;

/// PKB_CALL_GRAPHS: 1 on, 0 off; else on a GPU only, where a launch costs more than a replay.
bool wanted(const pkb_driver *driver) {
  std::string text = environmentText("PKB_CALL_GRAPHS");
  if (text.empty()) {
    return !driver->emulated;
  }
  if (text != "0" && text != "1") {
    fail(PKB_ERROR_ARGUMENT, "PKB_CALL_GRAPHS must be 0 or 1, got: '", text, "'");
  }
  return text == "1";
}

bool isDense(const Shape &shape) {
  int64_t elements = 1;
  for (int64_t size : shape.sizes) {
    elements *= size;
  }
  return elements * dtypeBytes(shape.dtype) == shape.extentBytes();
}

} // namespace

/// Decides at load whether calls can be graphs, and which tensors the graph must have a copy of.
void pkb_program::planGraph() {
  graphPlan = std::make_unique<CallGraphPlan>();
  CallGraphPlan &plan = *graphPlan;
  const uint32_t arguments = uint32_t(manifest.arguments.size()), tensors = workspaceSource;
  if (!wanted(context.driver)) {
    plan.why = "switched off";
    return;
  }
  std::vector<bool> seen(tensors), written(tensors);
  auto tensorOf = [&](int32_t slot) -> std::optional<uint32_t> {
    if (slot < 0) { // a pointer that is null on this rank
      return std::nullopt;
    }
    SlotKind kind = manifest.slots[size_t(manifest.slots[size_t(slot)].root)].kind;
    if (kind != SlotKind::Argument && kind != SlotKind::Output) {
      return std::nullopt;
    }
    return addressOf(slot, 0).source;
  };
  for (const PlanStep &planned : steps) {
    const Step &step = manifest.steps[size_t(planned.step)];
    auto mark = [&](int32_t slot, std::vector<bool> &set) {
      if (auto tensor = tensorOf(slot)) {
        set[*tensor] = true;
      }
    };
    std::vector<int32_t> operands = step.kind == StepKind::Copy ? std::vector<int32_t>{step.from, step.to} : step.uses;
    if (std::any_of(operands.begin(), operands.end(), [&](int32_t slot) { return manifest.slots[size_t(slot)].host; })) {
      plan.why = cat("step ", planned.step, " works in memory of the host, which a replay would not do");
      return;
    }
    if (step.kind == StepKind::Launch) { // any of its tensors may be written
      for (const Pointer &pointer : step.pointers) {
        mark(pointer.slot, written);
      }
    } else if (step.kind == StepKind::Copy) {
      mark(step.to, written);
      if (planned.kind == StepKind::Aten) {
        mark(step.from, seen);
        mark(step.to, seen);
      }
    } else if (step.kind == StepKind::Library || step.kind == StepKind::Transfer) { // addresses that nobody can patch
      for (const LibraryCall &call : step.calls) {
        mark(call.from.slot, seen);
        if (step.kind == StepKind::Library) {
          mark(call.to.slot, seen);
          mark(call.to.slot, written);
        }
      }
    } else {
      if (aten->step_is_random(atenPlan, planned.index)) {
        plan.why = cat("step ", planned.step, " draws random numbers");
        return;
      }
      for (int32_t slot : step.uses) {
        mark(slot, seen);
      }
      for (int32_t slot : step.mutates ? step.uses : step.makes) {
        mark(slot, written);
      }
    }
  }
  plan.varies.assign(sources.size(), false);
  for (uint32_t tensor = 0; tensor < tensors; ++tensor) {
    bool argument = tensor < arguments;
    const Shape &shape = argument ? manifest.arguments[tensor] : manifest.outputs[tensor - arguments].shape;
    if (!seen[tensor] || shape.extentBytes() == 0) {
      plan.varies[tensor] = true;
      continue;
    }
    if (written[tensor] && !isDense(shape)) {
      plan.why = cat(argument ? "argument " : "output ", argument ? tensor : tensor - arguments,
                     " may be written and is not dense");
      return;
    }
    plan.writesArguments |= argument && written[tensor];
    plan.staged.push_back({tensor, size_t(shape.extentBytes()), argument, !argument || written[tensor]});
  }
}

bool pkb_program::argumentsOverlap() const {
  for (size_t i = 0; i < inputGuards.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (sources[i] < sources[j] + inputGuards[j].extentBytes && sources[j] < sources[i] + inputGuards[i].extentBytes) {
        return true;
      }
    }
  }
  return false;
}

/// The graph to call with, made at the first call after a few direct ones; null where there is none.
CallGraph *pkb_program::graphOf(StreamBinding &binding) {
  if (graphPlan->writesArguments && argumentsOverlap()) {
    return nullptr;
  }
  if (binding.graph || binding.graphRefused || !graphPlan->why.empty()) {
    return binding.graph.get();
  }
  if (binding.directCalls++ < kDirectCalls) {
    return nullptr;
  }
  auto graph = std::make_unique<CallGraph>(context, *graphPlan, aten, atenPlan);
  pkb_status status = guarded([&] { captureGraph(binding, *graph); });
  if (status == PKB_OK) {
    binding.graph = std::move(graph);
  } else { // an operator that waits for the device, say: such calls stay direct
    binding.graphRefused = true;
    graphPlan->why = pkb_last_error();
  }
  return binding.graph.get();
}

void pkb_program::captureGraph(StreamBinding &binding, CallGraph &graph) {
  const std::vector<char *> callers = sources;
  pkb_aten_frame *direct = std::exchange(frame, nullptr);
  StreamBinding under;
  under.channels = binding.channels;
  under.workspace = binding.workspace;
  under.params = binding.params;
  struct Restore {
    pkb_program &program;
    const std::vector<char *> &callers;
    pkb_aten_frame *direct;
    ~Restore() {
      program.sources = callers;
      program.frame = direct;
    }
  } restore{*this, callers, direct};
  graph.begin();
  under.stream = graph.stream();
  frame = graph.frame;
  for (size_t i = 0; i < graphPlan->staged.size(); ++i) {
    sources[graphPlan->staged[i].source] = graph.memory(i);
  }
  for (const auto &[slot, address] : atenBound) {
    aten->frame_bind(frame, slot, sources[address.source] ? sources[address.source] + address.offset : nullptr);
  }
  graph.stage(callers, /*in=*/true);
  if (pkb_status status = runSteps(under, /*capturing=*/true, &graph)) {
    fail(status, pkb_last_error());
  }
  graph.stage(callers, /*in=*/false);
  graph.end();
}

pkb_status pkb_program::runGraph(StreamBinding &binding, CallGraph &graph) {
  pkb_cu_result result = graph.launch(binding.stream, sources);
  if (result != 0) {
    return setLastError(PKB_ERROR_DEVICE, cat("launch of the graph of '", manifest.name, "' failed: ",
                                              driverText(context.driver, result), " (", result, ")"));
  }
  for (const PlanLaunch &launch : launches) {
    binding.channels[launch.group]->issued.fetch_add(1, std::memory_order_relaxed);
  }
  return PKB_OK;
}
