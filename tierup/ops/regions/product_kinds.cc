// See product_kinds.h.
#include "tierup/ops/regions/product_kinds.h"

#include <fmt/format.h>

#include "tierup/kernels/shape/view.h"

namespace tierup::ops {
namespace {

IntSpan batch_of(const Tensor& matrices) {
  return matrices.sizes().first(static_cast<size_t>(matrices.dim() - 2));
}

// Both have at least two dimensions.
std::optional<Factors> of_matrices(const Tensor& left, const Tensor& right) {
  if (left.size(-1) != right.size(-2)) return std::nullopt;
  Factors factors{left, right, broadcast_shapes(batch_of(left), batch_of(right)), left.size(-1)};
  factors.sizes.push_back(left.size(-2));
  factors.sizes.push_back(right.size(-1));
  return factors;
}

// A matrix times a vector: the vector as a row, times the matrix's transpose.
std::optional<Factors> of_vector(const Tensor& matrix, const Tensor& vector) {
  auto factors = of_matrices(kernels::unsqueeze(vector, 0), kernels::transpose(matrix, -2, -1));
  if (!factors) return std::nullopt;
  factors->sizes.erase(factors->sizes.end() - 2);
  factors->are_swapped = true;
  return factors;
}

std::optional<Factors> of_any(const Tensor& a, const Tensor& b) {
  if (a.dim() == 0 || b.dim() == 0) return std::nullopt;
  if (a.dim() > 1 && b.dim() > 1) return of_matrices(a, b);
  if (a.dim() == 2) return of_vector(a, b);
  if (a.dim() > 2 || b.dim() > 2) return std::nullopt;  // A batch of rows, or of columns.
  const Tensor row = kernels::unsqueeze(a, 0);
  auto factors = of_matrices(row, b.dim() == 1 ? kernels::unsqueeze(b, 1) : b);
  if (!factors) return std::nullopt;
  factors->sizes.erase(factors->sizes.end() - 2);
  if (b.dim() == 1) factors->sizes.clear();
  return factors;
}

std::optional<Factors> of_linear(const Tensor& input, const Tensor& weight) {
  if (weight.dim() != 2 || input.dim() == 0) return std::nullopt;
  return of_any(input, kernels::transpose(weight, 0, 1));
}

// Whether the operands have the dimensions that the kind takes.
bool takes(ProductKind kind, const Tensor& a, const Tensor& b) {
  switch (kind) {
    case ProductKind::kNone: return false;
    case ProductKind::kVector: return a.dim() == 2 && b.dim() == 1;
    case ProductKind::kDot: return a.dim() == 1 && b.dim() == 1;
    case ProductKind::kAny: return a.dim() > 1 || b.dim() > 1;
    case ProductKind::kLinear: return true;
    case ProductKind::kMatrices:
    case ProductKind::kAdded: break;
  }
  if (a.dim() == 2) return b.dim() == 2;
  return a.dim() == 3 && b.dim() == 3 && a.size(0) == b.size(0);
}

}  // namespace

ProductArguments product_arguments(ProductKind kind) {
  if (kind == ProductKind::kLinear) return {0, 1, 2};
  if (kind == ProductKind::kAdded) return {1, 2, 0};
  return {};
}

GroupRefusal product_refusal(ProductKind kind, std::span<const std::optional<ScalarType>> dtypes) {
  const ProductArguments places = product_arguments(kind);
  const ScalarType type = *dtypes[places.left];
  const auto is_other = [&](size_t place) { return dtypes[place] && *dtypes[place] != type; };
  if (is_other(places.right) || (places.added && is_other(*places.added))) {
    return GroupRefusal::kSeveralDtypes;
  }
  const bool is_float =
      type == ScalarType::kFloat || type == ScalarType::kDouble || type == ScalarType::kBFloat16;
  return is_float ? GroupRefusal::kNone : GroupRefusal::kNoFloats;
}

namespace {

int64_t most_work(const Factors& factors) {
  return numel_of(factors.sizes) == 1 ? kMaxFusedDot : kMaxFusedProduct;
}

}  // namespace

bool is_large_product(const Factors& factors) { return factors.work > most_work(factors); }

RefusedGroup large_product(const Factors& factors) {
  return {GroupRefusal::kLargeProduct,
          fmt::format("{} multiplications, more than {}", factors.work, most_work(factors))};
}

std::optional<Factors> factors_of(ProductKind kind, const Tensor& a, const Tensor& b) {
  if (!takes(kind, a, b)) return std::nullopt;
  auto factors = kind == ProductKind::kLinear ? of_linear(a, b) : of_any(a, b);
  if (factors) factors->work = numel_of(factors->sizes) * factors->depth;
  return factors;
}

}  // namespace tierup::ops
