#include "tierup/frontend/exported/argument_reader.h"

#include <array>
#include <functional>

#include "tierup/base/error.h"

namespace tierup::frontend::exported {
namespace {

using Kind = Argument::Kind;

ScalarType read_dtype(const JsonCursor& json) {
  const int64_t code = json.as_int();
  if (code >= 1 && code <= 12) return static_cast<ScalarType>(code - 1);
  switch (code) {
    case 13: return ScalarType::kBFloat16;
    case 28: return ScalarType::kUInt16;
    case 29: return ScalarType::kFloat8E4M3FN;
    case 30: return ScalarType::kFloat8E5M2;
    case 31: return ScalarType::kFloat8E4M3FNUZ;
    case 32: return ScalarType::kFloat8E5M2FNUZ;
    case 33: return ScalarType::kFloat8E8M0FNU;
    case 34: return ScalarType::kUInt32;
    case 35: return ScalarType::kUInt64;
    default: json.fail("dtype " + std::to_string(code) + " is unknown to schema 8.20");
  }
}

Device read_device(const JsonCursor& json) {
  std::string text(json.at("type").as_string());
  if (const auto index = json.find("index")) text += ":" + std::to_string(index->as_int());
  return Device::parse(text);
}

// The file counts from 1 (contiguous, channels_last, channels_last_3d, preserve).
int64_t read_memory_format(const JsonCursor& json) {
  constexpr std::array<MemoryFormat, 5> kFormats{
      MemoryFormat::kContiguous, MemoryFormat::kContiguous, MemoryFormat::kChannelsLast,
      MemoryFormat::kChannelsLast3d, MemoryFormat::kPreserve};
  const int64_t code = json.as_int();
  if (code < 1 || code > 4) json.fail("memory format " + std::to_string(code) + " is unknown");
  return static_cast<int64_t>(kFormats[static_cast<size_t>(code)]);
}

// 7 is strided; the sparse ones keep a code of their own, which operators refuse by name.
int64_t read_layout(const JsonCursor& json) {
  const int64_t code = json.as_int();
  if (code < 0 || code > 7) json.fail("layout " + std::to_string(code) + " is unknown");
  return code == 7 ? 0 : std::max<int64_t>(code, 1);
}

Argument make(Kind kind) {
  Argument argument;
  argument.kind = kind;
  return argument;
}

Argument named(Kind kind, const JsonCursor& json) {
  Argument argument = make(kind);
  argument.text = json.at("name").as_string();
  return argument;
}

Argument read_int(const JsonCursor& json) {
  Argument argument = make(Kind::kInt);
  argument.integer = json.as_int();
  return argument;
}
Argument read_float(const JsonCursor& json) {
  Argument argument = make(Kind::kFloat);
  argument.floating = json.as_double();
  return argument;
}
Argument read_bool(const JsonCursor& json) {
  Argument argument = make(Kind::kBool);
  argument.integer = json.as_bool() ? 1 : 0;
  return argument;
}
Argument read_string(const JsonCursor& json) {
  Argument argument = make(Kind::kString);
  argument.text = json.as_string();
  return argument;
}
Argument read_tensor_name(const JsonCursor& json) { return named(Kind::kTensor, json); }

// {as_name} or {as_int | as_float | as_bool}.
template <Kind Symbolic>
Argument read_symbolic(const JsonCursor& json) {
  const auto [variant, value] = json.variant();
  if (variant == "as_name") {
    Argument argument = make(Symbolic);
    argument.text = value.as_string();
    return argument;
  }
  if (variant == "as_int") return read_int(value);
  if (variant == "as_float") return read_float(value);
  if (variant == "as_bool") return read_bool(value);
  json.fail("symbolic argument variant '" + std::string(variant) + "' is unknown");
}

Argument read_optional_tensor(const JsonCursor& json) {
  const auto [variant, value] = json.variant();
  if (variant == "as_none") return make(Kind::kNone);
  if (variant == "as_tensor") return read_tensor_name(value);
  json.fail("optional tensor variant '" + std::string(variant) + "' is unknown");
}

template <Argument (*Read)(const JsonCursor&)>
Argument read_list(const JsonCursor& json) {
  Argument argument = make(Kind::kList);
  json.each([&](const JsonCursor& item) { argument.items.push_back(Read(item)); });
  return argument;
}

Argument read_dict(const JsonCursor& json) {
  Argument argument = make(Kind::kDict);
  json.each_member([&](std::string_view key, const JsonCursor& value) {
    argument.keys.emplace_back(key);
    argument.items.push_back(read_argument(value));
  });
  return argument;
}

Argument read_complex(const JsonCursor& json) {
  Argument argument = make(Kind::kComplex);
  argument.floating = json.at("real").as_double();
  argument.imaginary = json.at("imag").as_double();
  return argument;
}

Argument read_graph_argument(const JsonCursor& json) {
  Argument argument = named(Kind::kGraph, json);
  argument.graph = std::make_shared<GraphData>(read_graph(json.at("graph")));
  return argument;
}

template <int64_t (*Read)(const JsonCursor&), Kind K>
Argument read_code(const JsonCursor& json) {
  Argument argument = make(K);
  argument.integer = Read(json);
  return argument;
}

int64_t read_dtype_code(const JsonCursor& json) { return static_cast<int64_t>(read_dtype(json)); }

Argument read_device_argument(const JsonCursor& json) {
  Argument argument = make(Kind::kDevice);
  argument.device = read_device(json);
  return argument;
}

Argument read_operator(const JsonCursor& json) {
  Argument argument = read_string(json);
  argument.kind = Kind::kOperator;
  return argument;
}

Argument read_none(const JsonCursor&) { return make(Kind::kNone); }
Argument read_object(const JsonCursor& json) { return named(Kind::kCustomObject, json); }
Argument read_token(const JsonCursor& json) { return named(Kind::kToken, json); }

struct VariantReader {
  std::string_view name;
  Argument (*read)(const JsonCursor&);
};

constexpr auto kVariants = std::to_array<VariantReader>({
    {"as_none", read_none},
    {"as_tensor", read_tensor_name},
    {"as_tensors", read_list<read_tensor_name>},
    {"as_int", read_int},
    {"as_ints", read_list<read_int>},
    {"as_float", read_float},
    {"as_floats", read_list<read_float>},
    {"as_string", read_string},
    {"as_strings", read_list<read_string>},
    {"as_sym_int", read_symbolic<Kind::kSymInt>},
    {"as_sym_ints", read_list<read_symbolic<Kind::kSymInt>>},
    {"as_scalar_type", read_code<read_dtype_code, Kind::kScalarType>},
    {"as_memory_format", read_code<read_memory_format, Kind::kMemoryFormat>},
    {"as_layout", read_code<read_layout, Kind::kLayout>},
    {"as_device", read_device_argument},
    {"as_bool", read_bool},
    {"as_bools", read_list<read_bool>},
    {"as_sym_bool", read_symbolic<Kind::kSymBool>},
    {"as_sym_bools", read_list<read_symbolic<Kind::kSymBool>>},
    {"as_optional_tensors", read_list<read_optional_tensor>},
    {"as_optional_tensor", read_optional_tensor},
    {"as_graph", read_graph_argument},
    {"as_custom_obj", read_object},
    {"as_operator", read_operator},
    {"as_sym_float", read_symbolic<Kind::kSymFloat>},
    {"as_sym_floats", read_list<read_symbolic<Kind::kSymFloat>>},
    {"as_complex", read_complex},
    {"as_nested_tensors", read_list<read_list<read_tensor_name>>},
    {"as_int_lists", read_list<read_list<read_int>>},
    {"as_float_lists", read_list<read_list<read_float>>},
    {"as_string_to_argument", read_dict},
    {"as_token", read_token},
});

}  // namespace

Argument read_argument(const JsonCursor& json) {
  const auto [variant, value] = json.variant();
  for (const VariantReader& reader : kVariants) {
    if (reader.name != variant) continue;
    Argument argument = reader.read(value);
    argument.variant = variant;
    return argument;
  }
  json.fail("argument variant '" + std::string(variant) + "' is newer than schema 8.20");
}

Argument read_named_reference(const JsonCursor& json) {
  if (json.is_object() && json.find("name")) return named(Kind::kTensor, json);
  return read_argument(json);
}

SymInt read_sym_int(const JsonCursor& json) {
  const auto [variant, value] = json.variant();
  SymInt result;
  if (variant == "as_int") {
    result.value = value.as_int();
  } else if (variant == "as_expr") {
    result.expression = value.at("expr_str").as_string();
    if (result.expression.empty()) value.fail("an empty expression");
    if (const auto hint = value.find("hint")) {
      const auto [kind, number] = hint->variant();
      if (kind == "as_int") result.value = number.as_int();
    }
  } else {
    json.fail("size variant '" + std::string(variant) + "' is unknown");
  }
  return result;
}

TensorMeta read_tensor_meta(const JsonCursor& json) {
  TensorMeta meta;
  meta.dtype = read_dtype(json.at("dtype"));
  json.at("sizes").each([&](const JsonCursor& s) { meta.sizes.push_back(read_sym_int(s)); });
  json.at("strides").each([&](const JsonCursor& s) { meta.strides.push_back(read_sym_int(s)); });
  if (const auto offset = json.find("storage_offset")) meta.storage_offset = read_sym_int(*offset);
  if (const auto grad = json.find("requires_grad")) meta.requires_grad = grad->as_bool();
  if (const auto device = json.find("device")) meta.device = read_device(*device);
  if (const auto layout = json.find("layout")) meta.strided = read_layout(*layout) == 0;
  return meta;
}

}  // namespace tierup::frontend::exported
