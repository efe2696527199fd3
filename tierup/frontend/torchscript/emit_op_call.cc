// Calls of operators: which overload a name and its arguments mean.
#include <fmt/format.h>

#include <array>

#include "tierup/frontend/torchscript/function_emitter.h"

namespace tierup::frontend::torchscript {

using ir::NodeKind;
using ir::Value;
using Kind = Sugared::Kind;

namespace {

struct Alias {
  std::string_view name;
  std::string_view target;
};
// Second names; writers of some ages print them. Their in-place forms follow the same table.
constexpr auto kAliases = std::to_array<Alias>({
    {"absolute", "abs"},
    {"clip", "clamp"},
    {"arccos", "acos"},
    {"arcsin", "asin"},
    {"arctan", "atan"},
    {"arccosh", "acosh"},
    {"arcsinh", "asinh"},
    {"arctanh", "atanh"},
    {"arctan2", "atan2"},
    {"fix", "trunc"},
    {"negative", "neg"},
    {"subtract", "sub"},
    {"multiply", "mul"},
    {"divide", "div"},
    {"true_divide", "div"},
    {"greater", "gt"},
    {"greater_equal", "ge"},
    {"less", "lt"},
    {"less_equal", "le"},
    {"not_equal", "ne"},
    {"ger", "outer"},
    {"linalg_det", "det"},
    {"row_stack", "vstack"},
    {"swapdims", "transpose"},
    {"swapaxes", "transpose"},
    {"moveaxis", "movedim"},
    {"degrees", "rad2deg"},
    {"radians", "deg2rad"},
    {"floordiv", "floor_divide"},
    {"concat", "cat"},
    {"concatenate", "cat"},
    {"special_expit", "sigmoid"},
});

// "aten::absolute_" -> "aten::abs_"; empty if the name has no other.
std::string aliased(std::string_view name) {
  if (!name.starts_with("aten::")) return "";
  std::string_view stem = name.substr(6);
  const bool in_place = stem.ends_with('_') && !stem.ends_with("__");
  if (in_place) stem.remove_suffix(1);
  for (const Alias& alias : kAliases) {
    if (alias.name == stem) {
      return fmt::format("aten::{}{}", alias.target, in_place ? "_" : "");
    }
  }
  return "";
}

// Methods of tensors that are casts: x.half() is aten::to(x, dtype).
struct CastMethod {
  std::string_view name;
  ScalarType dtype;
};
constexpr auto kCastMethods = std::to_array<CastMethod>({
    {"aten::byte", ScalarType::kByte},
    {"aten::char", ScalarType::kChar},
    {"aten::short", ScalarType::kShort},
    {"aten::int", ScalarType::kInt},
    {"aten::long", ScalarType::kLong},
    {"aten::half", ScalarType::kHalf},
    {"aten::float", ScalarType::kFloat},
    {"aten::double", ScalarType::kDouble},
    {"aten::cfloat", ScalarType::kComplexFloat},
    {"aten::cdouble", ScalarType::kComplexDouble},
});

const Value* first_argument(const CallArguments& call) {
  if (call.self.has_value()) return call.self->value;
  return call.positional.empty() ? nullptr : call.positional[0].value;
}

bool is_tensor(const Value* value) {
  return value != nullptr && value->type()->is(TypeKind::kTensor);
}

bool is_scalar(const Value* value) {
  const TypeKind kind = value->type()->kind();
  return kind == TypeKind::kInt || kind == TypeKind::kFloat || kind == TypeKind::kComplex ||
         kind == TypeKind::kNumber;
}

}  // namespace

Value* FunctionEmitter::aten(const std::string& name, std::vector<Value*> inputs,
                             const Span& span) {
  CallArguments arguments;
  for (Value* input : inputs) arguments.positional.push_back({input});
  return as_value(call_op("aten::" + name, arguments, span), span);
}

Sugared FunctionEmitter::finish_op(const ops::Op& op, const MatchedCall& match) {
  ir::Node* node = editor().create_op(op, match.inputs);
  const auto& returns = op.schema().returns;
  for (size_t i = 0; i < returns.size(); ++i) {
    if (match.results[i] != returns[i].type) {
      editor().set_type(node->outputs()[i], match.results[i]);
    }
  }
  if (returns.size() == 1) return Sugared::of(node->output());
  Sugared result;
  result.kind = Kind::kResults;
  result.node = node;
  return result;
}

std::optional<Sugared> FunctionEmitter::match_overloads(std::span<const ops::Op* const> candidates,
                                                        const CallArguments& arguments,
                                                        Conversions allowed) {
  for (const ops::Op* candidate : candidates) {
    const ir::Schema& schema = candidate->schema();
    // dtype and int are one type, so x.view(3) would always mean it.
    if (schema.overload == "dtype" && schema.name == "aten::view") continue;
    if (std::optional<MatchedCall> match = match_schema(builder_, schema, arguments, allowed)) {
      return finish_op(*candidate, *match);
    }
  }
  return std::nullopt;
}

Sugared FunctionEmitter::call_op(const std::string& name, const CallArguments& arguments,
                                 const Span& span) {
  if (std::optional<Sugared> special = call_special_op(name, arguments, span)) return *special;
  if (std::optional<Sugared> sorted = call_object_sort(name, arguments, span)) return *sorted;
  const std::vector<const ops::Op*>& candidates = unit_.overloads(name);
  const bool poisoned = arguments.any_poisoned(builder_);
  if (candidates.empty()) {
    const std::string alias = aliased(name);
    if (!alias.empty()) return call_op(alias, arguments, span);
    return Sugared::of(builder_.trap(name, "tierup does not have it", arguments.values()));
  }
  if (poisoned) return Sugared::of(builder_.trap_after(arguments.values()));
  if (upgrade_) {
    if (std::optional<Sugared> old = call_upgraded(name, arguments, span)) return *old;
  }
  return call_current_op(name, arguments, span);
}

// By today's schemas.
Sugared FunctionEmitter::call_current_op(const std::string& name, const CallArguments& arguments,
                                         const Span& span) {
  const std::vector<const ops::Op*>& candidates = unit_.overloads(name);
  if (candidates.size() > 1) {
    if (auto found = match_overloads(candidates, arguments, Conversions::kStructural))
      return *found;
    if (auto found = call_scalar_first(name, arguments, span)) return *found;
  }
  for (const Conversions allowed : {Conversions::kImplicit, Conversions::kLiterals}) {
    if (auto found = match_overloads(candidates, arguments, allowed)) return *found;
  }
  if (candidates.size() == 1) {
    if (auto found = call_scalar_first(name, arguments, span)) return *found;
  }
  const std::string alias = is_tensor(first_argument(arguments)) ? aliased(name) : "";
  if (!alias.empty()) return call_op(alias, arguments, span);
  std::string reason =
      fmt::format("none of its overloads takes {}:", describe_arguments(arguments));
  for (const ops::Op* candidate : candidates) {
    std::string why;
    match_schema(builder_, candidate->schema(), arguments, Conversions::kLiterals, &why);
    reason += fmt::format("\n  {}: {}", candidate->schema().to_string(), why);
  }
  return Sugared::of(builder_.trap(name, std::move(reason), arguments.values()));
}

std::optional<Sugared> FunctionEmitter::call_special_op(const std::string& name,
                                                        const CallArguments& arguments,
                                                        const Span& span) {
  const Value* first = first_argument(arguments);
  if (name == "prim::RaiseException") {
    static const ir::Schema kSchema =
        ir::parse_schema("prim::RaiseException(str msg, str? cls=None) -> ()");
    MatchedCall match = match_or_fail(kSchema, arguments, span);
    if (match.inputs[1]->type()->is(TypeKind::kNone)) match.inputs.pop_back();
    Sugared result;
    result.kind = Kind::kResults;
    result.node = editor().create(NodeKind::kRaise, match.inputs);
    return result;
  }
  if (name == "aten::wait" || name == "prim::awaitable_wait") {
    Value* future = first != nullptr ? arguments.values()[0] : nullptr;
    if (future == nullptr || !future->type()->is(TypeKind::kFuture)) return std::nullopt;
    return Sugared::of(builder_.node(NodeKind::kWait, {future}, future->type()->element()));
  }
  if (name == "prim::unchecked_unwrap_optional" && first != nullptr) {
    const TypePtr& type = first->type();
    return Sugared::of(builder_.unchecked_cast(
        arguments.values()[0], type->is(TypeKind::kOptional) ? type->element() : type));
  }
  if (name == "profiler::_record_function_enter_new") return record_of_marks(span);
  if (name == "prim::shape") return call_op("aten::size", arguments, span);
  if (name == "prim::ndim") return call_op("aten::dim", arguments, span);
  if (name == "prim::T") return call_op("aten::numpy_T", arguments, span);
  if (name == "aten::device" && first != nullptr && first->node() != nullptr &&
      first->node()->is(NodeKind::kConstant) && arguments.values().size() == 1 &&
      first->type()->is(TypeKind::kStr)) {
    const IValue& text = first->node()->attr<IValue>(ir::AttrName::kValue);
    return Sugared::of(builder_.constant(Device::parse(text.to_str())));
  }
  if (arguments.self.has_value() && is_tensor(first)) {
    for (const CastMethod& method : kCastMethods) {
      if (method.name != name || !arguments.positional.empty()) continue;
      CallArguments to = arguments;
      to.positional.push_back({builder_.constant(static_cast<int64_t>(method.dtype))});
      return call_op("aten::to", to, span);
    }
    if (name == "aten::type") return call_op("aten::to", arguments, span);
  }
  return std::nullopt;
}

// What a mark for profilers gives: an object of its class, which nothing looks into. Traces, which
// do not look at all, have archives without the class.
Sugared FunctionEmitter::record_of_marks(const Span& span) {
  const TypePtr type = unit_.find_type("__torch__.torch.classes.profiler._RecordFunction");
  return Sugared::of(type != nullptr ? construct(type, {}, span) : builder_.none());
}

// number OP Tensor, which is no overload: the tensor goes first (section 12.5).
std::optional<Sugared> FunctionEmitter::call_scalar_first(const std::string& name,
                                                          const CallArguments& arguments,
                                                          const Span& span) {
  struct Mirror {
    std::string_view name;
    std::string_view before;  // Applied to the tensor first, or empty.
    std::string_view op;
  };
  constexpr auto kMirrors = std::to_array<Mirror>({
      {"aten::add", "", "add"},
      {"aten::mul", "", "mul"},
      {"aten::sub", "neg", "add"},
      {"aten::div", "reciprocal", "mul"},
      {"aten::lt", "", "gt"},
      {"aten::le", "", "ge"},
      {"aten::gt", "", "lt"},
      {"aten::ge", "", "le"},
      {"aten::eq", "", "eq"},
      {"aten::ne", "", "ne"},
  });
  const std::vector<Value*> values = arguments.values();
  if (values.size() != 2 || !arguments.keywords.empty()) return std::nullopt;
  if (!is_scalar(values[0]) || !is_tensor(values[1])) return std::nullopt;
  for (const Mirror& mirror : kMirrors) {
    if (mirror.name != name) continue;
    Value* tensor = values[1];
    if (!mirror.before.empty()) tensor = aten(std::string(mirror.before), {tensor}, span);
    return Sugared::of(aten(std::string(mirror.op), {tensor, values[0]}, span));
  }
  return std::nullopt;
}

}  // namespace tierup::frontend::torchscript
