// Sums and means.
#include "tierup/ops/derivatives/tables.h"

namespace tierup::ops::derivatives {
namespace {

// The dimensions that a reduction by `dim` takes: all, if it names none.
IntVector reduced_dims(const GradContext& c) {
  const int64_t rank = c.rank(0);
  IntVector dims = c.ints_of("dim");
  if (dims.empty()) {
    for (int64_t d = 0; d < rank; ++d) dims.push_back(d);
  }
  for (int64_t& d : dims) d = wrap_dim(d, rank);
  return dims;
}

// The gradient of a reduction, spread over what was reduced.
GradValue spread(GradContext& c, GradValue grad, const IntVector& dims, bool keepdim) {
  if (!keepdim && c.rank(0) > 0) {
    IntVector kept(c.shape(0).begin(), c.shape(0).end());
    for (const int64_t d : dims) kept[static_cast<size_t>(d)] = 1;
    grad = c.op("aten::reshape", grad, kept);
  }
  return c.op("aten::expand", grad, c.sizes(0));
}

void sum(GradContext& c) {
  c.give(0, [&] { return c.op("aten::expand", c.grad(), c.sizes(0)); });
}

void sum_dim(GradContext& c) {
  c.give(0, [&] { return spread(c, c.grad(), reduced_dims(c), c.bool_of("keepdim")); });
}

void mean(GradContext& c) {
  c.give(0, [&] {
    const GradValue spread_grad = c.op("aten::expand", c.grad(), c.sizes(0));
    return c.op("aten::div.Scalar", spread_grad, c.numel(0));
  });
}

void mean_dim(GradContext& c) {
  c.give(0, [&] {
    const IntVector dims = reduced_dims(c);
    int64_t count = 1;
    for (const int64_t d : dims) {
      if (c.rank(0) > 0) count *= c.size(0, d);
    }
    return c.op("aten::div.Scalar", spread(c, c.grad(), dims, c.bool_of("keepdim")), count);
  });
}

constexpr DerivativeRow kRows[] = {
    {"aten::sum", &sum},
    {"aten::sum.dim_IntList", &sum_dim},
    {"aten::mean", &mean},
    {"aten::mean.dim", &mean_dim},
};

}  // namespace

std::span<const DerivativeRow> reductions_derivatives() { return kRows; }

}  // namespace tierup::ops::derivatives
