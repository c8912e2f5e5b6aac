//===- Error.h - one message per bad input ----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PKB_SUPPORT_ERROR_H
#define PKB_SUPPORT_ERROR_H

#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"
#include <string>

namespace pkb {

/// An error whose message is the parts, streamed one after the other.
template <typename... Parts> llvm::Error makeError(Parts &&...parts) {
  std::string text;
  llvm::raw_string_ostream os(text);
  ((os << parts), ...);
  return llvm::createStringError(text);
}

/// `error` with "prefix: " before its message.
inline llvm::Error prefixError(llvm::StringRef prefix, llvm::Error error) {
  return makeError(prefix, ": ", llvm::toString(std::move(error)));
}

} // namespace pkb

#endif // PKB_SUPPORT_ERROR_H
