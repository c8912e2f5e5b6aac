// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The real driver: libcuda.so.1, opened on first use. Entry points are looked up under the exact exported name of the
// version whose signature DriverAbi.h declares, so nothing depends on the toolkit that other code in the process was
// built with.
#include "DriverAbi.h"
#include "pkb_rt/driver.h"

#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <mutex>
#include <string>

namespace {
using namespace pkb_rt::abi;

Entries cu;

const char *errorString(pkb_cu_result result) {
  const char *text = nullptr;
  if (cu.getErrorString && cu.getErrorString(result, &text) == 0 && text) {
    return text;
  }
  return "unknown CUDA error";
}

pkb_cu_result init() { return cu.init(0); }
pkb_cu_result deviceCount(int *n) { return cu.deviceGetCount(n); }
pkb_cu_result deviceGet(pkb_cu_device *device, int ordinal) { return cu.deviceGet(device, ordinal); }
pkb_cu_result deviceName(char *name, int bytes, pkb_cu_device device) { return cu.deviceGetName(name, bytes, device); }
pkb_cu_result deviceAttribute(int *value, int attribute, pkb_cu_device device) {
  return cu.deviceGetAttribute(value, attribute, device);
}
pkb_cu_result canAccessPeer(int *can, pkb_cu_device from, pkb_cu_device to) {
  return cu.deviceCanAccessPeer(can, from, to);
}
pkb_cu_result primaryRetain(pkb_cu_context *context, pkb_cu_device device) { return cu.primaryRetain(context, device); }
pkb_cu_result primaryRelease(pkb_cu_device device) { return cu.primaryRelease(device); }
pkb_cu_result ctxSetCurrent(pkb_cu_context context) { return cu.ctxSetCurrent(context); }
pkb_cu_result ctxGetCurrent(pkb_cu_context *context) { return cu.ctxGetCurrent(context); }

pkb_cu_result enablePeer(pkb_cu_context peer) {
  pkb_cu_result result = cu.ctxEnablePeerAccess(peer, 0);
  return result == kPeerAccessAlreadyEnabled ? 0 : result;
}

pkb_cu_result memAlloc(pkb_cu_ptr *pointer, size_t bytes) { return cu.memAlloc(pointer, bytes); }
pkb_cu_result memFree(pkb_cu_ptr pointer) { return cu.memFree(pointer); }
pkb_cu_result memHostAlloc(void **pointer, size_t bytes, unsigned flags) {
  return cu.memHostAlloc(pointer, bytes, flags);
}
pkb_cu_result memHostFree(void *pointer) { return cu.memFreeHost(pointer); }
pkb_cu_result memHostDevicePtr(pkb_cu_ptr *device, void *host) { return cu.memHostGetDevicePointer(device, host, 0); }
pkb_cu_result memset8(pkb_cu_ptr p, unsigned char v, size_t n, pkb_cu_stream s) {
  return n ? cu.memsetD8Async(p, v, n, s) : 0;
}
pkb_cu_result memcpyAny(pkb_cu_ptr to, pkb_cu_ptr from, size_t n, pkb_cu_stream s) {
  return n ? cu.memcpyAsync(to, from, n, s) : 0;
}

MemAllocationProp allocationProp(pkb_cu_device device) {
  MemAllocationProp prop;
  std::memset(&prop, 0, sizeof(prop));
  prop.type = kMemAllocationTypePinned;
  prop.requestedHandleTypes = kMemHandleTypePosixFd;
  prop.location.type = kMemLocationTypeDevice;
  prop.location.id = device;
  return prop;
}

pkb_cu_result vmmGranularity(size_t *bytes, pkb_cu_device device) {
  MemAllocationProp prop = allocationProp(device);
  return cu.memGetAllocationGranularity(bytes, &prop, kGranularityRecommended);
}

pkb_cu_result vmmCreate(pkb_cu_mem_handle *handle, size_t bytes, pkb_cu_device device) {
  MemAllocationProp prop = allocationProp(device);
  return cu.memCreate(handle, bytes, &prop, 0);
}

pkb_cu_result vmmExport(int *fd, pkb_cu_mem_handle handle) {
  return cu.memExportToShareableHandle(fd, handle, kMemHandleTypePosixFd, 0);
}

pkb_cu_result vmmImport(pkb_cu_mem_handle *handle, int fd) {
  return cu.memImportFromShareableHandle(handle, reinterpret_cast<void *>(uintptr_t(fd)), kMemHandleTypePosixFd);
}

pkb_cu_result vmmMap(pkb_cu_ptr *pointer, size_t bytes, pkb_cu_mem_handle handle, pkb_cu_device from) {
  pkb_cu_result result = cu.memAddressReserve(pointer, bytes, 0, 0, 0);
  if (result != 0) {
    return result;
  }
  result = cu.memMap(*pointer, bytes, 0, handle, 0);
  if (result != 0) {
    cu.memAddressFree(*pointer, bytes);
    return result;
  }
  MemAccessDesc access;
  std::memset(&access, 0, sizeof(access));
  access.location.type = kMemLocationTypeDevice;
  access.location.id = from;
  access.flags = kMemAccessReadWrite;
  result = cu.memSetAccess(*pointer, bytes, &access, 1);
  if (result != 0) {
    cu.memUnmap(*pointer, bytes);
    cu.memAddressFree(*pointer, bytes);
  }
  return result;
}

pkb_cu_result vmmUnmap(pkb_cu_ptr pointer, size_t bytes) {
  pkb_cu_result result = cu.memUnmap(pointer, bytes);
  pkb_cu_result freed = cu.memAddressFree(pointer, bytes);
  return result != 0 ? result : freed;
}

pkb_cu_result vmmRelease(pkb_cu_mem_handle handle) { return cu.memRelease(handle); }
pkb_cu_result ipcGet(pkb_cu_ipc_handle *handle, pkb_cu_ptr pointer) { return cu.ipcGetMemHandle(handle, pointer); }
pkb_cu_result ipcOpen(pkb_cu_ptr *pointer, pkb_cu_ipc_handle handle) {
  return cu.ipcOpenMemHandle(pointer, handle, kIpcLazyPeerAccess);
}
pkb_cu_result ipcClose(pkb_cu_ptr pointer) { return cu.ipcCloseMemHandle(pointer); }

pkb_cu_result streamCreate(pkb_cu_stream *stream, unsigned flags) { return cu.streamCreate(stream, flags); }
pkb_cu_result streamDestroy(pkb_cu_stream stream) { return cu.streamDestroy(stream); }
pkb_cu_result streamSynchronize(pkb_cu_stream stream) { return cu.streamSynchronize(stream); }
pkb_cu_result streamQuery(pkb_cu_stream stream) { return cu.streamQuery(stream); }
pkb_cu_result streamWaitEvent(pkb_cu_stream stream, pkb_cu_event event) { return cu.streamWaitEvent(stream, event, 0); }

pkb_cu_result streamIsCapturing(pkb_cu_stream stream, int *capturing) {
  int status = 0;
  pkb_cu_result result = cu.streamIsCapturing(stream, &status);
  *capturing = status != 0;
  return result;
}

pkb_cu_result eventCreate(pkb_cu_event *event, unsigned flags) { return cu.eventCreate(event, flags); }
pkb_cu_result eventRecord(pkb_cu_event event, pkb_cu_stream stream) { return cu.eventRecord(event, stream); }
pkb_cu_result eventQuery(pkb_cu_event event) { return cu.eventQuery(event); }
pkb_cu_result eventSynchronize(pkb_cu_event event) { return cu.eventSynchronize(event); }
pkb_cu_result eventElapsed(float *ms, pkb_cu_event from, pkb_cu_event to) { return cu.eventElapsedTime(ms, from, to); }
pkb_cu_result eventDestroy(pkb_cu_event event) { return cu.eventDestroy(event); }
pkb_cu_result launchHostFunc(pkb_cu_stream stream, void (*function)(void *), void *data) {
  return cu.launchHostFunc(stream, function, data);
}

pkb_cu_result moduleLoad(pkb_cu_module *module, const void *image, size_t) { return cu.moduleLoadData(module, image); }
pkb_cu_result moduleUnload(pkb_cu_module module) { return cu.moduleUnload(module); }

/// Loads the code at once: a load at the first launch may wait for the device, where a kernel of ours waits for a peer.
pkb_cu_result moduleFunction(pkb_cu_function *function, pkb_cu_module module, const char *name) {
  pkb_cu_result result = cu.moduleGetFunction(function, module, name);
  return result == 0 && cu.funcLoad ? cu.funcLoad(*function) : result;
}

pkb_cu_result occupancy(int *blocks, pkb_cu_function function, int threads, size_t sharedBytes) {
  return cu.occupancyMaxActiveBlocks(blocks, function, threads, sharedBytes);
}

/// Whether a grid may start before its predecessor on the stream has ended; the device header makes it wait
/// (`follow_predecessor`). Constant once the library is loaded.
bool overlapLaunches = false;

pkb_cu_result launch(pkb_cu_function function, unsigned grid, unsigned block, unsigned sharedBytes,
                     pkb_cu_stream stream, const void *param, size_t) {
  void *params[] = {const_cast<void *>(param)};
  if (overlapLaunches) {
    LaunchAttribute overlap = {};
    overlap.id = kLaunchProgrammaticSerialization;
    overlap.value[0] = 1;
    LaunchConfig config = {{grid, 1, 1}, {block, 1, 1}, sharedBytes, stream, &overlap, 1};
    return cu.launchKernelEx(&config, function, params, nullptr);
  }
  return cu.launchKernel(function, grid, 1, 1, block, 1, 1, sharedBytes, stream, params, nullptr);
}

pkb_cu_result captureBegin(pkb_cu_stream stream) { return cu.streamBeginCapture(stream, kCaptureModeThreadLocal); }
pkb_cu_result captureEnd(pkb_cu_stream stream, pkb_cu_graph *graph) { return cu.streamEndCapture(stream, graph); }
pkb_cu_result graphInstantiate(pkb_cu_graph_exec *exec, pkb_cu_graph graph) {
  return cu.graphInstantiate(exec, graph, 0);
}
pkb_cu_result graphLaunch(pkb_cu_graph_exec exec, pkb_cu_stream stream) { return cu.graphLaunch(exec, stream); }
pkb_cu_result graphDestroy(pkb_cu_graph graph) { return cu.graphDestroy(graph); }
pkb_cu_result graphExecDestroy(pkb_cu_graph_exec exec) { return cu.graphExecDestroy(exec); }

pkb_cu_result captureLastNode(pkb_cu_stream stream, pkb_cu_graph_node *node) {
  if (!cu.streamGetCaptureInfo) {
    return kErrorNotSupported;
  }
  int status = 0;
  unsigned long long id = 0;
  pkb_cu_graph graph = nullptr;
  const pkb_cu_graph_node *nodes = nullptr;
  const void *edges = nullptr;
  size_t count = 0;
  pkb_cu_result result = cu.streamGetCaptureInfo(stream, &status, &id, &graph, &nodes, &edges, &count);
  if (result == 0 && count != 1) {
    return kErrorInvalidValue;
  }
  *node = result == 0 ? nodes[0] : nullptr;
  return result;
}

pkb_cu_result graphExecSetLaunch(pkb_cu_graph_exec exec, pkb_cu_graph_node node, pkb_cu_function function, unsigned grid,
                                 unsigned block, const void *param, size_t) {
  void *params[] = {const_cast<void *>(param)};
  KernelNodeParams changed = {function, {grid, 1, 1}, {block, 1, 1}, 0, params, nullptr, nullptr, nullptr};
  return cu.graphExecKernelNodeSetParams(exec, node, &changed);
}

pkb_cu_result graphExecSetCopy(pkb_cu_graph_exec exec, pkb_cu_graph_node node, pkb_cu_ptr to, pkb_cu_ptr from, size_t) {
  Copy3D copy;
  pkb_cu_context context = nullptr;
  pkb_cu_result result = cu.graphMemcpyNodeGetParams(node, &copy);
  result = result == 0 ? cu.ctxGetCurrent(&context) : result;
  copy.from.device = from;
  copy.to.device = to;
  return result == 0 ? cu.graphExecMemcpyNodeSetParams(exec, node, &copy, context) : result;
}

pkb_cu_result relaxCaptureMode() {
  int mode = kCaptureModeRelaxed;
  return cu.threadExchangeCaptureMode(&mode);
}
pkb_cu_result driverVersion(int *version) { return cu.driverGetVersion(version); }

pkb_cu_result pointerDevice(pkb_cu_device *device, pkb_cu_ptr pointer) {
  unsigned type = 0;
  int ordinal = PKB_MEMORY_UNKNOWN, attributes[] = {kPointerMemoryType, kPointerDeviceOrdinal};
  void *values[] = {&type, &ordinal};
  pkb_cu_result result = cu.pointerGetAttributes(2, attributes, values, pointer);
  *device = type == kMemoryTypeDevice ? ordinal : type == kMemoryTypeHost ? PKB_MEMORY_HOST : PKB_MEMORY_UNKNOWN;
  return result;
}

pkb_driver makeTable() {
  pkb_driver t = {};
  t.name = "cuda";
  t.error_string = errorString;
  t.init = init;
  t.device_count = deviceCount;
  t.device_get = deviceGet;
  t.device_name = deviceName;
  t.device_attribute = deviceAttribute;
  t.can_access_peer = canAccessPeer;
  t.primary_ctx_retain = primaryRetain;
  t.primary_ctx_release = primaryRelease;
  t.ctx_set_current = ctxSetCurrent;
  t.ctx_get_current = ctxGetCurrent;
  t.ctx_enable_peer_access = enablePeer;
  t.mem_alloc = memAlloc;
  t.mem_free = memFree;
  t.mem_host_alloc = memHostAlloc;
  t.mem_host_free = memHostFree;
  t.mem_host_device_ptr = memHostDevicePtr;
  t.memset_d8_async = memset8;
  t.memcpy_async = memcpyAny;
  t.vmm_granularity = vmmGranularity;
  t.vmm_create = vmmCreate;
  t.vmm_export_fd = vmmExport;
  t.vmm_import_fd = vmmImport;
  t.vmm_map = vmmMap;
  t.vmm_unmap = vmmUnmap;
  t.vmm_release = vmmRelease;
  t.ipc_get = ipcGet;
  t.ipc_open = ipcOpen;
  t.ipc_close = ipcClose;
  t.stream_create = streamCreate;
  t.stream_destroy = streamDestroy;
  t.stream_synchronize = streamSynchronize;
  t.stream_query = streamQuery;
  t.stream_wait_event = streamWaitEvent;
  t.stream_is_capturing = streamIsCapturing;
  t.event_create = eventCreate;
  t.event_record = eventRecord;
  t.event_query = eventQuery;
  t.event_synchronize = eventSynchronize;
  t.event_elapsed_ms = eventElapsed;
  t.event_destroy = eventDestroy;
  t.launch_host_func = launchHostFunc;
  t.module_load = moduleLoad;
  t.module_unload = moduleUnload;
  t.module_function = moduleFunction;
  t.function_occupancy = occupancy;
  t.launch = launch;
  t.capture_begin = captureBegin;
  t.capture_end = captureEnd;
  t.graph_instantiate = graphInstantiate;
  t.graph_launch = graphLaunch;
  t.graph_destroy = graphDestroy;
  t.graph_exec_destroy = graphExecDestroy;
  t.capture_last_node = captureLastNode;
  t.graph_exec_set_launch = graphExecSetLaunch;
  t.graph_exec_set_copy = graphExecSetCopy;
  t.thread_relax_capture = relaxCaptureMode;
  t.driver_version = driverVersion;
  t.pointer_device = cu.pointerGetAttributes ? pointerDevice : nullptr;
  return t;
}

struct Loaded {
  pkb_driver table = {};
  std::string why;

  Loaded() {
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    if (!library) {
      const char *text = dlerror();
      why = std::string("no CUDA driver: ") + (text ? text : "libcuda.so.1 not found");
      return;
    }
#define PKB_CU_LOOKUP(member, symbol)                                                                                  \
  cu.member = reinterpret_cast<decltype(cu.member)>(dlsym(library, symbol));                                           \
  if (!cu.member) {                                                                                                    \
    why = "the CUDA driver has no " symbol "; install a driver of CUDA 12 or newer";                                   \
    return;                                                                                                            \
  }
    PKB_CU_ENTRIES(PKB_CU_LOOKUP)
#undef PKB_CU_LOOKUP
#define PKB_CU_LOOKUP(member, symbol) cu.member = reinterpret_cast<decltype(cu.member)>(dlsym(library, symbol));
    PKB_CU_OPTIONAL_ENTRIES(PKB_CU_LOOKUP)
#undef PKB_CU_LOOKUP
    const char *overlap = std::getenv("PKB_LAUNCH_OVERLAP");
    overlapLaunches = cu.launchKernelEx && !(overlap && std::strcmp(overlap, "0") == 0);
    table = makeTable();
  }
};

} // namespace

extern "C" const pkb_driver *pkb_driver_real(const char **why) {
  static const Loaded loaded; // the table of a shared library that stays loaded: constant once made
  if (!loaded.why.empty()) {
    if (why) {
      *why = loaded.why.c_str();
    }
    return nullptr;
  }
  return &loaded.table;
}
