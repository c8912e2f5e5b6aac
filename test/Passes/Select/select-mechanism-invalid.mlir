// RUN: split-file %s %t
// RUN: not pkb-opt %t/two.mlir --pass-pipeline='builtin.module(pkb-select-mechanism{target=h200x4})' 2>&1 | FileCheck %s --check-prefix=RANKS
// RUN: not pkb-opt %t/two.mlir --pass-pipeline='builtin.module(pkb-select-mechanism{target=h200})' 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not pkb-opt %t/two.mlir --pass-pipeline='builtin.module(pkb-select-mechanism{target=z80x2})' 2>&1 | FileCheck %s --check-prefix=MACHINE
// RUN: not pkb-opt %t/two.mlir --pass-pipeline='builtin.module(pkb-select-mechanism{target=h200x2 mechanism=pigeon})' 2>&1 | FileCheck %s --check-prefix=MECHANISM
// RUN: not pkb-opt %t/two.mlir --pass-pipeline='builtin.module(pkb-select-mechanism{target=h200x2 mechanism=ll})' 2>&1 | FileCheck %s --check-prefix=ILLEGAL
// RUN: not pkb-opt %t/short.mlir --pass-pipeline='builtin.module(pkb-select-mechanism{mechanism=nccl})' 2>&1 | FileCheck %s --check-prefix=REDUCTION
// RUN: not pkb-opt %t/odd.mlir --pkb-pipeline=mechanism=copy_engine 2>&1 | FileCheck %s --check-prefix=VECTORS
// RUN: not pkb-opt %t/bits.mlir --pkb-pipeline=mechanism=nccl 2>&1 | FileCheck %s --check-prefix=BITS
// RUN: not pkb-opt %t/two.mlir --pass-pipeline='builtin.module(pkb-select-mechanism{target=h200x2 target-file=%t/points.json})' 2>&1 | FileCheck %s --check-prefix=POINTS
// RUN: not pkb-opt %t/two.mlir --pass-pipeline='builtin.module(pkb-select-mechanism{target=h200x2 target-file=%t/none.json})' 2>&1 | FileCheck %s --check-prefix=NOFILE
// RUN: not pkb-opt %t/two.mlir --pass-pipeline='builtin.module(pkb-select-mechanism{target=h200x2 target-file=%t/text.json})' 2>&1 | FileCheck %s --check-prefix=NOJSON
// RUN: not pkb-opt %t/two.mlir --pass-pipeline='builtin.module(pkb-select-mechanism{target=h200x2 target-file=%t/schema.json})' 2>&1 | FileCheck %s --check-prefix=SCHEMA
// RUN: not pkb-opt %t/two.mlir --pass-pipeline='builtin.module(pkb-select-mechanism{target=h200x2 target-file=%t/zero.json})' 2>&1 | FileCheck %s --check-prefix=ZERO
// RUN: not pkb-opt %t/two.mlir --pass-pipeline='builtin.module(pkb-select-mechanism{target=h200x2 mechanism=ldst arena-bytes=100000})' 2>&1 | FileCheck %s --check-prefix=ARENA
// RUN: not pkb-opt %t/nomesh.mlir --pass-pipeline='builtin.module(pkb-select-mechanism{target=h200x2})' 2>&1 | FileCheck %s --check-prefix=MESH
// RUN: not pkb-opt %t/two.mlir --pkb-pipeline=mechanism=tma 2>&1 | FileCheck %s --check-prefix=NOTYET
// RUN: not pkb-opt %t/two.mlir --pkb-pipeline=machine=h200 2>&1 | FileCheck %s --check-prefix=NOOPTION --implicit-check-not=error:
// RUN: not pkb-opt %t/two.mlir --pkb-pipeline=fuse=maybe 2>&1 | FileCheck %s --check-prefix=NOVALUE
// RUN: not pkb-opt %t/two.mlir --pkb-pipeline=mechanism=pigeon 2>&1 | FileCheck %s --check-prefix=MECHANISM --implicit-check-not=remark:
// RUN: not pkb-opt %t/fused.mlir --pkb-pipeline='target=h200x2 mechanism=nccl' 2>&1 | FileCheck %s --check-prefix=FUSED
// RUN: not pkb-opt %t/two.mlir --pkb-select-mechanism=arena-bytes=-1 2>&1 | FileCheck %s --check-prefix=NOARENA
// RUN: not pkb-opt %t/two.mlir --pkb-pipeline='target=h200x2 arena-bytes=-1' 2>&1 | FileCheck %s --check-prefix=NOARENA
// RUN: not pkb-opt %t/two.mlir --pkb-select-mechanism='target=h200x2 target-file=%t/slow.json arena-bytes=1000' 2>&1 | FileCheck %s --check-prefix=ROOM

// RANKS: pkb-opt: error: option target=h200x4 must have as many ranks as the program (2), got: 4
// NAME: pkb-opt: error: option target=h200 names no machine: target must be <machine>x<ranks>, such as h200x4, got: 'h200'
// MACHINE: pkb-opt: error: option target=z80x2 names no machine: unknown machine 'z80' in target 'z80x2'; known: {{.*}}h200{{.*}} (or give a machine file)
// MECHANISM: pkb-opt: error: option mechanism=pigeon must be one of ldst, ll, copy_engine, nccl
// ILLEGAL: pkb-opt: error: option mechanism=ll cannot be had for all_reduce of 2097152 bytes per peer among 2 ranks: ldst {{[0-9.]+}} us, ll not legal: message of 2097152 bytes exceeds the 1179648 bytes of an LL slot
// The line of the program is a note: nothing is wrong there.
// ILLEGAL-NEXT: {{.*}}two.mlir:3:10: note: the collective is here
// ILLEGAL-NOT: two.mlir
// NOTYET: pkb-opt: error: option mechanism=tma must be one of ldst, ll, copy_engine, nccl
// NOOPTION: pkb-opt: error: option --pkb-pipeline=machine=h200 must have options that --help lists, got: no such option machine
// NOVALUE: pkb-opt: for the --fuse option: 'maybe' is invalid value for boolean argument! Try 0 or 1
// FUSED: pkb-opt: error: option mechanism=nccl cannot be had for fused all_reduce of 16 bytes per peer among 2 ranks: {{.*}}nccl not legal: only kernels of ours take in what is around a collective; alone it takes {{[0-9.]+}} us
// FUSED-NEXT: note: the collective is here, fused with what is around it (--pkb-pipeline=fuse=false leaves it alone)
// NOARENA: pkb-opt: error: option arena-bytes=-1 must be positive
// ROOM: two.mlir:3:10: error: 'comm.all_reduce' op has no legal mechanism: all_reduce of 2097152 bytes per peer among 2 ranks: ldst not legal: {{.*}} (option arena-bytes=1000 says how much room there is)
// REDUCTION: pkb-opt: error: option mechanism=nccl cannot be had for all_reduce of 16 bytes per peer among 2 ranks: {{.*}}nccl not legal: it has no sum of i16
// BITS: pkb-opt: error: option mechanism=nccl cannot be had for all_reduce of 16 bytes per peer among 2 ranks: {{.*}}nccl not legal: it has no reduction bor
// VECTORS: pkb-opt: error: option mechanism=copy_engine cannot be had for all_gather of 12 bytes per peer among 2 ranks: {{.*}}copy_engine not legal: a message is no multiple of 16 bytes
// POINTS: pkb-opt: error: option target-file={{.*}}points.json has no target h200x2: machine file '{{.*}}points.json': 'nccl' of 'all_reduce' must be a list of [bytes, us], ascending and positive
// NOFILE: pkb-opt: error: option target-file={{.*}}none.json has no target h200x2: cannot open machine file '{{.*}}none.json': No such file or directory
// NOJSON: pkb-opt: error: option target-file={{.*}}text.json has no target h200x2: machine file '{{.*}}text.json' is not JSON:
// SCHEMA: pkb-opt: error: option target-file={{.*}}schema.json has no target h200x2: machine file '{{.*}}schema.json': 'schema' must be "pkb-machine"
// ZERO: pkb-opt: error: option target-file={{.*}}zero.json has no target h200x2: machine file '{{.*}}zero.json': 'sms' must be a positive number
// ARENA: pkb-opt: error: option mechanism=ldst cannot be had for all_reduce of 2097152 bytes per peer among 2 ranks: ldst not legal: staging of {{[0-9]+}} bytes exceeds the 0 bytes of the arena's half
// MESH: error: module must have a mesh (attribute comm.mesh)

//--- two.mlir
module attributes {comm.mesh = #comm.mesh<size = 2>} {
  func.func @main(%a: tensor<1048576xbf16>) -> tensor<1048576xbf16> {
    %0 = comm.all_reduce sum %a in <[[0, 1]]> accumulate f32 deterministic : tensor<1048576xbf16>
    return %0 : tensor<1048576xbf16>
  }
}
//--- fused.mlir
module attributes {comm.mesh = #comm.mesh<size = 2>} {
  func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
    %0 = comm.all_reduce sum %a in <[[0, 1]]> accumulate f32 : tensor<4xf32>
    %1 = aten.call "aten::neg"(%0) args [#aten.operand<0>] returns [#aten.result<0>] : (tensor<4xf32>) -> tensor<4xf32>
    return %1 : tensor<4xf32>
  }
}
//--- slow.json
{"schema": "pkb-machine", "version": [1, 0], "machine": "h200", "sms": 132, "threads_per_sm": 2048, "worlds": {"2": {"kernel_us": 1, "hop_us": 1, "order_us": 1,
  "ldst_peak_gbs": 1, "ldst_sm_gbs": 1, "ll_peak_gbs": 1, "hbm_gbs": 1, "exposed_memory": 1, "exposed_memory_pipelined": 1, "copy_us": 1, "copy_peak_gbs": 1}}}
//--- nomesh.mlir
module {
}
//--- text.json
not json
//--- schema.json
{"schema": "pkb-bundle", "version": [1, 0]}
//--- zero.json
{"schema": "pkb-machine", "version": [1, 0], "machine": "h200", "sms": 0, "threads_per_sm": 2048, "worlds": {"2": {}}}
//--- points.json
{"schema": "pkb-machine", "version": [1, 0], "machine": "h200", "sms": 132, "threads_per_sm": 2048, "worlds": {"2": {"kernel_us": 1, "hop_us": 1, "order_us": 1,
  "ldst_peak_gbs": 1, "ldst_sm_gbs": 1, "ll_peak_gbs": 1, "hbm_gbs": 1, "exposed_memory": 1, "exposed_memory_pipelined": 1, "copy_us": 1, "copy_peak_gbs": 1,
  "nccl": {"all_reduce": [[2, 1], [1, 2]]}}}}
//--- short.mlir
module attributes {comm.mesh = #comm.mesh<size = 2>} {
  func.func @main(%a: tensor<8xi16>) -> tensor<8xi16> {
    %0 = comm.all_reduce sum %a in <[[0, 1]]> accumulate i16 : tensor<8xi16>
    return %0 : tensor<8xi16>
  }
}
//--- bits.mlir
module attributes {comm.mesh = #comm.mesh<size = 2>} {
  func.func @main(%a: tensor<4xi32>) -> tensor<4xi32> {
    %0 = comm.all_reduce bor %a in <[[0, 1]]> accumulate i32 : tensor<4xi32>
    return %0 : tensor<4xi32>
  }
}
//--- odd.mlir
module attributes {comm.mesh = #comm.mesh<size = 2>} {
  func.func @main(%a: tensor<3xf32>) -> tensor<6xf32> {
    %0 = comm.all_gather %a in <[[0, 1]]> : (tensor<3xf32>) -> tensor<6xf32>
    return %0 : tensor<6xf32>
  }
}
