// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reductions of the emulator's NCCL, with the element types of the device header. A NaN counts in a min or max only where there is nothing else.
#define PKB_EMULATED 1
#include "Nccl.h"

#include "pkb_rt/device/base.h"

#include "pkb_rt/device/types.h"

#include <cstring>
#include <type_traits>

namespace pkb_emu_impl {

namespace {

using namespace pkb::detail;

template <class T>
void reduceAs(const std::vector<const char *> &from, const std::vector<double> &scalars, char *to, size_t count, int op) {
  using Wide = std::conditional_t<is_small_float<T>::value, float, T>;
  std::vector<T> results(count); // an output may be one of the inputs
  for (size_t i = 0; i < count; ++i) {
    Wide sum{};
    for (size_t rank = 0; rank < from.size(); ++rank) {
      T element;
      memcpy(&element, from[rank] + i * sizeof(T), sizeof(T));
      Wide value = convert_one<Wide>(element);
      if constexpr (is_float<Wide>::value)
        if (op >= PKB_NCCL_OPS)
          value *= Wide(scalars[rank]);
      sum = rank == 0             ? value
            : op == PKB_NCCL_PROD ? arith<Mul>(sum, value)
            : op == PKB_NCCL_MAX  ? arith<MaxNumber>(sum, value)
            : op == PKB_NCCL_MIN  ? arith<MinNumber>(sum, value)
                                  : arith<Add>(sum, value);
    }
    if (op == PKB_NCCL_AVG)
      sum = arith<Div>(sum, Wide(from.size()));
    results[i] = convert_one<T>(sum);
  }
  if (count > 0)
    memcpy(to, results.data(), count * sizeof(T));
}

} // namespace

int64_t ncclTypeBytes(int dtype) {
  switch (dtype) {
  case PKB_NCCL_I8:
  case PKB_NCCL_U8: return 1;
  case PKB_NCCL_F16:
  case PKB_NCCL_BF16: return 2;
  case PKB_NCCL_I32:
  case PKB_NCCL_F32: return 4;
  case PKB_NCCL_I64:
  case PKB_NCCL_F64: return 8;
  default: return 0;
  }
}

double ncclScalar(const char *scalar, int dtype) {
  auto as = [&](auto element) {
    memcpy(&element, scalar, sizeof(element));
    return convert_one<double>(element);
  };
  switch (dtype) {
  case PKB_NCCL_F16: return as(pkb::f16{});
  case PKB_NCCL_BF16: return as(pkb::bf16{});
  case PKB_NCCL_F32: return as(0.0f);
  default: return as(0.0);
  }
}

void ncclReduce(const std::vector<const char *> &from, const std::vector<double> &scalars, char *to, size_t count, int dtype, int op) {
  switch (dtype) {
  case PKB_NCCL_I8: return reduceAs<int8_t>(from, scalars, to, count, op);
  case PKB_NCCL_U8: return reduceAs<uint8_t>(from, scalars, to, count, op);
  case PKB_NCCL_I32: return reduceAs<int32_t>(from, scalars, to, count, op);
  case PKB_NCCL_I64: return reduceAs<int64_t>(from, scalars, to, count, op);
  case PKB_NCCL_F16: return reduceAs<pkb::f16>(from, scalars, to, count, op);
  case PKB_NCCL_F32: return reduceAs<float>(from, scalars, to, count, op);
  case PKB_NCCL_F64: return reduceAs<double>(from, scalars, to, count, op);
  case PKB_NCCL_BF16: return reduceAs<pkb::bf16>(from, scalars, to, count, op);
  }
}

} // namespace pkb_emu_impl
