// v1::Value over IValue, which lies inside of it.
#include "tierup/api/model/plain_json.h"
#include "tierup/api/public/facade.h"

namespace tierup::v1 {

static_assert(sizeof(IValue) == 16 && alignof(IValue) == 8, "the size of v1::Value's storage");

namespace {

// The one type of all items, else Any; the module's schema says the exact one later.
TypePtr common_type(const std::vector<IValue>& items) {
  TypePtr result;
  for (const IValue& item : items) {
    result = result == nullptr ? item.type() : unify(result, item.type());
    if (result == nullptr) return Type::any();
  }
  return result == nullptr ? Type::tensor() : result;
}

std::vector<IValue> unwrap_all(std::vector<Value> values) {
  std::vector<IValue> result;
  result.reserve(values.size());
  for (Value& value : values) result.push_back(std::move(Access::unwrap(value)));
  return result;
}

std::vector<Value> wrap_all(const std::vector<IValue>& values) {
  std::vector<Value> result;
  result.reserve(values.size());
  for (const IValue& value : values) result.push_back(Access::wrap(value));
  return result;
}

}  // namespace

Value::Value() noexcept { new (storage_) IValue(); }
Value::Value(bool value) noexcept { new (storage_) IValue(value); }
Value::Value(int value) noexcept { new (storage_) IValue(value); }
Value::Value(int64_t value) noexcept { new (storage_) IValue(value); }
Value::Value(double value) noexcept { new (storage_) IValue(value); }
Value::Value(std::complex<double> value) { new (storage_) IValue(complex128(value)); }
Value::Value(const char* text) { new (storage_) IValue(text); }
Value::Value(std::string_view text) { new (storage_) IValue(text); }
Value::Value(const std::string& text) { new (storage_) IValue(text); }
Value::Value(const Tensor& tensor) { new (storage_) IValue(Access::unwrap(tensor)); }
Value::Value(const Value& other) noexcept { new (storage_) IValue(Access::unwrap(other)); }
Value::Value(Value&& other) noexcept { new (storage_) IValue(std::move(Access::unwrap(other))); }
Value& Value::operator=(const Value& other) noexcept {
  Access::unwrap(*this) = Access::unwrap(other);
  return *this;
}
Value& Value::operator=(Value&& other) noexcept {
  Access::unwrap(*this) = std::move(Access::unwrap(other));
  return *this;
}
Value::~Value() { Access::unwrap(*this).~IValue(); }

Value Value::list(std::vector<Value> items) {
  return guarded([&] {
    std::vector<IValue> values = unwrap_all(std::move(items));
    TypePtr element = common_type(values);
    return Access::wrap(make_ref<ListValue>(std::move(element), std::move(values)));
  });
}

Value Value::tuple(std::vector<Value> items) {
  return guarded([&] { return Access::wrap(make_tuple(unwrap_all(std::move(items)))); });
}

Value Value::dict(std::vector<std::pair<Value, Value>> entries) {
  return guarded([&] {
    std::vector<IValue> keys;
    std::vector<IValue> values;
    for (auto& [key, value] : entries) {
      keys.push_back(Access::unwrap(key));
      values.push_back(Access::unwrap(value));
    }
    auto dict = make_ref<DictValue>(common_type(keys), common_type(values));
    for (size_t i = 0; i < keys.size(); ++i) dict->set(keys[i], values[i]);
    return Access::wrap(std::move(dict));
  });
}

Value Value::from_json(std::string_view json) {
  return guarded([&] { return Access::wrap(api::plain_json(json)); });
}

Value::Kind Value::kind() const noexcept {
  switch (Access::unwrap(*this).tag()) {
    case IValue::Tag::kNone: return Kind::kNone;
    case IValue::Tag::kBool: return Kind::kBool;
    case IValue::Tag::kInt: return Kind::kInt;
    case IValue::Tag::kFloat: return Kind::kFloat;
    case IValue::Tag::kComplex: return Kind::kComplex;
    case IValue::Tag::kStr: return Kind::kString;
    case IValue::Tag::kTensor: return Kind::kTensor;
    case IValue::Tag::kList: return Kind::kList;
    case IValue::Tag::kTuple: return Kind::kTuple;
    case IValue::Tag::kDict: return Kind::kDict;
    case IValue::Tag::kObject: return Kind::kObject;
    case IValue::Tag::kEnum: return Kind::kEnum;
    case IValue::Tag::kDevice: return Kind::kDevice;
    default: return Kind::kOther;
  }
}

bool Value::to_bool() const {
  return guarded([&] { return Access::unwrap(*this).to_bool(); });
}
int64_t Value::to_int() const {
  return guarded([&] { return Access::unwrap(*this).to_int(); });
}
double Value::to_float() const {
  return guarded([&] { return Access::unwrap(*this).to_float(); });
}
std::complex<double> Value::to_complex() const {
  return guarded([&] { return std::complex<double>(Access::unwrap(*this).to_complex()); });
}
std::string Value::to_string() const {
  return guarded([&] { return Access::unwrap(*this).to_str(); });
}
Tensor Value::to_tensor() const {
  return guarded([&] { return Access::wrap(Access::unwrap(*this).to_tensor()); });
}

std::vector<Value> Value::items() const {
  return guarded([&] {
    const IValue& value = Access::unwrap(*this);
    return wrap_all(value.is_tuple() ? value.to_tuple().items : value.to_list().items);
  });
}

std::vector<std::pair<Value, Value>> Value::entries() const {
  return guarded([&] {
    std::vector<std::pair<Value, Value>> result;
    for (auto& [key, value] : Access::unwrap(*this).to_dict().entries()) {
      result.emplace_back(Access::wrap(key), Access::wrap(value));
    }
    return result;
  });
}

std::vector<std::string> Value::fields() const {
  const IValue& value = Access::unwrap(*this);
  if (!value.is_tuple() || value.to_tuple().named == nullptr) return {};
  return value.to_tuple().named->fields();
}

Value Value::field(std::string_view name) const {
  return guarded([&] {
    const IValue& value = Access::unwrap(*this);
    if (value.is_object()) return Access::wrap(value.to_object().get(name));
    if (value.is_enum() && name == "name") return Value(value.to_enum().name);
    if (value.is_enum() && name == "value") return Access::wrap(value.to_enum().value);
    const std::vector<std::string> names = fields();
    for (size_t i = 0; i < names.size(); ++i) {
      if (names[i] == name) return Access::wrap(value.to_tuple().items[i]);
    }
    fail(::tierup::ErrorCode::kNotFound, "the value has no field '{}'", name);
  });
}

std::string Value::type() const {
  return guarded([&] { return Access::unwrap(*this).type()->to_string(); });
}

std::string Value::describe() const {
  return guarded([&] { return to_text(Access::unwrap(*this)); });
}

}  // namespace tierup::v1
