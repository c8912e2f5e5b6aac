// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Mechanisms.cpp - which mechanism can carry out what --------------===//

#include "pkb/Analysis/Mechanisms.h"

#include "pkb_rt/layout.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace pkb;
using llvm::formatv;

//===----------------------------------------------------------------------===//
// The words of the table
//===----------------------------------------------------------------------===//

namespace {

// Collectives.
enum : uint32_t { Moves = 1, Reduces = 2, Waits = 4 };

// Reductions, by their kinds.
enum : uint32_t { NoReduction = 1, Sum = 2, Avg = 4, Min = 8, Max = 16, Prod = 32, Bitwise = 64, PremulSum = 128 };

// Elements.
enum : uint32_t {
  F64 = 1,
  F32 = 2,
  F16 = 4,
  BF16 = 8,
  F8 = 16,
  I8 = 32,
  I16 = 64,
  I32 = 128,
  I64 = 256,
  U8 = 512,
  UWide = 1024,
  Bool = 2048,
  Complex = 4096,
  Other = 8192,
  Float = F64 | F32 | F16 | BF16 | F8,
  Integer = I8 | I16 | I32 | I64 | U8 | UWide,
  Real = Float | Integer,
  Number = Real | Complex,
  AnyElement = Number | Bool | Other
};

enum class Condition { FitsChannel, FitsStaging, NotEmpty, Even, FitsLines, HasCopyEngines, WholeVectors, FitsSlots };

struct Row {
  xfer::Mechanism mechanism;
  uint32_t collectives, reductions, elements;
};
struct Need {
  xfer::Mechanism mechanism;
  Condition condition;
};

constexpr Row rows[] = {
#define PKB_CAN(mechanism, collectives, reductions, elements) {xfer::Mechanism::mechanism, collectives, reductions, elements},
#include "pkb/Analysis/Mechanisms.def"
};
constexpr Need needs[] = {
#define PKB_NEEDS(mechanism, condition, text) {xfer::Mechanism::mechanism, Condition::condition},
#include "pkb/Analysis/Mechanisms.def"
};

} // namespace

static uint32_t classOf(xfer::Collective collective) {
  if (collective == xfer::Collective::Barrier)
    return Waits;
  return isReduction(collective) ? Reduces : Moves;
}

static uint32_t classOf(std::optional<comm::ReduceKind> kind) {
  if (!kind)
    return NoReduction;
  switch (*kind) {
  case comm::ReduceKind::Sum:
    return Sum;
  case comm::ReduceKind::Avg:
    return Avg;
  case comm::ReduceKind::Min:
    return Min;
  case comm::ReduceKind::Max:
    return Max;
  case comm::ReduceKind::Prod:
    return Prod;
  case comm::ReduceKind::BAnd:
  case comm::ReduceKind::BOr:
  case comm::ReduceKind::BXor:
    return Bitwise;
  case comm::ReduceKind::PremulSum:
    return PremulSum;
  }
  return 0;
}

static uint32_t classOf(Type element) {
  if (!element)
    return Other;
  if (isa<ComplexType>(element))
    return Complex;
  if (element.isF64())
    return F64;
  if (element.isF32())
    return F32;
  if (element.isF16())
    return F16;
  if (element.isBF16())
    return BF16;
  if (isa<FloatType>(element))
    return element.getIntOrFloatBitWidth() == 8 ? F8 : Other;
  auto integer = dyn_cast<IntegerType>(element);
  if (!integer)
    return Other;
  switch (integer.getWidth()) {
  case 1:
    return Bool;
  case 8:
    return integer.isUnsigned() ? U8 : I8;
  case 16:
    return integer.isUnsigned() ? UWide : I16;
  case 32:
    return integer.isUnsigned() ? UWide : I32;
  case 64:
    return integer.isUnsigned() ? UWide : I64;
  default:
    return Other;
  }
}

//===----------------------------------------------------------------------===//
// Questions
//===----------------------------------------------------------------------===//

xfer::Collective pkb::collectiveNamed(Operation *op) {
  StringRef name = op->getName().stripDialect();
  name.consume_back("_v");
  return xfer::symbolizeCollective(name).value_or(xfer::Collective::None);
}

bool pkb::isReduction(xfer::Collective collective) {
  return collective == xfer::Collective::AllReduce || collective == xfer::Collective::ReduceScatter || collective == xfer::Collective::Reduce;
}

bool pkb::talksToAll(xfer::Collective collective) {
  return collective == xfer::Collective::AllReduce || collective == xfer::Collective::ReduceScatter || collective == xfer::Collective::AllGather ||
         collective == xfer::Collective::AllToAll;
}

MechanismQuestion pkb::questionOf(comm::CollectiveOpInterface op, int64_t arenaBytes, int64_t copyEngines) {
  MechanismQuestion question;
  question.collective = collectiveNamed(op);
  question.reduction = op.getReduceKind();
  question.ranks = op.getGroup().getSize();
  question.arenaBytes = arenaBytes;
  question.copyEngines = copyEngines;
  question.even = talksToAll(question.collective);
  if (op.getCollectiveInputs().empty())
    return question;
  auto input = cast<RankedTensorType>(op.getCollectiveInputs().front().getType());
  question.element = input.getElementType();
  int64_t bytes = xfer::elementBytes(question.element);
  question.messageBytes = input.getNumElements() * bytes / op.getPartCount();
  question.wholeVectors = question.messageBytes % 16 == 0;
  if (auto uneven = dyn_cast<comm::UnevenOpInterface>(op.getOperation())) {
    question.messageBytes = *llvm::max_element(uneven.getCounts()) * bytes;
    question.even &= question.ranks == 1 || !llvm::is_contained(uneven.getCounts(), 0);
    question.wholeVectors = llvm::all_of(uneven.getCounts(), [&](int64_t count) { return count * bytes % 16 == 0; });
  }
  return question;
}

/// What a condition says of `question`; nothing if it holds.
static std::optional<std::string> violation(Condition condition, const MechanismQuestion &question) {
  int64_t bytes = question.messageBytes, ranks = question.ranks;
  int64_t half = ranks <= PKB_MAX_RANKS ? pkb_stage_bytes(ranks, question.arenaBytes) : 0;
  switch (condition) {
  case Condition::FitsChannel:
    if (ranks > PKB_MAX_RANKS)
      return formatv("{0} ranks exceed the {1} of a channel", ranks, PKB_MAX_RANKS);
    break;
  case Condition::FitsStaging:
    if (ranks * 4096 > half)
      return formatv("staging of {0} bytes exceeds the {1} bytes of the arena's half", ranks * 4096, half);
    break;
  case Condition::NotEmpty:
    if (bytes == 0 && ranks > 1)
      return std::string("an empty message has nothing that a rank could wait for");
    break;
  case Condition::Even:
    if (!question.even)
      return std::string("some messages are empty, or some ranks send none");
    break;
  case Condition::FitsLines:
    if (int64_t room = pkb_ll_payload_bytes(ranks); bytes > room)
      return formatv("message of {0} bytes exceeds the {1} bytes of an LL slot", bytes, room);
    break;
  case Condition::HasCopyEngines:
    if (question.copyEngines < 1)
      return std::string("the machine has no copy engines");
    break;
  case Condition::WholeVectors:
    if (!question.wholeVectors)
      return std::string("a message is no multiple of 16 bytes");
    break;
  case Condition::FitsSlots:
    // Each message has at most 256 chunks of whole 512 bytes.
    if (bytes > half / ranks - int64_t(512) * PKB_MAX_BLOCKS)
      return formatv("{0} messages of {1} bytes exceed the {2} bytes of the arena's half", ranks, bytes, half);
    break;
  }
  return std::nullopt;
}

std::optional<std::string> pkb::whyIllegal(xfer::Mechanism mechanism, const MechanismQuestion &question) {
  uint32_t collective = classOf(question.collective), reduction = classOf(question.reduction), element = classOf(question.element);
  bool known = false, carries = false, combines = false, whole = false;
  for (const Row &row : rows) {
    if (row.mechanism != mechanism)
      continue;
    known = true;
    carries |= (row.collectives & collective) != 0;
    combines |= (row.collectives & collective) && (row.reductions & reduction);
    whole |= (row.collectives & collective) && (row.reductions & reduction) && (row.elements & element);
  }
  if (!known)
    return std::string("it carries out no collective");
  if (!carries)
    return formatv("it has no {0}", xfer::stringifyCollective(question.collective)).str();
  if (!combines)
    return formatv("it has no reduction {0}", comm::stringifyReduceKind(*question.reduction)).str();
  if (!whole) {
    std::string text;
    llvm::raw_string_ostream(text) << "it has no "
                                   << (question.reduction ? comm::stringifyReduceKind(*question.reduction) : xfer::stringifyCollective(question.collective))
                                   << " of " << question.element;
    return text;
  }
  for (const Need &need : needs)
    if (need.mechanism == mechanism)
      if (std::optional<std::string> reason = violation(need.condition, question))
        return reason;
  return std::nullopt;
}
