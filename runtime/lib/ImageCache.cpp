// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ImageCache.h"

#include "Compile.h"
#include "Environment.h"
#include "Error.h"
#include "Sha256.h"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <optional>
#include <sys/file.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace pkb_rt {
namespace {

constexpr const char *kMark = "\npkb-image "; // then the hash of what stands before; loaders of ELF files do not look there
constexpr size_t kMarkBytes = 11, kHashBytes = 64;

/// Makes a folder and those above it. False with errno.
bool makeDirectories(const std::string &path) {
  for (size_t at = 0; at != std::string::npos;) {
    at = path.find('/', at + 1);
    std::string part = path.substr(0, at);
    struct stat status;
    if (mkdir(part.c_str(), 0777) != 0 && errno != EEXIST && (stat(part.c_str(), &status) != 0 || !S_ISDIR(status.st_mode))) {
      return false;
    }
  }
  return true;
}

std::string rootOf(const std::string &asked) {
  std::string root = asked.empty() ? environmentText("PKB_CACHE_DIR") : asked;
  if (root.empty()) {
    std::string home = environmentText("HOME");
    root = (home.empty() ? "/tmp" : home) + "/.cache/pkb";
  }
  return root;
}

/// An exclusive lock on a file, which a process that dies gives up.
class FileLock {
public:
  ~FileLock() {
    if (fd >= 0) {
      close(fd);
    }
  }
  /// False with a reason if the file cannot be made, or others hold it for `seconds`.
  bool take(const std::string &path, double seconds, std::string &reason) {
    fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0) {
      reason = cat("cannot write '", path, "': ", std::strerror(errno));
      return false;
    }
    auto deadline = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
      if ((errno != EWOULDBLOCK && errno != EINTR) || std::chrono::steady_clock::now() > deadline) {
        reason = cat("another process has held '", path, "' for ", seconds, " s");
        return false;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return true;
  }

private:
  int fd = -1;
};

class Cache {
public:
  explicit Cache(const ImageRequest &request, Image &image) : request(request), image(image), root(rootOf(request.cacheDir)) {
    if (!makeDirectories(root)) {
      giveUp(cat("cannot make the folder: ", std::strerror(errno)));
    }
  }

  bool lock() {
    std::string reason;
    if (usable && !held.take(place() + ".lock", request.timeout, reason)) {
      giveUp(reason);
    }
    return usable;
  }

  /// Fills the image from the cache, if it is there and whole.
  bool find() {
    struct stat status;
    if (!usable || stat(place().c_str(), &status) != 0) {
      return false;
    }
    std::string bytes;
    try {
      bytes = readFile(place());
    } catch (const Error &error) {
      giveUp(error.what());
      return false;
    }
    size_t size = bytes.size() < kMarkBytes + kHashBytes ? 0 : bytes.size() - kMarkBytes - kHashBytes;
    if (size == 0 || bytes.compare(size, kMarkBytes, kMark) != 0 ||
        Sha256().update(bytes.data(), size).hex() != bytes.substr(size + kMarkBytes)) {
      image.notes.push_back(cat("'", place(), "' in the cache is damaged; made again"));
      unlink(place().c_str());
      return false;
    }
    bytes.resize(size);
    image.bytes = std::move(bytes);
    image.file = request.asFile ? place() : "";
    return true;
  }

  bool store() {
    if (!usable) {
      return false;
    }
    std::string part = cat(place(), ".", getpid(), ".", std::hash<std::thread::id>()(std::this_thread::get_id()), ".part");
    try {
      writeFile(part, image.bytes + kMark + sha256Hex(image.bytes));
    } catch (const Error &error) {
      giveUp(error.what());
      return false;
    }
    if (rename(part.c_str(), place().c_str()) != 0) {
      giveUp(cat("cannot write '", place(), "': ", std::strerror(errno)));
      unlink(part.c_str());
    }
    return usable;
  }

  std::string place() const { return root + "/" + request.name; }

private:
  void giveUp(const std::string &reason) {
    usable = false;
    image.notes.push_back(cat("the cache '", root, "' is not used: ", reason, "; set PKB_CACHE_DIR to a writable folder"));
  }

  const ImageRequest &request;
  Image &image;
  std::string root;
  bool usable = true;
  FileLock held;
};

} // namespace

TemporaryFolder::TemporaryFolder() {
  std::string base = environmentText("TMPDIR");
  path = (base.empty() ? "/tmp" : base) + "/pkb-image-XXXXXX";
  if (!mkdtemp(path.data())) {
    fail(PKB_ERROR_PROGRAM, "cannot make the temporary folder '", path, "': ", std::strerror(errno), "; set TMPDIR to a writable one");
  }
}

TemporaryFolder::~TemporaryFolder() {
  if (DIR *folder = opendir(path.c_str())) {
    while (dirent *entry = readdir(folder)) {
      unlinkat(dirfd(folder), entry->d_name, 0);
    }
    closedir(folder);
  }
  rmdir(path.c_str());
}

void writeFile(const std::string &path, const std::string &bytes) {
  int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  size_t done = 0;
  bool ok = fd >= 0;
  while (ok && done < bytes.size()) {
    ssize_t n = write(fd, bytes.data() + done, bytes.size() - done);
    ok = n >= 0 || errno == EINTR;
    done += n > 0 ? size_t(n) : 0;
  }
  int error = errno;
  if (fd >= 0 && close(fd) != 0 && ok) {
    ok = false;
    error = errno;
  }
  if (!ok) {
    unlink(path.c_str());
    fail(PKB_ERROR_PROGRAM, "cannot write '", path, "': ", std::strerror(error));
  }
}

Image cachedImage(const ImageRequest &request, const std::function<void(const std::string &)> &make) {
  Image image;
  Cache cache(request, image);
  if (cache.find() || (cache.lock() && cache.find())) { // another rank may have made it meanwhile
    return image;
  }
  auto folder = std::make_shared<TemporaryFolder>();
  std::string file = folder->path + "/" + request.name;
  make(file);
  image.bytes = readFile(file);
  bool stored = cache.store();
  if (request.asFile) {
    image.file = stored ? cache.place() : file;
    image.keep = stored ? nullptr : folder;
  }
  return image;
}

} // namespace pkb_rt
