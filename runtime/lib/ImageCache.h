// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The cache of compiled kernels on disk, shared by all processes of a user. It is a convenience: where it is read-only, full or damaged, work goes on
// without it and a note says so.
#ifndef PKB_RUNTIME_LIB_IMAGECACHE_H
#define PKB_RUNTIME_LIB_IMAGECACHE_H

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace pkb_rt {

/// A folder of its own in the temporary directory, which goes away with the object.
class TemporaryFolder {
public:
  /// Throws PKB_ERROR_PROGRAM if none can be made.
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder &) = delete;
  std::string path;
};

/// Compiled kernels, in memory or (what a loader opens by name) in a file.
struct Image {
  std::string bytes;
  std::string file;                      // empty unless asked for
  std::shared_ptr<TemporaryFolder> keep; // holds the file, where there is no cache
  std::vector<std::string> notes;        // what went otherwise than it should, one line each
};

struct ImageRequest {
  std::string cacheDir; // empty: $PKB_CACHE_DIR, else ~/.cache/pkb
  std::string name;     // of the image in the cache: a hash of all that it depends on, with an extension
  bool asFile = false;
  double timeout = 600; // seconds to wait for another process that makes the same image
};

/// The image from the cache; else what `make(path)` writes to a path, which goes into the cache. Of several processes that ask at the same time one
/// makes it. An image carries its hash, so that a damaged one is noticed and made again. Throws what `make` throws.
Image cachedImage(const ImageRequest &request, const std::function<void(const std::string &)> &make);

/// Writes a whole file. Throws PKB_ERROR_PROGRAM, and leaves nothing behind then.
void writeFile(const std::string &path, const std::string &bytes);

} // namespace pkb_rt

#endif // PKB_RUNTIME_LIB_IMAGECACHE_H
