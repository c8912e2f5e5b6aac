/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * One kernel per function of the device header, named use_<function>. check_ptx.py holds their PTX against ops.def. */
#include "pkb_rt/device.h"

#define USE(name) PKB_KERNEL(use_##name, 256, 1, 4, 2)
/* A result goes where the compiler cannot drop it. */
#define SINK(type, value) *reinterpret_cast<type *>(args.pointer[1]) = (value)

USE(rank) { SINK(int64_t, pkb::rank(args)); }
USE(block_index) { SINK(int64_t, pkb::block_index()); }
USE(grid_blocks) { SINK(int64_t, pkb::grid_blocks()); }
USE(pointer) { SINK(const void *, pkb::pointer(args, 0)); }
USE(region) { SINK(const void *, pkb::region(args, 3, 64)); }
USE(staging) { SINK(int64_t, pkb::staging(args, 1)); }
USE(ll_slot) { SINK(int64_t, pkb::ll_slot(args, 1, 3)); }
USE(flag_value) { SINK(uint64_t, pkb::flag_value(7, args.header.size)); }
USE(chunk_count) { SINK(int64_t, pkb::chunk_count(args.header.size, 3, 8)); }
USE(table) { SINK(int64_t, (pkb::table<3, 1, 2>(pkb::rank(args)))); }
USE(load) {
  const auto v = pkb::load<pkb::bf16, 8>(args.pointer[0], 0, 1000);
  SINK(uint32_t, v.w[0] ^ v.w[1] ^ v.w[2] ^ v.w[3]);
}
USE(store) { pkb::store(args.pointer[0], 0, 1000, pkb::splat<pkb::bf16, 8>(1.0f)); }
USE(store_peer) { pkb::store_peer(pkb::region(args, 1, 0), 0, pkb::splat<float, 4>(1.0f)); }
USE(load_staged) {
  const auto v = pkb::load_staged<float, 4>(pkb::region(args, 0, 0), 0);
  SINK(uint32_t, v.w[0] ^ v.w[1] ^ v.w[2] ^ v.w[3]);
}
USE(store_ll) {
  pkb::store_ll<1>(pkb::region(args, 1, 0), 0, pkb::splat<float, 4>(1.0f), 7);
  pkb::store_ll<1>(pkb::region(args, 1, 4096), 0, pkb::splat<float, 12>(1.0f), 7);
  pkb::store_ll<1>(pkb::region(args, 1, 8192), 0, pkb::splat<pkb::bf16, 1>(1.0f), 7);
}
USE(load_ll) {
  const auto v = pkb::load_ll<float, 4, 1>(args, pkb::region(args, 0, 0), 0, 7);
  const auto packed = pkb::load_ll<float, 12, 1>(args, pkb::region(args, 0, 4096), 0, 7);
  SINK(uint32_t, v.w[0] ^ v.w[1] ^ v.w[2] ^ v.w[3] ^ packed.w[0] ^ packed.w[11]);
}
USE(epoch_begin) { SINK(uint64_t, pkb::epoch_begin<1>(args).last); }
USE(epoch) { SINK(uint64_t, pkb::epoch(pkb::Ticket{args.header.size})); }
USE(vectors) { SINK(int64_t, pkb::vectors<24>(args.header.size)); }
USE(epoch_end) { pkb::epoch_end<1>(args, 7); }
USE(block_barrier) { pkb::block_barrier<1>(args); }
USE(signal) { pkb::signal<1>(args, 1, 0, 7); }
USE(wait) { pkb::wait<1>(args, 1, 0, 7); }
USE(wait_blocks) { pkb::wait_blocks<1>(args, 7); }
USE(row_reduce) {
  const auto load = [&](int64_t i, auto how) { return pkb::load<float, 4>(args.pointer[0], i, 1000, how); };
  const auto same = [&](int64_t, const auto &v) { return v; };
  const bool aligned = pkb::aligned<4>(1000, args.pointer[0]);
  SINK(float, (pkb::row_reduce<pkb::Reduce::max, 2, 32>(1000, aligned, load, same)[0] + pkb::row_reduce<pkb::Reduce::max, 2, 128>(1000, aligned, load, same)[0]));
}
USE(row_reduce_once) {
  const auto load = [&](int64_t i, auto how) { return pkb::load<float, 4>(args.pointer[0], i, 1000, how); };
  const auto same = [&](int64_t, const auto &v) { return v; };
  const bool aligned = pkb::aligned<4>(1000, args.pointer[0]);
  SINK(float, (pkb::row_reduce_once<pkb::Reduce::max, 8, 2, 32>(1000, aligned, load, same)[0] +
               pkb::row_reduce_once<pkb::Reduce::max, 2, 1, 128>(1000, aligned, load, same)[0]));
}
USE(keep_row) {
  const auto row = pkb::keep_row<pkb::bf16, 8, 2, 32>(args.pointer[0], 512, pkb::Aligned{});
  const auto v = pkb::kept(row, int64_t(threadIdx.x % 32u) + 32);
  SINK(uint32_t, v.w[0] ^ v.w[1] ^ v.w[2] ^ v.w[3]);
}
USE(gather_ll) {
  const auto own = pkb::splat<float, 1>(1.0f);
  const auto in_warp = pkb::gather_ll<float, 1, 1, 32>(args, pkb::region(args, 0, 0), 0, 7, own);
  const auto in_team = pkb::gather_ll<float, 1, 1, 128>(args, pkb::region(args, 0, 4096), 0, 7, own);
  SINK(uint32_t, in_warp.of[3].w[0] ^ in_team.of[2].w[0]);
}
USE(load_strided) {
  const auto v = pkb::load_strided<pkb::bf16, 8, pkb::dims<16, 40>, pkb::dims<1, 16>>(args.pointer[0], 24, 8);
  SINK(uint32_t, v.w[0] ^ v.w[1] ^ v.w[2] ^ v.w[3]);
}
USE(store_strided) {
  pkb::store_strided<pkb::dims<16, 40>, pkb::dims<1, 16>>(args.pointer[0], 24, 8, pkb::splat<pkb::bf16, 8>(1.0f));
}
