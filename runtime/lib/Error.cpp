// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Error.h"

#include <new>

namespace pkb_rt {

static std::string &lastError() {
  static thread_local std::string text;
  return text;
}

std::string clipped(const std::string &text) {
  constexpr size_t most = 4000;
  if (text.size() <= most) {
    return text;
  }
  size_t end = most;
  while (end > 0 && (text[end] & 0xC0) == 0x80) { // inside of a UTF-8 character
    --end;
  }
  return cat(text.substr(0, end), "... (", text.size(), " bytes)");
}

pkb_status setLastError(pkb_status status, const std::string &text) {
  lastError() = text;
  return status;
}

const char *driverText(const pkb_driver *driver, pkb_cu_result result) {
  const char *text = driver && driver->error_string ? driver->error_string(result) : nullptr;
  return text ? text : "unknown error";
}

void check(const pkb_driver *driver, pkb_cu_result result, const char *what) {
  if (result != 0) {
    fail(PKB_ERROR_DEVICE, what, " failed: ", driverText(driver, result), " (", result, ")");
  }
}

} // namespace pkb_rt

extern "C" const char *pkb_last_error(void) { return pkb_rt::lastError().c_str(); }
