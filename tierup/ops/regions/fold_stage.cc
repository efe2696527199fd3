#include "tierup/ops/regions/fold_stage.h"

namespace tierup::ops {
namespace {

// None if the call has no argument of that name, or None there.
const IValue* argument_named(const Op& op, const std::vector<MeaningArgument>& arguments,
                             std::string_view name) {
  for (size_t i = 1; i < arguments.size(); ++i) {
    if (op.schema().arguments[i].name == name && !arguments[i].value.is_none()) {
      return &arguments[i].value;
    }
  }
  return nullptr;
}

}  // namespace

FoldKind fold_kind_of(const Op& op, const std::vector<MeaningArgument>& arguments) {
  const FoldKind kind = op.facts().fold;
  if (kind != FoldKind::kLength) return kind;
  for (const char* name : {"p", "ord"}) {
    const IValue* power = argument_named(op, arguments, name);
    if (power != nullptr && power->to_scalar().to_double() != 2) return FoldKind::kNone;
  }
  return kind;
}

double correction_of(const Op& op, const std::vector<MeaningArgument>& arguments) {
  if (const IValue* given = argument_named(op, arguments, "correction")) {
    return given->to_scalar().to_double();
  }
  const IValue* unbiased = argument_named(op, arguments, "unbiased");
  return unbiased == nullptr || unbiased->to_bool() ? 1 : 0;
}

}  // namespace tierup::ops
