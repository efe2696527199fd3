// Random operators above the fills of random.cc: sampling by weights, dropout, random slopes.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/pointwise/pointwise.h"
#include "tierup/kernels/random/random.h"
#include "tierup/kernels/random/random_draws.h"

namespace tierup::kernels {
namespace {

constexpr double kSeluNegativeLimit = 1.7580993408473766;  // alpha * scale of SELU.
constexpr int64_t kMaxCategories = int64_t{1} << 24;

void check_weights(const double* weights, int64_t count) {
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) {
    require(std::isfinite(weights[i]) && weights[i] >= 0, ErrorCode::kInvalidArgument,
            "probability tensor contains either `inf`, `nan` or element < 0");
    sum += weights[i];
  }
  require(sum > 0, ErrorCode::kInvalidArgument,
          "invalid multinomial distribution (sum of probabilities <= 0)");
}

// The `count` categories with the largest weight / Exp(1).
void sample_distinct(const double* weights, const double* races, int64_t categories, int64_t count,
                     int64_t* out) {
  std::vector<double> keys(static_cast<size_t>(categories));
  for (int64_t i = 0; i < categories; ++i) keys[static_cast<size_t>(i)] = weights[i] / races[i];
  std::vector<int64_t> order(static_cast<size_t>(categories));
  std::iota(order.begin(), order.end(), int64_t{0});
  std::partial_sort(order.begin(), order.begin() + count, order.end(), [&](int64_t a, int64_t b) {
    return keys[static_cast<size_t>(a)] > keys[static_cast<size_t>(b)];
  });
  std::copy_n(order.begin(), count, out);
}

void sample_repeated(const double* weights, int64_t categories, int64_t count, Generator& generator,
                     int64_t* out) {
  std::vector<double> sums(static_cast<size_t>(categories));
  std::partial_sum(weights, weights + categories, sums.begin());
  const double total = sums.back();
  for (double& sum : sums) sum /= total;
  for (int64_t i = 0; i < count; ++i) {
    const double u = draw_uniform<double>(generator);
    const auto found = std::lower_bound(sums.begin(), sums.end(), u) - sums.begin();
    out[i] = std::min<int64_t>(found, categories - 1);
  }
}

// Shape of the mask: all of the input, or one element for each channel of each sample.
IntVector mask_shape(const Tensor& input, bool by_feature) {
  IntVector shape(input.sizes().begin(), input.sizes().end());
  if (!by_feature) return shape;
  require(input.dim() >= 2, ErrorCode::kInvalidArgument,
          "Feature dropout requires at least 2 dimensions in the input");
  for (size_t d = 2; d < shape.size(); ++d) shape[d] = 1;
  return shape;
}

Tensor scaled(const Tensor& tensor, double factor) {
  return pointwise({Body::kMul, Promote::kSame, 1}, {tensor, Operand(Scalar(factor))});
}

}  // namespace

int64_t draw_poisson(double rate, Generator& generator) {
  if (rate == 0) return 0;
  if (rate < 10) {
    const double limit = std::exp(-rate);
    double product = draw_uniform<double>(generator);
    int64_t count = 0;
    for (; product > limit; ++count) product *= draw_uniform<double>(generator);
    return count;
  }
  const double root = std::sqrt(rate);
  const double b = 0.931 + 2.53 * root;
  const double a = -0.059 + 0.02483 * b;
  const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
  const double squeeze = 0.9277 - 3.6224 / (b - 2);
  while (true) {
    const double u = draw_uniform<double>(generator) - 0.5;
    const double v = draw_uniform<double>(generator);
    const double us = 0.5 - std::abs(u);
    const double k = std::floor((2 * a / us + b) * u + rate + 0.43);
    if (us >= 0.07 && v <= squeeze) return static_cast<int64_t>(k);
    if (k < 0 || (us < 0.013 && v > us)) continue;
    const double bound = -rate + k * std::log(rate) - std::lgamma(k + 1);
    if (std::log(v) + std::log(inverse_alpha) - std::log(a / (us * us) + b) <= bound) {
      return static_cast<int64_t>(k);
    }
  }
}

Tensor multinomial(const Tensor& weights, int64_t count, bool replacement, Generator& generator) {
  require(weights.dim() == 1 || weights.dim() == 2, ErrorCode::kInvalidArgument,
          "prob_dist must be 1 or 2 dim");
  require(is_floating(weights.dtype()), ErrorCode::kTypeError,
          "multinomial only supports floating-point dtypes for input, got: {}",
          scalar_type_name(weights.dtype()));
  const int64_t categories = weights.sizes().back();
  const int64_t rows = weights.dim() == 2 ? weights.sizes()[0] : 1;
  require(count > 0, ErrorCode::kInvalidArgument, "cannot sample n_sample <= 0 samples");
  require(replacement || count <= categories, ErrorCode::kInvalidArgument,
          "cannot sample n_sample > prob_dist.size(-1) samples without replacement");
  require(categories <= kMaxCategories, ErrorCode::kInvalidArgument,
          "number of categories cannot exceed 2^24");
  IntVector shape{rows, count};
  if (weights.dim() == 1) shape = IntVector{count};
  const Tensor result = Tensor::empty(shape, ScalarType::kLong);
  const Tensor chances = contiguous(to_dtype(weights, ScalarType::kDouble));
  for (int64_t r = 0; r < rows; ++r)
    check_weights(chances.data<double>() + r * categories, categories);
  // Without replacement, and for a single draw, all categories race.
  const bool races = !replacement || count == 1;
  Tensor times;
  if (races) {
    times = Tensor::empty(weights.sizes(), weights.dtype());
    exponential_(times, 1, generator);
    times = to_dtype(times, ScalarType::kDouble);
  }
  const auto lock = generator.lock();
  for (int64_t r = 0; r < rows; ++r) {
    const double* row = chances.data<double>() + r * categories;
    int64_t* out = result.data<int64_t>() + r * count;
    if (races) {
      sample_distinct(row, times.data<double>() + r * categories, categories, count, out);
    } else {
      sample_repeated(row, categories, count, generator, out);
    }
  }
  return result;
}

Tensor dropout(const Tensor& input, double p, bool train, DropoutKind kind, Generator* generator) {
  require(p >= 0 && p <= 1, ErrorCode::kInvalidArgument,
          "dropout probability has to be between 0 and 1, but got {}", p);
  if (p == 0 || !train || input.numel() == 0) return input;
  if (p == 1) return pointwise({Body::kMul, Promote::kSame, 1}, {input, Operand(Scalar(0.0))});
  const bool by_feature = kind == DropoutKind::kFeature || kind == DropoutKind::kFeatureAlpha;
  const bool by_alpha = kind == DropoutKind::kAlpha || kind == DropoutKind::kFeatureAlpha;
  const IntVector shape = mask_shape(input, by_feature);
  const ScalarType real = real_type_of(input.dtype());
  const Tensor noise = by_feature ? Tensor::empty(shape, real) : empty_like(input, real);
  bernoulli_(noise, 1 - p, *generator);
  if (!by_alpha) {
    pointwise_into(noise, {Body::kDiv}, {noise, Operand(Scalar(1 - p))});
    return pointwise({Body::kMul}, {input, noise});
  }
  const double a = 1 / std::sqrt((kSeluNegativeLimit * kSeluNegativeLimit * p + 1) * (1 - p));
  const Tensor lowered = pointwise({Body::kAdd, Promote::kSame, 1}, {noise, Operand(Scalar(-1.0))});
  const Tensor shift = pointwise(
      {Body::kAdd, Promote::kSame, 1},
      {scaled(lowered, kSeluNegativeLimit * a), Operand(Scalar(kSeluNegativeLimit * a * p))});
  const Tensor kept = pointwise({Body::kMul}, {input, scaled(noise, a)});
  return pointwise({Body::kAdd}, {kept, shift});
}

std::pair<Tensor, Tensor> native_dropout(const Tensor& input, double p, bool train,
                                         Generator* generator) {
  const Tensor mask = empty_like(input, ScalarType::kBool);
  if (!train || input.numel() == 0) {
    fill(mask, true);
    return {clone(input), mask};
  }
  if (p == 1) {
    fill(mask, false);
    return {scaled(input, 0), mask};
  }
  bernoulli_(mask, 1 - p, *generator);
  return {scaled(pointwise({Body::kMul}, {input, mask}), 1 / (1 - p)), mask};
}

Tensor rrelu(const Tensor& self, const Tensor& noise, double lower, double upper, bool training,
             Generator* generator) {
  require(std::isfinite(lower) && std::isfinite(upper), ErrorCode::kInvalidArgument,
          "rrelu: bounds must be finite, got {} and {}", lower, upper);
  require(!noise.defined() || std::equal(noise.sizes().begin(), noise.sizes().end(),
                                         self.sizes().begin(), self.sizes().end()),
          ErrorCode::kInvalidArgument, "noise tensor shape must match self tensor shape");
  require((noise.defined() && !training) || lower <= upper, ErrorCode::kInvalidArgument,
          "Lower bound should be less than or equal to the upper bound, got {} and {}", lower,
          upper);
  if (!training) {
    return pointwise({Body::kLeakyRelu, Promote::kSame, 1},
                     {self, Operand(Scalar((lower + upper) / 2))});
  }
  const Tensor dense = contiguous(self);
  const Tensor slopes = Tensor::empty(self.sizes(), self.dtype());
  dispatch_floating(self.dtype(), "rrelu_with_noise", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto lock = generator->lock();
    for (int64_t i = 0; i < dense.numel(); ++i) {
      const bool negative = static_cast<double>(dense.data<T>()[i]) <= 0;
      const double slope =
          negative ? draw_uniform<double>(*generator) * (upper - lower) + lower : 1.0;
      slopes.data<T>()[i] = static_cast<T>(slope);
    }
  });
  if (noise.defined()) copy_into(noise, slopes);
  return pointwise({Body::kMul}, {self, slopes});
}

}  // namespace tierup::kernels
