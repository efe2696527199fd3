// Type: the static types of TorchScript and of the IR, also used as run-time tags of containers.
//
// Types are immutable and shared; compare them with equal(), not by pointer. Nominal types
// (class, interface, enum) are one object each and compare by identity. They stand in this
// room, below the IR, since lists and dicts carry their element types at run time.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tierup/base/ref.h"
#include "tierup/base/small_vector.h"
#include "tierup/tensor/device.h"
#include "tierup/tensor/dtype.h"

namespace tierup {

class Type;
using TypePtr = std::shared_ptr<const Type>;

enum class TypeKind : uint8_t {
  kAny,
  kNone,
  kTensor,
  kInt,
  kFloat,
  kBool,
  kComplex,
  kNumber,
  kStr,
  kDevice,
  kGenerator,
  kStream,
  kStorage,
  kCapsule,
  kAnyList,
  kAnyTuple,
  kAnyEnum,
  kAnyClass,  // "list", "tuple": any element types.
  kList,
  kDict,
  kTuple,
  kOptional,
  kUnion,
  kFuture,
  kAwait,
  kRRef,
  kClass,
  kInterface,
  kEnum,
  kFunction,
  kVar,  // A type variable of a schema: "t", "tVal".
};

// A dimension of a tensor type: a known size, a shape symbol (equal symbols are equal sizes), or
// unknown.
struct Dim {
  enum class Kind : uint8_t { kUnknown, kStatic, kSymbol };
  Kind kind = Kind::kUnknown;
  int64_t value = 0;  // The size, or the symbol's number.
  friend bool operator==(const Dim&, const Dim&) = default;
};

// What a tensor type knows beyond being a tensor; an empty field means "not known".
struct TensorFacts {
  std::optional<ScalarType> dtype;
  std::optional<Device> device;
  std::optional<bool> requires_grad;
  std::optional<bool> undefined;
  std::optional<std::vector<Dim>> sizes;
  std::optional<std::vector<Dim>> strides;
  friend bool operator==(const TensorFacts&, const TensorFacts&) = default;
};

// Something a class can own and a value can name as a function; the front end derives from it.
class Callable : public RefCounted {
 public:
  explicit Callable(std::string name) : name_(std::move(name)) {}
  const std::string& name() const { return name_; }  // Qualified: "__torch__.M.forward".

 private:
  std::string name_;
};

class ClassType;
class EnumType;

class Type : public std::enable_shared_from_this<Type> {
 public:
  virtual ~Type() = default;

  TypeKind kind() const { return kind_; }
  bool is(TypeKind kind) const { return kind_ == kind; }
  // Element types: List [T], Dict [K, V], Tuple, Optional [T], Union, Future [T].
  const std::vector<TypePtr>& elements() const { return elements_; }
  const TypePtr& element(size_t i = 0) const { return elements_[i]; }
  // Qualified name of a nominal type or NamedTuple; name of a type variable; else empty.
  const std::string& name() const { return name_; }
  // Field names of a NamedTuple; empty for plain tuples.
  const std::vector<std::string>& fields() const { return fields_; }
  const TensorFacts& facts() const { return facts_; }

  // As annotations print it: "Dict[str, Optional[Tensor]]". With facts, tensor types print as
  // "Float(2, s0, strides=[...], requires_grad=0, device=cpu)".
  std::string to_string() const;
  const ClassType* as_class() const;  // Null unless kClass or kInterface.
  const EnumType* as_enum() const;    // Null unless kEnum.

  static const TypePtr& simple(TypeKind kind);  // Any kind without parameters.
  static const TypePtr& any() { return simple(TypeKind::kAny); }
  static const TypePtr& none() { return simple(TypeKind::kNone); }
  static const TypePtr& tensor() { return simple(TypeKind::kTensor); }
  static const TypePtr& integer() { return simple(TypeKind::kInt); }
  static const TypePtr& floating() { return simple(TypeKind::kFloat); }
  static const TypePtr& boolean() { return simple(TypeKind::kBool); }
  static const TypePtr& complex() { return simple(TypeKind::kComplex); }
  static const TypePtr& number() { return simple(TypeKind::kNumber); }
  static const TypePtr& str() { return simple(TypeKind::kStr); }
  static const TypePtr& device() { return simple(TypeKind::kDevice); }
  static TypePtr tensor_with(TensorFacts facts);
  static TypePtr list(TypePtr element);
  static TypePtr dict(TypePtr key, TypePtr value);
  static TypePtr tuple(std::vector<TypePtr> elements);
  static TypePtr named_tuple(std::string name, std::vector<std::string> fields,
                             std::vector<TypePtr> elements);
  static TypePtr optional(
      TypePtr element);  // Optional[Optional[T]] is Optional[T]; of None or Any: itself.
  static TypePtr union_of(
      std::vector<TypePtr> members);  // Flattened, deduplicated; {T, None} is Optional[T].
  static TypePtr future(TypePtr element);
  static TypePtr await(TypePtr element);
  static TypePtr variable(std::string name);
  static TypePtr function(Ref<Callable> callable);
  const Ref<Callable>& callable() const { return callable_; }  // Of kFunction.

 protected:
  explicit Type(TypeKind kind) : kind_(kind) {}
  std::string name_;
  std::vector<std::string> fields_;

 private:
  static std::shared_ptr<Type> make(TypeKind kind, std::vector<TypePtr> elements = {});

  TypeKind kind_;
  std::vector<TypePtr> elements_;
  TensorFacts facts_;
  Ref<Callable> callable_;
};

// A class, module class or interface. Filled while the front end declares it, constant after.
class ClassType final : public Type {
 public:
  struct Attribute {
    std::string name;
    TypePtr type;
    bool is_parameter = false;
    bool is_buffer = false;
  };
  static std::shared_ptr<ClassType> make(std::string qualified_name, bool is_module,
                                         bool is_interface = false);

  bool is_module() const { return is_module_; }
  const std::vector<Attribute>& attributes() const { return attributes_; }
  std::optional<size_t> find_attribute(std::string_view name) const;
  Ref<Callable> find_method(std::string_view name) const;  // Null if there is none.
  const std::vector<std::pair<std::string, Ref<Callable>>>& methods() const { return methods_; }
  const std::vector<std::string>& forward_pre_hooks() const { return forward_pre_hooks_; }
  const std::vector<std::string>& forward_hooks() const { return forward_hooks_; }

  // Declaration. add_attribute replaces the type of an attribute of the same name.
  size_t add_attribute(Attribute attribute);
  void add_method(std::string name, Ref<Callable> method);  // The last of one name wins.
  void set_hooks(std::vector<std::string> pre, std::vector<std::string> post);

 private:
  ClassType(TypeKind kind, std::string name, bool is_module);
  bool is_module_;
  std::vector<Attribute> attributes_;
  std::vector<std::pair<std::string, Ref<Callable>>> methods_;
  std::vector<std::string> forward_pre_hooks_;
  std::vector<std::string> forward_hooks_;
};

// Structural equality; tensor facts count. Nominal types by identity.
bool equal(const TypePtr& a, const TypePtr& b);
// a may be used where b is wanted (section 7 of the format: Optional, Union, number, tuples
// covariant, List and Dict invariant, class to interface by its methods). int is not <= float.
bool is_subtype(const TypePtr& a, const TypePtr& b);
// The type of a join of both, or null: equal, subtype, T with None -> Optional[T], tuples
// elementwise.
TypePtr unify(const TypePtr& a, const TypePtr& b);
// Whether some tensor, list, dict, object... can be reached (values that may alias).
bool is_mutable(const TypePtr& type);

}  // namespace tierup
