#include "tierup/kernels/reduce/reduce_moments.h"

#include <cmath>

#include "tierup/base/parallel.h"
#include "tierup/kernels/memory/cast.h"
#include "tierup/kernels/reduce/float_folds.h"
#include "tierup/kernels/reduce/reduce.h"

namespace tierup::kernels {
namespace {

// Mean and the sum of squared deviations from it.
template <typename Mean>
struct Moments {
  Mean mean{};
  double squares = 0;
  double count = 0;
};

// Within a block the mean comes first, then the deviations: no cancellation, and two tight loops.
template <typename T>
struct MomentsReducer {
  using In = T;
  using Mean = std::conditional_t<kIsComplex<T>, complex128, double>;
  using Acc = Moments<Mean>;
  using Out = Acc;
  static constexpr bool kTiles = false;

  Acc identity() const { return {}; }
  Acc block(const In* p, int64_t count, int64_t stride) const {
    if constexpr (std::is_same_v<T, float>) {
      if (stride == 1 && count >= 64) {
        const FloatFolds& folds = float_folds();
        const double mean = folds.wide_sum(p, count) / static_cast<double>(count);
        return {mean, folds.wide_squares(p, count, mean), static_cast<double>(count)};
      }
    }
    const auto add = [](Mean a, Mean b) { return a + b; };
    const Mean total = fold_lanes(
        p, count, stride, Mean(0), [](Mean& a, In v) { a += static_cast<Mean>(v); }, add);
    const Mean mean = total / static_cast<double>(count);
    const double squares = fold_lanes(
        p, count, stride, 0.0,
        [mean](double& a, In v) { a += square(static_cast<Mean>(v) - mean); },
        [](double a, double b) { return a + b; });
    return {mean, squares, static_cast<double>(count)};
  }
  Acc merge(const Acc& a, const Acc& b) const {
    if (a.count == 0) return b;
    if (b.count == 0) return a;
    const double count = a.count + b.count;
    const Mean delta = b.mean - a.mean;
    return {a.mean + delta * (b.count / count),
            a.squares + b.squares + square(delta) * (a.count * b.count / count), count};
  }
  Out finish(const Acc& acc) const { return acc; }

  static double square(double x) { return x * x; }
  static double square(complex128 x) { return x.real() * x.real() + x.imag() * x.imag(); }
};

// Columns that lie side by side, in blocks of rows: all means of a block come before the
// deviations.
void reduce_columns(const ReducePlan& plan, const float* in, Moments<double>* results) {
  constexpr int64_t kColumns = 64;
  constexpr int64_t kRows = 512;
  const int64_t inner = plan.kept_sizes.back();
  const int64_t tiles = (inner + kColumns - 1) / kColumns;
  const MomentsReducer<float> reducer;
  const FloatFolds& folds = float_folds();
  const int64_t grain = grain_of(plan.count * kColumns);
  parallel_for(0, plan.outputs / inner * tiles, grain, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      poll_interrupt();
      const int64_t output = t / tiles * inner + t % tiles * kColumns;
      const int64_t width = std::min(kColumns, inner - t % tiles * kColumns);
      const float* base = in + plan.output_offset(output);
      const auto moments_of = [&](const float* block, int64_t rows, auto&& take) {
        std::array<double, kColumns> mean{};
        std::array<double, kColumns> squares{};
        folds.add_wide_rows(block, rows, plan.run_stride(), width, mean.data());
        for (double& sum : mean) sum /= static_cast<double>(rows);
        folds.add_wide_squares_rows(block, rows, plan.run_stride(), width, mean.data(),
                                    squares.data());
        for (int64_t j = 0; j < width; ++j)
          take(j, Moments<double>{mean[j], squares[j], static_cast<double>(rows)});
      };
      if (plan.count <= kRows) {
        moments_of(base, plan.count,
                   [&](int64_t j, const Moments<double>& m) { results[output + j] = m; });
        continue;
      }
      std::vector<reduce_detail::Cascade<MomentsReducer<float>>> cascades(
          static_cast<size_t>(width), reduce_detail::Cascade<MomentsReducer<float>>(reducer));
      for (int64_t first = 0; first < plan.count; first += kRows) {
        const int64_t rows = std::min(kRows, plan.count - first);
        moments_of(base + first * plan.run_stride(), rows,
                   [&](int64_t j, const Moments<double>& m) { cascades[j].push(m); });
      }
      for (int64_t j = 0; j < width; ++j) results[output + j] = cascades[j].result();
    }
  });
}

bool has_columns(const ReducePlan& plan) {
  return plan.outputs > 0 && plan.count > 1 && plan.reduced_sizes.size() == 1 &&
         plan.run_stride() != 1 && !plan.kept_sizes.empty() && plan.kept_strides.back() == 1 &&
         plan.kept_sizes.back() >= 4;
}

template <typename T>
T mean_of_nothing() {
  if constexpr (kIsComplex<T>)
    return static_cast<T>(complex128(std::nan(""), std::nan("")));
  else
    return static_cast<T>(std::nan(""));
}

struct MomentResults {
  Tensor spread;  // Variance or standard deviation.
  Tensor mean;
};

MomentResults moments(const Tensor& self, const ReduceDims& dims,
                      const std::optional<Scalar>& correction, bool keepdim, bool root,
                      const char* what) {
  require(is_floating(self.dtype()) || is_complex(self.dtype()), ErrorCode::kTypeError,
          "{} only support floating point and complex dtypes", what);
  const ReducePlan plan(self, dims, keepdim);
  const double known = correction ? correction->to_double() : 1.0;
  // Of nothing there is no spread, whatever the correction.
  const double divisor =
      plan.count == 0 ? 0.0 : std::max(0.0, static_cast<double>(plan.count) - known);
  MomentResults out{Tensor::empty(plan.out_sizes, real_type_of(self.dtype())),
                    Tensor::empty(plan.out_sizes, self.dtype())};
  const auto run = [&](auto tag) {
    using T = typename decltype(tag)::type;
    using Reducer = MomentsReducer<T>;
    using Real = decltype(std::abs(T{}));
    using Spread = std::conditional_t<kIsComplex<T>, Real, T>;
    std::vector<typename Reducer::Acc> results(static_cast<size_t>(plan.outputs));
    bool is_done = false;
    if constexpr (std::is_same_v<T, float>) {
      is_done = has_columns(plan);
      if (is_done) reduce_columns(plan, self.data<T>(), results.data());
    }
    if (!is_done) reduce(Reducer{}, plan, self.data<T>(), results.data());
    auto* spread = out.spread.data<Spread>();
    T* mean = out.mean.data<T>();
    for (size_t i = 0; i < results.size(); ++i) {
      const double variance = results[i].squares / divisor;
      spread[i] = static_cast<Spread>(root ? std::sqrt(variance) : variance);
      mean[i] = results[i].count == 0 ? mean_of_nothing<T>() : static_cast<T>(results[i].mean);
    }
  };
  if (is_complex(self.dtype()))
    dispatch_complex(self.dtype(), what, run);
  else
    dispatch_floating(self.dtype(), what, run);
  return out;
}

}  // namespace

Tensor var(const Tensor& self, const ReduceDims& dims, const std::optional<Scalar>& correction,
           bool keepdim) {
  return moments(self, dims, correction, keepdim, false, "std and var").spread;
}

Tensor std_deviation(const Tensor& self, const ReduceDims& dims,
                     const std::optional<Scalar>& correction, bool keepdim) {
  return moments(self, dims, correction, keepdim, true, "std and var").spread;
}

std::tuple<Tensor, Tensor> var_mean(const Tensor& self, const ReduceDims& dims,
                                    const std::optional<Scalar>& correction, bool keepdim) {
  const MomentResults out = moments(self, dims, correction, keepdim, false, "var_mean");
  return {out.spread, out.mean};
}

std::tuple<Tensor, Tensor> std_mean(const Tensor& self, const ReduceDims& dims,
                                    const std::optional<Scalar>& correction, bool keepdim) {
  const MomentResults out = moments(self, dims, correction, keepdim, true, "std_mean");
  return {out.spread, out.mean};
}

}  // namespace tierup::kernels
