// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Settings from the environment, read where a context or a program is made (never kept in globals).
#ifndef PKB_RUNTIME_LIB_ENVIRONMENT_H
#define PKB_RUNTIME_LIB_ENVIRONMENT_H

#include <string>

namespace pkb_rt {

/// The number in $`name`, or `fallback` where it is unset or empty. Throws PKB_ERROR_ARGUMENT if it is not a number of
/// at least `least`.
double environmentNumber(const char *name, double fallback, double least);
/// The text of $`name`, or "" .
std::string environmentText(const char *name);

} // namespace pkb_rt

#endif // PKB_RUNTIME_LIB_ENVIRONMENT_H
