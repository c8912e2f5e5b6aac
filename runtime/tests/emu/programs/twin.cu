/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Kernels that must give the same bits on a GPU and on the emulator: conversions, arithmetic, loads and stores of any type, width, alignment and
 * length. Pointers: 0 and 1 in, 2 out; pointer 3 is not one but the number of elements. */
#include "pkb_rt/device.h"

namespace {
template <class A> PKB_DEVICE int64_t length(const A &args) { return reinterpret_cast<int64_t>(args.pointer[3]); }

template <class To, class From, int N, class A>
PKB_DEVICE void convert_all(const A &args) {
  const int64_t len = length(args);
  pkb::for_each<2>((len + N - 1) / N, [&](int64_t i) { return pkb::convert<To>(pkb::load<From, N>(args.pointer[0], i, len)); },
                   [&](int64_t i, const auto &v) { pkb::store(args.pointer[2], i, len, v); });
}
template <class T, int N, class A>
PKB_DEVICE void copy_all(const A &args) {
  const int64_t len = length(args);
  pkb::for_each<4>((len + N - 1) / N, [&](int64_t i) { return pkb::load<T, N>(args.pointer[0], i, len); },
                   [&](int64_t i, const auto &v) { pkb::store(args.pointer[2], i, len, v); });
}
/* All binary operations one after the other: six results of `len` elements. */
template <class T, int N, class A>
PKB_DEVICE void arith_all(const A &args) {
  const int64_t len = length(args);
  auto each = [&](int64_t at, auto operation) {
    pkb::for_each<1>((len + N - 1) / N,
                     [&](int64_t i) { return operation(pkb::load<T, N>(args.pointer[0], i, len), pkb::load<T, N>(args.pointer[1], i, len)); },
                     [&](int64_t i, const auto &v) { pkb::store(args.pointer[2] + at * len * int64_t(sizeof(T)), i, len, v); });
  };
  each(0, [](const auto &a, const auto &b) { return a + b; });
  each(1, [](const auto &a, const auto &b) { return a - b; });
  each(2, [](const auto &a, const auto &b) { return a * b; });
  each(3, [](const auto &a, const auto &b) { return a / b; });
  each(4, [](const auto &a, const auto &b) { return max(a, b); });
  each(5, [](const auto &a, const auto &b) { return min(a, b); });
}
} // namespace

#define TWIN(name, call) PKB_KERNEL(name, 256, 1, 1, 4) { call(args); }
TWIN(f16_to_f32, (convert_all<float, pkb::f16, 8>))
TWIN(bf16_to_f32, (convert_all<float, pkb::bf16, 8>))
TWIN(f8e4m3_to_f32, (convert_all<float, pkb::f8e4m3, 16>))
TWIN(f8e5m2_to_f32, (convert_all<float, pkb::f8e5m2, 16>))
TWIN(f32_to_f16, (convert_all<pkb::f16, float, 4>))
TWIN(f32_to_bf16, (convert_all<pkb::bf16, float, 4>))
TWIN(f32_to_f16_single, (convert_all<pkb::f16, float, 1>))
TWIN(f32_to_bf16_single, (convert_all<pkb::bf16, float, 1>))
TWIN(f32_to_f8e4m3, (convert_all<pkb::f8e4m3, float, 4>))
TWIN(f32_to_f8e5m2, (convert_all<pkb::f8e5m2, float, 4>))
TWIN(f16_to_bf16, (convert_all<pkb::bf16, pkb::f16, 8>))
TWIN(i32_to_f32, (convert_all<float, int32_t, 4>))
TWIN(arith_f16, (arith_all<pkb::f16, 8>))
TWIN(arith_bf16, (arith_all<pkb::bf16, 8>))
TWIN(arith_i8, (arith_all<int8_t, 16>))
TWIN(arith_u8, (arith_all<uint8_t, 16>))
TWIN(arith_i32, (arith_all<int32_t, 4>))
TWIN(arith_i64, (arith_all<int64_t, 2>))
TWIN(copy_i8x16, (copy_all<int8_t, 16>))
TWIN(copy_i8x2, (copy_all<int8_t, 2>))
TWIN(copy_bf16x8, (copy_all<pkb::bf16, 8>))
TWIN(copy_bf16x1, (copy_all<pkb::bf16, 1>))
TWIN(copy_f32x4, (copy_all<float, 4>))
TWIN(copy_f32x8, (copy_all<float, 8>))
TWIN(copy_i64x1, (copy_all<int64_t, 1>))
TWIN(copy_f64x2, (copy_all<double, 2>))
TWIN(copy_c128x1, (copy_all<pkb::complex<double>, 1>))
