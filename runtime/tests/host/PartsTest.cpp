// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Compile.h"
#include "Environment.h"
#include "Error.h"
#include "Sha256.h"

#include <cstdlib>
#include <gtest/gtest.h>

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
