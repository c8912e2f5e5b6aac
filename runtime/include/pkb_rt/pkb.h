/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The C interface of the run time. Thread safety: a context and what is loaded into it belong to one thread at a time;
 * contexts share nothing (emulated ranks are threads of one process).
 *
 * Every function that can fail returns a pkb_status; pkb_last_error() then holds one line that names the thing and what
 * to do.
 */
#ifndef PKB_RT_PKB_H
#define PKB_RT_PKB_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef PKB_API
#define PKB_API __attribute__((visibility("default")))
#endif

#define PKB_ABI_VERSION 1
#define PKB_MAX_DIMS 16

typedef enum pkb_status {
  PKB_OK = 0,
  PKB_ERROR_ARGUMENT = 1,  /* a caller's mistake: null pointer, wrong count, wrong size */
  PKB_ERROR_PROGRAM = 2,   /* artefact missing, damaged, of another version, world size or machine */
  PKB_ERROR_GUARD = 3,     /* the arguments are outside of what the program was compiled for; nothing was launched */
  PKB_ERROR_DEVICE = 4,    /* the CUDA driver refused: no device, no peer access, out of memory, launch failure */
  PKB_ERROR_BOOTSTRAP = 5, /* ranks could not meet: peer missing, other program, socket closed, timeout */
  PKB_ERROR_PEER_LOST = 6, /* a peer died, or the watchdog's time ran out, while a call was in flight */
  PKB_ERROR_ATEN = 7,      /* libtorch missing, or an operator failed */
  PKB_ERROR_INTERNAL = 8
} pkb_status;

/* torch dtypes; the names in manifests are torch's. Complex numbers are pairs. */
typedef enum pkb_dtype {
  PKB_F64,
  PKB_F32,
  PKB_F16,
  PKB_BF16,
  PKB_I8,
  PKB_I16,
  PKB_I32,
  PKB_I64,
  PKB_U8,
  PKB_BOOL,
  PKB_F8E4M3FN,
  PKB_F8E5M2,
  PKB_C64,
  PKB_C128,
  PKB_DTYPE_COUNT
} pkb_dtype;

/* A strided view of memory on the context's device (host memory on emulated ranks). Sizes and strides in elements. */
typedef struct pkb_tensor {
  void *data;
  int32_t dtype; /* pkb_dtype */
  int32_t ndim;  /* 0..PKB_MAX_DIMS */
  int64_t sizes[PKB_MAX_DIMS];
  int64_t strides[PKB_MAX_DIMS];
} pkb_tensor;

typedef struct pkb_context pkb_context;
typedef struct pkb_program pkb_program;
struct pkb_driver; /* pkb_rt/driver.h */

typedef struct pkb_context_desc {
  uint32_t abi_version; /* PKB_ABI_VERSION */
  int32_t rank, world_size;
  int32_t device;                  /* ordinal */
  const struct pkb_driver *driver; /* NULL: the real one (libcuda.so.1) */
  const char
      *rendezvous; /* directory of Unix sockets, the same on all ranks, made by the caller; short path (< 90 bytes) */
  int64_t arena_bytes; /* 0: PKB_DEFAULT_ARENA_BYTES, or $PKB_ARENA_MIB; negative: PKB_ERROR_ARGUMENT */
  double timeout_s;    /* 0: $PKB_TIMEOUT_S, else 600; bootstrap and calls. Negative, above 1e9 or no number: PKB_ERROR_ARGUMENT */
  int32_t debug;       /* 1: spins also end by themselves, after $PKB_SPIN_LIMIT polls */
} pkb_context_desc;

/* The time limit that PKB_TIMEOUT_S asks for, in seconds; the default if it is empty or not set. PKB_ERROR_ARGUMENT if it is no such number. */
PKB_API pkb_status pkb_default_timeout(double *seconds);
/* Meets the other ranks, makes and maps the arena. Collective over world_size ranks. */
PKB_API pkb_status pkb_context_create(const pkb_context_desc *desc, pkb_context **out);
/* Waits for calls in flight, meets the other ranks, unmaps. Collective. */
PKB_API void pkb_context_destroy(pkb_context *context);
/* Leaves without meeting anyone: spins of this rank end, its sockets close, and the peers learn of it. For a rank that
 * failed outside of the run time; `reason` goes into later messages. The context can then only be synchronized and
 * destroyed. */
PKB_API void pkb_context_abort(pkb_context *context, const char *reason);
/* The last message of this thread; "" if none. Also valid after a failed pkb_context_create. */
PKB_API const char *pkb_last_error(void);

/* Loads a program from an artefact `.pkx` (nothing is compiled where it has kernels for the device), or from an emitted
 * `.cu` (compiled through NVRTC, or the host compiler on the fake driver, and cached). Collective: all ranks must load
 * the same program id, checked. `cache_dir` may be NULL ($PKB_CACHE_DIR, else ~/.cache/pkb). */
PKB_API pkb_status pkb_program_load(pkb_context *context, const char *path, const char *cache_dir, pkb_program **out);
PKB_API void pkb_program_unload(pkb_program *program);
PKB_API pkb_context *pkb_program_context(const pkb_program *program);

PKB_API int32_t pkb_program_input_count(const pkb_program *program);
PKB_API int32_t pkb_program_output_count(const pkb_program *program);
/* Shape of argument or output i, data == NULL. *alias_of (may be NULL) is -1 for an output with memory of its own, the
 * index of the argument of which it is (a view of) the memory, or the number of arguments + the index of such an
 * output; the latter two need no memory from the caller. */
PKB_API pkb_status pkb_program_input(const pkb_program *program, int32_t i, pkb_tensor *out);
PKB_API pkb_status pkb_program_output(const pkb_program *program, int32_t i, pkb_tensor *out, int32_t *alias_of);
/* 1 if a call changes what lies in argument i, 0 if it only reads it, or there is no such argument. */
PKB_API int32_t pkb_program_input_written(const pkb_program *program, int32_t i);
PKB_API const char *pkb_program_manifest(const pkb_program *program); /* JSON text */
/* What went otherwise than it should while loading, although it succeeded (say a cache that cannot be written): lines of
 * text; "" if nothing. */
PKB_API const char *pkb_program_notes(const pkb_program *program);
/* Kernel launches and operator calls that one call enqueues on this rank. */
PKB_API int32_t pkb_program_launch_count(const pkb_program *program);

/* Tells the other ranks that this rank cannot make its next call, for a reason that only the caller can see (say its
 * arguments are no tensors). PKB_ERROR_GUARD once all ranks have refused that call, in one way or the other;
 * PKB_ERROR_PEER_LOST if some made it. */
PKB_API pkb_status pkb_program_refuse(pkb_program *program, const char *reason);

/* Enqueues one call on `stream` (a CUstream; NULL: the legacy default stream). Outputs are the caller's memory, except
 * aliases, whose entries are filled in. No allocation by the run time, no host synchronisation. All ranks must call in
 * the same order. PKB_ERROR_GUARD or PKB_ERROR_ARGUMENT: nothing was launched, on any rank (a refusal waits for the
 * other ranks' refusals, and is PKB_ERROR_PEER_LOST if one of them accepted the call). Any other error of a call ends
 * the context on all ranks. Calls on different streams are in flight together and share nothing; which stream of one
 * rank belongs to which of another follows from the programs that are called on them first (docs/Rationale/HostRuntime.md);
 * ranks that make those first calls in another order get PKB_ERROR_PEER_LOST. */
PKB_API pkb_status pkb_program_call(pkb_program *program, void *stream, const pkb_tensor *inputs, int32_t n_inputs,
                                    pkb_tensor *outputs, int32_t n_outputs);
/* Waits for `stream` and reports what the watchdog saw (PKB_ERROR_PEER_LOST with rank, kernel, flag, expected, seen).
 */
PKB_API pkb_status pkb_context_synchronize(pkb_context *context, void *stream);

/* Artefacts (docs/Rationale/Artefact.md): one file with a program, its constants, its compiled kernels and whatever else
 * the writer puts in. None of this needs a context or a device. */

typedef struct pkb_artefact pkb_artefact;

/* A file that goes into an artefact, under `name` ("source/model.py"). */
typedef struct pkb_artefact_file {
  const char *name;
  const void *data;
  size_t bytes;
} pkb_artefact_file;

typedef struct pkb_artefact_desc {
  const char *text; /* of the emitted .cu, with its manifest */
  size_t text_bytes;
  const void *data; /* X.cu.data; NULL if the manifest names none */
  size_t data_bytes;
  const pkb_artefact_file *files;
  int32_t n_files;
  /* Told what the artefact does without, for instance compiled kernels where there is no nvcc. May be NULL. */
  void (*note)(void *user, const char *text);
  void *user;
} pkb_artefact_desc;

/* Compiles the kernels (cubin for sm_90a and PTX for sm_100a with nvcc, a host object for the fake driver) and writes
 * the artefact, whole or not at all. */
PKB_API pkb_status pkb_artefact_write(const pkb_artefact_desc *desc, const char *path);
/* Reads an artefact; PKB_ERROR_PROGRAM if it is cut off, damaged, edited, or of a version that this library does not
 * know. */
PKB_API pkb_status pkb_artefact_open(const char *path, pkb_artefact **out);
PKB_API void pkb_artefact_close(pkb_artefact *artefact);
/* Its members in order of their names, but the index; NULL behind the last. The text is "program.cu". */
PKB_API const char *pkb_artefact_name(const pkb_artefact *artefact, int32_t i);
/* The bytes of a member, valid until the artefact is closed; PKB_ERROR_ARGUMENT if there is none of that name. */
PKB_API pkb_status pkb_artefact_member(const pkb_artefact *artefact, const char *name, const void **data,
                                       size_t *bytes);

#ifdef __cplusplus
}
#endif
#endif
