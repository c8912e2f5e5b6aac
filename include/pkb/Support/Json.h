// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Json.h - JSON from outside -------------------------------*- C++ -*-===//

#ifndef PKB_SUPPORT_JSON_H
#define PKB_SUPPORT_JSON_H

#include "pkb/Support/Error.h"

#include "llvm/Support/JSON.h"

namespace pkb {

/// As llvm::json::parse, which descends by recursion; more than 512 lists and objects inside each other are an error.
inline llvm::Expected<llvm::json::Value> parseJson(llvm::StringRef text) {
  constexpr int kDeepest = 512;
  int depth = 0;
  bool inString = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (inString) {
      i += c == '\\';
      inString = c != '"';
    } else if (c == '"') {
      inString = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kDeepest)
        return makeError("[byte ", i, "]: more than ", kDeepest, " lists and objects are inside each other");
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return llvm::json::parse(text);
}

} // namespace pkb

#endif // PKB_SUPPORT_JSON_H
