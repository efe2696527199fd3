// IValue: any value of a program: a tag and one word, with at most one allocation behind it.
//
// Lists, dicts, objects and tensors are references (copies share); everything else is a value.
#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tierup/base/memory_use.h"
#include "tierup/tensor/tensor.h"
#include "tierup/tensor/type.h"

namespace tierup {
class IValue;
}
TIERUP_OBJECT_ALLOCATOR(tierup::IValue)

namespace tierup {

struct StringValue final : public RefCounted {
  explicit StringValue(std::string t) : text(std::move(t)), counted_(bytes_of(text)) {}
  const std::string text;

 private:
  // What the text takes beside this object; short ones lie inside.
  static size_t bytes_of(const std::string& text) {
    return text.capacity() < sizeof(text) ? 0 : text.capacity();
  }
  const ObjectBytes counted_;
};
struct ComplexValue final : public RefCounted {
  explicit ComplexValue(complex128 v) : value(v) {}
  const complex128 value;
};
struct ListValue;
struct TupleValue;
struct DictValue;
struct ObjectValue;
struct EnumValue;
struct FutureValue;

class IValue {
 public:
  enum class Tag : uint8_t {
    kNone,
    kInt,
    kFloat,
    kBool,
    kDevice,  // No allocation.
    kTensor,
    kStr,
    kComplex,
    kList,
    kTuple,
    kDict,
    kObject,
    kEnum,
    kFuture,
    kFunction,
    kCapsule,
    kUninitialized,  // An empty slot: prim::Uninitialized, an attribute not yet set.
  };

  IValue() = default;
  // NOLINTBEGIN(google-explicit-constructor): values convert implicitly, as arguments do.
  IValue(int64_t v) : tag_(Tag::kInt) { word_.integer = v; }
  IValue(int v) : IValue(int64_t{v}) {}
  IValue(double v) : tag_(Tag::kFloat) { word_.floating = v; }
  IValue(bool v) : tag_(Tag::kBool) { word_.integer = v ? 1 : 0; }
  IValue(Device v) : tag_(Tag::kDevice) { word_.device = v; }
  // An undefined tensor becomes None.
  IValue(Tensor t) {
    if (t.defined()) set_ref(Tag::kTensor, std::move(t).take().leak());
  }
  IValue(std::string text) { set_ref(Tag::kStr, make_ref<StringValue>(std::move(text)).leak()); }
  IValue(std::string_view text) : IValue(std::string(text)) {}
  IValue(const char* text) : IValue(std::string(text)) {}
  IValue(complex128 v) { set_ref(Tag::kComplex, make_ref<ComplexValue>(v).leak()); }
  IValue(const Scalar& s);
  IValue(Ref<ListValue> v);
  IValue(Ref<TupleValue> v);
  IValue(Ref<DictValue> v);
  IValue(Ref<ObjectValue> v);
  IValue(Ref<EnumValue> v);
  IValue(Ref<FutureValue> v);
  IValue(Ref<Callable> v) { set_ref(Tag::kFunction, v.leak()); }
  // NOLINTEND(google-explicit-constructor)
  static IValue uninitialized() {
    IValue v;
    v.tag_ = Tag::kUninitialized;
    return v;
  }
  // An opaque host object (generator, stream, storage).
  static IValue capsule(Ref<RefCounted> object) {
    IValue v;
    v.set_ref(Tag::kCapsule, object.leak());
    return v;
  }

  IValue(const IValue& other) : word_(other.word_), tag_(other.tag_) {
    if (is_ref()) word_.ref->retain();
  }
  IValue(IValue&& other) noexcept
      : word_(other.word_), tag_(std::exchange(other.tag_, Tag::kNone)) {}
  IValue& operator=(const IValue& other) {
    IValue(other).swap(*this);
    return *this;
  }
  IValue& operator=(IValue&& other) noexcept {
    IValue(std::move(other)).swap(*this);
    return *this;
  }
  ~IValue() {
    if (is_ref()) word_.ref->release();
  }
  void swap(IValue& other) noexcept {
    std::swap(word_, other.word_);
    std::swap(tag_, other.tag_);
  }

  Tag tag() const { return tag_; }
  bool is_none() const { return tag_ == Tag::kNone; }
  bool is_int() const { return tag_ == Tag::kInt; }
  bool is_float() const { return tag_ == Tag::kFloat; }
  bool is_bool() const { return tag_ == Tag::kBool; }
  bool is_complex() const { return tag_ == Tag::kComplex; }
  bool is_number() const { return is_int() || is_float() || is_bool() || is_complex(); }
  bool is_tensor() const { return tag_ == Tag::kTensor; }
  bool is_str() const { return tag_ == Tag::kStr; }
  bool is_list() const { return tag_ == Tag::kList; }
  bool is_tuple() const { return tag_ == Tag::kTuple; }
  bool is_dict() const { return tag_ == Tag::kDict; }
  bool is_object() const { return tag_ == Tag::kObject; }
  bool is_enum() const { return tag_ == Tag::kEnum; }
  bool is_device() const { return tag_ == Tag::kDevice; }
  bool is_future() const { return tag_ == Tag::kFuture; }
  bool is_function() const { return tag_ == Tag::kFunction; }
  bool is_capsule() const { return tag_ == Tag::kCapsule; }
  bool is_uninitialized() const { return tag_ == Tag::kUninitialized; }

  // Accessors throw kTypeError if the tag differs. to_float takes ints and bools, to_int bools.
  int64_t to_int() const;
  double to_float() const;
  bool to_bool() const;
  complex128 to_complex() const;
  Device to_device() const;
  // A handle that shares; None gives an undefined tensor. `&&` moves out of this value.
  Tensor to_tensor() const&;
  Tensor to_tensor() &&;
  // Borrowed, no count touched: valid while this value stands. Null if not a tensor.
  TensorImpl* tensor_impl() const {
    return tag_ == Tag::kTensor ? static_cast<TensorImpl*>(word_.ref) : nullptr;
  }
  const std::string& to_str() const;
  Scalar to_scalar() const;  // int, float, bool, complex, or a one-element tensor.
  ListValue& to_list() const;
  TupleValue& to_tuple() const;
  DictValue& to_dict() const;
  ObjectValue& to_object() const;
  EnumValue& to_enum() const;
  FutureValue& to_future() const;
  Callable& to_function() const;
  RefCounted* to_capsule() const;
  // Owning references.
  Ref<ListValue> list_ref() const;
  Ref<TupleValue> tuple_ref() const;
  Ref<ObjectValue> object_ref() const;
  Ref<FutureValue> future_ref() const;

  // Python's `is`: same object, or equal immutable word.
  bool is_same(const IValue& other) const;
  // The most exact type of this value; containers by their tags.
  TypePtr type() const;
  // isinstance: whether this value is a member of `type` (element tags are compared, not walked).
  bool is_instance(const TypePtr& type) const;
  std::string_view tag_name() const;  // "int", "Tensor", "List"...: for errors.

 private:
  bool is_ref() const { return tag_ >= Tag::kTensor && tag_ <= Tag::kCapsule; }
  void set_ref(Tag tag, RefCounted* pointer) {
    tag_ = tag;
    word_.ref = pointer;
  }
  [[noreturn]] void fail_tag(std::string_view wanted) const;
  void expect(Tag tag, std::string_view wanted) const {
    if (tag_ != tag) [[unlikely]]
      fail_tag(wanted);
  }

  union Word {
    int64_t integer;
    double floating;
    Device device;
    RefCounted* ref;
    Word() : integer(0) {}
  } word_;
  Tag tag_ = Tag::kNone;
};

// Containers may nest as deep as memory goes: what they hold is released in a loop, not by
// destructors that call one another.
struct ListValue final : public RefCounted {
  explicit ListValue(TypePtr element_type, std::vector<IValue> v = {})
      : element(std::move(element_type)), items(std::move(v)) {}
  ~ListValue() override;
  TypePtr element;
  std::vector<IValue> items;
};

struct TupleValue final : public RefCounted {
  explicit TupleValue(std::vector<IValue> v, TypePtr named_type = nullptr)
      : items(std::move(v)), named(std::move(named_type)) {}
  ~TupleValue() override;
  std::vector<IValue> items;
  TypePtr named;  // The NamedTuple type, or null.
};

struct IValueKeyHash {
  size_t operator()(const IValue& key) const;
};
struct IValueKeyEqual {
  bool operator()(const IValue& a, const IValue& b) const;
};

// Insertion-ordered. Keys: str, int, float, bool, complex, or tensors by identity.
struct DictValue final : public RefCounted {
  DictValue(TypePtr key_type, TypePtr value_type)
      : key(std::move(key_type)), value(std::move(value_type)) {}
  ~DictValue() override;
  TypePtr key;
  TypePtr value;

  size_t size() const { return index_.size(); }
  const IValue* find(const IValue& k) const;
  void set(IValue k, IValue v);  // Overwrites in place, keeping the position.
  bool erase(const IValue& k);
  void clear();
  using Entry = std::pair<IValue, IValue>;
  using Entries = std::vector<Entry, ObjectAllocator<Entry>>;
  // In insertion order.
  Entries entries() const;

 private:
  // Erased entries leave a hole (uninitialized key), squeezed out when half are holes.
  Entries slots_;
  std::unordered_map<IValue, size_t, IValueKeyHash, IValueKeyEqual,
                     ObjectAllocator<std::pair<const IValue, size_t>>>
      index_;
};

struct ObjectValue final : public RefCounted {
  explicit ObjectValue(std::shared_ptr<const ClassType> t)
      : type(std::move(t)), slots(type->attributes().size(), IValue::uninitialized()) {}
  ~ObjectValue() override;
  const std::shared_ptr<const ClassType> type;
  std::vector<IValue> slots;  // In the order of type->attributes().
  // Counts writes to attributes, so that a plan can tell whether what it took for constant still
  // is.
  std::atomic<uint32_t> version{0};

  // By attribute name; throws kNotFound, and kTypeError if it was never set.
  const IValue& get(std::string_view name) const;
  void set(std::string_view name, IValue value);
};

class EnumType final : public Type {
 public:
  // `members` are filled after creation, since they point back to the type.
  static std::shared_ptr<EnumType> make(std::string qualified_name, TypePtr value_type);
  const TypePtr& value_type() const { return value_type_; }
  const std::vector<Ref<EnumValue>>& members() const { return members_; }
  void add_member(std::string name, IValue value);
  Ref<EnumValue> find(std::string_view name) const;      // Null if there is none.
  Ref<EnumValue> find_value(const IValue& value) const;  // By value, as files name members.

 private:
  EnumType(std::string name, TypePtr value_type);
  TypePtr value_type_;
  std::vector<Ref<EnumValue>> members_;
};

struct EnumValue final : public RefCounted {
  EnumValue(std::weak_ptr<const EnumType> t, std::string n, IValue v)
      : type(std::move(t)), name(std::move(n)), value(std::move(v)) {}
  const std::weak_ptr<const EnumType> type;  // The type owns its members.
  const std::string name;
  const IValue value;
};

// The result of a fork. Thread-safe.
struct FutureValue final : public RefCounted {
  explicit FutureValue(TypePtr t) : element(std::move(t)) {}
  const TypePtr element;

  void complete(IValue value);
  void fail_with(std::exception_ptr failure);
  bool is_done() const;
  // Waits (calling `help` while not done, if given: it runs other work and returns false when
  // there is none), then returns the value or rethrows the failure.
  IValue wait(const std::function<bool()>& help = nullptr) const;

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  bool done_ = false;
  IValue value_;
  std::exception_ptr failure_;
};

// Text as TorchScript's str()/print/format give it: "1." for 1.0, "[a, b]", "{a: 1}"
// (section 13.1).
std::string to_text(const IValue& value);
// TorchScript's ==: numbers by value, containers elementwise, objects by identity.
bool values_equal(const IValue& a, const IValue& b);
// A copy that shares nothing but immutable values (deepcopy); shared parts stay shared.
IValue deep_copy(const IValue& value);

Ref<ListValue> make_int_list(IntSpan values);
Ref<ListValue> make_tensor_list(std::vector<Tensor> tensors);
IValue make_tuple(std::vector<IValue> items);

}  // namespace tierup
