// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A call of a program with operators as one CUDA graph (docs/Rationale/HostRuntime.md, "Calls as graphs").
#ifndef PKB_RUNTIME_LIB_CALLGRAPH_H
#define PKB_RUNTIME_LIB_CALLGRAPH_H

#include "Program.h"

#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace pkb_rt {

/// Tensors of the call whose memory operators see. A graph holds their addresses, so it gets memory of its own for
/// each, which is filled from the caller's before the steps (`in`) and copied to the caller's after them (`out`).
struct StagedTensor {
  uint32_t source = 0; // index into the call's table of base addresses
  size_t bytes = 0;
  bool in = false, out = false;
};

/// Whether calls of a program can be graphs, found once when it is loaded.
struct CallGraphPlan {
  std::string why; // empty: they can
  std::vector<StagedTensor> staged;
  bool writesArguments = false; // of those staged: where arguments overlap, a call is made without a graph
  std::vector<bool> varies; // per base address: another one at each call
};

/// The graph of one program on one stream.
class CallGraph {
public:
  CallGraph(pkb_context &context, const CallGraphPlan &plan, const pkb_aten_api *aten, pkb_aten_plan *atenPlan)
      : context(context), plan(plan), aten(aten), atenPlan(atenPlan) {}
  ~CallGraph();
  CallGraph(const CallGraph &) = delete;
  CallGraph &operator=(const CallGraph &) = delete;

  /// Opens the capture; `stream()` is captured until `end`. Throws Error.
  void begin();
  pkb_cu_stream stream() const { return captured; }
  /// The graph's memory of staged tensor i.
  char *memory(size_t i) const { return reinterpret_cast<char *>(uintptr_t(buffers[i])); }
  /// Operators' tensors, alive as long as the graph.
  pkb_aten_frame *frame = nullptr;

  /// After a launch or copy has been enqueued whose addresses in `sources` may change from call to call.
  void addLaunch(const PlanLaunch &launch, const std::vector<unsigned char> &params, const std::vector<PlanPatch> &patches);
  void addCopy(const PlanCopy &copy, const std::vector<char *> &sources);
  /// Enqueues the copies of staged tensors from (`in`) or to the caller's memory, which lies at `callers`.
  void stage(const std::vector<char *> &callers, bool in);
  void end();

  /// Enqueues the graph on `stream` with the addresses in `sources`.
  pkb_cu_result launch(pkb_cu_stream stream, const std::vector<char *> &sources);

private:
  struct Pointer {
    size_t at; // offset in `params`
    Address address;
  };
  struct LaunchNode {
    pkb_cu_graph_node node;
    pkb_cu_function function;
    uint32_t grid, block;
    std::vector<unsigned char> params;
    std::vector<Pointer> pointers;
  };
  /// One end of a copy: fixed, or looked up in the call's addresses.
  struct End {
    char *now = nullptr;
    Address address;
    bool varies = false;
    bool follow(const std::vector<char *> &sources);
  };
  struct CopyNode {
    pkb_cu_graph_node node;
    End from, to;
    size_t bytes;
  };
  pkb_cu_graph_node lastNode();

  pkb_context &context;
  const CallGraphPlan &plan;
  const pkb_aten_api *aten;
  pkb_aten_plan *atenPlan;
  pkb_cu_stream captured = nullptr; // the context's
  std::unique_lock<std::mutex> capture;
  bool capturing = false;
  pkb_aten_capture *atenCapture = nullptr; // on a GPU it owns `exec`
  pkb_cu_graph graph = nullptr;
  pkb_cu_graph_exec exec = nullptr;
  std::vector<pkb_cu_ptr> buffers; // per staged tensor
  std::vector<LaunchNode> launches;
  std::vector<CopyNode> copies;
};

} // namespace pkb_rt

#endif // PKB_RUNTIME_LIB_CALLGRAPH_H
