// aten::einsum: each label gets a number, operands are brought to a common order of labels (with
// size-1 dimensions for labels they lack) and contracted two at a time by one batched product.
#include <algorithm>
#include <array>
#include <utility>

#include "tierup/kernels/gemm/einsum_equation.h"
#include "tierup/kernels/gemm/gemm.h"
#include "tierup/kernels/gemm/matmul.h"
#include "tierup/kernels/gemm/products.h"
#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/memory/type_promotion.h"
#include "tierup/kernels/reduce/reduce_sum.h"
#include "tierup/kernels/shape/view.h"

namespace tierup::kernels {
namespace {

constexpr auto kBad = ErrorCode::kInvalidArgument;

// The order of labels: output first (ellipsis dimensions expanded), then those to be summed.
struct LabelOrder {
  std::array<int64_t, EinsumEquation::kLetters> position;
  int64_t ellipsis_position = 0;
  int64_t ellipsis_rank = 0;
  int64_t output_rank = 0;
  int64_t total = 0;
};

LabelOrder order_labels(const EinsumEquation& equation, const std::vector<Tensor>& operands) {
  LabelOrder order;
  order.position.fill(-1);
  for (size_t i = 0; i < operands.size(); ++i) {
    const auto& labels = equation.inputs[i];
    const bool has_ellipsis =
        std::find(labels.begin(), labels.end(), EinsumEquation::kEllipsis) != labels.end();
    const int64_t named = static_cast<int64_t>(labels.size()) - (has_ellipsis ? 1 : 0);
    require(has_ellipsis ? operands[i].dim() >= named : operands[i].dim() == named, kBad,
            "einsum(): the number of subscripts in the equation ({}) does not match the number of "
            "dimensions ({}) for operand {}",
            named, operands[i].dim(), i);
    if (has_ellipsis)
      order.ellipsis_rank = std::max(order.ellipsis_rank, operands[i].dim() - named);
  }
  bool placed = false;
  for (const int64_t label : equation.output) {
    if (label == EinsumEquation::kEllipsis) {
      order.ellipsis_position = order.total;
      order.total += order.ellipsis_rank;
      placed = true;
      continue;
    }
    require(order.position[static_cast<size_t>(label)] < 0, kBad,
            "einsum(): output subscript appears more than once in the output");
    order.position[static_cast<size_t>(label)] = order.total++;
  }
  order.output_rank = order.total;
  if (!placed) {
    order.ellipsis_position = order.total;
    order.total += order.ellipsis_rank;
  }
  std::array<bool, EinsumEquation::kLetters> used{};
  for (const auto& labels : equation.inputs) {
    for (const int64_t label : labels) {
      if (label == EinsumEquation::kEllipsis) continue;
      used[static_cast<size_t>(label)] = true;
      int64_t& position = order.position[static_cast<size_t>(label)];
      if (position < 0) position = order.total++;
    }
  }
  for (const int64_t label : equation.output) {
    require(label == EinsumEquation::kEllipsis || used[static_cast<size_t>(label)], kBad,
            "einsum(): output subscript does not appear in the equation for any input operand");
  }
  return order;
}

// A view of the operand with one dimension for each label; a repeated label takes the diagonal.
Tensor spread(const Tensor& operand, const std::vector<int64_t>& labels, const LabelOrder& order) {
  IntVector sizes(static_cast<size_t>(order.total), 1);
  IntVector strides(static_cast<size_t>(order.total), 0);
  std::vector<bool> seen(static_cast<size_t>(order.total), false);
  int64_t dim = 0;
  for (const int64_t label : labels) {
    if (label == EinsumEquation::kEllipsis) {
      const int64_t rank = operand.dim() - (static_cast<int64_t>(labels.size()) - 1);
      for (int64_t i = 0; i < rank; ++i, ++dim) {
        const auto at =
            static_cast<size_t>(order.ellipsis_position + order.ellipsis_rank - rank + i);
        sizes[at] = operand.size(dim);
        strides[at] = operand.stride(dim);
      }
      continue;
    }
    const auto at = static_cast<size_t>(order.position[static_cast<size_t>(label)]);
    require(!seen[at] || sizes[at] == operand.size(dim), kBad,
            "einsum(): a subscript is repeated for one operand but the sizes don't match, {} != {}",
            sizes[at], operand.size(dim));
    seen[at] = true;
    sizes[at] = operand.size(dim);
    strides[at] += operand.stride(dim);
    ++dim;
  }
  return operand.as_view(sizes, strides, operand.offset());
}

// As sum_keeping, but sums of integers are int64.
Tensor sum_out(const Tensor& tensor, const IntVector& dims) {
  if (dims.empty() || !is_integral(tensor.dtype(), true)) return sum_keeping(tensor, dims);
  return sum(tensor, dims, true, std::nullopt);
}

// Whether the product is better made the other way round, of `b` and `a`: numbers that lie beside
// each other in the result then do in memory. Dimensions are counted in the result's order. Not
// where neighbours that PyTorch's way can be seen as one dimension could not.
bool is_better_turned(const IntVector& batch, const IntVector& rows, const IntVector& cols) {
  if (rows.empty() || (!cols.empty() && cols.back() > rows.back())) return false;
  if (!batch.empty() && (batch.back() > rows.back() || batch.back() + 1 == rows.front()))
    return false;
  return cols.empty() || rows.back() + 1 != cols.front();
}

// Whether matrices of these dimensions lie column by column: they are brought together as they lie,
// since products read both.
bool lies_turned(const Tensor& tensor, const IntVector& rows, const IntVector& columns) {
  const auto lies_dense = [&](const IntVector& dims) {
    return std::any_of(dims.begin(), dims.end(),
                       [&](int64_t d) { return tensor.size(d) > 1 && tensor.stride(d) == 1; });
  };
  return lies_dense(rows) && !lies_dense(columns);
}

// Multiplies two spread operands and sums over `summed`; dimensions of size 1 broadcast.
Tensor contract(Tensor a, Tensor b, const IntVector& summed) {
  const int64_t rank = a.dim();
  IntVector batch, rows, cols, depth, sum_a, sum_b;
  for (int64_t d = 0; d < rank; ++d) {
    const bool is_summed = std::find(summed.begin(), summed.end(), d) != summed.end();
    const bool in_a = a.size(d) != 1;
    const bool in_b = b.size(d) != 1;
    if (!(!in_a || !in_b || a.size(d) == b.size(d))) {
      fail(kBad,
           "einsum(): operands do not broadcast with remapped shapes [original->remapped]: {} and "
           "{}",
           shape_string(a.sizes()), shape_string(b.sizes()));
    }
    if (is_summed) {
      if (in_a && in_b)
        depth.push_back(d);
      else if (in_a)
        sum_a.push_back(d);
      else if (in_b)
        sum_b.push_back(d);
      else
        depth.push_back(d);
    } else if (in_a && in_b) {
      batch.push_back(d);
    } else if (in_a) {
      rows.push_back(d);
    } else {
      cols.push_back(d);
    }
  }
  if (is_better_turned(batch, rows, cols)) {
    std::swap(a, b);
    std::swap(rows, cols);
    std::swap(sum_a, sum_b);
  }
  a = sum_out(a, sum_a);
  b = sum_out(b, sum_b);
  if (a.dtype() != b.dtype()) {
    // Sums of integers are int64, which a product promotes and a matrix product does not.
    const bool matrix_product =
        std::any_of(depth.begin(), depth.end(), [&](int64_t d) { return a.size(d) != 1; });
    require(!matrix_product, ErrorCode::kTypeError, "expected scalar type {} but found {}",
            scalar_type_name(a.dtype()), scalar_type_name(b.dtype()));
    const ScalarType common = promote_types(a.dtype(), b.dtype());
    a = to_dtype(a, common);
    b = to_dtype(b, common);
  }
  depth.insert(depth.end(), sum_a.begin(), sum_a.end());
  depth.insert(depth.end(), sum_b.begin(), sum_b.end());
  const auto product_of = [](const Tensor& t, const IntVector& dims) {
    int64_t product = 1;
    for (const int64_t d : dims) product *= t.size(d);
    return product;
  };
  const auto joined = [](std::initializer_list<const IntVector*> parts) {
    IntVector all;
    for (const IntVector* part : parts) all.insert(all.end(), part->begin(), part->end());
    return all;
  };
  const int64_t batches = product_of(a, batch);
  const int64_t k = product_of(a, depth);
  const int64_t m = product_of(a, rows);
  const int64_t n = product_of(b, cols);
  const Tensor left =
      lies_turned(a, rows, depth)
          ? transpose(reshape(permute(a, joined({&batch, &depth, &rows, &cols})),
                              IntVector{batches, k, m}),
                      1, 2)
          : reshape(permute(a, joined({&batch, &rows, &depth, &cols})), IntVector{batches, m, k});
  const Tensor right =
      lies_turned(b, depth, cols)
          ? transpose(reshape(permute(b, joined({&batch, &cols, &depth, &rows})),
                              IntVector{batches, n, k}),
                      1, 2)
          : reshape(permute(b, joined({&batch, &depth, &cols, &rows})), IntVector{batches, k, n});
  // A small product takes no longer than having a matrix turned by it.
  const auto in_order = [&](const Tensor& matrices) {
    const bool is_small = batches > 1 && is_row_work(m, k, n);
    return is_small ? contiguous(matrices, MemoryFormat::kContiguous) : matrices;
  };
  const Tensor product = bmm(in_order(left), in_order(right));
  // Back to the order of labels.
  const IntVector order = joined({&batch, &rows, &cols, &depth});
  IntVector sizes;
  for (const int64_t d : batch) sizes.push_back(a.size(d));
  for (const int64_t d : rows) sizes.push_back(a.size(d));
  for (const int64_t d : cols) sizes.push_back(b.size(d));
  sizes.resize(static_cast<size_t>(rank), 1);
  IntVector back(static_cast<size_t>(rank));
  for (size_t i = 0; i < order.size(); ++i)
    back[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  return permute(reshape(product, sizes), back);
}

}  // namespace

Tensor einsum(std::string_view equation, const std::vector<Tensor>& operands) {
  require(!operands.empty(), kBad, "einsum(): must provide at least one operand");
  const EinsumEquation parsed = parse_einsum(equation, operands.size());
  const LabelOrder order = order_labels(parsed, operands);
  std::vector<Tensor> spread_operands;
  for (size_t i = 0; i < operands.size(); ++i) {
    spread_operands.push_back(spread(operands[i], parsed.inputs[i], order));
  }
  // Where each summed label occurs last: it can be summed once that operand is in.
  Tensor result = spread_operands[0];
  for (size_t i = 0; i < operands.size(); ++i) {
    IntVector summed;
    for (int64_t d = order.output_rank; d < order.total; ++d) {
      bool later = false;
      for (size_t j = i + 1; j < operands.size(); ++j)
        later = later || spread_operands[j].size(d) != 1;
      if (!later) summed.push_back(d);
    }
    if (i > 0) {
      result = contract(result, spread_operands[i], summed);
    } else if (operands.size() == 1) {
      result = sum_out(result, summed);
    }
  }
  IntVector sizes(result.sizes().begin(), result.sizes().begin() + order.output_rank);
  IntVector strides(result.strides().begin(), result.strides().begin() + order.output_rank);
  return result.as_view(sizes, strides, result.offset());
}

}  // namespace tierup::kernels
