// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Alone.h - collectives that share a kernel with nothing ---*- C++ -*-===//
//
// Private to the Fusion family.
//
//===----------------------------------------------------------------------===//

#ifndef PKB_PASSES_FUSION_ALONE_H
#define PKB_PASSES_FUSION_ALONE_H

#include "dialects/Xfer/IR/Xfer.h"

namespace pkb {

/// Why nothing else may be computed in the kernel of `collective`, whatever is around it; empty if something may.
inline llvm::StringRef whyAlone(comm::CollectiveOpInterface collective) {
  if (comm::getExchange(collective))
    return "other ranks run other code around it";
  if (collective->hasAttrOfType<xfer::ScheduleAttr>(xfer::kScheduleAttrName))
    return "it came with a schedule of its own";
  comm::MeshAttr mesh = comm::getMesh(collective);
  if (!mesh || collective.getGroup().getNumRows() * collective.getGroup().getSize() != mesh.getSize())
    return "what is around it is computed on ranks outside of its group, too";
  return "";
}

} // namespace pkb

#endif // PKB_PASSES_FUSION_ALONE_H
