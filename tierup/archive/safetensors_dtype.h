// The names that the safetensors format gives to element types.
#pragma once

#include <optional>
#include <string_view>
#include <utility>

#include "tierup/tensor/dtype.h"

namespace tierup::archive {

inline constexpr std::pair<std::string_view, ScalarType> kSafetensorsDtypes[] = {
    {"F32", ScalarType::kFloat},
    {"F64", ScalarType::kDouble},
    {"F16", ScalarType::kHalf},
    {"BF16", ScalarType::kBFloat16},
    {"I64", ScalarType::kLong},
    {"I32", ScalarType::kInt},
    {"I16", ScalarType::kShort},
    {"I8", ScalarType::kChar},
    {"U8", ScalarType::kByte},
    {"BOOL", ScalarType::kBool},
    {"U16", ScalarType::kUInt16},
    {"U32", ScalarType::kUInt32},
    {"U64", ScalarType::kUInt64},
    {"C64", ScalarType::kComplexFloat},
    {"F8_E5M2", ScalarType::kFloat8E5M2},
    {"F8_E4M3", ScalarType::kFloat8E4M3FN},
    {"F8_E8M0", ScalarType::kFloat8E8M0FNU},
};

// Nothing for a name that the format or tierup does not have.
inline std::optional<ScalarType> dtype_of_safetensors(std::string_view name) {
  for (const auto& [text, type] : kSafetensorsDtypes) {
    if (text == name) return type;
  }
  return std::nullopt;
}

// Nothing for a type that the format does not have.
inline std::optional<std::string_view> safetensors_name(ScalarType type) {
  for (const auto& [text, known] : kSafetensorsDtypes) {
    if (known == type) return text;
  }
  return std::nullopt;
}

}  // namespace tierup::archive
