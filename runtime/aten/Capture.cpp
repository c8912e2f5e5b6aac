// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Capture of operators into a CUDA graph. The caching allocator must know of it, so that what operators allocate
// meanwhile stays the graph's: at::cuda::CUDAGraph tells it. That class lies in libtorch_cuda.so, which this library
// does not link (it also serves machines without CUDA), so its members are looked up by their names in torch 2.11.
#include "Plan.h"

#include <c10/core/StreamGuard.h>
#include <cstddef>
#include <dlfcn.h>
#include <utility>

namespace pkb_aten {
namespace {

constexpr int kCaptureModeThreadLocal = 1; // of enum cudaStreamCaptureMode
constexpr size_t kGraphBytes = 1024;       // more than sizeof(at::cuda::CUDAGraph), 224 in torch 2.11

using Pool = std::pair<unsigned long long, unsigned long long>; // c10::MempoolId_t

/// Members of at::cuda::CUDAGraph as functions of the object.
struct GraphClass {
  void (*construct)(void *self, bool keepGraph);
  void (*destroy)(void *self);
  void (*begin)(void *self, Pool pool, int mode);
  void (*end)(void *self);
  void (*instantiate)(void *self);
  void *(*exec)(void *self);

  GraphClass() {
    look(construct, "_ZN2at4cuda9CUDAGraphC1Eb");
    look(destroy, "_ZN2at4cuda9CUDAGraphD1Ev");
    look(begin, "_ZN2at4cuda9CUDAGraph13capture_beginESt4pairIyyE21cudaStreamCaptureMode");
    look(end, "_ZN2at4cuda9CUDAGraph11capture_endEv");
    look(instantiate, "_ZN2at4cuda9CUDAGraph11instantiateEv");
    look(exec, "_ZN2at4cuda9CUDAGraph19raw_cuda_graph_execEv");
  }

private:
  template <typename Function>
  void look(Function &function, const char *symbol) {
    static void *library = dlopen("libtorch_cuda.so", RTLD_NOW | RTLD_NOLOAD);
    function = reinterpret_cast<Function>(library ? dlsym(library, symbol) : nullptr);
    if (!function) {
      throw std::runtime_error(std::string("libtorch_cuda.so has no ") + symbol + "; torch must be 2.11");
    }
  }
};

const GraphClass &graphClass() {
  static const GraphClass members;
  return members;
}

} // namespace

struct Capture {
  alignas(std::max_align_t) unsigned char graph[kGraphBytes];
};

Capture *beginCapture(Plan &plan, void *stream) {
  const GraphClass &members = graphClass();
  auto capture = std::make_unique<Capture>();
  c10::Stream cuda(c10::Stream::UNSAFE, plan.device, c10::StreamId(reinterpret_cast<intptr_t>(stream)));
  c10::StreamGuard guard(cuda);
  members.construct(capture->graph, /*keepGraph=*/true);
  try {
    members.begin(capture->graph, Pool{0, 0}, kCaptureModeThreadLocal);
  } catch (...) {
    members.destroy(capture->graph);
    throw;
  }
  return capture.release();
}

void *endCapture(Plan &plan, Capture &capture, void *stream) {
  const GraphClass &members = graphClass();
  c10::Stream cuda(c10::Stream::UNSAFE, plan.device, c10::StreamId(reinterpret_cast<intptr_t>(stream)));
  c10::StreamGuard guard(cuda);
  members.end(capture.graph);
  members.instantiate(capture.graph);
  return members.exec(capture.graph);
}

void destroyCapture(Capture *capture) {
  if (capture) {
    graphClass().destroy(capture->graph);
    delete capture;
  }
}

} // namespace pkb_aten
