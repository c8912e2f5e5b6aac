//===- Judge.h - Is a result right? -----------------------------*- C++ -*-===//
//
// Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rules and where they come from: docs/Tools/pkb-run.md, "How results are judged". The GPU worker has the same rules in
// runtime/torch/pkb/worker/judge.py.
//
//===----------------------------------------------------------------------===//
#ifndef TOOLS_PKB_RUN_JUDGE_H
#define TOOLS_PKB_RUN_JUDGE_H

#include "tools/pkb-run/Numeric.h"

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace pkb::run {

/// What is asked of an element.
enum class Comparison {
  Bits,   ///< pure data movement or integers: the reference's bits
  Values, ///< after a minimum or maximum: the reference's value, any NaN for a NaN and either zero for a zero
  Bound   ///< within an error bound of the oracle
};

/// How a tensor is compared.
struct Rule {
  Comparison comparison = Comparison::Bits;
  double terms = 1;      ///< longest sum that flows into one element
  double roundings = 0;  ///< values rounded to a storage dtype on the way to an element, the last one not counted
  double storage = 0;    ///< largest unit roundoff among those storage dtypes; 0: that of the output
  double atol = -1, rtol = -1; ///< both >= 0: |ours - oracle| <= atol + rtol * |oracle| instead of the derived bound
};

/// One tensor on one rank in one trial, contiguous. `oracle` is the same tensor computed in float64 (complex128, or the
/// reference's integers) or null, then the reference stands in for it.
struct Sample {
  const char *ours = nullptr, *reference = nullptr;
  const char *oracle = nullptr;
  std::vector<int64_t> sizes;
  int rank = 0;
};

struct Verdict {
  std::string what; ///< "output 0", "argument 1"
  std::string dtype;
  std::vector<int64_t> sizes;
  Comparison comparison = Comparison::Bits;
  bool right = true;
  std::string reason; ///< first thing that is wrong, "" if right
  int64_t elements = 0, mismatches = 0, unwritten = 0;
  double error = 0;          ///< largest |ours - oracle|
  double ratio = 0;          ///< largest |ours - oracle| / bound
  double referenceRatio = 0; ///< the same of the original function
  int worstRank = -1, worstTrial = -1;
  std::vector<int64_t> worstIndex;
  double worstOurs = 0, worstExpected = 0;
  bool replicated = false; ///< the reference's results are the same on all ranks, bit for bit

  nlohmann::json json() const;
  static Verdict fromJson(const nlohmann::json &value);
  bool exact() const { return comparison != Comparison::Bound; }
  /// "bitwise", "values" or "bound".
  std::string rule() const;
  /// "max error / bound" as printed: "exact", "0.43", or what is wrong.
  std::string summary() const;
};

/// The byte that fills memory of this format before a call: NaNs for floats, 0xA5 for the rest.
inline unsigned char poisonByte(const NumberFormat &format) { return format.kind == NumberKind::Integer ? 0xA5 : 0xFF; }

/// Judges one tensor over all trials and ranks.
class Judge {
public:
  Judge(std::string what, const NumberFormat &format, Rule rule);
  /// All ranks of one trial that run the same program.
  void add(int trial, const std::vector<Sample> &ranks);
  /// A failure that is not about a value: memory beside the tensor was written, say.
  void fault(const std::string &reason);
  Verdict finish();

private:
  void compareExact(int trial, int rank, const Sample &sample);
  void compareBound(int trial, int rank, const Sample &sample, double magnitude);
  double oracleAt(const Sample &sample, int64_t i) const;
  void note(int trial, int rank, const Sample &sample, int64_t i, double ours, double expected);
  bool isPoison(const char *element) const;
  bool sameValue(const Sample &sample, int64_t element) const;

  const NumberFormat &format;
  Rule rule;
  Verdict verdict;
  double worstKey = -1;
  bool tolerated = true; ///< every element within its bound
  std::string nonFinite;
};

/// What was judged of some ranks.
struct RankVerdicts {
  std::vector<int> ranks;
  std::vector<Verdict> verdicts;
};

/// One verdict for each tensor, over all ranks that have it with one dtype and one rule. Where ranks differ in these, the verdicts name
/// their ranks.
std::vector<Verdict> mergeVerdicts(const std::vector<RankVerdicts> &parts);

} // namespace pkb::run

#endif // TOOLS_PKB_RUN_JUDGE_H
