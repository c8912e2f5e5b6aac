// Constants lie in a file beside the program; without a file to be beside, they are refused.
//
// RUN: pkb-opt %s --pkb-pipeline=target=h200x2 -o %t.cu && FileCheck %s < %t.cu
// CHECK: "data": {"bytes":{{[0-9]+}},"sha256":"{{[0-9a-f]+}}"}
// RUN: %python -c "import sys; assert open(sys.argv[1], 'rb').read().startswith(b'\x01\0\0\0\x02\0\0\0\x03\0\0\0')" %t.cu.data
//
// RUN: not pkb-opt %s --pkb-pipeline=target=h200x2 --emit=cuda 2>&1 | FileCheck %s --check-prefix=STDOUT
// STDOUT: pkb-opt: error: the program has constants, which need a file beside it; name an output file with -o X.cu
module attributes {comm.mesh = #comm.mesh<size = 2>, aten.program = #aten.program<function = "f", bundle = "", capture = "", torch = "2.11.0", inputs = <tuple>, outputs = <tensor at 0>>} {
  func.func @main() -> tensor<3xi32> {
    %c = aten.literal dense<[1, 2, 3]> : tensor<3xi32>
    %0 = comm.all_reduce sum %c in <[[0, 1]]> accumulate i32 deterministic : tensor<3xi32>
    return %0 : tensor<3xi32>
  }
}
