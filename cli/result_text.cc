#include "result_text.h"

#include <fmt/format.h>

#include <cmath>

#include "json_writer.h"
#include "tierup/base/error.h"
#include "tierup/kernels/memory/copy.h"

namespace tierup::cli {
namespace {

constexpr int64_t kShownElements = 8;
// A list may hold itself.
constexpr int kMaxDepth = 200;

void check_depth(int depth) {
  require(depth < kMaxDepth, ErrorCode::kRecursionLimit,
          "the result is nested deeper than {} levels", kMaxDepth);
}

template <typename T>
std::string element_text(T value) {
  if constexpr (std::is_same_v<T, complex64> || std::is_same_v<T, complex128>) {
    return fmt::format("{:.6g}{:+.6g}j", value.real(), value.imag());
  } else if constexpr (std::is_same_v<T, bool>) {
    return value ? "True" : "False";
  } else if constexpr (std::is_integral_v<T>) {
    return fmt::format("{}", static_cast<int64_t>(value));
  } else {
    return fmt::format("{:.6g}", static_cast<double>(value));
  }
}

std::string tensor_text(const Tensor& tensor) {
  std::string text = tensor.describe();
  const Tensor dense = kernels::contiguous(tensor);
  dispatch_all(dense.dtype(), "print", [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0; i < std::min(dense.numel(), kShownElements); ++i) {
      text += " " + element_text(dense.data<T>()[i]);
    }
  });
  if (tensor.numel() > kShownElements) text += " ...";
  return text;
}

void add_lines(const IValue& value, const std::string& path, int depth, std::string& text) {
  check_depth(depth);
  const auto add_items = [&](const std::vector<IValue>& items) {
    if (items.empty()) text += fmt::format("{}{}empty\n", path, path.empty() ? "" : ": ");
    for (size_t i = 0; i < items.size(); ++i) {
      add_lines(items[i], fmt::format("{}[{}]", path, i), depth + 1, text);
    }
  };
  if (value.is_list()) return add_items(value.to_list().items);
  if (value.is_tuple()) return add_items(value.to_tuple().items);
  if (value.is_dict()) {
    for (const auto& [key, item] : value.to_dict().entries()) {
      add_lines(item, fmt::format("{}[{}]", path, to_text(key)), depth + 1, text);
    }
    return;
  }
  text += fmt::format("{}{}{}\n", path, path.empty() ? "" : ": ",
                      value.is_tensor() ? tensor_text(value.to_tensor()) : to_text(value));
}

class TreeWriter {
 public:
  explicit TreeWriter(archive::NamedTensors& tensors) : tensors_(tensors) {}

  void write(const IValue& value) {
    switch (value.tag()) {
      case IValue::Tag::kNone: json_.null(); return;
      case IValue::Tag::kBool: json_.boolean(value.to_bool()); return;
      case IValue::Tag::kInt: json_.integer(value.to_int()); return;
      case IValue::Tag::kFloat: return floating(value.to_float());
      case IValue::Tag::kComplex: return complex(value.to_complex());
      case IValue::Tag::kStr: json_.string(value.to_str()); return;
      case IValue::Tag::kTensor: return tensor(value.to_tensor());
      case IValue::Tag::kList: return items(value.to_list().items);
      case IValue::Tag::kTuple: return tuple(value.to_tuple());
      case IValue::Tag::kDict: return dict(value.to_dict());
      case IValue::Tag::kEnum: return write(value.to_enum().value);
      default:
        fail(ErrorCode::kUnsupported, "a result of type {} cannot be written to a file",
             value.tag_name());
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
  void complex(complex128 value) {
    json_.begin_object().key("complex").begin_array();
    json_.floating(value.real()).floating(value.imag());
    json_.end_array().end_object();
  }
  void tensor(const Tensor& value) {
    const std::string name = fmt::format("out.{}", tensors_.size());
    json_.begin_object().key("t").string(name);
    if (is_complex(value.dtype())) {
      json_.key("dtype").string(dtype_name(value.dtype()));
      const Tensor dense = kernels::contiguous(value);
      IntVector sizes(dense.sizes().begin(), dense.sizes().end());
      sizes.push_back(2);
      tensors_.emplace_back(
          name, Tensor::from_storage(dense.storage(), real_type_of(dense.dtype()), sizes,
                                     contiguous_strides(sizes), dense.offset() * 2));
    } else {
      tensors_.emplace_back(name, kernels::contiguous(value));
    }
    json_.end_object();
  }
  void items(const std::vector<IValue>& values) {
    check_depth(depth_++);
    json_.begin_array();
    for (const IValue& value : values) write(value);
    json_.end_array();
    --depth_;
  }
  void tuple(const TupleValue& value) {
    json_.begin_object().key("tuple");
    items(value.items);
    if (value.named != nullptr) {
      json_.key("fields").begin_array();
      for (const std::string& field : value.named->fields()) json_.string(field);
      json_.end_array();
    }
    json_.end_object();
  }
  void dict(const DictValue& value) {
    json_.begin_object().key("dict").begin_array();
    for (const auto& [key, item] : value.entries()) items({key, item});
    json_.end_array().end_object();
  }

  archive::NamedTensors& tensors_;
  JsonWriter json_;
  int depth_ = 0;
};

}  // namespace

std::string result_text(const IValue& value) {
  std::string text;
  add_lines(value, "", 0, text);
  return text;
}

std::string error_text(double largest_error, double largest_value) {
  const double share = largest_error == 0 ? 0 : largest_error / largest_value;
  return fmt::format("largest error {:.3g}, {:.3g} of the largest value", largest_error, share);
}

std::string result_tree(const IValue& value, archive::NamedTensors& tensors) {
  TreeWriter writer(tensors);
  writer.write(value);
  return writer.text();
}

}  // namespace tierup::cli
