/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Layout of a channel's symmetric region, shared by the compiler, the host run time, the device header and the emulator.
 * Plain C, no includes: it must compile under nvcc, NVRTC, a C compiler and clang. All sizes are bytes.
 *
 * One region per rank of a group, the same offsets on every rank:
 *
 *   [0, PKB_CONTROL_BYTES)    control page, read and written by its owner only: PKB_MAX_BLOCKS epoch cells (u64 each, from
 *                             PKB_EPOCH_OFFSET; block b reads cell b and bumps the cells b, b + grid, b + 2 * grid, ..., so that every
 *                             kernel bumps all of them; a call has ended when the least of them has its number), number of the last
 *                             call that started (u64 at PKB_STARTED_OFFSET, counted up by block 0 for the watchdog alone; may stay 0)
 *   flags                     size * PKB_MAX_BLOCKS lines of PKB_LINE_BYTES; flag (source rank, block) is one u64
 *                             written by `source` only, monotone over the life of the region
 *   LL lines                  2 parities * size sources * pkb_ll_slot_bytes(size); holds LL lines and nothing else, ever
 *   staging                   2 parities of equal size; holds what the running program's kernels put there
 */
#ifndef PKB_RT_LAYOUT_H
#define PKB_RT_LAYOUT_H

#define PKB_MANIFEST_MAJOR 1
#define PKB_MANIFEST_MINOR 1
/* Changes with everything that compiled kernels and the host must agree on: this layout and the header of kernel arguments. */
#define PKB_LAYOUT_VERSION 2

#define PKB_MAX_RANKS 64
#define PKB_MAX_BLOCKS 256
#define PKB_LINE_BYTES 128
#define PKB_CONTROL_BYTES 4096
#define PKB_EPOCH_OFFSET 0
#define PKB_STARTED_OFFSET 2048
#define PKB_DEFAULT_ARENA_BYTES (256ll << 20)
/* A flag's value is (epoch << PKB_PROGRESS_BITS) + number of chunks that its block has signalled in this call. */
#define PKB_PROGRESS_BITS 24

#if defined(__CUDACC__)
#define PKB_LAYOUT_FN __host__ __device__ static __forceinline__
#else
#define PKB_LAYOUT_FN static inline
#endif

PKB_LAYOUT_FN long long pkb_flags_offset(void) { return PKB_CONTROL_BYTES; }

/* Offset of the flag that `source` writes for `block`. */
PKB_LAYOUT_FN long long pkb_flag_offset(int source, long long block) {
  return pkb_flags_offset() + ((long long)source * PKB_MAX_BLOCKS + block) * PKB_LINE_BYTES;
}

/* LL lines: a message is packed 48 bytes to four lines of 16, whole groups of 32 such vectors (PKB_PACK_GROUP) to a chunk; or, where its chunks are
 * no whole groups, 16 bytes to two lines. */
#define PKB_PACK_BYTES 48
#define PKB_PACK_GROUP (32 * PKB_PACK_BYTES)

/* Bytes of the lines that carry `payload` bytes. */
PKB_LAYOUT_FN long long pkb_ll_line_bytes(long long payload, int packed) {
  return packed ? (payload + PKB_PACK_GROUP - 1) / PKB_PACK_GROUP * (PKB_PACK_GROUP / 3 * 4) : (payload + 15) / 16 * 32;
}

/* Bytes of LL lines per (parity, source): few ranks have room for a packed MiB. */
PKB_LAYOUT_FN long long pkb_ll_slot_bytes(int size) {
  return size <= 4 ? (3ll << 19) : size <= 8 ? (1ll << 20) : ((8ll << 20) / size) / 4096 * 4096;
}

/* The longest message that fits, packed. */
PKB_LAYOUT_FN long long pkb_ll_payload_bytes(int size) { return pkb_ll_slot_bytes(size) / (PKB_PACK_GROUP / 3 * 4) * PKB_PACK_GROUP; }

PKB_LAYOUT_FN long long pkb_ll_offset(int size, int parity, int source) {
  return pkb_flags_offset() + (long long)size * PKB_MAX_BLOCKS * PKB_LINE_BYTES +
         ((long long)parity * size + source) * pkb_ll_slot_bytes(size);
}

PKB_LAYOUT_FN long long pkb_stage_offset(int size) { return pkb_ll_offset(size, 2, 0); }

/* Bytes of one staging parity in a region of `region` bytes; a multiple of PKB_LINE_BYTES. */
PKB_LAYOUT_FN long long pkb_stage_bytes(int size, long long region) {
  long long both = region - pkb_stage_offset(size);
  return both <= 0 ? 0 : both / 2 / PKB_LINE_BYTES * PKB_LINE_BYTES;
}

#endif
