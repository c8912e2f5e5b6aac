// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Bootstrap.h"
#include "Error.h"

#include <csignal>
#include <cstdlib>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace pkb_rt;

namespace {

struct Meeting : testing::Test {
  void SetUp() override {
    char name[] = "/tmp/pkb-meet-XXXXXX";
    directory = mkdtemp(name);
  }
  void TearDown() override { EXPECT_EQ(std::system(("rm -rf " + directory).c_str()), 0); }

  /// Runs `body(rank)` per thread and returns the error texts.
  std::vector<std::string> onRanks(int size, const std::function<void(int)> &body) {
    std::vector<std::string> errors(static_cast<size_t>(size));
    std::vector<std::thread> threads;
    for (int rank = 0; rank < size; ++rank) {
      threads.emplace_back([&, rank] {
        try {
          body(rank);
        } catch (const Error &error) {
          EXPECT_EQ(error.status, PKB_ERROR_BOOTSTRAP);
          errors[size_t(rank)] = error.what();
        }
      });
    }
    for (auto &thread : threads) {
      thread.join();
    }
    return errors;
  }
  std::string directory;
};

bool contains(const std::string &text, const std::string &part) { return text.find(part) != std::string::npos; }

} // namespace

TEST_F(Meeting, blobs_come_in_the_order_of_the_ranks) {
  auto errors = onRanks(5, [&](int rank) {
    std::this_thread::sleep_for(std::chrono::milliseconds(rank * 13 % 31));
    Bootstrap b(directory, rank, 5, 20);
    for (int round = 0; round < 3; ++round) {
      auto blobs = b.allgather("round", std::string(size_t(rank * 100 + round), 'a'), b.everyone());
      for (int other = 0; other < 5; ++other) {
        EXPECT_EQ(blobs[size_t(other)].size(), size_t(other * 100 + round));
      }
    }
    // Disjoint subgroups at the same time, then all together again.
    std::vector<int> part = rank < 2 ? std::vector<int>{0, 1} : std::vector<int>{2, 3, 4};
    auto blobs = b.allgather("part", std::to_string(rank), part);
    for (size_t i = 0; i < part.size(); ++i) {
      EXPECT_EQ(blobs[i], std::to_string(part[i]));
    }
    b.barrier("end", b.everyone());
  });
  for (const std::string &error : errors) {
    EXPECT_EQ(error, "");
  }
}

TEST_F(Meeting, file_descriptors_arrive_with_their_contents) {
  auto errors = onRanks(3, [&](int rank) {
    Bootstrap b(directory, rank, 3, 20);
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    auto fds = b.exchangeFds("pipes", ends[0], b.everyone());
    EXPECT_EQ(fds[size_t(rank)], -1);
    // Everybody writes as many bytes as there are readers; each reader takes one.
    std::string text(2, char('a' + rank));
    EXPECT_EQ(write(ends[1], text.data(), 2), 2);
    for (int other = 0; other < 3; ++other) {
      char c = 0;
      if (other != rank) {
        EXPECT_EQ(read(fds[size_t(other)], &c, 1), 1);
        EXPECT_EQ(c, 'a' + other);
        close(fds[size_t(other)]);
      }
    }
    b.barrier("end", b.everyone());
    close(ends[0]);
    close(ends[1]);
  });
  for (const std::string &error : errors) {
    EXPECT_EQ(error, "");
  }
}

TEST_F(Meeting, a_rank_that_does_not_come_is_named) {
  auto errors = onRanks(2, [&](int rank) { Bootstrap b(directory, rank == 1 ? 3 : 0, 4, 0.5); });
  EXPECT_TRUE(contains(errors[0], "rank 0 waited 0.5 s") && contains(errors[0], "ranks 1, 2 did not come"))
      << errors[0];
  EXPECT_TRUE(contains(errors[1], "ranks 1, 2 did not come")) << errors[1];
}

TEST_F(Meeting, a_rank_that_leaves_is_named_at_once) {
  auto begin = std::chrono::steady_clock::now();
  auto errors = onRanks(3, [&](int rank) {
    Bootstrap b(directory, rank, 3, 30);
    if (rank == 2) {
      return;
    }
    b.barrier("the second step", b.everyone());
  });
  EXPECT_TRUE(contains(errors[0], "rank 2 is gone during the second step")) << errors[0];
  EXPECT_TRUE(contains(errors[1], "is gone during the second step")) << errors[1];
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
}

TEST_F(Meeting, ranks_that_are_out_of_step_are_named) {
  auto errors = onRanks(2, [&](int rank) {
    Bootstrap b(directory, rank, 2, 30);
    b.barrier(rank == 0 ? "load of a program" : "teardown", b.everyone());
  });
  bool named = contains(errors[0], "rank 0 is at 'load of a program' and rank 1 at 'teardown'") ||
               contains(errors[1], "rank 1 is at 'teardown' and rank 0 at 'load of a program'");
  EXPECT_TRUE(named) << errors[0] << errors[1];
}

TEST_F(Meeting, ranks_that_expect_another_number_are_refused) {
  auto errors = onRanks(2, [&](int rank) { Bootstrap b(directory, rank, rank + 2, 2); });
  bool named = contains(errors[0], "rank 1 was started for 3 ranks, this rank for 2") ||
               contains(errors[1], "rank 0 was started for 2 ranks, this rank for 3");
  EXPECT_TRUE(named) << errors[0] << "\n" << errors[1];
}

TEST_F(Meeting, a_number_that_is_taken_is_refused) {
  std::string error;
  auto errors = onRanks(2, [&](int which) {
    std::this_thread::sleep_for(std::chrono::milliseconds(which * 200));
    Bootstrap b(directory, 0, 2, 1);
  });
  EXPECT_TRUE(contains(errors[1], "rank 0 is already there")) << errors[1];
  EXPECT_TRUE(contains(errors[0], "rank 1 did not come")) << errors[0];
}

TEST_F(Meeting, a_socket_left_by_a_killed_run_does_not_matter) {
  int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::snprintf(address.sun_path, sizeof(address.sun_path), "%s/rank0.sock", directory.c_str());
  ASSERT_EQ(bind(fd, reinterpret_cast<sockaddr *>(&address), sizeof(address)), 0);
  close(fd); // the file stays
  auto errors = onRanks(2, [&](int rank) {
    Bootstrap b(directory, rank, 2, 10);
    b.barrier("step", b.everyone());
  });
  EXPECT_EQ(errors[0] + errors[1], "");
}

TEST_F(Meeting, a_stranger_on_the_socket_is_sent_away) {
  auto errors = onRanks(3, [&](int who) {
    if (who == 2) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      int fd = socket(AF_UNIX, SOCK_STREAM, 0);
      sockaddr_un address = {};
      address.sun_family = AF_UNIX;
      std::snprintf(address.sun_path, sizeof(address.sun_path), "%s/rank0.sock", directory.c_str());
      ASSERT_EQ(connect(fd, reinterpret_cast<sockaddr *>(&address), sizeof(address)), 0);
      ASSERT_EQ(write(fd, "GET / HTTP/1.0\r\n\r\n", 18), 18);
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
      close(fd);
      return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(who * 400));
    Bootstrap b(directory, who, 2, 10);
    b.barrier("step", b.everyone());
  });
  EXPECT_EQ(errors[0] + errors[1], "");
}

TEST_F(Meeting, errors_of_one_rank_reach_all) {
  auto errors = onRanks(3, [&](int rank) {
    Bootstrap b(directory, rank, 3, 10);
    b.agree("opening", rank == 1 ? std::optional<std::string>("no such device") : std::nullopt, b.everyone(),
            PKB_ERROR_BOOTSTRAP);
  });
  EXPECT_EQ(errors[0], "rank 1: no such device");
  EXPECT_EQ(errors[1], "no such device");
  EXPECT_EQ(errors[2], "rank 1: no such device");
}

TEST_F(Meeting, a_missing_or_too_long_directory_is_refused) {
  auto errors = onRanks(1, [&](int) { Bootstrap b(directory + "/none", 0, 2, 1); });
  EXPECT_TRUE(contains(errors[0], "/none' does not exist")) << errors[0];
  std::string deep = directory;
  for (int i = 0; i < 12; ++i) {
    deep += "/0123456789";
  }
  ASSERT_EQ(std::system(("mkdir -p " + deep).c_str()), 0);
  errors = onRanks(1, [&](int) { Bootstrap b(deep, 0, 2, 1); });
  EXPECT_TRUE(contains(errors[0], "too long for a Unix socket")) << errors[0];
}

TEST_F(Meeting, a_lost_peer_is_seen_without_reading) {
  auto errors = onRanks(2, [&](int rank) {
    Bootstrap b(directory, rank, 2, 10);
    b.barrier("step", b.everyone());
    if (rank == 1) {
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
      return;
    }
    EXPECT_EQ(b.waitForLostPeer(10), -1);
    EXPECT_EQ(b.waitForLostPeer(5000), 1);
    EXPECT_EQ(b.waitForLostPeer(10), -1); // told once
  });
  EXPECT_EQ(errors[0] + errors[1], "");
}

TEST_F(Meeting, a_killed_process_is_seen_although_its_child_holds_the_socket) {
  pid_t peer = fork();
  if (peer == 0) {
    Bootstrap b(directory, 1, 2, 10);
    if (fork() == 0) {
      std::this_thread::sleep_for(std::chrono::seconds(6));
      _exit(0);
    }
    b.barrier("step", b.everyone());
    kill(getpid(), SIGKILL);
  }
  ASSERT_GT(peer, 0);
  auto begin = std::chrono::steady_clock::now();
  auto errors = onRanks(1, [&](int) {
    Bootstrap b(directory, 0, 2, 10);
    b.barrier("step", b.everyone());
    EXPECT_EQ(b.waitForLostPeer(5000), 1);
  });
  EXPECT_EQ(errors[0], "");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(4));
  int status = 0;
  waitpid(peer, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status));
}
