// Running sums, products and extrema; sorting; differences and integrals along a dimension.
#include <cmath>
#include <limits>

#include "tierup/ops/derivatives/dimensions.h"
#include "tierup/ops/derivatives/tables.h"

namespace tierup::ops::derivatives {
namespace {

Term reversed_sum(const Term& g, int64_t dim) {
  const IntVector dims{dim};
  return g.then("aten::flip", dims).then("aten::cumsum", dim).then("aten::flip", dims);
}
void cumsum(GradContext& c) {
  c.give(0, [&] { return c.rank(0) == 0 ? grad(c) : reversed_sum(grad(c), c.int_of("dim")); });
}

// Of products up to each place, with the factor in question left out: right at zeros, and for the
// second order by what it is made of. A table of all pairs of places along the dimension.
Term cumprod_slopes(GradContext& c, const Term& x, const Term& g, int64_t dim, int64_t size) {
  // [*, k, i]: the factors, with 1 at i = k; their running products; and where j >= k.
  const Term line = x.then("aten::movedim.int", dim, -1);
  const Term diagonal = call(c, "aten::eye", size).then("aten::to.dtype", ScalarType::kBool);
  const Term factors = cleared(unsqueeze(line, -2), diagonal, 1);
  const Term products = factors.then("aten::cumprod", -1);
  const Term after =
      call(c, "aten::ones", IntVector{size, size}, ScalarType::kBool).then("aten::triu");
  const Term gradients = unsqueeze(g.then("aten::movedim.int", dim, -1), -2);
  const Term each = only(gradients * products.conj(), after);
  return sum_over(each, IntVector{-1}, false).then("aten::movedim.int", -1, dim);
}
void cumprod(GradContext& c) {
  c.give(0, [&] {
    if (c.rank(0) == 0 || c.numel(0) == 0) return grad(c);
    const int64_t dim = wrap_dim(c.int_of("dim"), c.rank(0));
    if (c.size(0, dim) == 1) return grad(c);
    if (c.is_none("dtype") && !c.is_complex(0))
      return grad(c).then("tierup::cumprod_backward", arg(c, 0), dim);
    const Term x =
        c.is_none("dtype") ? arg(c, 0) : arg(c, 0).then("aten::to.dtype", c.value_of("dtype"));
    return cumprod_slopes(c, x, grad(c), dim, c.size(0, dim));
  });
}
void cumprod_backward(GradContext& c) {
  const int64_t dim = c.int_of("dim");
  c.set_result(0, cumprod_slopes(c, arg(c, 1), arg(c, 0), dim, c.size(1, dim)));
}
// To the index that the operator reports for each place.
void running_extremum(GradContext& c) {
  c.give(0, [&] {
    const Term zeros = call(c, "aten::zeros", c.sizes(0), c.dtype(0));
    return zeros.then("aten::scatter_add", c.int_of("dim"), result(c, 1), grad(c));
  });
}
double lowest_of(ScalarType dtype) {
  switch (dtype) {
    case ScalarType::kDouble: return std::numeric_limits<double>::lowest();
    case ScalarType::kHalf: return -65504;
    case ScalarType::kBFloat16: return -0x1.fep127;
    default: return static_cast<double>(std::numeric_limits<float>::lowest());
  }
}
// Sums of g e^(x - y), signs apart, in logarithms.
void logcumsumexp(GradContext& c) {
  c.give(0, [&] {
    if (c.rank(0) == 0 || c.numel(0) == 0) return grad(c);
    const IntVector dims{c.int_of("dim")};
    // A number, so that differences of two are none that is not one.
    const double lowest = lowest_of(c.dtype(0));
    const auto part = [&](const Term& positive) {
      const Term logs = choose(less(zeros_like(positive), positive), log(positive),
                               call(c, "aten::full_like", positive, lowest));
      return exp((logs - result(c))
                     .then("aten::flip", dims)
                     .then("aten::logcumsumexp", dims[0])
                     .then("aten::flip", dims) +
                 arg(c, 0));
    };
    const Term g = grad(c);
    return part(g) - part(-g);
  });
}

void by_indices(GradContext& c) {
  c.give(0, [&] { return placed(c, grad(c), result(c, 1), c.int_of("dim"), true); });
}
void msort(GradContext& c) { c.set_result(0, c.ops(2, "aten::sort", c.arg(0), 0, false)[0]); }

// --- differences and integrals

Term part_of(const Term& x, int64_t dim, int64_t start, int64_t length) {
  return x.then("aten::narrow", dim, start, length);
}
// Neighbours' differences, or sums.
Term neighbours(const Term& x, int64_t dim, int64_t size, bool adds) {
  const Term later = part_of(x, dim, 1, size - 1);
  const Term earlier = part_of(x, dim, 0, size - 1);
  return adds ? later + earlier : later - earlier;
}
void diff(GradContext& c) {
  if (c.int_of("n") == 0) return c.set_result(0, arg(c, 0).then("aten::clone"));
  const int64_t dim = wrap_dim(c.int_of("dim"), c.rank(0));
  std::vector<GradValue> parts;
  int64_t size = c.size(0, dim);
  const auto beside = [&](const char* name) {
    if (!c.is_tensor(name)) return;
    parts.push_back(c.arg(name));
    size += c.size(name, dim);
  };
  beside("prepend");
  parts.push_back(c.arg(0));
  beside("append");
  Term x = parts.size() == 1 ? arg(c, 0) : call(c, "aten::cat", std::move(parts), dim);
  for (int64_t n = 0; n < c.int_of("n"); ++n, --size) {
    if (size <= 0) break;
    x = neighbours(x, dim, size, false);
  }
  c.set_result(0, x);
}

// The widths of the steps, shaped to stand along `dim` of y; a number for equal steps.
Term steps_along(GradContext& c, int64_t dim) {
  const Term x = arg(c, "x");
  if (c.rank("x") == 1 && c.rank(0) > 1) {
    IntVector sizes(static_cast<size_t>(c.rank(0)), 1);
    sizes[static_cast<size_t>(dim)] = c.size("x", 0) - 1;
    return reshape(neighbours(x, 0, c.size("x", 0), false), sizes);
  }
  const int64_t from_end = dim - c.rank(0);
  return neighbours(x, from_end, c.size("x", from_end), false);
}
template <bool kBySteps>
Term trapezoids(GradContext& c) {
  const int64_t dim = wrap_dim(c.int_of("dim"), c.rank(0));
  const Term sums = neighbours(arg(c, 0), dim, c.size(0, dim), true);
  if constexpr (kBySteps) return sums * steps_along(c, dim) / 2;
  return sums * (c.float_of("dx") / 2);
}
template <bool kBySteps>
void trapezoid(GradContext& c) {
  const int64_t dim = wrap_dim(c.int_of("dim"), c.rank(0));
  if (c.size(0, dim) == 0) {
    return c.set_result(0, sum_over(arg(c, 0), IntVector{dim}, false) * 0.0);
  }
  c.set_result(0, sum_over(trapezoids<kBySteps>(c), IntVector{dim - c.rank(0)}, false));
}
template <bool kBySteps>
void cumulative_trapezoid(GradContext& c) {
  c.set_result(0, trapezoids<kBySteps>(c).then("aten::cumsum", c.int_of("dim")));
}

// --- numerical gradients

// Spacing along one dimension: a number, or coordinates.
struct Spacing {
  double step = 1;
  Term coordinates;
};
Term line_like(GradContext& c, const Term& line, int64_t dim, int64_t size) {
  IntVector sizes(static_cast<size_t>(c.rank(0)), 1);
  sizes[static_cast<size_t>(dim)] = size;
  return reshape(line, sizes);
}
// Inside by both neighbours, at the ends one-sided, to the order that was asked for.
Term evenly_spaced(GradContext& c, int64_t dim, double step, int64_t order) {
  const Term x = arg(c, 0);
  const int64_t n = c.size(0, dim);
  const auto at = [&](int64_t i) { return part_of(x, dim, i, 1); };
  const Term inside = (part_of(x, dim, 2, n - 2) - part_of(x, dim, 0, n - 2)) / (2 * step);
  const Term first =
      order == 1 ? (at(1) - at(0)) / step : (at(0) * -1.5 + at(1) * 2 - at(2) * 0.5) / step;
  const Term last = order == 1 ? (at(n - 1) - at(n - 2)) / step
                               : (at(n - 1) * 1.5 - at(n - 2) * 2 + at(n - 3) * 0.5) / step;
  return call(c, "aten::cat", std::vector<GradValue>{first, inside, last}, dim);
}
Term by_coordinates(GradContext& c, int64_t dim, const Term& coordinates, int64_t order) {
  const Term x = arg(c, 0);
  const int64_t n = c.size(0, dim);
  const auto at = [&](int64_t i) { return part_of(x, dim, i, 1); };
  const Term steps = neighbours(coordinates, 0, n, false);
  const auto step_at = [&](int64_t i) { return line_like(c, part_of(steps, 0, i, 1), dim, 1); };
  const Term h1 = line_like(c, part_of(steps, 0, 0, n - 2), dim, n - 2);
  const Term h2 = line_like(c, part_of(steps, 0, 1, n - 2), dim, n - 2);
  const Term both_steps = h1 + h2;
  const Term inside = part_of(x, dim, 0, n - 2) * -(h2 / (h1 * both_steps)) +
                      part_of(x, dim, 1, n - 2) * ((h2 - h1) / (h1 * h2)) +
                      part_of(x, dim, 2, n - 2) * (h1 / (h2 * both_steps));
  Term first;
  Term last;
  if (order == 1) {
    first = (at(1) - at(0)) / step_at(0);
    last = (at(n - 1) - at(n - 2)) / step_at(n - 2);
  } else {
    const auto end = [&](const Term& near, const Term& far, const Term& a, const Term& b,
                         const Term& d) {
      const Term sum = near + far;
      return a * -((near * 2 + far) / (near * sum)) + b * (sum / (near * far)) -
             d * (near / (far * sum));
    };
    first = end(step_at(0), step_at(1), at(0), at(1), at(2));
    last = -end(step_at(n - 2), step_at(n - 3), at(n - 1), at(n - 2), at(n - 3));
  }
  return call(c, "aten::cat", std::vector<GradValue>{first, inside, last}, dim);
}
IntVector gradient_dims(GradContext& c) {
  if (c.is_none("dim")) return all_dims(c);
  IntVector dims = c.ints_of("dim");
  for (int64_t& d : dims) d = wrap_dim(d, c.rank(0));
  return dims;
}
void gradient_evenly(GradContext& c) {
  std::vector<GradValue> made;
  const IntVector dims = gradient_dims(c);
  for (size_t i = 0; i < dims.size(); ++i) {
    double step = 1;
    const IValue& spacing = c.value_of("spacing");
    if (spacing.is_list()) {
      const auto& steps = spacing.to_list().items;
      step = steps[steps.size() == 1 ? 0 : i].to_scalar().to_double();
    } else if (!spacing.is_none()) {
      step = spacing.to_scalar().to_double();
    }
    made.push_back(evenly_spaced(c, dims[i], step, c.int_of("edge_order")));
  }
  c.set_result(0, std::move(made));
}
void gradient_array(GradContext& c) {
  std::vector<GradValue> made;
  for (const int64_t dim : gradient_dims(c))
    made.push_back(evenly_spaced(c, dim, 1, c.int_of("edge_order")));
  c.set_result(0, std::move(made));
}
void gradient_by_coordinates(GradContext& c) {
  std::vector<GradValue> made;
  const IntVector dims = gradient_dims(c);
  for (size_t i = 0; i < dims.size(); ++i) {
    const size_t k = c.list_size("spacing") == 1 ? 0 : i;
    made.push_back(by_coordinates(c, dims[i], arg(c, "spacing", k), c.int_of("edge_order")));
  }
  c.set_result(0, std::move(made));
}

constexpr auto kDecomposed = DerivativeKind::kDecomposition;
constexpr auto kNone = DerivativeKind::kNone;

constexpr DerivativeRow kRows[] = {
    {"aten::cumsum", &cumsum},
    {"aten::cumprod", &cumprod},
    {"tierup::cumprod_backward", kDecomposed, &cumprod_backward},
    {"aten::cummax", &running_extremum, 0b10},
    {"aten::cummin", &running_extremum, 0b10},
    {"aten::logcumsumexp", &logcumsumexp},
    {"aten::sort", &by_indices, 0b10},
    {"aten::sort.stable", &by_indices, 0b10},
    {"aten::topk", &by_indices, 0b10},
    {"aten::msort", kDecomposed, &msort},
    {"aten::argsort", kNone},
    {"aten::argsort.stable", kNone},
    {"aten::diff", kDecomposed, &diff},
    {"aten::trapezoid.x", kDecomposed, &trapezoid<true>},
    {"aten::trapezoid.dx", kDecomposed, &trapezoid<false>},
    {"aten::trapz.x", kDecomposed, &trapezoid<true>},
    {"aten::trapz.dx", kDecomposed, &trapezoid<false>},
    {"aten::cumulative_trapezoid.x", kDecomposed, &cumulative_trapezoid<true>},
    {"aten::cumulative_trapezoid.dx", kDecomposed, &cumulative_trapezoid<false>},
    {"aten::gradient.scalarint", kDecomposed, &gradient_evenly},
    {"aten::gradient.scalararray", kDecomposed, &gradient_evenly},
    {"aten::gradient.scalarrayint", kDecomposed, &gradient_evenly},
    {"aten::gradient.scalarrayarray", kDecomposed, &gradient_evenly},
    {"aten::gradient.array", kDecomposed, &gradient_array},
    {"aten::gradient.tensorarrayint", kDecomposed, &gradient_by_coordinates},
    {"aten::gradient.tensorarray", kDecomposed, &gradient_by_coordinates},
};

}  // namespace

std::span<const DerivativeRow> scans_derivatives() { return kRows; }

}  // namespace tierup::ops::derivatives
