// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Memory.h - storages and windows of them ------------------*- C++ -*-===//
//
// What a tensor (level L1) or a memref (level L2) is while a program is interpreted. Private to lib/Reference.
//
//===----------------------------------------------------------------------===//

#ifndef PKB_LIB_REFERENCE_MEMORY_H
#define PKB_LIB_REFERENCE_MEMORY_H

#include "Scalar.h"

#include "pkb/Reference/Interpreter.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/Support/Error.h"

#include <memory>
#include <vector>

namespace pkb::reference {

using Bytes = std::vector<char>;

/// What fresh memory holds: a NaN in every type of floats, and no number that a program is likely to compute.
inline constexpr char kPoison = '\xff';

/// Storage of a value, and the byte in it that element offset 0 of the value's type stands for (negative where the
/// memory holds only the end of a storage). At level L1 nobody writes to memory that somebody else may still read.
struct Tensor {
  std::shared_ptr<Bytes> memory;
  int64_t base = 0;

  bool absent() const { return !memory; }
};

/// The elements of a tensor: where each lies.
struct Window {
  std::shared_ptr<Bytes> memory;
  int64_t offset = 0; // bytes, of element 0
  ElementType element;
  llvm::SmallVector<int64_t> sizes, strides; // in elements

  int64_t count() const;
  /// The elements one after the other in row-major order, and back. `bytes` holds exactly all of them.
  Bytes gather() const;
  void scatter(llvm::ArrayRef<char> bytes) const;
  /// The bytes [begin, begin + bytes.size()) of what `gather` gives, and back.
  void read(int64_t begin, llvm::MutableArrayRef<char> bytes) const;
  void write(int64_t begin, llvm::ArrayRef<char> bytes) const;
  /// Where the element of that number in row-major order lies.
  char *at(int64_t number) const;
  /// Calls `body` with the byte of each element, in row-major order.
  void forEach(llvm::function_ref<void(int64_t)> body) const;
};

/// A ranked tensor or memref of static shape as a window of `tensor`. Fails where the type has no fixed layout, or the
/// window leaves the memory.
llvm::Expected<Window> windowOf(mlir::Type type, const Tensor &tensor);

/// Bytes [begin, end) of its storage that a type of static shape reaches, relative to element offset 0.
struct Extent {
  int64_t begin = 0, end = 0;
};
llvm::Expected<Extent> extentOf(mlir::Type type);

/// Poisoned memory for a value of this type, and no more than it reaches.
llvm::Expected<Tensor> allocate(mlir::Type type);

/// The elements of a constant, contiguous.
llvm::Expected<Bytes> bytesOf(mlir::ElementsAttr value);

/// Fills a window with numbers that follow from `seed` alone.
void fillRandom(const Window &window, uint64_t seed, const InputOptions &options);

/// A hash that spreads all bits of `value`.
uint64_t mixBits(uint64_t value);

} // namespace pkb::reference

#endif // PKB_LIB_REFERENCE_MEMORY_H
