# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A pass: source, TableGen entry, CMake line and test. Its pattern declines everything, and the test says so."""
import glob
import os
import re

from checks.names import dashed
from scaffold import LICENCE, Failed, add_source, camel, fill, insert_before_endif, read, write_new

HELP = "a pass of a family (a folder below passes/, made if it is new): pass Fusion FuseScale"

SOURCE = LICENCE + '''
#include "passes/@FAMILY@/Passes.h"

#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

#define DEBUG_TYPE "@FLAG@"

namespace pkb {
#define GEN_PASS_DEF_@UPPER@PASS
#include "passes/@FAMILY@/Passes.h.inc"
} // namespace pkb

using namespace mlir;

namespace {
/// Replace by the patterns of the pass. A pattern that declines says why.
struct @NAME@Pattern : RewritePattern {
  explicit @NAME@Pattern(MLIRContext *context) : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}
  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    return rewriter.notifyMatchFailure(op, "nothing to do yet");
  }
};

struct @NAME@ : pkb::impl::@NAME@PassBase<@NAME@> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<@NAME@Pattern>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
'''

DEF = '''def @NAME@Pass : Pass<"@FLAG@"> {
  let summary = "one line: what it does";
  let description = [{
    What it does.

    *Precondition*: the level and gate it expects.

    *Postcondition*: what holds afterwards.

    *Declines*: when it leaves things as they are.
  }];
}

'''

TD = LICENCE + '''
#ifndef PKB_PASSES_@UPPER@_PASSES_TD
#define PKB_PASSES_@UPPER@_PASSES_TD

include "mlir/Pass/PassBase.td"

#endif // PKB_PASSES_@UPPER@_PASSES_TD
'''

HEADER = LICENCE + '''
#ifndef PKB_PASSES_@UPPER@_PASSES_H
#define PKB_PASSES_@UPPER@_PASSES_H

#include "mlir/Pass/Pass.h"

namespace pkb {

#define GEN_PASS_DECL
#include "passes/@FAMILY@/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/@FAMILY@/Passes.h.inc"

} // namespace pkb

#endif // PKB_PASSES_@UPPER@_PASSES_H
'''

TEST = '''// RUN: pkb-opt %s --@FLAG@ -o %t.mlir && FileCheck %s < %t.mlir
// A second run changes nothing.
// RUN: pkb-opt %t.mlir --@FLAG@ | diff %t.mlir -

// The near miss: where there is nothing to do, nothing is done. Above it goes the smallest program that shows what the pass does.
// CHECK-LABEL: func.func @declines
// CHECK-SAME:  %[[X:.+]]: tensor<8xf32>
// CHECK-NEXT:  %[[Y:.+]] = comm.all_reduce sum %[[X]]
// CHECK-NEXT:  return %[[Y]]
module attributes {comm.mesh = #comm.mesh<size = 2>} {
  func.func @declines(%x: tensor<8xf32>) -> tensor<8xf32> {
    %0 = comm.all_reduce sum %x in <[[0, 1]]> accumulate f32 : tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}
'''
PLACEHOLDERS = {
    "one line: what it does": "say in one line what it does",
    "    What it does.": "describe what it does",
    "*Precondition*: the level and gate it expects.": "name the level and the gate that it expects",
    "*Postcondition*: what holds afterwards.": "say what holds afterwards",
    "*Declines*: when it leaves things as they are.": "say when it leaves things as they are",
    "/// Replace by the patterns of the pass.": "write the patterns of the pass, and say here what they match",
    "nothing to do yet": "write the pattern; it declines with the reason",
    "Above it goes the smallest program that shows what the pass does.": "add the smallest program that shows what the pass does, and say here what is missing for it",
}


def arguments(parser):
    parser.add_argument("family", metavar="FAMILY", help="folder below passes/")
    parser.add_argument("name", metavar="NAME", help="UpperCamel, without the ending Pass")


def register(text, family):
    """lib/InitAll.cpp with a new family in it."""
    include, call = f'#include "passes/{family}/Passes.h"\n', f"  registerPkb{family}Passes();\n"
    at, pipelines = text.rfind('#include "passes/Pipelines/'), text.rfind("  registerPkbPipelines();")
    if at < 0 or pipelines < 0:
        raise Failed("cannot find where to register a family in lib/InitAll.cpp: add it by hand")
    return text[:at] + include + text[at:pipelines] + call + text[pipelines:]


def plan(root, args):
    """{path: text} of every file to write."""
    family, name = camel("family", args.family), camel("name", args.name)
    if name.endswith("Pass"):
        raise Failed(f"write the name without Pass: {name[:-4]}")
    words = {"FAMILY": family, "NAME": name, "FLAG": "pkb-" + dashed(name)}
    folder, texts = f"passes/{family}", {}
    write_new(texts, root, f"{folder}/{name}.cpp", fill(SOURCE, dict(words, UPPER=name.upper())))
    write_new(texts, root, f"test/Passes/{family}/{dashed(name)}.mlir", fill(TEST, words))
    for other in sorted(glob.glob(os.path.join(root, "passes", "*", "Passes.td"))):
        if re.search(rf'^def \w+ : Pass<"{words["FLAG"]}"', read(root, os.path.relpath(other, root)), re.M):
            raise Failed(f"passes/{os.path.basename(os.path.dirname(other))} has the flag {words['FLAG']} already: take another name")
    td = read(root, f"{folder}/Passes.td")
    if td is None:
        for path, text in (("Passes.td", TD), ("Passes.h", HEADER)):
            texts[f"{folder}/{path}"] = fill(text, dict(words, UPPER=family.upper()))
        td = texts[f"{folder}/Passes.td"]
        texts[f"{folder}/CMakeLists.txt"] = f"pkb_add_passes({family} SOURCES {name}.cpp)\n"
        texts["lib/InitAll.cpp"] = register(read(root, "lib/InitAll.cpp") or "", family)
    else:
        texts[f"{folder}/CMakeLists.txt"] = add_source(root, f"{folder}/CMakeLists.txt", name + ".cpp")
    if re.search(rf"^def {name}Pass\b", td, re.M):
        raise Failed(f"{folder}/Passes.td has a {name}Pass already")
    texts[f"{folder}/Passes.td"] = insert_before_endif(td, fill(DEF, words), f"{folder}/Passes.td")
    return texts


def after(args):
    return f"write the pattern in passes/{args.family}/{args.name}.cpp and what it does in its test, then ninja -C build check-pkb-fast"
