// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// pkb-example-call X.pkx RANKS [--emulated]: calls an artefact without Python, one process per rank, on GPUs or on the fake driver. Argument i of rank r
// holds the numbers (i + r + k) % 17 - 8 for its elements k; prints per rank the FNV-1a hash of its results. call.py does the same from Python.
#include "pkb_rt/emu.h"
#include "pkb_rt/pkb.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <numeric>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

static size_t bytesOf(const pkb_tensor &tensor) { return tensor.dtype == PKB_F32 ? 4 : 2; } // of an element
static size_t elements(const pkb_tensor &tensor) { return std::accumulate(tensor.sizes, tensor.sizes + tensor.ndim, size_t(1), std::multiplies<>()); }

static void need(bool ok, const char *what) {
  if (!ok) {
    std::fprintf(stderr, "%s: %s\n", what, pkb_last_error());
    std::exit(1);
  }
}

static void run(const char *path, int rank, int ranks, const char *meet, bool emulated) {
  pkb_emu_options options;
  pkb_emu_default_options(&options);
  options.devices = ranks;
  const char *why = nullptr;
  pkb_emu *emu = emulated ? pkb_emu_create(&options, &why) : nullptr;
  const pkb_driver *driver = emulated ? pkb_emu_driver(emu) : pkb_driver_real(&why);
  const pkb_context_desc desc = {PKB_ABI_VERSION, rank, ranks, /*device=*/rank, driver, meet, 0, 0, 0};
  pkb_context *context = nullptr;
  pkb_program *program = nullptr;
  need(pkb_context_create(&desc, &context) == PKB_OK, "context");
  need(pkb_program_load(context, path, nullptr, &program) == PKB_OK, "load");
  std::vector<pkb_tensor> in(size_t(pkb_program_input_count(program))), out(size_t(pkb_program_output_count(program)));
  pkb_cu_ptr memory = 0;
  for (size_t i = 0; i < in.size() + out.size(); ++i) {
    pkb_tensor &tensor = i < in.size() ? in[i] : out[i - in.size()];
    i < in.size() ? pkb_program_input(program, int32_t(i), &tensor) : pkb_program_output(program, int32_t(i - in.size()), &tensor, nullptr);
    need(tensor.dtype == PKB_F32 || tensor.dtype == PKB_BF16, "this example knows float32 and bfloat16 only");
    std::vector<char> values(elements(tensor) * bytesOf(tensor));
    for (size_t k = 0; k < elements(tensor); ++k) { // a bfloat16 is the upper half of a float
      const float value = float(int((i + size_t(rank) + k) % 17) - 8);
      memcpy(&values[k * bytesOf(tensor)], reinterpret_cast<const char *>(&value) + 4 - bytesOf(tensor), bytesOf(tensor));
    }
    need(driver->mem_alloc(&memory, values.size()) == 0, "memory");
    need(driver->memcpy_async(memory, pkb_cu_ptr(values.data()), values.size(), nullptr) == 0 && driver->stream_synchronize(nullptr) == 0, "copy");
    tensor.data = reinterpret_cast<void *>(memory);
  }
  need(pkb_program_call(program, nullptr, in.data(), int32_t(in.size()), out.data(), int32_t(out.size())) == PKB_OK, "call");
  need(pkb_context_synchronize(context, nullptr) == PKB_OK, "results");
  uint64_t hash = 14695981039346656037ull;
  for (const pkb_tensor &tensor : out) {
    std::vector<unsigned char> bytes(elements(tensor) * bytesOf(tensor));
    need(driver->memcpy_async(pkb_cu_ptr(bytes.data()), pkb_cu_ptr(tensor.data), bytes.size(), nullptr) == 0 && driver->stream_synchronize(nullptr) == 0, "copy");
    for (unsigned char byte : bytes)
      hash = (hash ^ byte) * 1099511628211ull;
  }
  std::printf("rank %d: %016llx\n", rank, static_cast<unsigned long long>(hash));
  pkb_program_unload(program);
  pkb_context_destroy(context);
}

int main(int argc, char **argv) {
  char meet[] = "/tmp/pkb-example-XXXXXX";
  if (argc < 3 || !mkdtemp(meet))
    return std::fprintf(stderr, "usage: pkb-example-call X.pkx RANKS [--emulated]\n"), 2;
  int ranks = std::atoi(argv[2]), status = 0, failed = 0;
  for (int rank = 0; rank < ranks; ++rank)
    if (fork() == 0)
      return run(argv[1], rank, ranks, meet, argc > 3), 0;
  while (wait(&status) > 0)
    failed |= status;
  return rmdir(meet), failed != 0;
}
