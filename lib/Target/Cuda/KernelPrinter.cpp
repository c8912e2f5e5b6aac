// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- KernelPrinter.cpp - one kernel as C++ ----------------------------===//
//
// One op, one call or one expression. Constants are printed where they are used.
//
//===----------------------------------------------------------------------===//

#include "KernelPrinter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"

#include <functional>

using namespace mlir;
using namespace pkb;
using llvm::formatv;

std::string pkb::elementTypeName(Type type) {
  return llvm::TypeSwitch<Type, std::string>(type)
      .Case([](Float64Type) { return "double"; })
      .Case([](Float32Type) { return "float"; })
      .Case([](Float16Type) { return "pkb::f16"; })
      .Case([](BFloat16Type) { return "pkb::bf16"; })
      .Case([](Float8E4M3FNType) { return "pkb::f8e4m3"; })
      .Case([](Float8E5M2Type) { return "pkb::f8e5m2"; })
      .Case([](IntegerType integer) -> std::string {
        if (integer.getWidth() == 1)
          return "bool";
        return (integer.isUnsigned() ? "uint" : "int") + std::to_string(integer.getWidth()) + "_t";
      })
      .Default([](Type) { return std::string(); });
}

std::string KernelPrinter::vectorArguments(Type type) {
  auto vector = cast<VectorType>(type);
  return formatv("{0}, {1}", elementTypeName(vector.getElementType()), vector.getNumElements());
}

std::string KernelPrinter::declareName(StringRef hint) {
  unsigned number = taken[hint]++;
  return number == 0 ? hint.str() : (hint + "_" + Twine(number)).str();
}

std::string KernelPrinter::declare(Value value, StringRef hint) { return names[value] = declareName(hint); }

/// A number as a literal of C++; one of 64 bits has 17 digits, all others 9.
static std::string literalOf(Attribute value) {
  if (auto integer = dyn_cast<IntegerAttr>(value)) {
    if (integer.getType().isInteger(1))
      return integer.getValue().isZero() ? "false" : "true";
    return std::to_string(integer.getValue().getSExtValue());
  }
  APFloat number = cast<FloatAttr>(value).getValue();
  bool wide = cast<FloatAttr>(value).getType().isF64();
  bool lost = false;
  number.convert(wide ? APFloat::IEEEdouble() : APFloat::IEEEsingle(), APFloat::rmNearestTiesToEven, &lost);
  if (!number.isFinite()) {
    std::string bits = llvm::utohexstr(number.bitcastToAPInt().getZExtValue(), /*LowerCase=*/true);
    return wide ? "pkb::detail::bits_of<double>(uint64_t(0x" + bits + "))" : "pkb::detail::bits_of<float>(uint32_t(0x" + bits + "))";
  }
  SmallString<32> digits;
  number.toString(digits, wide ? 17 : 9, /*FormatMaxPadding=*/0);
  std::string text = digits.str().str();
  if (text.find_first_of(".Ee") == std::string::npos)
    text += ".0";
  return wide ? text : text + "f";
}

std::string KernelPrinter::use(Value value) {
  if (auto constant = value.getDefiningOp<arith::ConstantOp>()) {
    if (isa<IntegerAttr>(constant.getValue()))
      return literalOf(constant.getValue());
    if (auto splat = dyn_cast<SplatElementsAttr>(constant.getValue()))
      return formatv("pkb::splat<{0}>({1})", vectorArguments(splat.getType()), literalOf(splat.getSplatValue<Attribute>()));
  }
  return names.lookup(value);
}

/// A name that tells a reader what the value is.
static StringRef hintFor(Operation *op) {
  return llvm::TypeSwitch<Operation *, StringRef>(op)
      .Case([](cuda::RankOp) { return "me"; })
      .Case([](cuda::BlockIndexOp) { return "block"; })
      .Case([](cuda::EpochBeginOp) { return "ticket"; })
      .Case([](cuda::EpochOp) { return "epoch"; })
      .Case([](cuda::ChunkCountOp) { return "mine"; })
      .Case([](cuda::StagingOp) { return "half"; })
      .Case([](cuda::LLSlotOp) { return "lines"; })
      .Case([](cuda::PointerOp) { return "tensor"; })
      .Case([](cuda::AdvanceOp) { return "at"; })
      .Case([](cuda::RegionOp) { return "slot"; })
      .Case([](cuda::FlagValueOp) { return "mark"; })
      .Case([](cuda::KeepRowOp) { return "row"; })
      .Default([](Operation *other) { return isa<VectorType>(other->getResult(0).getType()) ? "v" : "n"; });
}

static const char *typeWord(Type type) {
  if (isa<cuda::PtrType>(type))
    return "char *const ";
  if (type.isIndex())
    return "const int64_t ";
  return type.isInteger(1) ? "const bool " : "const auto ";
}

/// The function of the device header for an op of one operand.
static std::string mathName(Operation *op) {
  if (isa<arith::NegFOp>(op))
    return "neg";
  if (isa<math::AbsFOp, math::AbsIOp>(op))
    return "abs";
  return op->getName().stripDialect().str();
}

/// Sizes or strides as a type.
static std::string dims(ArrayRef<int64_t> numbers) {
  return "pkb::dims<" + llvm::join(llvm::map_range(numbers, [](int64_t n) { return std::to_string(n); }), ", ") + ">";
}

static StringRef comparison(arith::CmpFPredicate predicate) {
  switch (predicate) {
  case arith::CmpFPredicate::OEQ:
    return "equal";
  case arith::CmpFPredicate::UNE:
    return "not_equal";
  case arith::CmpFPredicate::OLT:
    return "less";
  case arith::CmpFPredicate::OLE:
    return "less_equal";
  case arith::CmpFPredicate::OGT:
    return "greater";
  case arith::CmpFPredicate::OGE:
    return "greater_equal";
  default:
    return "";
  }
}

std::string KernelPrinter::arithmetic(Operation *op) {
  auto binary = [&](StringRef symbol) -> std::string {
    return formatv("{0} {1} {2}", use(op->getOperand(0)), symbol, use(op->getOperand(1)));
  };
  auto call = [&](StringRef function) -> std::string {
    return formatv("{0}({1}, {2})", function, use(op->getOperand(0)), use(op->getOperand(1)));
  };
  auto convert = [&]() -> std::string {
    Type element = cast<VectorType>(op->getResult(0).getType()).getElementType();
    return formatv("pkb::convert<{0}>({1})", elementTypeName(element), use(op->getOperand(0)));
  };
  bool vector = isa<VectorType>(op->getResult(0).getType());
  auto extremum = [&](StringRef function, StringRef symbol) -> std::string {
    if (vector)
      return call(function);
    std::string left = use(op->getOperand(0)), right = use(op->getOperand(1));
    return formatv("{0} {1} {2} ? {0} : {2}", left, symbol, right);
  };
  return llvm::TypeSwitch<Operation *, std::string>(op)
      .Case<arith::AddIOp, arith::AddFOp>([&](auto) { return binary("+"); })
      .Case<arith::SubIOp, arith::SubFOp>([&](auto) { return binary("-"); })
      .Case<arith::MulIOp, arith::MulFOp>([&](auto) { return binary("*"); })
      .Case<arith::DivFOp>([&](auto) { return binary("/"); })
      .Case<arith::DivSIOp>([&](auto) { return binary("/"); })
      .Case<arith::DivUIOp>([&](auto) { return vector ? call("pkb::div_unsigned") : binary("/"); })
      .Case<arith::RemUIOp, arith::RemSIOp>([&](auto) { return vector ? std::string() : binary("%"); })
      .Case<arith::AndIOp>([&](auto) { return binary("&"); })
      .Case<arith::OrIOp>([&](auto) { return vector ? binary("|") : std::string(); })
      .Case<arith::XOrIOp>([&](auto) { return vector ? binary("^") : std::string(); })
      .Case<arith::MinSIOp, arith::MinimumFOp>([&](auto) { return extremum("pkb::min", "<"); })
      .Case<arith::MaxSIOp, arith::MaximumFOp>([&](auto) { return extremum("pkb::max", ">"); })
      .Case<arith::MinNumFOp>([&](auto) { return vector ? call("pkb::min_number") : std::string(); })
      .Case<arith::MaxNumFOp>([&](auto) { return vector ? call("pkb::max_number") : std::string(); })
      .Case<arith::MinUIOp>([&](auto) { return extremum("pkb::min_unsigned", "<"); })
      .Case<arith::MaxUIOp>([&](auto) { return extremum("pkb::max_unsigned", ">"); })
      .Case<arith::ExtFOp, arith::TruncFOp, arith::SIToFPOp, arith::UIToFPOp, arith::FPToSIOp, arith::ExtSIOp, arith::TruncIOp>(
          [&](auto) { return vector ? convert() : std::string(); })
      .Case([&](arith::ExtUIOp) { return vector ? convert() : std::string(); })
      .Case<arith::NegFOp, math::AbsFOp, math::AbsIOp, math::RsqrtOp, math::SqrtOp, math::ExpOp, math::Exp2Op, math::ExpM1Op, math::LogOp,
            math::Log2Op, math::Log1pOp, math::TanhOp, math::ErfOp, math::SinOp, math::CosOp, math::FloorOp, math::CeilOp>([&](auto) {
        return vector ? formatv("pkb::{0}({1})", mathName(op), use(op->getOperand(0))).str() : std::string();
      })
      .Case([&](math::PowFOp) { return vector ? call("pkb::pow") : std::string(); })
      .Case([&](arith::CmpFOp compare) -> std::string {
        StringRef function = comparison(compare.getPredicate());
        return function.empty() || !vector ? std::string() : call(("pkb::" + function).str());
      })
      .Case([&](arith::SelectOp select) -> std::string {
        if (isa<VectorType>(select.getCondition().getType()))
          return formatv("pkb::select({0}, {1}, {2})", use(select.getCondition()), use(select.getTrueValue()),
                         use(select.getFalseValue()));
        return formatv("{0} ? {1} : {2}", use(select.getCondition()), use(select.getTrueValue()),
                       use(select.getFalseValue()));
      })
      .Case([&](arith::CmpIOp compare) {
        switch (compare.getPredicate()) {
        case arith::CmpIPredicate::eq:
          return binary("==");
        case arith::CmpIPredicate::ne:
          return binary("!=");
        case arith::CmpIPredicate::slt:
          return binary("<");
        case arith::CmpIPredicate::sle:
          return binary("<=");
        case arith::CmpIPredicate::sgt:
          return binary(">");
        case arith::CmpIPredicate::sge:
          return binary(">=");
        default:
          return std::string();
        }
      })
      .Default([](Operation *) { return std::string(); });
}

/// The last argument of a load or store: in a loop over vectors, that of the function it stands in.
static StringRef howOf(Operation *op) {
  auto reduce = dyn_cast<cuda::RowReduceOp>(op->getParentOp());
  return isa<cuda::ForEachOp>(op->getParentOp()) || (reduce && op->getParentRegion() == &reduce.getLoad()) ? ", how" : "";
}

static int64_t teamOf(Operation *op) {
  if (auto stream = op->getParentOfType<cuda::StreamRowsOp>())
    return stream.getTeam();
  return op->getParentOfType<cuda::ForEachRowOp>().getTeam();
}

std::string KernelPrinter::expression(Operation *op) {
  return llvm::TypeSwitch<Operation *, std::string>(op)
      .Case([](cuda::RankOp) { return "pkb::rank(args)"; })
      .Case([](cuda::BlockIndexOp) { return "pkb::block_index()"; })
      .Case([](cuda::EpochBeginOp begin) {
        return formatv("pkb::epoch_begin<{0}>(args)", begin.getSite()).str();
      })
      .Case([&](cuda::EpochOp epoch) { return formatv("int64_t(pkb::epoch({0}))", use(epoch.getTicket())).str(); })
      .Case([&](cuda::VectorsOp vectors) { return formatv("pkb::vectors<{0}>({1})", vectors.getLanes(), use(vectors.getLength())).str(); })
      .Case([&](cuda::ChunkCountOp count) {
        return formatv("pkb::chunk_count({0}, {1}, {2})", use(count.getChunks()), use(count.getBlock()), use(count.getBlocks()))
            .str();
      })
      .Case([&](cuda::TableOp table) {
        std::string values = llvm::join(llvm::map_range(table.getValues(), [](int64_t v) { return std::to_string(v); }), ", ");
        return formatv("pkb::table<{0}>({1})", values, use(table.getIndex())).str();
      })
      .Case([&](cuda::PointerOp pointer) { return formatv("pkb::pointer(args, {0})", use(pointer.getNumber())).str(); })
      .Case([&](cuda::RegionOp region) {
        return formatv("pkb::region(args, {0}, {1})", use(region.getRank()), use(region.getOffset())).str();
      })
      .Case([&](cuda::StagingOp staging) { return formatv("pkb::staging(args, {0})", use(staging.getParity())).str(); })
      .Case([&](cuda::LLSlotOp slot) {
        return formatv("pkb::ll_slot(args, {0}, {1})", use(slot.getParity()), use(slot.getSource())).str();
      })
      .Case([&](cuda::AdvanceOp advance) {
        return formatv("{0} + {1}", use(advance.getPointer()), use(advance.getBytes())).str();
      })
      .Case([&](cuda::FlagValueOp value) {
        return formatv("pkb::flag_value({0}, {1})", use(value.getEpoch()), use(value.getChunks())).str();
      })
      .Case([&](cuda::LoadOp load) {
        return formatv("pkb::load<{0}>({1}, {2}, {3}{4})", vectorArguments(load.getValue().getType()), use(load.getPointer()),
                       use(load.getVector()), use(load.getLength()), howOf(load))
            .str();
      })
      .Case([&](cuda::LoadStagedOp load) {
        return formatv("pkb::load_staged<{0}>({1}, {2})", vectorArguments(load.getValue().getType()),
                       use(load.getPointer()), use(load.getVector()))
            .str();
      })
      .Case([&](cuda::LoadLLOp load) {
        return formatv("pkb::load_ll<{0}, {1}>(args, {2}, {3}, {4})", vectorArguments(load.getValue().getType()),
                       load.getSite(), use(load.getPointer()), use(load.getVector()), use(load.getEpoch()))
            .str();
      })
      .Case([&](cuda::AlignedOp aligned) {
        std::string pointers = llvm::join(llvm::map_range(aligned.getPointers(), [&](Value v) { return use(v); }), ", ");
        return formatv("pkb::aligned<{0}>({1}, {2})", aligned.getLanes(), use(aligned.getLength()), pointers).str();
      })
      .Case([&](cuda::KeepRowOp keep) {
        return formatv("pkb::keep_row<{0}, {1}, {2}>({3}, {4}, how)", vectorArguments(keep.getRow().getType().getVector()),
                       keep.getRow().getType().getCount(), teamOf(keep), use(keep.getPointer()), use(keep.getLength()))
            .str();
      })
      .Case([&](cuda::KeptOp kept) { return formatv("pkb::kept({0}, {1})", use(kept.getRow()), use(kept.getVector())).str(); })
      .Case([&](cuda::LoadStridedOp load) {
        return formatv("pkb::load_strided<{0}, {1}, {2}>({3}, {4}, {5})", vectorArguments(load.getValue().getType()), dims(load.getSizes()),
                       dims(load.getStrides()), use(load.getPointer()), use(load.getFirst()), use(load.getLeft()))
            .str();
      })
      .Case([](cuda::RowLeaderOp leader) { return formatv("pkb::row_leader<{0}>()", teamOf(leader)).str(); })
      .Case([&](cuda::LineOp line) {
        return formatv("pkb::line<{0}>(", cast<VectorType>(line.getResult().getType()).getNumElements()).str() + llvm::join(llvm::map_range(line.getValues(), [&](Value v) { return use(v); }), ", ") + ")";
      })
      .Case([&](cuda::PartOp part) { return formatv("pkb::part<{0}>({1})", part.getNumber(), use(part.getVector())).str(); })
      .Case([&](cuda::WidenOp widen) {
        return formatv("pkb::widen<{0}>({1})", cast<VectorType>(widen.getResult().getType()).getNumElements(), use(widen.getValue())).str();
      })
      .Default([&](Operation *other) { return arithmetic(other); });
}

/// What a loop knows of its vectors: `aligned` of every tensor that its regions load from and store to, once for each length.
std::string KernelPrinter::alignmentOf(Operation *loop) {
  SmallVector<std::pair<std::string, SmallVector<std::string>>> tensors; // by lanes and length
  bool known = true;
  auto add = [&](Value pointer, Value length, Type type) {
    known &= !loop->isAncestor(pointer.getParentBlock()->getParentOp()) && !loop->isAncestor(length.getParentBlock()->getParentOp());
    std::string head = formatv("pkb::aligned<{0}>({1}", cast<VectorType>(type).getNumElements(), use(length));
    auto *entry = llvm::find_if(tensors, [&](const auto &other) { return other.first == head; });
    if (entry == tensors.end())
      entry = &tensors.emplace_back(head, SmallVector<std::string>());
    if (std::string name = use(pointer); !llvm::is_contained(entry->second, name))
      entry->second.push_back(name);
  };
  if (loop->getParentOfType<cuda::StreamRowsOp>())
    return "how.value"; // known for all rows
  loop->walk([&](Operation *op) {
    if (auto load = dyn_cast<cuda::LoadOp>(op))
      add(load.getPointer(), load.getLength(), load.getValue().getType());
    if (auto store = dyn_cast<cuda::StoreOp>(op))
      add(store.getPointer(), store.getLength(), store.getValue().getType());
  });
  if (!known)
    return "false";
  if (tensors.empty())
    return "true";
  return llvm::join(llvm::map_range(tensors, [](const auto &entry) { return entry.first + ", " + llvm::join(entry.second, ", ") + ")"; }), " && ");
}

/// A function of an index, and of the values of a vector if the block takes some; the last parameter is `how` where it may load or store.
LogicalResult KernelPrinter::printLambda(Block &block, bool takesHow) {
  // A parameter that nobody uses has no name, or the compiler would warn.
  auto unused = [](BlockArgument argument) { return argument.use_empty(); };
  auto name = [&](BlockArgument argument, StringRef hint) {
    return unused(argument) ? std::string() : declare(argument, hint);
  };
  std::string number = name(block.getArgument(0), "i");
  os << "[&](int64_t" << (number.empty() ? "" : " ") << number;
  if (block.getNumArguments() == 2)
    os << ", const auto &" << name(block.getArgument(1), "value");
  else if (block.getNumArguments() > 2)
    os << ", const auto &" << (llvm::all_of(block.getArguments().drop_front(), unused) ? "" : "values");
  if (takesHow)
    os << ", auto" << (llvm::any_of(block, [](Operation &op) { return isa<cuda::LoadOp, cuda::StoreOp>(op); }) ? " how" : "");
  os << ") {\n";
  depth += 2;
  if (block.getNumArguments() > 2)
    for (BlockArgument argument : llvm::make_filter_range(block.getArguments().drop_front(), std::not_fn(unused)))
      line() << "const auto &" << declare(argument, "value") << " = pkb::get<" << argument.getArgNumber() - 1
             << ">(values);\n";
  if (failed(printBlock(block)))
    return failure();
  --depth;
  line() << "}";
  --depth;
  return success();
}

LogicalResult KernelPrinter::printForEach(cuda::ForEachOp loop) {
  bool inRow = loop.getSpread() == cuda::Spread::Row;
  StringRef function = inRow ? (loop.getPerLane() ? "for_each_in_row_once" : "for_each_in_row")
                             : (loop.getSpread() == cuda::Spread::Once ? "for_each_once" : "for_each");
  std::string perLane = loop.getPerLane() ? std::to_string(*loop.getPerLane()) + ", " : "";
  std::string team = inRow ? ", " + std::to_string(teamOf(loop)) : "";
  line() << formatv("pkb::{0}<{1}{2}{3}>({4}, {5}, ", function, perLane, loop.getUnroll(), team, use(loop.getCount()), alignmentOf(loop));
  if (failed(printLambda(loop.getLoad().front(), /*takesHow=*/true)))
    return failure();
  os << ", ";
  if (failed(printLambda(loop.getStore().front(), /*takesHow=*/true)))
    return failure();
  os << ");\n";
  return success();
}

LogicalResult KernelPrinter::printForEachRow(cuda::ForEachRowOp loop) {
  line() << formatv("pkb::for_each_row<{0}>({1}, ", loop.getTeam(), use(loop.getCount()));
  if (failed(printLambda(loop.getBody().front(), /*takesHow=*/false)))
    return failure();
  os << ");\n";
  return success();
}

LogicalResult KernelPrinter::printStreamRows(cuda::StreamRowsOp stream) {
  line() << formatv("pkb::stream_rows<{0}, {1}, {2}, {3}, {4}>({5}, {6}, {7}, {8}", stream.getTeam(), stream.getRows(), stream.getAhead(), stream.getSteps(),
                    stream.getFull(), use(stream.getFirst()), use(stream.getStride()), use(stream.getCount()), use(stream.getAligned()));
  size_t kept = stream.getProduce().front().getNumArguments() - 2;
  for (Region *region : {&stream.getFetch(), &stream.getProduce(), &stream.getConsume()}) {
    Block &block = region->front();
    auto named = [&](BlockArgument argument, StringRef hint) { return argument.use_empty() ? std::string() : " " + declare(argument, hint); };
    os << ", [&](int64_t" << named(block.getArgument(0), "chunk") << ", int64_t" << named(block.getArgument(1), "i");
    // One value is itself, several are a pack, none is an empty one.
    SmallVector<std::string> unpacked;
    auto group = [&](ArrayRef<BlockArgument> values, StringRef hint) {
      os << ", const auto &";
      if (values.size() == 1)
        os << StringRef(named(values.front(), hint)).ltrim();
      else if (!llvm::all_of(values, [](BlockArgument value) { return value.use_empty(); })) {
        std::string pack = declareName(hint);
        os << pack;
        for (auto [number, value] : llvm::enumerate(values))
          if (!value.use_empty())
            unpacked.push_back(formatv("const auto &{0} = pkb::get<{1}>({2});\n", declare(value, hint), number, pack).str());
      }
    };
    ArrayRef<BlockArgument> values = block.getArguments().drop_front(2);
    if (region != &stream.getFetch())
      group(values.take_front(kept), "kept");
    if (region == &stream.getConsume())
      group(values.drop_front(kept), "sent");
    bool usesHow = false;
    region->walk([&](Operation *op) { usesHow |= isa<cuda::KeepRowOp, cuda::RowReduceOp, cuda::ForEachOp>(op); });
    os << ", auto" << (usesHow ? " how" : "") << ") {\n";
    depth += 2;
    for (const std::string &text : unpacked)
      line() << text;
    if (failed(printBlock(block)))
      return failure();
    // A function of the header takes what it returns, so there must be something.
    if (auto yield = dyn_cast<cuda::YieldOp>(block.back()); yield && yield.getValues().empty())
      line() << "return pkb::pack();\n";
    --depth;
    line() << "}";
    --depth;
  }
  os << ");\n";
  return success();
}

LogicalResult KernelPrinter::printRowReduce(cuda::RowReduceOp reduce) {
  std::string name = declare(reduce.getResult(), "whole");
  line() << formatv("const auto {0} = pkb::row_reduce{6}<pkb::Reduce::{1}, {7}{2}, {3}>({4}, {5}, ", name, comm::stringifyReduceKind(reduce.getKind()),
                    reduce.getUnroll(), teamOf(reduce), use(reduce.getLength()), alignmentOf(reduce), reduce.getPerLane() ? "_once" : "",
                    reduce.getPerLane() ? std::to_string(*reduce.getPerLane()) + ", " : "");
  if (failed(printLambda(reduce.getLoad().front(), /*takesHow=*/true)))
    return failure();
  os << ", ";
  if (failed(printLambda(reduce.getMap().front(), /*takesHow=*/false)))
    return failure();
  os << ");\n";
  return success();
}

LogicalResult KernelPrinter::printFor(scf::ForOp loop) {
  if (!loop.getInitArgs().empty())
    return loop.emitOpError() << "must not carry values to be emitted";
  std::string name = declare(loop.getInductionVar(), "step");
  line() << formatv("for (int64_t {0} = {1}; {0} < {2}; {0} += {3}) {{\n", name, use(loop.getLowerBound()),
                    use(loop.getUpperBound()), use(loop.getStep()));
  ++depth;
  if (failed(printBlock(*loop.getBody())))
    return failure();
  --depth;
  line() << "}\n";
  return success();
}

LogicalResult KernelPrinter::printIf(scf::IfOp branch) {
  if (branch.getNumResults() != 0)
    return branch.emitOpError() << "must not have results to be emitted";
  line() << formatv("if ({0}) {{\n", use(branch.getCondition()));
  ++depth;
  if (failed(printBlock(branch.getThenRegion().front())))
    return failure();
  --depth;
  if (!branch.getElseRegion().empty() && !branch.getElseRegion().front().without_terminator().empty()) {
    line() << "} else {\n";
    ++depth;
    if (failed(printBlock(branch.getElseRegion().front())))
      return failure();
    --depth;
  }
  line() << "}\n";
  return success();
}

LogicalResult KernelPrinter::printOp(Operation *op) {
  auto flag = [&](StringRef function, auto signal) {
    line() << formatv("pkb::{0}<{1}>(args, {2}, {3}, {4});\n", function, signal.getSite(), use(signal.getPeer()),
                      use(signal.getBlock()), use(signal.getValue()));
    return success();
  };
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([](arith::ConstantOp constant) {
        return success(isa<IntegerAttr, SplatElementsAttr>(constant.getValue()) ||
                       succeeded(constant.emitOpError() << "must be an integer or a vector of one number to be emitted"));
      })
      .Case([](scf::YieldOp) { return success(); })
      .Case([&](scf::ForOp loop) { return printFor(loop); })
      .Case([&](scf::IfOp branch) { return printIf(branch); })
      .Case([&](cuda::ForEachOp loop) { return printForEach(loop); })
      .Case([&](cuda::ForEachRowOp loop) { return printForEachRow(loop); })
      .Case([&](cuda::StreamRowsOp stream) { return printStreamRows(stream); })
      .Case([&](cuda::RowReduceOp reduce) { return printRowReduce(reduce); })
      .Case([&](cuda::YieldOp yield) {
        if (yield.getValues().empty())
          return success();
        line() << "return ";
        if (yield.getValues().size() == 1)
          os << use(yield.getValues().front());
        else
          os << "pkb::pack(" << llvm::join(llvm::map_range(yield.getValues(), [&](Value v) { return use(v); }), ", ") << ")";
        os << ";\n";
        return success();
      })
      .Case([&](cuda::SignalOp signal) { return flag("signal", signal); })
      .Case([&](cuda::WaitOp wait) { return flag("wait", wait); })
      .Case([&](cuda::WaitBlocksOp wait) {
        line() << formatv("pkb::wait_blocks<{0}>(args, {1});\n", wait.getSite(), use(wait.getValue()));
        return success();
      })
      .Case([&](cuda::BlockBarrierOp barrier) {
        line() << formatv("pkb::block_barrier<{0}>(args);\n", barrier.getSite());
        return success();
      })
      .Case([&](cuda::EpochEndOp end) {
        line() << formatv("pkb::epoch_end<{0}>(args, {1});\n", end.getSite(), use(end.getEpoch()));
        return success();
      })
      .Case([&](cuda::StoreOp store) {
        line() << formatv("pkb::store({0}, {1}, {2}, {3}{4});\n", use(store.getPointer()), use(store.getVector()),
                          use(store.getLength()), use(store.getValue()), howOf(store));
        return success();
      })
      .Case([&](cuda::StoreStridedOp store) {
        line() << formatv("pkb::store_strided<{0}, {1}>({2}, {3}, {4}, {5});\n", dims(store.getSizes()), dims(store.getStrides()),
                          use(store.getPointer()), use(store.getFirst()), use(store.getLeft()), use(store.getValue()));
        return success();
      })
      .Case([&](cuda::StorePeerOp store) {
        line() << formatv("pkb::store_peer({0}, {1}, {2});\n", use(store.getPointer()), use(store.getVector()),
                          use(store.getValue()));
        return success();
      })
      .Case([&](cuda::GatherLLOp gather) {
        std::string all = declareName("all");
        line() << formatv("const auto {0} = pkb::gather_ll<{1}, {2}, {3}>(args, {4}, {5}, {6}, {7});\n", all, vectorArguments(gather.getOwn().getType()),
                          gather.getSite(), teamOf(gather), use(gather.getPointer()), use(gather.getVector()), use(gather.getEpoch()),
                          use(gather.getOwn()));
        for (auto [rank, value] : llvm::enumerate(gather.getValues()))
          names[value] = formatv("{0}.of[{1}]", all, rank).str();
        return success();
      })
      .Case([&](cuda::StoreLLOp store) {
        line() << formatv("pkb::store_ll<{0}>({1}, {2}, {3}, {4});\n", store.getSite(), use(store.getPointer()),
                          use(store.getVector()), use(store.getValue()), use(store.getEpoch()));
        return success();
      })
      .Default([&](Operation *other) -> LogicalResult {
        std::string text = other->getNumResults() == 1 ? expression(other) : std::string();
        if (text.empty())
          return other->emitOpError() << "has no form in the emitted text";
        Value result = other->getResult(0);
        std::string name = declare(result, hintFor(other));
        line() << typeWord(result.getType()) << name << " = " << text << ";\n";
        return success();
      });
}

LogicalResult KernelPrinter::printBlock(Block &block) {
  for (Operation &op : block)
    if (failed(printOp(&op)))
      return failure();
  return success();
}

/// Free text on one line: a line break would end a comment, a backslash at its end go on with it.
static std::string onOneLine(StringRef text) {
  std::string line = text.str();
  for (char &c : line)
    if (static_cast<unsigned char>(c) < ' ' || c == '\\')
      c = ' ';
  return line;
}

LogicalResult KernelPrinter::print() {
  os << "// " << onOneLine(kernel.getSummary()) << "\n";
  os << formatv("PKB_KERNEL({0}, /*threads=*/{1}, /*min_blocks=*/{2}, /*ranks=*/{3}, /*pointers=*/{4}) {{\n",
                kernel.getSymName(), kernel.getThreads(), kernel.getMinBlocks(), kernel.getRanks(), kernel.getPointers());
  if (failed(printBlock(kernel.getBody().front())))
    return failure();
  os << "}\n";
  return success();
}
