// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Settings from the environment, read where a context or a program is made (never kept in globals).
#ifndef PKB_RUNTIME_LIB_ENVIRONMENT_H
#define PKB_RUNTIME_LIB_ENVIRONMENT_H

#include <limits>
#include <string>

namespace pkb_rt {

/// The number in $`name`, or `fallback` where it is unset or empty. Throws PKB_ERROR_ARGUMENT if it is not a number from
/// `least` to `most`.
double environmentNumber(const char *name, double fallback, double least, double most = std::numeric_limits<double>::infinity());
/// The text of $`name`, or "" .
std::string environmentText(const char *name);

} // namespace pkb_rt

#endif // PKB_RUNTIME_LIB_ENVIRONMENT_H
