// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Compile.h"
#include "Environment.h"
#include "Error.h"
#include "Sha256.h"

#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

using namespace pkb_rt;

TEST(Sha256, known_digests) {
  EXPECT_EQ(sha256Hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256Hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256Hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256Hex(std::string(1000000, 'a')), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  Sha256 pieces;
  for (int i = 0; i < 1000; ++i) {
    pieces.update(std::string(1000, 'a'));
  }
  EXPECT_EQ(pieces.hex(), sha256Hex(std::string(1000000, 'a')));
}

TEST(Environment, numbers_are_checked) {
  unsetenv("PKB_TEST_NUMBER");
  EXPECT_EQ(environmentNumber("PKB_TEST_NUMBER", 600, 1), 600);
  setenv("PKB_TEST_NUMBER", "2.5", 1);
  EXPECT_EQ(environmentNumber("PKB_TEST_NUMBER", 600, 1), 2.5);
  for (const char *bad : {"ten", "5s", "0", "-1", "nan"}) {
    setenv("PKB_TEST_NUMBER", bad, 1);
    try {
      environmentNumber("PKB_TEST_NUMBER", 600, 1);
      ADD_FAILURE() << bad;
    } catch (const Error &error) {
      EXPECT_EQ(error.what(), std::string("PKB_TEST_NUMBER must be a number of at least 1, got: '") + bad + "'");
    }
  }
}

TEST(Compile, output_and_status_of_a_program_come_back) {
  std::string output;
  EXPECT_EQ(runProgram({"sh", "-c", "echo out; echo err >&2; exit 3"}, output), 3);
  EXPECT_EQ(output, "out\nerr\n");
  EXPECT_EQ(runProgram({"/nonexistent/compiler"}, output = ""), -1);
}

TEST(Compile, a_missing_compiler_or_header_is_one_message) {
  CompileRequest request;
  request.path = "x.cu";
  request.emulated = true;
  request.cacheDir = "/tmp/pkb-test-cache";
  setenv("PKB_RT_INCLUDE", "/nonexistent", 1);
  try {
    compileProgram(request);
    ADD_FAILURE();
  } catch (const Error &error) {
    EXPECT_EQ(error.what(), std::string("pkb_rt/device.h not found in '/nonexistent' (PKB_RT_INCLUDE)"));
  }
  setenv("PKB_RT_INCLUDE", PKB_TEST_INCLUDE, 1);
  setenv("PKB_CXX", "no-such-compiler", 1);
  try {
    compileProgram(request);
    ADD_FAILURE();
  } catch (const Error &error) {
    EXPECT_EQ(error.what(), std::string("PKB_CXX names 'no-such-compiler', which is not an executable"));
  }
  unsetenv("PKB_CXX");
  request.emulated = false;
  request.capability = 90;
  setenv("PKB_NVRTC", "/nonexistent/libnvrtc.so", 1);
  try {
    compileProgram(request);
    ADD_FAILURE();
  } catch (const Error &error) {
    EXPECT_NE(std::string(error.what()).find("PKB_NVRTC cannot be used"), std::string::npos) << error.what();
  }
  unsetenv("PKB_NVRTC");
}

namespace {

const char kKernel[] = R"(#include "pkb_rt/device.h"
PKB_KERNEL(scale, 128, 1, 2, 2) {
  const uint64_t epoch = pkb::epoch(pkb::epoch_begin<1>(args));
  pkb::for_each<4>(1000, [&](int64_t i) { return pkb::load<pkb::bf16, 8>(pkb::pointer(args, 0), i, 8000); },
                   [&](int64_t i, const auto &v) { pkb::store(pkb::pointer(args, 1), i, 8000, v); });
  pkb::block_barrier<2>(args);
  pkb::signal<3>(args, 1 - pkb::rank(args), pkb::block_index(), pkb::flag_value(epoch, 1));
  pkb::wait<4>(args, 1 - pkb::rank(args), pkb::block_index(), pkb::flag_value(epoch, 1));
  pkb::epoch_end<5>(args, epoch);
}
)";

CompileRequest cubinRequest(const std::string &text) {
  CompileRequest request;
  request.path = "/tmp/pkb-test-cache/kernel.cu";
  request.text = text;
  request.cacheDir = "/tmp/pkb-test-cache";
  request.capability = 90;
  setenv("PKB_RT_INCLUDE", PKB_TEST_INCLUDE, 1);
  return request;
}

} // namespace

TEST(Compile, nvrtc_makes_a_cubin_once) {
  if (describeNvrtc(0).empty()) {
    GTEST_SKIP() << "no NVRTC on this machine";
  }
  CompileRequest request = cubinRequest(std::string(kKernel) + "// " + std::to_string(getpid()) + "\n");
  std::string image = compileProgram(request).bytes;
  ASSERT_GT(image.size(), 1000u);
  EXPECT_EQ(image.substr(1, 3), "ELF");
  EXPECT_NE(image.find("scale"), std::string::npos);
  Image again = compileProgram(request);
  EXPECT_EQ(again.bytes, image);
  EXPECT_TRUE(again.notes.empty());
  // Another architecture is another image.
  request.capability = 100;
  EXPECT_NE(compileProgram(request).bytes, image);
}

TEST(Compile, errors_of_nvrtc_show_its_lines) {
  if (describeNvrtc(0).empty()) {
    GTEST_SKIP() << "no NVRTC on this machine";
  }
  try {
    compileProgram(
        cubinRequest("#include \"pkb_rt/device.h\"\nPKB_KERNEL(k, 128, 1, 2, 1) { pkb::no_such_function(args); }\n"));
    ADD_FAILURE();
  } catch (const Error &error) {
    EXPECT_EQ(error.status, PKB_ERROR_PROGRAM);
    EXPECT_NE(std::string(error.what()).find("kernel.cu(2)"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("no_such_function"), std::string::npos) << error.what();
  }
}
