// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Zip files whose members are stored as they are, without compression: what artefacts are made of (docs/Rationale/Artefact.md). Any zip tool
// reads them; the run time needs no library to do so.
#ifndef PKB_RUNTIME_LIB_ZIP_H
#define PKB_RUNTIME_LIB_ZIP_H

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace pkb_rt {

struct ZipMember {
  std::string name;
  std::string_view bytes;
};

/// The bytes of a zip file with `members` in their order and `comment` at its end; equal members give equal bytes. Throws
/// PKB_ERROR_ARGUMENT for what the format cannot hold: a file of 4 GiB, more than 65535 members.
std::string writeZip(const std::vector<ZipMember> &members, const std::string &comment);

struct Zip {
  std::map<std::string, std::string_view> members; // into the bytes that were read
  std::string comment;
};

/// Reads such a file, comparing each member's checksum. Throws PKB_ERROR_PROGRAM with what is wrong, `path` named.
Zip readZip(const std::string &path, std::string_view bytes);

} // namespace pkb_rt

#endif // PKB_RUNTIME_LIB_ZIP_H
