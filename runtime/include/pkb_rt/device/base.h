/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * What everything in the device header stands on: fixed-width types without standard headers, the kernel's one parameter, and the
 * ids of the rows of ops.def. Part of pkb_rt/device.h; do not include alone. */
#ifndef PKB_RT_DEVICE_BASE_H
#define PKB_RT_DEVICE_BASE_H

#if defined(__CUDACC_RTC__)
typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long uint64_t;
typedef unsigned long uintptr_t;
#define PKB_MEMCPY memcpy /* NVRTC has no __builtin_memcpy */
#else
#include <stdint.h>
#define PKB_MEMCPY __builtin_memcpy
#endif

#if defined(PKB_EMULATED) && PKB_EMULATED
#define PKB_DEVICE inline __attribute__((always_inline))
#define PKB_UNROLL
#define PKB_ROLLED
#elif defined(__CUDACC__)
#define PKB_DEVICE __device__ __forceinline__
#define PKB_UNROLL _Pragma("unroll")
#define PKB_ROLLED _Pragma("unroll 1")
#else
#error "pkb_rt/device.h is compiled by nvcc or NVRTC, or by a host compiler with -DPKB_EMULATED=1"
#endif

#include "pkb_rt/layout.h"

namespace pkb {

/* 64 bytes, packed by the host run time. */
struct Header {
  uint32_t rank, size;            /* within the group */
  const volatile uint32_t *abort; /* non-zero: leave every spin at once; may be null */
  uint64_t *report;               /* debug: 8 words (rank, block, source, flag, expected, seen, site, set: 1 while written, 2 complete) or null */
  uint64_t spin_limit;            /* debug: polls before giving up, 0 = no bound */
  int64_t stage_bytes;            /* bytes of one staging parity of the channel: pkb_stage_bytes(size, region bytes) */
  uint64_t reserved[3];
};
static_assert(sizeof(Header) == 64, "the host packs 64 bytes");

/* The parameter of a kernel compiled for W ranks and P tensor pointers, passed by value. */
template <int W, int P>
struct Args {
  Header header;
  char *region[W];
  char *pointer[P > 0 ? P : 1];
};

namespace detail {
enum Op : int {
#define PKB_DEVICE_OP(id, function, ptx, semantics, scope, proxy, kind) op_##id,
#include "pkb_rt/device/ops.def"
  op_count
};

template <class A, class B> struct same { static constexpr bool value = false; };
template <class A> struct same<A, A> { static constexpr bool value = true; };
template <bool C, class A, class B> struct choose { using type = A; };
template <class A, class B> struct choose<false, A, B> { using type = B; };
template <class T> struct plain { using type = T; };
template <class T> struct plain<T &> { using type = T; };
template <class T> struct plain<const T> { using type = T; };
template <class T> struct plain<const T &> { using type = T; };
template <class T> T &&declare();

/* B bytes in registers; B is 1, 2, 4, 8 or 16. */
template <int B>
struct alignas(B < 4 ? 4 : B) Raw {
  static_assert(B == 1 || B == 2 || B == 4 || B == 8 || B == 16, "an access is 1, 2, 4, 8 or 16 bytes wide");
  uint32_t w[B < 4 ? 1 : B / 4];
};

template <class To, class From>
PKB_DEVICE To bits_of(const From &from) {
  static_assert(sizeof(To) == sizeof(From), "bits_of needs equal sizes");
  To to;
  PKB_MEMCPY(&to, &from, sizeof(To));
  return to;
}
} // namespace detail
} // namespace pkb

#endif
