//===- ArtefactOutput.cpp - an emitted program as one file ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "pkb/Driver/ArtefactOutput.h"
#include "lib/Frontend/Archive.h"
#include "pkb_rt/pkb.h"
#include "llvm/Support/WithColor.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

/// Head and sources of a bundle: what the original function needs.
static Expected<StringMap<std::string>> readSources(StringRef bundle) {
  StringMap<std::string> sources;
  if (bundle.empty())
    return std::move(sources);
  auto members = pkb::frontend::readArchive(bundle);
  if (!members)
    return members.takeError();
  for (auto &member : *members)
    if (member.first() == "bundle.json" || member.first().starts_with("source/"))
      sources.try_emplace(member.first(), std::move(member.second));
  return std::move(sources);
}

Error pkb::writeArtefact(const EmittedProgram &program, StringRef bundle,
                         const std::string &path) {
  auto sources = readSources(bundle);
  if (!sources)
    return sources.takeError();
  std::vector<std::string> names;
  for (const auto &source : *sources)
    names.push_back(source.first().str());
  llvm::sort(names);
  std::vector<pkb_artefact_file> files;
  for (const std::string &name : names)
    files.push_back({name.c_str(), (*sources)[name].data(), (*sources)[name].size()});

  pkb_artefact_desc desc = {};
  desc.text = program.text.data();
  desc.text_bytes = program.text.size();
  desc.data = program.data.empty() ? nullptr : program.data.data();
  desc.data_bytes = program.data.size();
  desc.files = files.data();
  desc.n_files = int32_t(files.size());
  desc.note = [](void *, const char *text) {
    WithColor::remark(errs(), "pkb-opt") << text << "\n";
  };
  if (pkb_artefact_write(&desc, path.c_str()) != PKB_OK)
    return createStringError(Twine(pkb_last_error()));
  return Error::success();
}
