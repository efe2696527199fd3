#include "tierup/tensor/dtype.h"

#include <algorithm>
#include <array>

namespace tierup {
namespace {

struct DTypeRow {
  ScalarType type;
  std::string_view name;      // Python name.
  std::string_view cpp_name;  // Name in PyTorch's error texts.
  std::string_view alias;     // Second Python name, or empty.
  size_t bytes;
};

constexpr auto kRows = std::to_array<DTypeRow>({
    {ScalarType::kByte, "uint8", "Byte", "", 1},
    {ScalarType::kChar, "int8", "Char", "", 1},
    {ScalarType::kShort, "int16", "Short", "short", 2},
    {ScalarType::kInt, "int32", "Int", "int", 4},
    {ScalarType::kLong, "int64", "Long", "long", 8},
    {ScalarType::kHalf, "float16", "Half", "half", 2},
    {ScalarType::kFloat, "float32", "Float", "float", 4},
    {ScalarType::kDouble, "float64", "Double", "double", 8},
    {ScalarType::kComplexHalf, "complex32", "ComplexHalf", "chalf", 4},
    {ScalarType::kComplexFloat, "complex64", "ComplexFloat", "cfloat", 8},
    {ScalarType::kComplexDouble, "complex128", "ComplexDouble", "cdouble", 16},
    {ScalarType::kBool, "bool", "Bool", "", 1},
    {ScalarType::kQInt8, "qint8", "QInt8", "", 1},
    {ScalarType::kQUInt8, "quint8", "QUInt8", "", 1},
    {ScalarType::kQInt32, "qint32", "QInt32", "", 4},
    {ScalarType::kBFloat16, "bfloat16", "BFloat16", "", 2},
    {ScalarType::kQUInt4x2, "quint4x2", "QUInt4x2", "", 1},
    {ScalarType::kQUInt2x4, "quint2x4", "QUInt2x4", "", 1},
    {ScalarType::kFloat8E5M2, "float8_e5m2", "Float8_e5m2", "", 1},
    {ScalarType::kFloat8E4M3FN, "float8_e4m3fn", "Float8_e4m3fn", "", 1},
    {ScalarType::kFloat8E5M2FNUZ, "float8_e5m2fnuz", "Float8_e5m2fnuz", "", 1},
    {ScalarType::kFloat8E4M3FNUZ, "float8_e4m3fnuz", "Float8_e4m3fnuz", "", 1},
    {ScalarType::kUInt16, "uint16", "UInt16", "", 2},
    {ScalarType::kUInt32, "uint32", "UInt32", "", 4},
    {ScalarType::kUInt64, "uint64", "UInt64", "", 8},
    {ScalarType::kFloat8E8M0FNU, "float8_e8m0fnu", "Float8_e8m0fnu", "", 1},
});

constexpr size_t kCodes = 64;  // Codes are below.

// Bytes by code; 0 where there is none.
constexpr auto kBytes = [] {
  std::array<uint8_t, kCodes> bytes{};
  for (const DTypeRow& row : kRows) bytes[static_cast<size_t>(row.type)] = row.bytes;
  return bytes;
}();

const DTypeRow* find_row(int64_t code) {
  const auto row = std::find_if(kRows.begin(), kRows.end(), [&](const DTypeRow& r) {
    return static_cast<int64_t>(r.type) == code;
  });
  return row == kRows.end() ? nullptr : &*row;
}

const DTypeRow& row_of(ScalarType type) {
  const DTypeRow* row = find_row(static_cast<int64_t>(type));
  require(row != nullptr, ErrorCode::kUnsupported, "unknown dtype code {}", static_cast<int>(type));
  return *row;
}

// Rank of the category in promotion: bool < integral < floating < complex.
int category(ScalarType t) {
  if (is_complex(t)) return 3;
  if (is_floating(t)) return 2;
  return t == ScalarType::kBool ? 0 : 1;
}

ScalarType promote_integral(ScalarType a, ScalarType b) {
  const bool unsigned_a = a == ScalarType::kByte || a >= ScalarType::kUInt16;
  const bool unsigned_b = b == ScalarType::kByte || b >= ScalarType::kUInt16;
  const size_t width_a = item_size(a);
  const size_t width_b = item_size(b);
  if (unsigned_a == unsigned_b) return width_a >= width_b ? a : b;
  const ScalarType u = unsigned_a ? a : b;
  const ScalarType s = unsigned_a ? b : a;
  if (item_size(s) > item_size(u)) return s;
  require(u == ScalarType::kByte, ErrorCode::kTypeError, "promotion of {} with {} is not supported",
          dtype_name(a), dtype_name(b));
  return ScalarType::kShort;  // u8 with i8.
}

ScalarType promote_floating(ScalarType a, ScalarType b) {
  if (a == b) return a;
  if (item_size(a) != item_size(b)) return item_size(a) > item_size(b) ? a : b;
  return ScalarType::kFloat;  // f16 with bf16.
}

}  // namespace

size_t item_size(ScalarType type) {
  const auto code = static_cast<uint8_t>(type);
  if (code < kCodes && kBytes[code] != 0) [[likely]]
    return kBytes[code];
  return row_of(type).bytes;
}
std::string_view dtype_name(ScalarType type) { return row_of(type).name; }
std::string_view scalar_type_name(ScalarType type) { return row_of(type).cpp_name; }

std::optional<ScalarType> parse_dtype(std::string_view name) {
  if (name.starts_with("torch.")) name.remove_prefix(6);
  for (const DTypeRow& row : kRows) {
    if (row.name == name || (!row.alias.empty() && row.alias == name)) return row.type;
  }
  return std::nullopt;
}

ScalarType scalar_type_from_code(int64_t code) {
  const DTypeRow* row = find_row(code);
  require(row != nullptr, ErrorCode::kUnsupported, "dtype code {} is not supported", code);
  return row->type;
}

ScalarType real_type_of(ScalarType t) {
  switch (t) {
    case ScalarType::kComplexHalf: return ScalarType::kHalf;
    case ScalarType::kComplexFloat: return ScalarType::kFloat;
    case ScalarType::kComplexDouble: return ScalarType::kDouble;
    default: return t;
  }
}

ScalarType complex_type_of(ScalarType t) {
  switch (t) {
    case ScalarType::kHalf: return ScalarType::kComplexHalf;
    case ScalarType::kBFloat16:
    case ScalarType::kFloat: return ScalarType::kComplexFloat;
    case ScalarType::kDouble: return ScalarType::kComplexDouble;
    default:
      require(is_complex(t), ErrorCode::kTypeError, "{} has no complex counterpart", dtype_name(t));
      return t;
  }
}

ScalarType promote_types(ScalarType a, ScalarType b) {
  if (a == b) return a;
  const int ca = category(a);
  const int cb = category(b);
  if (ca == cb) {
    switch (ca) {
      case 3: return item_size(a) > item_size(b) ? a : b;
      case 2: return promote_floating(a, b);
      default: return promote_integral(a, b);
    }
  }
  const ScalarType high = ca > cb ? a : b;
  const ScalarType low = ca > cb ? b : a;
  if (is_complex(high) && is_floating(low)) {
    const ScalarType real = promote_floating(real_type_of(high), low);
    return real == real_type_of(high) ? high : complex_type_of(real);
  }
  return high;
}

bool can_cast(ScalarType from, ScalarType to) {
  if (is_complex(from) && !is_complex(to)) return false;
  if (is_floating(from) && is_integral(to, true)) return false;
  return from == ScalarType::kBool || to != ScalarType::kBool;
}

void fail_dtype(std::string_view what, ScalarType type) {
  fail(ErrorCode::kUnsupported, "{} is not implemented for '{}'", what, scalar_type_name(type));
}

}  // namespace tierup
