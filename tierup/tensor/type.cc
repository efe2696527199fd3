#include "tierup/tensor/type.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "tierup/base/error.h"
#include "tierup/tensor/ivalue.h"

namespace tierup {
namespace {

std::string_view simple_name(TypeKind kind) {
  switch (kind) {
    case TypeKind::kAny: return "Any";
    case TypeKind::kNone: return "NoneType";
    case TypeKind::kTensor: return "Tensor";
    case TypeKind::kInt: return "int";
    case TypeKind::kFloat: return "float";
    case TypeKind::kBool: return "bool";
    case TypeKind::kComplex: return "complex";
    case TypeKind::kNumber: return "number";
    case TypeKind::kStr: return "str";
    case TypeKind::kDevice: return "Device";
    case TypeKind::kGenerator: return "Generator";
    case TypeKind::kStream: return "Stream";
    case TypeKind::kStorage: return "Storage";
    case TypeKind::kCapsule: return "Capsule";
    case TypeKind::kAnyList: return "list";
    case TypeKind::kAnyTuple: return "tuple";
    case TypeKind::kAnyEnum: return "AnyEnumType";
    case TypeKind::kAnyClass: return "AnyClassType";
    default: return "";
  }
}

std::string join(const std::vector<TypePtr>& types) {
  std::string text;
  for (const TypePtr& type : types) {
    if (!text.empty()) text += ", ";
    text += type->to_string();
  }
  return text;
}

std::string dims_string(const std::vector<Dim>& dims) {
  std::string text;
  for (const Dim& dim : dims) {
    if (!text.empty()) text += ", ";
    switch (dim.kind) {
      case Dim::Kind::kUnknown: text += "*"; break;
      case Dim::Kind::kStatic: text += std::to_string(dim.value); break;
      case Dim::Kind::kSymbol: text += "s" + std::to_string(dim.value); break;
    }
  }
  return text;
}

// "Float(2, s0, strides=[3, 1], requires_grad=0, device=cpu)"; a field is absent if unknown.
std::string facts_string(const TensorFacts& facts) {
  std::vector<std::string> parts;
  if (facts.sizes) {
    parts.push_back(facts.sizes->empty() ? "rank=0" : dims_string(*facts.sizes));
  }
  if (facts.strides) parts.push_back("strides=[" + dims_string(*facts.strides) + "]");
  if (facts.requires_grad)
    parts.push_back(*facts.requires_grad ? "requires_grad=1" : "requires_grad=0");
  if (facts.device) parts.push_back("device=" + facts.device->to_string());
  if (facts.undefined) parts.push_back(*facts.undefined ? "undefined=1" : "undefined=0");
  std::string head = facts.dtype ? std::string(scalar_type_name(*facts.dtype)) : "Tensor";
  if (parts.empty() && !facts.dtype) return head;
  head += "(";
  for (size_t i = 0; i < parts.size(); ++i) head += (i == 0 ? "" : ", ") + parts[i];
  return head + ")";
}

bool all_equal(const std::vector<TypePtr>& a, const std::vector<TypePtr>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const TypePtr& x, const TypePtr& y) { return equal(x, y); });
}

bool is_nominal(TypeKind kind) {
  return kind == TypeKind::kClass || kind == TypeKind::kInterface || kind == TypeKind::kEnum;
}

bool class_implements(const ClassType& type, const ClassType& interface) {
  return std::all_of(
      interface.methods().begin(), interface.methods().end(),
      [&](const auto& method) { return static_cast<bool>(type.find_method(method.first)); });
}

bool tuple_subtype(const TypePtr& a, const TypePtr& b) {
  if (a->elements().size() != b->elements().size()) return false;
  if (!b->fields().empty() && (a->name() != b->name() || a->fields() != b->fields())) return false;
  for (size_t i = 0; i < a->elements().size(); ++i) {
    if (!is_subtype(a->element(i), b->element(i))) return false;
  }
  return true;
}

// Where `want` knows the rank alone, or some of the sizes.
bool sizes_hold(const std::optional<std::vector<Dim>>& have,
                const std::optional<std::vector<Dim>>& want) {
  if (!want) return true;
  return have && std::equal(have->begin(), have->end(), want->begin(), want->end(),
                            [](const Dim& a, const Dim& b) {
                              return b.kind == Dim::Kind::kUnknown || a == b;
                            });
}

// Known facts of b must be those of a.
bool facts_subtype(const TensorFacts& a, const TensorFacts& b) {
  const auto holds = [](const auto& have, const auto& want) { return !want || have == want; };
  return holds(a.dtype, b.dtype) && holds(a.device, b.device) &&
         holds(a.requires_grad, b.requires_grad) && holds(a.undefined, b.undefined) &&
         sizes_hold(a.sizes, b.sizes) && holds(a.strides, b.strides);
}

void flatten_union(const TypePtr& type, std::vector<TypePtr>& members) {
  if (type->is(TypeKind::kUnion)) {
    for (const TypePtr& member : type->elements()) flatten_union(member, members);
    return;
  }
  if (type->is(TypeKind::kOptional)) {
    flatten_union(type->element(), members);
    flatten_union(Type::none(), members);
    return;
  }
  for (TypePtr& member : members) {
    if (is_subtype(type, member)) return;
    if (is_subtype(member, type)) {
      member = type;
      return;
    }
  }
  members.push_back(type);
}

}  // namespace

std::shared_ptr<Type> Type::make(TypeKind kind, std::vector<TypePtr> elements) {
  struct Constructible : Type {
    explicit Constructible(TypeKind k) : Type(k) {}
  };
  auto type = std::make_shared<Constructible>(kind);
  type->elements_ = std::move(elements);
  return type;
}

const TypePtr& Type::simple(TypeKind kind) {
  static const auto types = [] {
    std::array<TypePtr, static_cast<size_t>(TypeKind::kVar) + 1> all;
    for (size_t i = 0; i < all.size(); ++i) all[i] = make(static_cast<TypeKind>(i));
    return all;
  }();
  return types[static_cast<size_t>(kind)];
}

TypePtr Type::tensor_with(TensorFacts facts) {
  auto type = make(TypeKind::kTensor);
  type->facts_ = std::move(facts);
  return type;
}

TypePtr Type::list(TypePtr element) { return make(TypeKind::kList, {std::move(element)}); }

TypePtr Type::dict(TypePtr key, TypePtr value) {
  return make(TypeKind::kDict, {std::move(key), std::move(value)});
}

TypePtr Type::tuple(std::vector<TypePtr> elements) {
  return make(TypeKind::kTuple, std::move(elements));
}

TypePtr Type::named_tuple(std::string name, std::vector<std::string> fields,
                          std::vector<TypePtr> elements) {
  auto type = make(TypeKind::kTuple, std::move(elements));
  type->name_ = std::move(name);
  type->fields_ = std::move(fields);
  return type;
}

TypePtr Type::optional(TypePtr element) {
  if (element->is(TypeKind::kOptional) || element->is(TypeKind::kAny) ||
      element->is(TypeKind::kNone)) {
    return element;
  }
  if (element->is(TypeKind::kUnion)) return union_of({element, none()});
  return make(TypeKind::kOptional, {std::move(element)});
}

TypePtr Type::union_of(std::vector<TypePtr> members) {
  std::vector<TypePtr> flat;
  for (const TypePtr& member : members) flatten_union(member, flat);
  if (flat.size() == 1) return flat[0];
  const auto is_none_type = [](const TypePtr& t) { return t->is(TypeKind::kNone); };
  if (flat.size() == 2 && std::any_of(flat.begin(), flat.end(), is_none_type)) {
    return optional(flat[0]->is(TypeKind::kNone) ? flat[1] : flat[0]);
  }
  std::sort(flat.begin(), flat.end(),
            [](const TypePtr& a, const TypePtr& b) { return a->to_string() < b->to_string(); });
  return make(TypeKind::kUnion, std::move(flat));
}

TypePtr Type::future(TypePtr element) { return make(TypeKind::kFuture, {std::move(element)}); }
TypePtr Type::await(TypePtr element) { return make(TypeKind::kAwait, {std::move(element)}); }

TypePtr Type::variable(std::string name) {
  auto type = make(TypeKind::kVar);
  type->name_ = std::move(name);
  return type;
}

TypePtr Type::function(Ref<Callable> callable) {
  auto type = make(TypeKind::kFunction);
  type->name_ = callable->name();
  type->callable_ = std::move(callable);
  return type;
}

std::string Type::to_string() const {
  switch (kind_) {
    case TypeKind::kTensor: return facts_string(facts_);
    case TypeKind::kList: return "List[" + join(elements_) + "]";
    case TypeKind::kDict: return "Dict[" + join(elements_) + "]";
    case TypeKind::kTuple:
      if (!name_.empty()) return name_;
      return elements_.empty() ? "Tuple[()]" : "Tuple[" + join(elements_) + "]";
    case TypeKind::kOptional: return "Optional[" + join(elements_) + "]";
    case TypeKind::kUnion: return "Union[" + join(elements_) + "]";
    case TypeKind::kFuture: return "Future[" + join(elements_) + "]";
    case TypeKind::kAwait: return "Await[" + join(elements_) + "]";
    case TypeKind::kRRef: return "RRef[" + join(elements_) + "]";
    case TypeKind::kClass:
    case TypeKind::kInterface:
    case TypeKind::kEnum:
    case TypeKind::kVar: return name_;
    case TypeKind::kFunction: return "Function[" + name_ + "]";
    default: return std::string(simple_name(kind_));
  }
}

const ClassType* Type::as_class() const {
  return kind_ == TypeKind::kClass || kind_ == TypeKind::kInterface
             ? static_cast<const ClassType*>(this)
             : nullptr;
}

const EnumType* Type::as_enum() const {
  return kind_ == TypeKind::kEnum ? static_cast<const EnumType*>(this) : nullptr;
}

ClassType::ClassType(TypeKind kind, std::string name, bool is_module)
    : Type(kind), is_module_(is_module) {
  name_ = std::move(name);
}

std::shared_ptr<ClassType> ClassType::make(std::string qualified_name, bool is_module,
                                           bool is_interface) {
  const TypeKind kind = is_interface ? TypeKind::kInterface : TypeKind::kClass;
  return std::shared_ptr<ClassType>(new ClassType(kind, std::move(qualified_name), is_module));
}

std::optional<size_t> ClassType::find_attribute(std::string_view name) const {
  for (size_t i = 0; i < attributes_.size(); ++i) {
    if (attributes_[i].name == name) return i;
  }
  return std::nullopt;
}

Ref<Callable> ClassType::find_method(std::string_view name) const {
  for (const auto& [method_name, method] : methods_) {
    if (method_name == name) return method;
  }
  return nullptr;
}

size_t ClassType::add_attribute(Attribute attribute) {
  if (const auto found = find_attribute(attribute.name)) {
    attributes_[*found] = std::move(attribute);
    return *found;
  }
  attributes_.push_back(std::move(attribute));
  return attributes_.size() - 1;
}

void ClassType::add_method(std::string name, Ref<Callable> method) {
  for (auto& [method_name, existing] : methods_) {
    if (method_name == name) {
      existing = std::move(method);
      return;
    }
  }
  methods_.emplace_back(std::move(name), std::move(method));
}

void ClassType::set_hooks(std::vector<std::string> pre, std::vector<std::string> post) {
  forward_pre_hooks_ = std::move(pre);
  forward_hooks_ = std::move(post);
}

bool equal(const TypePtr& a, const TypePtr& b) {
  if (a == b) return true;
  if (a->kind() != b->kind() || is_nominal(a->kind())) return false;
  if (a->is(TypeKind::kFunction)) return a->callable() == b->callable();
  return a->name() == b->name() && a->fields() == b->fields() && a->facts() == b->facts() &&
         all_equal(a->elements(), b->elements());
}

bool is_subtype(const TypePtr& a, const TypePtr& b) {
  if (b->is(TypeKind::kAny) || equal(a, b)) return true;
  if (a->is(TypeKind::kUnion)) {
    return std::all_of(a->elements().begin(), a->elements().end(),
                       [&](const TypePtr& member) { return is_subtype(member, b); });
  }
  if (a->is(TypeKind::kOptional)) {
    if (b->is(TypeKind::kOptional)) return is_subtype(a->element(), b->element());
    return b->is(TypeKind::kUnion) && is_subtype(a->element(), b) && is_subtype(Type::none(), b);
  }
  switch (b->kind()) {
    case TypeKind::kOptional: return a->is(TypeKind::kNone) || is_subtype(a, b->element());
    case TypeKind::kUnion:
      return std::any_of(b->elements().begin(), b->elements().end(),
                         [&](const TypePtr& member) { return is_subtype(a, member); });
    case TypeKind::kNumber:
      return a->is(TypeKind::kInt) || a->is(TypeKind::kFloat) || a->is(TypeKind::kComplex);
    case TypeKind::kTensor:
      return a->is(TypeKind::kTensor) && facts_subtype(a->facts(), b->facts());
    case TypeKind::kTuple: return a->is(TypeKind::kTuple) && tuple_subtype(a, b);
    case TypeKind::kAnyList: return a->is(TypeKind::kList);
    case TypeKind::kAnyTuple: return a->is(TypeKind::kTuple);
    case TypeKind::kAnyEnum: return a->is(TypeKind::kEnum);
    case TypeKind::kAnyClass: return a->is(TypeKind::kClass);
    case TypeKind::kFuture:
      return a->is(TypeKind::kFuture) && is_subtype(a->element(), b->element());
    case TypeKind::kInterface:
      return a->as_class() != nullptr && class_implements(*a->as_class(), *b->as_class());
    default: return false;
  }
}

TypePtr unify(const TypePtr& a, const TypePtr& b) {
  if (is_subtype(a, b)) return b;
  if (is_subtype(b, a)) return a;
  if (a->is(TypeKind::kTensor) && b->is(TypeKind::kTensor)) return Type::tensor();
  if (a->is(TypeKind::kNone)) return Type::optional(b);
  if (b->is(TypeKind::kNone)) return Type::optional(a);
  if (a->is(TypeKind::kTuple) && b->is(TypeKind::kTuple) &&
      a->elements().size() == b->elements().size()) {
    std::vector<TypePtr> elements;
    for (size_t i = 0; i < a->elements().size(); ++i) {
      TypePtr element = unify(a->element(i), b->element(i));
      if (element == nullptr) return nullptr;
      elements.push_back(std::move(element));
    }
    return Type::tuple(std::move(elements));
  }
  if (a->is(TypeKind::kOptional) || b->is(TypeKind::kOptional)) {
    const TypePtr inner = unify(a->is(TypeKind::kOptional) ? a->element() : a,
                                b->is(TypeKind::kOptional) ? b->element() : b);
    return inner == nullptr ? nullptr : Type::optional(inner);
  }
  return nullptr;
}

bool is_mutable(const TypePtr& type) {
  switch (type->kind()) {
    case TypeKind::kNone:
    case TypeKind::kInt:
    case TypeKind::kFloat:
    case TypeKind::kBool:
    case TypeKind::kComplex:
    case TypeKind::kNumber:
    case TypeKind::kStr:
    case TypeKind::kDevice:
    case TypeKind::kEnum:
    case TypeKind::kAnyEnum:
    case TypeKind::kFunction: return false;
    case TypeKind::kTuple:
    case TypeKind::kOptional:
    case TypeKind::kUnion:
      return std::any_of(type->elements().begin(), type->elements().end(), is_mutable);
    default: return true;
  }
}

}  // namespace tierup
