#include "tierup/kernels/norm/batch_norm.h"

#include <algorithm>
#include <cmath>

#include "tierup/base/parallel.h"
#include "tierup/kernels/gemm/row_kernels.h"
#include "tierup/kernels/memory/floating_work.h"
#include "tierup/kernels/memory/memory_reuse.h"
#include "tierup/kernels/memory/same_dtype.h"
#include "tierup/kernels/shape/view.h"

namespace tierup::kernels {
namespace {

constexpr auto kBad = ErrorCode::kInvalidArgument;

// Input seen as [batch, channels, points]; channels innermost if `channels_last`.
struct Layout {
  int64_t batch = 1;
  int64_t channels = 1;
  int64_t points = 1;
  bool channels_last = false;
};

struct Statistics {
  Tensor mean;      // [C], of the work type.
  Tensor variance;  // Biased.
};

void check_channels(const Tensor& input, const Tensor& parameter, const char* name) {
  require(!parameter.defined() || parameter.numel() == input.size(1), kBad,
          "{} should contain {} elements not {}", name, input.size(1),
          parameter.defined() ? parameter.numel() : 0);
}

Layout layout_of(const Tensor& x, MemoryFormat format) {
  Layout l;
  l.batch = x.size(0);
  l.channels = x.size(1);
  l.points = numel_of(x.sizes().subspan(2));
  // A plain [N, C] matrix has its channels innermost, too.
  l.channels_last = format != MemoryFormat::kContiguous || l.points == 1;
  return l;
}

// Sums in double, channel by channel in one fixed order.
template <typename T>
void statistics_of_columns(const Layout& l, const T* x, T* mean, T* variance) {
  const int64_t rows = l.batch * l.points;
  parallel_for(
      0, l.channels, std::max<int64_t>(16, grain_of(rows)), [&](int64_t begin, int64_t end) {
        std::vector<double> sums(static_cast<size_t>(end - begin), 0.0);
        std::vector<double> squares(sums);
        for (int64_t r = 0; r < rows; ++r) {
          for (int64_t c = begin; c < end; ++c)
            sums[static_cast<size_t>(c - begin)] += static_cast<double>(x[r * l.channels + c]);
        }
        for (double& sum : sums) sum /= static_cast<double>(rows);
        for (int64_t r = 0; r < rows; ++r) {
          for (int64_t c = begin; c < end; ++c) {
            const double d =
                static_cast<double>(x[r * l.channels + c]) - sums[static_cast<size_t>(c - begin)];
            squares[static_cast<size_t>(c - begin)] += d * d;
          }
        }
        for (int64_t c = begin; c < end; ++c) {
          mean[c] = static_cast<T>(sums[static_cast<size_t>(c - begin)]);
          variance[c] =
              static_cast<T>(squares[static_cast<size_t>(c - begin)] / static_cast<double>(rows));
        }
      });
}

// Moments of each sample's plane, combined over the batch.
template <typename T>
void statistics_of_planes(const Layout& l, const T* x, T* mean, T* variance) {
  const RowKernels<T>& kernels = row_kernels<T>();
  const int64_t grain = grain_of(l.batch * l.points);
  parallel_for(0, l.channels, grain, [&](int64_t begin, int64_t end) {
    std::vector<double> means(static_cast<size_t>(l.batch));
    for (int64_t c = begin; c < end; ++c) {
      double mean_sum = 0;
      double variance_sum = 0;
      for (int64_t n = 0; n < l.batch; ++n) {
        T plane_mean = 0;
        T plane_variance = 0;
        kernels.moments(x + (n * l.channels + c) * l.points, l.points, &plane_mean,
                        &plane_variance);
        means[static_cast<size_t>(n)] = static_cast<double>(plane_mean);
        mean_sum += static_cast<double>(plane_mean);
        variance_sum += static_cast<double>(plane_variance);
      }
      const double center = mean_sum / static_cast<double>(l.batch);
      for (const double m : means) variance_sum += (m - center) * (m - center);
      mean[c] = static_cast<T>(center);
      variance[c] = static_cast<T>(variance_sum / static_cast<double>(l.batch));
    }
  });
}

Statistics batch_statistics(const Layout& l, const Tensor& x) {
  Statistics s{Tensor::empty(IntVector{l.channels}, x.dtype()),
               Tensor::empty(IntVector{l.channels}, x.dtype())};
  dispatch_work(x.dtype(), "batch_norm", [&]<typename Tag>(Tag) {
    using T = typename Tag::type;
    const auto run = l.channels_last ? &statistics_of_columns<T> : &statistics_of_planes<T>;
    run(l, x.data<T>(), s.mean.data<T>(), s.variance.data<T>());
  });
  return s;
}

// y = x * scale[c] + shift[c].
template <typename T>
void apply_affine(const Layout& l, const T* x, const T* scale, const T* shift, T* y) {
  const RowKernels<T>& kernels = row_kernels<T>();
  const int64_t rows = l.channels_last ? l.batch * l.points : l.batch * l.channels;
  const int64_t size = l.channels_last ? l.channels : l.points;
  parallel_for(0, rows, grain_of(size), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      if (l.channels_last) {
        kernels.affine_by_column(x + r * size, size, scale, shift, y + r * size);
      } else {
        kernels.affine(x + r * size, size, scale[r % l.channels], shift[r % l.channels],
                       y + r * size);
      }
    }
  });
}

// running += momentum * (batch - running), in the work type.
template <typename T>
void move_running(const Tensor& running, const T* batch, int64_t count, double momentum,
                  double factor) {
  if (!running.defined()) return;
  check_no_internal_overlap(running);
  const Tensor old = as_work(running, kDTypeOf<T>);
  const Tensor next = Tensor::empty(IntVector{count}, kDTypeOf<T>);
  for (int64_t c = 0; c < count; ++c) {
    next.data<T>()[c] = static_cast<T>(momentum * static_cast<double>(batch[c]) * factor +
                                       (1 - momentum) * static_cast<double>(old.data<T>()[c]));
  }
  copy_into(running, next);
  running.bump_version();
}

struct BatchNormResult {
  Tensor out, mean, rstd;
};

BatchNormResult run_batch_norm(const Tensor& input, const Tensor& weight, const Tensor& bias,
                               const Tensor& running_mean, const Tensor& running_var, bool training,
                               double momentum, double eps, bool is_dying = false) {
  if (!(input.dim() >= 2)) {
    fail(kBad, "batch_norm: expected input with at least 2 dimensions, got {}",
         shape_string(input.sizes()));
  }
  check_channels(input, running_mean, "running_mean");
  check_channels(input, running_var, "running_var");
  check_channels(input, weight, "weight");
  check_channels(input, bias, "bias");
  require_norm_dtypes(input, {&weight, &bias, &running_mean, &running_var}, "batch_norm");
  require(training || (running_mean.defined() && running_var.defined()), kBad,
          "Expected running_mean and running_var to be defined when training=False");
  const ScalarType work = work_type(input.dtype());
  const MemoryFormat format = input.suggest_memory_format();
  const Tensor x = as_work(input, work, format);
  const Layout l = layout_of(x, format);
  require(!training || l.batch * l.points > 0 || l.channels == 0, kBad,
          "batch_norm: no values to take statistics of");
  const Statistics s = training
                           ? batch_statistics(l, x)
                           : Statistics{as_work(running_mean, work), as_work(running_var, work)};
  const Tensor gamma = as_work(weight, work);
  const Tensor beta = as_work(bias, work);
  Tensor out;
  if (is_dying) out = reuse_memory(x, work, x.sizes(), strides_for(x.sizes(), format));
  if (!out.defined()) out = Tensor::empty(input.sizes(), work, format);
  const Tensor rstd = Tensor::empty(IntVector{l.channels}, work);
  const Tensor scale = Tensor::empty(IntVector{2, l.channels}, work);
  dispatch_work(work, "batch_norm", [&]<typename Tag>(Tag) {
    using T = typename Tag::type;
    T* scales = scale.data<T>();
    T* shifts = scales + l.channels;
    for (int64_t c = 0; c < l.channels; ++c) {
      rstd.data<T>()[c] = T{1} / std::sqrt(s.variance.data<T>()[c] + static_cast<T>(eps));
      scales[c] = gamma.defined() ? rstd.data<T>()[c] * gamma.data<T>()[c] : rstd.data<T>()[c];
      shifts[c] = (beta.defined() ? beta.data<T>()[c] : T{0}) - s.mean.data<T>()[c] * scales[c];
    }
    apply_affine(l, x.data<T>(), scales, shifts, out.data<T>());
    if (!training) return;
    const auto count = static_cast<double>(l.batch * l.points);
    move_running(running_mean, s.mean.data<T>(), l.channels, momentum, 1.0);
    move_running(running_var, s.variance.data<T>(), l.channels, momentum, count / (count - 1));
  });
  return {to_dtype(out, input.dtype()), s.mean, rstd};
}

// Each of the repeated statistics [N * C] averaged over the batch, back into [C].
void store_average(const Tensor& running, const Tensor& repeated, int64_t batch) {
  if (!running.defined()) return;
  const int64_t channels = running.numel();
  const Tensor values = as_work(repeated, ScalarType::kDouble);
  const Tensor average = Tensor::empty(IntVector{channels}, ScalarType::kDouble);
  for (int64_t c = 0; c < channels; ++c) {
    double sum = 0;
    for (int64_t n = 0; n < batch; ++n) sum += values.data<double>()[n * channels + c];
    average.data<double>()[c] = sum / static_cast<double>(batch);
  }
  copy_into(running, average);
  running.bump_version();
}

}  // namespace

Tensor batch_norm(const Tensor& input, const Tensor& weight, const Tensor& bias,
                  const Tensor& running_mean, const Tensor& running_var, bool training,
                  double momentum, double eps) {
  if (input.numel() == 0) return empty_like(input, input.dtype());
  return run_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps)
      .out;
}

Tensor batch_norm_of_dying(const Tensor& input, const Tensor& weight, const Tensor& bias,
                           const Tensor& running_mean, const Tensor& running_var, bool training,
                           double momentum, double eps) {
  if (training || input.numel() == 0)
    return batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps);
  return run_batch_norm(input, weight, bias, running_mean, running_var, false, momentum, eps, true)
      .out;
}

std::tuple<Tensor, Tensor, Tensor> native_batch_norm(const Tensor& input, const Tensor& weight,
                                                     const Tensor& bias, const Tensor& running_mean,
                                                     const Tensor& running_var, bool training,
                                                     double momentum, double eps) {
  BatchNormResult r =
      run_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps);
  const ScalarType statistics = weight.defined() ? weight.dtype() : input.dtype();
  if (training) return {r.out, to_dtype(r.mean, statistics), to_dtype(r.rstd, statistics)};
  return {r.out, Tensor::empty(IntVector{0}, statistics), Tensor::empty(IntVector{0}, statistics)};
}

std::tuple<Tensor, Tensor, Tensor> batch_norm_no_stats(const Tensor& input, const Tensor& weight,
                                                       const Tensor& bias, bool training,
                                                       double momentum, double eps) {
  return native_batch_norm(input, weight, bias, Tensor(), Tensor(), training, momentum, eps);
}

std::tuple<Tensor, Tensor, Tensor> batch_norm_no_training(const Tensor& input, const Tensor& weight,
                                                          const Tensor& bias,
                                                          const Tensor& running_mean,
                                                          const Tensor& running_var,
                                                          double momentum, double eps) {
  return native_batch_norm(input, weight, bias, running_mean, running_var, false, momentum, eps);
}

std::tuple<Tensor, Tensor, Tensor, Tensor> batch_norm_with_update(
    const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
    const Tensor& running_var, double momentum, double eps) {
  auto [out, mean, rstd] =
      native_batch_norm(input, weight, bias, running_mean, running_var, true, momentum, eps);
  return {out, mean, rstd, Tensor::empty(IntVector{0}, ScalarType::kByte)};
}

Tensor instance_norm(const Tensor& input, const Tensor& weight, const Tensor& bias,
                     const Tensor& running_mean, const Tensor& running_var, bool use_input_stats,
                     double momentum, double eps) {
  if (!(input.dim() >= 2)) {
    fail(kBad, "instance_norm: expected input with at least 2 dimensions, got {}",
         shape_string(input.sizes()));
  }
  require(use_input_stats || (running_mean.defined() && running_var.defined()), kBad,
          "Expected running_mean and running_var to be defined when use_input_stats=False");
  const int64_t batch = input.size(0);
  IntVector sizes(input.sizes().begin(), input.sizes().end());
  sizes[0] = 1;
  sizes[1] = batch * input.size(1);
  const auto repeated = [&](const Tensor& t) {
    if (!t.defined()) return t;
    return reshape(clone(expand_to(t, IntVector{batch, input.size(1)}), MemoryFormat::kContiguous),
                   IntVector{sizes[1]});
  };
  check_channels(input, running_mean, "running_mean");
  check_channels(input, running_var, "running_var");
  check_channels(input, weight, "weight");
  check_channels(input, bias, "bias");
  const Tensor mean = repeated(running_mean);
  const Tensor variance = repeated(running_var);
  const Tensor flat = reshape(contiguous(input), sizes);
  const Tensor out = batch_norm(flat, repeated(weight), repeated(bias), mean, variance,
                                use_input_stats, momentum, eps);
  if (use_input_stats) {
    store_average(running_mean, mean, batch);
    store_average(running_var, variance, batch);
  }
  IntVector original(input.sizes().begin(), input.sizes().end());
  return contiguous(reshape(contiguous(out), original), input.suggest_memory_format());
}

}  // namespace tierup::kernels
