/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The primitives under the device header, emulated build: what orders or blocks asks the emulator's hooks; data does so in proof mode only.
 * Twin of prim_cuda.h, function by function. Part of pkb_rt/device.h. */
#ifndef PKB_RT_DEVICE_PRIM_EMU_H
#define PKB_RT_DEVICE_PRIM_EMU_H

#include "pkb_rt/device/emulated.h"

static const pkb_emu_hooks *pkb_bound_hooks = nullptr;
extern "C" __attribute__((visibility("default"))) const uint32_t pkb_hooks_version;
const uint32_t pkb_hooks_version = pkb_hooks::version();
extern "C" __attribute__((visibility("default"))) void pkb_bind_hooks(const pkb_emu_hooks *hooks) { pkb_bound_hooks = hooks; }

#define PKB_KERNEL(name, threads, min_blocks, W, P)                                                                              \
  static void name##_body(const pkb::Args<W, P> &args);                                                                          \
  extern "C" __attribute__((visibility("default"))) const int name##_min_blocks = min_blocks;                                    \
  extern "C" __attribute__((visibility("default"))) void name(const void *args) {                                               \
    name##_body(*static_cast<const pkb::Args<W, P> *>(args));                                                                    \
  }                                                                                                                              \
  static void name##_body([[maybe_unused]] const pkb::Args<W, P> &args)

namespace pkb {
namespace detail {
namespace prim {

PKB_DEVICE const pkb_emu_thread &self() { return *pkb_bound_hooks->self(); }
PKB_DEVICE int64_t thread() { return self().thread; }
PKB_DEVICE int64_t threads() { return self().threads; }
PKB_DEVICE int64_t block() { return self().block; }
PKB_DEVICE int64_t blocks() { return self().blocks; }
/* A block of fewer fibers than a team is one team, so that one fiber can stand for a block. */
template <int Team> PKB_DEVICE int64_t lanes() { return threads() < Team ? threads() : Team; }
template <int Team> PKB_DEVICE int64_t lane() { return thread() % lanes<Team>(); }
template <int Team> PKB_DEVICE int64_t teams() { return threads() / lanes<Team>(); }
template <int Team> PKB_DEVICE int64_t team() { return thread() / lanes<Team>() < teams<Team>() ? thread() / lanes<Team>() : int64_t(1) << 62; }

/* The kind of this run's mutant if it sits at `Site`. */
template <int Site>
PKB_DEVICE int mutant() {
  const pkb_emu_thread &now = self();
  return now.mutant_site == Site ? now.mutant_kind : PKB_MUTANT_NONE;
}

/* Data. A `Proof` of one loop is asked once (see for_each); single accesses ask each time. */
template <int Op, int B>
PKB_DEVICE Raw<B> data_load(const void *from) {
  Raw<B> raw{};
  if (self().proof)
    pkb_bound_hooks->load(Op, -1, &raw, from, B);
  else
    __builtin_memcpy(&raw, from, B);
  return raw;
}
template <int Op, int B>
PKB_DEVICE void data_store(void *to, const Raw<B> &raw) {
  if (self().proof)
    pkb_bound_hooks->store(Op, -1, to, &raw, B);
  else
    __builtin_memcpy(to, &raw, B);
}
template <int B> PKB_DEVICE Raw<B> load_weak(const void *from) { return data_load<op_load, B>(from); }
template <int B> PKB_DEVICE void store_weak(void *to, const Raw<B> &raw) { data_store<op_store, B>(to, raw); }
PKB_DEVICE void store_peer(void *to, const Raw<16> &raw) { data_store<op_store_peer, 16>(to, raw); }
PKB_DEVICE Raw<16> load_staged(const void *from) { return data_load<op_load_staged, 16>(from); }

/* Ordering. */
template <int Site> PKB_DEVICE void store_ll(void *to, const Raw<16> &raw) { pkb_bound_hooks->store(op_store_ll, Site, to, &raw, 16); }
template <int Site> PKB_DEVICE Raw<16> load_ll(const void *from) {
  Raw<16> raw;
  pkb_bound_hooks->load(op_load_ll, Site, &raw, from, 16);
  return raw;
}
template <int Op, int Site> PKB_DEVICE uint64_t load_u64(const void *from) {
  uint64_t value;
  pkb_bound_hooks->load(Op, Site, &value, from, 8);
  return value;
}
template <int Op, int Site> PKB_DEVICE void store_u64(void *to, uint64_t value) { pkb_bound_hooks->store(Op, Site, to, &value, 8); }
PKB_DEVICE void follow_predecessor() {} /* an emulated stream runs one kernel after the other */
template <int Site> PKB_DEVICE uint64_t epoch_load(const void *cell) { return load_u64<op_epoch_begin, Site>(cell); }
template <int Site> PKB_DEVICE void note_start(void *cell, uint64_t before) { store_u64<op_epoch_begin_note, Site>(cell, before + 1); }
PKB_DEVICE uint64_t not_earlier(uint64_t value) { return value; }
template <int Site> PKB_DEVICE void epoch_store(void *cell, uint64_t value) { store_u64<op_epoch_end_bump, Site>(cell, value); }
template <int Site> PKB_DEVICE void flag_store(void *flag, uint64_t value) { store_u64<op_signal, Site>(flag, value); }
template <int Site> PKB_DEVICE uint64_t flag_load(const void *flag) { return load_u64<op_wait, Site>(flag); }
template <int Op, int Site> PKB_DEVICE void barrier() { pkb_bound_hooks->barrier(Op, Site); }

/* Between two polls. False: leave the spin. */
template <int Op, int Site>
PKB_DEVICE bool keep_spinning(const Header &header, uint64_t &, const void *word, int64_t source, int64_t block_of, uint64_t expected,
                              uint64_t seen) {
  pkb_emu_spin spin{Op, Site, word, int64_t(header.rank), source, block_of, expected, seen, header.abort};
  if (pkb_bound_hooks->spin(&spin) != 0)
    return true;
  if (header.report != nullptr && header.report[7] == 0) { /* fibers of one thread: no race */
    const uint64_t words[7] = {header.rank, uint64_t(block_of), uint64_t(source), reinterpret_cast<uint64_t>(word), expected, seen, uint64_t(Site)};
    for (int i = 0; i < 7; ++i)
      header.report[i] = words[i];
    __atomic_store_n(&header.report[7], uint64_t(2), __ATOMIC_RELEASE);
  }
  return false;
}

} // namespace prim
} // namespace detail
} // namespace pkb

#endif
