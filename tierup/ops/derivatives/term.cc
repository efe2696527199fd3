#include "tierup/ops/derivatives/term.h"

namespace tierup::ops::derivatives {

IValue flags(std::initializer_list<bool> values) {
  auto list = make_ref<ListValue>(Type::boolean());
  for (const bool value : values) list->items.emplace_back(value);
  return IValue(std::move(list));
}

}  // namespace tierup::ops::derivatives
