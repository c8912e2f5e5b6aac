/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The primitives under the device header, GPU build: one PTX instruction each, as ops.def says. Twin of prim_emu.h.
 * Part of pkb_rt/device.h. */
#ifndef PKB_RT_DEVICE_PRIM_CUDA_H
#define PKB_RT_DEVICE_PRIM_CUDA_H

#define PKB_KERNEL(name, threads, min_blocks, W, P)                                                                              \
  extern "C" __global__ void __launch_bounds__(threads, min_blocks) name(const __grid_constant__ pkb::Args<W, P> args)

namespace pkb {
namespace detail {
namespace prim {

PKB_DEVICE int64_t thread() { return int64_t(threadIdx.x); }
PKB_DEVICE int64_t threads() { return int64_t(blockDim.x); }
PKB_DEVICE int64_t block() { return int64_t(blockIdx.x); }
PKB_DEVICE int64_t blocks() { return int64_t(gridDim.x); }

/* Teams of threads, each of so many neighbours. */
template <int Team> PKB_DEVICE int64_t lane() { return int64_t(threadIdx.x % unsigned(Team)); }
template <int Team> PKB_DEVICE int64_t lanes() { return Team; }
template <int Team> PKB_DEVICE int64_t team() {
  return threadIdx.x / unsigned(Team) < blockDim.x / unsigned(Team) ? int64_t(threadIdx.x / unsigned(Team)) : int64_t(1) << 62;
}
template <int Team> PKB_DEVICE int64_t teams() { return int64_t(blockDim.x / unsigned(Team)); }

/* What the lane `apart` away (by exclusive or) holds; all 32 lanes of the warp take part. */
PKB_DEVICE float shuffle_xor(float x, int apart) { return __shfl_xor_sync(0xffffffffu, x, apart); }
PKB_DEVICE double shuffle_xor(double x, int apart) { return __shfl_xor_sync(0xffffffffu, x, apart); }

/* What lane `from` holds; all 32 lanes of the warp take part. */
PKB_DEVICE uint32_t shuffle(uint32_t x, int from) { return __shfl_sync(0xffffffffu, x, from); }

/* Barrier of a team: number 0 is that of the block, and there are 15 more. */
template <int Team> PKB_DEVICE void team_barrier() { asm volatile("bar.sync %0, %1;" ::"r"(1 + threadIdx.x / unsigned(Team)), "n"(Team) : "memory"); }
/* What the warps of a team hold, combined in their order, in all of them. */
template <int Team, class T, class Combine> PKB_DEVICE T combine_warps(T part, Combine combine) {
  static_assert(Team >= 128, "there are no barriers for more teams");
  __shared__ T parts[32];
  if (threadIdx.x % 32u == 0)
    parts[threadIdx.x / 32u] = part;
  team_barrier<Team>();
  const unsigned first = threadIdx.x / unsigned(Team) * (Team / 32);
  T whole = parts[first];
  PKB_UNROLL for (int k = 1; k < Team / 32; ++k) whole = combine(whole, parts[first + k]);
  team_barrier<Team>(); /* before the parts of the next */
  return whole;
}

/* What lanes 0 to W - 1 of a team hold, in all of its lanes. */
template <int Team, int W, class V> PKB_DEVICE void share(const V &mine, V (&all)[W]) {
  static_assert(Team >= 128, "there are no barriers for more teams");
  __shared__ V held[1024 / Team][W];
  const unsigned team = threadIdx.x / unsigned(Team), lane = threadIdx.x % unsigned(Team);
  if (lane < unsigned(W))
    held[team][lane] = mine;
  team_barrier<Team>();
  PKB_UNROLL for (int k = 0; k < W; ++k) all[k] = held[team][k];
  team_barrier<Team>(); /* before those of the next */
}

PKB_DEVICE uint64_t global(const void *p) { return uint64_t(__cvta_generic_to_global(p)); }

/* Loads and stores are volatile asm: the compiler keeps their order, so `for_each` really has U loads in flight before the first store. */
template <int B> PKB_DEVICE Raw<B> load_weak(const void *from);
template <> PKB_DEVICE Raw<16> load_weak<16>(const void *from) {
  Raw<16> r;
  asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(r.w[0]), "=r"(r.w[1]), "=r"(r.w[2]), "=r"(r.w[3]) : "l"(global(from)));
  return r;
}
template <> PKB_DEVICE Raw<8> load_weak<8>(const void *from) {
  Raw<8> r;
  asm volatile("ld.global.v2.u32 {%0, %1}, [%2];" : "=r"(r.w[0]), "=r"(r.w[1]) : "l"(global(from)));
  return r;
}
template <> PKB_DEVICE Raw<4> load_weak<4>(const void *from) {
  Raw<4> r;
  asm volatile("ld.global.u32 %0, [%1];" : "=r"(r.w[0]) : "l"(global(from)));
  return r;
}
template <> PKB_DEVICE Raw<2> load_weak<2>(const void *from) {
  Raw<2> r;
  asm volatile("ld.global.u16 %0, [%1];" : "=r"(r.w[0]) : "l"(global(from)));
  return r;
}
template <> PKB_DEVICE Raw<1> load_weak<1>(const void *from) {
  Raw<1> r;
  asm volatile("ld.global.u8 %0, [%1];" : "=r"(r.w[0]) : "l"(global(from)));
  return r;
}

template <int B> PKB_DEVICE void store_weak(void *to, const Raw<B> &r);
template <> PKB_DEVICE void store_weak<16>(void *to, const Raw<16> &r) {
  asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(global(to)), "r"(r.w[0]), "r"(r.w[1]), "r"(r.w[2]), "r"(r.w[3]) : "memory");
}
template <> PKB_DEVICE void store_weak<8>(void *to, const Raw<8> &r) {
  asm volatile("st.global.v2.u32 [%0], {%1, %2};" ::"l"(global(to)), "r"(r.w[0]), "r"(r.w[1]) : "memory");
}
template <> PKB_DEVICE void store_weak<4>(void *to, const Raw<4> &r) {
  asm volatile("st.global.u32 [%0], %1;" ::"l"(global(to)), "r"(r.w[0]) : "memory");
}
template <> PKB_DEVICE void store_weak<2>(void *to, const Raw<2> &r) {
  asm volatile("st.global.u16 [%0], %1;" ::"l"(global(to)), "r"(r.w[0]) : "memory");
}
template <> PKB_DEVICE void store_weak<1>(void *to, const Raw<1> &r) {
  asm volatile("st.global.u8 [%0], %1;" ::"l"(global(to)), "r"(r.w[0]) : "memory");
}
PKB_DEVICE void store_peer(void *to, const Raw<16> &r) { store_weak<16>(to, r); }

PKB_DEVICE Raw<16> load_relaxed_sys(const void *from) {
  Raw<16> r;
  asm volatile("ld.relaxed.sys.global.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(r.w[0]), "=r"(r.w[1]), "=r"(r.w[2]), "=r"(r.w[3])
               : "l"(global(from))
               : "memory");
  return r;
}
PKB_DEVICE Raw<16> load_staged(const void *from) { return load_relaxed_sys(from); }
/* One scalar of 128 bits, not a vector of words: a line is read and written as a whole. */
template <int Site> PKB_DEVICE Raw<16> load_ll(const void *from) {
  uint64_t low, high;
  asm volatile("{\n\t.reg .b128 line;\n\tld.relaxed.sys.global.b128 line, [%2];\n\tmov.b128 {%0, %1}, line;\n\t}"
               : "=l"(low), "=l"(high)
               : "l"(global(from))
               : "memory");
  return Raw<16>{{uint32_t(low), uint32_t(low >> 32), uint32_t(high), uint32_t(high >> 32)}};
}
template <int Site> PKB_DEVICE void store_ll(void *to, const Raw<16> &r) {
  const uint64_t low = r.w[0] | uint64_t(r.w[1]) << 32, high = r.w[2] | uint64_t(r.w[3]) << 32;
  asm volatile("{\n\t.reg .b128 line;\n\tmov.b128 line, {%1, %2};\n\tst.relaxed.sys.global.b128 [%0], line;\n\t}" ::"l"(global(to)), "l"(low),
               "l"(high)
               : "memory");
}

PKB_DEVICE uint64_t load_relaxed_gpu(const void *cell) {
  uint64_t value;
  asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(global(cell)) : "memory");
  return value;
}
/* A grid may start while its predecessor on the stream still runs (docs/Rationale/HostRuntime.md): here it waits until that one is complete and its
 * writes are visible, and lets its own successor start. */
PKB_DEVICE void follow_predecessor() {
  asm volatile("griddepcontrol.wait;" ::: "memory");
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}
template <int Site> PKB_DEVICE uint64_t epoch_load(const void *cell) { return load_relaxed_gpu(cell); }
template <int Site> PKB_DEVICE void epoch_store(void *cell, uint64_t value) {
  asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(global(cell)), "l"(value) : "memory");
}
/* Counts the call, rather than to store its number, for which all warps of the block would wait. */
template <int Site> PKB_DEVICE void note_start(void *cell, uint64_t) {
  asm volatile("red.relaxed.gpu.global.add.u64 [%0], %1;" ::"l"(global(cell)), "l"(uint64_t(1)) : "memory");
}
/* The value, with which the compiler does nothing before the accesses that stand before this. */
PKB_DEVICE uint64_t not_earlier(uint64_t value) {
  asm volatile("" : "+l"(value)::"memory");
  return value;
}
template <int Site> PKB_DEVICE void flag_store(void *flag, uint64_t value) {
  asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(global(flag)), "l"(value) : "memory");
}
template <int Site> PKB_DEVICE uint64_t flag_load(const void *flag) {
  uint64_t value;
  asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(global(flag)) : "memory");
  return value;
}
template <int Op, int Site> PKB_DEVICE void barrier() { asm volatile("bar.sync 0;" ::: "memory"); }

/* Out of the hot path: the abort word (host memory) is looked at every 1024 polls, the bound of a debug context as well. The first spin to
 * give up tells the host what it was waiting for. */
template <int Op, int Site>
PKB_DEVICE bool keep_spinning(const Header &header, uint64_t &polls, const void *word, int64_t source, int64_t block_of, uint64_t expected,
                              uint64_t seen) {
  if ((++polls & 1023) != 0)
    return true;
  const bool aborted = header.abort != nullptr && *header.abort != 0;
  if (!aborted && (header.spin_limit == 0 || polls < header.spin_limit))
    return true;
  if (header.report != nullptr) {
    uint64_t *r = header.report;
    unsigned long long *set = reinterpret_cast<unsigned long long *>(r + 7);
    if (atomicCAS_system(set, 0ull, 1ull) == 0) {
      const volatile void *w = word;
      volatile uint64_t *out = r;
      out[0] = header.rank;
      out[1] = uint64_t(block_of);
      out[2] = uint64_t(source);
      out[3] = reinterpret_cast<uint64_t>(w);
      out[4] = expected;
      out[5] = seen;
      out[6] = uint64_t(Site);
      __threadfence_system();
      *static_cast<volatile unsigned long long *>(set) = 2;
    }
  }
  return false;
}

} // namespace prim
} // namespace detail
} // namespace pkb

#endif
