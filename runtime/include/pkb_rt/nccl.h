/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The one function table through which the run time calls NCCL. Filled from libnccl.so.2 (NCCL 2.10 or newer; torch ships it) by the
 * real driver's side, and by the emulator, whose collectives are a rendezvous of its streams. Types are ABI-compatible with nccl.h,
 * declared here so that nothing needs it at build time. Every entry returns an ncclResult_t (0 = success).
 */
#ifndef PKB_RT_NCCL_H
#define PKB_RT_NCCL_H

#include "pkb_rt/driver.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ncclComm *pkb_nccl_comm;
typedef struct pkb_nccl_id {
  char bytes[128];
} pkb_nccl_id;

/* ncclDataType_t. */
enum {
  PKB_NCCL_I8 = 0,
  PKB_NCCL_U8 = 1,
  PKB_NCCL_I32 = 2,
  PKB_NCCL_I64 = 4,
  PKB_NCCL_F16 = 6,
  PKB_NCCL_F32 = 7,
  PKB_NCCL_F64 = 8,
  PKB_NCCL_BF16 = 9
};

/* ncclRedOp_t. Values from PKB_NCCL_OPS on are made by red_op_premul_sum. */
enum { PKB_NCCL_SUM = 0, PKB_NCCL_PROD = 1, PKB_NCCL_MAX = 2, PKB_NCCL_MIN = 3, PKB_NCCL_AVG = 4, PKB_NCCL_OPS = 5 };

/* Counts are elements; `send` and `receive` buffers are device memory; roots and peers are ranks of the communicator. */
typedef struct pkb_nccl {
  const char *(*error_string)(int result);
  int (*version)(int *); /* 22809 for NCCL 2.28.9 */
  int (*unique_id)(pkb_nccl_id *);
  int (*comm_init_rank)(pkb_nccl_comm *, int ranks, pkb_nccl_id, int rank); /* on the current device; waits for all ranks */
  int (*comm_destroy)(pkb_nccl_comm);
  int (*comm_abort)(pkb_nccl_comm); /* also ends what is in flight */
  int (*group_start)(void);
  int (*group_end)(void);
  int (*all_reduce)(const void *send, void *receive, size_t count, int dtype, int op, pkb_nccl_comm, pkb_cu_stream);
  int (*reduce_scatter)(const void *send, void *receive, size_t receive_count, int dtype, int op, pkb_nccl_comm, pkb_cu_stream);
  int (*all_gather)(const void *send, void *receive, size_t send_count, int dtype, pkb_nccl_comm, pkb_cu_stream);
  int (*broadcast)(const void *send, void *receive, size_t count, int dtype, int root, pkb_nccl_comm, pkb_cu_stream);
  int (*reduce)(const void *send, void *receive, size_t count, int dtype, int op, int root, pkb_nccl_comm, pkb_cu_stream);
  int (*send)(const void *, size_t count, int dtype, int peer, pkb_nccl_comm, pkb_cu_stream);
  int (*receive)(void *, size_t count, int dtype, int peer, pkb_nccl_comm, pkb_cu_stream);
  /* `scalar` is host memory (residence 1), read before it returns. */
  int (*red_op_premul_sum)(int *op, void *scalar, int dtype, int residence, pkb_nccl_comm);
  int (*red_op_destroy)(int op, pkb_nccl_comm);
} pkb_nccl;

#ifdef __cplusplus
}
#endif
#endif
