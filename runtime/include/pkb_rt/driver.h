/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The one function table through which the run time calls CUDA. Filled from libcuda.so.1 by the real driver
 * (pkb_driver_real) and by the emulator (pkb_rt/emu.h). Types are ABI-compatible with cuda.h of CUDA 12 and 13,
 * declared here so that the run time and the emulator build without a CUDA toolkit. Every entry returns a CUresult (0 =
 * success).
 */
#ifndef PKB_RT_DRIVER_H
#define PKB_RT_DRIVER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef int pkb_cu_result;
typedef int pkb_cu_device;
typedef unsigned long long pkb_cu_ptr;
typedef struct CUctx_st *pkb_cu_context;
typedef struct CUstream_st *pkb_cu_stream;
typedef struct CUevent_st *pkb_cu_event;
typedef struct CUmod_st *pkb_cu_module;
typedef struct CUfunc_st *pkb_cu_function;
typedef struct CUgraph_st *pkb_cu_graph;
typedef struct CUgraphNode_st *pkb_cu_graph_node;
typedef struct CUgraphExec_st *pkb_cu_graph_exec;
typedef unsigned long long pkb_cu_mem_handle;
typedef struct pkb_cu_ipc_handle {
  char reserved[64];
} pkb_cu_ipc_handle;

struct pkb_nccl;

enum { PKB_MEMORY_HOST = -1, PKB_MEMORY_UNKNOWN = -2 };

typedef struct pkb_driver {
  const char *name; /* "cuda" or "emulated" */
  int emulated;     /* 1: device memory is host memory, modules are host objects */
  void *impl;
  /* Text for a result, never NULL. */
  const char *(*error_string)(pkb_cu_result);

  pkb_cu_result (*init)(void);
  pkb_cu_result (*device_count)(int *);
  pkb_cu_result (*device_get)(pkb_cu_device *, int ordinal);
  pkb_cu_result (*device_name)(char *, int, pkb_cu_device);
  pkb_cu_result (*device_attribute)(int *, int attribute, pkb_cu_device); /* CUdevice_attribute values */
  pkb_cu_result (*can_access_peer)(int *, pkb_cu_device, pkb_cu_device);
  pkb_cu_result (*primary_ctx_retain)(pkb_cu_context *, pkb_cu_device);
  pkb_cu_result (*primary_ctx_release)(pkb_cu_device);
  pkb_cu_result (*ctx_set_current)(pkb_cu_context);
  pkb_cu_result (*ctx_get_current)(pkb_cu_context *);
  pkb_cu_result (*ctx_enable_peer_access)(pkb_cu_context peer);

  pkb_cu_result (*mem_alloc)(pkb_cu_ptr *, size_t);
  pkb_cu_result (*mem_free)(pkb_cu_ptr);
  pkb_cu_result (*mem_host_alloc)(void **, size_t, unsigned flags);
  pkb_cu_result (*mem_host_free)(void *);
  pkb_cu_result (*mem_host_device_ptr)(pkb_cu_ptr *, void *);
  pkb_cu_result (*memset_d8_async)(pkb_cu_ptr, unsigned char, size_t, pkb_cu_stream);
  pkb_cu_result (*memcpy_async)(pkb_cu_ptr dst, pkb_cu_ptr src, size_t, pkb_cu_stream); /* any direction */

  /* Virtual memory with POSIX file descriptors. On the emulator a descriptor is real (memfd). `props` in the real
   * driver is CUmemAllocationProp{pinned, posix fd, device}. */
  pkb_cu_result (*vmm_granularity)(size_t *, pkb_cu_device);
  pkb_cu_result (*vmm_create)(pkb_cu_mem_handle *, size_t, pkb_cu_device);
  pkb_cu_result (*vmm_export_fd)(int *fd, pkb_cu_mem_handle);
  pkb_cu_result (*vmm_import_fd)(pkb_cu_mem_handle *, int fd);
  pkb_cu_result (*vmm_map)(pkb_cu_ptr *, size_t, pkb_cu_mem_handle,
                           pkb_cu_device access_from); /* reserve + map + set access */
  pkb_cu_result (*vmm_unmap)(pkb_cu_ptr, size_t);
  pkb_cu_result (*vmm_release)(pkb_cu_mem_handle);
  pkb_cu_result (*ipc_get)(pkb_cu_ipc_handle *, pkb_cu_ptr);
  pkb_cu_result (*ipc_open)(pkb_cu_ptr *, pkb_cu_ipc_handle);
  pkb_cu_result (*ipc_close)(pkb_cu_ptr);

  pkb_cu_result (*stream_create)(pkb_cu_stream *, unsigned flags);
  pkb_cu_result (*stream_destroy)(pkb_cu_stream);
  pkb_cu_result (*stream_synchronize)(pkb_cu_stream);
  pkb_cu_result (*stream_query)(pkb_cu_stream);
  pkb_cu_result (*stream_wait_event)(pkb_cu_stream, pkb_cu_event);
  pkb_cu_result (*stream_is_capturing)(pkb_cu_stream, int *capturing);
  pkb_cu_result (*event_create)(pkb_cu_event *, unsigned flags);
  pkb_cu_result (*event_record)(pkb_cu_event, pkb_cu_stream);
  pkb_cu_result (*event_query)(pkb_cu_event);
  pkb_cu_result (*event_synchronize)(pkb_cu_event);
  pkb_cu_result (*event_elapsed_ms)(float *, pkb_cu_event, pkb_cu_event);
  pkb_cu_result (*event_destroy)(pkb_cu_event);
  pkb_cu_result (*launch_host_func)(pkb_cu_stream, void (*)(void *), void *);

  /* Real: a cubin image. Emulated: `image` is the path of a host shared object, NUL-terminated. */
  pkb_cu_result (*module_load)(pkb_cu_module *, const void *image, size_t bytes);
  pkb_cu_result (*module_unload)(pkb_cu_module);
  pkb_cu_result (*module_function)(pkb_cu_function *, pkb_cu_module, const char *name);
  pkb_cu_result (*function_occupancy)(int *blocks_per_sm, pkb_cu_function, int threads, size_t shared_bytes);
  /* One kernel parameter, passed by value. */
  pkb_cu_result (*launch)(pkb_cu_function, unsigned grid, unsigned block, unsigned shared_bytes, pkb_cu_stream,
                          const void *param, size_t param_bytes);

  pkb_cu_result (*capture_begin)(pkb_cu_stream);
  pkb_cu_result (*capture_end)(pkb_cu_stream, pkb_cu_graph *);
  pkb_cu_result (*graph_instantiate)(pkb_cu_graph_exec *, pkb_cu_graph);
  pkb_cu_result (*graph_launch)(pkb_cu_graph_exec, pkb_cu_stream);
  pkb_cu_result (*graph_destroy)(pkb_cu_graph);
  pkb_cu_result (*graph_exec_destroy)(pkb_cu_graph_exec);
  /* The node that the last operation enqueued on a stream under capture became. Valid in the executable graph too. */
  pkb_cu_result (*capture_last_node)(pkb_cu_stream, pkb_cu_graph_node *);
  /* Other arguments for later launches of the graph; one under way keeps its own. Function and geometry as captured. */
  pkb_cu_result (*graph_exec_set_launch)(pkb_cu_graph_exec, pkb_cu_graph_node, pkb_cu_function, unsigned grid,
                                         unsigned block, const void *param, size_t param_bytes);
  /* Likewise for a copy within one device. */
  pkb_cu_result (*graph_exec_set_copy)(pkb_cu_graph_exec, pkb_cu_graph_node, pkb_cu_ptr dst, pkb_cu_ptr src, size_t);

  /* May be NULL. The calling thread's driver calls no longer count as unsafe for a capture that another thread has
   * under way. */
  pkb_cu_result (*thread_relax_capture)(void);
  /* May be NULL. 13000 for CUDA 13.0. */
  pkb_cu_result (*driver_version)(int *);

  /* The emulator's NCCL (pkb_rt/nccl.h); NULL: that of libnccl.so.2. */
  const struct pkb_nccl *nccl;

  /* May be NULL. Where memory lies: a device, PKB_MEMORY_HOST if any device may use it, or PKB_MEMORY_UNKNOWN. */
  pkb_cu_result (*pointer_device)(pkb_cu_device *, pkb_cu_ptr);
} pkb_driver;

#ifndef PKB_API
#define PKB_API __attribute__((visibility("default")))
#endif

/* The real driver, loaded on first use; NULL with a reason in *why ("libcuda.so.1 not found: ...") where there is none.
 */
PKB_API const pkb_driver *pkb_driver_real(const char **why);

#ifdef __cplusplus
}
#endif
#endif
