//===- Passes.td - gates between levels --------------------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PKB_PASSES_CONTRACT_PASSES_TD
#define PKB_PASSES_CONTRACT_PASSES_TD

include "mlir/Pass/PassBase.td"

//===----------------------------------------------------------------------===//
// L1
//===----------------------------------------------------------------------===//

def VerifyCommPass : Pass<"pkb-verify-comm", "::mlir::ModuleOp"> {
  let summary = "check that a module is a program of level L1";
  let description = [{
    Changes nothing; reports every offender.

    * (`verify_comm_c1`) The module has a mesh.
    * (`verify_comm_c2`) It has a function `main` with one block, so all ranks
      meet its collectives in one order; or functions with one block whose
      `comm.ranks` hold each rank of the mesh once.
    * (`verify_comm_c3`) All operations are of `comm`, `aten`, `linalg`,
      `tensor`, `arith`, `math` or `func`.
    * (`verify_comm_c4`) Operands and results are values, not memory.
    * (`verify_comm_c5`) The ranks of every group are in the mesh.
    * (`verify_comm_c6`) `comm.absent` is used by operations of `comm` only.
    * (`verify_comm_c7`) Where ranks run different functions, each collective
      has a number (`comm.exchange`); those of one number are the same but for
      the shapes of their tensors, stand once in the functions of exactly the
      ranks of their group, and can be met in one order.
    * (`verify_comm_c8`) The mechanism of each collective's schedule, if it has
      one, is legal for it by the table of legality.

    *Precondition*: none. *Postcondition*: the above. *Declines*: never.
  }];
  let options = [
    Option<"arenaBytes", "arena-bytes", "int64_t", "256ll << 20",
           "Bytes of a channel's symmetric region on one rank">];
}

//===----------------------------------------------------------------------===//
// L2
//===----------------------------------------------------------------------===//

def VerifyXferPass : Pass<"pkb-verify-xfer", "::mlir::ModuleOp"> {
  let summary = "prove that the kernels of level L2 coordinate their ranks";
  let description = [{
    Changes nothing; reports every offender, once per code and operation. Each kernel is run on all ranks of its group in a model:
    blocks are sequential, and what they do is known when the kernel is.

    * `XV0xx`: the kernel is one that the proof can speak about;
    * `XV1xx`: every part of every result is written once per call, with what
      the collective named by `implements` defines;
    * `XV2xx`: each wait has a signal and each signal a wait, in band exactly
      where the data are LL lines;
    * `XV3xx`: no ranks wait for each other;
    * `XV4xx`: waiting blocks are resident together, messages and staging
      buffers fit;
    * `XV5xx`: each read of a symmetric buffer happens after its write, and no
      slot is written again before it has been read, within a call and across
      calls.

    The codes and the arguments are in docs/Rationale/VerifyXfer.md. A kernel that implements `none` gets a remark: its contributions
    were not checked.

    *Precondition*: the module verifies. *Postcondition*: the above; what cannot be proved is rejected. *Declines*: never.
  }];
  let options = [
    Option<"sms", "sms", "int64_t", "0",
           "Multiprocessors of the device, on each of which per_sm blocks of a kernel that waits are resident; 0: the module's xfer.sms, else 132">,
    Option<"arenaBytes", "arena-bytes", "int64_t", "256ll << 20",
           "Bytes of a channel's symmetric region on one rank">];
}

//===----------------------------------------------------------------------===//
// L3
//===----------------------------------------------------------------------===//

def VerifyCudaEmittablePass : Pass<"pkb-verify-cuda-emittable", "::mlir::ModuleOp"> {
  let summary = "check that a module of level L3 can be printed";
  let description = [{
    Changes nothing; reports every offender. A module that passes is printed by lib/Target/Cuda without a decision and without an error.

    * (`verify_cuda_emittable_c1`) A function `main` of one block or, where ranks
      differ, functions of one block with `comm.ranks`; kernels and constants,
      nothing else.
    * (`verify_cuda_emittable_c2`) Each operation of these is a step or a slot of
      the host plan.
    * (`verify_cuda_emittable_c3`) Memrefs are static, of elements that a tensor
      can have, and come from something that has a slot.
    * (`verify_cuda_emittable_c4`) Kernels have a name of C, as many ranks as
      their group, a legal grid, and a region that holds flags and LL lines.
    * (`verify_cuda_emittable_c5`) A kernel reads its epoch once, at its top
      level, and ends it once, as its last operation.
    * (`verify_cuda_emittable_c6`) Each operation and type in a kernel has a form
      in C++.
    * (`verify_cuda_emittable_c7`) Pointers by number exist.
    * (`verify_cuda_emittable_c8`) What a whole block runs is not in a loop that
      each thread runs by itself.
    * (`verify_cuda_emittable_c9`) Sites are positive and unique in the module.
    * (`verify_cuda_emittable_c10`) Rows in registers: there is a team for each row
      of a chunk, a loop takes the vector that it is at and reaches all of them, and
      lines are gathered behind what is sent.

    *Precondition*: the module verifies. *Postcondition*: the above. *Declines*: never.
  }];
}

#endif // PKB_PASSES_CONTRACT_PASSES_TD
