// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Bootstrap.h"

#include "Error.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>

namespace pkb_rt {
namespace {

constexpr uint32_t kMagic = 0x504b4231; // "PKB1"

/// First message on a new connection, both ways.
struct Hello {
  uint32_t magic, version, rank, size;
};

/// Precedes the name of the step and its payload.
struct Frame {
  uint32_t magic, sequence, nameBytes, payloadBytes, hasFd;
};

int millisecondsUntil(std::chrono::steady_clock::time_point deadline) {
  auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
  return int(std::clamp<long long>(left, 0, 1 << 30));
}

std::string errnoText() { return std::strerror(errno); }

bool fillAddress(sockaddr_un &address, const std::string &path) {
  address = {};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) {
    return false;
  }
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return true;
}

/// Sends all of `data`, with `fd` attached to its first byte if it is not -1. False with errno set on failure.
bool sendAll(int socket, const void *data, size_t bytes, int fd) {
  auto *p = static_cast<const char *>(data);
  while (bytes) {
    iovec vector = {const_cast<char *>(p), bytes};
    msghdr message = {};
    message.msg_iov = &vector;
    message.msg_iovlen = 1;
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    if (fd >= 0) {
      message.msg_control = control;
      message.msg_controllen = sizeof(control);
      cmsghdr *header = CMSG_FIRSTHDR(&message);
      header->cmsg_level = SOL_SOCKET;
      header->cmsg_type = SCM_RIGHTS;
      header->cmsg_len = CMSG_LEN(sizeof(int));
      std::memcpy(CMSG_DATA(header), &fd, sizeof(int));
    }
    ssize_t n = sendmsg(socket, &message, MSG_NOSIGNAL);
    if (n < 0) {
      if (errno == EINTR) {
        continue;
      }
      return false;
    }
    fd = -1;
    p += n;
    bytes -= size_t(n);
  }
  return true;
}

} // namespace

Bootstrap::Bootstrap(const std::string &directory, int rank, int size, double timeout)
    : directory(directory), self(rank), peers(size), timeout(timeout) {
  for (int i = 0; i < size; ++i) {
    all.push_back(i);
  }
  wakeFd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  try {
    if (wakeFd < 0) {
      fail(PKB_ERROR_BOOTSTRAP, "cannot make an eventfd: ", errnoText());
    }
    if (size > 1) {
      connectPeers(timeout);
    }
  } catch (...) {
    closeAll();
    close(wakeFd);
    throw;
  }
}

Bootstrap::~Bootstrap() {
  closeAll();
  if (wakeFd >= 0) {
    close(wakeFd);
  }
}

void Bootstrap::closeAll() {
  if (listener >= 0) {
    close(listener);
    unlink(ownPath.c_str());
    listener = -1;
  }
  for (Peer &peer : peers) {
    if (peer.fd >= 0) {
      shutdown(peer.fd, SHUT_RDWR); // also where a forked child still holds the socket
      close(peer.fd);
    }
    if (peer.pidfd >= 0) {
      close(peer.pidfd);
    }
    peer.fd = peer.pidfd = -1;
  }
}

std::string Bootstrap::listNames(const std::vector<int> &ranks) const {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < ranks.size(); ++i) {
    text += (i ? ", " : "") + std::to_string(ranks[i]);
  }
  return text;
}

/// Listens under its own name, connects to the lower ranks (retrying: they may come later) and accepts the higher ones.
void Bootstrap::connectPeers(double timeout) {
  auto deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(timeout));
  struct stat status;
  if (stat(directory.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) {
    fail(PKB_ERROR_BOOTSTRAP, "rendezvous directory '", directory, "' does not exist; make it before the ranks start");
  }
  auto pathOf = [&](int rank) { return directory + "/rank" + std::to_string(rank) + ".sock"; };
  ownPath = pathOf(self);
  sockaddr_un address;
  if (!fillAddress(address, ownPath)) {
    fail(PKB_ERROR_BOOTSTRAP, "rendezvous directory '", directory,
         "' is too long for a Unix socket; use a path of less than 90 bytes");
  }
  // A socket file that nobody listens on is left from a run that was killed; a live one belongs to another run.
  int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  bool live = probe >= 0 && connect(probe, reinterpret_cast<sockaddr *>(&address), sizeof(address)) == 0;
  if (probe >= 0) {
    close(probe);
  }
  if (live) {
    fail(PKB_ERROR_BOOTSTRAP, "rank ", self, " is already there in '", directory,
         "': two ranks have the same number, or another run uses this directory");
  }
  unlink(ownPath.c_str());
  listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (listener < 0 || bind(listener, reinterpret_cast<sockaddr *>(&address), sizeof(address)) != 0 ||
      listen(listener, size() + 8) != 0) {
    fail(PKB_ERROR_BOOTSTRAP, "cannot listen on '", ownPath, "': ", errnoText());
  }

  auto missing = [&] {
    std::vector<int> ranks;
    for (int i = 0; i < size(); ++i) {
      if (i != self && peers[i].fd < 0) {
        ranks.push_back(i);
      }
    }
    return ranks;
  };
  auto adopt = [&](int fd) {
    int who = handshake(fd, deadline);
    if (who < 0 || who == self || peers[who].fd >= 0) {
      close(fd);
      return;
    }
    peers[who].fd = fd;
    watchProcess(who);
  };

  while (!missing().empty()) {
    if (Clock::now() >= deadline) {
      fail(PKB_ERROR_BOOTSTRAP, "rank ", self, " waited ", timeout, " s in '", directory, "' and ",
           listNames(missing()),
           " did not come; see whether they were started and what they print (PKB_TIMEOUT_S sets the wait)");
    }
    for (int lower = 0; lower < self; ++lower) {
      if (peers[lower].fd >= 0) {
        continue;
      }
      int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
      sockaddr_un other;
      if (fd >= 0 && fillAddress(other, pathOf(lower)) &&
          connect(fd, reinterpret_cast<sockaddr *>(&other), sizeof(other)) == 0) {
        adopt(fd);
      } else if (fd >= 0) {
        close(fd);
      }
    }
    pollfd waiting = {listener, POLLIN, 0};
    if (poll(&waiting, 1, std::min(20, millisecondsUntil(deadline))) > 0) {
      int fd = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
      if (fd >= 0) {
        adopt(fd);
      }
    }
  }
  close(listener);
  listener = -1;
  unlink(ownPath.c_str());
}

int Bootstrap::handshake(int fd, Clock::time_point deadline) {
  Hello mine = {kMagic, PKB_ABI_VERSION, uint32_t(self), uint32_t(size())};
  Hello other = {};
  if (!sendAll(fd, &mine, sizeof(mine), -1)) {
    return -1;
  }
  auto *p = reinterpret_cast<char *>(&other);
  for (size_t have = 0; have < sizeof(other);) {
    // A rank that connected answers at once; one that does not within seconds is no rank.
    pollfd waiting = {fd, POLLIN, 0};
    if (poll(&waiting, 1, std::min(10000, millisecondsUntil(deadline))) <= 0) {
      return -1;
    }
    ssize_t n = recv(fd, p + have, sizeof(other) - have, 0);
    if (n <= 0) {
      return -1;
    }
    have += size_t(n);
  }
  if (other.magic != kMagic) {
    return -1;
  }
  if (other.version != PKB_ABI_VERSION) {
    fail(PKB_ERROR_BOOTSTRAP, "rank ", other.rank, " runs version ", other.version,
         " of the run time, this rank version ", PKB_ABI_VERSION, "; use one build on all ranks");
  }
  if (other.size != uint32_t(size())) {
    fail(PKB_ERROR_BOOTSTRAP, "rank ", other.rank, " was started for ", other.size, " ranks, this rank for ", size());
  }
  return other.rank < other.size ? int(other.rank) : -1;
}

/// Watches the peer's process too: a child that it forked may keep the socket open after its death.
void Bootstrap::watchProcess(int peer) {
#ifdef SYS_pidfd_open
  ucred credentials = {};
  socklen_t length = sizeof(credentials);
  if (getsockopt(peers[peer].fd, SOL_SOCKET, SO_PEERCRED, &credentials, &length) == 0 && credentials.pid > 0 &&
      credentials.pid != getpid()) {
    peers[peer].pidfd = int(syscall(SYS_pidfd_open, credentials.pid, 0));
  }
#endif
}

void Bootstrap::failGone(int peer, const std::string &what) const {
  std::string why = whyGone ? whyGone(peer) : "";
  fail(PKB_ERROR_BOOTSTRAP, "rank ", peer, " is gone during ", what, why.empty() ? "; see what it printed" : ": " + why);
}

void Bootstrap::send(int peer, const std::string &what, const std::string &payload, int fd) {
  Frame frame = {kMagic, peers[peer].sequence, uint32_t(what.size()), uint32_t(payload.size()), fd >= 0};
  std::string bytes(reinterpret_cast<const char *>(&frame), sizeof(frame));
  bytes += what;
  bytes += payload;
  if (!sendAll(peers[peer].fd, bytes.data(), bytes.size(), fd)) {
    failGone(peer, cat(what, " (", errnoText(), ")"));
  }
}

void Bootstrap::read(int peer, void *data, size_t bytes, Clock::time_point deadline, const std::string &what, int *fd) {
  auto *p = static_cast<char *>(data);
  while (bytes) {
    pollfd waiting = {peers[peer].fd, POLLIN, 0};
    int ready = poll(&waiting, 1, millisecondsUntil(deadline));
    if (ready < 0 && errno == EINTR) {
      continue;
    }
    if (ready <= 0) {
      fail(PKB_ERROR_BOOTSTRAP, "rank ", self, " waited ", timeout, " s for rank ", peer, " in ", what,
           "; it is alive but does not come to this step");
    }
    iovec vector = {p, bytes};
    msghdr message = {};
    message.msg_iov = &vector;
    message.msg_iovlen = 1;
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    ssize_t n = recvmsg(peers[peer].fd, &message, MSG_CMSG_CLOEXEC);
    if (n < 0 && errno == EINTR) {
      continue;
    }
    if (n <= 0) {
      failGone(peer, what);
    }
    for (cmsghdr *header = CMSG_FIRSTHDR(&message); header; header = CMSG_NXTHDR(&message, header)) {
      if (header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS) {
        int received;
        std::memcpy(&received, CMSG_DATA(header), sizeof(int));
        if (fd && *fd < 0) {
          *fd = received;
        } else {
          close(received);
        }
      }
    }
    p += n;
    bytes -= size_t(n);
  }
}

std::string Bootstrap::receive(int peer, const std::string &what, Clock::time_point deadline, int *fd) {
  Frame frame = {};
  read(peer, &frame, sizeof(frame), deadline, what, fd);
  if (frame.magic != kMagic || frame.nameBytes > kMaxBlob || frame.payloadBytes > kMaxBlob) {
    fail(PKB_ERROR_BOOTSTRAP, "rank ", peer, " sent something else than a message during ", what);
  }
  std::string name(frame.nameBytes, '\0'), payload(frame.payloadBytes, '\0');
  read(peer, name.data(), name.size(), deadline, what, fd);
  read(peer, payload.data(), payload.size(), deadline, what, fd);
  if (name != what || frame.sequence != peers[peer].sequence) {
    fail(PKB_ERROR_BOOTSTRAP, "rank ", self, " is at '", what, "' and rank ", peer, " at '", name,
         "'; all ranks must load and call the same programs in the same order");
  }
  return payload;
}

std::optional<std::tuple<int, std::string, std::string>> Bootstrap::peek(const std::string &prefix) {
  std::unique_lock<std::mutex> lock(busy, std::try_to_lock);
  if (!lock) {
    return std::nullopt;
  }
  for (int rank = 0; rank < size(); ++rank) {
    char bytes[4096];
    Frame frame;
    ssize_t n = peers[rank].fd < 0 ? -1 : recv(peers[rank].fd, bytes, sizeof(bytes), MSG_PEEK | MSG_DONTWAIT);
    if (n < ssize_t(sizeof(frame))) {
      continue;
    }
    std::memcpy(&frame, bytes, sizeof(frame));
    size_t have = size_t(n) - sizeof(frame);
    if (frame.magic != kMagic || frame.nameBytes > have ||
        std::string(bytes + sizeof(frame), frame.nameBytes).compare(0, prefix.size(), prefix) != 0) {
      continue;
    }
    size_t payload = std::min<size_t>(frame.payloadBytes, have - frame.nameBytes);
    return std::make_tuple(rank, std::string(bytes + sizeof(frame), frame.nameBytes),
                           std::string(bytes + sizeof(frame) + frame.nameBytes, payload));
  }
  return std::nullopt;
}

void Bootstrap::hangUp() {
  for (Peer &peer : peers) {
    if (peer.fd >= 0) {
      shutdown(peer.fd, SHUT_RDWR);
    }
  }
}

std::vector<std::string> Bootstrap::allgather(const std::string &what, const std::string &mine,
                                              const std::vector<int> &ranks) {
  std::lock_guard<std::mutex> lock(busy);
  if (mine.size() > kMaxBlob) {
    fail(PKB_ERROR_INTERNAL, "a message of ", mine.size(), " bytes in ", what, " is longer than ", kMaxBlob);
  }
  auto deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(timeout));
  std::vector<std::string> result;
  for (int rank : ranks) {
    if (rank != self) {
      send(rank, what, mine, -1);
    }
  }
  for (int rank : ranks) {
    result.push_back(rank == self ? mine : receive(rank, what, deadline, nullptr));
    peers[rank].sequence++;
  }
  return result;
}

std::vector<int> Bootstrap::exchangeFds(const std::string &what, int fd, const std::vector<int> &ranks) {
  std::lock_guard<std::mutex> lock(busy);
  auto deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(timeout));
  std::vector<int> result;
  try {
    for (int rank : ranks) {
      if (rank != self) {
        send(rank, what, "", fd);
      }
    }
    for (int rank : ranks) {
      result.push_back(-1);
      if (rank != self) {
        receive(rank, what, deadline, &result.back());
        if (result.back() < 0) {
          fail(PKB_ERROR_BOOTSTRAP, "rank ", rank, " passed no file descriptor during ", what,
               "; check the limit of open files");
        }
      }
      peers[rank].sequence++;
    }
  } catch (...) {
    for (int received : result) {
      if (received >= 0) {
        close(received);
      }
    }
    throw;
  }
  return result;
}

void Bootstrap::agree(const std::string &what, const std::optional<std::string> &error, const std::vector<int> &ranks,
                      int status) {
  std::string mine;
  if (error) {
    mine = char('0' + status) + error->substr(0, 4000);
  }
  auto verdicts = allgather(what, mine, ranks);
  if (error) {
    fail(pkb_status(status), *error);
  }
  for (size_t i = 0; i < ranks.size(); ++i) {
    if (!verdicts[i].empty()) {
      fail(pkb_status(verdicts[i][0] - '0'), "rank ", ranks[i], ": ", verdicts[i].substr(1));
    }
  }
}

int Bootstrap::waitForLostPeer(int milliseconds) {
  std::vector<pollfd> waiting = {{wakeFd, POLLIN, 0}};
  std::vector<int> owner = {-1};
  for (int i = 0; i < size(); ++i) {
    if (i == self || peers[i].gone) {
      continue;
    }
    waiting.push_back({peers[i].fd, POLLRDHUP, 0});
    owner.push_back(i);
    if (peers[i].pidfd >= 0) {
      waiting.push_back({peers[i].pidfd, POLLIN, 0});
      owner.push_back(i);
    }
  }
  if (poll(waiting.data(), waiting.size(), milliseconds) <= 0) {
    return -1;
  }
  for (size_t i = 1; i < waiting.size(); ++i) {
    if (waiting[i].revents) {
      peers[owner[i]].gone = true;
      return owner[i];
    }
  }
  return -1;
}

void Bootstrap::wake() {
  uint64_t one = 1;
  ssize_t n = write(wakeFd, &one, sizeof(one));
  (void)n; // only a full counter fails, and then it is awake
}

} // namespace pkb_rt
