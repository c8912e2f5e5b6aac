// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The manifest at the head of an emitted program, checked and turned into flat structs (docs/Rationale/Runtime.md).
#ifndef PKB_RUNTIME_LIB_MANIFEST_H
#define PKB_RUNTIME_LIB_MANIFEST_H

#include "pkb_rt/pkb.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace pkb_rt {

/// Element type, sizes and strides (both in elements) of a tensor.
struct Shape {
  int32_t dtype = PKB_F32;
  std::vector<int64_t> sizes, strides;

  int64_t elements() const;
  /// Bytes from the first element to the end of the last one; 0 for an empty tensor.
  int64_t extentBytes() const;
  /// Dense in row-major order (dimensions of size 1 do not matter).
  bool contiguous() const;
};

enum class SlotKind { Argument, View, Temporary, Output, Aten, Constant };

struct Slot {
  SlotKind kind = SlotKind::Argument;
  int32_t index = 0;  // Argument, Output: its number
  int32_t of = -1;    // View: the slot it views
  int64_t offset = 0; // bytes: View from the start of `of`; Temporary in the workspace; Constant in the data file
  int32_t root = -1;  // the slot that owns the memory (itself unless View)
  int64_t rootOffset = 0;
  bool host = false;  // Aten, and views of it: memory of the host
  Shape shape;
};

struct Pointer {
  int32_t slot = 0;   // -1: null, a tensor that does not exist on this rank
  int64_t offset = 0; // bytes
};

enum class StepKind { Launch, Aten, Copy, Library, Transfer };

/// What a call of a `library` or `transfer` step does. The first five are collectives of the whole group; a message goes from one rank to
/// one other, or to itself.
enum class LibraryFunction { AllReduce, ReduceScatter, AllGather, Broadcast, Reduce, Message };
enum class LibraryReduce { None, Sum, Avg, Min, Max, Prod, PremulSum };

/// One of the calls that a step makes together. Ranks are positions in the group.
struct LibraryCall {
  LibraryFunction function = LibraryFunction::Message;
  Pointer from, to;
  int64_t count = 0;   // elements: of the message, of the part that one rank contributes or (reduce_scatter) gets
  int32_t root = 0;    // Broadcast, Reduce
  int32_t source = 0, dest = 0; // Message
  int32_t row = -1;             // of the group; -1: all rows
};

struct Step {
  StepKind kind = StepKind::Launch;
  std::string source; // "model.py:8", for messages
  // Launch
  int32_t kernel = 0, group = 0;
  uint32_t grid = 0;
  std::vector<Pointer> pointers;
  // Copy
  int32_t from = 0, to = 0;
  // Library, Transfer (which has messages alone, `to` being an offset in the staging memory of the destination)
  std::vector<LibraryCall> calls;
  LibraryReduce reduce = LibraryReduce::None;
  std::vector<double> factors; // of PremulSum: one for each rank of the group, row by row
  int32_t dtype = PKB_U8;
  // Aten: the step as JSON, for the C table; the slots it names at all, and those among its results
  std::string json;
  std::vector<int32_t> uses, makes;
  bool mutates = false;   // Aten: it writes arguments in place
  bool readsHost = false; // Aten: the host waits for a number that the device has computed
};

struct Kernel {
  std::string name;
  uint32_t block = 0, minBlocks = 1;
  uint32_t gridMin = 1, gridMax = 0;
  int32_t ranks = 0, pointers = 0;
};

struct Group {
  std::vector<std::vector<int>> rows; // the partition: lists of ranks
};

struct Argument : Shape {
  bool written = false;   // a call changes what lies there
  int32_t aliasOf = -1;   // the argument in whose memory it lies; -1: in its own
  int64_t aliasBytes = 0; // from the start of that one
};

struct Output {
  int32_t slot = 0;
  int32_t aliasOf = -1;    // argument, or arguments + output whose memory it shares; -1: its own memory
  int64_t aliasOffset = 0; // bytes
  Shape shape;
};

/// What one rank needs of an emitted program.
struct Manifest {
  std::string text;    // the JSON, with the rank's own entry of "programs" in place of the list
  std::string program; // id: 64 hex digits
  std::string name;
  std::string dataSha256; // empty: no data file
  int32_t worldSize = 0;
  int64_t regionBytes = 0, workspaceBytes = 0;
  std::vector<Group> groups;
  std::vector<bool> channelOn;  // by group: whether some rank's program launches a kernel on it
  bool meets = false;           // some rank's program launches a kernel or calls a communication library
  std::vector<Argument> arguments;
  std::vector<Output> outputs;
  std::vector<Slot> slots;
  std::vector<Kernel> kernels;
  std::vector<Step> steps;
  std::map<uint64_t, std::string>
      sites; // "kernel all_reduce_0 (model.py:8)" by id of an ordering primitive, for reports

  bool isByAten(const Step &step) const; // an `aten` step, or a copy that is not a memcpy on the device
  bool needsAten() const; // an `aten` step, or a copy that is not one dense block
};

/// Parses the text of an emitted `.cu` for one rank. `path` is for messages. Throws PKB_ERROR_PROGRAM.
Manifest parseProgram(const std::string &path, const std::string &text, int rank);

/// The id of a program: SHA-256 over its text in which the 64 hex digits of the manifest's "program" are zeros.
std::string programId(const std::string &text, const std::string &recorded);

/// Bytes of one element, and torch's name of the type.
int64_t dtypeBytes(int32_t dtype);
const char *dtypeName(int32_t dtype);

} // namespace pkb_rt

#endif // PKB_RUNTIME_LIB_MANIFEST_H
