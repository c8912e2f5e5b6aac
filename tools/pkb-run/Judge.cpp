//===- Judge.cpp - Is a result right? -------------------------------------===//
//
// Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/pkb-run/Judge.h"

#include "tools/pkb-run/Support.h"

#include "pkb_rt/pkb.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <map>

namespace pkb::run {

namespace {

/// A result may be this much worse than the original function's own error before it is wrong, if it is past its bound.
constexpr double allowanceOverReference = 1.25;

int64_t countOf(const std::vector<int64_t> &sizes) {
  int64_t n = 1;
  for (int64_t size : sizes) {
    n *= size;
  }
  return n;
}

std::vector<int64_t> indexOf(int64_t i, const std::vector<int64_t> &sizes) {
  std::vector<int64_t> index(sizes.size());
  for (size_t d = sizes.size(); d-- > 0;) {
    index[d] = i % sizes[d];
    i /= sizes[d];
  }
  return index;
}

double ratioOf(double error, double bound) { return error == 0 ? 0 : bound > 0 ? error / bound : HUGE_VAL; }

const char *nameOf(Comparison comparison) {
  switch (comparison) {
  case Comparison::Bits:
    return "bitwise";
  case Comparison::Values:
    return "values";
  case Comparison::Bound:
    break;
  }
  return "bound";
}

/// JSON has no infinity: a ratio over an empty bound is written as the largest double.
double finite(double x) { return std::isfinite(x) ? x : 1.7976931348623157e308; }

} // namespace

Judge::Judge(std::string what, const NumberFormat &format, Rule rule) : format(format), rule(rule) {
  if (format.kind == NumberKind::Integer) {
    this->rule.comparison = Comparison::Bits;
  }
  verdict.what = std::move(what);
  verdict.dtype = format.name;
  verdict.comparison = this->rule.comparison;
  verdict.replicated = true;
}

bool Judge::isPoison(const char *element) const {
  return std::all_of(element, element + format.bytes, [&](char c) { return static_cast<unsigned char>(c) == poisonByte(format); });
}

/// True if the components of an element are equal, or both NaN.
bool Judge::sameValue(const Sample &sample, int64_t element) const {
  int64_t parts = componentsOf(format);
  for (int64_t i = element * parts; i < (element + 1) * parts; ++i) {
    double ours = component(format, sample.ours, i), expected = component(format, sample.reference, i);
    if (ours != expected && !(std::isnan(ours) && std::isnan(expected))) {
      return false;
    }
  }
  return true;
}

double Judge::oracleAt(const Sample &sample, int64_t i) const {
  static const NumberFormat &wide = *numberFormat("float64");
  return sample.oracle ? component(wide, sample.oracle, i) : component(format, sample.reference, i);
}

void Judge::note(int trial, int rank, const Sample &sample, int64_t i, double ours, double expected) {
  verdict.worstRank = rank;
  verdict.worstTrial = trial;
  verdict.worstIndex = indexOf(i / componentsOf(format), sample.sizes);
  verdict.worstOurs = ours;
  verdict.worstExpected = expected;
}

void Judge::compareExact(int trial, int rank, const Sample &sample) {
  int64_t n = countOf(sample.sizes);
  if (std::memcmp(sample.ours, sample.reference, size_t(n * format.bytes)) == 0) {
    return;
  }
  for (int64_t i = 0; i < n; ++i) {
    const char *a = sample.ours + i * format.bytes, *b = sample.reference + i * format.bytes;
    if (std::memcmp(a, b, size_t(format.bytes)) == 0) {
      continue;
    }
    bool unwritten = isPoison(a);
    if (rule.comparison == Comparison::Values && !unwritten && sameValue(sample, i)) {
      continue;
    }
    verdict.unwritten += unwritten;
    double ours = component(format, sample.ours, i * componentsOf(format));
    double expected = component(format, sample.reference, i * componentsOf(format));
    if (verdict.mismatches++ == 0) {
      note(trial, rank, sample, i * componentsOf(format), ours, expected);
    }
    double error = std::fabs(ours - expected);
    verdict.error = std::max(verdict.error, std::isnan(error) ? HUGE_VAL : error);
  }
}

void Judge::compareBound(int trial, int rank, const Sample &sample, double magnitude) {
  // 16- and 8-bit floats are accumulated in float32.
  const double accumulator = format.roundoff < 0x1p-30 ? 0x1p-52 : 0x1p-24;
  const double storage = rule.storage > 0 ? rule.storage : format.roundoff;
  const double carried = (rule.terms * accumulator + rule.roundings * storage) * magnitude * (1 + format.roundoff) + format.tiny;
  const bool given = rule.atol >= 0 && rule.rtol >= 0;
  int64_t n = countOf(sample.sizes), parts = componentsOf(format);
  for (int64_t i = 0; i < n * parts; ++i) {
    double ours = component(format, sample.ours, i), reference = component(format, sample.reference, i);
    double oracle = oracleAt(sample, i);
    if (!std::isfinite(reference) || !std::isfinite(ours)) {
      bool same = (std::isnan(reference) && std::isnan(ours)) || reference == ours;
      if (!same) {
        verdict.unwritten += isPoison(sample.ours + i / parts * format.bytes) && i % parts == 0;
        ++verdict.mismatches;
        if (nonFinite.empty()) {
          note(trial, rank, sample, i, ours, reference);
          worstKey = HUGE_VAL;
          nonFinite = fmt::format("{} where the original gives {}", ours, reference);
        }
      }
      continue;
    }
    double bound = given ? rule.atol + rule.rtol * std::fabs(oracle) : format.roundoff * std::fabs(oracle) + carried;
    double error = std::fabs(ours - oracle), ratio = ratioOf(error, bound);
    verdict.error = std::max(verdict.error, error);
    verdict.referenceRatio = std::max(verdict.referenceRatio, ratioOf(std::fabs(reference - oracle), bound));
    verdict.ratio = std::max(verdict.ratio, ratio);
    if (ratio > worstKey) {
      worstKey = ratio;
      note(trial, rank, sample, i, ours, oracle);
    }
    if (ratio > 1) {
      tolerated = false;
      ++verdict.mismatches;
    }
  }
}

void Judge::add(int trial, const std::vector<Sample> &ranks) {
  verdict.sizes = ranks.at(0).sizes;
  double magnitude = 0;
  bool sameReference = true, sameOurs = true;
  for (const Sample &sample : ranks) {
    int64_t n = countOf(sample.sizes);
    verdict.elements += n;
    for (int64_t i = 0; rule.comparison == Comparison::Bound && i < n * componentsOf(format); ++i) {
      double value = std::fabs(oracleAt(sample, i));
      magnitude = std::isfinite(value) ? std::max(magnitude, value) : magnitude;
    }
    bool sameShape = sample.sizes == ranks[0].sizes;
    size_t bytes = size_t(n * format.bytes);
    sameReference = sameReference && sameShape && std::memcmp(sample.reference, ranks[0].reference, bytes) == 0;
    sameOurs = sameOurs && sameShape && std::memcmp(sample.ours, ranks[0].ours, bytes) == 0;
  }
  for (const Sample &sample : ranks) {
    if (verdict.exact()) {
      compareExact(trial, sample.rank, sample);
    } else {
      compareBound(trial, sample.rank, sample, magnitude);
    }
  }
  verdict.replicated = verdict.replicated && sameReference && ranks.size() > 1;
  if (sameReference && !sameOurs && rule.comparison != Comparison::Values && verdict.reason.empty()) {
    verdict.reason = fmt::format("ranks differ in bits in trial {}, the original's do not", trial);
  }
}

void Judge::fault(const std::string &reason) {
  if (verdict.reason.empty()) {
    verdict.reason = reason;
  }
}

Verdict Judge::finish() {
  std::string where = verdict.worstRank < 0 ? ""
                                            : fmt::format(" at rank {}, trial {}, element [{}]", verdict.worstRank, verdict.worstTrial,
                                                          fmt::join(verdict.worstIndex, ","));
  std::string wrong;
  if (verdict.unwritten > 0) {
    wrong = fmt::format("{} of {} elements were never written, first{}", verdict.unwritten, verdict.elements, where);
  } else if (!nonFinite.empty()) {
    wrong = nonFinite + where;
  } else if (verdict.exact() && verdict.mismatches > 0) {
    wrong = fmt::format("{} of {} elements differ in {}, first{}: {} instead of {}", verdict.mismatches, verdict.elements,
                        rule.comparison == Comparison::Bits ? "bits" : "value", where, verdict.worstOurs, verdict.worstExpected);
  } else if (!tolerated && verdict.ratio > allowanceOverReference * verdict.referenceRatio) {
    wrong = fmt::format("{} of {} elements are past the bound, worst{}: {} instead of {}", verdict.mismatches, verdict.elements, where,
                        verdict.worstOurs, verdict.worstExpected);
  }
  if (!wrong.empty()) {
    verdict.reason = wrong;
  }
  verdict.right = verdict.reason.empty();
  return verdict;
}

nlohmann::json Verdict::json() const {
  return {{"what", what},
          {"dtype", dtype},
          {"sizes", sizes},
          {"rule", rule()},
          {"right", right},
          {"reason", reason},
          {"elements", elements},
          {"mismatches", mismatches},
          {"unwritten", unwritten},
          {"max_error", finite(error)},
          {"error_over_bound", finite(ratio)},
          {"reference_error_over_bound", finite(referenceRatio)},
          {"worst", {{"rank", worstRank}, {"trial", worstTrial}, {"index", worstIndex}}},
          {"replicated", replicated}};
}

Verdict Verdict::fromJson(const nlohmann::json &value) {
  Verdict v;
  v.what = value.at("what");
  v.dtype = value.at("dtype");
  v.sizes = value.at("sizes").get<std::vector<int64_t>>();
  for (Comparison comparison : {Comparison::Bits, Comparison::Values, Comparison::Bound}) {
    if (value.at("rule") == nameOf(comparison)) {
      v.comparison = comparison;
    }
  }
  v.right = value.at("right");
  v.reason = value.at("reason");
  v.elements = value.at("elements");
  v.mismatches = value.at("mismatches");
  v.unwritten = value.at("unwritten");
  v.error = value.at("max_error");
  v.ratio = value.at("error_over_bound");
  v.referenceRatio = value.at("reference_error_over_bound");
  v.worstRank = value.at("worst").at("rank");
  v.worstTrial = value.at("worst").at("trial");
  v.worstIndex = value.at("worst").at("index").get<std::vector<int64_t>>();
  v.replicated = value.at("replicated");
  return v;
}

std::string Verdict::rule() const { return nameOf(comparison); }

std::string Verdict::summary() const {
  if (!right) {
    return "wrong";
  }
  return exact() ? "exact" : fmt::format("{:.3g}", ratio);
}

namespace {

/// Adds what other ranks found of the same tensor.
void mergeInto(Verdict &all, const Verdict &next) {
  all.elements += next.elements;
  all.mismatches += next.mismatches;
  all.unwritten += next.unwritten;
  all.error = std::max(all.error, next.error);
  all.referenceRatio = std::max(all.referenceRatio, next.referenceRatio);
  all.replicated = all.replicated && next.replicated;
  bool worse = (!next.right && next.mismatches > 0 && all.worstRank < 0) || (all.right && !next.right) || (all.right == next.right && next.ratio > all.ratio);
  all.ratio = std::max(all.ratio, next.ratio);
  if (worse) {
    all.reason = next.reason;
    all.worstRank = next.worstRank;
    all.worstTrial = next.worstTrial;
    all.worstIndex = next.worstIndex;
  }
  all.right = all.right && next.right;
}

} // namespace

std::vector<Verdict> mergeVerdicts(const std::vector<RankVerdicts> &parts) {
  std::vector<Verdict> merged;
  std::vector<std::vector<int>> ranksOf;
  std::map<std::string, int> rowsOf; // by tensor
  for (const RankVerdicts &part : parts) {
    for (const Verdict &verdict : part.verdicts) {
      auto same = std::find_if(merged.begin(), merged.end(), [&](const Verdict &known) {
        return known.what == verdict.what && known.dtype == verdict.dtype && known.comparison == verdict.comparison;
      });
      if (same == merged.end()) {
        merged.push_back(verdict);
        ranksOf.push_back(part.ranks);
        ++rowsOf[verdict.what];
        continue;
      }
      mergeInto(*same, verdict);
      std::vector<int> &ranks = ranksOf[size_t(same - merged.begin())];
      ranks.insert(ranks.end(), part.ranks.begin(), part.ranks.end());
    }
  }
  for (size_t i = 0; i < merged.size(); ++i) {
    if (rowsOf.at(merged[i].what) > 1) {
      merged[i].what += fmt::format(" of rank{} {}", ranksOf[i].size() > 1 ? "s" : "", fmt::join(ranksOf[i], ","));
    }
  }
  return merged;
}

} // namespace pkb::run
