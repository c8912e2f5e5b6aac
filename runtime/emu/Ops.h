// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rows of the device header's table, as the emulator reads them: what an operation does comes from here and from nowhere else.
#ifndef PKB_EMU_OPS_H
#define PKB_EMU_OPS_H

namespace pkb_emu_impl {

enum class Semantics { none, weak, relaxed, acquire, release, acq_rel };
enum class Scope { none, thread, cta, gpu, sys };
enum class Proxy { none, generic };
enum class Kind { control, data, order };

enum OpId : int {
#define PKB_DEVICE_OP(id, function, ptx, semantics, scope, proxy, kind) op_##id,
#include "pkb_rt/device/ops.def"
  op_count
};

struct OpRow {
  const char *name, *function;
  Semantics semantics;
  Scope scope;
  Proxy proxy;
  Kind kind;
};

inline constexpr OpRow kOps[op_count] = {
#define PKB_DEVICE_OP(id, function, ptx, semantics, scope, proxy, kind)                                                         \
  {#id, #function, Semantics::semantics, Scope::scope, Proxy::proxy, Kind::kind},
#include "pkb_rt/device/ops.def"
};

} // namespace pkb_emu_impl

#endif
