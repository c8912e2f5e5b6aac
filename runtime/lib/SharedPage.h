// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Host memory that ranks share, for what one of them must be able to say while another is not listening.
#ifndef PKB_RUNTIME_LIB_SHAREDPAGE_H
#define PKB_RUNTIME_LIB_SHAREDPAGE_H

#include "Bootstrap.h"

#include <cstdint>
#include <string>
#include <vector>

namespace pkb_rt {

/// Zeroed memory, the same on all of `ranks`.
class SharedPage {
public:
  /// Collective over `ranks` (the own one among them). `what` names it in messages. Throws PKB_ERROR_BOOTSTRAP.
  SharedPage(Bootstrap &bootstrap, const std::vector<int> &ranks, size_t bytes, const std::string &what);
  ~SharedPage();
  SharedPage(const SharedPage &) = delete;
  SharedPage &operator=(const SharedPage &) = delete;

  void *data() const { return memory; }

private:
  void *memory = nullptr;
  size_t bytes;
};

/// Each rank's last words: why it ended the context. They outlive the rank's sockets and its process.
class LastWords {
public:
  LastWords(Bootstrap &bootstrap);
  /// Writes the own words, of which the first are kept.
  void write(int rank, const std::string &text);
  /// "" if the rank has left none.
  std::string read(int rank) const;

private:
  static constexpr size_t kBytes = 2048; // per rank: length (u32), text
  SharedPage page;
};

/// What the ranks of a group have agreed on about its channels: whoever comes first decides, nobody waits.
class Agreements {
public:
  Agreements(Bootstrap &bootstrap, const std::vector<int> &ranks);

  static constexpr size_t kMaxChannels = 64;
  /// The channel that belongs to `key`; the first rank to ask takes the lowest that is free. kMaxChannels if none is left.
  size_t channelOf(uint64_t key);
  /// The value under `key`, and the rank that wrote it.
  struct Entry {
    uint64_t value = 0; // below 2^48
    int rank = 0;
  };
  /// Writes (value, rank) under `key` unless another rank has done so; what then stands there. When the table is full, the arguments.
  Entry settle(uint64_t key, uint64_t value, int rank);
  /// What stands under `key`; false if nothing.
  bool find(uint64_t key, Entry &entry);

private:
  static constexpr size_t kEntries = 16384; // a power of two
  struct Cell {
    uint64_t key, value; // 0: free, not yet written
  };
  struct Table {
    uint64_t owners[kMaxChannels];
    Cell cells[kEntries];
  };
  Cell *cellOf(uint64_t key, bool insert);
  Table &table() { return *static_cast<Table *>(page.data()); }

  SharedPage page;
};

/// Which programs each rank of a group calls on its channels, one after the other. Nobody waits for it: who looks finds out that ranks differ.
class CallOrder {
public:
  CallOrder(Bootstrap &bootstrap, const std::vector<int> &ranks);

  /// Call `number` of a member on a channel, counted from 1, of program `key`; `digest` is one of all keys up to that.
  void write(size_t channel, size_t member, uint64_t number, uint64_t digest, uint64_t key);
  /// The calls of a member are no longer all that its device sees: a graph of them is replayed.
  void leaveOut(size_t channel, size_t member);

  /// The first call known in which another member's list differs from that of `member`.
  struct Difference {
    size_t other = 0;
    uint64_t number = 0;
    uint64_t mine = 0, theirs = 0; // keys; 0: the difference lies before the calls that are still known
  };
  bool find(size_t channel, size_t member, Difference &difference) const;

private:
  static constexpr size_t kKept = 256; // calls of a channel
  static constexpr int kDigestBits = 40;
  struct Call {
    uint64_t mark, key; // mark: the low 24 bits of the number, then of the digest; 0: not yet written
  };
  struct List {
    uint64_t leftOut;
    Call calls[kKept];
  };
  List &list(size_t channel, size_t member) const { return static_cast<List *>(page.data())[channel * members + member]; }

  size_t members;
  SharedPage page;
};

} // namespace pkb_rt

#endif // PKB_RUNTIME_LIB_SHAREDPAGE_H
