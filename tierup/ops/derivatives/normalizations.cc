// Softmax and normalisations.
//
// Norms are differentiated by the operators of their backward passes, and these, for second order,
// by what they are made of: there the statistics are functions of the input again.
#include <cmath>
#include <limits>

#include "tierup/ops/derivatives/dimensions.h"
#include "tierup/ops/derivatives/tables.h"

namespace tierup::ops::derivatives {
namespace {

void softmax(GradContext& c) {
  c.give(0, [&] {
    return grad(c).then("aten::_softmax_backward_data", result(c), c.int_of("dim"), c.dtype(0));
  });
}
void log_softmax(GradContext& c) {
  c.give(0, [&] {
    return grad(c).then("aten::_log_softmax_backward_data", result(c), c.int_of("dim"), c.dtype(0));
  });
}
void softmax_backward(GradContext& c) {
  const int64_t dim = c.int_of("dim");
  const auto over = [&](const Term& t) { return sum_over(t, IntVector{dim}, true); };
  c.give(0,
         [&] { return grad(c).then("aten::_softmax_backward_data", arg(c, 1), dim, c.dtype(0)); });
  c.give(1, [&] {
    const Term g = arg(c, 0);
    const Term y = arg(c, 1);
    const Term gg = grad(c);
    return g * gg - over(y * g) * gg - g * over(y * gg);
  });
}
void log_softmax_backward(GradContext& c) {
  const int64_t dim = c.int_of("dim");
  const auto over = [&](const Term& t) { return sum_over(t, IntVector{dim}, true); };
  c.give(0, [&] { return grad(c) - over(grad(c) * exp(arg(c, 1))); });
  c.give(1, [&] { return -(grad(c) * exp(arg(c, 1)) * over(arg(c, 0))); });
}

// --- layer and group norm

// Which results of a norm's backward operator are wanted.
IValue wanted(GradContext& c, ArgIndex input, ArgIndex weight, ArgIndex bias) {
  return flags({c.wants(input), c.wants(weight), c.wants(bias)});
}

void native_layer_norm(GradContext& c) {
  const std::vector<GradValue> made =
      c.ops(3, "aten::native_layer_norm_backward", c.grad(), c.arg(0), c.ints_of(1), c.result(1),
            c.result(2), optional(c, 2), optional(c, 3), wanted(c, 0, 2, 3));
  c.give(0, [&] { return made[0]; });
  c.give(2, [&] { return made[1]; });
  c.give(3, [&] { return made[2]; });
}
void layer_norm(GradContext& c) {
  c.set_result(0, c.ops(3, "aten::native_layer_norm", c.arg(0), c.ints_of(1), optional(c, 2),
                        optional(c, 3), c.float_of("eps"))[0]);
}
// What the statistics pass on to the input: 1 / m of the mean's, and by the deviation of each place
// for 1 / standard deviation.
Term by_statistics(GradContext& c) {
  const int64_t n = c.int_of("N");
  const int64_t groups = c.int_of("group");
  const int64_t count = c.numel(0) / std::max<int64_t>(1, n * groups);
  const IntVector sizes{n, groups, 1};
  Term sum = reshape(grad(c, 1), sizes);
  if (c.has_grad(2)) {
    const Term scale = reshape(result(c, 2), sizes);
    const Term centered =
        reshape(arg(c, 0), IntVector{n, groups, count}) - reshape(result(c, 1), sizes);
    sum = sum - pow(scale, 3) * centered * reshape(grad(c, 2), sizes);
  }
  return (sum / count)
      .then("aten::expand", IntVector{n, groups, count})
      .then("aten::reshape", c.sizes(0));
}
void native_group_norm(GradContext& c) {
  const std::vector<GradValue> made =
      c.ops(3, "aten::native_group_norm_backward", c.grad(), c.arg(0), c.result(1), c.result(2),
            optional(c, 1), c.int_of("N"), c.int_of("C"), c.int_of("HxW"), c.int_of("group"),
            wanted(c, 0, 1, 2));
  // As in the reference (until 2.13), beside the result's gradient one of the statistics' alone
  // passes on nothing.
  c.give(0, [&] {
    if (!c.has_grad(0)) return by_statistics(c);
    const Term direct(c, made[0]);
    return c.has_grad(1) && c.has_grad(2) ? direct + by_statistics(c) : direct;
  });
  c.give(1, [&] { return made[1]; });
  c.give(2, [&] { return made[2]; });
}
void group_norm(GradContext& c) {
  int64_t points = 1;
  for (int64_t d = 2; d < c.rank(0); ++d) points *= c.size(0, d);
  c.set_result(
      0, c.ops(3, "aten::native_group_norm", c.arg(0), optional(c, "weight"), optional(c, "bias"),
               c.size(0, 0), c.size(0, 1), points, c.int_of("num_groups"), c.float_of("eps"))[0]);
}

// Statistics over `dims` as functions of x, with the value of 1 / standard deviation that is given
// (its eps is not known here).
struct Statistics {
  Term centered;
  Term scale;
};
Statistics statistics(const Term& x, const IntVector& dims, const Term& rstd) {
  const Term centered = x - x.then("aten::mean.dim", dims, true);
  const Term variance = square(centered).then("aten::mean.dim", dims, true);
  const Term rest = (reciprocal(square(rstd)) - variance).then("aten::detach");
  return {centered, rsqrt(variance + rest)};
}
// dx of a norm over `dims`; g is multiplied by the weight already.
Term norm_input_gradient(const Statistics& s, const Term& g, const IntVector& dims) {
  const Term normal = s.centered * s.scale;
  const Term mean = g.then("aten::mean.dim", dims, true);
  const Term slope = (g * normal).then("aten::mean.dim", dims, true);
  return s.scale * (g - mean - normal * slope);
}
bool is_wanted(GradContext& c, size_t k) {
  const IValue& mask = c.value_of("output_mask");
  return mask.to_list().items[k].to_scalar().to_bool();
}

void layer_norm_backward(GradContext& c) {
  const auto norm_rank = static_cast<int64_t>(c.ints_of(2).size());
  IntVector inner;
  IntVector outer;
  IntVector statistic_sizes(c.shape(1).begin(), c.shape(1).end());
  for (int64_t d = 0; d < c.rank(1); ++d) {
    const bool is_inner = d >= c.rank(1) - norm_rank;
    (is_inner ? inner : outer).push_back(d);
    if (is_inner) statistic_sizes[static_cast<size_t>(d)] = 1;
  }
  const Term g = arg(c, 0);
  const Statistics s = statistics(arg(c, 1), inner, reshape(arg(c, 4), statistic_sizes));
  if (is_wanted(c, 0)) {
    c.set_result(0, norm_input_gradient(s, c.is_tensor(5) ? g * arg(c, 5) : g, inner));
  }
  const auto over_rows = [&](const Term& t) {
    return outer.empty() ? t.then("aten::clone") : sum_over(t, outer, false);
  };
  if (is_wanted(c, 1)) c.set_result(1, over_rows(g * (s.centered * s.scale)));
  if (is_wanted(c, 2)) c.set_result(2, over_rows(g));
}
void group_norm_backward(GradContext& c) {
  const int64_t n = c.int_of("N");
  const int64_t channels = c.int_of("C");
  const int64_t groups = c.int_of("group");
  const IntVector sizes{n, groups, channels / groups, c.int_of("HxW")};
  const IntVector inner{2, 3};
  const Term g = reshape(arg(c, 0), sizes);
  const Statistics s =
      statistics(reshape(arg(c, 1), sizes), inner, reshape(arg(c, 3), IntVector{n, groups, 1, 1}));
  if (is_wanted(c, 0)) {
    const Term scaled_g =
        c.is_tensor(4) ? g * reshape(arg(c, 4), IntVector{1, groups, channels / groups, 1}) : g;
    c.set_result(0, norm_input_gradient(s, scaled_g, inner).then("aten::reshape", c.sizes(1)));
  }
  const auto by_channel = [&](const Term& t) {
    return reshape(sum_over(t, IntVector{0, 3}, false), IntVector{channels});
  };
  if (is_wanted(c, 1)) c.set_result(1, by_channel(g * (s.centered * s.scale)));
  if (is_wanted(c, 2)) c.set_result(2, by_channel(g));
}

Term root_mean_square(GradContext& c, const Term& x, double eps) {
  IntVector dims;
  const auto norm_rank = static_cast<int64_t>(c.ints_of("normalized_shape").size());
  for (int64_t d = c.rank(0) - norm_rank; d < c.rank(0); ++d) dims.push_back(d);
  return rsqrt(square(x).then("aten::mean.dim", dims, true) + eps);
}
void rms_norm(GradContext& c) {
  const ScalarType dtype = c.dtype(0);
  const bool narrow = dtype == ScalarType::kHalf || dtype == ScalarType::kBFloat16;
  const double smallest = dtype == ScalarType::kDouble
                              ? std::numeric_limits<double>::epsilon()
                              : static_cast<double>(std::numeric_limits<float>::epsilon());
  Term x = arg(c, 0);
  if (narrow) x = x.then("aten::to.dtype", ScalarType::kFloat);
  const Term scale = root_mean_square(c, x, c.float_of("eps", smallest));
  Term y = x * scale;
  if (c.is_tensor("weight")) y = y * arg(c, "weight");
  const bool is_other = narrow || (c.is_tensor("weight") && c.dtype("weight") != dtype);
  c.set_result(0, is_other ? y.then("aten::to.dtype", dtype) : y);
  if (c.row().schema().returns.size() > 1) c.set_result(1, scale);
}

// --- batch norm

// Whether this call takes the batch's statistics: the rows without the argument always or never do.
enum class Training : uint8_t { kByArgument, kAlways, kNever };

template <Training kTraining, bool kHasRunning>
void batch_norm_formula(GradContext& c) {
  const bool training = kTraining == Training::kAlways ||
                        (kTraining == Training::kByArgument && c.bool_of("training"));
  const auto running = [&](const char* name) -> GradArg {
    if constexpr (!kHasRunning) return nullptr;
    return training ? GradArg(nullptr) : optional(c, name);
  };
  const auto saved = [&](size_t k) -> GradArg {
    return training ? GradArg(c.result(k)) : GradArg(nullptr);
  };
  const std::vector<GradValue> made =
      c.ops(3, "aten::native_batch_norm_backward", c.grad(), c.arg(0), optional(c, 1),
            running("running_mean"), running("running_var"), saved(1), saved(2), training,
            c.float_of("eps"), wanted(c, 0, 1, 2));
  c.give(0, [&] { return made[0]; });
  c.give(1, [&] { return made[1]; });
  c.give(2, [&] { return made[2]; });
}
// A batch of nothing: the first channel's parameters get zeros, statistics stay.
Term norm_of_nothing(GradContext& c) {
  const auto first = [&](ArgIndex i) { return arg(c, i).then("aten::select.int", 0, 0); };
  Term made = arg(c, 0).then("aten::clone");
  if (c.is_tensor(1)) made = made * first(1);
  return c.is_tensor(2) ? made + first(2) : made;
}
// Writes the running statistics, as the operator does.
void batch_norm(GradContext& c) {
  if (c.numel(0) == 0) return c.set_result(0, norm_of_nothing(c));
  c.set_result(0, c.ops(3, "aten::native_batch_norm", c.arg(0), optional(c, 1), optional(c, 2),
                        optional(c, 3), optional(c, 4), c.bool_of("training"),
                        c.float_of("momentum"), c.float_of("eps"))[0]);
}

// The parameter of each channel, once for each sample.
GradArg for_samples(GradContext& c, ArgIndex i, int64_t samples) {
  if (!c.is_tensor(i)) return nullptr;
  return arg(c, i).then("aten::repeat", IntVector{samples}).operator GradValue();
}
// A batch norm of one sample whose channels are those of all samples.
void instance_norm(GradContext& c) {
  if (c.numel(0) == 0) return c.set_result(0, norm_of_nothing(c));
  const int64_t samples = c.size(0, 0);
  const int64_t channels = c.size(0, 1);
  IntVector sizes(c.shape(0).begin(), c.shape(0).end());
  sizes[0] = 1;
  sizes[1] = samples * channels;
  const bool from_input = c.bool_of("use_input_stats");
  const GradArg mean = for_samples(c, 3, samples);
  const GradArg variance = for_samples(c, 4, samples);
  const GradValue x = reshape(arg(c, 0), sizes);
  const GradValue y =
      c.ops(3, "aten::native_batch_norm", x, for_samples(c, 1, samples), for_samples(c, 2, samples),
            mean, variance, from_input, c.float_of("momentum"), c.float_of("eps"))[0];
  c.set_result(0, Term(c, y).then("aten::reshape", c.sizes(0)));
  if (!from_input) return;
  const auto average = [&](const GradArg& all, ArgIndex i) {
    if (!c.is_tensor(i)) return;
    const Term by_sample = reshape(Term(c, all.value), IntVector{samples, channels});
    c.op("aten::copy_", c.arg(i),
         by_sample.then("aten::mean.dim", IntVector{0}, false).operator GradValue());
  };
  average(mean, 3);
  average(variance, 4);
}

// (grad, input, weight, running mean, running variance, mean, 1 / deviation, train, eps, mask)
void batch_norm_backward(GradContext& c) {
  const bool training = c.bool_of(7);
  IntVector dims{0};
  IntVector sizes(static_cast<size_t>(c.rank(1)), 1);
  sizes[1] = c.size(1, 1);
  for (int64_t d = 2; d < c.rank(1); ++d) dims.push_back(d);
  const auto channels = [&](const Term& t) { return reshape(t, sizes); };
  const Term g = arg(c, 0);
  const Term scaled_g = c.is_tensor(2) ? g * channels(arg(c, 2)) : g;
  Statistics s;
  if (training) {
    s = statistics(arg(c, 1), dims, channels(arg(c, 6)));
  } else {
    s = {arg(c, 1) - channels(arg(c, 3)), channels(rsqrt(arg(c, 4) + c.float_of(8)))};
  }
  if (is_wanted(c, 0)) {
    c.set_result(0, training ? norm_input_gradient(s, scaled_g, dims) : scaled_g * s.scale);
  }
  if (is_wanted(c, 1)) c.set_result(1, sum_over(g * (s.centered * s.scale), dims, false));
  if (is_wanted(c, 2)) c.set_result(2, sum_over(g, dims, false));
}

// --- norms of weights

IntVector dims_but(GradContext& c, int64_t dim) {
  IntVector dims;
  for (int64_t d = 0; d < c.rank(0); ++d)
    if (dim == -1 || d != dim) dims.push_back(d);
  return dims;
}
Term norm_but(const Term& x, const IntVector& dims, double p) {
  return dims.empty() ? abs(x) : x.then("aten::linalg_vector_norm", p, dims, true);
}
void weight_norm(GradContext& c) {
  const Term norm = norm_but(arg(c, 0), dims_but(c, c.int_of("dim")), 2);
  c.set_result(0, arg(c, 0) * (arg(c, 1) / norm));
  if (c.row().schema().returns.size() > 1) c.set_result(1, norm);
}
// The norms are taken anew, so that gradients go on through them.
void weight_norm_backward(GradContext& c) {
  const IntVector dims = dims_but(c, c.int_of("dim"));
  const Term norm = norm_but(arg(c, 1), dims, 2);
  const Term direction = arg(c, 1) / norm;
  const Term along = arg(c, 0) * direction;
  const Term of_g = dims.empty() ? along : sum_over(along, dims, true);
  c.set_result(0, arg(c, 2) / norm * (arg(c, 0) - of_g * direction));
  c.set_result(1, of_g);
}
void norm_except_dim(GradContext& c) {
  const Term norm = norm_but(arg(c, 0), dims_but(c, c.int_of("dim")), c.float_of("pow"));
  c.set_result(0, c.int_of("dim") == -1 ? reshape(norm, IntVector{}) : norm);
}
// Slices along `dim` whose norm is beyond the largest are scaled down to it.
void renorm(GradContext& c) {
  const int64_t dim = wrap_dim(c.int_of("dim"), c.rank(0));
  const double largest = c.float_of("maxnorm");
  const Term x = kept(c, 0);
  const Term norm = x.then("aten::linalg_vector_norm", c.scalar_of("p"), dims_but(c, dim), true);
  const Term factor = reciprocal(norm + 1e-7) * largest;
  c.set_result(0, x * choose(at_most(norm, largest), ones_like(norm), factor));
}

constexpr auto kDecomposed = DerivativeKind::kDecomposition;
constexpr uint32_t kStatistics = 0b11110;  // All results but the first.

constexpr DerivativeRow kRows[] = {
    {"aten::softmax.int", &softmax},
    {"aten::_softmax", &softmax},
    {"aten::_safe_softmax", &softmax},
    {"aten::log_softmax.int", &log_softmax},
    {"aten::_log_softmax", &log_softmax},
    {"aten::_softmax_backward_data", &softmax_backward},
    {"aten::_log_softmax_backward_data", &log_softmax_backward},
    {"aten::native_layer_norm", &native_layer_norm, kStatistics},
    {"aten::layer_norm", kDecomposed, &layer_norm},
    {"aten::native_layer_norm_backward", kDecomposed, &layer_norm_backward, kDifferentiatedAsOne},
    {"aten::native_group_norm", &native_group_norm},
    {"aten::group_norm", kDecomposed, &group_norm},
    {"aten::native_group_norm_backward", kDecomposed, &group_norm_backward},
    {"aten::rms_norm", kDecomposed, &rms_norm},
    {"aten::_fused_rms_norm", kDecomposed, &rms_norm},
    {"aten::native_batch_norm", &batch_norm_formula<Training::kByArgument, true>, kStatistics},
    {"aten::_native_batch_norm_legit", &batch_norm_formula<Training::kByArgument, true>,
     kStatistics},
    {"aten::_native_batch_norm_legit.no_stats", &batch_norm_formula<Training::kByArgument, false>,
     kStatistics},
    {"aten::_native_batch_norm_legit_no_training", &batch_norm_formula<Training::kNever, true>,
     kStatistics},
    {"aten::_native_batch_norm_legit_functional", &batch_norm_formula<Training::kByArgument, true>,
     kStatistics},
    {"aten::_batch_norm_with_update", &batch_norm_formula<Training::kAlways, true>, kStatistics},
    {"aten::_batch_norm_with_update_functional", &batch_norm_formula<Training::kAlways, true>,
     kStatistics},
    {"aten::_batch_norm_no_update", &batch_norm_formula<Training::kNever, true>, kStatistics},
    {"aten::_batch_norm_impl_index", &batch_norm_formula<Training::kByArgument, true>, kStatistics},
    {"aten::batch_norm", kDecomposed, &batch_norm},
    {"aten::instance_norm", kDecomposed, &instance_norm},
    {"aten::native_batch_norm_backward", kDecomposed, &batch_norm_backward, kDifferentiatedAsOne},
    {"aten::batch_norm_backward", kDecomposed, &batch_norm_backward, kDifferentiatedAsOne},
    {"aten::_weight_norm", kDecomposed, &weight_norm},
    {"aten::_weight_norm_interface", kDecomposed, &weight_norm},
    {"aten::_weight_norm_interface_backward", kDecomposed, &weight_norm_backward},
    {"aten::_weight_norm_differentiable_backward", kDecomposed, &weight_norm_backward},
    {"aten::norm_except_dim", kDecomposed, &norm_except_dim},
    {"aten::renorm", kDecomposed, &renorm},
};

}  // namespace

std::span<const DerivativeRow> normalizations_derivatives() { return kRows; }

}  // namespace tierup::ops::derivatives
