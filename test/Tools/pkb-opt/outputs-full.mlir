// An output that the disk has no room for: one message that names it, exit status 1, and the old file stays; neither the program nor its constants are
// replaced without the other. A limit of 1 kB on the size of files is such a disk.
//
// RUN: rm -rf %t && mkdir -p %t && echo old > %t/x.cu && echo old > %t/x.cu.data && echo old > %t/x.pkx && echo old > %t/x.json
// RUN: not bash -c 'ulimit -f 1; pkb-opt %s --pkb-pipeline=target=h200x2 -o %t/x.cu' > %t/said 2>&1
// RUN: FileCheck %s --check-prefix=CUDA < %t/said
// CUDA-NOT: {{.}}
// CUDA: {{^}}pkb-opt: error: cannot write output '{{.*}}/x.cu': File too large{{$}}
// CUDA-NOT: {{.}}
// RUN: grep '^old$' %t/x.cu && grep '^old$' %t/x.cu.data
//
// RUN: not bash -c 'ulimit -f 1; pkb-opt %s --pkb-pipeline=target=h200x2 --explain --json=%t/x.json -o %t/y.cu' > %t/said 2>&1
// RUN: FileCheck %s --check-prefix=JSON < %t/said && grep '^old$' %t/x.json
// JSON: {{^}}pkb-opt: error: cannot write output '{{.*}}/x.json': File too large{{$}}
//
// RUN: not bash -c 'ulimit -f 1; pkb-opt %s --pkb-pipeline=target=h200x2 --dump-dir=%t/dump -o %t/y.cu' > %t/said 2>&1
// RUN: FileCheck %s --check-prefix=DUMP --implicit-check-not=error: < %t/said
// DUMP: pkb-opt: error: cannot write '{{.*}}/dump/{{.*}}.mlir': File too large; no more is dumped
//
// RUN: not bash -c 'ulimit -f 1; PKB_NVCC=none PKB_CXX=no-such-compiler pkb-opt %s --pkb-pipeline=target=h200x2 -o %t/x.pkx' > %t/said 2>&1
// RUN: FileCheck %s --check-prefix=ARTEFACT --implicit-check-not=error: < %t/said && grep '^old$' %t/x.pkx
// ARTEFACT: pkb-opt: error: cannot write '{{.*}}/x.pkx': File too large
//
// RUN: ls -A %t | FileCheck %s --check-prefix=LEFT
// LEFT: {{^}}dump{{$}}
// LEFT-NEXT: {{^}}said{{$}}
// LEFT-NEXT: {{^}}x.cu{{$}}
// LEFT-NEXT: {{^}}x.cu.data{{$}}
// LEFT-NEXT: {{^}}x.json{{$}}
// LEFT-NEXT: {{^}}x.pkx{{$}}
// LEFT-NOT: {{.}}
module attributes {comm.mesh = #comm.mesh<size = 2>, aten.program = #aten.program<function = "f", bundle = "", capture = "", torch = "2.11.0", inputs = <tuple>, outputs = <tensor at 0>>} {
  func.func @main() -> tensor<3xi32> {
    %c = aten.literal dense<[1, 2, 3]> : tensor<3xi32>
    %0 = comm.all_reduce sum %c in <[[0, 1]]> accumulate i32 deterministic : tensor<3xi32>
    return %0 : tensor<3xi32>
  }
}
