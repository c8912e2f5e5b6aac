// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Artefacts `X.pkx`: a program with its constants, its compiled kernels and the source of the function it was made from, in one file
// (docs/Rationale/Artefact.md).
#ifndef PKB_RUNTIME_LIB_ARTEFACT_H
#define PKB_RUNTIME_LIB_ARTEFACT_H

#include "Zip.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pkb_rt {

/// Version of the format: another major, or a newer minor, is refused by name.
inline constexpr int kArtefactMajor = 1, kArtefactMinor = 0;
inline constexpr const char *kArtefactText = "program.cu", *kArtefactData = "program.cu.data", *kArtefactIndex = "artefact.json";

enum class ImageKind { Cubin, Ptx, Host };

/// Compiled kernels. `architecture`: sm_90a, or x86_64 of a host object for the emulator.
struct ArtefactImage {
  ImageKind kind;
  std::string architecture, file;
};

/// A file that was read and found whole: every member has the hash that the index records, and the index has the hash at the end of the
/// file.
class Artefact {
public:
  /// Throws PKB_ERROR_PROGRAM with what is wrong.
  explicit Artefact(const std::string &path);
  Artefact(const Artefact &) = delete;

  std::string text() const { return std::string(zip.members.at(kArtefactText)); }
  /// Constants; nothing if the program has none.
  std::optional<std::string_view> data() const;
  /// Refuses a GPU that the kernels are not for. `device` names it in the message.
  void requireArchitecture(const std::string &architecture, const std::string &device) const;
  /// The kernels for an architecture, compiled when the artefact was written; nothing if there was no compiler for them.
  struct Kernels {
    std::string_view bytes;
    std::string sha256;
  };
  std::optional<Kernels> kernels(const std::string &architecture) const;

  /// Every member but the index.
  const std::map<std::string, std::string> &hashes() const { return files; }
  std::optional<std::string_view> member(const std::string &name) const;

private:
  void readIndex();

  std::string path, bytes;
  Zip zip;
  std::vector<std::string> targets; // GPUs that the kernels are for; empty if there are none
  std::vector<ArtefactImage> images;
  std::map<std::string, std::string> files; // member -> SHA-256
};

/// Whether a file begins like an artefact (a zip file). Throws PKB_ERROR_PROGRAM if it cannot be read.
bool isArtefact(const std::string &path);

/// The architecture of host objects that this process can load.
std::string hostArchitecture();

} // namespace pkb_rt

#endif // PKB_RUNTIME_LIB_ARTEFACT_H
