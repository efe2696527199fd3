#include "tierup/ops/shapes/certain_sizes.h"

#include <algorithm>

#include "tierup/ops/shapes/shape_context.h"

namespace tierup::ops {
namespace {

bool are_these(const std::optional<Sizes>& sizes, const IValue& value) {
  const TensorImpl* tensor = value.tensor_impl();
  if (tensor == nullptr) return value.is_none();
  return sizes && std::ranges::equal(*sizes, tensor->sizes, [](const Dim& dim, int64_t size) {
           return is_static(dim) && dim.value == size;
         });
}

}  // namespace

bool has_certain_sizes(const Op& op, std::span<const IValue> args,
                       std::span<const IValue> results) {
  const ShapeFn function = shape_function(op);
  if (function == nullptr || args.size() != op.schema().arguments.size()) return false;
  std::vector<ShapeValue> known;
  known.reserve(args.size());
  for (const IValue& arg : args) known.push_back(shape_of_constant(arg));
  std::vector<ShapeValue> found(results.size());
  int64_t symbols = 0;
  ShapeContext context{op.schema(), known, found, symbols};
  if (results.size() == 1 && results[0].is_list())
    context.wanted_parts = results[0].to_list().items.size();
  function(context);
  for (size_t k = 0; k < results.size(); ++k) {
    if (!results[k].is_list()) {
      if (!are_these(found[k].sizes, results[k])) return false;
      continue;
    }
    const auto& items = results[k].to_list().items;
    if (!found[k].parts || found[k].parts->size() != items.size()) return false;
    for (size_t i = 0; i < items.size(); ++i) {
      if (!are_these((*found[k].parts)[i], items[i])) return false;
    }
  }
  return true;
}

}  // namespace tierup::ops
