// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Phases.cpp - what the pipelines of a kernel leave for later ones -===//

#include "pkb/Analysis/Phases.h"

using namespace mlir;
using namespace pkb;

static xfer::PipelineOp pipelineOf(Operation *op) { return op->getParentOfType<xfer::PipelineOp>(); }

static int64_t widthOf(xfer::TileType tile) { return xfer::elementWidth(tile.getElementType()); }

bool pkb::isOfSameBlock(xfer::StoreOp store, xfer::LoadOp load) {
  xfer::PipelineOp from = pipelineOf(store), to = pipelineOf(load);
  int64_t stored = widthOf(store.getTile().getType()), loaded = widthOf(load.getTile().getType());
  // An element lies in the same part and chunk of both; clipped chunks and places given by element are not looked into.
  return from.getElements() * stored == to.getElements() * loaded && from.getChunk() * stored == to.getChunk() * loaded &&
         store.getDest() == load.getSource() && !store.getAt() && !load.getAt() &&
         isa<BlockArgument>(store.getChunk()) && isa<BlockArgument>(load.getChunk());
}

std::optional<xfer::SyncScope> pkb::neededSync(xfer::PipelineOp pipeline) {
  SmallVector<xfer::StoreOp> stores;
  for (Operation *op = pipeline->getPrevNode(); op; op = op->getPrevNode())
    op->walk([&](xfer::StoreOp store) { stores.push_back(store); });
  std::optional<xfer::SyncScope> scope;
  pipeline.walk([&](xfer::LoadOp load) {
    for (xfer::StoreOp store : stores)
      if (BlockArgument argument = xfer::argumentBehind(store.getDest());
          argument && argument == xfer::argumentBehind(load.getSource()))
        scope = std::max(scope.value_or(xfer::SyncScope::Block),
                         isOfSameBlock(store, load) ? xfer::SyncScope::Block : xfer::SyncScope::Grid);
  });
  return scope;
}
