#include "tierup/tensor/ivalue.h"

#include <algorithm>
#include <bit>

#include "tierup/base/error.h"

namespace tierup {

IValue::IValue(const Scalar& s) {
  if (s.is_bool())
    *this = IValue(s.to_bool());
  else if (s.is_int())
    *this = IValue(s.to_int());
  else if (s.is_float())
    *this = IValue(s.to_double());
  else
    *this = IValue(s.to_complex());
}

IValue::IValue(Ref<ListValue> v) { set_ref(Tag::kList, v.leak()); }
IValue::IValue(Ref<TupleValue> v) { set_ref(Tag::kTuple, v.leak()); }
IValue::IValue(Ref<DictValue> v) { set_ref(Tag::kDict, v.leak()); }
IValue::IValue(Ref<ObjectValue> v) { set_ref(Tag::kObject, v.leak()); }
IValue::IValue(Ref<EnumValue> v) { set_ref(Tag::kEnum, v.leak()); }
IValue::IValue(Ref<FutureValue> v) { set_ref(Tag::kFuture, v.leak()); }

std::string_view IValue::tag_name() const {
  switch (tag_) {
    case Tag::kNone: return "NoneType";
    case Tag::kInt: return "int";
    case Tag::kFloat: return "float";
    case Tag::kBool: return "bool";
    case Tag::kDevice: return "Device";
    case Tag::kTensor: return "Tensor";
    case Tag::kStr: return "str";
    case Tag::kComplex: return "complex";
    case Tag::kList: return "List";
    case Tag::kTuple: return "Tuple";
    case Tag::kDict: return "Dict";
    case Tag::kObject: return "object";
    case Tag::kEnum: return "enum";
    case Tag::kFuture: return "Future";
    case Tag::kFunction: return "function";
    case Tag::kCapsule: return "Capsule";
    case Tag::kUninitialized: return "uninitialized value";
  }
  return "?";
}

void IValue::fail_tag(std::string_view wanted) const {
  fail(ErrorCode::kTypeError, "expected a value of type '{}' but found '{}'", wanted, tag_name());
}

int64_t IValue::to_int() const {
  if (tag_ != Tag::kInt && tag_ != Tag::kBool) fail_tag("int");
  return word_.integer;
}

double IValue::to_float() const {
  if (tag_ == Tag::kFloat) return word_.floating;
  if (tag_ != Tag::kInt && tag_ != Tag::kBool) fail_tag("float");
  return static_cast<double>(word_.integer);
}

bool IValue::to_bool() const {
  expect(Tag::kBool, "bool");
  return word_.integer != 0;
}

complex128 IValue::to_complex() const {
  if (tag_ == Tag::kComplex) return static_cast<const ComplexValue*>(word_.ref)->value;
  return {to_float(), 0.0};
}

Device IValue::to_device() const {
  if (tag_ == Tag::kStr) return Device::parse(to_str());
  expect(Tag::kDevice, "Device");
  return word_.device;
}

Tensor IValue::to_tensor() const& {
  if (tag_ == Tag::kNone) return {};
  expect(Tag::kTensor, "Tensor");
  return Tensor(Ref<TensorImpl>(static_cast<TensorImpl*>(word_.ref)));
}

Tensor IValue::to_tensor() && {
  if (tag_ == Tag::kNone) return {};
  expect(Tag::kTensor, "Tensor");
  tag_ = Tag::kNone;
  return Tensor(Ref<TensorImpl>::adopt(static_cast<TensorImpl*>(word_.ref)));
}

const std::string& IValue::to_str() const {
  expect(Tag::kStr, "str");
  return static_cast<const StringValue*>(word_.ref)->text;
}

namespace {

Scalar scalar_of_tensor(const Tensor& tensor) {
  require(tensor.numel() == 1, ErrorCode::kInvalidArgument,
          "a Tensor with {} elements cannot be converted to Scalar", tensor.numel());
  require(!tensor.is_meta(), ErrorCode::kUnsupported,
          "Tensor.item() cannot be called on meta tensors");
  return dispatch_all(tensor.dtype(), "item", [&](auto tag) -> Scalar {
    using T = typename decltype(tag)::type;
    const T value = *tensor.data<T>();
    if constexpr (std::is_same_v<T, bool>)
      return {value};
    else if constexpr (std::is_integral_v<T>)
      return {static_cast<int64_t>(value)};
    else if constexpr (std::is_same_v<T, complex64> || std::is_same_v<T, complex128>)
      return {complex128(value)};
    else
      return {static_cast<double>(
          static_cast<std::conditional_t<std::is_same_v<T, double>, double, float>>(value))};
  });
}

}  // namespace

Scalar IValue::to_scalar() const {
  switch (tag_) {
    case Tag::kInt: return {word_.integer};
    case Tag::kFloat: return {word_.floating};
    case Tag::kBool: return {word_.integer != 0};
    case Tag::kComplex: return {to_complex()};
    case Tag::kTensor: return scalar_of_tensor(to_tensor());
    default: fail_tag("number");
  }
}

ListValue& IValue::to_list() const {
  expect(Tag::kList, "List");
  return *static_cast<ListValue*>(word_.ref);
}
TupleValue& IValue::to_tuple() const {
  expect(Tag::kTuple, "Tuple");
  return *static_cast<TupleValue*>(word_.ref);
}
DictValue& IValue::to_dict() const {
  expect(Tag::kDict, "Dict");
  return *static_cast<DictValue*>(word_.ref);
}
ObjectValue& IValue::to_object() const {
  expect(Tag::kObject, "object");
  return *static_cast<ObjectValue*>(word_.ref);
}
EnumValue& IValue::to_enum() const {
  expect(Tag::kEnum, "enum");
  return *static_cast<EnumValue*>(word_.ref);
}
FutureValue& IValue::to_future() const {
  expect(Tag::kFuture, "Future");
  return *static_cast<FutureValue*>(word_.ref);
}
Callable& IValue::to_function() const {
  expect(Tag::kFunction, "function");
  return *static_cast<Callable*>(word_.ref);
}
RefCounted* IValue::to_capsule() const {
  expect(Tag::kCapsule, "Capsule");
  return word_.ref;
}

Ref<ListValue> IValue::list_ref() const { return Ref<ListValue>(&to_list()); }
Ref<TupleValue> IValue::tuple_ref() const { return Ref<TupleValue>(&to_tuple()); }
Ref<ObjectValue> IValue::object_ref() const { return Ref<ObjectValue>(&to_object()); }
Ref<FutureValue> IValue::future_ref() const { return Ref<FutureValue>(&to_future()); }

bool IValue::is_same(const IValue& other) const {
  if (tag_ != other.tag_) return false;
  switch (tag_) {
    case Tag::kNone: return true;
    case Tag::kStr: return to_str() == other.to_str();
    case Tag::kComplex: return to_complex() == other.to_complex();
    case Tag::kFloat: return word_.floating == other.word_.floating;
    case Tag::kDevice: return word_.device == other.word_.device;
    default: return is_ref() ? word_.ref == other.word_.ref : word_.integer == other.word_.integer;
  }
}

TypePtr IValue::type() const {
  switch (tag_) {
    case Tag::kInt: return Type::integer();
    case Tag::kFloat: return Type::floating();
    case Tag::kBool: return Type::boolean();
    case Tag::kDevice: return Type::device();
    case Tag::kTensor: return Type::tensor();
    case Tag::kStr: return Type::str();
    case Tag::kComplex: return Type::complex();
    case Tag::kList: return Type::list(to_list().element);
    case Tag::kDict: return Type::dict(to_dict().key, to_dict().value);
    case Tag::kTuple: {
      const TupleValue& tuple = to_tuple();
      if (tuple.named != nullptr) return tuple.named;
      std::vector<TypePtr> elements;
      for (const IValue& item : tuple.items) elements.push_back(item.type());
      return Type::tuple(std::move(elements));
    }
    case Tag::kObject: return to_object().type;
    case Tag::kEnum: return to_enum().type.lock();
    case Tag::kFuture: return Type::future(to_future().element);
    case Tag::kFunction: return Type::function(Ref<Callable>(&to_function()));
    case Tag::kCapsule: return Type::simple(TypeKind::kCapsule);
    case Tag::kNone:
    case Tag::kUninitialized: return Type::none();
  }
  return Type::none();
}

bool IValue::is_instance(const TypePtr& type) const {
  switch (type->kind()) {
    case TypeKind::kAny: return true;
    case TypeKind::kOptional: return is_none() || is_instance(type->element());
    case TypeKind::kUnion:
      return std::any_of(type->elements().begin(), type->elements().end(),
                         [&](const TypePtr& member) { return is_instance(member); });
    case TypeKind::kTuple: {
      if (!is_tuple()) return false;
      const TupleValue& tuple = to_tuple();
      if (tuple.items.size() != type->elements().size()) return false;
      if (!type->fields().empty() && (tuple.named == nullptr || !equal(tuple.named, type)))
        return false;
      for (size_t i = 0; i < tuple.items.size(); ++i) {
        if (!tuple.items[i].is_instance(type->element(i))) return false;
      }
      return true;
    }
    case TypeKind::kNumber: return is_int() || is_float() || is_complex();
    case TypeKind::kTensor: return is_tensor();
    case TypeKind::kGenerator:
    case TypeKind::kStream:
    case TypeKind::kStorage: return is_capsule();
    default: return is_subtype(this->type(), type);
  }
}

size_t IValueKeyHash::operator()(const IValue& key) const {
  switch (key.tag()) {
    case IValue::Tag::kStr: return std::hash<std::string>{}(key.to_str());
    case IValue::Tag::kTensor: return std::hash<const void*>{}(key.tensor_impl());
    case IValue::Tag::kComplex:
    case IValue::Tag::kInt:
    case IValue::Tag::kFloat:
    case IValue::Tag::kBool: return std::hash<double>{}(key.to_complex().real());
    case IValue::Tag::kEnum: return std::hash<const void*>{}(&key.to_enum());
    case IValue::Tag::kTuple: {
      size_t hash = 0x345678;
      for (const IValue& item : key.to_tuple().items) hash = hash * 1000003 ^ (*this)(item);
      return hash;
    }
    default:
      fail(ErrorCode::kTypeError, "a value of type '{}' cannot be a dict key", key.tag_name());
  }
}

bool IValueKeyEqual::operator()(const IValue& a, const IValue& b) const {
  if (a.is_tensor() || b.is_tensor()) return a.is_same(b);
  if (!a.is_tuple() || !b.is_tuple()) return values_equal(a, b);
  const auto& x = a.to_tuple().items;
  const auto& y = b.to_tuple().items;
  return std::equal(x.begin(), x.end(), y.begin(), y.end(), *this);
}

const IValue* DictValue::find(const IValue& k) const {
  const auto found = index_.find(k);
  return found == index_.end() ? nullptr : &slots_[found->second].second;
}

void DictValue::set(IValue k, IValue v) {
  const auto [position, inserted] = index_.try_emplace(k, slots_.size());
  if (inserted) {
    slots_.emplace_back(std::move(k), std::move(v));
  } else {
    slots_[position->second].second = std::move(v);
  }
}

bool DictValue::erase(const IValue& k) {
  const auto found = index_.find(k);
  if (found == index_.end()) return false;
  slots_[found->second] = {IValue::uninitialized(), IValue()};
  index_.erase(found);
  if (slots_.size() > 16 && index_.size() * 2 < slots_.size()) {
    slots_ = entries();
    for (size_t i = 0; i < slots_.size(); ++i) index_[slots_[i].first] = i;
  }
  return true;
}

void DictValue::clear() {
  slots_.clear();
  index_.clear();
}

DictValue::Entries DictValue::entries() const {
  Entries result;
  result.reserve(index_.size());
  for (const auto& slot : slots_) {
    if (!slot.first.is_uninitialized()) result.push_back(slot);
  }
  return result;
}

const IValue& ObjectValue::get(std::string_view name) const {
  const auto index = type->find_attribute(name);
  require(index.has_value(), ErrorCode::kNotFound, "{} has no attribute '{}'", type->name(), name);
  require(!slots[*index].is_uninitialized(), ErrorCode::kTypeError,
          "attribute '{}' of {} was read before it was set", name, type->name());
  return slots[*index];
}

void ObjectValue::set(std::string_view name, IValue value) {
  const auto index = type->find_attribute(name);
  require(index.has_value(), ErrorCode::kNotFound, "Tried to set nonexistent attribute: {} of {}",
          name, type->name());
  slots[*index] = std::move(value);
  version.fetch_add(1, std::memory_order_release);
}

EnumType::EnumType(std::string name, TypePtr value_type)
    : Type(TypeKind::kEnum), value_type_(std::move(value_type)) {
  name_ = std::move(name);
}

std::shared_ptr<EnumType> EnumType::make(std::string qualified_name, TypePtr value_type) {
  return std::shared_ptr<EnumType>(new EnumType(std::move(qualified_name), std::move(value_type)));
}

void EnumType::add_member(std::string name, IValue value) {
  const auto self = std::static_pointer_cast<const EnumType>(shared_from_this());
  members_.push_back(make_ref<EnumValue>(self, std::move(name), std::move(value)));
}

Ref<EnumValue> EnumType::find(std::string_view name) const {
  for (const auto& member : members_) {
    if (member->name == name) return member;
  }
  return nullptr;
}

Ref<EnumValue> EnumType::find_value(const IValue& value) const {
  for (const auto& member : members_) {
    if (values_equal(member->value, value)) return member;
  }
  return nullptr;
}

void FutureValue::complete(IValue value) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    value_ = std::move(value);
    done_ = true;
  }
  changed_.notify_all();
}

void FutureValue::fail_with(std::exception_ptr failure) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    failure_ = std::move(failure);
    done_ = true;
  }
  changed_.notify_all();
}

bool FutureValue::is_done() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return done_;
}

IValue FutureValue::wait(const std::function<bool()>& help) const {
  while (help && !is_done() && help()) {
  }
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [&] { return done_; });
  if (failure_) std::rethrow_exception(failure_);
  return value_;
}

Ref<ListValue> make_int_list(IntSpan values) {
  return make_ref<ListValue>(Type::integer(), std::vector<IValue>(values.begin(), values.end()));
}

Ref<ListValue> make_tensor_list(std::vector<Tensor> tensors) {
  auto list = make_ref<ListValue>(Type::tensor());
  list->items.reserve(tensors.size());
  for (Tensor& tensor : tensors) list->items.emplace_back(std::move(tensor));
  return list;
}

IValue make_tuple(std::vector<IValue> items) { return make_ref<TupleValue>(std::move(items)); }

}  // namespace tierup
