#include "tierup/ops/shapes/einsum_letters.h"

#include <algorithm>

#include "tierup/base/error.h"

namespace tierup::ops {

std::optional<EinsumEquation> einsum_letters(const IValue* text, size_t tensors) {
  if (text == nullptr || !text->is_str()) return std::nullopt;
  const auto has_ellipsis = [](const std::vector<int64_t>& side) {
    return std::ranges::count(side, EinsumEquation::kEllipsis) > 0;
  };
  try {
    EinsumEquation equation = kernels::parse_einsum(text->to_str(), tensors);
    if (has_ellipsis(equation.output) || std::ranges::any_of(equation.inputs, has_ellipsis))
      return std::nullopt;
    return equation;
  } catch (const Error&) {
    return std::nullopt;  // The run's.
  }
}

}  // namespace tierup::ops
