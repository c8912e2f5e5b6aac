// A filter of remarks that is no regular expression is refused, not passed over.

// RUN: not pkb-opt %s '--remarks-filter=sel(ect' 2>&1 | FileCheck %s --check-prefix=ALL
// ALL: pkb-opt: error: --remarks-filter=sel(ect is no regular expression: parentheses not balanced

// RUN: not pkb-opt %s '--remarks-filter-missed=[a' 2>&1 | FileCheck %s --check-prefix=MISSED
// MISSED: pkb-opt: error: --remarks-filter-missed=[a is no regular expression: {{.+}}

// RUN: pkb-opt %s '--remarks-filter=sel(ect|ection)' -o /dev/null
module attributes {comm.mesh = #comm.mesh<size = 2>} {}
