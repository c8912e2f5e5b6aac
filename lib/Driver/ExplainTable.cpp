// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- ExplainTable.cpp - an explanation as a table for people ----------===//

#include "pkb/Driver/Explain.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <array>
#include <cmath>
#include <limits>

using namespace pkb;
using llvm::formatv;
using llvm::StringRef;

namespace {

/// A table whose cells have several lines each.
class Table {
public:
  static constexpr size_t columns = 5;
  using Cell = std::vector<std::string>;
  using Row = std::array<Cell, columns>;

  explicit Table(std::array<size_t, columns> most) : most(most) {}
  void add(const Row &row);
  void print(llvm::raw_ostream &os) const;

private:
  std::array<size_t, columns> most; // characters of a line
  std::vector<Row> rows;
};

} // namespace

/// `text` in lines of at most `most` characters, broken at blanks where there are some; what follows a break is indented.
static std::vector<std::string> wrap(StringRef text, size_t most) {
  std::vector<std::string> lines;
  std::string indent;
  while (indent.size() + text.size() > most) {
    size_t room = most - indent.size();
    size_t at = text.take_front(room + 1).rfind(' ');
    if (at == StringRef::npos || at == 0)
      at = room;
    lines.push_back(indent + text.take_front(at).rtrim().str());
    text = text.drop_front(at).ltrim();
    indent = "  ";
  }
  lines.push_back(indent + text.str());
  return lines;
}

void Table::add(const Row &row) {
  Row wrapped;
  for (size_t column = 0; column < columns; ++column)
    for (const std::string &line : row[column])
      if (!line.empty())
        llvm::append_range(wrapped[column], wrap(line, most[column]));
  rows.push_back(std::move(wrapped));
}

void Table::print(llvm::raw_ostream &os) const {
  std::array<size_t, columns> width{};
  for (const Row &row : rows)
    for (size_t column = 0; column < columns; ++column)
      for (const std::string &line : row[column])
        width[column] = std::max(width[column], line.size());
  for (const Row &row : rows) {
    size_t height = 0;
    for (const Cell &cell : row)
      height = std::max(height, cell.size());
    for (size_t line = 0; line < height; ++line) {
      std::string text;
      for (size_t column = 0; column < columns; ++column) {
        std::string part = line < row[column].size() ? row[column][line] : "";
        text += part + std::string(width[column] - part.size() + 2, ' ');
      }
      os << StringRef(text).rtrim() << "\n";
    }
    if (&row == &rows.front())
      for (size_t column = 0; column < columns; ++column)
        os << std::string(width[column], '-') << (column + 1 < columns ? "  " : "\n");
    else if (&row != &rows.back())
      os << "\n";
  }
}

//===----------------------------------------------------------------------===//
// Words
//===----------------------------------------------------------------------===//

static std::string bytesInWords(int64_t bytes) {
  constexpr std::array<const char *, 4> units{"bytes", "KiB", "MiB", "GiB"};
  double amount = double(bytes);
  size_t unit = 0;
  for (; amount >= 1024 && unit + 1 < units.size(); ++unit)
    amount /= 1024;
  return unit == 0 || amount == std::floor(amount) ? formatv("{0} {1}", int64_t(amount), units[unit]).str()
                                                   : formatv("{0:F1} {1}", amount, units[unit]).str();
}

/// "ranks 0-3", "ranks 0 2 | 1 3".
static std::string groupInWords(const std::vector<std::vector<int64_t>> &group) {
  std::vector<std::string> rows;
  for (const std::vector<int64_t> &row : group) {
    bool run = row.size() > 2;
    for (size_t i = 1; i < row.size(); ++i)
      run &= row[i] == row[i - 1] + 1;
    std::string text = run ? formatv("{0}-{1}", row.front(), row.back()).str() : "";
    if (!run)
      for (int64_t rank : row)
        text += (text.empty() ? "" : " ") + std::to_string(rank);
    rows.push_back(text);
  }
  return (group.size() == 1 && group[0].size() == 1 ? "rank " : "ranks ") + llvm::join(rows, " | ");
}

static StringRef meaningOf(xfer::Mechanism mechanism) {
  switch (mechanism) {
  case xfer::Mechanism::LdSt:
    return "a kernel of ours stores straight into the peers' memory and raises a flag for each chunk";
  case xfer::Mechanism::LL:
    return "the same in 16-byte lines that carry their own flag: the fastest for small messages";
  case xfer::Mechanism::CopyEngine:
    return "the copy engines of the GPUs move the data between two small kernels of ours";
  case xfer::Mechanism::Nccl:
    return "the call of the library stays as it is";
  case xfer::Mechanism::Tma:
    return "a kernel of ours with bulk copies";
  case xfer::Mechanism::Nvls:
    return "multicast through the switch";
  }
  return "";
}

static std::string countOf(int64_t count, StringRef one, StringRef many) { return formatv("{0} {1}", count, count == 1 ? one : many).str(); }

static Table::Cell whatMoves(const ExplainedCollective &call) {
  Table::Cell cell{call.collective};
  if (!call.shots.empty())
    cell.push_back("as " + llvm::join(call.shots, ", "));
  if (const auto &mechanism = call.mechanism) {
    cell.push_back(mechanism->unit == MessageUnit::Rows ? countOf(mechanism->amount, "row", "rows") + " of statistics"
                                                        : bytesInWords(mechanism->amount) + " to a peer");
    cell.push_back(groupInWords(call.group));
  }
  return cell;
}

std::vector<std::string> Explanation::whatMovesIt(const ExplainedCollective &call) const {
  if (!call.mechanism)
    return {"-"};
  Table::Cell cell{xfer::stringifyMechanism(call.mechanism->taken).str()};
  for (const MechanismOption &option : call.mechanism->options)
    if (option.mechanism == call.mechanism->taken && option.predictedUs)
      cell.push_back(formatv("{0:F1} us", *option.predictedUs).str());
  if (call.kernelOf) {
    const ExplainedCollective &begin = collectives[*call.kernelOf];
    std::string place = begin.file.empty() ? "an unknown line" : formatv("{0}:{1}", begin.file, begin.line).str();
    if (!begin.file.empty() && begin.file == call.file)
      place = formatv("line {0}", begin.line);
    // Calls of one helper function: the caller that is not the same tells them apart.
    auto theirs = llvm::find_if(begin.callers, [&](const std::string &caller) { return !llvm::is_contained(call.callers, caller); });
    if (begin.line == call.line && theirs != begin.callers.end())
      place += ", called from " + *theirs;
    cell.push_back(formatv("in one kernel with the {0} of {1}", begin.collective, place));
  }
  if (call.mechanism->origin != MechanismOrigin::Fastest)
    cell.push_back(call.mechanism->origin == MechanismOrigin::Asked ? "as asked for" : "schedule was given");
  return cell;
}

/// Legal choices first, fastest first.
static Table::Cell insteadOf(const ExplainedCollective &call) {
  if (!call.mechanism)
    return {};
  std::vector<MechanismOption> options = call.mechanism->options;
  llvm::sort(options, [](const MechanismOption &a, const MechanismOption &b) {
    constexpr double never = std::numeric_limits<double>::infinity();
    return std::pair(a.predictedUs.value_or(never), a.mechanism) < std::pair(b.predictedUs.value_or(never), b.mechanism);
  });
  Table::Cell cell;
  std::vector<std::pair<std::string, std::string>> refused; // names, reason
  for (const MechanismOption &option : options) {
    if (option.mechanism == call.mechanism->taken)
      continue;
    StringRef name = xfer::stringifyMechanism(option.mechanism);
    if (option.predictedUs) {
      cell.push_back(formatv("{0} {1:F1} us", name, *option.predictedUs).str());
      continue;
    }
    auto same = llvm::find_if(refused, [&](const auto &entry) { return entry.second == option.reason; });
    if (same == refused.end())
      refused.emplace_back(name.str(), option.reason);
    else
      same->first += ", " + name.str();
  }
  for (const auto &[names, reason] : refused)
    cell.push_back(formatv("not {0}: {1}", names, reason).str());
  return cell;
}

static Table::Cell whatSharesIt(const ExplainedCollective &call) {
  Table::Cell cell;
  if (!call.fusion) {
    cell.push_back("-");
  } else if (const FusionDecision &fusion = *call.fusion; fusion.before.empty() && fusion.after.empty()) {
    cell.push_back("nothing: " + fusion.why);
  } else {
    cell.push_back(fusion.before.empty() ? "" : llvm::join(fusion.before, ", ") + " before it");
    cell.push_back(fusion.after.empty() ? "" : llvm::join(fusion.after, ", ") + " after it");
  }
  llvm::append_range(cell, call.more);
  return cell;
}

//===----------------------------------------------------------------------===//
// The page
//===----------------------------------------------------------------------===//

void Explanation::printFunction(llvm::raw_ostream &os, StringRef function, bool alone) const {
  const StepsDecision *step = stepsOf(function);
  Steps after = countAfter(function);
  if (!alone) {
    os << "\n@" << function;
    if (step && !step->ranks.empty())
      os << ", which " << groupInWords({step->ranks}) << (step->ranks.size() == 1 ? " runs" : " run");
    os << "\n";
  }
  if (step)
    os << "before fusion, a call is " << countOf(step->before.exchanges, "collective", "collectives") << " and "
       << countOf(step->before.operators, "operator", "operators") << " of PyTorch\n";
  os << (step ? "after it: " : "a call has ") << countOf(after.kernels, "kernel of ours", "kernels of ours");
  if (after.engines)
    os << ", " << countOf(after.engines, "exchange", "exchanges") << " by copy engines";
  if (after.library)
    os << ", " << countOf(after.library, "library call", "library calls");
  if (auto made = copies.find(function.str()); made != copies.end() && made->second)
    os << ", " << countOf(made->second, "copy", "copies");
  if (step)
    os << ", " << countOf(after.operators, "operator", "operators") << " of PyTorch";
  os << "\n\n";

  Table table({44, 24, 18, 46, 46});
  table.add({{{"where"}, {"what"}, {"moved by"}, {"instead of"}, {"computed in its kernel"}}});
  std::vector<std::pair<Table::Row, int64_t>> rows; // with how often it comes, one after the other
  for (const ExplainedCollective &call : collectives) {
    if (call.function != function)
      continue;
    std::string place = call.file.empty() ? "an unknown line" : formatv("{0}:{1}", call.file, call.line).str();
    std::string from = call.callers.empty() ? "" : "called from " + llvm::join(call.callers, ", ");
    Table::Row row{{{place, call.text, from}, whatMoves(call), whatMovesIt(call), insteadOf(call), whatSharesIt(call)}};
    if (!rows.empty() && rows.back().first == row)
      ++rows.back().second;
    else
      rows.emplace_back(row, 1);
  }
  for (auto &[row, times] : rows) {
    if (times > 1)
      row[0].push_back(formatv("{0} times", times).str());
    table.add(row);
  }
  table.print(os);
}

void Explanation::printTable(llvm::raw_ostream &os) const {
  std::vector<std::string> functions = getFunctions();
  os << program << ": " << countOf(countCalls(), "collective", "collectives");
  bool differ = functions.size() > 1 || llvm::any_of(steps, [](const StepsDecision &step) { return !step.ranks.empty(); });
  if (differ)
    os << "; the ranks run different code, a table for each that calls one";
  os << "\n";
  for (const std::string &function : functions)
    printFunction(os, function, !differ);
  std::vector<xfer::Mechanism> named;
  auto name = [&](xfer::Mechanism mechanism) {
    if (!llvm::is_contained(named, mechanism))
      named.push_back(mechanism);
  };
  for (const ExplainedCollective &call : collectives)
    if (call.mechanism) {
      for (const MechanismOption &option : call.mechanism->options)
        name(option.mechanism);
      name(call.mechanism->taken);
    }
  if (!named.empty())
    os << "\n";
  for (xfer::Mechanism mechanism : named)
    os << formatv("{0,-12} {1}\n", xfer::stringifyMechanism(mechanism), meaningOf(mechanism));
  for (const std::string &note : notes)
    os << "note: " << note << "\n";
}
