// REQUIRES: plugins
// A plugin that cannot be used: one message that says which and why, and nothing is written.

// RUN: rm -f %t.out.mlir
// RUN: not pkb-opt %s --load-pass-plugin=%t.none.so -o %t.out.mlir 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: pkb-opt: error: cannot load the pass plugin '{{.*}}.none.so': no such file

// RUN: rm -f %t.pipe && mkfifo %t.pipe
// RUN: not timeout 60 pkb-opt %s --load-pass-plugin=%t.pipe -o %t.out.mlir 2>&1 | FileCheck %s --check-prefix=PIPE
// PIPE: pkb-opt: error: cannot load the pass plugin '{{.*}}.pipe': it is no regular file
// RUN: not pkb-opt %s --load-pass-plugin=%S -o %t.out.mlir 2>&1 | FileCheck %s --check-prefix=FOLDER
// FOLDER: pkb-opt: error: cannot load the pass plugin '{{.*}}Plugins': it is no regular file

// RUN: not pkb-opt %s --load-pass-plugin=%s -o %t.out.mlir 2>&1 | FileCheck %s --check-prefix=TEXT
// TEXT: pkb-opt: error: cannot load the pass plugin '{{.*}}plugin-invalid.mlir': {{.*}}

// RUN: echo "int nothing;" > %t.c && %cxx -x c -shared -fPIC %t.c -o %t.empty.so
// RUN: not pkb-opt %s --load-pass-plugin=%t.empty.so -o %t.out.mlir 2>&1 | FileCheck %s --check-prefix=EMPTY
// EMPTY: pkb-opt: error: cannot load the pass plugin '{{.*}}.empty.so': it has no mlirGetPassPluginInfo; end it with PKB_PASS_PLUGIN(MyPass) of pkb/Plugin.h

// RUN: %cxx -x c -shared -fPIC -DAPI=99 '-DVERSION="1"' %S/Inputs/version.c -o %t.api.so
// RUN: not pkb-opt %s --load-pass-plugin=%t.api.so -o %t.out.mlir 2>&1 | FileCheck %s --check-prefix=API
// API: pkb-opt: error: cannot load the pass plugin '{{.*}}.api.so': Wrong API version{{.*}}99

// RUN: %cxx -x c -shared -fPIC -DAPI=1 '-DVERSION="pkb 0123456789ab of LLVM 22.1.0"' %S/Inputs/version.c -o %t.abi.so
// RUN: not pkb-opt %s --load-pass-plugin=%t.abi.so -o %t.out.mlir 2>&1 | FileCheck %s --check-prefix=ABI
// ABI: pkb-opt: error: cannot load the pass plugin '{{.*}}.abi.so': it was built for pkb 0123456789ab of LLVM 22.1.0, and this is pkb {{[0-9a-f]+}} of LLVM {{.*}}; build it again with tools/dev/build-plugin

// RUN: %cxx -x c -shared -fPIC -DAPI=1 '-DVERSION="1"' -DMISSING %S/Inputs/version.c -o %t.symbol.so
// RUN: not pkb-opt %s --load-pass-plugin %t.symbol.so -o %t.out.mlir 2>&1 | FileCheck %s --check-prefix=SYMBOL
// SYMBOL: pkb-opt: error: cannot load the pass plugin '{{.*}}.symbol.so': undefined symbol: notInAnyTool

// RUN: head -c 9000 %t.empty.so > %t.cut.so
// RUN: not pkb-opt %s --load-pass-plugin=%t.cut.so -o %t.out.mlir 2>&1 | FileCheck %s --check-prefix=CUT
// CUT: pkb-opt: error: cannot load the pass plugin '{{.*}}.cut.so': it is cut off; build it again

// RUN: sed 's/"two-shot"/"pkb-elide-clones"/' %src/docs/Examples/plugin/TwoShot.cpp > %t.taken.cpp
// RUN: %src/tools/dev/build-plugin %t.taken.cpp -o %t.taken.so --build %build
// RUN: not pkb-opt %s --load-pass-plugin=%t.taken.so -o %t.out.mlir 2>&1 | FileCheck %s --check-prefix=TAKEN
// TAKEN: error: cannot register the passes of a pass plugin: {{.*}}pkb-elide-clones{{.*}}; give its pass a name that is not taken
// TAKEN-NOT: {{.}}

// RUN: not ls %t.out.mlir
// One that says nothing of pkb is MLIR's business.
// RUN: %cxx -x c -shared -fPIC -DAPI=1 '-DVERSION="1"' %S/Inputs/version.c -o %t.plain.so
// RUN: pkb-opt %s --load-pass-plugin=%t.plain.so -o %t.out.mlir && ls %t.out.mlir

// What is to be built is named, and so is the folder in which pkb-opt is not.
// RUN: not %src/tools/dev/build-plugin %t.none.cpp -o %t.x.so 2>&1 | FileCheck %s --check-prefix=SOURCE
// SOURCE: build-plugin: error: no such file: {{.*}}.none.cpp
// RUN: not %src/tools/dev/build-plugin %S/Inputs/version.c -o %t.x.so --build %t.nowhere 2>&1 | FileCheck %s --check-prefix=BUILD
// BUILD: build-plugin: error: no build of pkb-opt in {{.*}}.nowhere: run tools/check, or name it with --build
// RUN: not %src/tools/dev/build-plugin 2>&1 | FileCheck %s --check-prefix=NAME
// NAME: build-plugin: error: name a source
// RUN: not %src/tools/dev/build-plugin %S/Inputs/version.c -o %t.x.so --build %build 2>&1 | FileCheck %s --check-prefix=COMPILER
// COMPILER: error
// RUN: not ls %t.x.so
module {}
