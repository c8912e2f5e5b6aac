/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The device header: everything that an emitted program calls (docs/Rationale/Runtime.md, "Device functions"). Compiles under nvcc (-std=c++17,
 * sm_90 and later), NVRTC (no standard headers) and, with -DPKB_EMULATED=1, g++ and clang++. Include path: runtime/include.
 *
 *   device/base.h    types, kernel parameter, ids of the rows of device/ops.def
 *   device/types.h   bf16, f16, f8, complex: conversion and arithmetic of one element
 *   device/vec.h     vec<T, N>, convert, + - * /, max, min, splat
 *   device/math.h    exp, rsqrt, tanh, ..., comparisons, select
 *   device/memory.h  load, store, store_peer, load_staged, for_each, uniform values
 *   device/rows.h    for_each_row, row_reduce: a warp per row
 *   device/strided.h load_strided, store_strided: tensors with any strides
 *   device/sync.h    epoch_begin, epoch_end, block_barrier, signal, wait, store_ll, load_ll
 *   device/address.h offsets inside a region, flag values, packs of values
 *   device/prim_*.h  one PTX instruction each / one hook of the emulator each */
#ifndef PKB_RT_DEVICE_H
#define PKB_RT_DEVICE_H

#include "pkb_rt/device/base.h"
#if defined(PKB_EMULATED) && PKB_EMULATED
#include "pkb_rt/device/prim_emu.h"
#else
#include "pkb_rt/device/prim_cuda.h"
#endif
#include "pkb_rt/device/types.h"
#include "pkb_rt/device/vec.h"
#include "pkb_rt/device/math.h"
#include "pkb_rt/device/memory.h"
#include "pkb_rt/device/strided.h"
#include "pkb_rt/device/sync.h"
#include "pkb_rt/device/rows.h"
#include "pkb_rt/device/address.h"

#endif
