// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A file that a tool was asked to write: whole, or not at all. Without exceptions and without the rest of the run time, for all tools.
#ifndef PKB_RUNTIME_LIB_OUTPUT_FILE_H
#define PKB_RUNTIME_LIB_OUTPUT_FILE_H

#include <string>
#include <string_view>

namespace pkb_rt {

/// Why nothing can be written to `path`, in the system's words, or "" if nothing speaks against it. Leaves what is there as it is.
std::string whyNotWritable(const std::string &path);

/// Bytes on their way into a file. A regular file is written beside its place (the end of a chain of links) and then renamed, so that a full
/// disk leaves the old one; a device or pipe is written straight. Both functions return why not, in the system's words, or "".
class OutputFile {
public:
  explicit OutputFile(const std::string &path);
  ~OutputFile();
  OutputFile(const OutputFile &) = delete;
  OutputFile &operator=(const OutputFile &) = delete;

  /// All of `bytes`, to the disk's cache at least; once.
  std::string write(std::string_view bytes);
  /// Puts what was written in its place.
  std::string keep();

private:
  std::string place, part; // part: empty for what is written straight, and once it is kept
};

/// Both steps for one file.
std::string writeWholeFile(const std::string &path, std::string_view bytes);

} // namespace pkb_rt

#endif // PKB_RUNTIME_LIB_OUTPUT_FILE_H
