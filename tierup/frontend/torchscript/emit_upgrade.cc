// Old meanings of operators, for files of an older version (section 19 of the format).
//
// The old schema is matched, and the call is spelled in today's operators.
#include "tierup/frontend/torchscript/function_emitter.h"

namespace tierup::frontend::torchscript {

using ir::Value;

namespace {

constexpr int64_t kDivVersion = 4;
constexpr int64_t kFullVersion = 5;
constexpr int64_t kLinspaceVersion = 8;
constexpr int64_t kLogspaceVersion = 9;

const NamedActual* find_keyword(const CallArguments& call, std::string_view name) {
  for (const NamedActual& keyword : call.keywords) {
    if (keyword.name == name) return &keyword;
  }
  return nullptr;
}

bool is_none(const Actual& actual) { return actual.value->type()->is(TypeKind::kNone); }

}  // namespace

std::optional<Sugared> FunctionEmitter::call_upgraded(const std::string& name,
                                                      const CallArguments& arguments,
                                                      const Span& span) {
  const int64_t version = unit_.options().version;
  if (version >= kLogspaceVersion) return std::nullopt;
  if (version < kDivVersion && (name == "aten::div" || name == "aten::div_")) {
    return call_old_div(name, arguments, span);
  }
  if (version < kFullVersion && name == "aten::full") return call_old_full(arguments, span);
  if ((version < kLinspaceVersion && name == "aten::linspace") || name == "aten::logspace") {
    return call_old_space(name, arguments, span);
  }
  return std::nullopt;
}

// Division truncated where neither side was floating.
std::optional<Sugared> FunctionEmitter::call_old_div(const std::string& name,
                                                     const CallArguments& arguments,
                                                     const Span& span) {
  const std::vector<Value*> values = arguments.values();
  const NamedActual* out = find_keyword(arguments, "out");
  if (find_keyword(arguments, "rounding_mode") != nullptr) return std::nullopt;
  const size_t operands = values.size() - (out != nullptr ? 1 : 0);
  if (operands != 2 || arguments.keywords.size() > (out != nullptr ? 1U : 0U)) return std::nullopt;
  if (!values[0]->type()->is(TypeKind::kTensor)) return std::nullopt;
  const auto is_floating = [&](Value* value) -> Condition {
    Condition result;
    switch (value->type()->kind()) {
      case TypeKind::kTensor: result.value = aten("is_floating_point", {value}, span); break;
      case TypeKind::kNumber:
        result.value = builder_.node(ir::NodeKind::kIsInstance, {value}, Type::boolean());
        editor().set_attr(result.value->node(), ir::AttrName::kTypes,
                          ir::AttrValue(std::vector<TypePtr>{Type::floating()}));
        break;
      default: result.constant = value->type()->is(TypeKind::kFloat); break;
    }
    return result;
  };
  Condition floating = is_floating(values[0]);
  for (size_t i = 1; i < values.size(); ++i) {
    const Condition other = is_floating(values[i]);
    if (other.constant == false) continue;
    if (other.constant == true) {
      floating = other;
      break;
    }
    floating.value = emit_choice(
        floating, [&] { return builder_.constant(true); }, [&] { return other.value; }, span);
  }
  const auto divide = [&](bool truncate) {
    CallArguments today = arguments;
    if (truncate) {
      today.keywords.push_back({"rounding_mode", {builder_.constant(IValue("trunc"))}});
    }
    return as_value(call_current_op(name, today, span), span);
  };
  return Sugared::of(emit_choice(
      floating, [&] { return divide(false); }, [&] { return divide(true); }, span));
}

// A fill value without dtype was converted to float.
std::optional<Sugared> FunctionEmitter::call_old_full(const CallArguments& arguments,
                                                      const Span& span) {
  const NamedActual* dtype = find_keyword(arguments, "dtype");
  if (find_keyword(arguments, "out") != nullptr || arguments.positional.size() < 2) {
    return std::nullopt;
  }
  if (dtype != nullptr && !is_none(dtype->actual)) return std::nullopt;
  CallArguments today = arguments;
  Value*& fill = today.positional[1].value;
  if (!fill->type()->is(TypeKind::kFloat)) fill = aten("Float", {fill}, span);
  return call_current_op("aten::full", today, span);
}

// The number of steps could be left out, or None: 100.
std::optional<Sugared> FunctionEmitter::call_old_space(const std::string& name,
                                                       const CallArguments& arguments,
                                                       const Span& span) {
  CallArguments today = arguments;
  for (NamedActual& keyword : today.keywords) {
    if (keyword.name != "steps") continue;
    if (is_none(keyword.actual)) keyword.actual.value = builder_.constant(100);
    return call_current_op(name, today, span);
  }
  if (today.positional.size() < 2) return std::nullopt;
  if (today.positional.size() == 2) {
    today.positional.push_back({builder_.constant(100)});
  } else if (is_none(today.positional[2])) {
    today.positional[2].value = builder_.constant(100);
  }
  return call_current_op(name, today, span);
}

}  // namespace tierup::frontend::torchscript
