// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// pkb-faults: injects the faults that the run time knows on the fake driver, with a process per rank, and prints a table: what was injected, how many
// seconds until rank 0 knew, and what it was told. Exit status 1 if a fault was not reported in time, or not by name.
#include "RankProcess.h"

#include <fstream>
#include <iterator>

using namespace pkb_test;

namespace {

struct Fault {
  const char *name;
  int status;           // expected on rank 0
  const char *expected; // part of the message; "" if there is to be none
  double limit;         // seconds
  int size;
  std::function<Told(RankProcess &)> body;
};

std::string readAll(const std::string &path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::string artefactOf(const TempDir &dir, const std::string &name, const AllReduce &program) {
  std::string text = program.text(), path = dir.path + "/" + name;
  pkb_artefact_desc desc = {};
  desc.text = text.data();
  desc.text_bytes = text.size();
  if (pkb_artefact_write(&desc, path.c_str()) != PKB_OK) {
    std::fprintf(stderr, "pkb-faults: error: %s\n", pkb_last_error());
    std::exit(2);
  }
  return path;
}

/// Loads a program, and hands on what is said.
std::function<Told(RankProcess &)> loads(const std::string &path, const std::function<void(RankProcess &)> &prepare = {}) {
  return [=](RankProcess &r) -> Told {
    if (prepare) {
      prepare(r);
    }
    if (pkb_status status = r.open()) {
      return status;
    }
    Told told = r.load(path);
    if (told.status == PKB_OK) {
      told.text = pkb_program_notes(r.program);
    }
    return told;
  };
}

std::vector<Fault> faultsOfCalls(const std::string &path, const std::string &otherPath) {
  return {
      {"a peer is killed in the middle of a call", PKB_ERROR_PEER_LOST, "rank 1 is gone (its socket was closed) while the program was running", 5, 2,
       [=](RankProcess &r) -> Told {
         r.ready(path);
         if (r.rank == 1) {
           sleepFor(0.3);
           raise(SIGKILL);
         }
         return r.call();
       }},
      {"a rank never calls (PKB_TIMEOUT_S = 2)", PKB_ERROR_PEER_LOST,
       "rank 0: a call has not ended within 2 s (PKB_TIMEOUT_S): call 2 on its channel; flags of block 0: rank 1 has signalled call 1", 4, 2,
       [=](RankProcess &r) -> Told {
         r.timeout = 2;
         r.ready(path);
         if (r.rank == 1) {
           sleepFor(kHang);
         }
         return r.call();
       }},
      {"a rank is 3 s late (PKB_TIMEOUT_S = 20)", PKB_OK, "", 5, 2,
       [=](RankProcess &r) -> Told {
         r.ready(path);
         if (r.rank == 1) {
           sleepFor(3);
         }
         return r.call();
       }},
      {"a peer's device dies", PKB_ERROR_PEER_LOST, "rank 1 has left: launch of kernel 'all_reduce_0' (model.py:8) failed: ", 5, 2,
       [=](RankProcess &r) -> Told {
         r.ready(path);
         Call call(r);
         if (r.rank == 1) {
           sleepFor(0.3);
           pkb_emu_kill_device(r.emu, 1);
         }
         return call.run();
       }},
      {"the own device dies", PKB_ERROR_DEVICE, "launch of kernel 'all_reduce_0' (model.py:8) failed: ", 5, 2,
       [=](RankProcess &r) -> Told {
         r.ready(path);
         Call call(r);
         if (r.rank == 0) {
           pkb_emu_kill_device(r.emu, 0);
         }
         return call.run();
       }},
      {"a peer leaves with an error of its own", PKB_ERROR_PEER_LOST, "rank 1 has left: ValueError: from the user's function", 5, 2,
       [=](RankProcess &r) -> Told {
         r.ready(path);
         if (r.rank == 1) {
           sleepFor(0.3);
           pkb_context_abort(r.context, "ValueError: from the user's function");
           sleepFor(kHang);
         }
         return r.call();
       }},
      {"another rank's arguments do not fit", PKB_ERROR_PEER_LOST, "rank 1 refused call 2, which rank 0 accepted: input 0 of 'all_reduce' must have sizes [1000], got: [999]", 5,
       2,
       [=](RankProcess &r) -> Told {
         r.ready(path);
         return r.call(r.rank ? 999 : 1000);
       }},
      {"no rank's arguments fit", PKB_ERROR_GUARD, "input 0 of 'all_reduce' must have sizes [1000], got: [999]", 1, 2,
       [=](RankProcess &r) -> Told {
         r.ready(path);
         return r.call(999);
       }},
      {"a capture on a stream for which nothing is left", PKB_ERROR_ARGUMENT, "call the program once on this stream before the capture", 1, 2,
       [=](RankProcess &r) -> Told {
         r.ready(path);
         pkb_cu_stream second = nullptr, third = nullptr;
         r.table.stream_create(&second, 1);
         r.table.stream_create(&third, 1);
         if (r.call(1000, second) != PKB_OK) {
           return PKB_ERROR_INTERNAL;
         }
         r.start();
         r.table.capture_begin(third);
         return r.call(1000, third);
       }},
      {"two programs in another order on another rank's stream", PKB_ERROR_PEER_LOST, " on a stream that is stream 0 of ranks 0, 1, where rank ", 5, 2,
       [=](RankProcess &r) -> Told {
         pkb_program *programs[2] = {};
         if (r.open() != PKB_OK) {
           return PKB_ERROR_INTERNAL;
         }
         for (int i = 0; i < 2; ++i) {
           if (r.load(i ? otherPath : path) != PKB_OK) {
             return PKB_ERROR_INTERNAL;
           }
           programs[i] = r.program;
         }
         r.start();
         Told told;
         for (int i = 0; i < 2 && told.text.empty(); ++i) {
           r.program = programs[i ^ r.rank];
           told = r.call();
         }
         return told;
       }},
      {"a call in a forked child", PKB_ERROR_ARGUMENT, "this process is a forked child of the one that made the context", 1, 2,
       [=](RankProcess &r) -> Told {
         r.ready(path);
         int ends[2];
         char text[1000] = {};
         if (r.rank == 0 && pipe(ends) == 0) {
           if (fork() == 0) {
             pkb_tensor tensor = {};
             int status = pkb_program_call(r.program, nullptr, &tensor, 1, &tensor, 1);
             dprintf(ends[1], "%d %s", status, pkb_last_error());
             pkb_program_unload(r.program);
             pkb_context_destroy(r.context);
             std::_Exit(0);
           }
           wait(nullptr);
           if (read(ends[0], text, sizeof(text) - 1) < 0) {
             std::perror("read");
           }
         }
         Told told = r.call(); // the parents go on
         if (told.status == PKB_OK) {
           char *message = text;
           told.status = int(std::strtol(text, &message, 10));
           told.text = message;
         }
         return told;
       }},
      {"a call from a thread without a CUDA context", PKB_OK, "", 1, 2,
       [=](RankProcess &r) -> Told {
         r.ready(path);
         Call call(r);
         Told told;
         std::thread([&] { told = call.run(); }).join();
         return told;
       }},
  };
}

std::vector<Fault> faultsOfContexts(const std::string &path) {
  return {
      {"a rank never comes (PKB_TIMEOUT_S = 2)", PKB_ERROR_BOOTSTRAP, "rank", 4, 2,
       [=](RankProcess &r) -> Told {
         r.timeout = 2;
         if (r.rank == 1) {
           sleepFor(kHang);
         }
         return r.open();
       }},
      {"no memory for the arena on another rank", PKB_ERROR_DEVICE, "rank 1 has no memory to share", 2, 2,
       loads(path,
             [](RankProcess &r) {
               if (r.rank == 1) {
                 r.change = [](pkb_driver &table) {
                   table.vmm_create = [](pkb_cu_mem_handle *, size_t, int) { return 2; };
                   table.mem_alloc = [](pkb_cu_ptr *, size_t) { return 2; };
                 };
               }
             })},
      {"a program that needs a larger arena", PKB_ERROR_PROGRAM, "set PKB_ARENA_MIB=64 on all ranks", 2, 2, {}},
      {"no peer access between the devices", PKB_ERROR_DEVICE, "has no peer access to device", 2, 2,
       loads(path, [](RankProcess &r) { r.options.no_peer[0] = 2, r.options.no_peer[1] = 1; })},
      {"mapping a peer's memory fails (CUDA_ERROR_PEER_ACCESS_UNSUPPORTED)", PKB_ERROR_DEVICE, "(217)", 2, 2,
       loads(path,
             [](RankProcess &r) {
               static pkb_cu_result (*map)(pkb_cu_ptr *, size_t, pkb_cu_mem_handle, int);
               static int maps;
               r.change = [](pkb_driver &table) {
                 map = table.vmm_map;
                 table.vmm_map = [](pkb_cu_ptr *out, size_t bytes, pkb_cu_mem_handle handle, int from) {
                   return ++maps % 2 == 0 ? 217 : map(out, bytes, handle, from); // the own piece comes first
                 };
               };
             })},
      {"pkb.h of another version", PKB_ERROR_ARGUMENT, "was built against version 9 of pkb.h", 1, 1, loads(path, [](RankProcess &r) { r.abi = 9; })},
  };
}

std::vector<Fault> faultsOfArtefacts(const TempDir &dir, const std::string &path, const std::string &otherPath) {
  AllReduce three;
  three.ranks = 3;
  std::string threePath = artefactOf(dir, "three.pkx", three), whole = readAll(path), edited = whole;
  edited.replace(edited.find("pkb::epoch_end"), 14, "pkb::epoch_END");
  std::string cut = dir.write("cut.pkx", whole.substr(0, whole.size() / 2)), changed = dir.write("edited.pkx", edited);
  return {
      {"the ranks load different artefacts", PKB_ERROR_BOOTSTRAP, "the ranks load different programs: ", 2, 2,
       [=](RankProcess &r) { return loads(r.rank ? otherPath : path)(r); }},
      {"one rank cannot read the artefact", PKB_ERROR_PROGRAM, "rank 1: cannot read", 2, 2,
       [=](RankProcess &r) { return loads(r.rank ? path + ".none" : path)(r); }},
      {"an artefact for another GPU", PKB_ERROR_PROGRAM, "has kernels for sm_90a, sm_100a, but device 0 (", 2, 2,
       loads(path,
             [](RankProcess &r) {
               r.change = [](pkb_driver &table) {
                 static pkb_cu_result (*attribute)(int *, int, pkb_cu_device);
                 attribute = table.device_attribute;
                 table.emulated = 0;
                 table.device_attribute = [](int *value, int which, pkb_cu_device device) {
                   return which == 75 ? (*value = 8, 0) : which == 76 ? (*value = 0, 0) : attribute(value, which, device);
                 };
               };
             })},
      {"an artefact that is cut off", PKB_ERROR_PROGRAM, "is cut off (", 2, 2, loads(cut)},
      {"an artefact that was edited", PKB_ERROR_PROGRAM, "is damaged: member 'program.cu' is not what was written", 2, 2, loads(changed)},
      {"an artefact for 3 ranks on 2", PKB_ERROR_PROGRAM, "was compiled for 3 ranks, but there are 2", 2, 2, loads(threePath)},
      {"a cache that cannot be written", PKB_OK, "the cache '/proc/pkb' is not used: cannot make the folder", 2, 2,
       loads(path, [](RankProcess &) { setenv("PKB_CACHE_DIR", "/proc/pkb", 1); })},
  };
}

} // namespace

int main() {
  setenv("PKB_NVCC", "none", 0); // the kernels for GPUs are not run here
  TempDir dir;
  AllReduce large, other;
  large.regionBytes = 64 << 20;
  other.name = "other";
  std::string path = artefactOf(dir, "all_reduce.pkx", {}), otherPath = artefactOf(dir, "other.pkx", other), largePath = artefactOf(dir, "large.pkx", large);
  std::vector<Fault> faults = faultsOfCalls(path, otherPath), more = faultsOfContexts(path), artefacts = faultsOfArtefacts(dir, path, otherPath);
  for (Fault &fault : more) {
    if (!fault.body) {
      fault.body = loads(largePath);
    }
    faults.push_back(fault);
  }
  faults.insert(faults.end(), artefacts.begin(), artefacts.end());
  size_t missed = 0;
  std::printf("| injected | seconds | rank 0 was told |\n|---|---|---|\n");
  for (const Fault &fault : faults) {
    Told told = onProcesses(fault.size, fault.body);
    bool right = told.status == fault.status && told.seconds <= fault.limit &&
                 (*fault.expected ? told.text.find(fault.expected) != std::string::npos : told.text.empty());
    for (size_t at = 0; (at = told.text.find(dir.path + "/", at)) != std::string::npos;) {
      told.text.erase(at, dir.path.size() + 1);
    }
    std::printf("| %s | %.2f | %s%s |\n", fault.name, told.seconds, right ? "" : "MISSED: ",
                told.status < 0 ? "nothing" : told.text.empty() ? "right results" : told.text.c_str());
    std::fflush(stdout);
    missed += !right;
  }
  std::printf("%zu faults, %zu missed\n", faults.size(), missed);
  return missed != 0 || std::fflush(stdout) != 0 || std::ferror(stdout);
}
