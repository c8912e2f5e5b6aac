// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- InterpretMain.h - what pkb-interpret does ----------------*- C++ -*-===//

#ifndef PKB_DRIVER_INTERPRETMAIN_H
#define PKB_DRIVER_INTERPRETMAIN_H

#include "pkb/Reference/Interpreter.h"

#include "mlir/IR/DialectRegistry.h"

#include <cstdint>
#include <string>

namespace pkb {

struct InterpretRequest {
  std::string input;   // path of a bundle or of MLIR (text or bytecode) at level L1 or L2; "-" for standard input
  std::string against; // path of a second program, which must compute the same; empty for none
  std::string lower;   // pass pipeline after which the program must compute the same; empty for none
  std::string inputs;  // folder with rank<r>.<argument>.bin; empty for random inputs
  std::string outputs; // folder for rank<r>.result<i>.bin and rank<r>.argument<i>.bin of the last call (one below it
                       // for each piece of a split input, named by its number); empty for none
  std::string aten;    // path of libpkb_aten.so
  uint64_t seed = 0;   // of inputs and of the order in which ranks run
  int64_t seeds = 1;   // how many seeds, from `seed` on; each with fresh symmetric memory
  int64_t calls = 1;   // calls of a seed, one after the other
  reference::InputOptions random;
  int64_t ulps = 0;   // by how many units in the last place floats of two programs may differ
  int64_t print = 16; // elements of a tensor that are printed
  bool json = false;
  bool split = false; // the input is cut at "// -----"; each piece is a program
};

/// Runs the request, prints results or the verdict on standard output and what went wrong on standard error. Returns
/// the exit status: 0; 1 if programs differ or one fails as it runs; 2 for bad input.
int runInterpret(const InterpretRequest &request, mlir::DialectRegistry &registry);

} // namespace pkb

#endif // PKB_DRIVER_INTERPRETMAIN_H
