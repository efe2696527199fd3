// Products of matrices and vectors.
#include "tierup/ops/derivatives/tables.h"
#include "tierup/ops/derivatives/term.h"

namespace tierup::ops::derivatives {
namespace {

void mm(GradContext& c) {
  c.give(0, [&] { return grad(c).then("aten::mm", adjoint(arg(c, 1))); });
  c.give(1, [&] { return adjoint(arg(c, 0)).then("aten::mm", grad(c)); });
}
void bmm(GradContext& c) {
  c.give(0, [&] { return grad(c).then("aten::bmm", adjoint(arg(c, 1))); });
  c.give(1, [&] { return adjoint(arg(c, 0)).then("aten::bmm", grad(c)); });
}
// Whichever dimension is grouped, rows, columns or depth: the same groups are another one's in each
// of the products.
void grouped_mm(GradContext& c) {
  const GradValue groups = c.arg("offs");
  c.give(0, [&] { return grad(c).then("aten::_grouped_mm", adjoint(arg(c, 1)), groups); });
  c.give(1, [&] { return adjoint(arg(c, 0)).then("aten::_grouped_mm", grad(c), groups); });
}
void mv(GradContext& c) {
  c.give(0, [&] { return unsqueeze(grad(c), 1) * arg(c, 1).conj(); });
  c.give(1, [&] { return adjoint(arg(c, 0)).then("aten::mv", grad(c)); });
}
void dot(GradContext& c) {
  c.give(0, [&] { return grad(c) * arg(c, 1).conj(); });
  c.give(1, [&] { return grad(c) * arg(c, 0).conj(); });
}
// The first vector is conjugated by the operator itself.
void vdot(GradContext& c) {
  c.give(0, [&] { return grad(c).conj() * arg(c, 1); });
  c.give(1, [&] { return grad(c) * arg(c, 0); });
}

Term by_number(GradContext& c, const Term& t, const char* name) {
  const Scalar factor = c.scalar_of(name);
  return scaled(t, factor.is_complex() ? Scalar(std::conj(factor.to_complex())) : factor);
}
void addmm(GradContext& c) {
  c.give(0, [&] { return by_number(c, grad(c), "beta"); });
  c.give(1, [&] { return by_number(c, grad(c).then("aten::mm", adjoint(arg(c, 2))), "alpha"); });
  c.give(2, [&] { return by_number(c, adjoint(arg(c, 1)).then("aten::mm", grad(c)), "alpha"); });
}
void baddbmm(GradContext& c) {
  c.give(0, [&] { return by_number(c, grad(c), "beta"); });
  c.give(1, [&] { return by_number(c, grad(c).then("aten::bmm", adjoint(arg(c, 2))), "alpha"); });
  c.give(2, [&] { return by_number(c, adjoint(arg(c, 1)).then("aten::bmm", grad(c)), "alpha"); });
}
// Products are summed over the batch: each gets the whole gradient.
void addbmm(GradContext& c) {
  const auto spread = [&] {
    const IntSpan s = c.result_shape();
    return expand(unsqueeze(grad(c), 0), IntVector{c.size(1, 0), s[0], s[1]});
  };
  c.give(0, [&] { return by_number(c, grad(c), "beta"); });
  c.give(1, [&] { return by_number(c, spread().then("aten::bmm", adjoint(arg(c, 2))), "alpha"); });
  c.give(2, [&] { return by_number(c, adjoint(arg(c, 1)).then("aten::bmm", spread()), "alpha"); });
}
void addmv(GradContext& c) {
  c.give(0, [&] { return by_number(c, grad(c), "beta"); });
  c.give(1, [&] { return by_number(c, unsqueeze(grad(c), 1) * arg(c, 2).conj(), "alpha"); });
  c.give(2, [&] { return by_number(c, adjoint(arg(c, 1)).then("aten::mv", grad(c)), "alpha"); });
}
void addr(GradContext& c) {
  c.give(0, [&] { return by_number(c, grad(c), "beta"); });
  c.give(1, [&] { return by_number(c, grad(c).then("aten::mv", arg(c, 2).conj()), "alpha"); });
  c.give(2, [&] {
    return by_number(c, transpose(grad(c), 0, 1).then("aten::mv", arg(c, 1).conj()), "alpha");
  });
}
// Its operands may differ in dtype, those of a product may not.
void outer(GradContext& c) {
  const auto other = [&](int i) {
    const Term x = arg(c, i).conj();
    return c.dtype(i) == c.result_dtype() ? x : x.then("aten::to.dtype", c.result_dtype());
  };
  c.give(0, [&] { return grad(c).then("aten::mv", other(1)); });
  c.give(1, [&] { return transpose(grad(c), 0, 1).then("aten::mv", other(0)); });
}

// All rows of x as one matrix, so that weights take part in one product whatever x's rank.
Term rows_of(const Term& x, int64_t rank, int64_t columns) {
  return rank == 2 ? x : reshape(x, IntVector{-1, columns});
}
void linear(GradContext& c) {
  const int64_t rank = c.rank(0);
  if (c.rank(1) == 1) {  // A vector of weights: a dot product with each row.
    c.give(0, [&] { return unsqueeze(grad(c), -1) * arg(c, 1).conj(); });
    c.give(1, [&] { return unsqueeze(grad(c), -1) * arg(c, 0).conj(); });
    c.give(2, [&] { return grad(c); });
    return;
  }
  const IntSpan weight = c.shape(1);
  c.give(0, [&] { return matmul(grad(c), arg(c, 1).conj()); });
  c.give(1, [&] {
    if (c.numel(0) == 0) return call(c, "aten::zeros", weight, c.dtype(1));
    const Term rows = rows_of(arg(c, 0), rank, weight[1]);
    const Term grads = rows_of(grad(c), rank, weight[0]);
    return transpose(grads, 0, 1).then("aten::mm", rows.conj());
  });
  c.give(2, [&] { return grad(c); });
}

// Vectors become a row or a column, batches are broadcast by bmm's callers: what is left is the
// rule of mm with the batch dimensions summed where they were broadcast.
void matmul_formula(GradContext& c) {
  const bool left = c.rank(0) == 1;
  const bool right = c.rank(1) == 1;
  if (left && right) return dot(c);
  const auto whole_gradient = [&] {
    Term g = grad(c);
    if (left) g = unsqueeze(g, -2);
    if (right) g = unsqueeze(g, -1);
    return g;
  };
  c.give(0, [&] {
    const Term b = right ? unsqueeze(arg(c, 1), 1) : arg(c, 1);
    const Term g = matmul(whole_gradient(), adjoint(b));
    return left ? squeeze(g, -2) : g;
  });
  c.give(1, [&] {
    const Term a = left ? unsqueeze(arg(c, 0), 0) : arg(c, 0);
    const Term g = matmul(adjoint(a), whole_gradient());
    return right ? squeeze(g, -1) : g;
  });
}

// --- composites

void inner(GradContext& c) {
  if (c.rank(0) == 0 || c.rank(1) == 0) return c.set_result(0, arg(c, 0) * arg(c, 1));
  const int64_t size = c.size(0, -1);
  IntVector sizes(c.shape(0).begin(), c.shape(0).end() - 1);
  sizes.insert(sizes.end(), c.shape(1).begin(), c.shape(1).end() - 1);
  int64_t left = 1;
  for (const int64_t s : c.shape(0).first(c.shape(0).size() - 1)) left *= s;
  int64_t right = 1;
  for (const int64_t s : c.shape(1).first(c.shape(1).size() - 1)) right *= s;
  const Term a = reshape(arg(c, 0), IntVector{left, size});
  const Term b = reshape(arg(c, 1), IntVector{right, size});
  c.set_result(0, reshape(a.then("aten::mm", transpose(b, 0, 1)), sizes));
}
void vecdot(GradContext& c) {
  const bool are_vectors = c.rank(0) == 1 && c.rank(1) == 1;  // No axis is asked for.
  const IntVector dims{are_vectors ? 0 : c.int_of("dim")};
  c.set_result(0, sum_over(arg(c, 0).conj() * arg(c, 1), dims, false));
}
// The contracted dimensions last in a, first in b; of size 1 in one of them, the other is summed.
void tensordot(GradContext& c) {
  Term a = arg(c, 0);
  Term b = arg(c, 1);
  IntVector sizes_a(c.shape(0).begin(), c.shape(0).end());
  IntVector sizes_b(c.shape(1).begin(), c.shape(1).end());
  const IntVector dims_a = c.ints_of(2);
  const IntVector dims_b = c.ints_of(3);
  std::vector<bool> taken_a(sizes_a.size(), false);
  std::vector<bool> taken_b(sizes_b.size(), false);
  IntVector order_a;
  IntVector order_b;
  int64_t depth = 1;
  for (size_t i = 0; i < dims_a.size(); ++i) {
    const auto d = static_cast<size_t>(wrap_dim(dims_a[i], c.rank(0)));
    const auto e = static_cast<size_t>(wrap_dim(dims_b[i], c.rank(1)));
    taken_a[d] = taken_b[e] = true;
    order_a.push_back(static_cast<int64_t>(d));
    order_b.push_back(static_cast<int64_t>(e));
    if (sizes_a[d] == 1 && sizes_b[e] != 1) {
      b = sum_over(b, IntVector{static_cast<int64_t>(e)}, true);
    } else if (sizes_b[e] == 1 && sizes_a[d] != 1) {
      a = sum_over(a, IntVector{static_cast<int64_t>(d)}, true);
    } else {
      depth *= sizes_a[d];
    }
  }
  IntVector sizes;
  IntVector kept;
  int64_t rows = 1;
  for (size_t d = 0; d < sizes_a.size(); ++d) {
    if (taken_a[d]) continue;
    kept.push_back(static_cast<int64_t>(d));
    sizes.push_back(sizes_a[d]);
    rows *= sizes_a[d];
  }
  order_a.insert(order_a.begin(), kept.begin(), kept.end());
  int64_t columns = 1;
  for (size_t d = 0; d < sizes_b.size(); ++d) {
    if (taken_b[d]) continue;
    order_b.push_back(static_cast<int64_t>(d));
    sizes.push_back(sizes_b[d]);
    columns *= sizes_b[d];
  }
  a = reshape(a.then("aten::permute", order_a), IntVector{rows, depth});
  b = reshape(b.then("aten::permute", order_b), IntVector{depth, columns});
  c.set_result(0, reshape(a.then("aten::mm", b), sizes));
}
void kron(GradContext& c) {
  const auto rank = static_cast<size_t>(std::max(c.rank(0), c.rank(1)));
  IntVector sizes_a(2 * rank, 1);
  IntVector sizes_b(2 * rank, 1);
  IntVector sizes(rank, 1);
  for (size_t d = 0; d < rank; ++d) {
    const auto of = [&](int i) {
      const size_t missing = rank - c.shape(i).size();
      return d < missing ? 1 : c.shape(i)[d - missing];
    };
    sizes_a[2 * d] = of(0);
    sizes_b[2 * d + 1] = of(1);
    sizes[d] = of(0) * of(1);
  }
  c.set_result(0, reshape(reshape(arg(c, 0), sizes_a) * reshape(arg(c, 1), sizes_b), sizes));
}
void multi_dot(GradContext& c) {
  Term product = arg(c, 0, 0);
  for (size_t k = 1; k < c.list_size(0); ++k) product = matmul(product, arg(c, 0, k));
  c.set_result(0, c.list_size(0) == 1 ? product.then("aten::clone") : product);
}
void trilinear(GradContext& c) {
  const auto operand = [&](int i) {
    Term t = arg(c, i);
    for (const int64_t dim : c.ints_of(i + 3)) t = unsqueeze(t, dim);
    return t;
  };
  const Term product = operand(0) * operand(1) * operand(2);
  const IntVector dims = c.ints_of("sumdim");
  c.set_result(0, dims.empty() ? product : sum_over(product, dims, false));
}
void bilinear(GradContext& c) {
  IntVector sizes(c.shape(0).begin(), c.shape(0).end());
  sizes.back() = c.size(2, 0);
  const Term a = reshape(arg(c, 0), IntVector{-1, c.size(0, -1)});
  const Term b = reshape(arg(c, 1), IntVector{-1, c.size(1, -1)});
  const Term made =
      call(c, "aten::einsum", "ni,oij,nj->no", std::vector<GradValue>{a, c.arg(2), b});
  const Term y = reshape(made, sizes);
  c.set_result(0, c.is_tensor("bias") ? y + arg(c, "bias") : y);
}

void cross(GradContext& c, int64_t dim) {
  c.give(0, [&] { return arg(c, 1).conj().then("aten::linalg_cross", grad(c), dim); });
  c.give(1, [&] { return grad(c).then("aten::linalg_cross", arg(c, 0).conj(), dim); });
}
void linalg_cross(GradContext& c) { cross(c, c.int_of("dim")); }
// Without a dimension, the first of size 3.
void plain_cross(GradContext& c) {
  if (!c.is_none("dim")) return cross(c, c.int_of("dim"));
  for (int64_t d = 0; d < c.rank(0); ++d)
    if (c.size(0, d) == 3) return cross(c, d);
}

constexpr auto kDecomposed = DerivativeKind::kDecomposition;

constexpr DerivativeRow kRows[] = {
    {"aten::mm", &mm},
    {"aten::bmm", &bmm},
    {"aten::_grouped_mm", &grouped_mm},
    {"transformers::grouped_mm_fallback", &grouped_mm},
    {"aten::mv", &mv},
    {"aten::dot", &dot},
    {"aten::vdot", &vdot},
    {"aten::addmm", &addmm},
    {"aten::baddbmm", &baddbmm},
    {"aten::addbmm", &addbmm},
    {"aten::addmv", &addmv},
    {"aten::addr", &addr},
    {"aten::outer", &outer},
    {"aten::linear", &linear},
    {"aten::matmul", &matmul_formula},
    {"aten::inner", kDecomposed, &inner},
    {"aten::linalg_vecdot", kDecomposed, &vecdot},
    {"aten::tensordot", kDecomposed, &tensordot},
    {"aten::kron", kDecomposed, &kron},
    {"aten::chain_matmul", kDecomposed, &multi_dot},
    {"aten::linalg_multi_dot", kDecomposed, &multi_dot},
    {"aten::_trilinear", kDecomposed, &trilinear},
    {"aten::bilinear", kDecomposed, &bilinear},
    {"aten::linalg_cross", &linalg_cross},
    {"aten::cross", &plain_cross},
};

}  // namespace

std::span<const DerivativeRow> products_derivatives() { return kRows; }

}  // namespace tierup::ops::derivatives
