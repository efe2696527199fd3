// Pooling, by the operators of its backward passes; these are linear in the gradient.
#include <algorithm>

#include "tierup/ops/derivatives/tables.h"
#include "tierup/ops/derivatives/term.h"

namespace tierup::ops::derivatives {
namespace {

// In one dimension it is that of two, of which the first has size 1.

IntVector behind_one(const IntVector& numbers, int64_t first) {
  return numbers.empty() ? IntVector{} : IntVector{first, numbers[0]};
}
// Strides left away are the kernel's sizes.
IntVector strides(GradContext& c) {
  const IntVector given = c.ints_of("stride");
  return given.empty() ? c.ints_of("kernel_size") : given;
}

void max_pool2d_indices(GradContext& c) {
  c.give(0, [&] {
    return grad(c).then("aten::max_pool2d_with_indices_backward", arg(c, 0), c.ints_of(1),
                        strides(c), c.ints_of(3), c.ints_of(4), c.bool_of(5), result(c, 1));
  });
}
void max_pool3d_indices(GradContext& c) {
  c.give(0, [&] {
    return grad(c).then("aten::max_pool3d_with_indices_backward", arg(c, 0), c.ints_of(1),
                        strides(c), c.ints_of(3), c.ints_of(4), c.bool_of(5), result(c, 1));
  });
}
void max_pool2d(GradContext& c) {
  c.set_result(0, c.ops(2, "aten::max_pool2d_with_indices", c.arg(0), c.ints_of(1), strides(c),
                        c.ints_of(3), c.ints_of(4), c.bool_of(5))[0]);
}
void max_pool3d(GradContext& c) {
  c.set_result(0, c.ops(2, "aten::max_pool3d_with_indices", c.arg(0), c.ints_of(1), strides(c),
                        c.ints_of(3), c.ints_of(4), c.bool_of(5))[0]);
}
void max_pool1d(GradContext& c) {
  const std::vector<GradValue> made =
      c.ops(2, "aten::max_pool2d_with_indices", c.op("aten::unsqueeze", c.arg(0), -2),
            behind_one(c.ints_of(1), 1), behind_one(strides(c), 1), behind_one(c.ints_of(3), 0),
            behind_one(c.ints_of(4), 1), c.bool_of(5));
  for (size_t k = 0; k < c.row().schema().returns.size(); ++k)
    c.set_result(k, c.op("aten::squeeze.dim", made[k], -2));
}
// By the indices that came with the maxima.
void max_pool_backward(GradContext& c) {
  const ArgIndex indices("indices");
  c.give(0, [&] {
    const int64_t rank = c.rank(0);
    const bool is_3d = c.row().schema().name.find("3d") != std::string::npos;
    const int64_t first = rank - (is_3d ? 3 : 2);
    return grad(c)
        .then("aten::flatten.using_ints", first, -1)
        .then("aten::gather", -1, arg(c, indices).then("aten::flatten.using_ints", first, -1))
        .then("aten::reshape", c.sizes(0));
  });
  c.give_zeros(1);
}

void avg_pool1d(GradContext& c) {
  const Term made =
      unsqueeze(arg(c, 0), -2)
          .then("aten::avg_pool2d", behind_one(c.ints_of(1), 1), behind_one(strides(c), 1),
                behind_one(c.ints_of(3), 0), c.bool_of(4), c.bool_of(5));
  c.set_result(0, squeeze(made, -2));
}
void avg_pool2d(GradContext& c) {
  c.give(0, [&] {
    return grad(c).then("aten::avg_pool2d_backward", arg(c, 0), c.ints_of(1), strides(c),
                        c.ints_of(3), c.bool_of(4), c.bool_of(5), c.value_of(6));
  });
}
void avg_pool3d(GradContext& c) {
  c.give(0, [&] {
    return grad(c).then("aten::avg_pool3d_backward", arg(c, 0), c.ints_of(1), strides(c),
                        c.ints_of(3), c.bool_of(4), c.bool_of(5), c.value_of(6));
  });
}
void avg_pool2d_backward(GradContext& c) {
  c.give(0, [&] {
    return grad(c).then("aten::avg_pool2d", c.ints_of(2), c.ints_of(3), c.ints_of(4), c.bool_of(5),
                        c.bool_of(6), c.value_of(7));
  });
  c.give_zeros(1);
}
void avg_pool3d_backward(GradContext& c) {
  c.give(0, [&] {
    return grad(c).then("aten::avg_pool3d", c.ints_of(2), c.ints_of(3), c.ints_of(4), c.bool_of(5),
                        c.bool_of(6), c.value_of(7));
  });
  c.give_zeros(1);
}
// One place for a whole plane is its mean.
bool is_one_place(GradContext& c) {
  return std::ranges::all_of(c.ints_of(1), [](int64_t size) { return size == 1; });
}
Term mean_of_last(const Term& x, int64_t rank) {
  IntVector dims;
  for (int64_t d = 1; d <= rank; ++d) dims.push_back(-d);
  return x.then("aten::mean.dim", dims, true);
}
void adaptive_avg_pool1d(GradContext& c) {
  if (is_one_place(c)) return c.set_result(0, mean_of_last(arg(c, 0), 1));
  const Term made =
      unsqueeze(arg(c, 0), -2).then("aten::_adaptive_avg_pool2d", behind_one(c.ints_of(1), 1));
  c.set_result(0, squeeze(made, -2));
}
void any_adaptive_avg_pool2d(GradContext& c) {
  c.set_result(0, is_one_place(c) ? mean_of_last(arg(c, 0), 2)
                                  : arg(c, 0).then("aten::_adaptive_avg_pool2d", c.ints_of(1)));
}
void any_adaptive_avg_pool3d(GradContext& c) {
  c.set_result(0, is_one_place(c) ? mean_of_last(arg(c, 0), 3)
                                  : arg(c, 0).then("aten::_adaptive_avg_pool3d", c.ints_of(1)));
}
void adaptive_avg_pool2d(GradContext& c) {
  c.give(0, [&] { return grad(c).then("aten::_adaptive_avg_pool2d_backward", arg(c, 0)); });
}
void adaptive_avg_pool3d(GradContext& c) {
  c.give(0, [&] { return grad(c).then("aten::_adaptive_avg_pool3d_backward", arg(c, 0)); });
}
void adaptive_avg_pool2d_backward(GradContext& c) {
  c.give(0, [&] { return grad(c).then("aten::_adaptive_avg_pool2d", c.shape(0).last(2)); });
  c.give_zeros(1);
}
void adaptive_avg_pool3d_backward(GradContext& c) {
  c.give(0, [&] { return grad(c).then("aten::_adaptive_avg_pool3d", c.shape(0).last(3)); });
  c.give_zeros(1);
}
void adaptive_max_pool1d(GradContext& c) {
  const std::vector<GradValue> made =
      c.ops(2, "aten::adaptive_max_pool2d", c.op("aten::unsqueeze", c.arg(0), -2),
            behind_one(c.ints_of(1), 1));
  for (size_t k = 0; k < 2; ++k) c.set_result(k, c.op("aten::squeeze.dim", made[k], -2));
}
void adaptive_max_pool2d(GradContext& c) {
  c.give(0, [&] {
    return grad(c).then("aten::adaptive_max_pool2d_backward", arg(c, 0), result(c, 1));
  });
}
void adaptive_max_pool3d(GradContext& c) {
  c.give(0, [&] {
    return grad(c).then("aten::adaptive_max_pool3d_backward", arg(c, 0), result(c, 1));
  });
}
void fractional_max_pool2d(GradContext& c) {
  c.give(0, [&] {
    return grad(c).then("aten::fractional_max_pool2d_backward", arg(c, 0), c.ints_of(1),
                        c.ints_of(2), result(c, 1));
  });
}
void fractional_max_pool3d(GradContext& c) {
  c.give(0, [&] {
    return grad(c).then("aten::fractional_max_pool3d_backward", arg(c, 0), c.ints_of(1),
                        c.ints_of(2), result(c, 1));
  });
}
// Where each element was set down.
void max_unpool(GradContext& c) {
  c.give(0, [&] {
    const int64_t first = c.rank(0) - static_cast<int64_t>(c.ints_of(2).size());
    const Term places = arg(c, 1).then("aten::flatten.using_ints", first, -1);
    return grad(c)
        .then("aten::flatten.using_ints", first, -1)
        .then("aten::gather", -1, places)
        .then("aten::reshape", c.sizes(0));
  });
}

constexpr auto kDecomposed = DerivativeKind::kDecomposition;
constexpr uint32_t kIndices = 0b10;

constexpr DerivativeRow kRows[] = {
    {"aten::max_pool2d_with_indices", &max_pool2d_indices, kIndices},
    {"aten::max_pool3d_with_indices", &max_pool3d_indices, kIndices},
    {"aten::max_pool1d", kDecomposed, &max_pool1d},
    {"aten::max_pool1d_with_indices", kDecomposed, &max_pool1d, kIndices},
    {"aten::max_pool2d", kDecomposed, &max_pool2d},
    {"aten::max_pool3d", kDecomposed, &max_pool3d},
    {"aten::max_pool2d_with_indices_backward", &max_pool_backward},
    {"aten::max_pool3d_with_indices_backward", &max_pool_backward},
    {"aten::adaptive_max_pool2d_backward", &max_pool_backward},
    {"aten::adaptive_max_pool3d_backward", &max_pool_backward},
    {"aten::fractional_max_pool2d_backward", &max_pool_backward},
    {"aten::fractional_max_pool3d_backward", &max_pool_backward},
    {"aten::avg_pool1d", kDecomposed, &avg_pool1d},
    {"aten::avg_pool2d", &avg_pool2d},
    {"aten::avg_pool3d", &avg_pool3d},
    {"aten::avg_pool2d_backward", &avg_pool2d_backward},
    {"aten::avg_pool3d_backward", &avg_pool3d_backward},
    {"aten::adaptive_avg_pool1d", kDecomposed, &adaptive_avg_pool1d},
    {"aten::adaptive_avg_pool2d", kDecomposed, &any_adaptive_avg_pool2d},
    {"aten::_adaptive_avg_pool2d", &adaptive_avg_pool2d},
    {"aten::adaptive_avg_pool3d", kDecomposed, &any_adaptive_avg_pool3d},
    {"aten::_adaptive_avg_pool3d", &adaptive_avg_pool3d},
    {"aten::_adaptive_avg_pool2d_backward", &adaptive_avg_pool2d_backward},
    {"aten::_adaptive_avg_pool3d_backward", &adaptive_avg_pool3d_backward},
    {"aten::adaptive_max_pool1d", kDecomposed, &adaptive_max_pool1d, kIndices},
    {"aten::adaptive_max_pool2d", &adaptive_max_pool2d, kIndices},
    {"aten::adaptive_max_pool3d", &adaptive_max_pool3d, kIndices},
    {"aten::fractional_max_pool2d", &fractional_max_pool2d, kIndices},
    {"aten::fractional_max_pool3d", &fractional_max_pool3d, kIndices},
    {"aten::max_unpool2d", &max_unpool},
    {"aten::max_unpool3d", &max_unpool},
};

}  // namespace

std::span<const DerivativeRow> pooling_derivatives() { return kRows; }

}  // namespace tierup::ops::derivatives
