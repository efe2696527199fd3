#include "result_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>

#include "failure.h"
#include "json_writer.h"

namespace tierup::cli {
namespace {

using Kind = v1::Value::Kind;

constexpr int64_t kShownElements = 8;
// A list may hold itself.
constexpr int kMaxDepth = 200;

void check_depth(int depth) {
  require(depth < kMaxDepth, v1::ErrorCode::kRecursionLimit,
          "the result is nested deeper than {} levels", kMaxDepth);
}

bool is_complex(v1::DType dtype) {
  return dtype == v1::DType::kComplex64 || dtype == v1::DType::kComplex128;
}

bool is_floating(v1::DType dtype) {
  switch (dtype) {
    case v1::DType::kFloat16:
    case v1::DType::kBFloat16:
    case v1::DType::kFloat32:
    case v1::DType::kFloat64: return true;
    default: return false;
  }
}

template <typename T>
std::string element_text(T value) {
  if constexpr (std::is_same_v<T, std::complex<double>>) {
    return fmt::format("{:.6g}{:+.6g}j", value.real(), value.imag());
  } else if constexpr (std::is_same_v<T, bool>) {
    return value ? "True" : "False";
  } else if constexpr (std::is_integral_v<T>) {
    return fmt::format("{}", value);
  } else {
    return fmt::format("{:.6g}", value);
  }
}

// Each with a space in front, after conversion to T.
template <typename T>
std::string elements_as(const v1::Tensor& dense) {
  const v1::Tensor numbers = dense.to(v1::DTypeOf<T>::value);
  std::string text;
  for (int64_t i = 0; i < numbers.element_count(); ++i) {
    text += " " + element_text(numbers.data<T>()[i]);
  }
  return text;
}

std::string elements_text(const v1::Tensor& dense) {
  if (dense.dtype() == v1::DType::kBool) return elements_as<bool>(dense);
  if (is_complex(dense.dtype())) return elements_as<std::complex<double>>(dense);
  if (is_floating(dense.dtype())) return elements_as<double>(dense);
  return elements_as<int64_t>(dense);
}

std::string tensor_text(const v1::Tensor& tensor) {
  const int64_t shown[] = {std::min(tensor.element_count(), kShownElements)};
  const v1::Tensor dense = tensor.contiguous();
  std::string text = tensor.describe();
  text += elements_text(v1::Tensor::borrow(dense.data(), shown, dense.dtype()));
  if (tensor.element_count() > shown[0]) text += " ...";
  return text;
}

void add_lines(const v1::Value& value, const std::string& path, int depth, std::string& text) {
  check_depth(depth);
  if (value.kind() == Kind::kList || value.kind() == Kind::kTuple) {
    const std::vector<v1::Value> items = value.items();
    if (items.empty()) text += fmt::format("{}{}empty\n", path, path.empty() ? "" : ": ");
    for (size_t i = 0; i < items.size(); ++i) {
      add_lines(items[i], fmt::format("{}[{}]", path, i), depth + 1, text);
    }
    return;
  }
  if (value.kind() == Kind::kDict) {
    for (const auto& [key, item] : value.entries()) {
      add_lines(item, fmt::format("{}[{}]", path, key.describe()), depth + 1, text);
    }
    return;
  }
  text += fmt::format("{}{}{}\n", path, path.empty() ? "" : ": ",
                      value.is_tensor() ? tensor_text(value.to_tensor()) : value.describe());
}

class TreeWriter {
 public:
  explicit TreeWriter(v1::NamedTensors& tensors) : tensors_(tensors) {}

  void write(const v1::Value& value) {
    switch (value.kind()) {
      case Kind::kNone: json_.null(); return;
      case Kind::kBool: json_.boolean(value.to_bool()); return;
      case Kind::kInt: json_.integer(value.to_int()); return;
      case Kind::kFloat: return floating(value.to_float());
      case Kind::kComplex: return complex(value.to_complex());
      case Kind::kString: json_.string(value.to_string()); return;
      case Kind::kTensor: return tensor(value.to_tensor());
      case Kind::kList: return items(value.items());
      case Kind::kTuple: return tuple(value);
      case Kind::kDict: return dict(value);
      case Kind::kEnum: return write(value.field("value"));
      default:
        fail(v1::ErrorCode::kUnsupported, "a result of type {} cannot be written to a file",
             value.type());
    }
  }
  const std::string& text() const { return json_.text(); }

 private:
  void floating(double value) {
    if (std::isfinite(value)) {
      json_.floating(value);
    } else {
      const char* text = std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
      json_.begin_object().key("float").string(text).end_object();
    }
  }
  void complex(std::complex<double> value) {
    json_.begin_object().key("complex").begin_array();
    json_.floating(value.real()).floating(value.imag());
    json_.end_array().end_object();
  }
  void tensor(const v1::Tensor& value) {
    const std::string name = fmt::format("out.{}", tensors_.size());
    json_.begin_object().key("t").string(name);
    const v1::Tensor dense = value.contiguous();
    if (is_complex(dense.dtype())) {
      json_.key("dtype").string(v1::dtype_name(dense.dtype()));
      tensors_.emplace_back(name, parts_of(dense));
    } else {
      tensors_.emplace_back(name, dense);
    }
    json_.end_object();
  }
  // Real and imaginary parts as a last dimension, in the same memory.
  static v1::Tensor parts_of(const v1::Tensor& dense) {
    std::vector<int64_t> shape(dense.shape().begin(), dense.shape().end());
    shape.push_back(2);
    const bool is_double = dense.dtype() == v1::DType::kComplex128;
    return v1::Tensor::borrow(dense.data(), shape,
                              is_double ? v1::DType::kFloat64 : v1::DType::kFloat32, [dense] {});
  }
  void items(const std::vector<v1::Value>& values) {
    check_depth(depth_++);
    json_.begin_array();
    for (const v1::Value& value : values) write(value);
    json_.end_array();
    --depth_;
  }
  void tuple(const v1::Value& value) {
    json_.begin_object().key("tuple");
    items(value.items());
    if (const std::vector<std::string> fields = value.fields(); !fields.empty()) {
      json_.key("fields").begin_array();
      for (const std::string& field : fields) json_.string(field);
      json_.end_array();
    }
    json_.end_object();
  }
  void dict(const v1::Value& value) {
    json_.begin_object().key("dict").begin_array();
    for (const auto& [key, item] : value.entries()) items({key, item});
    json_.end_array().end_object();
  }

  v1::NamedTensors& tensors_;
  JsonWriter json_;
  int depth_ = 0;
};

}  // namespace

std::string result_text(const v1::Value& value) {
  std::string text;
  add_lines(value, "", 0, text);
  return text;
}

std::string error_text(const api::ResultComparison& comparison) {
  return fmt::format("largest error {:.3g}, {:.3g} of the largest value",
                     comparison.max_absolute_error, comparison.relative_error);
}

std::string result_tree(const v1::Value& value, v1::NamedTensors& tensors) {
  TreeWriter writer(tensors);
  writer.write(value);
  return writer.text();
}

}  // namespace tierup::cli
