// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Plugins.h - passes and dialects from outside -------------*- C++ -*-===//

#ifndef PKB_DRIVER_PLUGINS_H
#define PKB_DRIVER_PLUGINS_H

#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace pkb {

/// Loads the plugins that `arguments` (a command line) name by `--load-pass-plugin`, and makes their paths absolute. The error names the first that
/// cannot be used and why: no such file, no library, symbols that this tool does not have, no entry point, made for another pkb.
llvm::Error checkPlugins(std::vector<std::string> &arguments);

} // namespace pkb

#endif // PKB_DRIVER_PLUGINS_H
