/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The emulator: a CUDA driver without GPUs behind the function table of pkb_rt/driver.h. Device memory is host memory, a kernel's threads are
 * fibers, and one scheduler thread runs the fibers of all devices of one emulator in an order that the seed decides.
 *
 * Built as libpkb_emu.so (CMake target PkbEmu, runtime/emu); needs boost.context at build time (linked statically) and nothing of CUDA, MLIR or torch. Link
 * `PkbEmu`, or dlopen libpkb_emu.so and look up pkb_emu_create, pkb_emu_driver, pkb_emu_destroy. A program for it is an emitted `.cu` built as
 *
 *   c++ -x c++ -std=c++17 -O2 -DPKB_EMULATED=1 -shared -fPIC -Iruntime/include X.cu -o X.emu.so
 *
 * and handed to module_load as a path. Any host thread may call the table; the current device is per thread, as in CUDA.
 *
 * Ranks are threads of one process, or (value mode) processes with an emulator each, which share what they export as file descriptors.
 *
 * Error codes are CUresult values. A deadlock or (proof mode) a broken ordering rule is reported once to the options' `report` and from then on every
 * stream operation of every device returns 719 (CUDA_ERROR_LAUNCH_FAILED); pkb_emu_report() gives the text. */
#ifndef PKB_RT_EMU_H
#define PKB_RT_EMU_H

#include "pkb_rt/device/emulated.h"
#include "pkb_rt/driver.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PKB_EMU_MAX_DEVICES 64
/* Emulators that can exist in one process at one time. */
#define PKB_EMU_MAX_INSTANCES 16

typedef struct pkb_emu pkb_emu;

typedef enum pkb_emu_mode {
  PKB_EMU_VALUE = 0, /* one fiber per block, one thread per block; data moves at full speed */
  PKB_EMU_PROOF = 1, /* one fiber per thread, store buffers, clocks: slow, finds ordering mistakes */
  PKB_EMU_AUTO = 2   /* decided at the first launch: proof if the emulator's tensor allocations together are at most 1 MiB */
} pkb_emu_mode;

/* What a finding is. Values are stable. */
typedef enum pkb_emu_finding {
  PKB_EMU_OK = 0,
  PKB_EMU_DEADLOCK = 1,      /* nothing can run and no host thread adds work */
  PKB_EMU_RACE = 2,          /* two accesses, one a write, that no order separates */
  PKB_EMU_UNINITIALISED = 3, /* region memory read that nobody wrote */
  PKB_EMU_BARRIER = 4,       /* a thread of a block ended while others wait at a barrier */
  PKB_EMU_BOUNDS = 5         /* access outside of any allocation of the device, or of a freed one */
} pkb_emu_finding;

typedef struct pkb_emu_options {
  uint32_t struct_bytes; /* sizeof(pkb_emu_options), set by pkb_emu_default_options */
  int32_t devices;       /* 1..PKB_EMU_MAX_DEVICES */
  uint64_t seed;
  int32_t mode;          /* pkb_emu_mode */
  int32_t proof_threads; /* threads per block in proof mode, default 4 */
  int32_t sms;           /* per device, default 132 */
  int32_t blocks_per_sm; /* resident at once, default 1 */
  uint64_t no_peer[PKB_EMU_MAX_DEVICES]; /* bit b of word a: device a cannot access device b */
  uint64_t dead;         /* bit d: every call on device d fails with 46 (CUDA_ERROR_DEVICE_UNAVAILABLE) */
  int32_t memory_model;  /* proof mode: 1 = stores may stay invisible until released (default), 0 = visible at once */
  int32_t races;         /* proof mode: 1 = race and uninitialised-read detection (default) */
  double idle_s;         /* how long nothing may progress before a deadlock is reported, default 10 */
  int32_t mutant_site;   /* site of the mutant, -1 = none (default) */
  int32_t mutant_kind;   /* pkb_emu_mutant_kind */
  int32_t mutant_device; /* the device it sits on, -1 = all (default) */
  void (*report)(void *user, int finding, const char *text); /* called on the scheduler thread; null: text to stderr */
  void *report_user;
} pkb_emu_options;

PKB_API void pkb_emu_default_options(pkb_emu_options *options);

/* NULL with a reason in *why (static text) for bad options or too many emulators. */
PKB_API pkb_emu *pkb_emu_create(const pkb_emu_options *options, const char **why);
/* Ends all work (spins leave at once) and frees all memory. No other thread may be inside a call of its table. */
PKB_API void pkb_emu_destroy(pkb_emu *emu);
PKB_API const pkb_driver *pkb_emu_driver(pkb_emu *emu);

/* While held, work is accepted and nothing runs: with all work enqueued before the release, a run depends on the seed alone. Holds nest. */
PKB_API void pkb_emu_hold(pkb_emu *emu);
PKB_API void pkb_emu_release(pkb_emu *emu);
/* From now on device d runs nothing more: its kernels stop where they are, its calls fail with 46. */
PKB_API void pkb_emu_kill_device(pkb_emu *emu, int device);

/* The first finding, PKB_EMU_OK if none; *text (owned by the emulator) is "" then. */
PKB_API int pkb_emu_result(pkb_emu *emu, const char **text);

typedef struct pkb_emu_counts {
  uint64_t launches, copies, memsets, blocks, switches, polls, signals, ll_lines, races_checked, drains, graph_launches, library_calls;
  int32_t proof; /* 1: proof mode was chosen */
} pkb_emu_counts;
PKB_API void pkb_emu_count(pkb_emu *emu, pkb_emu_counts *counts);

#ifdef __cplusplus
}
#endif
#endif
