// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Ranks.h"

#include <cstring>
#include <gtest/gtest.h>
#include <stdexcept>
#include <unistd.h>

namespace pkb_test {

namespace {
void must(int result, const char *what) {
  if (result != 0)
    throw std::runtime_error(std::string(what) + " returned " + std::to_string(result));
}
} // namespace

Param::Param(int rank, const std::vector<char *> &regions, const std::vector<char *> &pointers, const volatile uint32_t *abort) {
  words.push_back(uint64_t(rank) | uint64_t(regions.size()) << 32);
  words.push_back(reinterpret_cast<uint64_t>(abort));
  words.resize(8);
  words[4] = uint64_t(pkb_stage_bytes(int(regions.size()), PKB_TEST_REGION_BYTES));
  for (char *region : regions)
    words.push_back(reinterpret_cast<uint64_t>(region));
  for (char *pointer : pointers)
    words.push_back(reinterpret_cast<uint64_t>(pointer));
  if (pointers.empty())
    words.push_back(0);
}

Ranks::Ranks(int size, const std::string &program, const std::function<void(pkb_emu_options &)> &change) : size(size) {
  pkb_emu_options options;
  pkb_emu_default_options(&options);
  options.devices = size;
  options.idle_s = 0.3;
  options.report = [](void *, int, const char *) {};
  if (change)
    change(options);
  const char *why = "";
  emu = pkb_emu_create(&options, &why);
  if (!emu)
    throw std::runtime_error(why);
  driver = pkb_emu_driver(emu);
  std::vector<pkb_cu_mem_handle> handles(size);
  contexts.resize(size);
  streams.resize(size);
  modules.resize(size);
  for (int rank = 0; rank < size; ++rank) {
    must(driver->primary_ctx_retain(&contexts[rank], rank), "primary_ctx_retain");
    on(rank);
    must(driver->vmm_create(&handles[rank], PKB_TEST_REGION_BYTES, rank), "vmm_create");
    must(driver->stream_create(&streams[rank], 1), "stream_create");
    const std::string path = std::string(PKB_TEST_PROGRAMS) + "/" + program + ".so";
    must(driver->module_load(&modules[rank], path.c_str(), path.size() + 1), "module_load");
  }
  const bool ll = program.find("_ll_") != std::string::npos;
  const size_t zeroed = size_t(ll ? pkb_stage_offset(size) : pkb_ll_offset(size, 0, 0));
  for (int rank = 0; rank < size; ++rank) {
    on(rank);
    regions.emplace_back();
    for (int peer = 0; peer < size; ++peer) {
      int fd;
      pkb_cu_mem_handle imported;
      pkb_cu_ptr address;
      must(driver->vmm_export_fd(&fd, handles[peer]), "vmm_export_fd");
      must(driver->vmm_import_fd(&imported, fd), "vmm_import_fd");
      close(fd);
      must(driver->vmm_map(&address, PKB_TEST_REGION_BYTES, imported, rank), "vmm_map");
      must(driver->vmm_release(imported), "vmm_release");
      regions.back().push_back(reinterpret_cast<char *>(address));
    }
    must(driver->memset_d8_async(reinterpret_cast<pkb_cu_ptr>(regions[rank][rank]), 0, zeroed, streams[rank]), "memset");
    must(driver->stream_synchronize(streams[rank]), "stream_synchronize");
  }
}

Ranks::~Ranks() { pkb_emu_destroy(emu); }

void Ranks::on(int rank) { must(driver->ctx_set_current(contexts[rank]), "ctx_set_current"); }

char *Ranks::memory(int rank, size_t bytes) {
  on(rank);
  pkb_cu_ptr address;
  must(driver->mem_alloc(&address, bytes), "mem_alloc");
  return reinterpret_cast<char *>(address);
}

int Ranks::launchOn(int rank, const std::string &kernel, unsigned grid, const std::vector<char *> &pointers, const volatile uint32_t *abort) {
  on(rank);
  pkb_cu_function function;
  must(driver->module_function(&function, modules[rank], kernel.c_str()), "module_function");
  Param param(rank, regions[rank], pointers, abort);
  return driver->launch(function, grid, 512, 0, streams[rank], param.data(), param.bytes());
}

void Ranks::launch(const std::string &kernel, unsigned grid, const std::function<std::vector<char *>(int)> &pointers,
                   const volatile uint32_t *abort) {
  for (int rank = 0; rank < size; ++rank)
    launchOn(rank, kernel, grid, pointers(rank), abort);
}

int Ranks::synchronize() {
  int first = 0;
  for (int rank = 0; rank < size; ++rank) {
    on(rank);
    const int result = driver->stream_synchronize(streams[rank]);
    first = first ? first : result;
  }
  return first;
}

std::string Ranks::text() const {
  const char *text;
  pkb_emu_result(emu, &text);
  return text;
}

pkb_emu_counts Ranks::counts() const {
  pkb_emu_counts counts;
  pkb_emu_count(emu, &counts);
  return counts;
}

uint16_t bf16Of(float value) {
  uint32_t bits;
  memcpy(&bits, &value, 4);
  return uint16_t(bits >> 16); // exact for the small integers of these tests
}

float floatOf(uint16_t bf16) {
  const uint32_t bits = uint32_t(bf16) << 16;
  float value;
  memcpy(&value, &bits, 4);
  return value;
}

int64_t runCollective(Ranks &ranks, const std::string &kind, int64_t length, unsigned grid, int calls) {
  const int W = ranks.size;
  const bool gather = kind == "all_gather", exchange = kind == "all_to_all";
  const size_t element = gather ? 4 : 2;
  const int64_t in = exchange ? W * length : length, out = gather || exchange ? W * length : length;
  std::vector<std::vector<char *>> inputs(calls), outputs(calls);
  for (int call = 0; call < calls; ++call)
    for (int rank = 0; rank < W; ++rank) {
      inputs[call].push_back(ranks.memory(rank, size_t(in + 1) * element));
      outputs[call].push_back(ranks.memory(rank, size_t(out + 1) * element));
      for (int64_t k = 0; k < in; ++k) {
        const int value = valueOf(rank, k, call);
        const uint16_t half = bf16Of(float(value));
        memcpy(inputs[call][rank] + k * int64_t(element), gather ? static_cast<const void *>(&value) : &half, element);
      }
      memset(outputs[call][rank], 0x5a, size_t(out + 1) * element);
    }
  pkb_emu_hold(ranks.emu); // so that a run depends on its seed alone
  for (int call = 0; call < calls; ++call)
    ranks.launch(kind + "_0", grid, [&](int rank) { return std::vector<char *>{inputs[call][rank], outputs[call][rank]}; });
  pkb_emu_release(ranks.emu);
  if (ranks.synchronize() != 0)
    return -1;
  int64_t wrong = 0;
  for (int call = 0; call < calls; ++call)
    for (int rank = 0; rank < W; ++rank) {
      const char *got = outputs[call][rank];
      for (int64_t k = 0; k < out; ++k) {
        int expected = 0;
        if (gather)
          expected = valueOf(int(k / length), k % length, call);
        else if (exchange)
          expected = valueOf(int(k / length), rank * length + k % length, call);
        else
          for (int source = 0; source < W; ++source)
            expected += valueOf(source, k, call);
        int seen;
        if (gather) {
          memcpy(&seen, got + k * 4, 4);
        } else {
          uint16_t half;
          memcpy(&half, got + k * 2, 2);
          seen = int(floatOf(half));
        }
        wrong += seen != expected;
      }
      for (size_t k = 0; k < element; ++k) // nothing is written past the end
        wrong += got[out * int64_t(element) + int64_t(k)] != 0x5a;
    }
  return wrong;
}

} // namespace pkb_test
