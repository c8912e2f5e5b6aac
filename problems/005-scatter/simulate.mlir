// REQUIRES: torch, aten
// RUN: pkb-export %S/reference.py:solution --inputs %S/reference.py:inputs_tiny --world-size 2 -o %t.2.pkb
// RUN: pkb-opt %t.2.pkb --pkb-pipeline=target=h200x2 -o %t.2.cu
// RUN: pkb-run %t.2.cu --ranks 2 --device=emulated --check %t.2.pkb | FileCheck %s --check-prefixes=CHECK,TWO
// RUN: pkb-export %S/reference.py:solution --inputs %S/reference.py:inputs_tiny --world-size 4 -o %t.4.pkb
// RUN: pkb-opt %t.4.pkb --pkb-pipeline=target=h200x4 -o %t.4.cu
// RUN: pkb-run %t.4.cu --ranks 4 --device=emulated --check %t.4.pkb | FileCheck %s --check-prefixes=CHECK,FOUR

// What the function exported from reference.py computes on emulated ranks is the original's result bit for bit, for three
// trials of parts of 81 elements, which do not fill vectors.
// TWO:        device: 2 emulated ranks
// FOUR:       device: 4 emulated ranks
// CHECK:      output 0 bfloat16 {{.*}}bitwise{{.*}} right
// TWO:        verdict: right, 3 trials on 2 ranks
// FOUR:       verdict: right, 3 trials on 4 ranks
