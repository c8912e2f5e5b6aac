# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""An operation of a dialect: TableGen entry, verifier with one labelled constraint, round trip and negative test."""
import re

from checks.names import dashed
from scaffold import LICENCE, Failed, add_source, camel, fill, insert_before_endif, read, write_new

HELP = "an operation of a dialect (a folder below dialects/): op Comm FoldScale"

DEF = '''def @DIALECT@_@NAME@Op : @DIALECT@_Op<"@MNEMONIC@", [Pure]> {
  let summary = "one line: what it does";
  let description = [{
    What it does. (Replace `Pure` by its effects on memory if it has some: what communicates or signals has.)

    ```mlir
    %1 = @PREFIX@.@MNEMONIC@ %0 : tensor<8xf32> -> tensor<8xf32>
    ```

    **Constraints:**
    * (`@MNEMONIC@_c1`) The result has the type of the input.
  }];
  let arguments = (ins AnyType:$input);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

'''

SOURCE = LICENCE + '''
#include "dialects/@DIALECT@/IR/@DIALECT@.h"

using namespace mlir;
using namespace pkb::@PREFIX@;

/// @MNEMONIC@_c1
LogicalResult @NAME@Op::verify() {
  if (getInput().getType() != getResult().getType())
    return emitOpError() << "result must have the type of the input, " << getInput().getType() << ", got: " << getResult().getType();
  return success();
}
'''

ROUND_TRIP = '''// RUN: pkb-opt %s | pkb-opt | FileCheck %s
// RUN: pkb-opt %s --mlir-print-op-generic | pkb-opt | FileCheck %s

// CHECK-LABEL: func.func @@MNEMONIC@
// CHECK-SAME:  %[[X:.+]]: tensor<8xf32>
// CHECK-NEXT:  %[[Y:.+]] = @PREFIX@.@MNEMONIC@ %[[X]] : tensor<8xf32> -> tensor<8xf32>
// CHECK-NEXT:  return %[[Y]]
func.func @@MNEMONIC@(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = @PREFIX@.@MNEMONIC@ %x : tensor<8xf32> -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
'''

INVALID = '''// RUN: pkb-opt %s -split-input-file -verify-diagnostics

func.func @@MNEMONIC@_c1(%x: tensor<8xf32>) {
  // expected-error @below {{\'@PREFIX@.@MNEMONIC@\' op result must have the type of the input, \'tensor<8xf32>\', got: \'tensor<4xf32>\'}}
  %0 = @PREFIX@.@MNEMONIC@ %x : tensor<8xf32> -> tensor<4xf32>
  return
}
'''
PLACEHOLDERS = {
    "one line: what it does": "say in one line what it does",
    "    What it does. (Replace `Pure`": "describe what it does, and give it its effects on memory",
}


def arguments(parser):
    parser.add_argument("dialect", metavar="DIALECT", help="folder below dialects/")
    parser.add_argument("name", metavar="NAME", help="UpperCamel, without the ending Op")


def plan(root, args):
    """{path: text} of every file to write."""
    dialect, name = camel("dialect", args.dialect), camel("name", args.name)
    if name.endswith("Op"):
        raise Failed(f"write the name without Op: {name[:-2]}")
    folder = f"dialects/{dialect}/IR"
    td = read(root, f"{folder}/{dialect}Ops.td")
    if td is None:
        raise Failed(f"there is no dialect {dialect}: {folder}/{dialect}Ops.td is not there")
    words = {"DIALECT": dialect, "PREFIX": dialect.lower(), "NAME": name, "MNEMONIC": dashed(name).replace("-", "_")}
    if re.search(rf'"{words["MNEMONIC"]}"', td):
        raise Failed(f"{folder}/{dialect}Ops.td has a {words['MNEMONIC']} already")
    texts = {f"{folder}/{dialect}Ops.td": insert_before_endif(td, fill(DEF, words), f"{folder}/{dialect}Ops.td"),
             f"{folder}/CMakeLists.txt": add_source(root, f"{folder}/CMakeLists.txt", name + "Op.cpp")}
    write_new(texts, root, f"{folder}/{name}Op.cpp", fill(SOURCE, words))
    write_new(texts, root, f"test/Dialect/{dialect}/{dashed(name)}-ops.mlir", fill(ROUND_TRIP, words))
    write_new(texts, root, f"test/Dialect/{dialect}/{dashed(name)}-invalid.mlir", fill(INVALID, words))
    return texts


def after(args):
    return (f"write operands, constraints and effects in dialects/{args.dialect}/IR/{args.dialect}Ops.td, the verifier in {args.name}Op.cpp; the rank interpreter "
            "(lib/Reference) and a lowering come with it; then ninja -C build check-pkb-fast")
