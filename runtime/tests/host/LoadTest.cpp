// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Making contexts and loading programs on emulated ranks: what is wrong is told in one line on every rank, and nobody
// hangs.
#include "HostTest.h"
#include "Sha256.h"

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <limits>
#include <sstream>
#include <sys/stat.h>

using namespace pkb_test;

namespace {

/// Sets a variable of the environment for the time of a test.
class Setting {
public:
  Setting(const char *name, const char *value) : name(name) { setenv(name, value, 1); }
  ~Setting() { unsetenv(name); }

private:
  const char *name;
};

#define EXPECT_SAYS(text, part) EXPECT_NE(std::string(text).find(part), std::string::npos) << text

/// The errors of two ranks that load `files[rank]`.
std::vector<std::string> loadErrors(const Machine &machine, const TempDir &dir, const std::vector<std::string> &files,
                                    pkb_status expected) {
  int size = int(files.size());
  std::vector<std::string> errors(files.size());
  std::string rendezvous = dir.make("meet");
  onRanks(size, [&](int rank) {
    Rank r(machine, rendezvous, rank, size);
    ASSERT_EQ(r.status, PKB_OK) << r.error;
    pkb_program *loaded = nullptr;
    EXPECT_EQ(pkb_program_load(r.context, files[size_t(rank)].c_str(), nullptr, &loaded), expected);
    EXPECT_EQ(loaded, nullptr);
    errors[size_t(rank)] = pkb_last_error();
  });
  return errors;
}

std::string loadError(const AllReduce &program, pkb_status expected,
                      const std::function<void(pkb_emu_options &)> &change = {}) {
  TempDir dir;
  Machine machine(2, change);
  std::string file = dir.write("p.cu", program.text());
  auto errors = loadErrors(machine, dir, {file, file}, expected);
  return errors[0];
}

/// The error of making contexts; `change` alters the description of a rank.
std::vector<std::string> contextErrors(const Machine &machine, int size, pkb_status expected,
                                       const std::function<void(pkb_context_desc &)> &change) {
  TempDir dir;
  std::string rendezvous = dir.make("meet");
  std::vector<std::string> errors(static_cast<size_t>(size));
  onRanks(size, [&](int rank) {
    pkb_context_desc desc = {};
    desc.abi_version = PKB_ABI_VERSION;
    desc.rank = rank;
    desc.world_size = size;
    desc.device = rank;
    desc.driver = machine.driver();
    desc.rendezvous = rendezvous.c_str();
    desc.arena_bytes = 32 << 20;
    desc.timeout_s = 5;
    change(desc);
    pkb_context *context = nullptr;
    EXPECT_EQ(pkb_context_create(&desc, &context), expected) << pkb_last_error();
    errors[size_t(rank)] = expected == PKB_OK ? "" : pkb_last_error();
    pkb_context_destroy(context);
  });
  return errors;
}

/// One call gives the right sums.
void expectWorks(pkb_context *context, pkb_program *loaded, const pkb_driver *driver, int rank) {
  Floats in(driver, 1000), out(driver, 1000);
  for (size_t i = 0; i < 1000; ++i) {
    in.data()[i] = float(int(i) * (rank + 1));
  }
  pkb_tensor input = in.tensor(), output = out.tensor();
  ASSERT_EQ(pkb_program_call(loaded, nullptr, &input, 1, &output, 1), PKB_OK) << pkb_last_error();
  ASSERT_EQ(pkb_context_synchronize(context, nullptr), PKB_OK) << pkb_last_error();
  for (size_t i = 0; i < 1000; ++i) {
    ASSERT_EQ(out.data()[i], float(int(i) * 3)) << "element " << i;
  }
}

void loadAndCall(const Machine &machine, const std::function<const pkb_driver *(int)> &driverOf) {
  TempDir dir;
  AllReduce program;
  std::string file = dir.write("p.cu", program.text()), rendezvous = dir.make("meet");
  onRanks(2, [&](int rank) {
    pkb_context_desc desc = {};
    desc.abi_version = PKB_ABI_VERSION;
    desc.rank = desc.device = rank;
    desc.world_size = 2;
    desc.driver = driverOf(rank);
    desc.rendezvous = rendezvous.c_str();
    desc.arena_bytes = 32 << 20;
    pkb_context *context = nullptr;
    ASSERT_EQ(pkb_context_create(&desc, &context), PKB_OK) << pkb_last_error();
    pkb_program *loaded = nullptr;
    ASSERT_EQ(pkb_program_load(context, file.c_str(), nullptr, &loaded), PKB_OK) << pkb_last_error();
    expectWorks(context, loaded, machine.driver(), rank);
    pkb_program_unload(loaded);
    pkb_context_destroy(context);
  });
}

} // namespace

TEST(Load, ranks_that_load_different_programs_are_named) {
  TempDir dir;
  Machine machine(3);
  AllReduce one, two;
  one.ranks = two.ranks = 3;
  two.name = "other";
  std::string a = dir.write("a.cu", one.text()), b = dir.write("b.cu", two.text());
  for (const std::string &error : loadErrors(machine, dir, {a, b, a}, PKB_ERROR_BOOTSTRAP)) {
    EXPECT_SAYS(error, "the ranks load different programs:");
    EXPECT_SAYS(error, "rank(s) 0, 2 'all_reduce'");
    EXPECT_SAYS(error, "rank(s) 1 'other'");
  }
}

TEST(Load, a_file_that_one_rank_cannot_read_is_told_on_all) {
  TempDir dir;
  Machine machine(2);
  std::string file = dir.write("p.cu", AllReduce().text());
  auto errors = loadErrors(machine, dir, {file, dir.path + "/none.cu"}, PKB_ERROR_PROGRAM);
  EXPECT_EQ(errors[1], "cannot read '" + dir.path + "/none.cu': No such file or directory");
  EXPECT_EQ(errors[0], "rank 1: " + errors[1]);
  errors = loadErrors(machine, dir, {dir.path, file}, PKB_ERROR_PROGRAM);
  EXPECT_SAYS(errors[0], "it is a directory, not a file");
}

TEST(Load, what_is_no_file_is_refused_without_waiting_for_it) {
  TempDir dir;
  Machine machine(2);
  std::string pipe = dir.path + "/pipe", named = dir.path + "/pipe.pkx";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  ASSERT_EQ(mkfifo(named.c_str(), 0600), 0);
  std::string folder = dir.make("folder");
  for (auto &[path, kind] : {std::pair(pipe, "a pipe"), std::pair(named, "a pipe"), std::pair(folder, "a directory"), std::pair(std::string("/dev/zero"), "a device")}) {
    for (const std::string &error : loadErrors(machine, dir, {path, path}, PKB_ERROR_PROGRAM)) {
      EXPECT_SAYS(error, "cannot read '" + path + "': it is " + kind + ", not a file");
    }
  }
}

TEST(Load, another_world_size_or_arena_is_refused) {
  AllReduce program;
  program.ranks = 4;
  EXPECT_SAYS(loadError(program, PKB_ERROR_PROGRAM), "was compiled for 4 ranks, but there are 2; start 4 ranks");
  program = {};
  program.regionBytes = 64 << 20;
  EXPECT_SAYS(loadError(program, PKB_ERROR_PROGRAM),
              "needs an arena of 67108864 bytes, this context has 33554432; set PKB_ARENA_MIB=64");
}

TEST(Load, a_grid_that_is_not_resident_is_refused) {
  AllReduce program;
  program.blocks = 8;
  std::string error = loadError(program, PKB_ERROR_PROGRAM, [](pkb_emu_options &options) { options.sms = 4; });
  EXPECT_SAYS(error, "kernel 'all_reduce_0' needs 8 blocks of 128 threads at the same time, but device 0");
  EXPECT_SAYS(error, "holds 4; compile the program for this machine");
}

TEST(Load, text_that_does_not_compile_shows_the_compilers_lines) {
  TempDir dir;
  Machine machine(2);
  std::string text = AllReduce().text();
  text.replace(text.find("pkb::epoch_begin"), 16, "pkb::epoch_bogus");
  std::string file = dir.write("p.cu", text);
  auto errors = loadErrors(machine, dir, {file, file}, PKB_ERROR_PROGRAM);
  EXPECT_SAYS(errors[0], "does not compile with");
  EXPECT_SAYS(errors[0], "epoch_bogus");
}

TEST(Load, constants_come_from_the_data_file) {
  TempDir dir;
  Machine machine(2);
  // The kernel sums a constant instead of its argument: 8 bytes into the data file.
  std::vector<float> values(1002);
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = float(i);
  }
  std::string data(reinterpret_cast<char *>(values.data()), values.size() * sizeof(float));
  std::string text = AllReduce().text();
  auto replace = [&](const std::string &from, const std::string &to) {
    size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
  };
  replace("\"data\": null", "\"data\": \"" + pkb_rt::sha256Hex(data) + "\"");
  replace("\"pointers\": [{\"slot\": 0,", "\"pointers\": [{\"slot\": 2,");
  replace("\"slots\": [", "\"slots\": [{\"id\": 2, \"kind\": \"constant\", \"offset\": 8, \"dtype\": \"float32\", "
                          "\"sizes\": [1000], \"strides\": [1]}, ");
  std::string file = dir.write("p.cu", text), rendezvous = dir.make("meet");
  dir.write("p.cu.data", data);
  onRanks(2, [&](int rank) {
    Rank r(machine, rendezvous, rank, 2);
    ASSERT_EQ(r.status, PKB_OK) << r.error;
    pkb_program *loaded = nullptr;
    ASSERT_EQ(pkb_program_load(r.context, file.c_str(), nullptr, &loaded), PKB_OK) << pkb_last_error();
    Floats in(machine.driver(), 1000), out(machine.driver(), 1000);
    pkb_tensor input = in.tensor(), output = out.tensor();
    ASSERT_EQ(pkb_program_call(loaded, nullptr, &input, 1, &output, 1), PKB_OK) << pkb_last_error();
    ASSERT_EQ(pkb_context_synchronize(r.context, nullptr), PKB_OK) << pkb_last_error();
    EXPECT_EQ(out.data()[0], 4.0f);
    EXPECT_EQ(out.data()[999], 2002.0f);
    pkb_program_unload(loaded);
  });
  data[17] ^= 1;
  dir.write("p.cu.data", data);
  auto errors = loadErrors(machine, dir, {file, file}, PKB_ERROR_PROGRAM);
  EXPECT_SAYS(errors[0], ".data' does not belong to the program");
  ASSERT_EQ(unlink((file + ".data").c_str()), 0);
  errors = loadErrors(machine, dir, {file, file}, PKB_ERROR_PROGRAM);
  EXPECT_SAYS(errors[0], "cannot read");
}

TEST(Context, descriptions_are_checked) {
  Machine machine(2);
  EXPECT_SAYS(contextErrors(machine, 1, PKB_ERROR_ARGUMENT, [](pkb_context_desc &d) { d.abi_version = 99; })[0],
              "was built against version 99 of pkb.h");
  EXPECT_SAYS(contextErrors(machine, 1, PKB_ERROR_ARGUMENT, [](pkb_context_desc &d) { d.rank = 5; })[0],
              "rank 5 of 1 is no rank");
  EXPECT_SAYS(contextErrors(machine, 2, PKB_ERROR_ARGUMENT, [](pkb_context_desc &d) { d.rendezvous = nullptr; })[0],
              "rendezvous must name a directory");
  EXPECT_SAYS(contextErrors(machine, 1, PKB_ERROR_ARGUMENT, [](pkb_context_desc &d) { d.arena_bytes = 1 << 20; })[0],
              "too small for 1 ranks");
  Setting mib("PKB_ARENA_MIB", "lots");
  EXPECT_SAYS(contextErrors(machine, 1, PKB_ERROR_ARGUMENT, [](pkb_context_desc &d) { d.arena_bytes = 0; })[0],
              "PKB_ARENA_MIB must be a number of at least 1 and at most 1.07374e+09, got: 'lots'");
  Setting more("PKB_ARENA_MIB", "1e30");
  EXPECT_SAYS(contextErrors(machine, 1, PKB_ERROR_ARGUMENT, [](pkb_context_desc &d) { d.arena_bytes = 0; })[0], "got: '1e30'");
  Setting way("PKB_ARENA", "zzz");
  EXPECT_SAYS(contextErrors(machine, 1, PKB_ERROR_ARGUMENT, [](pkb_context_desc &d) { d.arena_bytes = 64 << 20; })[0],
              "PKB_ARENA must be vmm or ipc, got: 'zzz'");
}

TEST(Context, the_default_time_limit_is_that_of_the_environment) {
  for (auto [text, seconds] : {std::pair("", 600.0), std::pair("0x10", 16.0), std::pair("2.5", 2.5)}) {
    Setting limit("PKB_TIMEOUT_S", text);
    double found = 0;
    EXPECT_EQ(pkb_default_timeout(&found), PKB_OK) << pkb_last_error();
    EXPECT_EQ(found, seconds);
  }
  for (const char *text : {"abc", "nan", "1e999", "-1"}) {
    Setting limit("PKB_TIMEOUT_S", text);
    double found = 0;
    EXPECT_EQ(pkb_default_timeout(&found), PKB_ERROR_ARGUMENT);
    EXPECT_SAYS(pkb_last_error(), std::string("PKB_TIMEOUT_S must be a number of at least 0.001 and at most 1e+09, got: '") + text + "'");
  }
  EXPECT_EQ(pkb_default_timeout(nullptr), PKB_ERROR_ARGUMENT);
}

TEST(Context, timeouts_and_arenas_that_are_none_are_refused) {
  Machine machine(1);
  constexpr double infinity = std::numeric_limits<double>::infinity();
  for (auto [timeout, shown] : {std::pair(-1.0, "-1"), std::pair(std::nan(""), "nan"), std::pair(infinity, "inf"), std::pair(1e308, "1e+308")}) {
    EXPECT_SAYS(contextErrors(machine, 1, PKB_ERROR_ARGUMENT, [&, timeout = timeout](pkb_context_desc &d) { d.timeout_s = timeout; })[0],
                std::string("timeout_s must be a number of seconds of at most 1e+09, or 0 for the default, got: ") + shown);
  }
  EXPECT_SAYS(contextErrors(machine, 1, PKB_ERROR_ARGUMENT, [](pkb_context_desc &d) { d.arena_bytes = -5; })[0],
              "arena_bytes must be positive, or 0 for the default, got: -5");
  Setting forEver("PKB_TIMEOUT_S", "1e300");
  EXPECT_SAYS(contextErrors(machine, 1, PKB_ERROR_ARGUMENT, [](pkb_context_desc &d) { d.timeout_s = 0; })[0],
              "PKB_TIMEOUT_S must be a number of at least 0.001 and at most 1e+09, got: '1e300'");
}

TEST(Context, too_few_devices_are_told_on_all_ranks) {
  Machine machine(2);
  auto errors = contextErrors(machine, 3, PKB_ERROR_DEVICE, [](pkb_context_desc &) {});
  EXPECT_SAYS(errors[2], "rank 2 asks for device 2, but there are 2 (emulated); start at most one rank per device");
  EXPECT_SAYS(errors[0], "rank 2: rank 2 asks for device 2");
}

TEST(Context, two_ranks_on_one_device_are_refused) {
  Machine machine(2);
  for (const std::string &error :
       contextErrors(machine, 2, PKB_ERROR_DEVICE, [](pkb_context_desc &d) { d.device = 0; })) {
    EXPECT_SAYS(error, "ranks 0 and 1 both use device 0; give each rank its own");
  }
}

TEST(Context, devices_without_peer_access_are_refused) {
  Machine machine(2, [](pkb_emu_options &options) { options.no_peer[1] = 1; });
  auto errors = contextErrors(machine, 2, PKB_ERROR_DEVICE, [](pkb_context_desc &) {});
  EXPECT_SAYS(errors[1],
              "device 1 (rank 1) has no peer access to device 0 (rank 0); use devices that are joined by NVLink");
  EXPECT_SAYS(errors[0], "rank 1: device 1 (rank 1) has no peer access");
}

TEST(Context, ranks_with_other_settings_are_refused) {
  Machine machine(2);
  for (const std::string &error :
       contextErrors(machine, 2, PKB_ERROR_DEVICE, [](pkb_context_desc &d) { d.arena_bytes <<= d.rank; })) {
    EXPECT_SAYS(error, "was started with another arena size or debug setting");
  }
}

TEST(Context, a_device_that_is_gone_is_told) {
  Machine machine(2, [](pkb_emu_options &options) { options.dead = 2; });
  auto errors = contextErrors(machine, 2, PKB_ERROR_DEVICE, [](pkb_context_desc &) {});
  EXPECT_SAYS(errors[1], "failed: ");
  EXPECT_SAYS(errors[0], "rank 1: ");
}

TEST(Arena, works_over_ipc_handles_too) {
  Setting way("PKB_ARENA", "ipc");
  Machine machine(2);
  loadAndCall(machine, [&](int) { return machine.driver(); });
}

TEST(Arena, one_rank_that_cannot_export_takes_all_to_ipc) {
  Machine machine(2);
  static int ipcOpened;
  ipcOpened = 0;
  static int (*realOpen)(pkb_cu_ptr *, pkb_cu_ipc_handle);
  realOpen = machine.driver()->ipc_open;
  pkb_driver tables[2] = {*machine.driver(), *machine.driver()};
  tables[1].vmm_export_fd = [](int *, pkb_cu_mem_handle) { return 801; }; // not supported
  for (pkb_driver &table : tables) {
    table.ipc_open = [](pkb_cu_ptr *pointer, pkb_cu_ipc_handle handle) {
      return __atomic_add_fetch(&ipcOpened, 1, __ATOMIC_RELAXED), realOpen(pointer, handle);
    };
  }
  loadAndCall(machine, [&](int rank) { return &tables[rank]; });
  EXPECT_EQ(ipcOpened, 4); // two channels, one peer each, on two ranks
  Setting way("PKB_ARENA", "vmm");
  TempDir dir;
  std::string rendezvous = dir.make("meet");
  for (const std::string &error :
       contextErrors(machine, 2, PKB_ERROR_DEVICE, [&](pkb_context_desc &d) { d.driver = &tables[d.rank]; })) {
    EXPECT_SAYS(error, "PKB_ARENA=vmm, but rank 1 cannot export memory as a file descriptor");
  }
}
