// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Manifest.h"
#include "Error.h"
#include "Sha256.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace pkb_rt;
using Json = nlohmann::json;

namespace {

Json good() {
  return Json::parse(R"({
    "schema": "pkb-manifest", "version": [1, 0], "name": "f", "world_size": 2, "target": "h200x2", "data": null,
    "groups": [{"id": 0, "partition": [[0, 1]]}],
    "arguments": [{"dtype": "bfloat16", "sizes": [4, 8], "strides": [8, 1]}],
    "outputs": [{"slot": 2, "alias_of": null, "dtype": "bfloat16", "sizes": [4, 8], "strides": [8, 1]},
                {"slot": 1, "alias_of": 0, "dtype": "bfloat16", "sizes": [2, 8], "strides": [8, 1]}],
    "slots": [{"id": 0, "kind": "argument", "index": 0, "dtype": "bfloat16", "sizes": [4, 8], "strides": [8, 1]},
              {"id": 1, "kind": "view", "of": 0, "offset": 16, "dtype": "bfloat16", "sizes": [2, 8], "strides": [8, 1]},
              {"id": 2, "kind": "output", "index": 0, "dtype": "bfloat16", "sizes": [4, 8], "strides": [8, 1]},
              {"id": 3, "kind": "temporary", "workspace": 64, "dtype": "float32", "sizes": [16], "strides": [1]}],
    "steps": [{"kind": "launch", "kernel": "k", "group": 0, "grid": 32, "block": 512,
               "pointers": [{"slot": 1, "offset": 0}, {"slot": 2, "offset": 4}], "source": "m.py:3"},
              {"kind": "copy", "from": 0, "to": 2}],
    "kernels": [{"name": "k", "block": 512, "min_blocks": 1, "grid": [1, 132], "ranks": 2, "pointers": 2, "mechanism": "ldst"}],
    "region_bytes": 1000, "workspace_bytes": 128,
    "sites": [{"id": 3, "kernel": "k", "primitive": "signal", "source": "m.py:3"}], "guards": []})");
}

std::string textOf(const Json &json) {
  return "/* pkb-manifest\n" + json.dump(1) + "\n*/\n#include \"pkb_rt/device.h\"\n";
}

std::string errorOf(const std::string &text) {
  try {
    parseProgram("x.cu", text, 0);
  } catch (const Error &error) {
    EXPECT_EQ(error.status, PKB_ERROR_PROGRAM);
    return error.what();
  }
  return "";
}

/// The error after `change` of a good manifest.
std::string after(const std::function<void(Json &)> &change) {
  Json json = good();
  change(json);
  return errorOf(textOf(json));
}

#define EXPECT_SAYS(error, part)                                                                                       \
  do {                                                                                                                 \
    std::string said = (error);                                                                                        \
    EXPECT_NE(said.find(part), std::string::npos) << said;                                                             \
  } while (false)

} // namespace

TEST(Manifest, a_good_one_becomes_flat_structs) {
  Manifest m = parseProgram("x.cu", textOf(good()), 0);
  EXPECT_EQ(m.worldSize, 2);
  EXPECT_EQ(m.slots[1].root, 0);
  EXPECT_EQ(m.slots[1].rootOffset, 32); // 16 elements of two bytes
  EXPECT_EQ(m.outputs[0].aliasOf, -1);
  EXPECT_EQ(m.outputs[1].aliasOf, 0);
  EXPECT_EQ(m.outputs[1].aliasOffset, 32);
  EXPECT_EQ(m.steps[0].grid, 32u);
  EXPECT_EQ(m.steps[0].pointers[1].offset, 4);
  EXPECT_EQ(m.sites.at(3), "kernel k, signal of m.py:3");
  EXPECT_FALSE(m.needsAten());
}

TEST(Manifest, the_id_covers_the_whole_text) {
  Json json = good();
  json["program"] = std::string(64, '0');
  std::string text = textOf(json);
  std::string id = sha256Hex(text);
  text.replace(text.find(std::string(64, '0')), 64, id);
  EXPECT_EQ(parseProgram("x.cu", text, 0).program, id);
  EXPECT_SAYS(errorOf(text + " "), "was changed after it was emitted");
  text[text.find("m.py:3")] = 'n';
  EXPECT_SAYS(errorOf(text), "was changed after it was emitted");
}

TEST(Manifest, what_is_not_an_emitted_file_is_refused) {
  EXPECT_SAYS(errorOf(""), "does not begin with a manifest comment");
  EXPECT_SAYS(errorOf("int main() {}\n" + textOf(good())), "does not begin with a manifest comment");
  std::string text = textOf(good());
  EXPECT_SAYS(errorOf(text.substr(0, 300)), "is cut off inside its manifest");
  text[text.find("\"schema\"") + 8] = ';';
  EXPECT_SAYS(errorOf(text), "is damaged");
}

TEST(Manifest, another_schema_or_version_is_refused) {
  EXPECT_SAYS(after([](Json &j) { j["schema"] = "pkb-bundle"; }), "has schema 'pkb-bundle', expected 'pkb-manifest'");
  EXPECT_SAYS(after([](Json &j) { j["version"] = {2, 0}; }), "has version [2,0], this run time reads 1.0 to 1.1");
  EXPECT_SAYS(after([](Json &j) { j["version"] = {1, 7}; }), "compile the program again or use a newer run time");
  EXPECT_SAYS(after([](Json &j) { j.erase("world_size"); }), "has no 'world_size'");
  EXPECT_SAYS(after([](Json &j) { j["world_size"] = 0; }), "'world_size' must be an integer from 1 to 64, got: 0");
  EXPECT_SAYS(after([](Json &j) { j["guards"].push_back({{"kind", "data"}}); }),
              "has guards that this run time does not know");
}

TEST(Manifest, tensors_are_checked) {
  EXPECT_SAYS(after([](Json &j) { j["arguments"][0]["dtype"] = "float7"; }), "argument 0 has dtype 'float7'");
  EXPECT_SAYS(after([](Json &j) { j["arguments"][0]["sizes"] = {4}; }), "has 1 sizes and 2 strides");
  EXPECT_SAYS(after([](Json &j) { j["arguments"][0]["sizes"][0] = -1; }), "'sizes' must be an integer");
  EXPECT_SAYS(after([](Json &j) { j["arguments"][0]["sizes"][0] = Json{{"expr", "s0"}}; }), "is a symbol");
  EXPECT_SAYS(after([](Json &j) {
                j["slots"][3]["sizes"] = {
                    int64_t(1) << 50,
                };
                j["slots"][3]["strides"] = {int64_t(1) << 50};
              }),
              "is larger than any memory");
}

TEST(Manifest, what_is_said_of_arguments_is_checked) {
  EXPECT_SAYS(after([](Json &j) { j["arguments"][0]["written"] = 1; }), "argument 0 'written' must be true or false, got: 1");
  EXPECT_SAYS(after([](Json &j) { j["arguments"][0]["alias_of"] = 7; }), "argument 0 'alias_of' must be an integer from 0 to 0, got: 7");
  EXPECT_SAYS(after([](Json &j) { j["arguments"][0]["alias_of"] = 0; }), "argument 0 has no 'alias_bytes'");
  EXPECT_SAYS(after([](Json &j) { j["arguments"][0].update({{"alias_of", 0}, {"alias_bytes", 0}}); }),
              "argument 0 must lie in one with memory of its own, got: argument 0");
}

TEST(Manifest, slots_are_checked) {
  EXPECT_SAYS(after([](Json &j) { j["slots"][1]["id"] = 0; }), "has id 0, which another slot has too");
  EXPECT_SAYS(after([](Json &j) { j["slots"][1]["of"] = 9; }), "'of' must be an integer from 0 to 3, got: 9");
  EXPECT_SAYS(after([](Json &j) { j["slots"][1]["of"] = 1; }), "slot 1 is a view of itself");
  EXPECT_SAYS(after([](Json &j) { j["slots"][1]["offset"] = 17; }), "slot 1 ends behind slot 0");
  EXPECT_SAYS(after([](Json &j) { j["slots"][3]["workspace"] = 65; }), "ends behind the workspace of 128 bytes");
  EXPECT_SAYS(after([](Json &j) { j["slots"][3]["kind"] = "register"; }), "has kind 'register'");
  EXPECT_SAYS(after([](Json &j) {
                j["slots"][3] = {{"id", 3},         {"kind", "constant"}, {"offset", 0},
                                 {"dtype", "int8"}, {"sizes", {1}},       {"strides", {1}}};
              }),
              "names no data file");
  EXPECT_SAYS(after([](Json &j) { j["slots"][0]["sizes"] = {5, 8}; }), "slot 0 is longer than argument 0");
}

TEST(Manifest, outputs_are_checked) {
  EXPECT_SAYS(after([](Json &j) { j["outputs"][0]["slot"] = 3; }),
              "whose memory is neither an argument's nor an output's");
  EXPECT_SAYS(after([](Json &j) { j["outputs"][0]["alias_of"] = 0; }), "says that it is argument 0, its slot does not");
}

TEST(Manifest, groups_kernels_and_steps_are_checked) {
  EXPECT_SAYS(after([](Json &j) { j["groups"][0]["partition"][0] = {0, 0}; }), "lists rank 0 twice");
  EXPECT_SAYS(after([](Json &j) { j["groups"][0]["partition"][0] = {0, 2}; }),
              "'partition' must be an integer from 0 to 1, got: 2");
  EXPECT_SAYS(after([](Json &j) { j["groups"][0]["partition"] = Json::array({{0}, {1}}); }),
              "compiled for 2 ranks, on a group of 1");
  EXPECT_SAYS(after([](Json &j) { j["kernels"][0]["grid"] = {1, 257}; }), "with at most 256 blocks");
  EXPECT_SAYS(after([](Json &j) { j["steps"][0]["grid"] = 133; }), "'grid' must be an integer from 1 to 132, got: 133");
  EXPECT_SAYS(after([](Json &j) { j["steps"][0]["block"] = 256; }), "with 256 threads, it was compiled for 512");
  EXPECT_SAYS(after([](Json &j) { j["steps"][0]["kernel"] = "q"; }), "launches kernel 'q', which is not in the table");
  EXPECT_SAYS(after([](Json &j) { j["steps"][0]["pointers"].erase(0); }), "passes 1 pointers to 'k', which takes 2");
  EXPECT_SAYS(after([](Json &j) { j["steps"][1]["to"] = 1; }), "whose sizes differ");
  EXPECT_SAYS(after([](Json &j) { j["steps"][1]["kind"] = "sleep"; }), "step 1 has kind 'sleep'");
}

namespace {

/// A program for each rank of the good manifest; that of rank 1 has no results.
Json goodPrograms() {
  Json json = good(), first;
  for (const char *key : {"arguments", "outputs", "slots", "steps", "workspace_bytes"}) {
    first[key] = json[key];
    json.erase(key);
  }
  Json second = first;
  first["ranks"] = {0};
  second["ranks"] = {1};
  second["outputs"] = Json::array();
  second["slots"].erase(2);
  second["slots"][2]["id"] = 2;
  second["steps"].erase(1);
  second["steps"][0]["pointers"][1] = {{"slot", nullptr}};
  second["output_tree"] = {{"kind", "none"}};
  json["programs"] = {first, second};
  return json;
}

std::string afterPrograms(const std::function<void(Json &)> &change) {
  Json json = goodPrograms();
  change(json);
  return errorOf(textOf(json));
}

} // namespace

TEST(Manifest, each_rank_has_its_own_program) {
  std::string text = textOf(goodPrograms());
  Manifest zero = parseProgram("x.cu", text, 0), one = parseProgram("x.cu", text, 1);
  EXPECT_EQ(zero.outputs.size(), 2u);
  EXPECT_EQ(zero.steps.size(), 2u);
  EXPECT_EQ(one.outputs.size(), 0u);
  EXPECT_EQ(one.steps.size(), 1u);
  EXPECT_EQ(one.steps[0].pointers[1].slot, -1);
  EXPECT_TRUE(one.meets);
  // Who asks for the manifest gets the rank's own, in the form of a program that all ranks run.
  Json own = Json::parse(one.text);
  EXPECT_FALSE(own.contains("programs"));
  EXPECT_EQ(own["ranks"], Json({1}));
  EXPECT_EQ(own["output_tree"]["kind"], "none");
  EXPECT_EQ(zero.program, one.program);
}

TEST(Manifest, programs_must_go_together) {
  EXPECT_SAYS(afterPrograms([](Json &j) { j["programs"][1]["ranks"] = {0}; }),
              "program 1 is for rank 0, which another program is for too");
  EXPECT_SAYS(afterPrograms([](Json &j) { j["programs"][1]["ranks"] = {2}; }),
              "program 1 is for rank 2, which is not one of 2");
  EXPECT_SAYS(afterPrograms([](Json &j) { j["programs"].erase(1); }), "has no program for rank 1");
  EXPECT_SAYS(afterPrograms([](Json &j) { j["programs"][1].erase("ranks"); }), "program 1 has no 'ranks'");
  EXPECT_SAYS(afterPrograms([](Json &j) { j["programs"][1] = 7; }), "program 1 must be an object");
  EXPECT_SAYS(afterPrograms([](Json &j) { j["programs"] = "all"; }), "'programs' must be a list");
  EXPECT_SAYS(afterPrograms([](Json &j) { j["programs"][1].erase("steps"); }), "program has no 'steps'");
  EXPECT_SAYS(afterPrograms([](Json &j) { j["programs"][1]["steps"] = Json::array(); }),
              "on group 0 rank 0 runs [\"k\"], rank 1 []");
  EXPECT_SAYS(afterPrograms([](Json &j) { j["programs"][1]["steps"][0]["group"] = 3; }),
              "has programs that do not go together");
  EXPECT_SAYS(afterPrograms([](Json &j) { j["programs"][0]["steps"][0]["pointers"][0].erase("slot"); }),
              "has no 'slot'");
}

TEST(Manifest, operators_and_strided_copies_need_aten) {
  Json json = good();
  json["steps"][1] = {
      {"kind", "aten"}, {"op", "aten::cat"}, {"args", {{{"ts", {0, 3}}}, {{"i", 1}}}}, {"results", {{{"t", 2}}}}};
  Manifest m = parseProgram("x.cu", textOf(json), 0);
  EXPECT_TRUE(m.needsAten());
  EXPECT_EQ(m.steps[1].makes, std::vector<int32_t>({2}));
  EXPECT_EQ(m.steps[1].uses, std::vector<int32_t>({2, 0, 3}));
  json["steps"][1]["args"][0]["ts"][1] = 99;
  EXPECT_SAYS(errorOf(textOf(json)), "step 1 't' must be an integer from 0 to 3, got: 99");
  json = good();
  json["slots"][2]["strides"] = {1, 4};
  EXPECT_TRUE(parseProgram("x.cu", textOf(json), 0).needsAten());
}

TEST(Manifest, memory_of_the_host_is_for_operators_only) {
  Json json = good();
  json["slots"][3] = {{"id", 3}, {"kind", "aten"}, {"device", "cpu"}, {"dtype", "bfloat16"}, {"sizes", {4, 8}}, {"strides", {8, 1}}};
  json["steps"][1] = {{"kind", "copy"}, {"from", 3}, {"to", 2}};
  json["steps"][0]["pointers"][0]["slot"] = 0;
  json["steps"][0]["pointers"][1]["slot"] = 2;
  Manifest m = parseProgram("x.cu", textOf(json), 0);
  EXPECT_TRUE(m.slots[3].host);
  EXPECT_FALSE(m.slots[2].host);
  EXPECT_TRUE(m.needsAten()) << "no memcpy of the device";
  json["steps"][0]["pointers"][1]["slot"] = 3;
  EXPECT_SAYS(errorOf(textOf(json)), "is slot 3, which is memory of the host; a kernel cannot read it");
  json["slots"][3]["device"] = "cuda:1";
  EXPECT_SAYS(errorOf(textOf(json)), "is on device 'cuda:1'; a slot that names one is on 'cpu'");
}

TEST(Manifest, a_host_read_gives_one_number) {
  Json json = good();
  json["slots"][3] = {{"id", 3}, {"kind", "aten"}, {"device", "cpu"}, {"dtype", "bfloat16"}, {"sizes", Json::array()}, {"strides", Json::array()}};
  json["slots"][1]["sizes"] = {1, 1};
  json["outputs"][1]["sizes"] = {1, 1};
  json["steps"][1] = {{"kind", "host_read"}, {"from", 1}, {"to", 3}};
  Manifest m = parseProgram("x.cu", textOf(json), 0);
  EXPECT_TRUE(m.needsAten());
  EXPECT_EQ(m.steps[1].uses, std::vector<int32_t>({1, 3}));
  json["steps"][1]["from"] = 0;
  EXPECT_SAYS(errorOf(textOf(json)), "step 1 reads slot 0, which is not one number of the dtype of slot 3");
  json["steps"][1] = {{"kind", "host_read"}, {"from", 1}, {"to", 2}};
  EXPECT_SAYS(errorOf(textOf(json)), "step 1 reads into slot 2, which is not one number in memory of the host");
}

TEST(Manifest, extents_and_contiguity_follow_the_strides) {
  Shape shape{PKB_F32, {2, 3}, {3, 1}};
  EXPECT_TRUE(shape.contiguous());
  EXPECT_EQ(shape.extentBytes(), 24);
  shape.strides = {1, 2};
  EXPECT_FALSE(shape.contiguous());
  EXPECT_EQ(shape.extentBytes(), 24);
  shape = {PKB_C128, {1, 4}, {99, 1}};
  EXPECT_TRUE(shape.contiguous());
  EXPECT_EQ(shape.extentBytes(), 64);
  shape = {PKB_I8, {0, 4}, {4, 1}};
  EXPECT_EQ(shape.extentBytes(), 0);
  shape = {PKB_I8, {}, {}};
  EXPECT_EQ(shape.extentBytes(), 1);
}

class Flipped : public testing::TestWithParam<bool> {};

TEST_P(Flipped, no_bit_and_no_cut_does_more_than_throw) {
  std::string text = textOf(GetParam() ? goodPrograms() : good());
  int refused = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    for (int bit = 0; bit < 7; ++bit) {
      std::string changed = text;
      changed[at] = char(changed[at] ^ (1 << bit));
      try {
        Manifest m = parseProgram("x.cu", changed, 0);
        for (const Slot &slot : m.slots) {
          ASSERT_GE(slot.root, 0);
          ASSERT_LT(slot.root, int32_t(m.slots.size()));
          ASSERT_GE(slot.shape.extentBytes(), 0);
        }
      } catch (const Error &error) {
        ASSERT_EQ(error.status, PKB_ERROR_PROGRAM);
        ++refused;
      }
    }
    EXPECT_FALSE(at + 20 < text.find("*/") && errorOf(text.substr(0, at)).empty()) << at;
  }
  EXPECT_GT(refused, 1000);
}

TEST(Manifest, a_library_step_names_its_calls) {
  auto step = [](const std::string &calls, const std::string &more = "") {
    return Json::parse(R"({"kind": "library", "library": "nccl", "group": 0, "dtype": "bfloat16", "source": "m.py:3", )" + more + R"("calls": [)" + calls + "]}");
  };
  std::string place = R"("from": {"slot": 0, "offset": 0}, "to": {"slot": 2, "offset": 0})";
  Json json = good();
  json["steps"] = {step(R"({"function": "all_reduce", "count": 32, )" + place + "}", R"("reduce": "sum", )")};
  Manifest m = parseProgram("x.cu", textOf(json), 0);
  ASSERT_EQ(m.steps.size(), 1u);
  EXPECT_EQ(m.steps[0].kind, StepKind::Library);
  EXPECT_EQ(m.steps[0].reduce, LibraryReduce::Sum);
  EXPECT_EQ(m.steps[0].calls[0].count, 32);
  EXPECT_EQ(m.steps[0].calls[0].to.slot, 2);
  auto refused = [&](const Json &bad) { return after([&](Json &json) { json["steps"] = {bad}; }); };
  EXPECT_NE(refused(step(R"({"function": "gossip", "count": 1, )" + place + "}")).find("has function 'gossip', which this run time does not know"), std::string::npos);
  EXPECT_NE(refused(step(R"({"function": "all_reduce", "count": 1, )" + place + "}")).find("reduces, and its step names no reduction"), std::string::npos);
  EXPECT_NE(refused(step(R"({"function": "broadcast", "count": 1, "root": 2, )" + place + "}")).find("'root' must be an integer from 0 to 1, got: 2"), std::string::npos);
  EXPECT_NE(refused(step(R"({"function": "all_reduce", "count": 1, )" + place + "}", R"("reduce": "premul_sum", "factors": [1], )")).find("must have 2 factors, got: 1"), std::string::npos);
  Json other = step("");
  other["library"] = "mpi";
  EXPECT_NE(refused(other).find("calls library 'mpi', which this run time does not know"), std::string::npos);
  Json transfer = step(R"({"function": "all_gather", "count": 1, "from": {"slot": 0, "offset": 0}, "to": 0})");
  transfer["kind"] = "transfer";
  EXPECT_NE(refused(transfer).find("must be a message"), std::string::npos);
}
INSTANTIATE_TEST_SUITE_P(Manifest, Flipped, testing::Values(false, true));
