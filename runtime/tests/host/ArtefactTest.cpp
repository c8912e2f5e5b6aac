// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Artefacts: written, read and loaded through the C interface, and refused by name when they are not what was written.
#include "HostTest.h"
#include "Sha256.h"
#include "pkb_rt/layout.h"

#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
#include <unistd.h>

using namespace pkb_test;

namespace {

#define EXPECT_SAYS(text, part) EXPECT_NE(std::string(text).find(part), std::string::npos) << text

class Setting {
public:
  Setting(const char *name, const char *value) : name(name), before(std::getenv(name) ? std::getenv(name) : "") { setenv(name, value, 1); }
  ~Setting() { before.empty() ? unsetenv(name) : setenv(name, before.c_str(), 1); }

private:
  const char *name;
  std::string before;
};

std::string contents(const std::string &path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

/// Writes the artefact of a program; the notes of the writer, one line each.
std::string writeArtefact(const std::string &path, const std::string &text, const std::string &data = "", const std::vector<pkb_artefact_file> &files = {}) {
  std::string notes;
  pkb_artefact_desc desc = {};
  desc.text = text.data();
  desc.text_bytes = text.size();
  desc.data = data.empty() ? nullptr : data.data();
  desc.data_bytes = data.size();
  desc.files = files.data();
  desc.n_files = int32_t(files.size());
  desc.note = [](void *user, const char *line) { *static_cast<std::string *>(user) += std::string(line) + "\n"; };
  desc.user = &notes;
  EXPECT_EQ(pkb_artefact_write(&desc, path.c_str()), PKB_OK) << pkb_last_error();
  return notes;
}

/// Loads a program on two ranks and calls it; the notes of rank 0, or its error.
std::string loadAndCall(const Machine &machine, const std::string &file, pkb_status expected = PKB_OK, const pkb_driver *driver = nullptr) {
  char rendezvous[] = "/tmp/pkb-meet-XXXXXX";
  EXPECT_NE(mkdtemp(rendezvous), nullptr);
  std::string said;
  onRanks(2, [&](int rank) {
    pkb_context_desc desc = {};
    desc.abi_version = PKB_ABI_VERSION;
    desc.rank = desc.device = rank;
    desc.world_size = 2;
    desc.driver = driver ? driver : machine.driver();
    desc.rendezvous = rendezvous;
    desc.arena_bytes = 32 << 20;
    pkb_context *context = nullptr;
    ASSERT_EQ(pkb_context_create(&desc, &context), PKB_OK) << pkb_last_error();
    pkb_program *loaded = nullptr;
    EXPECT_EQ(pkb_program_load(context, file.c_str(), nullptr, &loaded), expected) << pkb_last_error();
    if (rank == 0) {
      said = loaded ? pkb_program_notes(loaded) : pkb_last_error();
    }
    if (loaded) {
      Floats in(machine.driver(), 1000), out(machine.driver(), 1000);
      for (size_t i = 0; i < 1000; ++i) {
        in.data()[i] = float(int(i) * (rank + 1));
      }
      pkb_tensor input = in.tensor(), output = out.tensor();
      EXPECT_EQ(pkb_program_call(loaded, nullptr, &input, 1, &output, 1), PKB_OK) << pkb_last_error();
      EXPECT_EQ(pkb_context_synchronize(context, nullptr), PKB_OK) << pkb_last_error();
      for (size_t i = 0; i < 1000; ++i) {
        EXPECT_EQ(out.data()[i], float(int(i) * 3)) << "element " << i;
      }
      pkb_program_unload(loaded);
    }
    pkb_context_destroy(context);
  });
  EXPECT_EQ(std::system((std::string("rm -rf ") + rendezvous).c_str()), 0);
  return said;
}

std::string openError(const std::string &path) {
  pkb_artefact *artefact = nullptr;
  EXPECT_EQ(pkb_artefact_open(path.c_str(), &artefact), PKB_ERROR_PROGRAM);
  EXPECT_EQ(artefact, nullptr);
  return pkb_last_error();
}

/// The artefact with `from` in its index replaced by `to`, and the hash of the index set right: as another version would have written it.
std::string withIndex(std::string bytes, const std::string &from, const std::string &to) {
  EXPECT_EQ(from.size(), to.size());
  size_t begin = bytes.find("{\n \"architectures\""), end = bytes.find("}\n", begin) + 2;
  EXPECT_NE(begin, std::string::npos);
  // The index ends where the next member's header begins.
  end = bytes.find("PK\x03\x04", begin);
  size_t at = bytes.find(from, begin);
  EXPECT_LT(at, end);
  bytes.replace(at, from.size(), to);
  std::string index = bytes.substr(begin, end - begin);
  bytes.replace(bytes.size() - 64, 64, pkb_rt::sha256Hex(index));
  uint32_t crc = ~0u;
  for (unsigned char byte : index) {
    crc ^= byte;
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc >> 1) ^ (crc & 1 ? 0xedb88320u : 0);
    }
  }
  crc = ~crc;
  size_t local = begin - 13 - 30, central = bytes.find("PK\x01\x02"); // of "artefact.json", the first member
  for (int i = 0; i < 4; ++i) {
    bytes[local + 14 + size_t(i)] = char(crc >> (8 * i));
    bytes[central + 16 + size_t(i)] = char(crc >> (8 * i));
  }
  return bytes;
}

} // namespace

TEST(Artefact, carries_its_kernels_and_files) {
  TempDir dir;
  Machine machine(2);
  std::string file = dir.path + "/p.pkx", source = "def solution(x): ...\n";
  writeArtefact(file, AllReduce().text(), "", {{"source/model.py", source.data(), source.size()}});
  pkb_artefact *artefact = nullptr;
  ASSERT_EQ(pkb_artefact_open(file.c_str(), &artefact), PKB_OK) << pkb_last_error();
  const void *data = nullptr;
  size_t bytes = 0;
  ASSERT_EQ(pkb_artefact_member(artefact, "source/model.py", &data, &bytes), PKB_OK) << pkb_last_error();
  EXPECT_EQ(std::string(static_cast<const char *>(data), bytes), source);
  ASSERT_EQ(pkb_artefact_member(artefact, "program.cu", &data, &bytes), PKB_OK);
  EXPECT_EQ(std::string(static_cast<const char *>(data), bytes), AllReduce().text());
  ASSERT_EQ(pkb_artefact_member(artefact, "kernels/host.so", &data, &bytes), PKB_OK);
  EXPECT_EQ(std::string(static_cast<const char *>(data), 4), "\x7f" "ELF");
  EXPECT_EQ(pkb_artefact_member(artefact, "none", &data, &bytes), PKB_ERROR_ARGUMENT);
  EXPECT_STREQ(pkb_last_error(), "the artefact has no member 'none'");
  std::string names;
  for (int32_t i = 0; pkb_artefact_name(artefact, i); ++i) {
    names += pkb_artefact_name(artefact, i) + std::string(" ");
  }
  EXPECT_SAYS(names, "kernels/host.so ");
  EXPECT_SAYS(names, "program.cu source/model.py ");
  pkb_artefact_close(artefact);
  // No compiler is asked: none is there.
  Setting none("PKB_CXX", "no-such-compiler");
  EXPECT_EQ(loadAndCall(machine, file), "");
}

TEST(Artefact, two_writings_give_the_same_bytes) {
  TempDir dir;
  Setting nvcc("PKB_NVCC", "none");
  writeArtefact(dir.path + "/a.pkx", AllReduce().text());
  writeArtefact(dir.path + "/b.pkx", AllReduce().text());
  EXPECT_EQ(contents(dir.path + "/a.pkx"), contents(dir.path + "/b.pkx"));
}

TEST(Artefact, works_without_a_cache) {
  TempDir dir;
  Setting nvcc("PKB_NVCC", "none");
  Machine machine(2);
  std::string file = dir.path + "/p.pkx";
  writeArtefact(file, AllReduce().text());
  Setting cache("PKB_CACHE_DIR", "/proc/pkb");
  std::string notes = loadAndCall(machine, file);
  EXPECT_SAYS(notes, "the cache '/proc/pkb' is not used: cannot ");
  EXPECT_SAYS(loadAndCall(machine, dir.write("p.cu", AllReduce().text())), "the cache '/proc/pkb' is not used");
}

TEST(Artefact, without_a_compiler_it_is_compiled_where_it_is_loaded) {
  TempDir dir;
  Machine machine(2);
  std::string file = dir.path + "/p.pkx", notes;
  {
    Setting host("PKB_CXX", "no-such-compiler"), nvcc("PKB_NVCC", "none");
    notes = writeArtefact(file, AllReduce().text());
  }
  EXPECT_SAYS(notes, "no nvcc was found: the kernels for GPUs are compiled where the artefact is loaded");
  EXPECT_SAYS(notes, "PKB_CXX names 'no-such-compiler', which is not an executable");
  EXPECT_EQ(loadAndCall(machine, file), "");
}

TEST(Artefact, kernels_that_the_driver_does_not_take_are_compiled_again) {
  TempDir dir;
  Setting nvcc("PKB_NVCC", "none");
  Machine machine(2);
  std::string file = dir.path + "/p.pkx";
  writeArtefact(file, AllReduce().text());
  static pkb_cu_result (*load)(pkb_cu_module *, const void *, size_t);
  load = machine.driver()->module_load;
  pkb_driver table = *machine.driver();
  table.module_load = [](pkb_cu_module *module, const void *image, size_t bytes) {
    static thread_local int loads; // a rank is a thread
    return ++loads == 1 ? 200 : load(module, image, bytes);
  };
  EXPECT_SAYS(loadAndCall(machine, file, PKB_OK, &table), "the driver does not take the ");
}

TEST(Artefact, one_for_another_gpu_is_refused) {
  TempDir dir;
  Setting nvcc("PKB_NVCC", "none");
  Machine machine(2);
  std::string file = dir.path + "/p.pkx";
  writeArtefact(file, AllReduce().text());
  pkb_driver table = *machine.driver();
  table.emulated = 0;
  static pkb_cu_result (*attribute)(int *, int, pkb_cu_device);
  attribute = machine.driver()->device_attribute;
  table.device_attribute = [](int *value, int which, pkb_cu_device device) {
    return which == 75 ? (*value = 8, 0) : which == 76 ? (*value = 0, 0) : attribute(value, which, device);
  };
  EXPECT_SAYS(loadAndCall(machine, file, PKB_ERROR_PROGRAM, &table), "p.pkx' has kernels for sm_90a, sm_100a, but device 0 (");
  EXPECT_SAYS(loadAndCall(machine, file, PKB_ERROR_PROGRAM, &table), ") is sm_80; compile the program for that machine");
}

TEST(Artefact, every_damage_is_named) {
  TempDir dir;
  Setting nvcc("PKB_NVCC", "none");
  Machine machine(2);
  std::string file = dir.path + "/p.pkx";
  writeArtefact(file, AllReduce().text());
  std::string whole = contents(file);
  EXPECT_SAYS(openError(dir.path + "/none.pkx"), "cannot read '" + dir.path + "/none.pkx': No such file or directory");
  EXPECT_SAYS(openError(dir.write("empty.pkx", "")), "is cut off (0 bytes, and no directory at the end); write it again with pkb-opt");
  for (size_t size : {size_t(2), size_t(1000), whole.size() / 2, whole.size() - 1}) {
    EXPECT_SAYS(openError(dir.write("cut.pkx", whole.substr(0, size))), "cut.pkx' is cut off (" + std::to_string(size) + " bytes");
  }
  auto changed = [&](const std::string &part, const std::string &to) {
    std::string bytes = whole;
    bytes.replace(bytes.find(part), to.size(), to);
    return openError(dir.write("changed.pkx", bytes));
  };
  EXPECT_SAYS(changed("pkb::epoch_end", "pkb::epoch_END"), "changed.pkx' is damaged: member 'program.cu' is not what was written");
  EXPECT_SAYS(changed("\x7f" "ELF", "\x7f" "elf"), "is not what was written");
  // Edited by a tool that sets the checksums right: the hashes tell.
  EXPECT_SAYS(openError(dir.write("version.pkx", withIndex(whole, "\"version\": [\n  1,\n  0", "\"version\": [\n  1,\n  7"))),
              "version.pkx' has version [1,7] of the format, this run time reads [1,0] to [1,0]; install a newer run time");
  EXPECT_SAYS(openError(dir.write("version.pkx", withIndex(whole, "\"version\": [\n  1,", "\"version\": [\n  0,"))),
              "write it again with this version's pkb-opt");
  const std::string layout = std::to_string(PKB_LAYOUT_VERSION);
  EXPECT_SAYS(openError(dir.write("layout.pkx", withIndex(whole, "\"layout\": " + layout, "\"layout\": 9"))),
              "has kernels for version 9 of the channels' layout, this run time has " + layout);
  EXPECT_SAYS(openError(dir.write("schema.pkx", withIndex(whole, "\"pkb-artefact\"", "\"pkb-artefakt\""))), "is not a pkb-artefact");
  EXPECT_SAYS(openError(dir.write("kind.pkx", withIndex(whole, "\"host\"", "\"best\""))), "has kernels of kind 'best', which this run time does not know");
  EXPECT_SAYS(openError(dir.write("field.pkx", withIndex(whole, "\"images\"", "\"image_\""))), "lacks a field or has one of another type");
  size_t hash = whole.find("\"program.cu\": \"") + 15;
  std::string digest = whole.substr(hash, 64), other(64, '0');
  EXPECT_SAYS(openError(dir.write("hash.pkx", withIndex(whole, digest, other))), "hash.pkx': 'program.cu' was changed after it was written");
  std::string bytes = whole;
  bytes[bytes.size() - 1] = bytes.back() == '0' ? '1' : '0';
  EXPECT_SAYS(openError(dir.write("index.pkx", bytes)), "index.pkx': 'artefact.json' was changed after it was written");
  // A load says the same, on all ranks.
  EXPECT_SAYS(loadAndCall(machine, dir.write("cut.pkx", whole.substr(0, 1000)), PKB_ERROR_PROGRAM), "is cut off (1000 bytes");
  EXPECT_SAYS(loadAndCall(machine, dir.write("zip.pkx", "PK and nothing else"), PKB_ERROR_PROGRAM), "is cut off");
}

TEST(Artefact, what_cannot_be_written_leaves_nothing) {
  TempDir dir;
  Setting nvcc("PKB_NVCC", "none");
  std::string text = AllReduce().text(), place = dir.path + "/nowhere/p.pkx";
  pkb_artefact_desc desc = {};
  desc.text = text.data();
  desc.text_bytes = text.size();
  EXPECT_EQ(pkb_artefact_write(&desc, place.c_str()), PKB_ERROR_PROGRAM);
  EXPECT_SAYS(pkb_last_error(), "cannot write '" + place);
  EXPECT_EQ(pkb_artefact_write(nullptr, place.c_str()), PKB_ERROR_ARGUMENT);
  place = dir.path + "/p.pkx";
  desc.data = "abc";
  desc.data_bytes = 3;
  EXPECT_EQ(pkb_artefact_write(&desc, place.c_str()), PKB_ERROR_ARGUMENT);
  EXPECT_SAYS(pkb_last_error(), "is not what the program's manifest names");
  desc.data = nullptr;
  pkb_artefact_file file = {"program.cu", "", 0};
  desc.files = &file;
  desc.n_files = 1;
  EXPECT_EQ(pkb_artefact_write(&desc, place.c_str()), PKB_ERROR_ARGUMENT);
  EXPECT_SAYS(pkb_last_error(), "two members 'program.cu'");
  EXPECT_NE(access(place.c_str(), F_OK), 0);
}
