// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The hand-written ABI of the driver against cuda.h, at compile time. Without a toolkit only the lookup of the library
// is tested.
#include "DriverAbi.h"
#include "pkb_rt/driver.h"

#include <cstddef>
#include <gtest/gtest.h>
#include <string>

#ifdef PKB_TEST_HAS_CUDA_H
#include <cuda.h>
#include <type_traits>

namespace ours = pkb_rt::abi;

#define PKB_SAME_CONSTANT(mine, theirs)                                                                                \
  static_assert(static_cast<long long>(mine) == static_cast<long long>(theirs), #mine " must be " #theirs)
PKB_SAME_CONSTANT(ours::kPeerAccessAlreadyEnabled, CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
PKB_SAME_CONSTANT(ours::kErrorNotReady, CUDA_ERROR_NOT_READY);
PKB_SAME_CONSTANT(ours::kMemAllocationTypePinned, CU_MEM_ALLOCATION_TYPE_PINNED);
PKB_SAME_CONSTANT(ours::kMemHandleTypePosixFd, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
PKB_SAME_CONSTANT(ours::kMemLocationTypeDevice, CU_MEM_LOCATION_TYPE_DEVICE);
PKB_SAME_CONSTANT(ours::kMemAccessReadWrite, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
PKB_SAME_CONSTANT(ours::kGranularityRecommended, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED);
PKB_SAME_CONSTANT(ours::kIpcLazyPeerAccess, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
PKB_SAME_CONSTANT(ours::kCaptureModeThreadLocal, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
PKB_SAME_CONSTANT(ours::kCaptureModeRelaxed, CU_STREAM_CAPTURE_MODE_RELAXED);
PKB_SAME_CONSTANT(ours::kAttributeMultiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
PKB_SAME_CONSTANT(ours::kAttributeCapabilityMajor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
PKB_SAME_CONSTANT(ours::kAttributeCapabilityMinor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
PKB_SAME_CONSTANT(ours::kAttributeVmmSupported, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED);
PKB_SAME_CONSTANT(ours::kAttributePosixFdSupported, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED);
PKB_SAME_CONSTANT(ours::kHostAllocPortable, CU_MEMHOSTALLOC_PORTABLE);
PKB_SAME_CONSTANT(ours::kHostAllocMapped, CU_MEMHOSTALLOC_DEVICEMAP);
PKB_SAME_CONSTANT(ours::kStreamNonBlocking, CU_STREAM_NON_BLOCKING);
PKB_SAME_CONSTANT(ours::kEventDisableTiming, CU_EVENT_DISABLE_TIMING);
PKB_SAME_CONSTANT(CUDA_SUCCESS, 0);
PKB_SAME_CONSTANT(CU_STREAM_CAPTURE_STATUS_NONE, 0);

#define PKB_SAME_FIELD(mine, theirs, field)                                                                            \
  static_assert(offsetof(mine, field) == offsetof(theirs, field), #field);                                             \
  static_assert(sizeof(mine::field) == sizeof(theirs::field), #field)
static_assert(sizeof(ours::MemLocation) == sizeof(CUmemLocation));
static_assert(sizeof(ours::MemAllocationProp) == sizeof(CUmemAllocationProp));
static_assert(sizeof(ours::MemAccessDesc) == sizeof(CUmemAccessDesc));
PKB_SAME_FIELD(ours::MemLocation, CUmemLocation, type);
PKB_SAME_FIELD(ours::MemLocation, CUmemLocation, id);
PKB_SAME_FIELD(ours::MemAllocationProp, CUmemAllocationProp, type);
PKB_SAME_FIELD(ours::MemAllocationProp, CUmemAllocationProp, requestedHandleTypes);
PKB_SAME_FIELD(ours::MemAllocationProp, CUmemAllocationProp, location);
PKB_SAME_FIELD(ours::MemAllocationProp, CUmemAllocationProp, win32HandleMetaData);
PKB_SAME_FIELD(ours::MemAllocationProp, CUmemAllocationProp, allocFlags);
PKB_SAME_FIELD(ours::MemAccessDesc, CUmemAccessDesc, location);
PKB_SAME_FIELD(ours::MemAccessDesc, CUmemAccessDesc, flags);
PKB_SAME_CONSTANT(ours::kErrorInvalidValue, CUDA_ERROR_INVALID_VALUE);
PKB_SAME_CONSTANT(ours::kErrorNotSupported, CUDA_ERROR_NOT_SUPPORTED);
static_assert(sizeof(ours::KernelNodeParams) == sizeof(CUDA_KERNEL_NODE_PARAMS));
static_assert(offsetof(ours::KernelNodeParams, grid) == offsetof(CUDA_KERNEL_NODE_PARAMS, gridDimX));
static_assert(offsetof(ours::KernelNodeParams, block) == offsetof(CUDA_KERNEL_NODE_PARAMS, blockDimX));
static_assert(offsetof(ours::KernelNodeParams, params) == offsetof(CUDA_KERNEL_NODE_PARAMS, kernelParams));
static_assert(offsetof(ours::KernelNodeParams, context) == offsetof(CUDA_KERNEL_NODE_PARAMS, ctx));
static_assert(sizeof(ours::Copy3D) == sizeof(CUDA_MEMCPY3D));
static_assert(offsetof(ours::Copy3D, from.device) == offsetof(CUDA_MEMCPY3D, srcDevice));
static_assert(offsetof(ours::Copy3D, to.device) == offsetof(CUDA_MEMCPY3D, dstDevice));
static_assert(offsetof(ours::Copy3D, width) == offsetof(CUDA_MEMCPY3D, WidthInBytes));
PKB_SAME_CONSTANT(ours::kLaunchProgrammaticSerialization, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);
static_assert(sizeof(ours::LaunchAttribute) == sizeof(CUlaunchAttribute));
static_assert(alignof(ours::LaunchAttribute) == alignof(CUlaunchAttribute));
PKB_SAME_FIELD(ours::LaunchAttribute, CUlaunchAttribute, id);
PKB_SAME_FIELD(ours::LaunchAttribute, CUlaunchAttribute, value);
static_assert(offsetof(CUlaunchAttributeValue, programmaticStreamSerializationAllowed) == 0);
static_assert(sizeof(ours::LaunchConfig) == sizeof(CUlaunchConfig));
static_assert(offsetof(ours::LaunchConfig, grid) == offsetof(CUlaunchConfig, gridDimX));
static_assert(offsetof(ours::LaunchConfig, block) == offsetof(CUlaunchConfig, blockDimX));
static_assert(offsetof(ours::LaunchConfig, sharedBytes) == offsetof(CUlaunchConfig, sharedMemBytes));
static_assert(offsetof(ours::LaunchConfig, stream) == offsetof(CUlaunchConfig, hStream));
static_assert(offsetof(ours::LaunchConfig, attributes) == offsetof(CUlaunchConfig, attrs));
static_assert(offsetof(ours::LaunchConfig, attributeCount) == offsetof(CUlaunchConfig, numAttrs));
static_assert(sizeof(pkb_cu_ipc_handle) == sizeof(CUipcMemHandle));
static_assert(sizeof(pkb_cu_ptr) == sizeof(CUdeviceptr));
static_assert(sizeof(pkb_cu_device) == sizeof(CUdevice));
static_assert(sizeof(pkb_cu_result) == sizeof(CUresult));
static_assert(sizeof(pkb_cu_mem_handle) == sizeof(CUmemGenericAllocationHandle));
static_assert(std::is_same<pkb_cu_context, CUcontext>::value && std::is_same<pkb_cu_stream, CUstream>::value);
static_assert(std::is_same<pkb_cu_event, CUevent>::value && std::is_same<pkb_cu_module, CUmodule>::value);
static_assert(std::is_same<pkb_cu_function, CUfunction>::value && std::is_same<pkb_cu_graph, CUgraph>::value);
static_assert(std::is_same<pkb_cu_graph_exec, CUgraphExec>::value);

namespace {

/// Two types are passed the same way: same size, both integers (enums among them) or both pointers or the same struct
/// size.
template <typename A, typename B>
constexpr bool samePassing() {
  if constexpr (std::is_pointer<A>::value || std::is_pointer<B>::value) {
    return std::is_pointer<A>::value && std::is_pointer<B>::value;
  } else {
    return sizeof(A) == sizeof(B) && std::is_class<A>::value == std::is_class<B>::value &&
           std::is_floating_point<A>::value == std::is_floating_point<B>::value;
  }
}

template <typename Ours, typename Theirs>
struct SameCall : std::false_type {};
template <typename R, typename... As, typename S, typename... Bs>
struct SameCall<R (*)(As...), S (*)(Bs...)> {
  static constexpr bool check() {
    if constexpr (sizeof...(As) != sizeof...(Bs)) {
      return false;
    } else {
      return sizeof(R) == sizeof(S) && (samePassing<As, Bs>() && ...);
    }
  }
  static constexpr bool value = check();
};

using E = ours::Entries;
// cuda.h maps a plain name to the version it was written for; those versions are the exported names of DriverAbi.h.
#define PKB_SAME_CALL(member, function)                                                                                \
  static_assert(SameCall<decltype(E::member), decltype(&function)>::value, #function)
PKB_SAME_CALL(getErrorString, cuGetErrorString);
PKB_SAME_CALL(init, cuInit);
PKB_SAME_CALL(driverGetVersion, cuDriverGetVersion);
PKB_SAME_CALL(pointerGetAttributes, cuPointerGetAttributes);
PKB_SAME_CONSTANT(ours::kPointerMemoryType, CU_POINTER_ATTRIBUTE_MEMORY_TYPE);
PKB_SAME_CONSTANT(ours::kPointerDeviceOrdinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL);
PKB_SAME_CONSTANT(ours::kMemoryTypeHost, CU_MEMORYTYPE_HOST);
PKB_SAME_CONSTANT(ours::kMemoryTypeDevice, CU_MEMORYTYPE_DEVICE);
PKB_SAME_CALL(deviceGetCount, cuDeviceGetCount);
PKB_SAME_CALL(deviceGet, cuDeviceGet);
PKB_SAME_CALL(deviceGetName, cuDeviceGetName);
PKB_SAME_CALL(deviceGetAttribute, cuDeviceGetAttribute);
PKB_SAME_CALL(deviceCanAccessPeer, cuDeviceCanAccessPeer);
PKB_SAME_CALL(primaryRetain, cuDevicePrimaryCtxRetain);
PKB_SAME_CALL(primaryRelease, cuDevicePrimaryCtxRelease);
PKB_SAME_CALL(ctxSetCurrent, cuCtxSetCurrent);
PKB_SAME_CALL(ctxGetCurrent, cuCtxGetCurrent);
PKB_SAME_CALL(ctxEnablePeerAccess, cuCtxEnablePeerAccess);
PKB_SAME_CALL(memAlloc, cuMemAlloc);
PKB_SAME_CALL(memFree, cuMemFree);
PKB_SAME_CALL(memHostAlloc, cuMemHostAlloc);
PKB_SAME_CALL(memFreeHost, cuMemFreeHost);
PKB_SAME_CALL(memHostGetDevicePointer, cuMemHostGetDevicePointer);
PKB_SAME_CALL(memsetD8Async, cuMemsetD8Async);
PKB_SAME_CALL(memcpyAsync, cuMemcpyAsync);
PKB_SAME_CALL(memGetAllocationGranularity, cuMemGetAllocationGranularity);
PKB_SAME_CALL(memCreate, cuMemCreate);
PKB_SAME_CALL(memRelease, cuMemRelease);
PKB_SAME_CALL(memExportToShareableHandle, cuMemExportToShareableHandle);
PKB_SAME_CALL(memImportFromShareableHandle, cuMemImportFromShareableHandle);
PKB_SAME_CALL(memAddressReserve, cuMemAddressReserve);
PKB_SAME_CALL(memAddressFree, cuMemAddressFree);
PKB_SAME_CALL(memMap, cuMemMap);
PKB_SAME_CALL(memUnmap, cuMemUnmap);
PKB_SAME_CALL(memSetAccess, cuMemSetAccess);
PKB_SAME_CALL(ipcGetMemHandle, cuIpcGetMemHandle);
PKB_SAME_CALL(ipcOpenMemHandle, cuIpcOpenMemHandle);
PKB_SAME_CALL(ipcCloseMemHandle, cuIpcCloseMemHandle);
PKB_SAME_CALL(streamCreate, cuStreamCreate);
PKB_SAME_CALL(streamDestroy, cuStreamDestroy);
PKB_SAME_CALL(streamSynchronize, cuStreamSynchronize);
PKB_SAME_CALL(streamQuery, cuStreamQuery);
PKB_SAME_CALL(streamWaitEvent, cuStreamWaitEvent);
PKB_SAME_CALL(streamIsCapturing, cuStreamIsCapturing);
PKB_SAME_CALL(streamBeginCapture, cuStreamBeginCapture);
PKB_SAME_CALL(streamEndCapture, cuStreamEndCapture);
PKB_SAME_CALL(threadExchangeCaptureMode, cuThreadExchangeStreamCaptureMode);
PKB_SAME_CALL(eventCreate, cuEventCreate);
PKB_SAME_CALL(eventRecord, cuEventRecord);
PKB_SAME_CALL(eventQuery, cuEventQuery);
PKB_SAME_CALL(eventSynchronize, cuEventSynchronize);
PKB_SAME_CALL(eventElapsedTime, cuEventElapsedTime);
PKB_SAME_CALL(eventDestroy, cuEventDestroy);
PKB_SAME_CALL(launchHostFunc, cuLaunchHostFunc);
PKB_SAME_CALL(moduleLoadData, cuModuleLoadData);
PKB_SAME_CALL(moduleUnload, cuModuleUnload);
PKB_SAME_CALL(moduleGetFunction, cuModuleGetFunction);
PKB_SAME_CALL(occupancyMaxActiveBlocks, cuOccupancyMaxActiveBlocksPerMultiprocessor);
PKB_SAME_CALL(launchKernel, cuLaunchKernel);
PKB_SAME_CALL(graphInstantiate, cuGraphInstantiateWithFlags);
PKB_SAME_CALL(graphLaunch, cuGraphLaunch);
PKB_SAME_CALL(graphDestroy, cuGraphDestroy);
PKB_SAME_CALL(graphExecDestroy, cuGraphExecDestroy);
PKB_SAME_CALL(graphExecKernelNodeSetParams, cuGraphExecKernelNodeSetParams);
PKB_SAME_CALL(graphExecMemcpyNodeSetParams, cuGraphExecMemcpyNodeSetParams);
PKB_SAME_CALL(graphMemcpyNodeGetParams, cuGraphMemcpyNodeGetParams);
PKB_SAME_CALL(streamGetCaptureInfo, cuStreamGetCaptureInfo);
PKB_SAME_CALL(funcLoad, cuFuncLoad);
PKB_SAME_CALL(launchKernelEx, cuLaunchKernelEx);

#define PKB_TEXT_OF(x) #x
#define PKB_TEXT(x) PKB_TEXT_OF(x)

} // namespace

TEST(DriverAbi, versioned_names_are_those_of_the_header) {
  // Where cuda.h maps the plain name to a versioned one, the table must ask for that version.
  EXPECT_STREQ(PKB_TEXT(cuDevicePrimaryCtxRelease), "cuDevicePrimaryCtxRelease_v2");
  EXPECT_STREQ(PKB_TEXT(cuMemAlloc), "cuMemAlloc_v2");
  EXPECT_STREQ(PKB_TEXT(cuMemFree), "cuMemFree_v2");
  EXPECT_STREQ(PKB_TEXT(cuMemHostGetDevicePointer), "cuMemHostGetDevicePointer_v2");
  EXPECT_STREQ(PKB_TEXT(cuIpcOpenMemHandle), "cuIpcOpenMemHandle_v2");
  EXPECT_STREQ(PKB_TEXT(cuStreamDestroy), "cuStreamDestroy_v2");
  EXPECT_STREQ(PKB_TEXT(cuEventDestroy), "cuEventDestroy_v2");
}
#endif

TEST(DriverAbi, a_machine_without_the_library_says_so) {
  const char *why = nullptr;
  const pkb_driver *driver = pkb_driver_real(&why);
  if (driver) {
    EXPECT_STREQ(driver->name, "cuda");
    EXPECT_EQ(driver->emulated, 0);
  } else {
    ASSERT_NE(why, nullptr);
    EXPECT_NE(std::string(why).find("libcuda.so.1"), std::string::npos) << why;
  }
}
