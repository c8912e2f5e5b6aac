// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Programs that mix operators of PyTorch with kernels, on emulated ranks.
#include "HostTest.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

using namespace pkb_test;

namespace {

/// x @ w on every rank, summed over the ranks by a kernel that reads the operator's result; out = sum + 2 x, w *= 0.5
/// in place, and the transposed sum as a second output.
std::string mixedManifest(const std::string &addOp = "aten::add", const std::string &wSizes = "[4, 4]") {
  return R"({"schema": "pkb-manifest", "version": [1, 0], "name": "mixed", "world_size": 2, "data": null,
 "groups": [{"id": 0, "partition": [[0, 1]]}],
 "arguments": [{"dtype": "float32", "sizes": [3, 4], "strides": [4, 1]}, {"dtype": "float32", "sizes": )" +
         wSizes + R"(, "strides": [4, 1]}],
 "outputs": [{"slot": 6, "alias_of": null, "dtype": "float32", "sizes": [3, 4], "strides": [4, 1]},
             {"slot": 7, "alias_of": null, "dtype": "float32", "sizes": [4, 3], "strides": [3, 1]},
             {"slot": 10, "alias_of": null, "dtype": "float32", "sizes": [4, 3], "strides": [3, 1]}],
 "slots": [{"id": 0, "kind": "argument", "index": 0, "dtype": "float32", "sizes": [3, 4], "strides": [4, 1]},
           {"id": 1, "kind": "argument", "index": 1, "dtype": "float32", "sizes": )" +
         wSizes + R"(, "strides": [4, 1]},
           {"id": 2, "kind": "aten", "dtype": "float32", "sizes": [3, 4], "strides": [4, 1]},
           {"id": 3, "kind": "aten", "dtype": "float32", "sizes": [12], "strides": [1]},
           {"id": 4, "kind": "temporary", "workspace": 64, "dtype": "float32", "sizes": [12], "strides": [1]},
           {"id": 5, "kind": "view", "of": 4, "offset": 0, "dtype": "float32", "sizes": [3, 4], "strides": [4, 1]},
           {"id": 6, "kind": "output", "index": 0, "dtype": "float32", "sizes": [3, 4], "strides": [4, 1]},
           {"id": 7, "kind": "output", "index": 1, "dtype": "float32", "sizes": [4, 3], "strides": [3, 1]},
           {"id": 8, "kind": "view", "of": 4, "offset": 0, "dtype": "float32", "sizes": [4, 3], "strides": [1, 4]},
           {"id": 9, "kind": "aten", "dtype": "float32", "sizes": [4, 3], "strides": [3, 1]},
           {"id": 10, "kind": "output", "index": 2, "dtype": "float32", "sizes": [4, 3], "strides": [3, 1]},
           {"id": 11, "kind": "view", "of": 2, "offset": 4, "dtype": "float32", "sizes": [4], "strides": [1]}],
 "steps": [{"kind": "aten", "op": "aten::mm", "overload": "", "args": [{"t": 0}, {"t": 1}], "kwargs": [], "results": [{"t": 2}], "mutates": [], "source": "m.py:1"},
           {"kind": "aten", "op": "aten::view", "overload": "", "args": [{"t": 2}, {"is": [12]}], "kwargs": [], "results": [{"t": 3}], "mutates": [], "source": "m.py:2"},
           {"kind": "aten", "op": "aten::mul_", "overload": "Scalar", "args": [{"t": 11}, {"i": 3}], "kwargs": [], "results": [{"t": 11}], "mutates": [11], "source": "m.py:3"},
           {"kind": "launch", "kernel": "all_reduce_0", "group": 0, "grid": 2, "block": 128, "pointers": [{"slot": 3}, {"slot": 4}], "source": "m.py:4"},
           {"kind": "aten", "op": ")" +
         addOp +
         R"(", "overload": "Tensor", "args": [{"t": 5}, {"t": 0}], "kwargs": [["alpha", {"i": 2}]], "results": [{"t": 6}], "mutates": [], "source": "m.py:5"},
           {"kind": "aten", "op": "aten::mul_", "overload": "Scalar", "args": [{"t": 1}, {"f": 0.5}], "kwargs": [], "results": [{"t": 1}], "mutates": [1], "source": "m.py:6"},
           {"kind": "copy", "from": 8, "to": 7},
           {"kind": "aten", "op": "aten::contiguous", "overload": "", "args": [{"t": 8}], "kwargs": [], "results": [{"t": 9}], "mutates": [], "source": "m.py:7"},
           {"kind": "copy", "from": 9, "to": 10}],
 "kernels": [{"name": "all_reduce_0", "block": 128, "min_blocks": 1, "grid": [1, 64], "ranks": 2, "pointers": 2, "mechanism": "ldst"}],
 "region_bytes": 0, "workspace_bytes": 256, "sites": [], "guards": []})";
}

struct Mixed {
  explicit Mixed(const pkb_driver *driver)
      : x(driver, 12), w(driver, 16), out(driver, 12), turned(driver, 12), again(driver, 12) {}
  Floats x, w, out, turned, again;
  pkb_tensor inputs[2], outputs[3];

  void fill(int rank, int call) {
    for (size_t i = 0; i < 12; ++i) {
      x.data()[i] = float(int(i % 5) - 2 + rank + call);
      out.data()[i] = turned.data()[i] = again.data()[i] = NAN;
    }
    for (size_t i = 0; i < 16; ++i) {
      w.data()[i] = float(int(i * 7 % 6) - rank * 2);
    }
    inputs[0] = x.tensor();
    inputs[1] = w.tensor();
    outputs[0] = out.tensor();
    outputs[1] = turned.tensor();
    outputs[2] = again.tensor();
    auto shape = [](pkb_tensor &t, int64_t rows, int64_t columns) {
      t.ndim = 2;
      t.sizes[0] = rows;
      t.sizes[1] = columns;
      t.strides[0] = columns;
      t.strides[1] = 1;
    };
    shape(inputs[0], 3, 4);
    shape(inputs[1], 4, 4);
    shape(outputs[0], 3, 4);
    shape(outputs[1], 4, 3);
    shape(outputs[2], 4, 3);
  }

  /// Small whole numbers: every sum is exact.
  void expect(int rank, int call) {
    for (int i = 0; i < 12; ++i) {
      float sum = 0;
      for (int r = 0; r < 2; ++r) {
        float product = 0;
        for (int k = 0; k < 4; ++k) {
          product += float((i / 4 * 4 + k) % 5 - 2 + r + call) * float((k * 4 + i % 4) * 7 % 6 - r * 2);
        }
        sum += i >= 4 && i < 8 ? 3 * product : product;
      }
      ASSERT_EQ(out.data()[i], sum + 2 * float(i % 5 - 2 + rank + call)) << "element " << i << " call " << call;
      ASSERT_EQ(turned.data()[i % 4 * 3 + i / 4], sum) << "element " << i;
      ASSERT_EQ(again.data()[i % 4 * 3 + i / 4], sum) << "element " << i;
    }
    for (int i = 0; i < 16; ++i) {
      ASSERT_EQ(w.data()[i], 0.5f * float(i * 7 % 6 - rank * 2));
    }
  }
};

} // namespace

TEST(Aten, operators_and_kernels_work_on_each_others_results) {
  TempDir dir;
  AllReduce program;
  program.length = 12;
  program.manifest = mixedManifest();
  std::string file = dir.write("p.cu", program.text()), rendezvous = dir.make("meet");
  Machine machine(2);
  onRanks(2, [&](int rank) {
    Rank r(machine, rendezvous, rank, 2);
    ASSERT_EQ(r.status, PKB_OK) << r.error;
    pkb_program *loaded = nullptr;
    ASSERT_EQ(pkb_program_load(r.context, file.c_str(), nullptr, &loaded), PKB_OK) << pkb_last_error();
    EXPECT_EQ(pkb_program_launch_count(loaded), 9);
    // Two calls in flight at once, each with tensors of its own.
    std::vector<std::unique_ptr<Mixed>> calls;
    for (int call = 0; call < 3; ++call) {
      calls.push_back(std::make_unique<Mixed>(machine.driver()));
      calls.back()->fill(rank, call);
    }
    for (auto &call : calls) {
      ASSERT_EQ(pkb_program_call(loaded, nullptr, call->inputs, 2, call->outputs, 3), PKB_OK) << pkb_last_error();
    }
    ASSERT_EQ(pkb_context_synchronize(r.context, nullptr), PKB_OK) << pkb_last_error();
    for (int call = 0; call < 3; ++call) {
      calls[size_t(call)]->expect(rank, call);
    }
    // A captured call is replayed with its operators.
    pkb_cu_stream stream = nullptr;
    ASSERT_EQ(machine.driver()->stream_create(&stream, 1), 0);
    ASSERT_EQ(machine.driver()->capture_begin(stream), 0);
    ASSERT_EQ(pkb_program_call(loaded, stream, calls[0]->inputs, 2, calls[0]->outputs, 3), PKB_OK) << pkb_last_error();
    pkb_cu_graph graph = nullptr;
    pkb_cu_graph_exec exec = nullptr;
    ASSERT_EQ(machine.driver()->capture_end(stream, &graph), 0);
    ASSERT_EQ(machine.driver()->graph_instantiate(&exec, graph), 0);
    for (int call = 5; call < 8; ++call) {
      calls[0]->fill(rank, call);
      ASSERT_EQ(machine.driver()->graph_launch(exec, stream), 0);
      ASSERT_EQ(pkb_context_synchronize(r.context, stream), PKB_OK) << pkb_last_error();
      calls[0]->expect(rank, call);
    }
    machine.driver()->graph_exec_destroy(exec);
    machine.driver()->graph_destroy(graph);
    machine.driver()->stream_destroy(stream);
    pkb_program_unload(loaded);
  });
}

TEST(Aten, calls_become_one_graph_that_takes_each_calls_tensors) {
  TempDir dir;
  AllReduce program;
  program.length = 12;
  program.manifest = mixedManifest();
  std::string file = dir.write("p.cu", program.text()), rendezvous = dir.make("meet");
  Machine machine(2);
  setenv("PKB_CALL_GRAPHS", "1", 1);
  constexpr int kCalls = 8, kDirect = 2;
  onRanks(2, [&](int rank) {
    Rank r(machine, rendezvous, rank, 2);
    ASSERT_EQ(r.status, PKB_OK) << r.error;
    pkb_program *loaded = nullptr;
    ASSERT_EQ(pkb_program_load(r.context, file.c_str(), nullptr, &loaded), PKB_OK) << pkb_last_error();
    // All in flight at once, other tensors in each, one written in place; then the same tensors with other contents.
    std::vector<std::unique_ptr<Mixed>> calls;
    for (int call = 0; call < kCalls; ++call) {
      calls.push_back(std::make_unique<Mixed>(machine.driver()));
    }
    for (int round = 0; round < 2; ++round) {
      for (int call = 0; call < kCalls; ++call) {
        calls[size_t(call)]->fill(rank, call + round);
      }
      for (auto &call : calls) {
        ASSERT_EQ(pkb_program_call(loaded, nullptr, call->inputs, 2, call->outputs, 3), PKB_OK) << pkb_last_error();
      }
      ASSERT_EQ(pkb_context_synchronize(r.context, nullptr), PKB_OK) << pkb_last_error();
      for (int call = 0; call < kCalls; ++call) {
        calls[size_t(call)]->expect(rank, call + round);
      }
    }
    pkb_program_unload(loaded);
  });
  unsetenv("PKB_CALL_GRAPHS");
  pkb_emu_counts counts;
  pkb_emu_count(machine.emu, &counts);
  EXPECT_EQ(counts.graph_launches, uint64_t(2 * (2 * kCalls - kDirect)));
}

TEST(Aten, a_capture_of_a_program_that_reads_on_the_host_is_refused_by_all_ranks) {
  TempDir dir;
  AllReduce program;
  program.length = 12;
  program.manifest = mixedManifest();
  auto replace = [&](const std::string &from, const std::string &to) {
    size_t at = program.manifest.find(from);
    ASSERT_NE(at, std::string::npos);
    program.manifest.replace(at, from.size(), to);
  };
  replace(R"("sizes": [4], "strides": [1]}],)", R"("sizes": [4], "strides": [1]},
           {"id": 12, "kind": "view", "of": 2, "offset": 0, "dtype": "float32", "sizes": [1], "strides": [1]},
           {"id": 13, "kind": "aten", "device": "cpu", "dtype": "float32", "sizes": [], "strides": []}],)");
  replace(R"({"kind": "copy", "from": 8)", R"({"kind": "host_read", "from": 12, "to": 13, "source": "m.py:9"}, {"kind": "copy", "from": 8)");
  std::string file = dir.write("p.cu", program.text()), rendezvous = dir.make("meet");
  Machine machine(2, [](pkb_emu_options &options) { options.idle_s = 60; });
  for (bool together : {true, false}) {
    onRanks(2, [&](int rank) {
      const pkb_driver *driver = machine.driver();
      Rank r(machine, rendezvous, rank, 2);
      ASSERT_EQ(r.status, PKB_OK) << r.error;
      pkb_program *loaded = nullptr;
      ASSERT_EQ(pkb_program_load(r.context, file.c_str(), nullptr, &loaded), PKB_OK) << pkb_last_error();
      Mixed call(driver);
      pkb_cu_stream stream = nullptr;
      pkb_cu_graph graph = nullptr;
      ASSERT_EQ(driver->stream_create(&stream, 1), 0);
      auto make = [&](int number) {
        call.fill(rank, number);
        return pkb_program_call(loaded, stream, call.inputs, 2, call.outputs, 3);
      };
      ASSERT_EQ(make(0), PKB_OK) << pkb_last_error();
      ASSERT_EQ(pkb_context_synchronize(r.context, stream), PKB_OK) << pkb_last_error();
      call.expect(rank, 0);
      if (together || rank == 1) {
        ASSERT_EQ(driver->capture_begin(stream), 0);
        EXPECT_EQ(make(1), together ? PKB_ERROR_ARGUMENT : PKB_ERROR_PEER_LOST);
        EXPECT_NE(std::string(pkb_last_error())
                      .find("'mixed' reads a number of the device on the host (step 6, m.py:9), which a captured graph cannot; call it outside of the capture"),
                  std::string::npos)
            << pkb_last_error();
        EXPECT_EQ(driver->capture_end(stream, &graph), 0); // nothing of the call is in it, and it is whole
        EXPECT_EQ(driver->graph_destroy(graph), 0);
      } else {
        pkb_status status = make(1); // the host reads during the call, so it may be told there
        status = status == PKB_OK ? pkb_context_synchronize(r.context, stream) : status;
        EXPECT_EQ(status, PKB_ERROR_PEER_LOST);
        EXPECT_NE(std::string(pkb_last_error()).find("rank 1 refused call 2, which "), std::string::npos) << pkb_last_error();
      }
      if (together) {
        ASSERT_EQ(make(2), PKB_OK) << pkb_last_error();
        ASSERT_EQ(pkb_context_synchronize(r.context, stream), PKB_OK) << pkb_last_error();
        call.expect(rank, 2);
      }
      pkb_program_unload(loaded);
      driver->stream_destroy(stream);
    });
  }
}

TEST(Aten, an_operator_that_fails_in_the_stream_is_reported_by_synchronize) {
  TempDir dir;
  AllReduce program;
  program.length = 12;
  // The operator is in libtorch, but the sizes do not fit: only running it can tell.
  program.manifest = mixedManifest();
  size_t at = program.manifest.find("\"args\": [{\"t\": 0}, {\"t\": 1}]");
  program.manifest.replace(at, 28, "\"args\": [{\"t\": 1}, {\"t\": 0}]");
  std::string file = dir.write("p.cu", program.text()), rendezvous = dir.make("meet");
  Machine machine(2);
  onRanks(2, [&](int rank) {
    Rank r(machine, rendezvous, rank, 2);
    ASSERT_EQ(r.status, PKB_OK) << r.error;
    pkb_program *loaded = nullptr;
    ASSERT_EQ(pkb_program_load(r.context, file.c_str(), nullptr, &loaded), PKB_OK) << pkb_last_error();
    Mixed call(machine.driver());
    call.fill(rank, 0);
    ASSERT_EQ(pkb_program_call(loaded, nullptr, call.inputs, 2, call.outputs, 3), PKB_OK) << pkb_last_error();
    EXPECT_EQ(pkb_context_synchronize(r.context, nullptr), PKB_ERROR_ATEN);
    std::string text = pkb_last_error();
    EXPECT_NE(text.find("step 0 of 'mixed' (m.py:1): operator 'aten::mm'"), std::string::npos) << text;
    EXPECT_NE(text.find("cannot be multiplied"), std::string::npos) << text;
    EXPECT_EQ(pkb_context_synchronize(r.context, nullptr), PKB_OK); // told once
    pkb_program_unload(loaded);
  });
}

TEST(Aten, what_libtorch_does_not_have_is_refused_at_load) {
  auto errorOf = [](const std::string &from, const std::string &to) {
    TempDir dir;
    AllReduce program;
    program.length = 12;
    program.manifest = mixedManifest();
    size_t at = program.manifest.find(from);
    EXPECT_NE(at, std::string::npos);
    program.manifest.replace(at, from.size(), to);
    std::string file = dir.write("p.cu", program.text()), rendezvous = dir.make("meet"), error;
    Machine machine(2);
    onRanks(2, [&](int rank) {
      Rank r(machine, rendezvous, rank, 2);
      ASSERT_EQ(r.status, PKB_OK) << r.error;
      pkb_program *loaded = nullptr;
      EXPECT_EQ(pkb_program_load(r.context, file.c_str(), nullptr, &loaded), PKB_ERROR_ATEN);
      if (rank == 0) {
        error = pkb_last_error();
      }
    });
    return error;
  };
  EXPECT_EQ(errorOf("aten::add", "aten::subtract_nothing"),
            "step 4 (m.py:5): operator 'aten::subtract_nothing.Tensor' is not in this libtorch (2.11.0)");
  EXPECT_NE(errorOf("\"alpha\"", "\"gamma\"")
                .find("operator 'aten::add.Tensor' is given a keyword argument that it does not take"),
            std::string::npos);
  EXPECT_NE(errorOf("{\"is\": [12]}", "{\"s\": \"12\"}")
                .find("operator 'aten::view' argument 'size': argument {\"s\":\"12\"} cannot be given as"),
            std::string::npos);
  EXPECT_NE(errorOf("{\"t\": 5}, {\"t\": 0}", "{\"t\": 5}").find("argument 'other': is not given and has no default"),
            std::string::npos);
}
