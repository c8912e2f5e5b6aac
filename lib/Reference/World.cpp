// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- World.cpp - all ranks of a program and who runs next ----------------===//

#include "World.h"

#include "RankProgram.h"

#include "pkb/Support/Error.h"

using namespace mlir;
using namespace pkb;
using namespace pkb::reference;

std::string reference::placeOf(Operation *op) {
  std::string text;
  op->getLoc()->walk([&](Location inner) {
    auto place = dyn_cast<FileLineColLoc>(inner);
    if (!place)
      return WalkResult::advance();
    text = (place.getFilename().getValue() + ":" + Twine(place.getLine())).str();
    return WalkResult::interrupt();
  });
  return text.empty() ? "an unknown place" : text;
}

World::World(ModuleOp module, const RunOptions &options)
    : module(module), randomState(mixBits(options.scheduleSeed)), atenCalls(options.atenLibrary) {}

World::~World() = default;

llvm::Error World::open() {
  if (comm::MeshAttr mesh = comm::getMesh(module))
    ranks = mesh.getSize();
  else // the ranks that are named
    module.walk([&](Operation *op) {
      if (auto collective = dyn_cast<comm::CollectiveOpInterface>(op))
        ranks = std::max(ranks, collective.getGroup().getMaxRank() + 1);
      if (auto kernel = dyn_cast<xfer::KernelOp>(op))
        ranks = std::max(ranks, kernel.getGroup().getMaxRank() + 1);
    });
  functions.assign(ranks, {});
  SmallVector<func::FuncOp> all(module.getOps<func::FuncOp>());
  func::FuncOp main = module.lookupSymbol<func::FuncOp>("main");
  if (all.size() == 1)
    main = all.front();
  for (func::FuncOp function : all) {
    DenseI64ArrayAttr own = comm::getRanks(function);
    if (!own && function != main)
      continue;
    if (!llvm::hasSingleElement(function.getBody()))
      return makeError("function '", function.getSymName(), "' must have a body of straight-line code");
    for (int64_t rank = 0; rank < ranks; ++rank)
      if (!own || llvm::is_contained(own.asArrayRef(), rank)) {
        if (functions[rank])
          return makeError("rank ", rank, " must run one function, got: '", functions[rank].getSymName(), "' and '",
                           function.getSymName(), "'");
        functions[rank] = function;
      }
  }
  for (auto [rank, function] : llvm::enumerate(functions))
    if (!function)
      return makeError("module must have a function for rank ", rank,
                       ": @main, the only one, or one that names its ranks");
  return llvm::Error::success();
}

Channel &World::channelOf(ArrayRef<int64_t> row) {
  return channels.try_emplace(std::vector<int64_t>(row.begin(), row.end()), row.size()).first->second;
}

llvm::Error World::call(std::vector<std::vector<Tensor>> arguments) {
  programs.clear();
  agents.clear();
  for (int64_t rank = 0; rank < ranks; ++rank)
    programs.push_back(std::make_unique<RankProgram>(*this, rank, functions[rank], std::move(arguments[rank])));
  std::vector<Agent *> order;
  while (true) {
    // Everybody who is there has a turn of some steps, in an order of its own.
    order.clear();
    for (auto &program : programs)
      if (!program->hasEnded())
        order.push_back(program.get());
    if (order.empty())
      return llvm::Error::success();
    for (auto &agent : agents)
      order.push_back(agent.get());
    for (size_t i = order.size(); i > 1; --i)
      std::swap(order[i - 1], order[random() % i]);
    bool moved = false;
    llvm::SmallPtrSet<Agent *, 8> ended;
    for (Agent *agent : order) {
      for (uint64_t left = 1 + random() % 16; left > 0; --left) {
        llvm::Expected<Progress> progress = agent->step();
        if (!progress)
          return progress.takeError();
        moved |= *progress != Progress::Blocked;
        if (*progress == Progress::Ended)
          ended.insert(agent);
        if (*progress != Progress::Ran)
          break;
      }
    }
    if (!moved)
      return deadlock();
    llvm::erase_if(agents, [&](const std::unique_ptr<Agent> &agent) { return ended.contains(agent.get()); });
  }
}

llvm::Error World::deadlock() {
  constexpr size_t most = 32;
  std::vector<std::string> lines;
  for (auto &program : programs)
    lines.push_back(program->hasEnded() ? "" : program->waitingFor());
  for (auto &agent : agents)
    lines.push_back(agent->waitingFor());
  llvm::erase(lines, "");
  std::string text = "nobody can go on:";
  for (const std::string &line : ArrayRef(lines).take_front(most))
    text += "\n  " + line;
  if (lines.size() > most)
    text += "\n  and " + std::to_string(lines.size() - most) + " more";
  return makeError(text);
}
