// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Channel.h - symmetric memory, flags, and who knows what --*- C++ -*-===//
//
// What the ranks of one group share. It lives from call to call, as on the device. Beside the bytes it keeps, for each
// 16 bytes, who has written them and when they were read last, and for each block what it can know of the others: so a
// read or a write that nothing orders is found also where this run happened to do it in the right order. Private to
// lib/Reference.
//
//===----------------------------------------------------------------------===//

#ifndef PKB_LIB_REFERENCE_CHANNEL_H
#define PKB_LIB_REFERENCE_CHANNEL_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"

#include <array>
#include <deque>
#include <memory>
#include <vector>

namespace pkb::reference {

/// A point in what one block of one rank does: the number of the call on the channel, and of the step within it.
struct Moment {
  int64_t call = 0, step = 0;
  bool operator<(const Moment &other) const { return call != other.call ? call < other.call : step < other.step; }
};

/// Where something happened.
struct Event {
  int64_t rank = -1, block = 0; // rank -1: never
  Moment moment;
};

/// By rank of the group: the latest moment of its block of the same number that one knows to have passed.
using Clock = llvm::SmallVector<Moment>;

/// Where a chunk lies in a rank's region: a buffer's slot, or the LL lines of a source. Begins at 16 bytes.
struct SlotAddress {
  bool lines;
  int64_t half;   // parity
  int64_t source; // lines only
  int64_t offset; // bytes of payload
};

class Channel;

/// One block of one rank, as far as the channel knows it.
class BlockView {
public:
  /// Begins a call; `number` is that of the call.
  BlockView(Channel &channel, int64_t rank, int64_t block, int64_t call);

  /// Writes `bytes` into the region of `target`. The error says whose read or write it is not ordered after.
  llvm::Error write(int64_t target, SlotAddress address, llvm::ArrayRef<char> bytes);
  /// Reads from the own region what `source` has written. The error says why it must not. LL lines must have arrived.
  llvm::Error read(int64_t source, SlotAddress address, llvm::MutableArrayRef<char> bytes);
  /// True if the lines of this call are there; learns what their writer knew.
  bool arrived(SlotAddress address, int64_t bytes);

  /// Raises the flag of this block on `target` to `progress` chunks of this call. The error: it had a larger value.
  llvm::Error signal(int64_t target, int64_t progress);
  /// True if `source` has signalled `progress` chunks of this call; learns what it knew when it did so first.
  bool poll(int64_t source, int64_t progress);
  /// Chunks of this call that `source` has signalled to this block.
  int64_t seen(int64_t source) const;

  /// Ends the block: the next call of this rank knows what it knew.
  void finish();

private:
  bool knows(const Event &event) const;
  void learn(const Clock &clock);
  std::string unordered(llvm::StringRef done, const Event &event) const;

  Channel &channel;
  int64_t rank, block, call;
  Clock clock;
};

class Channel {
public:
  explicit Channel(int64_t size) : size(size), ranks(size) {}

  /// The number of the next call of `rank` on this channel: 1, 2, ...
  int64_t nextCall(int64_t rank) const { return ranks[rank].calls + 1; }
  int64_t beginCall(int64_t rank) { return ++ranks[rank].calls; }

private:
  friend class BlockView;

  /// 16 bytes of a region.
  struct Cell {
    std::array<char, 16> bytes{};
    Event written, read;
    std::shared_ptr<const Clock> clock; // of the writer; lines only
  };
  struct Signal {
    int64_t call, progress;
    std::shared_ptr<const Clock> clock;
  };
  /// What a rank knows of one other between calls.
  struct Knowledge {
    int64_t call = 0;                        // has begun, so all earlier ones have ended
    llvm::DenseMap<int64_t, Moment> byBlock; // of that call or an earlier one
  };
  struct Rank {
    explicit Rank(int64_t size = 0) : known(size) {}
    int64_t calls = 0;
    llvm::DenseMap<int64_t, Cell> cells;                                   // by address / 16
    llvm::DenseMap<std::pair<int64_t, int64_t>, std::deque<Signal>> flags; // by (source, block)
    std::vector<Knowledge> known;
  };
  static int64_t keyOf(SlotAddress address);

  int64_t size;
  std::vector<Rank> ranks;
};

} // namespace pkb::reference

#endif // PKB_LIB_REFERENCE_CHANNEL_H
