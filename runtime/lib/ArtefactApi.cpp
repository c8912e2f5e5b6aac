// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Artefacts through the C interface.
#include "Artefact.h"
#include "Error.h"

#include <iterator>

using namespace pkb_rt;

struct pkb_artefact {
  explicit pkb_artefact(const std::string &path) : artefact(path) {}
  Artefact artefact;
};

extern "C" {

pkb_status pkb_artefact_open(const char *path, pkb_artefact **out) {
  if (!path || !out) {
    return setLastError(PKB_ERROR_ARGUMENT, path ? "out is null" : "path is null");
  }
  *out = nullptr;
  return guarded([&] { *out = new pkb_artefact(path); });
}

void pkb_artefact_close(pkb_artefact *artefact) { delete artefact; }

const char *pkb_artefact_name(const pkb_artefact *artefact, int32_t i) {
  if (!artefact || i < 0 || size_t(i) >= artefact->artefact.hashes().size()) {
    return nullptr;
  }
  return std::next(artefact->artefact.hashes().begin(), i)->first.c_str();
}

pkb_status pkb_artefact_member(const pkb_artefact *artefact, const char *name, const void **data, size_t *bytes) {
  if (!artefact || !name || !data || !bytes) {
    return setLastError(PKB_ERROR_ARGUMENT, cat(!artefact ? "artefact" : !name ? "name" : !data ? "data" : "bytes", " is null"));
  }
  auto member = artefact->artefact.member(name);
  if (!member) {
    return setLastError(PKB_ERROR_ARGUMENT, cat("the artefact has no member '", name, "'"));
  }
  *data = member->data();
  *bytes = member->size();
  return PKB_OK;
}

} // extern "C"
