// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writing artefacts.
#include "Artefact.h"
#include "Compile.h"
#include "Error.h"
#include "Manifest.h"
#include "OutputFile.h"
#include "Sha256.h"
#include "pkb_rt/layout.h"

#include <future>
#include <nlohmann/json.hpp>

using namespace pkb_rt;

namespace {

using Json = nlohmann::json;

/// Kernels that an artefact can carry.
struct Wanted {
  ObjectKind kind;
  const char *kindName, *architecture, *file;
};

std::vector<Wanted> wantedImages() {
  static const std::string host = hostArchitecture();
  return {{ObjectKind::Cubin, "cubin", "sm_90a", "kernels/sm_90a.cubin"},
          {ObjectKind::Ptx, "ptx", "sm_100a", "kernels/sm_100a.ptx"},
          {ObjectKind::Host, "host", host.c_str(), "kernels/host.so"}};
}

struct Compiled {
  Wanted wanted;
  std::string bytes;
};

/// All kernels for which there is a compiler, each compiled by a thread of its own.
std::vector<Compiled> compileAll(const std::string &text, const std::string &path, const std::function<void(const std::string &)> &note) {
  std::string nvcc = findNvcc(), host;
  if (nvcc.empty()) {
    note("no nvcc was found: the kernels for GPUs are compiled where the artefact is loaded");
  }
  try {
    host = hostCompiler();
  } catch (const Error &error) {
    note(error.what());
  }
  TemporaryFolder folder;
  std::vector<std::pair<Wanted, std::future<std::string>>> running;
  for (const Wanted &wanted : wantedImages()) {
    const std::string &compiler = wanted.kind == ObjectKind::Host ? host : nvcc;
    if (compiler.empty()) {
      continue;
    }
    running.emplace_back(wanted, std::async(std::launch::async, [wanted, compiler, &text, &path, &folder] {
                           std::string result = folder.path + "/" + wanted.architecture;
                           compileObject(wanted.kind, path, text, compiler, wanted.architecture, result);
                           return readFile(result);
                         }));
  }
  std::vector<Compiled> compiled;
  for (auto &[wanted, bytes] : running) {
    compiled.push_back({wanted, bytes.get()});
  }
  return compiled;
}

void writeArtefact(const pkb_artefact_desc &desc, const std::string &path) {
  std::string text(desc.text, desc.text_bytes);
  std::string_view data(static_cast<const char *>(desc.data), desc.data ? desc.data_bytes : 0);
  Manifest manifest = parseProgram(path, text, 0);
  if (manifest.dataSha256.empty() != !desc.data || (desc.data && Sha256().update(data.data(), data.size()).hex() != manifest.dataSha256)) {
    fail(PKB_ERROR_ARGUMENT, "the data for '", path, "' is not what the program's manifest names");
  }
  std::vector<Compiled> compiled;
  if (!manifest.kernels.empty()) {
    compiled = compileAll(text, path, [&](const std::string &line) {
      if (desc.note) {
        desc.note(desc.user, line.c_str());
      }
    });
  }
  std::vector<ZipMember> members = {{kArtefactText, text}};
  if (desc.data) {
    members.push_back({kArtefactData, data});
  }
  Json images = Json::array(), architectures = Json::array(), files = Json::object();
  for (const Compiled &image : compiled) {
    images.push_back({{"kind", image.wanted.kindName}, {"architecture", image.wanted.architecture}, {"file", image.wanted.file}});
    members.push_back({image.wanted.file, image.bytes});
  }
  for (const Wanted &wanted : wantedImages()) {
    if (!manifest.kernels.empty() && wanted.kind != ObjectKind::Host) {
      architectures.push_back(wanted.architecture);
    }
  }
  for (int32_t i = 0; i < desc.n_files; ++i) {
    members.push_back({desc.files[i].name, {static_cast<const char *>(desc.files[i].data), desc.files[i].bytes}});
  }
  for (const ZipMember &member : members) {
    if (member.name == kArtefactIndex || !files.emplace(member.name, Sha256().update(member.bytes.data(), member.bytes.size()).hex()).second) {
      fail(PKB_ERROR_ARGUMENT, "an artefact cannot have two members '", member.name, "'");
    }
  }
  Json head = Json::parse(manifest.text);
  Json index = {{"schema", "pkb-artefact"},       {"version", {kArtefactMajor, kArtefactMinor}}, {"layout", PKB_LAYOUT_VERSION},
                {"program", manifest.program},    {"name", manifest.name},                       {"world_size", manifest.worldSize},
                {"target", head.value("target", Json())}, {"bundle", head.value("bundle", Json())}, {"architectures", architectures},
                {"images", images},               {"files", files}};
  std::string indexText = index.dump(1) + "\n";
  members.insert(members.begin(), {kArtefactIndex, indexText});
  if (std::string why = writeWholeFile(path, writeZip(members, "pkb-artefact " + sha256Hex(indexText))); !why.empty()) {
    fail(PKB_ERROR_PROGRAM, "cannot write '", path, "': ", why);
  }
}

} // namespace

extern "C" pkb_status pkb_artefact_write(const pkb_artefact_desc *desc, const char *path) {
  if (!desc || !path || !desc->text || (desc->n_files > 0 && !desc->files)) {
    return setLastError(PKB_ERROR_ARGUMENT, cat(!desc ? "desc" : !path ? "path" : !desc->text ? "text" : "files", " is null"));
  }
  return guarded([&] { writeArtefact(*desc, path); });
}
