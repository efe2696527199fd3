// Text, equality and deep copies of values. The text forms are TorchScript's own, which differ
// from Python's: floats print with 17 digits, integral ones end in a bare dot, and strings
// inside containers are not quoted.
#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <unordered_map>

#include "tierup/base/error.h"
#include "tierup/base/interrupt.h"
#include "tierup/base/memory_use.h"
#include "tierup/tensor/ivalue.h"
#include "tierup/tensor/tensor_text.h"

namespace tierup {
namespace {

constexpr int kMaxDepth = 1000;

void check_depth(int depth) {
  require(depth < kMaxDepth, ErrorCode::kRecursionLimit, "a value is nested deeper than {} levels",
          kMaxDepth);
}

std::string float_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  constexpr double kTwo63 = 9223372036854775808.0;
  if (value >= -kTwo63 && value < kTwo63 && value == std::trunc(value)) {
    return fmt::format("{}.", static_cast<int64_t>(value));
  }
  return fmt::format("{:.17g}", value);
}

std::string complex_text(complex128 value) {
  const std::string imaginary = float_text(value.imag());
  return float_text(value.real()) + (imaginary[0] == '-' ? "" : "+") + imaginary + "j";
}

std::string text_of(const IValue& value, int depth);

// A list of a list twice, of a list twice, ...: few values, and no end of text.
void check_growth(const std::string& text) {
  poll_interrupt();
  check_object_limit(text.size());
}

std::string joined(const std::vector<IValue>& items, int depth) {
  std::string text;
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0) text += ", ";
    text += text_of(items[i], depth + 1);
    check_growth(text);
  }
  return text;
}

std::string dict_text(const DictValue& dict, int depth) {
  std::string text = "{";
  for (const auto& [key, item] : dict.entries()) {
    if (text.size() > 1) text += ", ";
    text += text_of(key, depth + 1) + ": " + text_of(item, depth + 1);
    check_growth(text);
  }
  return text + "}";
}

std::string text_of(const IValue& value, int depth) {
  check_depth(depth);
  switch (value.tag()) {
    case IValue::Tag::kNone: return "None";
    case IValue::Tag::kInt: return std::to_string(value.to_int());
    case IValue::Tag::kFloat: return float_text(value.to_float());
    case IValue::Tag::kBool: return value.to_bool() ? "True" : "False";
    case IValue::Tag::kDevice: return value.to_device().to_string();
    case IValue::Tag::kTensor: return tensor_text(value.to_tensor());
    case IValue::Tag::kStr: return value.to_str();
    case IValue::Tag::kComplex: return complex_text(value.to_complex());
    case IValue::Tag::kList: return "[" + joined(value.to_list().items, depth) + "]";
    case IValue::Tag::kTuple: {
      const auto& items = value.to_tuple().items;
      return "(" + joined(items, depth) + (items.size() == 1 ? ",)" : ")");
    }
    case IValue::Tag::kDict: return dict_text(value.to_dict(), depth);
    case IValue::Tag::kObject: return "<" + value.to_object().type->name() + " object>";
    case IValue::Tag::kEnum: {
      const auto type = value.to_enum().type.lock();
      const std::string name = type ? type->name() : std::string("Enum");
      return fmt::format("Enum<{}.{}>", name.substr(name.rfind('.') + 1), value.to_enum().name);
    }
    case IValue::Tag::kFuture: return "<Future>";
    case IValue::Tag::kFunction: return value.to_function().name();
    case IValue::Tag::kCapsule: return "<Capsule>";
    case IValue::Tag::kUninitialized: return "<uninitialized>";
  }
  return "";
}

bool items_equal(const std::vector<IValue>& a, const std::vector<IValue>& b, int depth);

bool equal_at(const IValue& a, const IValue& b, int depth) {
  check_depth(depth);
  if (a.is_number() && b.is_number()) {
    if (a.is_int() && b.is_int()) return a.to_int() == b.to_int();
    return a.to_complex() == b.to_complex();
  }
  if (a.tag() != b.tag()) return false;
  switch (a.tag()) {
    case IValue::Tag::kList: return items_equal(a.to_list().items, b.to_list().items, depth);
    case IValue::Tag::kTuple: return items_equal(a.to_tuple().items, b.to_tuple().items, depth);
    case IValue::Tag::kDict: {
      if (a.to_dict().size() != b.to_dict().size()) return false;
      for (const auto& [key, item] : a.to_dict().entries()) {
        const IValue* other = b.to_dict().find(key);
        if (other == nullptr || !equal_at(item, *other, depth + 1)) return false;
      }
      return true;
    }
    default: return a.is_same(b);
  }
}

bool items_equal(const std::vector<IValue>& a, const std::vector<IValue>& b, int depth) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!equal_at(a[i], b[i], depth + 1)) return false;
  }
  return true;
}

// Copies with identity: what was shared in the source is shared in the copy. Storages are copied
// whole, so that views of one storage stay views of one storage.
class DeepCopier {
 public:
  IValue copy(const IValue& value, int depth) {
    check_depth(depth);
    switch (value.tag()) {
      case IValue::Tag::kTensor: return copy_tensor(value.to_tensor());
      case IValue::Tag::kList: return copy_list(value, depth);
      case IValue::Tag::kTuple: {
        std::vector<IValue> items;
        for (const IValue& item : value.to_tuple().items) items.push_back(copy(item, depth + 1));
        return make_ref<TupleValue>(std::move(items), value.to_tuple().named);
      }
      case IValue::Tag::kDict: return copy_dict(value, depth);
      case IValue::Tag::kObject: return copy_object(value, depth);
      default: return value;
    }
  }

 private:
  template <typename T>
  IValue* known(const T& original) {
    const auto found = copies_.find(&original);
    return found == copies_.end() ? nullptr : &found->second;
  }

  IValue copy_tensor(const Tensor& tensor) {
    if (IValue* seen = known(*tensor.impl())) return *seen;
    Ref<Storage>& storage = storages_[tensor.storage().get()];
    if (!storage) {
      storage = Storage::allocate(tensor.storage()->bytes());
      if (storage->bytes() > 0)
        std::memcpy(storage->data(), tensor.storage()->data(), storage->bytes());
    }
    Tensor fresh = Tensor::from_storage(storage, tensor.dtype(), tensor.sizes(), tensor.strides(),
                                        tensor.offset());
    fresh.impl()->requires_grad = tensor.requires_grad();
    fresh.impl()->conjugate = tensor.impl()->conjugate;
    fresh.impl()->negative = tensor.impl()->negative;
    return copies_[tensor.impl()] = fresh;
  }

  IValue copy_list(const IValue& value, int depth) {
    if (IValue* seen = known(value.to_list())) return *seen;
    auto list = make_ref<ListValue>(value.to_list().element);
    copies_[&value.to_list()] = list;
    for (const IValue& item : value.to_list().items) list->items.push_back(copy(item, depth + 1));
    return list;
  }

  IValue copy_dict(const IValue& value, int depth) {
    if (IValue* seen = known(value.to_dict())) return *seen;
    auto dict = make_ref<DictValue>(value.to_dict().key, value.to_dict().value);
    copies_[&value.to_dict()] = dict;
    for (const auto& [key, item] : value.to_dict().entries()) {
      dict->set(copy(key, depth + 1), copy(item, depth + 1));
    }
    return dict;
  }

  IValue copy_object(const IValue& value, int depth) {
    if (IValue* seen = known(value.to_object())) return *seen;
    auto object = make_ref<ObjectValue>(value.to_object().type);
    copies_[&value.to_object()] = object;
    for (size_t i = 0; i < object->slots.size(); ++i) {
      object->slots[i] = copy(value.to_object().slots[i], depth + 1);
    }
    return object;
  }

  std::unordered_map<const void*, IValue> copies_;
  std::unordered_map<const Storage*, Ref<Storage>> storages_;
};

}  // namespace

std::string to_text(const IValue& value) { return text_of(value, 0); }

bool values_equal(const IValue& a, const IValue& b) { return equal_at(a, b, 0); }

IValue deep_copy(const IValue& value) { return DeepCopier().copy(value, 0); }

}  // namespace tierup
