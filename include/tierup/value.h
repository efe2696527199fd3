// Value: anything that a model takes or gives: None, numbers, texts, tensors, and containers.
#pragma once

#include <complex>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tierup/export.h"
#include "tierup/tensor.h"

namespace tierup::v1 {

// Lists, dicts, objects and tensors are references (copies share), everything else is a value.
class TIERUP_API Value {
 public:
  enum class Kind : unsigned char {
    kNone,
    kBool,
    kInt,
    kFloat,
    kComplex,
    kString,
    kTensor,
    kList,
    kTuple,
    kDict,
    kObject,
    kEnum,
    kDevice,
    kOther,
  };

  Value() noexcept;  // None.
  // NOLINTBEGIN(google-explicit-constructor): arguments convert.
  Value(bool value) noexcept;
  Value(int value) noexcept;
  Value(int64_t value) noexcept;
  Value(double value) noexcept;
  Value(std::complex<double> value);
  Value(const char* text);
  Value(std::string_view text);
  Value(const std::string& text);
  Value(const Tensor& tensor);  // An undefined tensor is None.
  // NOLINTEND(google-explicit-constructor)
  static Value list(std::vector<Value> items);
  static Value tuple(std::vector<Value> items);
  static Value dict(std::vector<std::pair<Value, Value>> entries);
  // A text in JSON: objects become dicts, arrays lists, numbers ints where they are whole and
  // written so. Throws kInvalidArgument for a text that is no JSON.
  static Value from_json(std::string_view json);
  Value(const Value& other) noexcept;
  Value(Value&& other) noexcept;
  Value& operator=(const Value& other) noexcept;
  Value& operator=(Value&& other) noexcept;
  ~Value();

  Kind kind() const noexcept;
  bool is_none() const noexcept { return kind() == Kind::kNone; }
  bool is_tensor() const noexcept { return kind() == Kind::kTensor; }

  // These throw kTypeError for another kind; to_float takes ints too.
  bool to_bool() const;
  int64_t to_int() const;
  double to_float() const;
  std::complex<double> to_complex() const;
  std::string to_string() const;
  Tensor to_tensor() const;
  std::vector<Value> items() const;                      // Of a list or tuple.
  std::vector<std::pair<Value, Value>> entries() const;  // Of a dict, in insertion order.
  std::vector<std::string> fields() const;               // Of a named tuple; empty for others.
  // Of a named tuple or object; "name" and "value" of an enum. Throws kNotFound.
  Value field(std::string_view name) const;

  // The most exact type: "int", "List[Tensor]", "__torch__.Point".
  std::string type() const;
  // As the model's own str() prints it.
  std::string describe() const;

 private:
  friend struct Access;
  alignas(8) unsigned char storage_[16];
};

}  // namespace tierup::v1
