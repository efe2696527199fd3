#include "tierup/kernels/norm/layer_norm.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tierup/base/parallel.h"
#include "tierup/kernels/gemm/dense_rows.h"
#include "tierup/kernels/gemm/row_kernels.h"
#include "tierup/kernels/memory/floating_work.h"
#include "tierup/kernels/memory/same_dtype.h"
#include "tierup/kernels/memory/scratch.h"
#include "tierup/kernels/pointwise/pointwise_ops.h"
#include "tierup/kernels/reduce/reduce_moments.h"
#include "tierup/kernels/reduce/reduce_sum.h"

namespace tierup::kernels {
namespace {

constexpr auto kBad = ErrorCode::kInvalidArgument;

bool same_sizes(IntSpan a, IntSpan b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }

struct Rows {
  int64_t count = 1;
  int64_t size = 1;
};

// Splits the input into rows of normalized_shape and checks the parameters against it.
Rows split_rows(const Tensor& input, const IntVector& shape, const Tensor& weight,
                const Tensor& bias) {
  require(!shape.empty(), kBad,
          "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one "
          "element, but got normalized_shape = []");
  const IntSpan wanted(shape.data(), shape.size());
  for (const Tensor* parameter : {&weight, &bias}) {
    if (!(!parameter->defined() || same_sizes(parameter->sizes(), wanted))) {
      fail(kBad,
           "Expected weight and bias to be of same shape as normalized_shape, but got {} and "
           "normalized_shape = {}",
           parameter->defined() ? shape_string(parameter->sizes()) : "", shape_string(wanted));
    }
  }
  const auto rank = static_cast<size_t>(input.dim());
  if (!(rank >= shape.size() &&
        same_sizes(input.sizes().last(std::min(rank, shape.size())), wanted))) {
    fail(kBad,
         "Given normalized_shape={}, expected input with shape [*, {}], but got input of size{}",
         shape_string(wanted), shape_string(wanted), shape_string(input.sizes()));
  }
  Rows rows;
  rows.size = numel_of(wanted);
  rows.count = numel_of(input.sizes().first(rank - shape.size()));
  return rows;
}

struct LayerNormResult {
  Tensor out, mean, rstd;
};

LayerNormResult run_layer_norm(const Tensor& input, const IntVector& shape, const Tensor& weight,
                               const Tensor& bias, double eps, bool want_statistics) {
  const Rows rows = split_rows(input, shape, weight, bias);
  require_norm_dtypes(input, {&weight, &bias}, "layer_norm");
  const ScalarType work = work_type(input.dtype());
  const Tensor x = as_work(input, work);
  const Tensor gamma = as_work(weight, work);
  const Tensor beta = as_work(bias, work);
  LayerNormResult result;
  result.out = Tensor::empty(input.sizes(), work);
  if (want_statistics) {
    IntVector sizes(input.sizes().begin(), input.sizes().end());
    std::fill(sizes.end() - static_cast<std::ptrdiff_t>(shape.size()), sizes.end(), 1);
    result.mean = Tensor::empty(sizes, work);
    result.rstd = Tensor::empty(sizes, work);
  }
  dispatch_work(work, "LayerNormKernelImpl", [&]<typename Tag>(Tag) {
    using T = typename Tag::type;
    normalize_rows<T>(rows.count, rows.size, static_cast<T>(eps),
                      {.x = x.data<T>(),
                       .gamma = data_or_null<T>(gamma),
                       .beta = data_or_null<T>(beta),
                       .y = result.out.data<T>(),
                       .mean = want_statistics ? result.mean.data<T>() : nullptr,
                       .rstd = want_statistics ? result.rstd.data<T>() : nullptr});
  });
  result.out = to_dtype(result.out, input.dtype());
  if (want_statistics) {
    const ScalarType statistics = weight.defined() ? weight.dtype() : input.dtype();
    result.mean = to_dtype(result.mean, statistics);
    result.rstd = to_dtype(result.rstd, statistics);
  }
  return result;
}

double default_epsilon(ScalarType dtype) {
  return dtype == ScalarType::kDouble ? std::numeric_limits<double>::epsilon()
                                      : static_cast<double>(std::numeric_limits<float>::epsilon());
}

// Norms and factors are of twice the input's digits, or as many.
Tensor limit_norms(const Tensor& self, const Scalar& p, int64_t axis, double limit) {
  IntVector others;
  for (int64_t d = 0; d < self.dim(); ++d) {
    if (d != axis) others.push_back(d);
  }
  const bool is_real = is_floating(self.dtype());
  const Tensor norms =
      vector_norm(is_real ? to_dtype(self, ScalarType::kDouble) : self, p, others, true, {});
  const Tensor offset = pointwise({Body::kAdd}, {norms, Scalar(1e-7)});
  const Tensor factors = pointwise({Body::kDiv}, {Scalar(limit), offset});
  const Tensor too_long = pointwise({Body::kGt}, {norms, Scalar(limit)});
  const Tensor chosen = evaluate(where(too_long, Operand(factors), Operand(Scalar(1.0))));
  return pointwise({Body::kMul}, {self, is_real ? to_dtype(chosen, self.dtype()) : chosen});
}

// What one group of channels is normalised with.
template <typename T>
struct Group {
  int64_t channels, points;
  T mean, rstd;
  const T* gamma;  // Of the channels, or null; beta, too.
  const T* beta;
  const T* in;
  T* out;
};

template <typename T>
const T* data_at(const Tensor& tensor, int64_t index) {
  return tensor.defined() ? tensor.data<T>() + index : nullptr;
}

// Channels of few points are done as one line, with a factor for each number.
template <typename T>
void normalize_group(const Group<T>& g) {
  constexpr int64_t kFewPoints = 16;
  const RowKernels<T>& kernels = row_kernels<T>();
  const auto scale = [&](int64_t j) { return g.gamma != nullptr ? g.rstd * g.gamma[j] : g.rstd; };
  const auto shift = [&](int64_t j) {
    return (g.beta != nullptr ? g.beta[j] : T{0}) - g.mean * scale(j);
  };
  const int64_t size = g.channels * g.points;
  if (g.gamma == nullptr && g.beta == nullptr)
    return kernels.affine(g.in, size, scale(0), shift(0), g.out);
  if (g.points >= kFewPoints || g.channels == 1) {
    for (int64_t j = 0; j < g.channels; ++j) {
      const int64_t at = j * g.points;
      kernels.affine(g.in + at, g.points, scale(j), shift(j), g.out + at);
    }
    return;
  }
  auto* const scales = static_cast<T*>(thread_scratch(static_cast<size_t>(2 * size) * sizeof(T)));
  T* const shifts = scales + size;
  for (int64_t j = 0; j < g.channels; ++j) {
    std::fill_n(scales + j * g.points, g.points, scale(j));
    std::fill_n(shifts + j * g.points, g.points, shift(j));
  }
  kernels.affine_by_column(g.in, size, scales, shifts, g.out);
}

// The root mean square of complex numbers is that of their squares, not of their magnitudes.
std::tuple<Tensor, Tensor> complex_rms_norm(const Tensor& input, int64_t normalized,
                                            const Tensor& weight, double epsilon) {
  IntVector dims;
  for (int64_t d = input.dim() - normalized; d < input.dim(); ++d) dims.push_back(d);
  const Tensor squares = mean(pointwise({Body::kSquare}, {input}), dims, true, std::nullopt);
  const Tensor offset = pointwise({Body::kAdd}, {squares, Scalar(epsilon)});
  const Tensor scales = pointwise({Body::kRsqrt}, {offset});
  const Tensor out = pointwise({Body::kMul}, {input, scales});
  return {weight.defined() ? pointwise({Body::kMul}, {out, weight}) : out, scales};
}

}  // namespace

Tensor layer_norm(const Tensor& input, const IntVector& normalized_shape, const Tensor& weight,
                  const Tensor& bias, double eps) {
  return run_layer_norm(input, normalized_shape, weight, bias, eps, false).out;
}

std::tuple<Tensor, Tensor, Tensor> native_layer_norm(const Tensor& input,
                                                     const IntVector& normalized_shape,
                                                     const Tensor& weight, const Tensor& bias,
                                                     double eps) {
  LayerNormResult result = run_layer_norm(input, normalized_shape, weight, bias, eps, true);
  return {result.out, result.mean, result.rstd};
}

Tensor rms_norm(const Tensor& input, const IntVector& normalized_shape, const Tensor& weight,
                std::optional<double> eps) {
  return std::get<0>(fused_rms_norm(input, normalized_shape, weight, eps));
}

std::tuple<Tensor, Tensor> fused_rms_norm(const Tensor& input, const IntVector& normalized_shape,
                                          const Tensor& weight, std::optional<double> eps) {
  const Rows rows = split_rows(input, normalized_shape, weight, Tensor());
  if (is_complex(input.dtype())) {
    return complex_rms_norm(input, static_cast<int64_t>(normalized_shape.size()), weight,
                            eps.value_or(default_epsilon(real_type_of(input.dtype()))));
  }
  const ScalarType work = work_type(input.dtype());
  const Tensor x = as_work(input, work);
  const Tensor gamma = as_work(weight, work);
  const Tensor out = Tensor::empty(input.sizes(), work);
  IntVector sizes(input.sizes().begin(), input.sizes().end());
  std::fill(sizes.end() - static_cast<std::ptrdiff_t>(normalized_shape.size()), sizes.end(), 1);
  const Tensor scales = Tensor::empty(sizes, work);
  const double epsilon = eps.value_or(default_epsilon(input.dtype()));
  dispatch_work(work, "rms_norm", [&]<typename Tag>(Tag) {
    using T = typename Tag::type;
    const RowKernels<T>& kernels = row_kernels<T>();
    parallel_for(0, rows.count, grain_of(rows.size), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T* row = x.data<T>() + i * rows.size;
        const T mean = kernels.sum_of_squares(row, rows.size) / static_cast<T>(rows.size);
        const T scale = T{1} / std::sqrt(mean + static_cast<T>(epsilon));
        scales.data<T>()[i] = scale;
        kernels.normalize(row, rows.size, 0, scale, data_or_null<T>(gamma), nullptr,
                          out.data<T>() + i * rows.size);
      }
    });
  });
  return {to_dtype(out, input.dtype()), scales};
}

Tensor group_norm(const Tensor& input, int64_t num_groups, const Tensor& weight, const Tensor& bias,
                  double eps) {
  require(input.dim() >= 2, kBad, "Expected at least 2 dimensions for input tensor but received {}",
          input.dim());
  const int64_t n = input.size(0);
  const int64_t c = input.size(1);
  const int64_t points = numel_of(input.sizes().subspan(2));
  return std::get<0>(native_group_norm(input, weight, bias, n, c, points, num_groups, eps));
}

std::tuple<Tensor, Tensor, Tensor> native_group_norm(const Tensor& input, const Tensor& weight,
                                                     const Tensor& bias, int64_t n, int64_t c,
                                                     int64_t hxw, int64_t group, double eps) {
  if (!(group > 0 && c % group == 0)) {
    fail(kBad,
         "Expected number of channels in input to be divisible by num_groups, but got input of "
         "shape {} "
         "and num_groups={}",
         shape_string(input.sizes()), group);
  }
  require(c > 0, kBad, "Expected number of channels to be greater than 0, got {}", c);
  require(hxw > 0, kBad, "Expected HxW to be greater than 0, got {}", hxw);
  if (!(n >= 0 && input.numel() == numel_of(IntVector{n, c, hxw}))) {
    fail(kBad, "group_norm: sizes {} x {} x {} do not fit input of shape {}", n, c, hxw,
         shape_string(input.sizes()));
  }
  for (const Tensor* parameter : {&weight, &bias}) {
    if (!(!parameter->defined() || (parameter->dim() == 1 && parameter->numel() == c))) {
      fail(kBad,
           "Expected weight and bias to be vectors of size equal to the number of channels in "
           "input, but "
           "got {} and input of shape {}",
           parameter->defined() ? shape_string(parameter->sizes()) : "",
           shape_string(input.sizes()));
    }
  }
  require_norm_dtypes(input, {&weight, &bias}, "group_norm");
  const ScalarType work = work_type(input.dtype());
  const Tensor x = as_work(input, work);
  const Tensor gamma = as_work(weight, work);
  const Tensor beta = as_work(bias, work);
  const Tensor out = Tensor::empty(input.sizes(), work);
  const Tensor means = Tensor::empty(IntVector{n, group}, work);
  const Tensor rstds = Tensor::empty(IntVector{n, group}, work);
  const int64_t channels = c / group;
  dispatch_work(work, "GroupNormKernelImpl", [&]<typename Tag>(Tag) {
    using T = typename Tag::type;
    const RowKernels<T>& kernels = row_kernels<T>();
    parallel_for(0, n * group, grain_of(channels * hxw), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T* row = x.data<T>() + i * channels * hxw;
        T mean = 0;
        T variance = 0;
        kernels.moments(row, channels * hxw, &mean, &variance);
        const T rstd = T{1} / std::sqrt(std::max(variance, T{0}) + static_cast<T>(eps));
        means.data<T>()[i] = mean;
        rstds.data<T>()[i] = rstd;
        const int64_t channel = i % group * channels;
        normalize_group<T>({channels, hxw, mean, rstd, data_at<T>(gamma, channel),
                            data_at<T>(beta, channel), row, out.data<T>() + i * channels * hxw});
      }
    });
  });
  const ScalarType statistics = weight.defined() ? weight.dtype() : input.dtype();
  const MemoryFormat format = input.suggest_memory_format();
  return {contiguous(to_dtype(out, input.dtype()), format), to_dtype(means, statistics),
          to_dtype(rstds, statistics)};
}

Tensor renorm(const Tensor& self, const Scalar& p, int64_t dim, const Scalar& maxnorm) {
  const double power = p.to_double();
  const double limit = maxnorm.to_double();
  require(power > 0, kBad, "renorm: non-positive norm-degree not supported");
  require(limit >= 0, kBad, "renorm: expected maxnorm to be >= 0 but got {}", limit);
  require(self.dim() > 1, kBad, "renorm: input needs at least 2 dimensions, got {} dimensions",
          self.dim());
  require(is_floating(self.dtype()) || is_complex(self.dtype()), kBad,
          "renorm: expected a floating-point tensor, got {}", scalar_type_name(self.dtype()));
  const int64_t axis = wrap_dim(dim, self.dim());
  if (self.numel() == 0) return clone(self, MemoryFormat::kContiguous);
  return limit_norms(is_complex(self.dtype()) ? self : contiguous(self), p, axis, limit);
}

}  // namespace tierup::kernels
