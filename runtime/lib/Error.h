// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Errors of the host run time. Cold paths throw Error, the C interface turns it into a pkb_status and one line of text;
// the call path returns a status and sets the text itself.
#ifndef PKB_RUNTIME_LIB_ERROR_H
#define PKB_RUNTIME_LIB_ERROR_H

#include "pkb_rt/driver.h"
#include "pkb_rt/pkb.h"

#include <sstream>
#include <stdexcept>
#include <string>

namespace pkb_rt {

/// Concatenates anything that can be streamed.
template <typename... Parts>
std::string cat(const Parts &...parts) {
  std::ostringstream stream;
  (stream << ... << parts);
  return stream.str();
}

/// A failure with the status that the C interface returns for it.
struct Error : std::runtime_error {
  Error(pkb_status status, const std::string &text) : std::runtime_error(text), status(status) {}
  pkb_status status;
};

template <typename... Parts>
[[noreturn]] void fail(pkb_status status, const Parts &...parts) {
  throw Error(status, cat(parts...));
}

/// `text`, or its beginning and its length if it is longer than a message should be. What is made of it fits into a blob of Bootstrap.
std::string clipped(const std::string &text);

/// Sets the text that pkb_last_error returns in this thread, and returns `status`.
pkb_status setLastError(pkb_status status, const std::string &text);

/// The text of a driver result; never null.
const char *driverText(const pkb_driver *driver, pkb_cu_result result);

/// Throws PKB_ERROR_DEVICE "<what>: <driver text>" unless `result` is success.
void check(const pkb_driver *driver, pkb_cu_result result, const char *what);

/// Runs `body`, turning every exception into a status and a text.
template <typename Body>
pkb_status guarded(Body &&body) {
  try {
    body();
    return PKB_OK;
  } catch (const Error &error) {
    return setLastError(error.status, error.what());
  } catch (const std::bad_alloc &) {
    return setLastError(PKB_ERROR_INTERNAL, "out of host memory");
  } catch (const std::exception &error) {
    return setLastError(PKB_ERROR_INTERNAL, error.what());
  }
}

} // namespace pkb_rt

#endif // PKB_RUNTIME_LIB_ERROR_H
