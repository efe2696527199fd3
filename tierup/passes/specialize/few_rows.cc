#include "tierup/passes/specialize/few_rows.h"

#include "tierup/passes/core/value_queries.h"

namespace tierup::passes {

std::optional<int64_t> few_rows_of(PassContext& context, const ir::Value* result) {
  constexpr int64_t kMostRows = 64;
  const TensorFacts* hint = context.hints().find(result);
  const auto& sizes = hint != nullptr && hint->sizes ? hint->sizes : result->type()->facts().sizes;
  if (!sizes || sizes->empty()) return std::nullopt;
  int64_t rows = 1;
  for (auto dim = sizes->begin(); dim != sizes->end() - 1; ++dim) {
    if (dim->kind != Dim::Kind::kStatic || dim->value > kMostRows) return std::nullopt;
    rows *= dim->value;
  }
  return rows <= kMostRows ? std::optional(rows) : std::nullopt;
}

}  // namespace tierup::passes
