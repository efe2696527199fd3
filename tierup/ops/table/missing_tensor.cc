#include "tierup/ops/table/missing_tensor.h"

#include <algorithm>

namespace tierup::ops {

bool wants_tensor(const ir::Argument& argument) {
  const Type& type = *argument.type;
  return type.is(TypeKind::kTensor) ||
         (type.is(TypeKind::kList) && type.element()->is(TypeKind::kTensor));
}

std::optional<size_t> find_missing_tensor(const ir::Schema& schema, std::span<const IValue> args) {
  const auto is_none = [](const IValue& value) { return value.is_none(); };
  const size_t count = std::min(args.size(), schema.arguments.size());
  for (size_t i = 0; i < count; ++i) {
    if (args[i].is_tensor() || !wants_tensor(schema.arguments[i])) continue;
    if (is_none(args[i])) return i;
    if (args[i].is_list() &&
        std::any_of(args[i].to_list().items.begin(), args[i].to_list().items.end(), is_none)) {
      return i;
    }
  }
  return std::nullopt;
}

}  // namespace tierup::ops
