// REQUIRES: plugins
// RUN: not pkb-opt %s --load-pass-plugin=%build/lib/NotThere%shlibext \
// RUN:   --pass-pipeline='builtin.module(drop-lonely)' 2>&1 | FileCheck %s

// A plugin that cannot be loaded is named, and the run fails.
// CHECK: NotThere
module {}
