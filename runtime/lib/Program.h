// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A loaded program: its manifest turned into a flat plan whose kernel arguments are built once and only patched per
// call.
#ifndef PKB_RUNTIME_LIB_PROGRAM_H
#define PKB_RUNTIME_LIB_PROGRAM_H

#include "Context.h"
#include "Manifest.h"
#include "Nccl.h"
#include "pkb_rt/aten.h"

#include <memory>
#include <vector>

namespace pkb_rt {

/// First 64 bytes of a kernel's parameter (docs/Rationale/Runtime.md, struct Header of the device header).
struct ArgsHeader {
  uint32_t rank, size;
  uint64_t abort;
  uint64_t report;
  uint64_t spinLimit;
  int64_t stageBytes;
  uint64_t reserved[3];
};
static_assert(sizeof(ArgsHeader) == 64, "the header of kernel arguments is 64 bytes");

/// Where a pointer comes from: entry `source` of the call's table of base addresses, plus `offset` bytes.
struct Address {
  uint32_t source = 0;
  int64_t offset = 0;
};

struct PlanLaunch {
  pkb_cu_function function = nullptr;
  uint32_t grid = 0, block = 0;
  uint32_t group = 0; // index into Program::groups
  uint32_t ranks = 0;
  size_t params = 0; // offset of the parameter block in StreamBinding::params
  uint32_t paramBytes = 0;
  uint32_t firstPatch = 0, lastPatch = 0;
  int32_t step = 0; // of the manifest, for messages
};

struct PlanPatch {
  size_t at = 0; // offset in StreamBinding::params
  Address address;
};

struct PlanCopy {
  Address from, to;
  size_t bytes = 0;
};

/// One call of NCCL by this rank, or a message to itself.
struct PlanLibraryCall {
  LibraryFunction function;
  bool sends = false, receives = false; // Message
  Address from, to;
  size_t count = 0; // elements of `type`; bytes of a message
  int peer = 0;     // or root
};

struct PlanLibrary {
  std::string what; // for messages: the step and where it comes from
  Communicator *communicator = nullptr;
  std::vector<PlanLibraryCall> calls;
  int type = 0, op = 0; // of reductions
  bool ownOp = false;   // made for this step
};

/// Copies from tensors into the staging memory of peers, by the copy engines.
struct PlanTransfer {
  uint32_t group = 0; // index into Program::groups
  struct Message {
    Address from;
    int member = 0;     // of the group
    int64_t offset = 0; // in the member's region
    size_t bytes = 0;
  };
  std::vector<Message> messages;
};

struct PlanStep {
  StepKind kind;
  int32_t index; // into launches, copies, libraries, transfers, or number of the step in the ATen plan
  int32_t step;
};

/// A slot that an operator makes and a launch or copy reads: its base address is asked for after the operator has run.
struct AtenSource {
  uint32_t source;
  int32_t slot;
};

class Artefact;
struct Image;
class CallGraph;
struct CallGraphPlan;

/// What a program needs per stream: channels, scratch memory, prebuilt kernel arguments.
struct StreamBinding {
  pkb_cu_stream stream = nullptr;
  std::vector<Channel *> channels; // per entry of Program::groups
  std::vector<size_t> channelNumbers;
  pkb_cu_ptr workspace = 0;
  std::vector<unsigned char> params;
  int32_t directCalls = 0; // made without a graph, so that operators have set themselves up
  bool graphRefused = false;
  std::unique_ptr<CallGraph> graph;
  StreamBinding();
  ~StreamBinding();
};

struct TensorGuard {
  int32_t dtype = 0, ndim = 0;
  bool empty = false;
  int64_t extentBytes = 0;
  uintptr_t alignMask = 0;
  const int64_t *sizes = nullptr, *strides = nullptr;
};

struct ArgumentRange {
  char *begin = nullptr; // of the call under way
  int64_t bytes = 0;
  int32_t index = 0;
  bool written = false; // by a call
};

} // namespace pkb_rt

struct pkb_program {
  pkb_program(pkb_context &context, const std::string &path, const std::string &cacheDir);
  ~pkb_program();
  pkb_program(const pkb_program &) = delete;
  pkb_program &operator=(const pkb_program &) = delete;

  pkb_status call(pkb_cu_stream stream, const pkb_tensor *inputs, int32_t inputCount, pkb_tensor *outputs,
                  int32_t outputCount);

  /// PKB_ERROR_GUARD with `reason`, once all ranks have refused the call.
  pkb_status refuseCall(const std::string &reason);

  pkb_context &context;
  pkb_rt::Manifest manifest;

  /// What went otherwise than it should while loading, one line each.
  std::string notes;

  /// Launches, operators and copies that a call enqueues on this rank.
  int32_t stepCount() const { return int32_t(steps.size()); }

private:
  /// Other ranks take part in a call.
  bool meetsPeers() const;

  // ProgramLoad.cpp
  void loadLocally(const std::string &path, const std::string &cacheDir);
  void loadModule(const std::string &path, const std::string &text, const std::string &cacheDir, const pkb_rt::Artefact *artefact);
  bool loadKernels(const pkb_rt::Artefact &artefact, const std::string &path, const std::string &cacheDir, int capability);
  pkb_cu_result loadImage(const pkb_rt::Image &image);
  void loadConstants(const std::string &path, std::string_view data, const std::string &digest);
  void checkResidency(const pkb_rt::Kernel &kernel, pkb_cu_function function, uint32_t grid);
  void agreeOnProgram();
  void planSteps();
  void planAten();
  void planGraph();
  void planLaunch(const pkb_rt::Step &step, int32_t number);
  // ProgramLibrary.cpp
  void openCommunicators();
  void planLibrary(const pkb_rt::Step &step, int32_t number);
  void planTransfer(const pkb_rt::Step &step, int32_t number);
  pkb_status runLibrary(const pkb_rt::PlanStep &step, pkb_rt::StreamBinding &binding, bool capturing);
  pkb_status runTransfer(const pkb_rt::PlanStep &step, pkb_rt::StreamBinding &binding);
  void closeLibraries();
  /// The row of a group that the own rank is in, and its place there; -1 if it is in none.
  std::pair<int32_t, int32_t> placeIn(const pkb_rt::Group &group) const;
  /// The place of a call's memory, behind which there are `bytes` bytes.
  pkb_rt::Address rangeOf(const pkb_rt::Pointer &pointer, int64_t bytes, int32_t step);
  pkb_rt::Address addressOf(int32_t slot, int64_t offset);
  void openAtenPlan();
  void unload();

  // ProgramCall.cpp
  pkb_status checkCall(const pkb_tensor *inputs, int32_t inputCount, pkb_tensor *outputs, int32_t outputCount);
  pkb_status refuse(pkb_status status);
  pkb_status checkTensor(const pkb_rt::TensorGuard &guard, const pkb_tensor &tensor, const char *what,
                         int32_t index) const;
  pkb_status refuseCapture();
  pkb_status checkOverlap(const pkb_tensor *inputs, const pkb_tensor *outputs) const;
  pkb_status checkArguments();
  pkb_rt::StreamBinding *bind(pkb_cu_stream stream, bool capturing);
  pkb_status runSteps(pkb_rt::StreamBinding &binding, bool capturing, pkb_rt::CallGraph *graph = nullptr);
  pkb_status runAten(const pkb_rt::PlanStep &step, pkb_rt::StreamBinding &binding);
  pkb_status beginFrame(bool capturing);
  pkb_rt::CallGraph *graphOf(pkb_rt::StreamBinding &binding);
  bool argumentsOverlap() const;
  void captureGraph(pkb_rt::StreamBinding &binding, pkb_rt::CallGraph &graph);
  pkb_status runGraph(pkb_rt::StreamBinding &binding, pkb_rt::CallGraph &graph);
  pkb_status endFrame(pkb_rt::StreamBinding &binding, bool capturing, pkb_status status);

  uint64_t key = 0; // pkb_context::nameProgram
  pkb_cu_module module = nullptr;
  pkb_cu_ptr constants = 0;
  std::vector<pkb_rt::RankGroup *> groups; // those the own rank is in and launches on
  std::vector<pkb_rt::Communicator *> communicatorOfManifest; // null: not a member or not used
  std::vector<int32_t> groupOfManifest;    // manifest group -> index into groups, -1: not a member or not used
  std::vector<pkb_cu_function> functions;  // per manifest kernel
  std::vector<pkb_rt::TensorGuard> inputGuards, outputGuards;
  std::vector<pkb_rt::PlanLaunch> launches;
  std::vector<pkb_rt::PlanPatch> patches;
  std::vector<pkb_rt::PlanCopy> copies;
  std::vector<pkb_rt::PlanLibrary> libraries;
  std::vector<pkb_rt::PlanTransfer> transfers;
  std::vector<pkb_rt::PlanStep> steps;
  size_t paramBytes = 0;
  std::vector<char *> sources; // base addresses of the call under way
  std::vector<pkb_rt::ArgumentRange> argumentRanges; // of the call under way, of arguments with memory of their own; empty: no call writes one
  uint32_t workspaceSource = 0, constantSource = 0, nullSource = 0;

  const pkb_aten_api *aten = nullptr;
  pkb_aten_plan *atenPlan = nullptr;
  pkb_aten_frame *frame = nullptr; // of the call under way
  std::vector<pkb_rt::AtenSource> atenSources;
  std::vector<std::vector<pkb_rt::AtenSource>> atenMakes;     // per operator step: the sources that it gives an address
  std::vector<std::pair<int32_t, pkb_rt::Address>> atenBound; // slots whose memory the call binds
  std::vector<pkb_aten_frame *> keptFrames;                   // of captured calls: a graph may replay them
  std::vector<std::shared_ptr<void>> keptClosures;            // likewise, of emulated operators
  int32_t atenSteps = 0;
  int32_t hostReadStep = -1; // of the manifest, the first one
  std::unique_ptr<pkb_rt::CallGraphPlan> graphPlan; // null: no operators

  std::vector<std::unique_ptr<pkb_rt::StreamBinding>> bindings;
  pkb_rt::StreamBinding *last = nullptr;
  std::vector<pkb_cu_ptr> spareWorkspaces;
};

#endif // PKB_RUNTIME_LIB_PROGRAM_H
