// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Zip.h"

#include "Error.h"

#include <array>
#include <cstdint>

namespace pkb_rt {
namespace {

constexpr uint32_t kLocalMark = 0x04034b50, kCentralMark = 0x02014b50, kEndMark = 0x06054b50;
constexpr size_t kLocalBytes = 30, kCentralBytes = 46, kEndBytes = 22;
constexpr uint32_t kFirstDay = 0x21; // 1980-01-01, so that equal members give equal bytes

uint32_t checksum(std::string_view bytes) {
  static constexpr auto table = [] {
    std::array<uint32_t, 256> rows{};
    for (uint32_t i = 0; i < 256; ++i) {
      uint32_t row = i;
      for (int bit = 0; bit < 8; ++bit) {
        row = (row >> 1) ^ (row & 1 ? 0xedb88320u : 0);
      }
      rows[i] = row;
    }
    return rows;
  }();
  uint32_t crc = ~0u;
  for (unsigned char byte : bytes) {
    crc = (crc >> 8) ^ table[(crc ^ byte) & 0xff];
  }
  return ~crc;
}

void put(std::string &out, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) {
    out.push_back(char(value >> (8 * i)));
  }
}

uint32_t get(std::string_view bytes, size_t at, int count) {
  uint32_t value = 0;
  for (int i = 0; i < count; ++i) {
    value |= uint32_t(uint8_t(bytes[at + size_t(i)])) << (8 * i);
  }
  return value;
}

/// What a member's two headers share, from the version needed to the name's length and that of an extra field.
void putCommon(std::string &out, const ZipMember &member) {
  put(out, 20, 2);        // version needed
  put(out, 1u << 11, 2);  // names are UTF-8
  put(out, 0, 2);         // stored
  put(out, kFirstDay << 16, 4);
  put(out, checksum(member.bytes), 4);
  put(out, member.bytes.size(), 4);
  put(out, member.bytes.size(), 4);
  put(out, member.name.size(), 2);
  put(out, 0, 2);
}

} // namespace

std::string writeZip(const std::vector<ZipMember> &members, const std::string &comment) {
  std::string out, directory;
  uint64_t total = 0;
  for (const ZipMember &member : members) {
    total += member.bytes.size() + 2 * member.name.size() + kLocalBytes + kCentralBytes;
    if (member.name.size() > 0xffff) {
      fail(PKB_ERROR_ARGUMENT, "the name of an artefact's member has ", member.name.size(), " bytes, at most 65535 fit");
    }
  }
  if (total >= 0xffffffffull - 0x20000 || members.size() > 0xffff || comment.size() > 0xffff) {
    fail(PKB_ERROR_ARGUMENT, "an artefact holds less than 4 GiB in less than 65536 members, got: ", total, " bytes in ",
         members.size(), "; emit a .cu with its data beside it");
  }
  out.reserve(size_t(total) + kEndBytes + comment.size());
  for (const ZipMember &member : members) {
    put(directory, kCentralMark, 4);
    put(directory, 20, 2); // version made by
    putCommon(directory, member);
    put(directory, 0, 2 + 2 + 2 + 4); // comment, disk, attributes
    put(directory, out.size(), 4);
    directory += member.name;
    put(out, kLocalMark, 4);
    putCommon(out, member);
    out += member.name;
    out += member.bytes;
  }
  size_t start = out.size();
  out += directory;
  put(out, kEndMark, 4);
  put(out, 0, 4);
  put(out, members.size(), 2);
  put(out, members.size(), 2);
  put(out, directory.size(), 4);
  put(out, start, 4);
  put(out, comment.size(), 2);
  return out + comment;
}

Zip readZip(const std::string &path, std::string_view bytes) {
  auto damaged = [&](const auto &...what) { fail(PKB_ERROR_PROGRAM, "'", path, "' is damaged: ", what..., "; write it again with pkb-opt"); };
  size_t end = bytes.size() < kEndBytes ? std::string_view::npos : bytes.size() - kEndBytes;
  while (end != std::string_view::npos &&
         (get(bytes, end, 4) != kEndMark || end + kEndBytes + get(bytes, end + 20, 2) != bytes.size())) {
    end = end == 0 || bytes.size() - end > 0xffff + kEndBytes ? std::string_view::npos : end - 1;
  }
  if (end == std::string_view::npos) {
    fail(PKB_ERROR_PROGRAM, "'", path, "' is cut off (", bytes.size(), " bytes, and no directory at the end); write it again with pkb-opt");
  }
  Zip zip;
  zip.comment = std::string(bytes.substr(end + kEndBytes));
  size_t count = get(bytes, end + 10, 2), at = get(bytes, end + 16, 4);
  for (size_t i = 0; i < count; ++i) {
    if (at + kCentralBytes > end || get(bytes, at, 4) != kCentralMark) {
      damaged("entry ", i, " of its directory is missing");
    }
    size_t nameBytes = get(bytes, at + 28, 2), size = get(bytes, at + 24, 4), local = get(bytes, at + 42, 4);
    size_t skip = nameBytes + get(bytes, at + 30, 2) + get(bytes, at + 32, 2);
    if (at + kCentralBytes + skip > end) {
      damaged("entry ", i, " of its directory is cut off");
    }
    std::string name(bytes.substr(at + kCentralBytes, nameBytes));
    if (get(bytes, at + 10, 2) != 0) {
      damaged("member '", name, "' is compressed, which no artefact of pkb-opt is");
    }
    if (local + kLocalBytes > end || get(bytes, local, 4) != kLocalMark) {
      damaged("member '", name, "' is not where the directory says");
    }
    size_t data = local + kLocalBytes + get(bytes, local + 26, 2) + get(bytes, local + 28, 2);
    if (data + size > end || checksum(bytes.substr(data, size)) != get(bytes, at + 16, 4)) {
      damaged("member '", name, "' is not what was written");
    }
    if (!zip.members.emplace(name, bytes.substr(data, size)).second) {
      damaged("member '", name, "' is there twice");
    }
    at += kCentralBytes + skip;
  }
  return zip;
}

} // namespace pkb_rt
