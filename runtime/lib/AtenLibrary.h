// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef PKB_RUNTIME_LIB_ATENLIBRARY_H
#define PKB_RUNTIME_LIB_ATENLIBRARY_H

#include "pkb_rt/aten.h"

namespace pkb_rt {

/// Opens libpkb_aten.so ($PKB_ATEN_LIBRARY, else beside this library). Throws PKB_ERROR_ATEN if it or its libtorch is
/// missing.
const pkb_aten_api *loadAten();

} // namespace pkb_rt

#endif // PKB_RUNTIME_LIB_ATENLIBRARY_H
