//===- Archive.cpp - members of a zip file in memory ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Frontend/Archive.h"
#include "pkb/Support/Error.h"
#include "llvm/ADT/ScopeExit.h"
#include <algorithm>
#include <cstring>
#include <minizip/unzip.h>

using namespace llvm;

namespace {
/// A read-only file for minizip that lies in memory.
struct MemoryFile {
  StringRef bytes;
  uint64_t position = 0;

  static MemoryFile &of(void *stream) {
    return *static_cast<MemoryFile *>(stream);
  }
  static void *open(void *opaque, const void *, int) { return opaque; }
  static unsigned long read(void *, void *stream, void *to,
                            unsigned long size) {
    MemoryFile &file = of(stream);
    uint64_t left = file.bytes.size() - file.position;
    uint64_t count = std::min<uint64_t>(size, left);
    std::memcpy(to, file.bytes.data() + file.position, count);
    file.position += count;
    return count;
  }
  static unsigned long write(void *, void *, const void *, unsigned long) {
    return 0;
  }
  static ZPOS64_T tell(void *, void *stream) { return of(stream).position; }
  static long seek(void *, void *stream, ZPOS64_T offset, int origin) {
    MemoryFile &file = of(stream);
    uint64_t from = origin == ZLIB_FILEFUNC_SEEK_CUR   ? file.position
                    : origin == ZLIB_FILEFUNC_SEEK_END ? file.bytes.size()
                                                       : 0;
    if (from + offset > file.bytes.size())
      return -1;
    file.position = from + offset;
    return 0;
  }
  static int close(void *, void *) { return 0; }
  static int error(void *, void *) { return 0; }
};
} // namespace

/// The contents of the member that `zip` stands at.
static Expected<std::string> readMember(unzFile zip, StringRef name) {
  if (unzOpenCurrentFile(zip) != UNZ_OK)
    return pkb::makeError("member '", name, "' is damaged");
  std::string contents;
  std::string chunk(1 << 20, '\0');
  int count;
  while ((count = unzReadCurrentFile(zip, chunk.data(), chunk.size())) > 0)
    contents.append(chunk.data(), count);
  int closed = unzCloseCurrentFile(zip); // compares the CRC
  if (count < 0 || closed != UNZ_OK)
    return pkb::makeError("member '", name, "' is damaged");
  return contents;
}

Expected<StringMap<std::string>>
pkb::frontend::readArchive(StringRef bytes) {
  MemoryFile file{bytes};
  zlib_filefunc64_def functions = {};
  functions.zopen64_file = MemoryFile::open;
  functions.zread_file = MemoryFile::read;
  functions.zwrite_file = MemoryFile::write;
  functions.ztell64_file = MemoryFile::tell;
  functions.zseek64_file = MemoryFile::seek;
  functions.zclose_file = MemoryFile::close;
  functions.zerror_file = MemoryFile::error;
  functions.opaque = &file;
  unzFile zip = unzOpen2_64("", &functions);
  if (!zip)
    return makeError("the directory of the zip file is missing; the file is "
                     "cut off or is no bundle");
  scope_exit close([&] { unzClose(zip); });

  unz_global_info64 info;
  if (unzGetGlobalInfo64(zip, &info) != UNZ_OK)
    return makeError("the directory of the zip file is damaged");
  StringMap<std::string> members;
  for (uint64_t i = 0; i < info.number_entry; ++i) {
    int at = i == 0 ? unzGoToFirstFile(zip) : unzGoToNextFile(zip);
    char name[4096] = {};
    if (at != UNZ_OK ||
        unzGetCurrentFileInfo64(zip, nullptr, name, sizeof(name) - 1, nullptr,
                                0, nullptr, 0) != UNZ_OK)
      return makeError("the directory of the zip file is damaged");
    Expected<std::string> contents = readMember(zip, name);
    if (!contents)
      return contents.takeError();
    if (!members.try_emplace(name, std::move(*contents)).second)
      return makeError("member '", name, "' is there twice");
  }
  return members;
}
