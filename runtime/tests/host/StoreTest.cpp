// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What lies on disk: the cache of compiled kernels, the zip files that artefacts are, and files that are written whole or not at all.
#include "Compile.h"
#include "Error.h"
#include "OutputFile.h"
#include "Zip.h"

#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace pkb_rt;

namespace {

/// A cached image whose maker counts.
Image counted(const std::string &folder, int &made, bool asFile = false) {
  ImageRequest request;
  request.cacheDir = folder;
  request.name = "image.so";
  request.asFile = asFile;
  request.timeout = 0.2;
  return cachedImage(request, [&](const std::string &file) {
    ++made;
    writeFile(file, "contents");
  });
}

struct CacheFolder {
  CacheFolder() { path = mkdtemp(name); }
  ~CacheFolder() { EXPECT_EQ(std::system(("rm -rf '" + path + "'").c_str()), 0); }
  char name[32] = "/tmp/pkb-test-images-XXXXXX";
  std::string path;
};

} // namespace

TEST(Cache, an_image_is_made_once_and_a_damaged_one_again) {
  CacheFolder folder;
  int made = 0;
  std::string place = folder.path + "/deeper/image.so";
  for (int i = 0; i < 3; ++i) {
    Image image = counted(folder.path + "/deeper", made, i > 0);
    EXPECT_EQ(image.bytes, "contents");
    EXPECT_EQ(image.file, i > 0 ? place : "");
    EXPECT_TRUE(image.notes.empty());
  }
  EXPECT_EQ(made, 1);
  std::string whole = readFile(place);
  for (const std::string &damaged : {whole.substr(0, whole.size() - 1), "X" + whole.substr(1), std::string(), std::string("old")}) {
    writeFile(place, damaged);
    Image image = counted(folder.path + "/deeper", made);
    EXPECT_EQ(image.bytes, "contents");
    ASSERT_EQ(image.notes.size(), 1u);
    EXPECT_EQ(image.notes[0], "'" + place + "' in the cache is damaged; made again");
  }
  EXPECT_EQ(made, 5);
  EXPECT_TRUE(counted(folder.path + "/deeper", made).notes.empty());
  EXPECT_EQ(made, 5);
}

TEST(Cache, work_goes_on_without_a_cache) {
  CacheFolder folder;
  writeFile(folder.path + "/file", "");
  int made = 0;
  std::string kept;
  {
    // A file stands where the folder should be; /proc can be written by nobody, whoever runs this.
    for (const std::string &place : {folder.path + "/file", std::string("/proc/pkb")}) {
      Image image = counted(place, made, true);
      EXPECT_EQ(image.bytes, "contents");
      EXPECT_EQ(readFile(image.file), "contents");
      ASSERT_EQ(image.notes.size(), 1u);
      EXPECT_EQ(image.notes[0].find("the cache '" + place + "' is not used: cannot "), 0u) << image.notes[0];
      EXPECT_NE(image.notes[0].find("set PKB_CACHE_DIR to a writable folder"), std::string::npos);
      kept = image.file;
    }
  }
  EXPECT_NE(access(kept.c_str(), F_OK), 0); // gone with the image
  EXPECT_EQ(made, 2);
}

TEST(Cache, a_full_disk_is_a_note) {
  // A file system of 4 KiB in a mount namespace of its own, in a child.
  int status = 0;
  pid_t child = fork();
  if (child == 0) {
    CacheFolder folder;
    if (unshare(CLONE_NEWNS | (geteuid() ? CLONE_NEWUSER : 0)) != 0 || mount("none", folder.path.c_str(), "tmpfs", 0, "size=4k") != 0) {
      _exit(77);
    }
    ImageRequest request;
    request.cacheDir = folder.path;
    request.name = "image.so";
    Image image = cachedImage(request, [&](const std::string &file) { writeFile(file, std::string(100000, 'x')); });
    bool right = image.bytes.size() == 100000 && image.notes.size() == 1 &&
                 image.notes[0].find("No space left on device; set PKB_CACHE_DIR") != std::string::npos && access((folder.path + "/image.so").c_str(), F_OK) != 0;
    umount(folder.path.c_str());
    _exit(right ? 0 : 1);
  }
  ASSERT_EQ(waitpid(child, &status, 0), child);
  if (WEXITSTATUS(status) == 77) {
    GTEST_SKIP() << "no mount namespaces here";
  }
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(Cache, a_lock_that_is_not_given_up_is_waited_for_and_then_done_without) {
  CacheFolder folder;
  int made = 0, held = open((folder.path + "/image.so.lock").c_str(), O_RDWR | O_CREAT, 0666);
  ASSERT_EQ(flock(held, LOCK_EX), 0);
  Image image = counted(folder.path, made);
  EXPECT_EQ(image.bytes, "contents");
  ASSERT_EQ(image.notes.size(), 1u);
  EXPECT_NE(image.notes[0].find("another process has held '" + folder.path + "/image.so.lock' for 0.2 s"), std::string::npos) << image.notes[0];
  close(held);
}

TEST(OutputFile, a_file_is_replaced_whole_or_not_at_all) {
  CacheFolder folder;
  std::string place = folder.path + "/out", link = folder.path + "/link";
  ASSERT_EQ(symlink("out", link.c_str()), 0);
  EXPECT_EQ(writeWholeFile(place, "old"), "");
  {
    OutputFile file(place);
    EXPECT_EQ(file.write("new"), "");
    EXPECT_EQ(readFile(place), "old");
  }
  EXPECT_EQ(readFile(place), "old"); // never kept
  EXPECT_EQ(writeWholeFile(link, "through the link"), "");
  EXPECT_EQ(readFile(place), "through the link");
  std::string longest = folder.path + "/" + std::string(255, 'x');
  EXPECT_EQ(writeWholeFile(longest, "x"), "");
  EXPECT_EQ(writeWholeFile(longest + "x", "x"), "File name too long");
  EXPECT_EQ(writeWholeFile(folder.path, "x"), "Is a directory");
  EXPECT_EQ(writeWholeFile(folder.path + "/none/out", "x"), "No such file or directory");
  rlimit before, small;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  small = {1000, before.rlim_max};
  signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  std::string why = writeWholeFile(place, std::string(1001, 'x'));
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_EQ(why, "File too large");
  EXPECT_EQ(readFile(place), "through the link");
  EXPECT_EQ(std::system(("test $(ls -A '" + folder.path + "' | wc -l) = 3").c_str()), 0); // no parts
}

TEST(OutputFile, whether_it_can_be_written_is_found_before_and_changes_nothing) {
  CacheFolder folder;
  std::string place = folder.path + "/out", pipe = folder.path + "/pipe";
  EXPECT_EQ(whyNotWritable(place), "");
  EXPECT_NE(access(place.c_str(), F_OK), 0);
  writeFile(place, "old");
  EXPECT_EQ(whyNotWritable(place), "");
  EXPECT_EQ(readFile(place), "old");
  EXPECT_EQ(whyNotWritable(folder.path), "Is a directory");
  EXPECT_EQ(whyNotWritable(""), "No such file or directory");
  EXPECT_EQ(whyNotWritable(folder.path + "/none/out"), "No such file or directory");
  EXPECT_EQ(whyNotWritable(place + "/out"), "Not a directory");
  EXPECT_EQ(whyNotWritable(folder.path + "/" + std::string(256, 'x')), "File name too long");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(whyNotWritable(pipe), ""); // without waiting for a reader
}

TEST(OutputFile, a_device_is_written_and_stays) {
  struct stat status;
  if (stat("/dev/full", &status) != 0 || !S_ISCHR(status.st_mode)) {
    GTEST_SKIP() << "no /dev/full here";
  }
  EXPECT_EQ(whyNotWritable("/dev/full"), "");
  EXPECT_EQ(writeWholeFile("/dev/full", "x"), "No space left on device");
  EXPECT_EQ(writeWholeFile("/dev/null", "x"), "");
  ASSERT_EQ(stat("/dev/full", &status), 0);
  EXPECT_TRUE(S_ISCHR(status.st_mode));
}

TEST(Zip, members_come_back_and_every_changed_byte_is_noticed) {
  std::string text(300, 'a'), bytes = writeZip({{"index", "{}"}, {"folder/text", text}, {"empty", ""}}, "the comment");
  Zip zip = readZip("x.pkx", bytes);
  EXPECT_EQ(zip.comment, "the comment");
  ASSERT_EQ(zip.members.size(), 3u);
  EXPECT_EQ(zip.members.at("folder/text"), text);
  EXPECT_EQ(zip.members.at("empty"), "");
  EXPECT_EQ(bytes, writeZip({{"index", "{}"}, {"folder/text", text}, {"empty", ""}}, "the comment"));
  for (size_t cut = 0; cut < bytes.size(); ++cut) { // no length is taken for a whole file, none crashes
    EXPECT_THROW(readZip("x.pkx", std::string_view(bytes).substr(0, cut)), Error) << cut;
  }
  size_t noticed = 0;
  for (size_t at = 0; at < bytes.size(); ++at) {
    std::string changed = bytes;
    changed[at] ^= 0x55;
    try {
      Zip other = readZip("x.pkx", changed);
      noticed += other.members != zip.members || other.comment != zip.comment;
    } catch (const Error &error) {
      ++noticed;
      EXPECT_EQ(error.status, PKB_ERROR_PROGRAM);
    }
  }
  EXPECT_GT(noticed, bytes.size() * 2 / 3); // what is left are fields without a meaning here, such as dates
}
