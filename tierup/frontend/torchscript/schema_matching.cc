// See schema_matching.h.
#include "tierup/frontend/torchscript/schema_matching.h"

#include <fmt/format.h>

#include <algorithm>

namespace tierup::frontend::torchscript {
namespace {

using ir::Argument;
using ir::NodeKind;
using ir::Schema;
using ir::Value;

// Binds the variables of `formal` so that `actual` can be it. False if the shapes differ.
bool bind_variables(const TypePtr& formal, const TypePtr& actual, TypeBindings& bindings) {
  if (formal->is(TypeKind::kVar)) {
    const auto [found, inserted] = bindings.try_emplace(formal->name(), actual);
    if (inserted || is_subtype(actual, found->second)) return true;
    // A wider later use widens the variable (None first, then Optional[T]).
    const TypePtr joined = unify(found->second, actual);
    if (joined == nullptr) return false;
    found->second = joined;
    return true;
  }
  if (!has_variables(formal)) return true;
  if (formal->is(TypeKind::kOptional)) {
    if (actual->is(TypeKind::kNone)) return true;
    const TypePtr& inner = actual->is(TypeKind::kOptional) ? actual->element() : actual;
    return bind_variables(formal->element(), inner, bindings);
  }
  if (formal->is(TypeKind::kList) && actual->is(TypeKind::kTuple)) {
    if (actual->elements().empty()) return false;
    TypePtr joined = actual->element();
    for (const TypePtr& element : actual->elements()) {
      joined = joined == nullptr ? nullptr : unify(joined, element);
    }
    return joined != nullptr && bind_variables(formal->element(), joined, bindings);
  }
  if (formal->kind() != actual->kind() || formal->elements().size() != actual->elements().size()) {
    return false;
  }
  for (size_t i = 0; i < formal->elements().size(); ++i) {
    if (!bind_variables(formal->element(i), actual->element(i), bindings)) return false;
  }
  return true;
}

// Where the input for one formal comes from.
struct Slot {
  enum class Kind : uint8_t { kActual, kRepeat, kCollect, kDefault };
  Kind kind = Kind::kDefault;
  Actual actual;
  size_t begin = 0;   // kCollect: from this positional to the last.
  int64_t count = 0;  // kRepeat.
  TypePtr formal;     // With variables replaced.
};

// The list that a broadcasting formal ("int[2]", "float[2]?") stands for, or null.
TypePtr broadcast_list(const Argument& formal) {
  if (!formal.broadcast_size.has_value()) return nullptr;
  const TypePtr& type = formal.type->is(TypeKind::kOptional) ? formal.type->element() : formal.type;
  if (!type->is(TypeKind::kList)) return nullptr;
  const TypeKind element = type->element()->kind();
  return element == TypeKind::kInt || element == TypeKind::kFloat ? type : nullptr;
}

class Matcher {
 public:
  Matcher(const Schema& schema, const CallArguments& call, Conversions allowed, std::string* why)
      : schema_(schema), call_(call), allowed_(allowed), why_(why) {}

  bool plan();
  MatchedCall carry_out(OpBuilder& builder);

 private:
  template <typename... Args>
  bool refuse(fmt::format_string<Args...> format, Args&&... args) {
    if (why_ != nullptr) *why_ = fmt::format(format, std::forward<Args>(args)...);
    return false;
  }
  bool plan_formal(size_t index);
  bool plan_actual(const Argument& formal, const Actual& actual);
  bool can_collect(size_t index) const;
  bool plan_collect(const Argument& formal);
  const NamedActual* take_keyword(std::string_view name);
  Value* carry_out_slot(OpBuilder& builder, const Slot& slot, const Argument& formal);

  const Schema& schema_;
  const CallArguments& call_;
  Conversions allowed_;
  std::string* why_;
  size_t next_positional_ = 0;
  uint64_t used_keywords_ = 0;
  TypeBindings bindings_;
  SmallVector<Slot, 8> slots_;
};

const NamedActual* Matcher::take_keyword(std::string_view name) {
  for (size_t i = 0; i < call_.keywords.size() && i < 64; ++i) {
    const NamedActual& keyword = call_.keywords[i];
    const bool is_input =
        name == "self" && keyword.name == "input" && schema_.name.starts_with("aten::");
    if (keyword.name == name || is_input) {
      used_keywords_ |= uint64_t{1} << i;
      return &keyword;
    }
  }
  return nullptr;
}

// Whether the formal swallows all remaining positionals: torch.permute(x, 0, 1).
bool Matcher::can_collect(size_t index) const {
  const Argument& formal = schema_.arguments[index];
  if (allowed_ == Conversions::kStructural || !formal.type->is(TypeKind::kList)) return false;
  if (formal.broadcast_size.has_value() || has_variables(formal.type)) return false;
  for (size_t i = index + 1; i < schema_.arguments.size(); ++i) {
    if (!schema_.arguments[i].kwarg_only) return false;
  }
  const Actual& next = call_.positional[next_positional_];
  return !next.value->type()->is(TypeKind::kList) && !can_convert(next, formal.type, allowed_);
}

bool Matcher::plan_collect(const Argument& formal) {
  const TypePtr& element = formal.type->element();
  for (size_t i = next_positional_; i < call_.positional.size(); ++i) {
    if (!can_convert(call_.positional[i], element, allowed_)) {
      return refuse("Expected a value of type '{}' for argument '{}' but instead found type '{}'.",
                    formal.type->to_string(), formal.name,
                    call_.positional[i].value->type()->to_string());
    }
  }
  Slot slot;
  slot.kind = Slot::Kind::kCollect;
  slot.begin = next_positional_;
  slot.formal = formal.type;
  slots_.push_back(std::move(slot));
  next_positional_ = call_.positional.size();
  return true;
}

bool Matcher::plan_actual(const Argument& formal, const Actual& actual) {
  const TypePtr& type = actual.value->type();
  Slot slot;
  slot.actual = actual;
  slot.kind = Slot::Kind::kActual;
  if (const TypePtr list = broadcast_list(formal);
      list != nullptr && equal(type, list->element())) {
    slot.kind = Slot::Kind::kRepeat;
    slot.count = *formal.broadcast_size;
    slot.formal = list;
    slots_.push_back(std::move(slot));
    return true;
  }
  if (!has_variables(formal.type)) {
    slot.formal = formal.type;
  } else if (actual.is_empty_literal && !bindings_.empty()) {
    slot.formal = substitute(formal.type, bindings_);
  } else if (bind_variables(formal.type, type, bindings_)) {
    slot.formal = substitute(formal.type, bindings_);
  } else {
    return refuse("Could not match type '{}' to '{}' in argument '{}'.", type->to_string(),
                  formal.type->to_string(), formal.name);
  }
  if (has_variables(slot.formal) && !(type->is(TypeKind::kNone))) {
    return refuse("The type of argument '{}' cannot be inferred from '{}'.", formal.name,
                  type->to_string());
  }
  if (!type->is(TypeKind::kNone) || !has_variables(slot.formal)) {
    if (!can_convert(actual, slot.formal, allowed_)) {
      return refuse("Expected a value of type '{}' for argument '{}' but instead found type '{}'.",
                    slot.formal->to_string(), formal.name, type->to_string());
    }
  }
  slots_.push_back(std::move(slot));
  return true;
}

bool Matcher::plan_formal(size_t index) {
  const Argument& formal = schema_.arguments[index];
  if (call_.self.has_value() && formal.name == "self" && index == 0) {
    return plan_actual(formal, *call_.self);
  }
  if (!formal.kwarg_only && next_positional_ < call_.positional.size()) {
    if (can_collect(index)) return plan_collect(formal);
    return plan_actual(formal, call_.positional[next_positional_++]);
  }
  if (const NamedActual* keyword = take_keyword(formal.name)) {
    return plan_actual(formal, keyword->actual);
  }
  if (formal.default_value.has_value()) {
    slots_.push_back(Slot{});
    return true;
  }
  return refuse("Argument {} not provided.", formal.name);
}

bool Matcher::plan() {
  const size_t given = call_.positional.size() + (call_.self.has_value() ? 1 : 0);
  if (why_ == nullptr && !schema_.is_vararg && given > schema_.arguments.size() &&
      allowed_ == Conversions::kStructural) {
    return false;
  }
  for (size_t i = 0; i < schema_.arguments.size(); ++i) {
    if (!plan_formal(i)) return false;
  }
  if (schema_.is_vararg) return call_.keywords.empty();
  if (next_positional_ < call_.positional.size()) {
    return refuse("Expected at most {} arguments but found {} positional arguments.",
                  schema_.arguments.size(), given);
  }
  for (size_t i = 0; i < call_.keywords.size(); ++i) {
    if (i >= 64 || (used_keywords_ >> i & 1) == 0) {
      const std::string name(call_.keywords[i].name);
      return schema_.find_argument(name).has_value()
                 ? refuse("Argument {} specified twice in schema.", name)
                 : refuse("Unknown keyword argument '{}'.", name);
    }
  }
  return true;
}

Value* Matcher::carry_out_slot(OpBuilder& builder, const Slot& slot, const Argument& formal) {
  switch (slot.kind) {
    case Slot::Kind::kActual: return convert(builder, slot.actual, slot.formal, allowed_);
    case Slot::Kind::kRepeat: {
      const std::vector<Value*> items(static_cast<size_t>(slot.count), slot.actual.value);
      return builder.node(NodeKind::kListConstruct, items, slot.formal);
    }
    case Slot::Kind::kCollect: {
      std::vector<Value*> items;
      for (size_t i = slot.begin; i < call_.positional.size(); ++i) {
        items.push_back(convert(builder, call_.positional[i], slot.formal->element(), allowed_));
      }
      return builder.node(NodeKind::kListConstruct, items, slot.formal);
    }
    case Slot::Kind::kDefault: {
      const IValue& value = *formal.default_value;
      // A list would be shared between calls; the callee must get its own.
      if (!value.is_list()) {
        return builder.editor().constant(value, value.is_none() ? Type::none() : nullptr);
      }
      std::vector<Value*> items;
      for (const IValue& item : value.to_list().items) items.push_back(builder.constant(item));
      const TypePtr& list =
          formal.type->is(TypeKind::kOptional) ? formal.type->element() : formal.type;
      return builder.node(NodeKind::kListConstruct, items, list);
    }
  }
  return nullptr;
}

MatchedCall Matcher::carry_out(OpBuilder& builder) {
  MatchedCall result;
  result.inputs.reserve(slots_.size());
  for (size_t i = 0; i < slots_.size(); ++i) {
    result.inputs.push_back(carry_out_slot(builder, slots_[i], schema_.arguments[i]));
  }
  for (size_t i = next_positional_; i < call_.positional.size(); ++i) {
    result.inputs.push_back(call_.positional[i].value);
  }
  for (const Argument& argument : schema_.returns) {
    result.results.push_back(substitute(argument.type, bindings_));
  }
  return result;
}

}  // namespace

bool CallArguments::any_poisoned(const OpBuilder& builder) const {
  return builder.any_poisoned(values());
}

std::vector<Value*> CallArguments::values() const {
  std::vector<Value*> result;
  if (self.has_value()) result.push_back(self->value);
  for (const Actual& actual : positional) result.push_back(actual.value);
  for (const NamedActual& keyword : keywords) result.push_back(keyword.actual.value);
  return result;
}

bool has_variables(const TypePtr& type) {
  if (type->is(TypeKind::kVar)) return true;
  const auto& elements = type->elements();
  return std::any_of(elements.begin(), elements.end(), has_variables);
}

TypePtr substitute(const TypePtr& type, const TypeBindings& bindings) {
  if (!has_variables(type)) return type;
  if (type->is(TypeKind::kVar)) {
    const auto found = bindings.find(type->name());
    return found == bindings.end() ? type : found->second;
  }
  std::vector<TypePtr> elements;
  for (const TypePtr& element : type->elements()) elements.push_back(substitute(element, bindings));
  switch (type->kind()) {
    case TypeKind::kList: return Type::list(elements[0]);
    case TypeKind::kDict: return Type::dict(elements[0], elements[1]);
    case TypeKind::kTuple: return Type::tuple(std::move(elements));
    case TypeKind::kOptional: return Type::optional(elements[0]);
    case TypeKind::kFuture: return Type::future(elements[0]);
    case TypeKind::kAwait: return Type::await(elements[0]);
    case TypeKind::kUnion: return Type::union_of(std::move(elements));
    default: return type;
  }
}

std::optional<MatchedCall> match_schema(OpBuilder& builder, const Schema& schema,
                                        const CallArguments& call, Conversions allowed,
                                        std::string* why) {
  Matcher matcher(schema, call, allowed, why);
  if (!matcher.plan()) return std::nullopt;
  return matcher.carry_out(builder);
}

std::string describe_arguments(const CallArguments& call) {
  std::string text = "(";
  const auto add = [&](const std::string& item) {
    if (text.size() > 1) text += ", ";
    text += item;
  };
  if (call.self.has_value()) add(call.self->value->type()->to_string());
  for (const Actual& actual : call.positional) add(actual.value->type()->to_string());
  for (const NamedActual& keyword : call.keywords) {
    add(fmt::format("{}={}", keyword.name, keyword.actual.value->type()->to_string()));
  }
  return text + ")";
}

}  // namespace tierup::frontend::torchscript
