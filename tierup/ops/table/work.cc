#include "tierup/ops/table/work.h"

#include "tierup/ops/table/facts.h"
#include "tierup/tensor/tensor.h"

namespace tierup::ops {
namespace {

double product_of(std::span<const int64_t> sizes) {
  double product = 1;
  for (const int64_t size : sizes) product *= static_cast<double>(size);
  return product;
}

double last_of(const std::vector<int64_t>& sizes) {
  return sizes.empty() ? 1 : static_cast<double>(sizes.back());
}

}  // namespace

double arithmetic_of(const ir::Operator& op, ArgumentSizes arguments,
                     std::span<const IValue> results) {
  if (arguments.size() < 2 || results.empty() || !results[0].is_tensor()) return 0;
  const double elements = static_cast<double>(results[0].to_tensor().numel());
  switch (op_of(op).facts().work) {
    case Work::kNone: return 0;
    case Work::kProduct: return 2 * elements * last_of(arguments[0]);
    case Work::kAddedProduct: return 2 * elements * last_of(arguments[1]);
    case Work::kConvolution: {
      const std::vector<int64_t>& weight = arguments[1];
      if (weight.empty() || weight[0] == 0) return 0;
      return 2 * elements * product_of(weight) / static_cast<double>(weight[0]);
    }
    case Work::kAttention: {
      const std::vector<int64_t>& key = arguments[1];
      if (key.size() < 2) return 0;
      // Scores: query elements times key rows; values: the same for the result.
      const auto rows = static_cast<double>(key[key.size() - 2]);
      return 2 * product_of(arguments[0]) * rows + 2 * elements * rows;
    }
  }
  return 0;
}

}  // namespace tierup::ops
