// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Artefact.h"

#include "Compile.h"
#include "Error.h"
#include "Sha256.h"
#include "pkb_rt/layout.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sys/utsname.h>

namespace pkb_rt {
namespace {

using Json = nlohmann::json;

constexpr const char *kCommentHead = "pkb-artefact ";

std::string hashOf(std::string_view bytes) { return Sha256().update(bytes.data(), bytes.size()).hex(); }

ImageKind kindOf(const std::string &name, const std::string &path) {
  if (name == "cubin") {
    return ImageKind::Cubin;
  }
  if (name == "ptx") {
    return ImageKind::Ptx;
  }
  if (name == "host") {
    return ImageKind::Host;
  }
  fail(PKB_ERROR_PROGRAM, "'", path, "' has kernels of kind '", name, "', which this run time does not know");
}

} // namespace

Artefact::Artefact(const std::string &path) : path(path), bytes(readFile(path)) {
  zip = readZip(path, bytes);
  auto index = zip.members.find(kArtefactIndex);
  if (index == zip.members.end()) {
    fail(PKB_ERROR_PROGRAM, "'", path, "' is a zip file without '", kArtefactIndex, "', so it is no artefact; pass a .pkx that pkb-opt wrote");
  }
  if (zip.comment != kCommentHead + hashOf(index->second)) {
    fail(PKB_ERROR_PROGRAM, "'", path, "': '", kArtefactIndex, "' was changed after it was written; write it again with pkb-opt");
  }
  readIndex();
  for (const auto &[name, contents] : zip.members) {
    auto file = files.find(name);
    if (name != kArtefactIndex && (file == files.end() || file->second != hashOf(contents))) {
      fail(PKB_ERROR_PROGRAM, "'", path, "': '", name, "' ", file == files.end() ? "was added" : "was changed",
           " after it was written; write it again with pkb-opt");
    }
  }
  for (const auto &[name, hash] : files) {
    if (!zip.members.count(name)) {
      fail(PKB_ERROR_PROGRAM, "'", path, "' lacks its member '", name, "'; write it again with pkb-opt");
    }
  }
  if (!zip.members.count(kArtefactText)) {
    fail(PKB_ERROR_PROGRAM, "'", path, "' has no '", kArtefactText, "'; write it again with pkb-opt");
  }
}

void Artefact::readIndex() {
  Json index = Json::parse(zip.members.at(kArtefactIndex), nullptr, /*allow_exceptions=*/false);
  try {
    if (index.at("schema") != "pkb-artefact") {
      fail(PKB_ERROR_PROGRAM, "'", path, "' is not a pkb-artefact; pass a .pkx that pkb-opt wrote");
    }
    auto version = index.at("version").get<std::vector<int>>();
    if (version.size() != 2 || version[0] != kArtefactMajor || version[1] > kArtefactMinor) {
      std::string text = index.at("version").dump();
      fail(PKB_ERROR_PROGRAM, "'", path, "' has version ", text, " of the format, this run time reads [", kArtefactMajor, ",0] to [",
           kArtefactMajor, ",", kArtefactMinor, "]; ", version.size() == 2 && version[0] < kArtefactMajor ? "write it again with this version's pkb-opt" : "install a newer run time");
    }
    if (index.at("layout").get<int>() != PKB_LAYOUT_VERSION) {
      fail(PKB_ERROR_PROGRAM, "'", path, "' has kernels for version ", index.at("layout").get<int>(), " of the channels' layout, this run time has ",
           PKB_LAYOUT_VERSION, "; write it again with this version's pkb-opt");
    }
    targets = index.at("architectures").get<std::vector<std::string>>();
    for (const Json &image : index.at("images")) {
      images.push_back({kindOf(image.at("kind").get<std::string>(), path), image.at("architecture").get<std::string>(), image.at("file").get<std::string>()});
    }
    files = index.at("files").get<std::map<std::string, std::string>>();
  } catch (const Json::exception &error) {
    fail(PKB_ERROR_PROGRAM, "'", path, "': '", kArtefactIndex, "' lacks a field or has one of another type (", error.what(), "); write it again with pkb-opt");
  }
  for (const ArtefactImage &image : images) {
    if (!files.count(image.file)) {
      fail(PKB_ERROR_PROGRAM, "'", path, "' names kernels '", image.file, "', which it does not list; write it again with pkb-opt");
    }
  }
}

std::optional<std::string_view> Artefact::member(const std::string &name) const {
  auto found = zip.members.find(name);
  return found == zip.members.end() ? std::nullopt : std::optional<std::string_view>(found->second);
}

std::optional<std::string_view> Artefact::data() const { return member(kArtefactData); }

void Artefact::requireArchitecture(const std::string &architecture, const std::string &device) const {
  if (targets.empty() || std::find(targets.begin(), targets.end(), architecture) != targets.end()) {
    return;
  }
  std::string list;
  for (const std::string &target : targets) {
    list += (list.empty() ? "" : ", ") + target;
  }
  fail(PKB_ERROR_PROGRAM, "'", path, "' has kernels for ", list, ", but ", device, " is ", architecture, "; compile the program for that machine");
}

std::optional<Artefact::Kernels> Artefact::kernels(const std::string &architecture) const {
  for (const ArtefactImage &image : images) {
    if (image.architecture == architecture) {
      return Kernels{zip.members.at(image.file), files.at(image.file)};
    }
  }
  return std::nullopt;
}

bool isArtefact(const std::string &path) {
  checkIsFile(path);
  std::ifstream stream(path, std::ios::binary);
  if (!stream) {
    fail(PKB_ERROR_PROGRAM, "cannot read '", path, "': ", std::strerror(errno));
  }
  char head[2] = {};
  stream.read(head, 2);
  bool named = path.size() > 4 && path.compare(path.size() - 4, 4, ".pkx") == 0;
  return named || (stream.gcount() == 2 && head[0] == 'P' && head[1] == 'K');
}

std::string hostArchitecture() {
  utsname name = {};
  return uname(&name) == 0 ? name.machine : "unknown";
}

} // namespace pkb_rt
