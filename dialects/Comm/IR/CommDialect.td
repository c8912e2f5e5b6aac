//===- CommDialect.td - what is communicated ---------------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PKB_DIALECTS_COMM_IR_COMMDIALECT_TD
#define PKB_DIALECTS_COMM_IR_COMMDIALECT_TD

include "mlir/IR/DialectBase.td"
include "mlir/IR/OpBase.td"

def Comm_Dialect : Dialect {
  let name = "comm";
  let cppNamespace = "::pkb::comm";
  let summary = "collectives on tensors with value semantics";
  let description = [{
    Level L1: *what* is communicated between the ranks of a program, not how.
    One module is the program of every rank (SPMD).

    Invariants:

    * Every collective names its ranks with a `#comm.group`, a partition of
      ranks of the module's `#comm.mesh`. A rank that is in no row of the group
      does not take part.
    * Collectives read tensors and return new ones; nothing is changed in place.
    * Collectives are ordered: each reads and writes the communication order of
      its program, so none is dropped, merged or moved across another one.
    * The operands and results of a collective are contiguous and row-major.

    The module attribute `comm.mesh` (of type `#comm.mesh`) gives the number of
    ranks and, once a target is chosen, the links between them.
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let hasConstantMaterializer = 1;
  let dependentDialects = ["::mlir::arith::ArithDialect"];
  let extraClassDeclaration = [{
    /// Part of initialize(), defined beside the storage of the attributes.
    void registerAttributes();
  }];
}

class Comm_Op<string mnemonic, list<Trait> traits = []>
    : Op<Comm_Dialect, mnemonic, traits>;

#endif // PKB_DIALECTS_COMM_IR_COMMDIALECT_TD
