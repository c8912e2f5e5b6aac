/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Interface between a program built for the emulator and the emulator: plain C, included by both. A host object gets the table once,
 * through `pkb_bind_hooks`; the table is the same for all emulators of a process (the current one is a thread-local of the caller). */
#ifndef PKB_RT_DEVICE_EMULATED_H
#define PKB_RT_DEVICE_EMULATED_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PKB_EMU_HOOKS_VERSION 2

/* What a mutant does at its site. Where a kind means nothing for a primitive, the primitive runs unchanged. */
typedef enum pkb_emu_mutant_kind {
  PKB_MUTANT_NONE = 0,
  PKB_MUTANT_DROP = 1,   /* the primitive does nothing; a dropped load_ll takes the line whatever its epochs say */
  PKB_MUTANT_RELAX = 2,  /* release, acquire, acq_rel become relaxed */
  PKB_MUTANT_NARROW = 3, /* scope sys becomes gpu, gpu becomes cta */
  PKB_MUTANT_VALUE = 4,  /* signal says one more than it did, wait asks for one less, LL lines carry / accept the epoch before */
  PKB_MUTANT_PEER = 5,   /* signal to, wait for, the next rank instead of the one asked for */
  PKB_MUTANT_PARITY = 6, /* epoch_begin returns 2 * epoch: flags stay monotone, but every call uses parity 0 */
  PKB_MUTANT_KINDS = 7
} pkb_emu_mutant_kind;

/* The running fiber, as the program sees it. */
typedef struct pkb_emu_thread {
  int64_t block, blocks;
  int32_t thread, threads;
  int32_t proof;       /* 1: every load and store goes through the hooks; 0: data moves directly */
  int32_t reserved;
  int32_t mutant_site; /* site of this run's mutant on this device, -1: none */
  int32_t mutant_kind;
} pkb_emu_thread;

/* Why a fiber spins; kept for the deadlock report. */
typedef struct pkb_emu_spin {
  int32_t op, site;
  const void *address;           /* of the polled word */
  int64_t rank, source, block;   /* who waits, for whom (source < 0: not known), for which block */
  uint64_t expected, seen;
  const volatile uint32_t *abort; /* may be null */
} pkb_emu_spin;

typedef struct pkb_emu_hooks {
  uint32_t version; /* PKB_EMU_HOOKS_VERSION */
  const pkb_emu_thread *(*self)(void);
  /* Moves `bytes` (1, 2, 4, 8, 16) under the semantics of row `op`. */
  void (*load)(int op, int site, void *to, const void *from, uint32_t bytes);
  void (*store)(int op, int site, void *to, const void *from, uint32_t bytes);
  void (*barrier)(int op, int site);
  /* After a poll that failed: suspends the fiber until the polled word may have changed. 0: leave the spin. */
  int (*spin)(const pkb_emu_spin *spin);
} pkb_emu_hooks;

#ifdef __cplusplus
}

namespace pkb_hooks {
constexpr uint32_t mix(uint32_t hash, const char *text) {
  while (*text)
    hash = (hash ^ uint8_t(*text++)) * 16777619u;
  return hash;
}
/* Version of this table and of the rows of ops.def, whose numbers are part of it. A host object carries it as `pkb_hooks_version`; the emulator loads
 * no object of another version. */
constexpr uint32_t version() {
  uint32_t hash = 2166136261u + PKB_EMU_HOOKS_VERSION;
#define PKB_DEVICE_OP(id, function, ptx, semantics, scope, proxy, kind) hash = mix(hash, #id "," #semantics "," #scope ";");
#include "pkb_rt/device/ops.def"
  return hash;
}
} // namespace pkb_hooks
#endif
#endif
