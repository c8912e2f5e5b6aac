//===- Kernels.cpp - Kernels that measure one thing alone --------===//
//
// Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/pkb-calibrate/Kernels.h"

#include "pkb_rt/layout.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

using nlohmann::json;

namespace pkb::calibrate {

namespace {

struct Geometry {
  int ranks, blocks, threads;
  int64_t inputBytes = 0, regionBytes = 0;
};

/// A program whose one kernel has `body`. It takes one tensor of bytes if there are input bytes.
std::string program(const std::string &name, const Geometry &geometry, const std::string &body) {
  json partition = json::array(), arguments = json::array(), slots = json::array(), pointers = json::array();
  for (int rank = 0; rank < geometry.ranks; ++rank) {
    partition.push_back(rank);
  }
  if (geometry.inputBytes > 0) {
    json shape = {{"dtype", "uint8"}, {"sizes", {geometry.inputBytes}}, {"strides", {1}}};
    arguments.push_back(shape);
    shape.update({{"id", 0}, {"kind", "argument"}, {"index", 0}});
    slots.push_back(shape);
    pointers.push_back({{"slot", 0}, {"offset", 0}});
  }
  json manifest = {
      {"schema", "pkb-manifest"},
      {"version", {PKB_MANIFEST_MAJOR, PKB_MANIFEST_MINOR}},
      {"name", name},
      {"world_size", geometry.ranks},
      {"groups", {{{"id", 0}, {"partition", {partition}}}}},
      {"arguments", arguments},
      {"outputs", json::array()},
      {"slots", slots},
      {"steps", {{{"kind", "launch"}, {"kernel", name}, {"group", 0}, {"grid", geometry.blocks}, {"block", geometry.threads}, {"pointers", pointers}}}},
      {"kernels",
       {{{"name", name}, {"block", geometry.threads}, {"min_blocks", 1}, {"grid", {1, geometry.blocks}}, {"ranks", geometry.ranks},
         {"pointers", pointers.size()}}}},
      {"region_bytes", std::max<int64_t>(geometry.regionBytes, pkb_stage_offset(geometry.ranks))},
      {"workspace_bytes", 0},
      {"sites", json::array()}};
  return fmt::format("/* pkb-manifest\n{}\n*/\n#include \"pkb_rt/device.h\"\n\nPKB_KERNEL({}, {}, 1, {}, {}) {{\n"
                     "  const int64_t epoch = int64_t(pkb::epoch(pkb::epoch_begin<1>(args)));\n{}  pkb::epoch_end<2>(args, epoch);\n}}\n",
                     manifest.dump(), name, geometry.threads, geometry.ranks, pointers.size(), body);
}

} // namespace

std::string emptyProgram(int ranks) { return program("empty", {ranks, 1, 32}, ""); }

std::string pingPongProgram(int ranks, int trips) {
  return program("ping_pong", {ranks, 1, 32}, fmt::format(R"(  const int64_t me = pkb::rank(args);
  for (int64_t trip = 1; trip <= {}; ++trip) {{
    const int64_t mark = pkb::flag_value(epoch, trip);
    if (me == 0) {{
      pkb::signal<3>(args, 1, 0, mark);
      pkb::wait<4>(args, 1, 0, mark);
    }} else if (me == 1) {{
      pkb::wait<5>(args, 0, 0, mark);
      pkb::signal<6>(args, 0, 0, mark);
    }}
  }}
)", trips));
}

std::string barrierProgram(int ranks) {
  return program("barrier", {ranks, 1, 32 * std::min(ranks, 32)}, fmt::format(R"(  const int64_t me = pkb::rank(args);
  const int64_t mark = pkb::flag_value(epoch, 1);
  pkb::block_barrier<3>(args);
  for (int64_t step = 1; step < {0}; ++step)
    pkb::signal<4>(args, (me + step) % {0}, 0, mark);
  for (int64_t step = 1; step < {0}; ++step)
    pkb::wait<5>(args, (me + step) % {0}, 0, mark);
  pkb::block_barrier<6>(args);
)", ranks));
}

std::string pushProgram(int ranks, int64_t bytes, int blocks, bool all) {
  int64_t region = pkb_stage_offset(ranks) + 2 * (bytes + PKB_LINE_BYTES);
  return program("push", {ranks, blocks, 1024, bytes, region}, fmt::format(R"(  const int64_t me = pkb::rank(args);
  const int64_t block = pkb::block_index();
  const int64_t vectors = {0} / pkb::grid_blocks() / 16;
  const int64_t next = (me + 1) % {1};
  const int64_t before = (me + {1} - 1) % {1};
  char *const from = pkb::pointer(args, 0) + block * vectors * 16;
  char *const to = pkb::region(args, next, pkb::staging(args, 0) + block * vectors * 16);
  if ({2}) {{
    pkb::for_each<4>(vectors, [&](int64_t i) {{ return pkb::load<uint8_t, 16>(from, i, vectors * 16); }},
                     [&](int64_t i, const auto &value) {{ pkb::store_peer(to, i, value); }});
  }}
  const int64_t mark = pkb::flag_value(epoch, 1);
  pkb::block_barrier<3>(args);
  pkb::signal<4>(args, next, block, mark);
  pkb::wait<5>(args, before, block, mark);
  pkb::block_barrier<6>(args);
)", bytes, ranks, all ? "true" : "me == 0"));
}

} // namespace pkb::calibrate
