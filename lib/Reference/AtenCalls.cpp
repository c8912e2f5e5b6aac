// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- AtenCalls.cpp - ATen operators through the C table ------------------===//

#include "AtenCalls.h"

#include "dialects/Aten/IR/AtenJson.h"
#include "pkb/Support/Error.h"
#include "pkb_rt/pkb.h"

#include <dlfcn.h>

using namespace mlir;
using namespace pkb;
using namespace pkb::reference;

/// Where the table writes what went wrong.
using ErrorText = char[1024];

/// The dtype's number in the plain-C headers.
static int32_t codeOf(aten::ScalarType dtype) {
  switch (dtype) {
  case aten::ScalarType::Float64:
    return PKB_F64;
  case aten::ScalarType::Float32:
    return PKB_F32;
  case aten::ScalarType::Float16:
    return PKB_F16;
  case aten::ScalarType::BFloat16:
    return PKB_BF16;
  case aten::ScalarType::Float8E4M3FN:
    return PKB_F8E4M3FN;
  case aten::ScalarType::Float8E5M2:
    return PKB_F8E5M2;
  case aten::ScalarType::Int64:
    return PKB_I64;
  case aten::ScalarType::Int32:
    return PKB_I32;
  case aten::ScalarType::Int16:
    return PKB_I16;
  case aten::ScalarType::Int8:
    return PKB_I8;
  case aten::ScalarType::UInt8:
    return PKB_U8;
  case aten::ScalarType::Bool:
    return PKB_BOOL;
  case aten::ScalarType::Complex64:
    return PKB_C64;
  case aten::ScalarType::Complex128:
    return PKB_C128;
  }
  llvm_unreachable("all dtypes are above");
}

AtenCalls::~AtenCalls() {
  for (auto &[op, call] : prepared) {
    table->frame_destroy(call.frame);
    table->plan_destroy(call.plan);
  }
}

llvm::Error AtenCalls::open() {
  if (table)
    return llvm::Error::success();
  // Its symbols stay its own: libtorch brings parts of LLVM.
  void *handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  if (!handle) {
    const char *text = dlerror();
    return makeError("needs libpkb_aten.so, which cannot be loaded: ", text ? text : "unknown error",
                     "; build it (it needs torch), or name it with --aten-library");
  }
  auto get = reinterpret_cast<const pkb_aten_api *(*)()>(dlsym(handle, "pkb_aten_table"));
  if (!get || get()->abi_version != PKB_ATEN_ABI_VERSION)
    return makeError("needs version ", PKB_ATEN_ABI_VERSION, " of the operators' table, and '", library,
                     "' has another; use those of one build");
  table = get();
  return llvm::Error::success();
}

llvm::Expected<AtenCalls::Prepared> AtenCalls::prepare(aten::CallOp call, ArrayRef<Window> windows) {
  SmallVector<Value> values(call.getInputs());
  llvm::append_range(values, call.isBufferized() ? ValueRange(call.getOuts()) : ValueRange(call.getFreshResults()));
  std::vector<pkb_aten_slot> slots;
  for (auto [value, window] : llvm::zip_equal(values, windows)) {
    std::optional<aten::ScalarType> dtype = aten::getScalarType(getElementTypeOrSelf(value.getType()));
    if (!dtype)
      return makeError("torch has no element type ", getElementTypeOrSelf(value.getType()));
    slots.push_back({codeOf(*dtype), static_cast<int32_t>(window.sizes.size()), window.sizes.data(),
                     window.strides.data(), PKB_ATEN_BOUND, -1, 0, /*host=*/!isa<ShapedType>(value.getType())});
  }
  int64_t inputs = call.getInputs().size();
  llvm::json::Object step = aten::callToJson(
      call, [](int64_t index) { return llvm::json::Value(index); },
      [&](int64_t index) { return llvm::json::Value(inputs + index); });
  step["kind"] = "aten";
  std::string text;
  llvm::raw_string_ostream(text) << llvm::json::Value(std::move(step));
  ErrorText error = "";
  Prepared made;
  if (table->plan_create(slots.data(), slots.size(), /*cuda=*/0, /*device=*/0, &made.plan, error, sizeof(error)) !=
      PKB_ATEN_DONE)
    return makeError(error);
  if (table->plan_add(made.plan, text.c_str(), error, sizeof(error)) != PKB_ATEN_DONE ||
      table->frame_create(made.plan, &made.frame, error, sizeof(error)) != PKB_ATEN_DONE) {
    table->plan_destroy(made.plan);
    return makeError(error);
  }
  return made;
}

llvm::Error AtenCalls::run(aten::CallOp call, ArrayRef<Window> windows) {
  if (aten::makesUndefined(call.getCallee()))
    return llvm::Error::success();
  if (call.getRng())
    return makeError("draws random numbers, so its results follow from no seed here");
  if (llvm::Error error = open())
    return error;
  Prepared &entry = prepared[call];
  if (!entry.frame) {
    llvm::Expected<Prepared> made = prepare(call, windows);
    if (!made)
      return made.takeError();
    entry = *made;
  }
  for (auto [slot, window] : llvm::enumerate(windows))
    table->frame_bind(entry.frame, slot, window.memory->data() + window.offset);
  ErrorText error = "";
  int status = table->run(entry.frame, /*step=*/0, /*stream=*/nullptr, error, sizeof(error));
  if (status == PKB_ATEN_PENDING)
    status = table->execute(entry.frame, /*step=*/0, error, sizeof(error));
  if (status != PKB_ATEN_DONE)
    return makeError(error);
  table->frame_reset(entry.frame);
  return llvm::Error::success();
}
