// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// SHA-256 (FIPS 180-4), for program ids and cache keys.
#ifndef PKB_RUNTIME_LIB_SHA256_H
#define PKB_RUNTIME_LIB_SHA256_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace pkb_rt {

class Sha256 {
public:
  Sha256 &update(const void *data, size_t bytes);
  Sha256 &update(const std::string &text) { return update(text.data(), text.size()); }
  /// The digest as 64 lower-case hex digits. Ends the computation.
  std::string hex();

private:
  void block(const uint8_t *data);

  std::array<uint32_t, 8> state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                   0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<uint8_t, 64> pending = {};
  size_t filled = 0;
  uint64_t total = 0;
};

inline std::string sha256Hex(const std::string &text) { return Sha256().update(text).hex(); }

} // namespace pkb_rt

#endif // PKB_RUNTIME_LIB_SHA256_H
