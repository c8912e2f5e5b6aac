//===- Bundle.h - a bundle in memory ----------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What docs/Rationale/Bundle.md describes, read and checked: members intact, one
// capture, all ranks there, every index in range. Events stay JSON; what they
// mean is the importer's business.
//
//===----------------------------------------------------------------------===//

#ifndef LIB_FRONTEND_BUNDLE_H
#define LIB_FRONTEND_BUNDLE_H

#include "dialects/Aten/IR/Aten.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <optional>
#include <string>
#include <vector>

namespace pkb::frontend {

/// A line of the user's program.
struct Site {
  std::string file;
  int64_t line = 0;
  std::string text; // of that line; empty where the record does not have it
  std::vector<std::pair<std::string, int64_t>> callers; // files and lines that led to it, innermost first
};

enum class Origin { Input, Literal, Op };

struct Storage {
  int64_t id = 0;
  int64_t bytes = 0;
  Origin origin = Origin::Op;
  bool onHost = false;
};

/// Sizes, strides and offset count elements of `dtype`.
struct Tensor {
  int64_t id = 0;
  int64_t storage = 0; // index into RankProgram::storages
  aten::ScalarType dtype = aten::ScalarType::Float32;
  llvm::SmallVector<int64_t> sizes;
  llvm::SmallVector<int64_t> strides;
  int64_t offset = 0;
  bool conjugate = false; // the value is the conjugate of what memory holds
  bool negative = false;  // likewise, the negative
};

struct Literal {
  int64_t tensor = 0; // index into RankProgram::tensors
  std::string file;
  int64_t site = -1;
};

/// True for what may be an id: small enough for every table.
inline bool isId(int64_t id) { return id >= 0 && id < (int64_t(1) << 32); }

enum class EventKind { Op, Collective, Wait };

struct Event {
  EventKind kind = EventKind::Op;
  int64_t site = -1; // index into RankProgram::sites; -1: not known
  const llvm::json::Object *json = nullptr;
};

/// The recorded program of one rank. `events`, `inputs` and `outputs` point
/// into `root`.
struct RankProgram {
  RankProgram() = default;
  RankProgram(RankProgram &&) = default;
  RankProgram &operator=(RankProgram &&) = default;

  int64_t rank = 0;
  std::unique_ptr<llvm::json::Value> root;
  std::vector<Storage> storages;
  std::vector<Tensor> tensors;
  llvm::DenseMap<int64_t, int64_t> tensorOfId;
  std::vector<Literal> literals;
  std::vector<Event> events;
  std::vector<Site> sites;
  const llvm::json::Value *inputs = nullptr;
  const llvm::json::Value *outputs = nullptr;

  /// "model.py:8", or "an unknown line".
  std::string where(int64_t site) const;
  /// The index of the tensor with that id.
  llvm::Expected<int64_t> getTensor(int64_t id) const;
};

struct Bundle {
  int64_t worldSize = 0;
  std::string capture;
  std::string torch;
  std::string function; // qualified name of the user's function
  std::string sha256;   // of the whole file, in hex
  llvm::DenseMap<int64_t, llvm::SmallVector<int64_t>> groups; // ranks by id
  // By rank. Empty where the rank's record is that of rank 0 but for its number.
  std::vector<std::optional<RankProgram>> ranks;
  llvm::StringMap<std::string> members;

  /// The program of a rank; that of rank 0 itself where they are the same text.
  const RankProgram &getProgram(int64_t rank) const {
    return ranks[rank] ? *ranks[rank] : *ranks[0];
  }
};

/// Reads and checks a bundle: one file, or programs of torch.export, one file for
/// all of `worldSize` ranks (0: the program says it) or one for each. The error is
/// one line without the file's name.
llvm::Expected<Bundle> readBundle(llvm::ArrayRef<llvm::StringRef> files,
                                  int64_t worldSize);

} // namespace pkb::frontend

#endif // LIB_FRONTEND_BUNDLE_H
