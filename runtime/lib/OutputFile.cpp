// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Files written whole or not at all.
#include "OutputFile.h"

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace pkb_rt {

namespace {

/// True for a device, a pipe or a socket, which a rename would replace by a file.
bool isSpecial(const std::string &path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

bool isFolder(const std::string &path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

std::string afterLinks(const std::string &path) {
  char *real = realpath(path.c_str(), nullptr);
  std::string place = real ? real : path;
  std::free(real);
  return place;
}

/// A name in the folder of `place` that no other process or thread has; short, as `place` may have the longest name there can be.
std::string nameBeside(const std::string &place) {
  static std::atomic<unsigned> count{0};
  size_t slash = place.rfind('/');
  return place.substr(0, slash == std::string::npos ? 0 : slash + 1) + ".pkb-" + std::to_string(getpid()) + "-" + std::to_string(count++) + ".part";
}

std::string reason(int error) { return std::strerror(error); }

} // namespace

std::string whyNotWritable(const std::string &path) {
  if (path.empty()) {
    return reason(ENOENT);
  }
  if (isFolder(path)) {
    return reason(EISDIR);
  }
  if (isSpecial(path)) { // opening a pipe would wait for its reader
    return access(path.c_str(), W_OK) == 0 ? "" : reason(errno);
  }
  size_t slash = path.rfind('/');
  if (path.size() - (slash == std::string::npos ? 0 : slash + 1) > NAME_MAX) {
    return reason(ENAMETOOLONG);
  }
  std::string part = nameBeside(afterLinks(path));
  int fd = open(part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0) {
    return reason(errno);
  }
  close(fd);
  unlink(part.c_str());
  return "";
}

OutputFile::OutputFile(const std::string &path) : place(afterLinks(path)), part(isSpecial(path) ? "" : nameBeside(place)) {}

OutputFile::~OutputFile() {
  if (!part.empty()) {
    unlink(part.c_str());
  }
}

std::string OutputFile::write(std::string_view bytes) {
  if (isFolder(place)) {
    return reason(EISDIR);
  }
  int fd = open((part.empty() ? place : part).c_str(), O_WRONLY | (part.empty() ? 0 : O_CREAT | O_EXCL) | O_CLOEXEC, 0666);
  if (fd < 0) {
    return reason(errno);
  }
  int error = 0;
  while (!error && !bytes.empty()) {
    ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n >= 0) {
      bytes.remove_prefix(size_t(n));
    } else if (errno != EINTR) {
      error = errno;
    }
  }
  if (close(fd) != 0 && !error) { // where a quota or a network speaks up
    error = errno;
  }
  return error ? reason(error) : "";
}

std::string OutputFile::keep() {
  if (!part.empty()) {
    if (std::rename(part.c_str(), place.c_str()) != 0) {
      return reason(errno);
    }
    part.clear();
  }
  return "";
}

std::string writeWholeFile(const std::string &path, std::string_view bytes) {
  OutputFile file(path);
  std::string why = file.write(bytes);
  return why.empty() ? file.keep() : why;
}

} // namespace pkb_rt
