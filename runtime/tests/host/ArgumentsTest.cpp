// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arguments that share memory otherwise than they did when the program was made.
#include "HostTest.h"

#include <gtest/gtest.h>

using namespace pkb_test;

namespace {

/// A program on one rank that copies argument 1 to argument 0, both of 8 floats. Argument 2, 4 floats, begins 16 bytes behind argument 1; argument 3, 8 floats, nobody uses.
std::string program() {
  std::string eight = R"("dtype": "float32", "sizes": [8], "strides": [1])", four = R"("dtype": "float32", "sizes": [4], "strides": [1])";
  return R"(/* pkb-manifest
{"schema": "pkb-manifest", "version": [1, 0], "name": "copy", "world_size": 1, "data": null, "groups": [],
 "arguments": [{)" + eight + R"(, "written": true}, {)" + eight + R"(}, {)" + four + R"(, "alias_of": 1, "alias_bytes": 16}, {)" + eight + R"(}], "outputs": [],
 "slots": [{"id": 0, "kind": "argument", "index": 0, )" + eight + R"(}, {"id": 1, "kind": "argument", "index": 1, )" + eight + R"(}],
 "steps": [{"kind": "copy", "from": 1, "to": 0, "source": "model.py:8"}],
 "kernels": [], "region_bytes": 0, "workspace_bytes": 0, "sites": [], "guards": []}
*/
)";
}

} // namespace

TEST(Arguments, memory_is_shared_as_it_was_when_the_program_was_made) {
  TempDir dir;
  std::string file = dir.write("p.cu", program()), rendezvous = dir.make("meet");
  Machine machine(1);
  Rank r(machine, rendezvous, 0, 1);
  ASSERT_EQ(r.status, PKB_OK) << r.error;
  pkb_program *loaded = nullptr;
  ASSERT_EQ(pkb_program_load(r.context, file.c_str(), nullptr, &loaded), PKB_OK) << pkb_last_error();
  for (int32_t i = -1; i <= 4; ++i) {
    EXPECT_EQ(pkb_program_input_written(loaded, i), i == 0) << i;
  }
  EXPECT_EQ(pkb_program_input_written(nullptr, 0), 0);
  Floats memory(machine.driver(), 64);
  // Where the four begin, in elements.
  auto call = [&](int64_t x, int64_t y, int64_t part, int64_t more) {
    int64_t starts[] = {x, y, part, more};
    pkb_tensor inputs[4];
    for (int i = 0; i < 4; ++i) {
      inputs[i] = memory.tensor();
      inputs[i].data = memory.data() + starts[i];
      inputs[i].sizes[0] = i == 2 ? 4 : 8;
    }
    return pkb_program_call(loaded, nullptr, inputs, 4, nullptr, 0);
  };
  auto refused = [&](pkb_status status, const std::string &text) {
    EXPECT_EQ(status, PKB_ERROR_GUARD);
    EXPECT_NE(std::string(pkb_last_error()).find(text), std::string::npos) << pkb_last_error();
  };
  for (int64_t i = 0; i < 64; ++i) {
    memory.data()[i] = float(i);
  }
  EXPECT_EQ(call(0, 16, 20, 32), PKB_OK) << pkb_last_error();
  ASSERT_EQ(pkb_context_synchronize(r.context, nullptr), PKB_OK);
  EXPECT_EQ(memory.data()[7], 23);
  EXPECT_EQ(call(8, 16, 20, 0), PKB_OK) << "side by side: " << pkb_last_error();
  EXPECT_EQ(call(0, 16, 20, 18), PKB_OK) << "both are only read: " << pkb_last_error();
  refused(call(0, 16, 21, 32), "input 2 of 'copy' must begin 16 bytes behind input 1, in whose memory it lay when the program was made");
  refused(call(0, 7, 11, 32), "input 1 of 'copy' overlaps input 0, which a call changes");
  refused(call(23, 16, 20, 32), "input 1 of 'copy' overlaps input 0, which a call changes");
  refused(call(0, 0, 4, 32), "input 1 of 'copy' overlaps input 0, which a call changes");
  refused(call(0, 16, 20, 4), "input 3 of 'copy' overlaps input 0, which a call changes");
  ASSERT_EQ(pkb_context_synchronize(r.context, nullptr), PKB_OK);
  pkb_program_unload(loaded);
}
