// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "HostTest.h"

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
#include <sys/stat.h>
#include <thread>

namespace pkb_test {

TempDir::TempDir() {
  char name[] = "/tmp/pkb-test-XXXXXX";
  path = mkdtemp(name);
  setenv("PKB_CACHE_DIR", "/tmp/pkb-test-cache", 1); // programs of earlier runs need not be compiled again
  setenv("PKB_RT_INCLUDE", PKB_TEST_INCLUDE, 1);
}

TempDir::~TempDir() { EXPECT_EQ(std::system(("rm -rf '" + path + "'").c_str()), 0); }

std::string TempDir::write(const std::string &name, const std::string &text) const {
  std::string file = path + "/" + name;
  std::ofstream(file, std::ios::binary) << text;
  return file;
}

std::string TempDir::make(const std::string &name) const {
  std::string directory = path + "/" + name;
  mkdir(directory.c_str(), 0777);
  return directory;
}

Machine::Machine(int devices, const std::function<void(pkb_emu_options &)> &change) {
  pkb_emu_options options;
  pkb_emu_default_options(&options);
  options.devices = devices;
  options.mode = PKB_EMU_VALUE;
  if (change) {
    change(options);
  }
  const char *why = "";
  emu = pkb_emu_create(&options, &why);
  if (!emu) {
    throw std::runtime_error(why);
  }
}

Machine::~Machine() { pkb_emu_destroy(emu); }

void onRanks(int size, const std::function<void(int)> &body) {
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] { body(rank); });
  }
  for (auto &thread : threads) {
    thread.join();
  }
}

Rank::Rank(const Machine &machine, const std::string &rendezvous, int rank, int size, double timeout, bool debug) {
  pkb_context_desc desc = {};
  desc.abi_version = PKB_ABI_VERSION;
  desc.rank = rank;
  desc.world_size = size;
  desc.device = rank;
  desc.driver = machine.driver();
  desc.rendezvous = rendezvous.c_str();
  desc.arena_bytes = 32 << 20;
  desc.timeout_s = timeout;
  desc.debug = debug;
  status = pkb_context_create(&desc, &context);
  error = status == PKB_OK ? "" : pkb_last_error();
}

Rank::~Rank() { pkb_context_destroy(context); }

Floats::Floats(const pkb_driver *driver, size_t count) : driver(driver), count(count) {
  EXPECT_EQ(driver->mem_alloc(&pointer, std::max<size_t>(count, 1) * sizeof(float)), 0);
}

Floats::~Floats() { driver->mem_free(pointer); }

pkb_tensor Floats::tensor() const {
  pkb_tensor t = {};
  t.data = data();
  t.dtype = PKB_F32;
  t.ndim = 1;
  t.sizes[0] = int64_t(count);
  t.strides[0] = 1;
  return t;
}

std::string AllReduce::text() const {
  std::ostringstream s, kernel;
  std::string shape = "\"dtype\": \"float32\", \"sizes\": [" + std::to_string(length) + "], \"strides\": [1]";
  std::string row;
  for (int rank = 0; rank < ranks; ++rank) {
    row += (rank ? ", " : "") + std::to_string(rank);
  }
  s << "{\"schema\": \"pkb-manifest\", \"version\": [1, 0], \"name\": \"" << name << "\", \"world_size\": " << ranks
    << ", \"target\": \"emux" << ranks << "\", \"data\": null,\n \"groups\": [{\"id\": 0, \"partition\": [[" << row
    << "]]}],\n \"arguments\": [{" << shape << "}],\n \"outputs\": [{\"slot\": 1, \"alias_of\": null, " << shape
    << "}],\n \"slots\": [{\"id\": 0, \"kind\": \"argument\", \"index\": 0, " << shape
    << "}, {\"id\": 1, \"kind\": \"output\", \"index\": 0, " << shape << "}],\n \"steps\": ["
    << (steps.empty()
            ? "{\"kind\": \"launch\", \"kernel\": \"all_reduce_0\", \"group\": 0, \"grid\": " + std::to_string(blocks) +
                  ", \"block\": 128, \"pointers\": [{\"slot\": 0, \"offset\": 0}, {\"slot\": 1, \"offset\": 0}], "
                  "\"source\": \"model.py:8\"}"
            : steps)
    << "],\n \"kernels\": [{\"name\": \"all_reduce_0\", \"block\": 128, \"min_blocks\": 1, \"grid\": [1, 64], "
       "\"ranks\": "
    << ranks << ", \"pointers\": 2, \"mechanism\": \"ldst\"}],\n \"region_bytes\": " << regionBytes
    << ", \"workspace_bytes\": 0,\n \"sites\": [{\"id\": 4, \"kernel\": \"all_reduce_0\", \"primitive\": \"wait\", "
       "\"source\": \"model.py:8\"}], \"guards\": []"
    << extra << "}";
  kernel << "#include \"pkb_rt/device.h\"\n\n// model.py:8 all_reduce sum f32, one-shot push\nPKB_KERNEL(all_reduce_0, "
            "128, 1, "
         << ranks << ", 2) {\n"
         << R"(  const uint64_t epoch = pkb::epoch(pkb::epoch_begin<1>(args));
  const int64_t parity = int64_t(epoch & 1);
  const int64_t me = pkb::rank(args);
  const int64_t block = pkb::block_index();
  const int64_t blocks = pkb::grid_blocks();
  const char *src = pkb::pointer(args, 0);
  char *dst = pkb::pointer(args, 1);
)"
         << "  const int64_t length = " << length << ";\n  const int64_t ranks = " << ranks << R"(;
  const int64_t vectors = (length + 3) / 4;
  const int64_t per = (vectors + blocks - 1) / blocks;
  const int64_t first = block * per < vectors ? block * per : vectors;
  const int64_t n = vectors - first < per ? vectors - first : per;
  const int64_t base = pkb::staging(args, parity) + first * 16;
  const int64_t slot = vectors * 16;
  for (int64_t hop = 1; hop < ranks; ++hop) {
    const int64_t peer = (me + hop) % ranks;
    char *to = pkb::region(args, peer, base + me * slot);
    pkb::for_each<4>(n, [&](int64_t i) { return pkb::load<float, 4>(src, first + i, length); },
                     [&](int64_t i, const auto &v) { pkb::store_peer(to, i, v); });
  }
  pkb::block_barrier<2>(args);
  for (int64_t hop = 1; hop < ranks; ++hop) {
    pkb::signal<3>(args, (me + hop) % ranks, block, pkb::flag_value(epoch, 1));
  }
  for (int64_t hop = 1; hop < ranks; ++hop) {
    pkb::wait<4>(args, (me + hop) % ranks, block, pkb::flag_value(epoch, 1));
  }
  pkb::block_barrier<5>(args);
  const char *stage = pkb::region(args, me, base);
  pkb::for_each<2>(
      n,
      [&](int64_t i) {
        pkb::vec<float, 4> acc = pkb::splat<float, 4>(0.0f);
        for (int64_t source = 0; source < ranks; ++source) {
          acc = acc + (source == me ? pkb::load<float, 4>(src, first + i, length) : pkb::load_staged<float, 4>(stage + source * slot, i));
        }
        return acc;
      },
      [&](int64_t i, const auto &v) { pkb::store(dst, first + i, length, v); });
  pkb::epoch_end<6>(args, epoch);
}
)";
  return "/* pkb-manifest\n" + (manifest.empty() ? s.str() : manifest) + "\n*/\n" + kernel.str();
}

} // namespace pkb_test
