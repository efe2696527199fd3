#include "tierup/kernels/norm/norm_backward.h"

#include <algorithm>
#include <cmath>

#include "tierup/base/parallel.h"
#include "tierup/kernels/memory/floating_work.h"
#include "tierup/kernels/norm/gradient_rows.h"

namespace tierup::kernels {
namespace {

constexpr auto kBad = ErrorCode::kInvalidArgument;

void check_mask(const std::vector<bool>& mask) {
  require(mask.size() == 3, kBad, "output_mask must have 3 entries, but has {}", mask.size());
}

void check_sizes(const Tensor& grad, const Tensor& input, const char* what) {
  if (std::equal(grad.sizes().begin(), grad.sizes().end(), input.sizes().begin(),
                 input.sizes().end()))
    return;
  fail(kBad, "{}: gradient of size {} does not fit input of size {}", what,
       shape_string(grad.sizes()), shape_string(input.sizes()));
}

void check_numel(const Tensor& tensor, int64_t numel, const char* what) {
  if (tensor.defined() && tensor.numel() != numel) {
    fail(kBad, "{}: expected {} elements, but got {}", what, numel, shape_string(tensor.sizes()));
  }
}

// Sums of g and of g (x - center) over a run.
struct RunSums {
  double g = 0;
  double gx = 0;
};

// Gives results their dtypes; undefined ones stay so.
NormGradients narrowed(const NormGradients& wide, const Tensor& input, const Tensor& weight) {
  const ScalarType parameters = weight.defined() ? weight.dtype() : input.dtype();
  const auto to = [](const Tensor& t, ScalarType dtype) {
    return t.defined() ? to_dtype(t, dtype) : t;
  };
  const auto& [dx, dweight, dbias] = wide;
  return {to(dx, input.dtype()), to(dweight, parameters), to(dbias, parameters)};
}

// A zeroed tensor, if wanted.
Tensor zeros_if(bool wanted, IntSpan sizes, ScalarType dtype) {
  if (!wanted) return {};
  Tensor out = Tensor::empty(sizes, dtype);
  fill(out, 0);
  return out;
}

template <typename T>
void layer_rows(int64_t count, int64_t size, const T* g, const T* x, const T* mean, const T* rstd,
                const T* gamma, T* dx) {
  const GradientRows<T>& rows = gradient_rows<T>();
  parallel_for(0, count, grain_of(size), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const T* gi = g + i * size;
      const T* xi = x + i * size;
      double sum = 0;
      double sum_x = 0;
      if (gamma != nullptr) {
        rows.scaled_sums(gi, gamma, xi, size, mean[i], &sum, &sum_x);
      } else {
        rows.sums(gi, xi, size, mean[i], &sum, &sum_x);
      }
      const T r = rstd[i];
      const T shift = static_cast<T>(sum / static_cast<double>(size));
      const T slope = static_cast<T>(sum_x * static_cast<double>(r) * static_cast<double>(r) /
                                     static_cast<double>(size));
      rows.combine_scaled(gi, gamma, xi, size, {mean[i], r, shift, slope}, dx + i * size);
    }
  });
}

// Sums over rows, column by column; threads share the columns.
template <typename T>
void layer_columns(int64_t count, int64_t size, const T* g, const T* x, const T* mean,
                   const T* rstd, T* dgamma, T* dbeta) {
  const GradientRows<T>& rows = gradient_rows<T>();
  parallel_for(0, size, std::max<int64_t>(16, grain_of(count)), [&](int64_t begin, int64_t end) {
    std::vector<double> of_weight(static_cast<size_t>(end - begin), 0.0);
    std::vector<double> of_bias(of_weight);
    for (int64_t i = 0; i < count; ++i) {
      const int64_t at = i * size + begin;
      rows.add_columns(g + at, x + at, end - begin, mean[i], rstd[i], of_weight.data(),
                       of_bias.data());
    }
    for (int64_t j = begin; j < end; ++j) {
      const auto at = static_cast<size_t>(j - begin);
      if (dgamma != nullptr) dgamma[j] = static_cast<T>(of_weight[at]);
      if (dbeta != nullptr) dbeta[j] = static_cast<T>(of_bias[at]);
    }
  });
}

template <typename T>
T* data_or_none(const Tensor& tensor) {
  return tensor.defined() ? tensor.data<T>() : nullptr;
}

// Sums of each plane [i] of `planes` of `size` elements, centred at center(i).
template <typename T, typename Center>
std::vector<RunSums> plane_sums(int64_t planes, int64_t size, const T* g, const T* x,
                                const Center& center) {
  std::vector<RunSums> sums(static_cast<size_t>(planes));
  const GradientRows<T>& rows = gradient_rows<T>();
  parallel_for(0, planes, grain_of(size), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      RunSums& of_plane = sums[static_cast<size_t>(i)];
      rows.sums(g + i * size, x + i * size, size, center(i), &of_plane.g, &of_plane.gx);
    }
  });
  return sums;
}

struct Groups {
  int64_t n;
  int64_t c;
  int64_t points;
  int64_t group;
  int64_t width() const { return c / group; }  // Channels of one group.
};

template <typename T>
void group_input(const Groups& s, const std::vector<RunSums>& sums, const T* g, const T* x,
                 const T* mean, const T* rstd, const T* gamma, T* dx) {
  const double count = static_cast<double>(s.width() * s.points);
  parallel_for(0, s.n * s.group, grain_of(s.width() * s.points), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const T r = rstd[i];
      double sum = 0;
      double sum_x = 0;
      for (int64_t k = 0; k < s.width(); ++k) {
        const int64_t channel = i % s.group * s.width() + k;
        const double weight = gamma != nullptr ? static_cast<double>(gamma[channel]) : 1.0;
        const RunSums& plane = sums[static_cast<size_t>(i * s.width() + k)];
        sum += plane.g * weight;
        sum_x += plane.gx * weight;
      }
      const T shift = static_cast<T>(sum / count);
      const T slope =
          static_cast<T>(sum_x * static_cast<double>(r) * static_cast<double>(r) / count);
      for (int64_t k = 0; k < s.width(); ++k) {
        const int64_t channel = i % s.group * s.width() + k;
        const T weight = gamma != nullptr ? gamma[channel] : T{1};
        const int64_t at = (i * s.width() + k) * s.points;
        for (int64_t j = at; j < at + s.points; ++j)
          dx[j] = r * (g[j] * weight - shift - (x[j] - mean[i]) * slope);
      }
    }
  });
}

// A batch of channels: planes of `points` elements, or, of one point each, rows of a matrix.
struct Channels {
  int64_t batch;
  int64_t count;
  int64_t points;
};

// The sums of each channel, centred at its mean.
template <typename T>
std::vector<RunSums> channel_sums(const Channels& s, const T* g, const T* x, const T* mean) {
  std::vector<RunSums> totals(static_cast<size_t>(s.count));
  if (s.points == 1) {
    const GradientRows<T>& rows = gradient_rows<T>();
    const int64_t grain = std::max<int64_t>(16, grain_of(s.batch));
    parallel_for(0, s.count, grain, [&](int64_t begin, int64_t end) {
      std::vector<double> of_g(static_cast<size_t>(end - begin), 0.0);
      std::vector<double> of_gx(of_g);
      for (int64_t i = 0; i < s.batch; ++i) {
        const int64_t at = i * s.count + begin;
        rows.add_column_sums(g + at, x + at, end - begin, mean + begin, of_g.data(), of_gx.data());
      }
      for (int64_t k = begin; k < end; ++k) {
        const auto at = static_cast<size_t>(k - begin);
        totals[static_cast<size_t>(k)] = {of_g[at], of_gx[at]};
      }
    });
    return totals;
  }
  const std::vector<RunSums> sums = plane_sums<T>(s.batch * s.count, s.points, g, x,
                                                  [&](int64_t i) { return mean[i % s.count]; });
  for (size_t i = 0; i < sums.size(); ++i) {
    RunSums& total = totals[i % totals.size()];
    total.g += sums[i].g;
    total.gx += sums[i].gx;
  }
  return totals;
}

// What gives a channel's gradients, all channels' numbers of a kind together.
template <typename T>
struct ChannelFactors {
  explicit ChannelFactors(int64_t count)
      : scale(static_cast<size_t>(count)), shift(scale), slope(scale) {}
  std::vector<T> scale, shift, slope;
};

template <typename T>
void channel_input(const Channels& s, const ChannelFactors<T>& factors, const T* g, const T* x,
                   const T* mean, T* dx) {
  const GradientRows<T>& rows = gradient_rows<T>();
  const bool is_matrix = s.points == 1;
  const int64_t size = is_matrix ? s.count : s.points;
  const int64_t runs = is_matrix ? s.batch : s.batch * s.count;
  parallel_for(0, runs, grain_of(size), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t at = i * size;
      if (is_matrix) {
        rows.combine_columns(
            g + at, x + at, size,
            {mean, factors.scale.data(), factors.shift.data(), factors.slope.data()}, dx + at);
        continue;
      }
      const auto k = static_cast<size_t>(i % s.count);
      rows.combine(g + at, x + at, size,
                   {mean[k], factors.scale[k], factors.shift[k], factors.slope[k]}, dx + at);
    }
  });
}

}  // namespace

NormGradients layer_norm_backward(const Tensor& grad, const Tensor& input,
                                  const IntVector& normalized_shape, const Tensor& mean,
                                  const Tensor& rstd, const Tensor& weight, const Tensor& /*bias*/,
                                  const std::vector<bool>& output_mask) {
  check_mask(output_mask);
  check_sizes(grad, input, "native_layer_norm_backward");
  const size_t rank = input.sizes().size();
  require(rank >= normalized_shape.size(), kBad, "normalized_shape has more dimensions than input");
  const int64_t size = numel_of(normalized_shape);
  const int64_t count = numel_of(input.sizes().first(rank - normalized_shape.size()));
  require(size * count == input.numel(), kBad, "normalized_shape does not fit the input");
  check_numel(weight, size, "native_layer_norm_backward: weight");
  check_numel(mean, count, "native_layer_norm_backward: mean");
  check_numel(rstd, count, "native_layer_norm_backward: rstd");
  const ScalarType work = work_type(input.dtype());
  const Tensor g = as_work(grad, work);
  const Tensor x = as_work(input, work);
  const Tensor center = as_work(mean, work);
  const Tensor scale = as_work(rstd, work);
  const Tensor gamma = as_work(weight, work);
  const Tensor dx = output_mask[0] ? Tensor::empty(input.sizes(), work) : Tensor();
  const Tensor dweight = zeros_if(output_mask[1], normalized_shape, work);
  const Tensor dbias = zeros_if(output_mask[2], normalized_shape, work);
  dispatch_work(work, "native_layer_norm_backward", [&]<typename Tag>(Tag) {
    using T = typename Tag::type;
    if (dx.defined()) {
      layer_rows<T>(count, size, g.data<T>(), x.data<T>(), center.data<T>(), scale.data<T>(),
                    data_or_null<T>(gamma), dx.data<T>());
    }
    if (dweight.defined() || dbias.defined()) {
      layer_columns<T>(count, size, g.data<T>(), x.data<T>(), center.data<T>(), scale.data<T>(),
                       data_or_none<T>(dweight), data_or_none<T>(dbias));
    }
  });
  return narrowed({dx, dweight, dbias}, input, weight);
}

NormGradients group_norm_backward(const Tensor& grad, const Tensor& input, const Tensor& mean,
                                  const Tensor& rstd, const Tensor& weight, int64_t n, int64_t c,
                                  int64_t hxw, int64_t group,
                                  const std::vector<bool>& output_mask) {
  check_mask(output_mask);
  check_sizes(grad, input, "native_group_norm_backward");
  require(
      n >= 0 && c >= 0 && hxw >= 0 && group > 0 && c % group == 0 && input.numel() == n * c * hxw,
      kBad, "native_group_norm_backward: {} x {} x {} in {} groups do not fit {} elements", n, c,
      hxw, group, input.numel());
  check_numel(weight, c, "native_group_norm_backward: weight");
  check_numel(mean, n * group, "native_group_norm_backward: mean");
  check_numel(rstd, n * group, "native_group_norm_backward: rstd");
  const Groups s{n, c, hxw, group};
  const ScalarType work = work_type(input.dtype());
  const Tensor g = as_work(grad, work);
  const Tensor x = as_work(input, work);
  const Tensor center = as_work(mean, work);
  const Tensor scale = as_work(rstd, work);
  const Tensor gamma = as_work(weight, work);
  const Tensor dx = output_mask[0] ? Tensor::empty(input.sizes(), work) : Tensor();
  const Tensor dweight = zeros_if(output_mask[1], IntVector{c}, work);
  const Tensor dbias = zeros_if(output_mask[2], IntVector{c}, work);
  dispatch_work(work, "native_group_norm_backward", [&]<typename Tag>(Tag) {
    using T = typename Tag::type;
    if (c == 0) return;
    const T* m = center.data<T>();
    const std::vector<RunSums> sums = plane_sums<T>(n * c, hxw, g.data<T>(), x.data<T>(),
                                                    [&](int64_t i) { return m[i / s.width()]; });
    if (dx.defined()) {
      group_input<T>(s, sums, g.data<T>(), x.data<T>(), m, scale.data<T>(), data_or_null<T>(gamma),
                     dx.data<T>());
    }
    for (int64_t channel = 0; channel < c; ++channel) {
      double of_weight = 0;
      double of_bias = 0;
      for (int64_t i = 0; i < n; ++i) {
        const RunSums& plane = sums[static_cast<size_t>(i * c + channel)];
        of_weight +=
            plane.gx * static_cast<double>(scale.data<T>()[i * group + channel / s.width()]);
        of_bias += plane.g;
      }
      if (dweight.defined()) dweight.data<T>()[channel] = static_cast<T>(of_weight);
      if (dbias.defined()) dbias.data<T>()[channel] = static_cast<T>(of_bias);
    }
  });
  return narrowed({dx, dweight, dbias}, input, weight);
}

NormGradients batch_norm_backward(const Tensor& grad, const Tensor& input, const Tensor& weight,
                                  const Tensor& running_mean, const Tensor& running_var,
                                  const Tensor& save_mean, const Tensor& save_invstd, bool train,
                                  double eps, const std::vector<bool>& output_mask) {
  check_mask(output_mask);
  check_sizes(grad, input, "native_batch_norm_backward");
  require(input.dim() >= 2, kBad, "native_batch_norm_backward: input must have channels");
  const int64_t n = input.size(0);
  const int64_t c = input.size(1);
  const int64_t points = numel_of(input.sizes().subspan(2));
  const Tensor& mean = train ? save_mean : running_mean;
  const Tensor& spread = train ? save_invstd : running_var;
  require(mean.defined() && spread.defined(), kBad,
          "native_batch_norm_backward: expected {} statistics", train ? "saved" : "running");
  check_numel(mean, c, "native_batch_norm_backward: mean");
  check_numel(spread, c, "native_batch_norm_backward: variance");
  check_numel(weight, c, "native_batch_norm_backward: weight");
  const ScalarType work = work_type(input.dtype());
  const Tensor g = as_work(grad, work);
  const Tensor x = as_work(input, work);
  const Tensor center = as_work(mean, work);
  const Tensor scale = as_work(spread, work);
  const Tensor gamma = as_work(weight, work);
  const Tensor dx = output_mask[0] ? Tensor::empty(input.sizes(), work) : Tensor();
  const Tensor dweight = zeros_if(output_mask[1], IntVector{c}, work);
  const Tensor dbias = zeros_if(output_mask[2], IntVector{c}, work);
  dispatch_work(work, "native_batch_norm_backward", [&]<typename Tag>(Tag) {
    using T = typename Tag::type;
    if (c == 0) return;
    const T* m = center.data<T>();
    const Channels s{n, c, points};
    const T* gs = g.data<T>();
    const T* xs = x.data<T>();
    const std::vector<RunSums> totals = channel_sums<T>(s, gs, xs, m);
    ChannelFactors<T> factors(c);
    for (int64_t channel = 0; channel < c; ++channel) {
      const auto k = static_cast<size_t>(channel);
      const RunSums& total = totals[k];
      const double r = train ? static_cast<double>(scale.data<T>()[k])
                             : 1 / std::sqrt(static_cast<double>(scale.data<T>()[k]) + eps);
      const double count = static_cast<double>(n * points);
      const double w = gamma.defined() ? static_cast<double>(gamma.data<T>()[k]) : 1.0;
      factors.scale[k] = static_cast<T>(w * r);
      factors.shift[k] = static_cast<T>(train ? w * r * total.g / count : 0.0);
      factors.slope[k] = static_cast<T>(train ? w * r * r * r * total.gx / count : 0.0);
      if (dweight.defined()) dweight.data<T>()[k] = static_cast<T>(total.gx * r);
      if (dbias.defined()) dbias.data<T>()[k] = static_cast<T>(total.g);
    }
    if (dx.defined()) channel_input<T>(s, factors, gs, xs, m, dx.data<T>());
  });
  const Tensor laid = dx.defined() ? contiguous(dx, input.suggest_memory_format()) : dx;
  return narrowed({laid, dweight, dbias}, input, weight);
}

}  // namespace tierup::kernels
