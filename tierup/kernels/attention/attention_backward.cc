// With weights P = softmax(scale Q Kt + mask): dV = Pt g, dP = g Vt, dS = P (dP - rowsum(g out)),
// dQ = scale dS K, dK = scale dSt Q.
#include "tierup/kernels/attention/attention_backward.h"

#include <cmath>

#include "tierup/kernels/attention/attention.h"
#include "tierup/kernels/gemm/matmul.h"
#include "tierup/kernels/memory/floating_work.h"
#include "tierup/kernels/pointwise/pointwise_ops.h"
#include "tierup/kernels/reduce/reduce_sum.h"
#include "tierup/kernels/shape/triangle.h"
#include "tierup/kernels/shape/view.h"

namespace tierup::kernels {
namespace {

constexpr auto kBad = ErrorCode::kInvalidArgument;

Tensor turned(const Tensor& matrix) { return transpose(matrix, -2, -1); }

Tensor times(const Tensor& tensor, double factor) {
  return pointwise({Body::kMul}, {Operand(tensor), Operand(Scalar(factor))});
}

// Scores with what a query may not see at minus infinity.
Tensor masked_scores(const Tensor& scores, const Tensor& mask, bool is_causal) {
  const Operand hidden(Scalar(-INFINITY));
  Tensor result = scores;
  if (is_causal) {
    Tensor seen = Tensor::empty(scores.sizes().last(2), ScalarType::kBool);
    fill(seen, Scalar(true));
    result = evaluate(where(tril(seen, 0), result, hidden));
  }
  if (!mask.defined()) return result;
  if (mask.dtype() == ScalarType::kBool) return evaluate(where(mask, result, hidden));
  return pointwise({Body::kAdd}, {Operand(result), Operand(to_dtype(mask, result.dtype()))});
}

// What heads that served several queries' each are due: the sums over those.
Tensor summed_heads(const Tensor& gradient, const Tensor& keys) {
  const int64_t heads = keys.size(1);
  if (gradient.size(1) == heads) return gradient;
  const IntVector grouped = {gradient.size(0), heads, gradient.size(1) / heads, gradient.size(2),
                             gradient.size(3)};
  return sum(reshape(gradient, grouped), IntVector{2}, false, std::nullopt);
}

// As PyTorch's kernel lays its results: heads innermost but one, so that joining them is a view.
Tensor with_heads_inside(const Tensor& gradient, ScalarType dtype) {
  return transpose(contiguous(transpose(to_dtype(gradient, dtype), 1, 2)), 1, 2);
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor> attention_backward(const Tensor& grad, const Tensor& query,
                                                      const Tensor& key, const Tensor& value,
                                                      const Tensor& out, const Tensor& sums,
                                                      double dropout_p, bool is_causal,
                                                      const Tensor& mask,
                                                      std::optional<double> scale) {
  require(query.dim() == 4 && key.dim() == 4 && value.dim() == 4 && grad.dim() == 4, kBad,
          "attention backward: expected query, key, value and gradient of 4 dimensions");
  const auto divides = [&](const Tensor& t) {
    return t.size(1) > 0 && query.size(1) % t.size(1) == 0;
  };
  require(divides(key) && divides(value), kBad,
          "attention backward: {} heads of keys and {} of values do not divide {} of queries",
          key.size(1), value.size(1), query.size(1));
  require(dropout_p == 0, kBad, "attention backward: dropout {} is not supported", dropout_p);
  require(sums.dim() == 3 || (sums.dim() == 4 && sums.size(3) == key.size(2)), kBad,
          "attention backward: expected the logarithms of row sums [batch, heads, queries], or the "
          "weights [batch, heads, queries, keys] that joint graphs pass in their place; got {} "
          "dimensions",
          sums.dim());
  const ScalarType work = work_type(query.dtype());
  const Tensor g = to_dtype(grad, work);
  const Tensor q = to_dtype(query, work);
  const Tensor k = repeated_heads(to_dtype(key, work), query.size(1));
  const Tensor v = repeated_heads(to_dtype(value, work), query.size(1));
  const double factor = scale.value_or(1 / std::sqrt(static_cast<double>(query.size(-1))));
  Tensor weights = to_dtype(sums, work);
  if (sums.dim() == 3) {
    const Tensor scores = masked_scores(times(matmul(q, turned(k)), factor), mask, is_causal);
    weights =
        pointwise({Body::kExp},
                  {pointwise({Body::kSub}, {Operand(scores), Operand(unsqueeze(weights, -1))})});
    // A query that sees nothing has a sum of minus infinity.
    weights = evaluate(nan_to_num(weights, 0.0, 0.0, 0.0));
  }
  const Tensor of_weights = matmul(g, turned(v));
  const Tensor row_sums = sum(pointwise({Body::kMul}, {Operand(g), Operand(to_dtype(out, work))}),
                              IntVector{-1}, true, std::nullopt);
  const Tensor of_scores =
      times(pointwise({Body::kMul},
                      {Operand(weights),
                       Operand(pointwise({Body::kSub}, {Operand(of_weights), Operand(row_sums)}))}),
            factor);
  return {with_heads_inside(matmul(of_scores, k), query.dtype()),
          with_heads_inside(summed_heads(matmul(turned(of_scores), q), key), key.dtype()),
          with_heads_inside(summed_heads(matmul(turned(weights), g), value), value.dtype())};
}

}  // namespace tierup::kernels
