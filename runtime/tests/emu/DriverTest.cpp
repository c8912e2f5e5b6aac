// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The driver table as a driver: contexts, memory, streams, events, host functions, graphs, errors.
#include "Ranks.h"

#include <atomic>
#include <chrono>
#include <cstring>
#include <gtest/gtest.h>
#include <thread>
#include <unistd.h>

using namespace pkb_test;

namespace {

pkb_cu_ptr at(const void *p) { return reinterpret_cast<pkb_cu_ptr>(p); }

struct Driver : testing::Test {
  void SetUp() override { make({}); }
  void make(const std::function<void(pkb_emu_options &)> &change) {
    pkb_emu_destroy(emu);
    pkb_emu_options options;
    pkb_emu_default_options(&options);
    options.devices = 3;
    options.no_peer[0] = 1 << 2;
    options.dead = 1 << 1;
    if (change)
      change(options);
    emu = pkb_emu_create(&options, nullptr);
    d = pkb_emu_driver(emu);
    pkb_cu_context context;
    ASSERT_EQ(d->primary_ctx_retain(&context, 0), 0);
    ASSERT_EQ(d->ctx_set_current(context), 0);
  }
  void TearDown() override { pkb_emu_destroy(emu); }
  pkb_emu *emu = nullptr;
  const pkb_driver *d = nullptr;
};

TEST_F(Driver, every_entry_is_filled_and_named) {
  EXPECT_STREQ(d->name, "emulated");
  EXPECT_EQ(d->emulated, 1);
  const void *const *first = reinterpret_cast<const void *const *>(&d->init);
  const void *const *last = reinterpret_cast<const void *const *>(&d->graph_exec_destroy);
  for (const void *const *entry = first; entry <= last; ++entry)
    EXPECT_NE(*entry, nullptr) << entry - first;
  EXPECT_STRNE(d->error_string(719), "");
  EXPECT_NE(d->error_string(123456), nullptr);
}

TEST_F(Driver, devices_and_contexts) {
  int count = 0, value = 0, can = -1;
  EXPECT_EQ(d->init(), 0);
  EXPECT_EQ(d->device_count(&count), 0);
  EXPECT_EQ(count, 3);
  pkb_cu_device device;
  EXPECT_EQ(d->device_get(&device, 3), 101);
  EXPECT_EQ(d->device_attribute(&value, 16, 0), 0);
  EXPECT_EQ(value, 132);
  EXPECT_EQ(d->device_attribute(&value, 75, 0), 0);
  EXPECT_EQ(value, 9);
  EXPECT_EQ(d->can_access_peer(&can, 0, 2), 0);
  EXPECT_EQ(can, 0);
  EXPECT_EQ(d->can_access_peer(&can, 2, 0), 0);
  EXPECT_EQ(can, 1);
  pkb_cu_context context, now;
  EXPECT_EQ(d->primary_ctx_retain(&context, 1), 46); // dead
  EXPECT_EQ(d->primary_ctx_retain(&context, 2), 0);
  EXPECT_EQ(d->ctx_enable_peer_access(context), 217);
  EXPECT_EQ(d->ctx_get_current(&now), 0);
  EXPECT_NE(now, context);
  std::thread other([&] { // the current context is the thread's own
    pkb_cu_context none;
    EXPECT_EQ(d->ctx_get_current(&none), 0);
    EXPECT_EQ(none, nullptr);
    pkb_cu_ptr p;
    EXPECT_EQ(d->mem_alloc(&p, 16), 201);
  });
  other.join();
}

TEST_F(Driver, a_context_of_an_earlier_emulator_is_gone) {
  make({});
  pkb_emu_destroy(emu);
  pkb_emu_options options;
  pkb_emu_default_options(&options);
  emu = pkb_emu_create(&options, nullptr);
  d = pkb_emu_driver(emu);
  pkb_cu_ptr p;
  EXPECT_EQ(d->mem_alloc(&p, 16), 201);
}

TEST_F(Driver, memory_is_poisoned_and_checked) {
  pkb_cu_ptr p;
  ASSERT_EQ(d->mem_alloc(&p, 100), 0);
  EXPECT_EQ(p % 256, 0u);
  EXPECT_EQ(reinterpret_cast<unsigned char *>(p)[99], 0xff);
  EXPECT_EQ(d->mem_alloc(&p, 0), 1);
  EXPECT_EQ(d->mem_free(12345), 1);
  ASSERT_EQ(d->mem_alloc(&p, 100), 0);
  EXPECT_EQ(d->mem_free(p), 0);
  EXPECT_EQ(d->mem_free(p), 1);
  void *host;
  ASSERT_EQ(d->mem_host_alloc(&host, 64, 0), 0);
  pkb_cu_ptr seen;
  EXPECT_EQ(d->mem_host_device_ptr(&seen, host), 0);
  EXPECT_EQ(seen, at(host));
  EXPECT_EQ(d->mem_free(at(host)), 1);
  EXPECT_EQ(d->mem_host_free(host), 0);
}

TEST_F(Driver, shared_memory_by_file_descriptor) {
  pkb_cu_mem_handle handle, imported, bad;
  size_t granularity;
  ASSERT_EQ(d->vmm_granularity(&granularity, 0), 0);
  EXPECT_EQ(d->vmm_create(&handle, granularity + 1, 0), 1);
  ASSERT_EQ(d->vmm_create(&handle, granularity, 0), 0);
  int fd;
  ASSERT_EQ(d->vmm_export_fd(&fd, handle), 0);
  ASSERT_EQ(d->vmm_import_fd(&imported, fd), 0);
  close(fd);
  EXPECT_EQ(d->vmm_import_fd(&bad, 0), 1); // not ours
  EXPECT_EQ(d->vmm_import_fd(&bad, 9999), 1);
  pkb_cu_ptr a, b;
  ASSERT_EQ(d->vmm_map(&a, granularity, handle, 0), 0);
  ASSERT_EQ(d->vmm_map(&b, granularity, imported, 0), 0);
  EXPECT_NE(a, b);
  reinterpret_cast<int *>(a)[5] = 77;
  EXPECT_EQ(reinterpret_cast<int *>(b)[5], 77);
  EXPECT_EQ(d->vmm_release(handle), 0);
  EXPECT_EQ(d->vmm_release(handle), 400);
  EXPECT_EQ(reinterpret_cast<int *>(a)[5], 77); // mapped memory outlives its handle
  EXPECT_EQ(d->vmm_unmap(a, granularity), 0);
  EXPECT_EQ(d->vmm_unmap(a, granularity), 1);
  EXPECT_EQ(reinterpret_cast<int *>(b)[5], 77);
  EXPECT_EQ(d->vmm_export_fd(&fd, handle), 400);
  // Device 0 cannot reach device 2.
  ASSERT_EQ(d->vmm_create(&handle, granularity, 2), 0);
  EXPECT_EQ(d->vmm_map(&a, granularity, handle, 0), 217);
}

// As from another process. What its kernels write passes through no model, so proof mode refuses it.
TEST(Foreign, memory_of_another_emulator_is_shared_in_value_mode) {
  for (int mode : {PKB_EMU_VALUE, PKB_EMU_PROOF}) {
    pkb_emu_options options;
    pkb_emu_default_options(&options);
    options.mode = mode;
    const char *why = "";
    pkb_emu *one = pkb_emu_create(&options, &why), *other = pkb_emu_create(&options, &why);
    const pkb_driver *from = pkb_emu_driver(one), *to = pkb_emu_driver(other);
    size_t bytes = 0;
    pkb_cu_mem_handle handle, imported;
    int fd = -1;
    pkb_cu_ptr a = 0, b = 0;
    ASSERT_EQ(from->vmm_granularity(&bytes, 0), 0);
    ASSERT_EQ(from->vmm_create(&handle, bytes, 0), 0);
    ASSERT_EQ(from->vmm_export_fd(&fd, handle), 0);
    ASSERT_EQ(to->vmm_import_fd(&imported, fd), mode == PKB_EMU_VALUE ? 0 : 1);
    if (mode == PKB_EMU_VALUE) {
      ASSERT_EQ(from->vmm_map(&a, bytes, handle, 0), 0);
      ASSERT_EQ(to->vmm_map(&b, bytes, imported, 0), 0);
      reinterpret_cast<int *>(a)[5] = 77;
      EXPECT_EQ(reinterpret_cast<int *>(b)[5], 77);
      EXPECT_EQ(to->vmm_unmap(b, bytes), 0);
    }
    close(fd);
    pkb_emu_destroy(other);
    pkb_emu_destroy(one);
  }
}

TEST_F(Driver, ipc_handles) {
  pkb_cu_ptr p, opened;
  ASSERT_EQ(d->mem_alloc(&p, 4096), 0);
  pkb_cu_ipc_handle handle;
  ASSERT_EQ(d->ipc_get(&handle, p + 128), 0);
  ASSERT_EQ(d->ipc_open(&opened, handle), 0);
  EXPECT_EQ(opened, p); // the base, as in CUDA
  EXPECT_EQ(d->ipc_close(opened), 0);
  memset(&handle, 0, sizeof(handle));
  EXPECT_EQ(d->ipc_open(&opened, handle), 1);
}

TEST_F(Driver, streams_keep_order_and_events_join_them) {
  pkb_cu_stream a, b;
  pkb_cu_event event;
  ASSERT_EQ(d->stream_create(&a, 1), 0);
  ASSERT_EQ(d->stream_create(&b, 1), 0);
  ASSERT_EQ(d->event_create(&event, 0), 0);
  std::atomic<int> gate{0};
  std::vector<int> order;
  struct Step {
    std::vector<int> *order;
    int value;
    std::atomic<int> *gate;
  };
  Step slow{&order, 1, &gate}, quick{&order, 2, nullptr};
  auto call = [](void *user) {
    Step &step = *static_cast<Step *>(user);
    while (step.gate && !*step.gate)
      std::this_thread::yield();
    step.order->push_back(step.value);
  };
  ASSERT_EQ(d->launch_host_func(a, call, &slow), 0);
  ASSERT_EQ(d->event_record(event, a), 0);
  EXPECT_EQ(d->event_query(event), 600);
  ASSERT_EQ(d->stream_wait_event(b, event), 0);
  ASSERT_EQ(d->launch_host_func(b, call, &quick), 0);
  EXPECT_EQ(d->stream_query(b), 600);
  gate = 1;
  EXPECT_EQ(d->stream_synchronize(b), 0);
  EXPECT_EQ(order, (std::vector<int>{1, 2}));
  EXPECT_EQ(d->event_synchronize(event), 0);
  float ms;
  EXPECT_EQ(d->event_elapsed_ms(&ms, event, event), 0);
  EXPECT_EQ(ms, 0);
  EXPECT_EQ(d->event_destroy(event), 0);
  EXPECT_EQ(d->event_record(event, a), 400);
  EXPECT_EQ(d->stream_destroy(a), 0);
  EXPECT_EQ(d->stream_destroy(a), 400);
  EXPECT_EQ(d->launch_host_func(b, nullptr, nullptr), 1);
}

// Host functions of two streams may wait for each other, as ranks do in a rendezvous.
TEST_F(Driver, host_functions_of_two_streams_run_at_once) {
  pkb_cu_stream a, b;
  ASSERT_EQ(d->stream_create(&a, 1), 0);
  ASSERT_EQ(d->stream_create(&b, 1), 0);
  std::atomic<int> met{0};
  auto meet = [](void *user) {
    auto &count = *static_cast<std::atomic<int> *>(user);
    ++count;
    while (count < 2)
      std::this_thread::yield();
  };
  ASSERT_EQ(d->launch_host_func(a, meet, &met), 0);
  ASSERT_EQ(d->launch_host_func(b, meet, &met), 0);
  EXPECT_EQ(d->stream_synchronize(a), 0);
  EXPECT_EQ(d->stream_synchronize(b), 0);
}

// The legacy default stream waits for blocking streams and they for it; a non-blocking stream does neither.
TEST_F(Driver, the_default_stream_joins_blocking_streams) {
  pkb_cu_stream blocking, free;
  ASSERT_EQ(d->stream_create(&blocking, 0), 0);
  ASSERT_EQ(d->stream_create(&free, 1), 0);
  std::atomic<int> gate{0};
  auto wait = [](void *user) {
    while (!*static_cast<std::atomic<int> *>(user))
      std::this_thread::yield();
  };
  int host[3] = {1, 2, 3};
  ASSERT_EQ(d->launch_host_func(blocking, wait, &gate), 0);
  ASSERT_EQ(d->memcpy_async(at(&host[0]), at(&host[1]), 4, nullptr), 0);
  ASSERT_EQ(d->memcpy_async(at(&host[1]), at(&host[2]), 4, free), 0);
  EXPECT_EQ(d->stream_synchronize(free), 0);
  EXPECT_EQ(host[1], 3);
  EXPECT_EQ(d->stream_query(nullptr), 600);
  gate = 1;
  EXPECT_EQ(d->stream_synchronize(nullptr), 0);
  EXPECT_EQ(host[0], 3);
}

// Two streams in one capture, forked and joined by events, replayed twice on changing contents.
TEST_F(Driver, graphs_replay_forked_streams) {
  pkb_cu_stream a, b;
  pkb_cu_event fork, join;
  ASSERT_EQ(d->stream_create(&a, 1), 0);
  ASSERT_EQ(d->stream_create(&b, 1), 0);
  ASSERT_EQ(d->event_create(&fork, 0), 0);
  ASSERT_EQ(d->event_create(&join, 0), 0);
  int host[4] = {1, 0, 0, 0};
  ASSERT_EQ(d->capture_begin(a), 0);
  EXPECT_EQ(d->capture_begin(a), 900);
  ASSERT_EQ(d->memcpy_async(at(&host[1]), at(&host[0]), 4, a), 0);
  ASSERT_EQ(d->event_record(fork, a), 0);
  ASSERT_EQ(d->stream_wait_event(b, fork), 0);
  ASSERT_EQ(d->memcpy_async(at(&host[2]), at(&host[1]), 4, b), 0);
  ASSERT_EQ(d->event_record(join, b), 0);
  ASSERT_EQ(d->stream_wait_event(a, join), 0);
  ASSERT_EQ(d->memcpy_async(at(&host[3]), at(&host[2]), 4, a), 0);
  pkb_cu_graph graph;
  pkb_cu_graph_exec exec;
  ASSERT_EQ(d->capture_end(a, &graph), 0);
  int capturing = 1;
  EXPECT_EQ(d->stream_is_capturing(b, &capturing), 0);
  EXPECT_EQ(capturing, 0);
  ASSERT_EQ(d->graph_instantiate(&exec, graph), 0);
  ASSERT_EQ(d->graph_destroy(graph), 0);
  EXPECT_EQ(d->graph_destroy(graph), 400);
  EXPECT_EQ(host[3], 0);
  for (int round : {5, 6}) {
    host[0] = round;
    ASSERT_EQ(d->graph_launch(exec, a), 0);
    EXPECT_EQ(d->stream_synchronize(a), 0);
    EXPECT_EQ(host[3], round);
  }
  EXPECT_EQ(d->graph_exec_destroy(exec), 0);
  EXPECT_EQ(d->graph_launch(exec, a), 400);
}

// What was enqueued before a capture is still waited for after it.
TEST_F(Driver, work_before_a_capture_is_not_forgotten) {
  pkb_cu_stream a;
  pkb_cu_graph graph;
  std::atomic<int> gate{0};
  ASSERT_EQ(d->stream_create(&a, 1), 0);
  ASSERT_EQ(d->launch_host_func(a, [](void *user) {
    while (!*static_cast<std::atomic<int> *>(user))
      std::this_thread::yield();
  }, &gate), 0);
  ASSERT_EQ(d->capture_begin(a), 0);
  ASSERT_EQ(d->capture_end(a, &graph), 0);
  EXPECT_EQ(d->stream_query(a), 600);
  gate = 1;
  EXPECT_EQ(d->stream_synchronize(a), 0);
}

TEST_F(Driver, synchronising_a_capturing_stream_breaks_the_capture) {
  pkb_cu_stream a;
  pkb_cu_graph graph;
  ASSERT_EQ(d->stream_create(&a, 1), 0);
  ASSERT_EQ(d->capture_begin(a), 0);
  EXPECT_EQ(d->stream_synchronize(a), 900);
  EXPECT_EQ(d->capture_end(a, &graph), 901);
  int capturing = 1;
  EXPECT_EQ(d->stream_is_capturing(a, &capturing), 0);
  EXPECT_EQ(capturing, 0);
}

TEST_F(Driver, modules_and_launches_are_checked) {
  pkb_cu_module module;
  const std::string programs = PKB_TEST_PROGRAMS;
  EXPECT_EQ(d->module_load(&module, "/nonexistent.so", 0), 301);
  EXPECT_EQ(d->module_load(&module, "libc.so.6", 0), 200);
  EXPECT_EQ(d->module_load(&module, (programs + "/old.so").c_str(), 0), 200); // made for another table of hooks
  ASSERT_EQ(d->module_load(&module, (programs + "/faults.so").c_str(), 0), 0);
  pkb_cu_function function;
  EXPECT_EQ(d->module_function(&function, module, "no_such_kernel"), 500);
  ASSERT_EQ(d->module_function(&function, module, "two_writers_0"), 0);
  int blocks = 0;
  EXPECT_EQ(d->function_occupancy(&blocks, function, 512, 0), 0);
  EXPECT_EQ(blocks, 1);
  EXPECT_EQ(d->launch(function, 0, 32, 0, nullptr, nullptr, 0), 1);
  EXPECT_EQ(d->launch(function, 1, 2000, 0, nullptr, nullptr, 0), 1);
  EXPECT_EQ(d->launch(nullptr, 1, 32, 0, nullptr, nullptr, 0), 1);
  EXPECT_EQ(d->memcpy_async(0, 0, 16, nullptr), 1);
  EXPECT_EQ(d->module_unload(module), 0);
  EXPECT_EQ(d->module_unload(module), 400);
}

// Two emulators in one process share nothing.
TEST_F(Driver, emulators_are_apart) {
  Ranks one(2, "all_reduce_ldst_2"), two(2, "all_reduce_ldst_2", [](pkb_emu_options &o) { o.mode = PKB_EMU_PROOF; });
  std::thread other([&] { EXPECT_EQ(runCollective(one, "all_reduce", 5003, 3, 3), 0); });
  EXPECT_EQ(runCollective(two, "all_reduce", 5003, 3, 3), 0);
  other.join();
  EXPECT_EQ(one.counts().launches, 6u);
  EXPECT_EQ(two.counts().launches, 6u);
}

} // namespace
