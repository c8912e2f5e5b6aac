// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Compare.cpp - two outcomes of one call ------------------------------===//

#include "Memory.h"
#include "pkb/Reference/Interpreter.h"

#include "pkb/Support/Error.h"

#include <cmath>

using namespace mlir;
using namespace pkb;
using namespace pkb::reference;

static ElementType elementOf(const Observed &tensor) {
  return *ElementType::get(cast<ShapedType>(tensor.type).getElementType());
}

static Scalar scalarAt(const Observed &tensor, int64_t index, ElementType element) {
  return Scalar::load(tensor.bytes.data() + index * element.bytes, element);
}

std::string reference::elementText(const Observed &tensor, int64_t index) {
  ElementType element = elementOf(tensor);
  return toText(scalarAt(tensor, index, element), element);
}

/// Floats as integers in which neighbours differ by one.
static int64_t ordered(Scalar value, ElementType element) {
  ElementType bits{NumberClass::Signed, element.bytes, nullptr};
  int64_t number = toInteger(value, bits);
  int64_t least = static_cast<int64_t>(~uint64_t(0) << (8 * element.bytes - 1));
  return number < 0 ? least - number : number;
}

static bool agree(Scalar left, Scalar right, ElementType element, int64_t ulps) {
  if (left.words[0] == right.words[0] && left.words[1] == right.words[1])
    return true;
  if (element.isComplex()) {
    ElementType half = element.half();
    char l[16], r[16];
    left.store(l, element);
    right.store(r, element);
    return agree(Scalar::load(l, half), Scalar::load(r, half), half, ulps) &&
           agree(Scalar::load(l + half.bytes, half), Scalar::load(r + half.bytes, half), half, ulps);
  }
  if (!element.isFloat())
    return false;
  bool leftNan = std::isnan(toDouble(left, element)), rightNan = std::isnan(toDouble(right, element));
  if (leftNan || rightNan)
    return leftNan && rightNan;
  uint64_t distance = static_cast<uint64_t>(ordered(left, element)) - static_cast<uint64_t>(ordered(right, element));
  return std::min(distance, 0 - distance) <= static_cast<uint64_t>(ulps);
}

/// "[1, 0]" for the element of that number in row-major order.
static std::string indexText(ArrayRef<int64_t> shape, int64_t number) {
  SmallVector<int64_t> index(shape.size());
  for (size_t dim = shape.size(); dim-- > 0; number /= shape[dim])
    index[dim] = number % shape[dim];
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "[";
  llvm::interleaveComma(index, os);
  os << "]";
  return text;
}

static std::string difference(const Observed &left, const Observed &right, int64_t ulps) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (left.type != right.type || left.name != right.name) {
    os << left.name << " of type " << left.type << " and " << right.name << " of type " << right.type;
    return text;
  }
  if (!left.defined || !right.defined) // what is defined on one side only nobody may use
    return "";
  ElementType element = elementOf(left);
  int64_t count = left.bytes.size() / element.bytes, different = 0, first = -1;
  for (int64_t i = 0; i < count; ++i)
    if (!agree(scalarAt(left, i, element), scalarAt(right, i, element), element, ulps)) {
      ++different;
      first = first < 0 ? i : first;
    }
  if (different)
    os << left.name << " " << indexText(cast<ShapedType>(left.type).getShape(), first) << ": "
       << elementText(left, first) << " and " << elementText(right, first) << " (" << different << " of " << count
       << " elements differ)";
  return text;
}

std::string reference::firstDifference(ArrayRef<std::vector<Observed>> left, ArrayRef<std::vector<Observed>> right,
                                       int64_t ulps) {
  if (left.size() != right.size())
    return (Twine(left.size()) + " and " + Twine(right.size()) + " ranks").str();
  for (size_t rank = 0; rank < left.size(); ++rank) {
    std::string where = ("rank " + Twine(rank) + " ").str();
    if (left[rank].size() != right[rank].size())
      return where + (Twine(left[rank].size()) + " and " + Twine(right[rank].size()) + " results and arguments").str();
    for (auto [l, r] : llvm::zip_equal(left[rank], right[rank]))
      if (std::string text = difference(l, r, ulps); !text.empty())
        return where + text;
  }
  return "";
}
