#include "tierup/passes/specialize/exact_products.h"

#include <cstring>
#include <optional>
#include <vector>

#include "tierup/base/mixed_numbers.h"
#include "tierup/passes/core/run_operator.h"
#include "tierup/passes/core/value_queries.h"
#include "tierup/tensor/tensor.h"

namespace tierup::passes {
namespace {

Tensor mixed_numbers(const IntVector& sizes, uint32_t seed) {
  const Tensor result = Tensor::empty(sizes, ScalarType::kFloat);
  auto* numbers = result.data<float>();
  MixedNumbers mixed(seed);
  for (int64_t i = 0, count = result.numel(); i < count; ++i) numbers[i] = mixed.next();
  return result;
}

std::optional<IntVector> float_sizes(const ir::Value* value) {
  const TensorFacts& facts = value->type()->facts();
  if (facts.dtype != ScalarType::kFloat) return std::nullopt;
  return static_sizes(facts.sizes);
}

struct Operands {
  IntVector rows;
  std::vector<IValue> others;  // Matrix and bias.
};

std::optional<Operands> operands_of(const ir::Node& product) {
  const auto rows = float_sizes(product.input(0));
  if (!rows || rows->empty()) return std::nullopt;
  Operands result{*rows, {}};
  for (size_t i = 1; i < product.inputs().size(); ++i) {
    const ir::Value* input = product.input(i);
    if (const IValue* constant = constant_of(input)) {
      result.others.push_back(*constant);
    } else if (const auto sizes = float_sizes(input)) {
      result.others.emplace_back(mixed_numbers(*sizes, static_cast<uint32_t>(i)));
    } else {
      return std::nullopt;
    }
  }
  return result;
}

// Nothing if the operator raises.
std::optional<Tensor> run(const ir::Node& product, const Tensor& rows,
                          const std::vector<IValue>& others) {
  std::vector<IValue> arguments{IValue(rows)};
  arguments.insert(arguments.end(), others.begin(), others.end());
  const auto results = run_operator(ops::op_of(*product.op()), arguments, 1);
  return results ? std::optional(results->front().to_tensor()) : std::nullopt;
}

bool same_bits(const Tensor& a, const Tensor& b) {
  return a.is_contiguous() && b.is_contiguous() && a.bytes() == b.bytes() &&
         std::memcmp(a.raw(), b.raw(), a.bytes()) == 0;
}

// Entry `index` of the first dimension.
Tensor entry_of(const Tensor& whole, int64_t index) {
  const IntVector sizes(whole.sizes().begin() + 1, whole.sizes().end());
  const IntVector strides(whole.strides().begin() + 1, whole.strides().end());
  return whole.as_view(sizes, strides, whole.offset() + index * whole.strides()[0]);
}

}  // namespace

bool joins_exactly(const ir::Node& product, int64_t count) {
  const auto operands = operands_of(product);
  if (!operands) return false;
  IntVector sizes{count};
  sizes.insert(sizes.end(), operands->rows.begin(), operands->rows.end());
  const Tensor rows = mixed_numbers(sizes, 0);
  const auto joined = run(product, rows, operands->others);
  for (int64_t i = 0; joined && i < count; ++i) {
    const auto alone = run(product, entry_of(rows, i), operands->others);
    if (!alone || !same_bits(entry_of(*joined, i), *alone)) return false;
  }
  return joined.has_value();
}

bool lays_out_exactly(const ir::Node& product) {
  const auto operands = operands_of(product);
  if (!operands || !operands->others[0].is_tensor()) return false;
  const Tensor matrix = operands->others[0].to_tensor();
  if (matrix.dim() != 2) return false;
  const int64_t height = matrix.size(0);
  const int64_t width = matrix.size(1);
  const Tensor turned =
      Tensor::empty_strided(matrix.sizes(), IntVector{1, height}, ScalarType::kFloat);
  for (int64_t i = 0; i < height; ++i) {
    for (int64_t j = 0; j < width; ++j)
      turned.data<float>()[j * height + i] = matrix.data<float>()[i * width + j];
  }
  const Tensor rows = mixed_numbers(operands->rows, 0);
  std::vector<IValue> others = operands->others;
  const auto by_rows = run(product, rows, others);
  others[0] = IValue(turned);
  const auto by_columns = run(product, rows, others);
  return by_rows && by_columns && same_bits(*by_rows, *by_columns);
}

}  // namespace tierup::passes
