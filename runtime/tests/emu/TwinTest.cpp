// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The two builds of the device header give the same bits: programs/twin.cu runs on the emulator and, where there is a GPU, on it. Without one the
// emulator's results are still held against what the host computes for copies.
#include "pkb_rt/emu.h"

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <string>
#include <vector>

namespace {

using Bytes = std::vector<unsigned char>;

// One device with the twin program, real or emulated.
class Machine {
public:
  Machine(const pkb_driver *driver, const std::string &image) : d(driver) {
    std::ifstream file(image, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const void *what = d->emulated ? static_cast<const void *>(image.c_str()) : text.data();
    pkb_cu_device device;
    pkb_cu_context context;
    ok = d->init() == 0 && d->device_get(&device, 0) == 0 && d->primary_ctx_retain(&context, device) == 0 && d->ctx_set_current(context) == 0 &&
         d->module_load(&module, what, text.size()) == 0 && d->stream_create(&stream, 1) == 0;
  }
  // Runs a kernel on `a` and `b` placed `shift` bytes into aligned memory; `size` bytes come back, with `shift` bytes on either side unharmed.
  Bytes run(const std::string &kernel, const Bytes &a, const Bytes &b, int64_t length, size_t size, size_t shift = 0) {
    pkb_cu_ptr pa = 0, pb = 0, po = 0;
    const size_t room = size + 64 + shift;
    EXPECT_EQ(d->mem_alloc(&pa, a.size() + shift + 64), 0);
    EXPECT_EQ(d->mem_alloc(&pb, b.size() + shift + 64), 0);
    EXPECT_EQ(d->mem_alloc(&po, room), 0);
    EXPECT_EQ(d->memset_d8_async(po, 0xa5, room, stream), 0);
    copy(pa + shift, a.data(), a.size());
    copy(pb + shift, b.data(), b.size());
    uint64_t param[13] = {uint64_t(1) << 32}; // rank 0 of 1, no region is touched
    param[9] = pa + shift;
    param[10] = pb + shift;
    param[11] = po + shift;
    param[12] = uint64_t(length);
    pkb_cu_function function;
    EXPECT_EQ(d->module_function(&function, module, kernel.c_str()), 0) << kernel;
    EXPECT_EQ(d->launch(function, 1, 256, 0, stream, param, sizeof(param)), 0) << kernel;
    Bytes all(room);
    EXPECT_EQ(d->memcpy_async(reinterpret_cast<pkb_cu_ptr>(all.data()), po, room, stream), 0);
    EXPECT_EQ(d->stream_synchronize(stream), 0) << kernel;
    for (pkb_cu_ptr p : {pa, pb, po})
      d->mem_free(p);
    for (size_t k = 0; k < room; ++k)
      EXPECT_TRUE((k >= shift && k < shift + size) || all[k] == 0xa5) << kernel << " wrote outside of its output, byte " << int64_t(k) - int64_t(shift);
    return Bytes(all.begin() + int64_t(shift), all.begin() + int64_t(shift + size));
  }
  bool ok;

private:
  void copy(pkb_cu_ptr to, const void *from, size_t bytes) {
    EXPECT_EQ(bytes ? d->memcpy_async(to, reinterpret_cast<pkb_cu_ptr>(from), bytes, stream) : 0, 0);
  }
  const pkb_driver *d;
  pkb_cu_module module = nullptr;
  pkb_cu_stream stream = nullptr;
};

struct Twin : testing::Test {
  void SetUp() override {
    pkb_emu_options options;
    pkb_emu_default_options(&options);
    options.devices = 1;
    emu = pkb_emu_create(&options, nullptr);
    const char *moved = getenv("PKB_TEST_PROGRAMS"); // where the programs lie on another machine
    const std::string programs = moved ? moved : PKB_TEST_PROGRAMS;
    emulated = std::make_unique<Machine>(pkb_emu_driver(emu), programs + "/twin.so");
    ASSERT_TRUE(emulated->ok);
#ifdef PKB_TEST_GPU
    const char *why = "";
    if (const pkb_driver *real = pkb_driver_real(&why)) {
      int count = 0;
      if (real->init() == 0 && real->device_count(&count) == 0 && count > 0) {
        gpu = std::make_unique<Machine>(real, programs + "/twin.cubin");
        ASSERT_TRUE(gpu->ok) << "the GPU does not take " << programs << "/twin.cubin";
      }
    }
#endif
  }
  void TearDown() override {
    emulated.reset();
    pkb_emu_destroy(emu);
    if (!gpu && !hostChecked && !HasFailure())
      GTEST_SKIP() << "no GPU (or no nvcc at build time): ran on the emulator only";
  }
  void compare(const std::string &kernel, const Bytes &a, const Bytes &b, int64_t length, size_t size, bool nanIsNan = false, size_t shift = 0) {
    const Bytes mine = emulated->run(kernel, a, b, length, size, shift);
    if (!gpu)
      return;
    const Bytes other = gpu->run(kernel, a, b, length, size, shift);
    size_t differ = 0, first = 0;
    for (size_t k = 0; k + 4 <= size && nanIsNan; k += 4) {
      float x, y;
      memcpy(&x, &mine[k], 4);
      memcpy(&y, &other[k], 4);
      if (memcmp(&x, &y, 4) != 0 && !(x != x && y != y) && !differ++)
        first = k;
    }
    for (size_t k = 0; k < size && !nanIsNan; ++k)
      if (mine[k] != other[k] && !differ++)
        first = k;
    EXPECT_EQ(differ, 0u) << kernel << ": first at byte " << first << ", emulated " << int(mine[first]) << ", GPU " << int(other[first]);
  }
  pkb_emu *emu = nullptr;
  bool hostChecked = false; // the test has an expectation of its own
  std::unique_ptr<Machine> emulated, gpu;
};

template <class T> Bytes bytesOf(const std::vector<T> &values) {
  Bytes bytes(values.size() * sizeof(T));
  memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}
uint32_t noise(uint32_t &state) {
  state = state * 1664525u + 1013904223u;
  return state ^ state >> 15;
}
// Floats where rounding is hard: every exponent, mantissas around the ties of 10, 7, 3 and 2 bits; and noise.
std::vector<uint32_t> hardFloats() {
  std::vector<uint32_t> all;
  uint32_t state = 7;
  for (uint32_t exponent = 0; exponent < 256; ++exponent)
    for (uint32_t sign : {0u, 1u})
      for (int drop : {13, 16, 20, 21})
        for (uint32_t keep = 0; keep < 8; ++keep)
          for (int off : {-1, 0, 1}) {
            const uint32_t top = (keep % 4 < 2 ? keep : ~keep) << drop;
            all.push_back(sign << 31 | exponent << 23 | ((top + (1u << (drop - 1)) + uint32_t(off)) & 0x7fffffu));
          }
  for (int k = 0; k < 100000; ++k)
    all.push_back(noise(state));
  return all;
}

TEST_F(Twin, every_small_float_to_float) {
  std::vector<uint16_t> words(65536);
  for (uint32_t k = 0; k < 65536; ++k)
    words[k] = uint16_t(k);
  std::vector<uint8_t> octets(256);
  for (uint32_t k = 0; k < 256; ++k)
    octets[k] = uint8_t(k);
  compare("f16_to_f32", bytesOf(words), {}, 65536, 65536 * 4, true);
  compare("bf16_to_f32", bytesOf(words), {}, 65536, 65536 * 4);
  compare("f16_to_bf16", bytesOf(words), {}, 65536, 65536 * 2);
  compare("f8e4m3_to_f32", bytesOf(octets), {}, 256, 1024);
  compare("f8e5m2_to_f32", bytesOf(octets), {}, 256, 1024, true);
}

TEST_F(Twin, float_to_small_floats) {
  const std::vector<uint32_t> values = hardFloats();
  const int64_t n = int64_t(values.size());
  for (const char *kernel : {"f32_to_f16", "f32_to_bf16", "f32_to_f16_single", "f32_to_bf16_single"})
    compare(kernel, bytesOf(values), {}, n, size_t(n) * 2);
  for (const char *kernel : {"f32_to_f8e4m3", "f32_to_f8e5m2"})
    compare(kernel, bytesOf(values), {}, n, size_t(n));
  compare("i32_to_f32", bytesOf(values), {}, n, size_t(n) * 4);
}

TEST_F(Twin, arithmetic) {
  uint32_t state = 3;
  std::vector<uint32_t> a(4096), b(4096);
  for (size_t k = 0; k < a.size(); ++k)
    a[k] = noise(state), b[k] = noise(state);
  b[5] = b[6] = 0;
  a[7] = 0x80000000u, b[7] = 0xffffffffu;
  const size_t bytes = a.size() * 4;
  for (auto [kernel, size] : {std::pair<const char *, size_t>{"arith_f16", 2}, {"arith_bf16", 2}, {"arith_i8", 1}, {"arith_u8", 1},
                              {"arith_i32", 4}, {"arith_i64", 8}})
    compare(kernel, bytesOf(a), bytesOf(b), int64_t(bytes / size), bytes * 6);
}

// Copies at every alignment that an element allows, at lengths around those of a vector, a batch and a block.
TEST_F(Twin, copies_of_any_alignment_and_length) {
  hostChecked = true;
  const std::vector<std::pair<const char *, size_t>> kernels = {{"copy_i8x16", 1}, {"copy_i8x2", 1},  {"copy_bf16x8", 2}, {"copy_bf16x1", 2}, {"copy_f32x4", 4},
                                                                {"copy_f32x8", 4}, {"copy_i64x1", 8}, {"copy_f64x2", 8},  {"copy_c128x1", 16}};
  uint32_t state = 11;
  for (auto [kernel, size] : kernels)
    for (size_t shift = 0; shift <= 16; shift += size)
      for (int64_t length : {0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 255, 257, 4095, 4097, 16400}) {
        Bytes in(size_t(length) * size);
        for (auto &byte : in)
          byte = uint8_t(noise(state));
        EXPECT_EQ(emulated->run(kernel, in, {}, length, in.size(), shift), in) << kernel << " shift " << shift << " length " << length;
        if (gpu) {
          EXPECT_EQ(gpu->run(kernel, in, {}, length, in.size(), shift), in) << kernel << " on the GPU, shift " << shift << " length " << length;
        }
      }
}

} // namespace
