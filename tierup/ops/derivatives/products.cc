// Products of matrices and vectors.
#include "tierup/ops/derivatives/tables.h"

namespace tierup::ops::derivatives {
namespace {

// The matrix (or batch of them) turned round, conjugated if complex.
GradValue turned(GradContext& c, GradValue matrix) {
  return c.conj(c.op("aten::transpose.int", matrix, -2, -1));
}

void mm(GradContext& c) {
  c.give(0, [&] { return c.op("aten::mm", c.grad(), turned(c, c.arg(1))); });
  c.give(1, [&] { return c.op("aten::mm", turned(c, c.arg(0)), c.grad()); });
}

void bmm(GradContext& c) {
  c.give(0, [&] { return c.op("aten::bmm", c.grad(), turned(c, c.arg(1))); });
  c.give(1, [&] { return c.op("aten::bmm", turned(c, c.arg(0)), c.grad()); });
}

void mv(GradContext& c) {
  c.give(0, [&] {
    return c.op("aten::mul.Tensor", c.op("aten::unsqueeze", c.grad(), 1), c.conj(c.arg(1)));
  });
  c.give(1, [&] { return c.op("aten::mv", turned(c, c.arg(0)), c.grad()); });
}

void dot(GradContext& c) {
  c.give(0, [&] { return c.op("aten::mul.Tensor", c.grad(), c.conj(c.arg(1))); });
  c.give(1, [&] { return c.op("aten::mul.Tensor", c.grad(), c.conj(c.arg(0))); });
}

void addmm(GradContext& c) {
  const auto scaled = [&](GradValue v) { return c.scaled(v, c.scalar_of("alpha")); };
  c.give(0, [&] { return c.scaled(c.grad(), c.scalar_of("beta")); });
  c.give(1, [&] { return scaled(c.op("aten::mm", c.grad(), turned(c, c.arg(2)))); });
  c.give(2, [&] { return scaled(c.op("aten::mm", turned(c, c.arg(1)), c.grad())); });
}

// All rows of x as one matrix, so that weights take part in one product whatever x's rank.
GradValue rows_of(GradContext& c, GradValue x, int64_t rank, int64_t columns) {
  return rank == 2 ? x : c.op("aten::reshape", x, IntVector{-1, columns});
}

void linear(GradContext& c) {
  const IntSpan weight = c.shape(1);
  const IntSpan x = c.shape(0);
  if (weight.size() == 1) {  // A vector of weights: a dot product with each row.
    c.give(0, [&] {
      return c.op("aten::mul.Tensor", c.op("aten::unsqueeze", c.grad(), -1), c.conj(c.arg(1)));
    });
    c.give(1, [&] {
      return c.op("aten::mul.Tensor", c.op("aten::unsqueeze", c.grad(), -1), c.conj(c.arg(0)));
    });
    c.give(2, [&] { return c.grad(); });
    return;
  }
  const auto rank = static_cast<int64_t>(x.size());
  c.give(0, [&] { return c.op("aten::matmul", c.grad(), c.conj(c.arg(1))); });
  c.give(1, [&] {
    if (c.numel(0) == 0) return c.op("aten::zeros", weight, c.dtype(1));
    const GradValue rows = rows_of(c, c.arg(0), rank, weight[1]);
    const GradValue grads = rows_of(c, c.grad(), rank, weight[0]);
    return c.op("aten::mm", c.op("aten::t", grads), c.conj(rows));
  });
  c.give(2, [&] { return c.grad(); });
}

// Vectors become a row or a column, batches are broadcast by bmm's callers: what is left is the
// rule of mm with the batch dimensions summed where they were broadcast.
void matmul(GradContext& c) {
  const int64_t left = c.rank(0);
  const int64_t right = c.rank(1);
  if (left == 1 && right == 1) return dot(c);
  const auto as_row = [&](GradValue v) { return left == 1 ? c.op("aten::unsqueeze", v, 0) : v; };
  const auto as_column = [&](GradValue v) {
    return right == 1 ? c.op("aten::unsqueeze", v, 1) : v;
  };
  const auto grad = [&] {
    GradValue g = c.grad();
    if (left == 1) g = c.op("aten::unsqueeze", g, -2);
    if (right == 1) g = c.op("aten::unsqueeze", g, -1);
    return g;
  };
  c.give(0, [&] {
    const GradValue g = c.op("aten::matmul", grad(), turned(c, as_column(c.arg(1))));
    return left == 1 ? c.op("aten::squeeze.dim", g, -2) : g;
  });
  c.give(1, [&] {
    const GradValue g = c.op("aten::matmul", turned(c, as_row(c.arg(0))), grad());
    return right == 1 ? c.op("aten::squeeze.dim", g, -1) : g;
  });
}

constexpr DerivativeRow kRows[] = {
    {"aten::mm", &mm},         {"aten::bmm", &bmm},
    {"aten::mv", &mv},         {"aten::dot", &dot},
    {"aten::addmm", &addmm},   {"aten::linear", &linear},
    {"aten::matmul", &matmul}, {"aten::linalg_matmul", &matmul},
};

}  // namespace

std::span<const DerivativeRow> products_derivatives() { return kRows; }

}  // namespace tierup::ops::derivatives
