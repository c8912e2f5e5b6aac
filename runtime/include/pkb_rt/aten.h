/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The C table through which the run time and the rank interpreter reach libtorch: any ATen operator, named by its
 * schema, on tensors that stand in numbered slots. Implemented by libpkb_aten.so (runtime/aten), which is opened only
 * for programs that call operators; without it everything else works.
 *
 * A plan is what is constant of a program: its slots and its prepared steps. A frame is one call in flight: it holds a
 * tensor per slot. Functions that can fail return PKB_ATEN_FAILED and write one line into `error` (of `error_bytes`).
 */
#ifndef PKB_RT_ATEN_H
#define PKB_RT_ATEN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef PKB_API
#define PKB_API __attribute__((visibility("default")))
#endif

#define PKB_ATEN_ABI_VERSION 3

enum {
  PKB_ATEN_DONE = 0, /* the operator has run, or is in the stream */
  PKB_ATEN_FAILED = 1,
  PKB_ATEN_PENDING = 2 /* CPU only: results have their memory; `execute` must run when the stream gets there */
};

typedef enum pkb_aten_memory {
  PKB_ATEN_BOUND =
      0, /* the caller binds memory before each call (argument, output, temporary, constant, views of them) */
  PKB_ATEN_OWN = 1, /* an operator makes it */
  PKB_ATEN_VIEW = 2 /* a view of an OWN slot */
} pkb_aten_memory;

typedef struct pkb_aten_slot {
  int32_t dtype; /* pkb_dtype */
  int32_t ndim;
  const int64_t *sizes, *strides; /* elements */
  int32_t memory;                 /* pkb_aten_memory */
  int32_t root;                   /* VIEW: the OWN slot */
  int64_t offset;                 /* VIEW: bytes from its start */
  int32_t host;                   /* OWN, VIEW: 1 if the memory is the host's, whatever device the plan is for */
} pkb_aten_slot;

typedef struct pkb_aten_plan pkb_aten_plan;
typedef struct pkb_aten_frame pkb_aten_frame;
typedef struct pkb_aten_capture pkb_aten_capture;

typedef struct pkb_aten_api {
  uint32_t abi_version; /* PKB_ATEN_ABI_VERSION */
  const char *(*torch_version)(void);

  /* Slots are copied. `cuda` 1: tensors live on CUDA device `device`; 0: on the CPU, where operators run
   * single-threaded. */
  int (*plan_create)(const pkb_aten_slot *slots, int32_t n_slots, int32_t cuda, int32_t device, pkb_aten_plan **out,
                     char *error, size_t error_bytes);
  /* Prepares a step of the manifest ("kind": "aten" or "copy") given as JSON text, and gives it the next number from 0.
   */
  int (*plan_add)(pkb_aten_plan *plan, const char *json, char *error, size_t error_bytes);
  void (*plan_destroy)(pkb_aten_plan *plan);

  int (*frame_create)(pkb_aten_plan *plan, pkb_aten_frame **out, char *error, size_t error_bytes);
  void (*frame_bind)(pkb_aten_frame *frame, int32_t slot, void *data);
  /* Address of the slot's first element; NULL if the slot has no tensor yet, or an empty one. */
  void *(*frame_data)(pkb_aten_frame *frame, int32_t slot);
  /* Runs step `step` on `stream` (a cudaStream_t; CPU: ignored). */
  int (*run)(pkb_aten_frame *frame, int32_t step, void *stream, char *error, size_t error_bytes);
  /* Runs what `run` left pending. Any thread. */
  int (*execute)(pkb_aten_frame *frame, int32_t step, char *error, size_t error_bytes);
  /* Drops the tensors that operators made; bound memory stays bound. */
  void (*frame_reset)(pkb_aten_frame *frame);
  void (*frame_destroy)(pkb_aten_frame *frame);

  /* 1 if step `step` draws random numbers: a replay would draw the same ones. */
  int (*step_is_random)(pkb_aten_plan *plan, int32_t step);
  /* CUDA only. Starts to capture `stream` (a cudaStream_t, not the default one) into a graph that owns what operators
   * allocate meanwhile. */
  int (*capture_begin)(pkb_aten_plan *plan, void *stream, pkb_aten_capture **out, char *error, size_t error_bytes);
  /* Ends it and gives the executable graph, which lives until `capture_destroy`. */
  int (*capture_end)(pkb_aten_plan *plan, pkb_aten_capture *capture, void *stream, void **exec, char *error,
                     size_t error_bytes);
  void (*capture_destroy)(pkb_aten_capture *capture);
} pkb_aten_api;

/* The table; never NULL. */
PKB_API const pkb_aten_api *pkb_aten_table(void);

#ifdef __cplusplus
}
#endif
#endif
