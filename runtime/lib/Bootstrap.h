// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How the ranks of a context meet: a full mesh of Unix stream sockets whose addresses are files in one directory. Used
// for small blobs, file descriptors and barriers, all in the same order on every rank; afterwards a closed socket tells
// that its rank is gone.
#ifndef PKB_RUNTIME_LIB_BOOTSTRAP_H
#define PKB_RUNTIME_LIB_BOOTSTRAP_H

#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace pkb_rt {

class Bootstrap {
public:
  /// Meets the other ranks. Throws PKB_ERROR_BOOTSTRAP naming the ranks that did not come within `timeout` seconds.
  Bootstrap(const std::string &directory, int rank, int size, double timeout);
  ~Bootstrap();
  Bootstrap(const Bootstrap &) = delete;
  Bootstrap &operator=(const Bootstrap &) = delete;

  int rank() const { return self; }
  int size() const { return int(peers.size()); }
  const std::vector<int> &everyone() const { return all; }

  /// Every rank of `ranks` (which must contain the own one) gets every rank's blob, in the order of `ranks`. `what`
  /// names the step in messages and must agree between the ranks. Blobs of at most kMaxBlob bytes.
  std::vector<std::string> allgather(const std::string &what, const std::string &mine, const std::vector<int> &ranks);
  /// Like allgather, for one file descriptor each. The caller owns the returned descriptors; the own entry is -1.
  std::vector<int> exchangeFds(const std::string &what, int fd, const std::vector<int> &ranks);
  void barrier(const std::string &what, const std::vector<int> &ranks) { allgather(what, "", ranks); }
  /// Collective verdict: throws on every rank if any rank brings an error text; the own text is kept as it is, another
  /// rank's is prefixed with its rank.
  void agree(const std::string &what, const std::optional<std::string> &error, const std::vector<int> &ranks,
             int status);

  /// A message that a peer has sent while this rank is in no collective step, if it begins with `prefix`: (rank, name,
  /// payload). It stays where it is. May be called by another thread than the rest.
  std::optional<std::tuple<int, std::string, std::string>> peek(const std::string &prefix);
  /// Ends all connections, so that the peers notice, but keeps the sockets: safe while the other thread uses them.
  void hangUp();
  /// Waits up to `milliseconds` for a peer to go away (socket closed or process ended), or for wake(). Returns the
  /// rank, or -1. May be called by another thread than the rest.
  int waitForLostPeer(int milliseconds);
  void wake();
  /// Closes all sockets at once, so that the peers notice. The object can only be destroyed afterwards.
  void closeAll();

  /// May be empty. Asked for the reason when a peer is gone; "" if it left none.
  std::function<std::string(int)> whyGone;

  static constexpr size_t kMaxBlob = 64 << 10;

private:
  struct Peer {
    int fd = -1;
    int pidfd = -1;
    bool gone = false;
    uint32_t sequence = 0; // messages exchanged with this peer, to notice ranks that are out of step
  };
  using Clock = std::chrono::steady_clock;

  void connectPeers(double timeout);
  /// Says who we are and learns who the other is; -1 if it is not a rank of this run.
  int handshake(int fd, Clock::time_point deadline);
  [[noreturn]] void failGone(int peer, const std::string &what) const;
  void send(int peer, const std::string &what, const std::string &payload, int fd);
  std::string receive(int peer, const std::string &what, Clock::time_point deadline, int *fd);
  void read(int peer, void *data, size_t bytes, Clock::time_point deadline, const std::string &what, int *fd);
  std::string listNames(const std::vector<int> &ranks) const;
  void watchProcess(int peer);

  std::string directory;
  int self;
  std::vector<int> all;
  std::vector<Peer> peers;
  double timeout;
  int listener = -1;
  int wakeFd = -1;
  std::string ownPath;
  std::mutex busy; // held during a collective step
};

} // namespace pkb_rt

#endif // PKB_RUNTIME_LIB_BOOTSTRAP_H
