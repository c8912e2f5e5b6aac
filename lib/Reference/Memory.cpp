// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Memory.cpp - storages and windows of them -------------------------===//

#include "Memory.h"

#include "dialects/Aten/IR/Aten.h"
#include "pkb/Support/Error.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/DialectResourceBlobManager.h"

#include <cstring>

using namespace mlir;
using namespace pkb;
using namespace pkb::reference;

int64_t Window::count() const {
  int64_t product = 1;
  for (int64_t size : sizes)
    product *= size;
  return product;
}

void Window::forEach(llvm::function_ref<void(int64_t)> body) const {
  if (count() == 0)
    return;
  SmallVector<int64_t> index(sizes.size(), 0);
  int64_t place = offset;
  while (true) {
    body(place);
    int64_t dim = static_cast<int64_t>(sizes.size()) - 1;
    for (; dim >= 0; --dim) {
      place += strides[dim] * element.bytes;
      if (++index[dim] < sizes[dim])
        break;
      place -= strides[dim] * element.bytes * sizes[dim];
      index[dim] = 0;
    }
    if (dim < 0)
      return;
  }
}

char *Window::at(int64_t number) const {
  int64_t place = offset;
  for (size_t dim = sizes.size(); dim-- > 0; number /= sizes[dim])
    place += number % sizes[dim] * strides[dim] * element.bytes;
  return memory->data() + place;
}

/// Calls `body` with the address of each stretch of one element that is in [begin, begin + size), and where it is
/// there.
static void forEachStretch(const Window &window, int64_t begin, int64_t size,
                           llvm::function_ref<void(char *, int64_t, int64_t)> body) {
  for (int64_t done = 0; done < size;) {
    int64_t within = (begin + done) % window.element.bytes;
    int64_t length = std::min(window.element.bytes - within, size - done);
    body(window.at((begin + done) / window.element.bytes) + within, done, length);
    done += length;
  }
}

void Window::read(int64_t begin, MutableArrayRef<char> bytes) const {
  forEachStretch(*this, begin, bytes.size(), [&](const char *from, int64_t done, int64_t length) {
    std::memcpy(bytes.data() + done, from, length);
  });
}

void Window::write(int64_t begin, ArrayRef<char> bytes) const {
  forEachStretch(*this, begin, bytes.size(),
                 [&](char *to, int64_t done, int64_t length) { std::memcpy(to, bytes.data() + done, length); });
}

Bytes Window::gather() const {
  Bytes bytes(count() * element.bytes);
  char *to = bytes.data();
  forEach([&](int64_t place) {
    std::memcpy(to, memory->data() + place, element.bytes);
    to += element.bytes;
  });
  return bytes;
}

void Window::scatter(ArrayRef<char> bytes) const {
  assert(static_cast<int64_t>(bytes.size()) == count() * element.bytes);
  const char *from = bytes.data();
  forEach([&](int64_t place) {
    std::memcpy(memory->data() + place, from, element.bytes);
    from += element.bytes;
  });
}

/// The layout of a type, in a window without memory whose offset counts from element offset 0.
static llvm::Expected<Window> layoutOf(Type type) {
  auto shaped = dyn_cast<ShapedType>(type);
  if (!shaped || !shaped.hasStaticShape())
    return makeError("needs tensors of static shape, got: ", type);
  std::optional<ElementType> element = ElementType::get(shaped.getElementType());
  if (!element)
    return makeError("has no elements of type ", shaped.getElementType());
  Window window;
  window.element = *element;
  window.sizes.assign(shaped.getShape().begin(), shaped.getShape().end());
  int64_t offset = 0;
  if (auto memref = dyn_cast<MemRefType>(type)) {
    if (failed(memref.getStridesAndOffset(window.strides, offset)) || ShapedType::isDynamic(offset) ||
        llvm::any_of(window.strides, ShapedType::isDynamic))
      return makeError("needs memrefs of static layout, got: ", type);
  } else {
    aten::Layout layout = aten::getLayout(cast<RankedTensorType>(type));
    window.strides = layout.strides;
    offset = layout.offset;
  }
  window.offset = offset * element->bytes;
  return window;
}

static Extent extentOf(const Window &window) {
  Extent extent{window.offset, window.offset};
  if (window.count() == 0)
    return extent;
  for (auto [size, stride] : llvm::zip(window.sizes, window.strides))
    extent.end += (size - 1) * stride * window.element.bytes;
  extent.end += window.element.bytes;
  return extent;
}

llvm::Expected<Extent> reference::extentOf(Type type) {
  llvm::Expected<Window> window = layoutOf(type);
  if (!window)
    return window.takeError();
  return ::extentOf(*window);
}

llvm::Expected<Window> reference::windowOf(Type type, const Tensor &tensor) {
  llvm::Expected<Window> window = layoutOf(type);
  if (!window)
    return window.takeError();
  if (tensor.absent())
    return makeError("uses a tensor that does not exist on this rank");
  window->memory = tensor.memory;
  window->offset += tensor.base;
  Extent extent = ::extentOf(*window);
  if (window->count() != 0 && (extent.begin < 0 || extent.end > static_cast<int64_t>(tensor.memory->size())))
    return makeError("reaches bytes [", extent.begin, ", ", extent.end, ") of a storage of ", tensor.memory->size(),
                     " as ", type);
  return window;
}

llvm::Expected<Tensor> reference::allocate(Type type) {
  llvm::Expected<Extent> extent = extentOf(type);
  if (!extent)
    return extent.takeError();
  return Tensor{std::make_shared<Bytes>(extent->end - extent->begin, kPoison), -extent->begin};
}

llvm::Expected<Bytes> reference::bytesOf(ElementsAttr value) {
  auto type = cast<ShapedType>(value.getType());
  std::optional<ElementType> element = ElementType::get(type.getElementType());
  if (!element)
    return makeError("has no elements of type ", type.getElementType());
  int64_t size = type.getNumElements() * element->bytes;
  Bytes bytes;
  if (auto dense = dyn_cast<DenseElementsAttr>(value)) {
    if (element->numbers == NumberClass::Bool) {
      for (bool bit : dense.getValues<bool>())
        bytes.push_back(bit);
    } else {
      ArrayRef<char> raw = dense.getRawData();
      for (int64_t i = 0, times = dense.isSplat() ? type.getNumElements() : 1; i < times; ++i)
        bytes.insert(bytes.end(), raw.begin(), raw.end());
    }
  } else if (auto resource = dyn_cast<DenseResourceElementsAttr>(value)) {
    if (AsmResourceBlob *blob = resource.getRawHandle().getBlob())
      bytes.assign(blob->getData().begin(), blob->getData().end());
  }
  if (static_cast<int64_t>(bytes.size()) != size)
    return makeError("needs a constant of ", size, " bytes, got: ", bytes.size());
  return bytes;
}

uint64_t reference::mixBits(uint64_t value) { // the finalizer of splitmix64
  value += 0x9e3779b97f4a7c15ull;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ull;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebull;
  return value ^ (value >> 31);
}

static Scalar specialElement(ElementType type, uint64_t number) {
  using llvm::APFloat;
  const llvm::fltSemantics &semantics = *type.semantics;
  bool negative = number & 1;
  const APFloat values[] = {APFloat::getZero(semantics, negative), APFloat::getLargest(semantics, negative),
                            APFloat::getSmallest(semantics, negative),
                            APFloat::semanticsHasNaN(semantics) ? APFloat::getNaN(semantics, negative)
                                                                : APFloat::getZero(semantics),
                            APFloat::semanticsHasInf(semantics) ? APFloat::getInf(semantics, negative)
                                                                : APFloat::getLargest(semantics, negative)};
  Scalar value;
  value.words[0] = values[number / 2 % std::size(values)].bitcastToAPInt().getZExtValue();
  return value;
}

static Scalar randomElement(ElementType type, uint64_t bits, const InputOptions &options) {
  if (type.isComplex()) {
    ElementType half = type.half();
    char bytes[16];
    randomElement(half, bits, options).store(bytes, half);
    randomElement(half, mixBits(bits), options).store(bytes + half.bytes, half);
    return Scalar::load(bytes, type);
  }
  if (type.isFloat() && options.special && mixBits(bits) % 8 == 0)
    return specialElement(type, mixBits(bits) / 8);
  if (type.isFloat())
    return fromDouble(static_cast<double>(static_cast<int64_t>(bits)) * 0x1p-62, type);
  if (options.limit > 0 && type.numbers != NumberClass::Bool)
    bits %= static_cast<uint64_t>(options.limit);
  return fromInteger(static_cast<int64_t>(bits), type);
}

void reference::fillRandom(const Window &window, uint64_t seed, const InputOptions &options) {
  uint64_t number = 0;
  window.forEach([&](int64_t place) {
    Scalar value = randomElement(window.element, mixBits(mixBits(seed) ^ number++), options);
    value.store(window.memory->data() + place, window.element);
  });
}
