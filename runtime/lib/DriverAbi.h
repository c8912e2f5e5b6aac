// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The part of the CUDA driver's ABI that the real driver table needs, declared by hand so that no toolkit is needed to
// build. runtime/tests/host/DriverAbiTest.cpp compares every line with cuda.h where that is installed.
#ifndef PKB_RUNTIME_LIB_DRIVERABI_H
#define PKB_RUNTIME_LIB_DRIVERABI_H

#include "pkb_rt/driver.h"

namespace pkb_rt::abi {

constexpr int kPeerAccessAlreadyEnabled = 704;
constexpr int kMemAllocationTypePinned = 1;
constexpr int kMemHandleTypePosixFd = 1;
constexpr int kMemLocationTypeDevice = 1;
constexpr int kMemAccessReadWrite = 3;
constexpr int kGranularityRecommended = 1;
constexpr int kIpcLazyPeerAccess = 1;
constexpr int kCaptureModeThreadLocal = 1;
constexpr int kCaptureModeRelaxed = 2;

constexpr int kAttributeMultiprocessors = 16;
constexpr int kPointerMemoryType = 2, kPointerDeviceOrdinal = 9; // CUpointer_attribute
constexpr int kMemoryTypeHost = 1, kMemoryTypeDevice = 2;       // CUmemorytype
constexpr int kAttributeCapabilityMajor = 75;
constexpr int kAttributeCapabilityMinor = 76;
constexpr int kAttributeVmmSupported = 102;
constexpr int kAttributePosixFdSupported = 103;
constexpr unsigned kHostAllocPortable = 1;
constexpr unsigned kHostAllocMapped = 2;
constexpr unsigned kStreamNonBlocking = 1;
constexpr unsigned kEventDisableTiming = 2;
constexpr int kErrorInvalidValue = 1;
constexpr int kErrorNotReady = 600;
constexpr int kErrorNotSupported = 801;

struct MemLocation {
  int type;
  int id;
};

struct MemAllocationProp {
  int type;
  int requestedHandleTypes;
  MemLocation location;
  void *win32HandleMetaData;
  struct {
    unsigned char compressionType;
    unsigned char gpuDirectRDMACapable;
    unsigned short usage;
    unsigned char reserved[4];
  } allocFlags;
};

struct MemAccessDesc {
  MemLocation location;
  int flags;
};

constexpr int kLaunchProgrammaticSerialization = 6;

struct alignas(8) LaunchAttribute {
  int id;
  int pad;
  int value[16]; // a union of 64 bytes
};

struct LaunchConfig {
  unsigned grid[3];
  unsigned block[3];
  unsigned sharedBytes;
  pkb_cu_stream stream;
  LaunchAttribute *attributes;
  unsigned attributeCount;
};

/// CUDA_KERNEL_NODE_PARAMS_v2.
struct KernelNodeParams {
  pkb_cu_function function;
  unsigned grid[3];
  unsigned block[3];
  unsigned sharedBytes;
  void **params;
  void **extra;
  void *kernel;
  pkb_cu_context context;
};

/// CUDA_MEMCPY3D_v2.
struct CopyEnd {
  size_t x, y, z, lod;
  int memoryType;
  void *host;
  pkb_cu_ptr device;
  void *array, *reserved;
  size_t pitch, height;
};
struct Copy3D {
  CopyEnd from, to;
  size_t width, height, depth;
};

/// One entry point per line: member of Entries, exported symbol.
#define PKB_CU_ENTRIES(X)                                                                                              \
  X(getErrorString, "cuGetErrorString")                                                                                \
  X(init, "cuInit")                                                                                                    \
  X(driverGetVersion, "cuDriverGetVersion")                                                                            \
  X(deviceGetCount, "cuDeviceGetCount")                                                                                \
  X(deviceGet, "cuDeviceGet")                                                                                          \
  X(deviceGetName, "cuDeviceGetName")                                                                                  \
  X(deviceGetAttribute, "cuDeviceGetAttribute")                                                                        \
  X(deviceCanAccessPeer, "cuDeviceCanAccessPeer")                                                                      \
  X(primaryRetain, "cuDevicePrimaryCtxRetain")                                                                         \
  X(primaryRelease, "cuDevicePrimaryCtxRelease_v2")                                                                    \
  X(ctxSetCurrent, "cuCtxSetCurrent")                                                                                  \
  X(ctxGetCurrent, "cuCtxGetCurrent")                                                                                  \
  X(ctxEnablePeerAccess, "cuCtxEnablePeerAccess")                                                                      \
  X(memAlloc, "cuMemAlloc_v2")                                                                                         \
  X(memFree, "cuMemFree_v2")                                                                                           \
  X(memHostAlloc, "cuMemHostAlloc")                                                                                    \
  X(memFreeHost, "cuMemFreeHost")                                                                                      \
  X(memHostGetDevicePointer, "cuMemHostGetDevicePointer_v2")                                                           \
  X(memsetD8Async, "cuMemsetD8Async")                                                                                  \
  X(memcpyAsync, "cuMemcpyAsync")                                                                                      \
  X(memGetAllocationGranularity, "cuMemGetAllocationGranularity")                                                      \
  X(memCreate, "cuMemCreate")                                                                                          \
  X(memRelease, "cuMemRelease")                                                                                        \
  X(memExportToShareableHandle, "cuMemExportToShareableHandle")                                                        \
  X(memImportFromShareableHandle, "cuMemImportFromShareableHandle")                                                    \
  X(memAddressReserve, "cuMemAddressReserve")                                                                          \
  X(memAddressFree, "cuMemAddressFree")                                                                                \
  X(memMap, "cuMemMap")                                                                                                \
  X(memUnmap, "cuMemUnmap")                                                                                            \
  X(memSetAccess, "cuMemSetAccess")                                                                                    \
  X(ipcGetMemHandle, "cuIpcGetMemHandle")                                                                              \
  X(ipcOpenMemHandle, "cuIpcOpenMemHandle_v2")                                                                         \
  X(ipcCloseMemHandle, "cuIpcCloseMemHandle")                                                                          \
  X(streamCreate, "cuStreamCreate")                                                                                    \
  X(streamDestroy, "cuStreamDestroy_v2")                                                                               \
  X(streamSynchronize, "cuStreamSynchronize")                                                                          \
  X(streamQuery, "cuStreamQuery")                                                                                      \
  X(streamWaitEvent, "cuStreamWaitEvent")                                                                              \
  X(streamIsCapturing, "cuStreamIsCapturing")                                                                          \
  X(streamBeginCapture, "cuStreamBeginCapture_v2")                                                                     \
  X(streamEndCapture, "cuStreamEndCapture")                                                                            \
  X(threadExchangeCaptureMode, "cuThreadExchangeStreamCaptureMode")                                                    \
  X(eventCreate, "cuEventCreate")                                                                                      \
  X(eventRecord, "cuEventRecord")                                                                                      \
  X(eventQuery, "cuEventQuery")                                                                                        \
  X(eventSynchronize, "cuEventSynchronize")                                                                            \
  X(eventElapsedTime, "cuEventElapsedTime")                                                                            \
  X(eventDestroy, "cuEventDestroy_v2")                                                                                 \
  X(launchHostFunc, "cuLaunchHostFunc")                                                                                \
  X(moduleLoadData, "cuModuleLoadData")                                                                                \
  X(moduleUnload, "cuModuleUnload")                                                                                    \
  X(moduleGetFunction, "cuModuleGetFunction")                                                                          \
  X(occupancyMaxActiveBlocks, "cuOccupancyMaxActiveBlocksPerMultiprocessor")                                           \
  X(launchKernel, "cuLaunchKernel")                                                                                    \
  X(graphInstantiate, "cuGraphInstantiateWithFlags")                                                                   \
  X(graphLaunch, "cuGraphLaunch")                                                                                      \
  X(graphDestroy, "cuGraphDestroy")                                                                                    \
  X(graphExecDestroy, "cuGraphExecDestroy")                                                                            \
  X(graphExecKernelNodeSetParams, "cuGraphExecKernelNodeSetParams_v2")                                                 \
  X(graphExecMemcpyNodeSetParams, "cuGraphExecMemcpyNodeSetParams")                                                    \
  X(graphMemcpyNodeGetParams, "cuGraphMemcpyNodeGetParams")

/// Those that older drivers lack.
#define PKB_CU_OPTIONAL_ENTRIES(X)                                                                                     \
  X(funcLoad, "cuFuncLoad")             /* CUDA 12.4 */                                                                \
  X(launchKernelEx, "cuLaunchKernelEx") /* CUDA 11.8 */                                                                \
  X(pointerGetAttributes, "cuPointerGetAttributes")                                                                    \
  X(streamGetCaptureInfo, "cuStreamGetCaptureInfo_v3") /* CUDA 12.3 */

using Result = pkb_cu_result;

struct Entries {
  Result (*getErrorString)(Result, const char **);
  Result (*init)(unsigned);
  Result (*driverGetVersion)(int *);
  Result (*deviceGetCount)(int *);
  Result (*deviceGet)(int *, int);
  Result (*deviceGetName)(char *, int, int);
  Result (*deviceGetAttribute)(int *, int, int);
  Result (*deviceCanAccessPeer)(int *, int, int);
  Result (*primaryRetain)(pkb_cu_context *, int);
  Result (*primaryRelease)(int);
  Result (*ctxSetCurrent)(pkb_cu_context);
  Result (*ctxGetCurrent)(pkb_cu_context *);
  Result (*ctxEnablePeerAccess)(pkb_cu_context, unsigned);
  Result (*memAlloc)(pkb_cu_ptr *, size_t);
  Result (*memFree)(pkb_cu_ptr);
  Result (*memHostAlloc)(void **, size_t, unsigned);
  Result (*memFreeHost)(void *);
  Result (*memHostGetDevicePointer)(pkb_cu_ptr *, void *, unsigned);
  Result (*memsetD8Async)(pkb_cu_ptr, unsigned char, size_t, pkb_cu_stream);
  Result (*memcpyAsync)(pkb_cu_ptr, pkb_cu_ptr, size_t, pkb_cu_stream);
  Result (*memGetAllocationGranularity)(size_t *, const MemAllocationProp *, int);
  Result (*memCreate)(pkb_cu_mem_handle *, size_t, const MemAllocationProp *, unsigned long long);
  Result (*memRelease)(pkb_cu_mem_handle);
  Result (*memExportToShareableHandle)(void *, pkb_cu_mem_handle, int, unsigned long long);
  Result (*memImportFromShareableHandle)(pkb_cu_mem_handle *, void *, int);
  Result (*memAddressReserve)(pkb_cu_ptr *, size_t, size_t, pkb_cu_ptr, unsigned long long);
  Result (*memAddressFree)(pkb_cu_ptr, size_t);
  Result (*memMap)(pkb_cu_ptr, size_t, size_t, pkb_cu_mem_handle, unsigned long long);
  Result (*memUnmap)(pkb_cu_ptr, size_t);
  Result (*memSetAccess)(pkb_cu_ptr, size_t, const MemAccessDesc *, size_t);
  Result (*ipcGetMemHandle)(pkb_cu_ipc_handle *, pkb_cu_ptr);
  Result (*ipcOpenMemHandle)(pkb_cu_ptr *, pkb_cu_ipc_handle, unsigned);
  Result (*ipcCloseMemHandle)(pkb_cu_ptr);
  Result (*streamCreate)(pkb_cu_stream *, unsigned);
  Result (*streamDestroy)(pkb_cu_stream);
  Result (*streamSynchronize)(pkb_cu_stream);
  Result (*streamQuery)(pkb_cu_stream);
  Result (*streamWaitEvent)(pkb_cu_stream, pkb_cu_event, unsigned);
  Result (*streamIsCapturing)(pkb_cu_stream, int *);
  Result (*streamBeginCapture)(pkb_cu_stream, int);
  Result (*streamEndCapture)(pkb_cu_stream, pkb_cu_graph *);
  Result (*threadExchangeCaptureMode)(int *);
  Result (*eventCreate)(pkb_cu_event *, unsigned);
  Result (*eventRecord)(pkb_cu_event, pkb_cu_stream);
  Result (*eventQuery)(pkb_cu_event);
  Result (*eventSynchronize)(pkb_cu_event);
  Result (*eventElapsedTime)(float *, pkb_cu_event, pkb_cu_event);
  Result (*eventDestroy)(pkb_cu_event);
  Result (*launchHostFunc)(pkb_cu_stream, void (*)(void *), void *);
  Result (*moduleLoadData)(pkb_cu_module *, const void *);
  Result (*moduleUnload)(pkb_cu_module);
  Result (*moduleGetFunction)(pkb_cu_function *, pkb_cu_module, const char *);
  Result (*occupancyMaxActiveBlocks)(int *, pkb_cu_function, int, size_t);
  Result (*launchKernel)(pkb_cu_function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                         pkb_cu_stream, void **, void **);
  Result (*graphInstantiate)(pkb_cu_graph_exec *, pkb_cu_graph, unsigned long long);
  Result (*graphLaunch)(pkb_cu_graph_exec, pkb_cu_stream);
  Result (*graphDestroy)(pkb_cu_graph);
  Result (*graphExecDestroy)(pkb_cu_graph_exec);
  Result (*funcLoad)(pkb_cu_function);
  Result (*graphExecKernelNodeSetParams)(pkb_cu_graph_exec, pkb_cu_graph_node, const KernelNodeParams *);
  Result (*graphExecMemcpyNodeSetParams)(pkb_cu_graph_exec, pkb_cu_graph_node, const Copy3D *, pkb_cu_context);
  Result (*graphMemcpyNodeGetParams)(pkb_cu_graph_node, Copy3D *);
  Result (*streamGetCaptureInfo)(pkb_cu_stream, int *, unsigned long long *, pkb_cu_graph *, const pkb_cu_graph_node **,
                                 const void **, size_t *);
  Result (*pointerGetAttributes)(unsigned, int *, void **, pkb_cu_ptr);
  Result (*launchKernelEx)(const LaunchConfig *, pkb_cu_function, void **, void **);
};

} // namespace pkb_rt::abi

#endif // PKB_RUNTIME_LIB_DRIVERABI_H
