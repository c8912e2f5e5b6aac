// REQUIRES: torch
// RUN: pkb-export %S/reference.py:solution --inputs %S/reference.py:inputs_tiny --world-size 3 -o %t.3.pkb
// RUN: pkb-opt %t.3.pkb --pkb-pipeline=target=h200x3 -o %t.3.cu
// RUN: pkb-run %t.3.cu --ranks 3 --device=emulated --check %t.3.pkb | FileCheck %s --check-prefixes=CHECK,THREE
// RUN: pkb-export %S/reference.py:solution --inputs %S/reference.py:inputs_tiny --world-size 4 -o %t.4.pkb
// RUN: pkb-opt %t.4.pkb --pkb-pipeline=target=h200x4 -o %t.4.cu
// RUN: pkb-run %t.4.cu --ranks 4 --device=emulated --check %t.4.pkb | FileCheck %s --check-prefixes=CHECK,FOUR

// One launch and no library call give the original's result within the bound of its sums, for three trials of 9 rows of 37 columns, which
// fill neither vectors nor blocks; the arguments are left as they were.
// THREE:      device: 3 emulated ranks
// FOUR:       device: 4 emulated ranks
// CHECK:      1 launches and 0 library calls
// CHECK:      output 0 bfloat16 {{.*}}bound{{.*}} right
// CHECK:      argument 0 {{.*}}exact{{.*}} right
// THREE:      verdict: right, 3 trials on 3 ranks
// FOUR:       verdict: right, 3 trials on 4 ranks
