// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From the encoding of arguments in bundles and manifests to the boxed values of a schema.
#include "Plan.h"
#include "pkb_rt/pkb.h"

#include <ATen/ScalarOps.h>
#include <ATen/core/List.h>
#include <c10/util/complex.h>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

namespace pkb_aten {
namespace {

using Json = nlohmann::json;

[[noreturn]] void bad(const Json &json, const c10::TypePtr &type) {
  throw std::runtime_error("argument " + json.dump() + " cannot be given as " + type->str());
}

double realOf(const Json &json) {
  if (json.is_string()) {
    std::string text = json.get<std::string>();
    if (text == "inf" || text == "-inf") {
      return (text[0] == '-' ? -1 : 1) * std::numeric_limits<double>::infinity();
    }
    if (text == "nan") {
      return std::numeric_limits<double>::quiet_NaN();
    }
  }
  if (!json.is_number()) {
    throw std::runtime_error("argument " + json.dump() + " is no number");
  }
  return json.get<double>();
}

c10::Device deviceOf(const std::string &text, const Plan &plan) {
  if (text.rfind("cuda", 0) == 0) {
    return plan.device; // programs were recorded for some CUDA device; here it is the rank's own
  }
  return c10::Device(text);
}

c10::IValue listOf(const Json &items, const c10::TypePtr &element, const char *key, std::optional<int32_t> count,
                   const Plan &plan) {
  if (!items.is_array()) {
    throw std::runtime_error("argument " + items.dump() + " is no list");
  }
  auto wrap = [&](const Json &item) { return key ? Json{{key, item}} : item; };
  if (element->kind() == c10::TypeKind::IntType || element->kind() == c10::TypeKind::SymIntType) {
    c10::List<int64_t> list;
    for (const Json &item : items) {
      list.push_back(convertConstant(wrap(item), c10::IntType::get(), std::nullopt, plan).toInt());
    }
    return list;
  }
  if (element->kind() == c10::TypeKind::FloatType) {
    c10::List<double> list;
    for (const Json &item : items) {
      list.push_back(convertConstant(wrap(item), element, std::nullopt, plan).toDouble());
    }
    return list;
  }
  if (element->kind() == c10::TypeKind::BoolType) {
    c10::List<bool> list;
    for (const Json &item : items) {
      list.push_back(convertConstant(wrap(item), element, std::nullopt, plan).toBool());
    }
    return list;
  }
  c10::impl::GenericList list(element);
  for (const Json &item : items) {
    list.push_back(convertConstant(wrap(item), element, std::nullopt, plan));
  }
  return list;
}

} // namespace

at::ScalarType scalarTypeOf(int32_t dtype) {
  static constexpr at::ScalarType types[PKB_DTYPE_COUNT] = {at::kDouble,
                                                            at::kFloat,
                                                            at::kHalf,
                                                            at::kBFloat16,
                                                            at::kChar,
                                                            at::kShort,
                                                            at::kInt,
                                                            at::kLong,
                                                            at::kByte,
                                                            at::kBool,
                                                            at::ScalarType::Float8_e4m3fn,
                                                            at::ScalarType::Float8_e5m2,
                                                            at::ScalarType::ComplexFloat,
                                                            at::ScalarType::ComplexDouble};
  if (dtype < 0 || dtype >= PKB_DTYPE_COUNT) {
    throw std::runtime_error("slot has dtype number " + std::to_string(dtype) + ", which does not exist");
  }
  return types[dtype];
}

at::ScalarType scalarTypeOf(const std::string &name) {
  static constexpr const char *names[PKB_DTYPE_COUNT] = {
      "float64", "float32", "float16", "bfloat16",      "int8",        "int16",     "int32",
      "int64",   "uint8",   "bool",    "float8_e4m3fn", "float8_e5m2", "complex64", "complex128"};
  for (int32_t i = 0; i < PKB_DTYPE_COUNT; ++i) {
    if (name == names[i]) {
      return scalarTypeOf(i);
    }
  }
  static constexpr std::pair<const char *, at::ScalarType> others[] = {
      {"uint16", at::ScalarType::UInt16},
      {"uint32", at::ScalarType::UInt32},
      {"uint64", at::ScalarType::UInt64},
      {"complex32", at::ScalarType::ComplexHalf},
      {"float8_e4m3fnuz", at::ScalarType::Float8_e4m3fnuz},
      {"float8_e5m2fnuz", at::ScalarType::Float8_e5m2fnuz},
      {"float8_e8m0fnu", at::ScalarType::Float8_e8m0fnu}};
  for (auto &[other, type] : others) {
    if (name == other) {
      return type;
    }
  }
  throw std::runtime_error("dtype '" + name + "' is not known");
}

c10::IValue convertConstant(const Json &json, const c10::TypePtr &type, std::optional<int32_t> count,
                            const Plan &plan) {
  using Kind = c10::TypeKind;
  if (!json.is_object() || json.size() != 1) {
    throw std::runtime_error("argument " + json.dump() + " is not an object with one key");
  }
  const std::string key = json.begin().key();
  const Json &value = json.begin().value();
  if (key == "n") {
    return c10::IValue();
  }
  if (type->kind() == Kind::OptionalType) {
    return convertConstant(json, type->expectRef<c10::OptionalType>().getElementType(), count, plan);
  }
  if (type->kind() == Kind::ListType) {
    const c10::TypePtr &element = type->expectRef<c10::ListType>().getElementType();
    if (key == "is" || key == "fs" || key == "bs") {
      return listOf(value, element, key == "is" ? "i" : key == "fs" ? "f" : "b", count, plan);
    }
    if (key == "list") {
      return listOf(value, element, nullptr, count, plan);
    }
    if (count) { // int[2] given as one int
      return listOf(Json(std::vector<Json>(size_t(*count), json)), element, nullptr, count, plan);
    }
    bad(json, type);
  }
  switch (type->kind()) {
  case Kind::IntType:
  case Kind::SymIntType:
    if (key == "i" && value.is_number_integer()) {
      return value.get<int64_t>();
    }
    if (key == "b") {
      return int64_t(value.get<bool>());
    }
    if (key == "dtype") {
      return int64_t(scalarTypeOf(value.get<std::string>()));
    }
    if (key == "layout") {
      if (value.get<std::string>() != "strided") {
        throw std::runtime_error("layout '" + value.get<std::string>() + "' is not supported, only strided");
      }
      return int64_t(at::kStrided);
    }
    if (key == "mf") {
      static constexpr std::pair<const char *, at::MemoryFormat> formats[] = {
          {"contiguous", at::MemoryFormat::Contiguous},
          {"preserve", at::MemoryFormat::Preserve},
          {"channels_last", at::MemoryFormat::ChannelsLast},
          {"channels_last_3d", at::MemoryFormat::ChannelsLast3d}};
      std::string name = value.get<std::string>();
      for (auto &[known, format] : formats) {
        if (name == known || name == std::string(known) + "_format") {
          return int64_t(format);
        }
      }
    }
    bad(json, type);
  case Kind::FloatType:
    if (key == "f" || key == "i") {
      return realOf(value);
    }
    bad(json, type);
  case Kind::BoolType:
  case Kind::SymBoolType:
    if (key == "b") {
      return value.get<bool>();
    }
    bad(json, type);
  case Kind::NumberType:
    if (key == "i" && value.is_number_integer()) {
      return value.get<int64_t>();
    }
    if (key == "f" || key == "i") {
      return realOf(value);
    }
    if (key == "b") {
      return value.get<bool>();
    }
    if (key == "c" && value.is_array() && value.size() == 2) {
      return c10::complex<double>(realOf(value[0]), realOf(value[1]));
    }
    bad(json, type);
  case Kind::TensorType:
    if (key == "i" || key == "f" || key == "b" ||
        key == "c") { // torch's wrapped number, which promotes as a number does
      at::Tensor number =
          c10::scalar_to_tensor(convertConstant(json, c10::NumberType::get(), std::nullopt, plan).toScalar());
      number.unsafeGetTensorImpl()->set_wrapped_number(true);
      return number;
    }
    bad(json, type);
  case Kind::StringType:
    if (key == "s") {
      return value.get<std::string>();
    }
    bad(json, type);
  case Kind::DeviceObjType:
    if (key == "device") {
      return deviceOf(value.get<std::string>(), plan);
    }
    bad(json, type);
  case Kind::ScalarTypeType:
  case Kind::LayoutType:
  case Kind::MemoryFormatType:
    return convertConstant(json, c10::IntType::get(), count, plan);
  default:
    bad(json, type);
  }
}

} // namespace pkb_aten
