#include "tierup/kernels/random/random.h"

#include <array>
#include <cmath>
#include <numeric>

#include "tierup/base/interrupt.h"
#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/memory/strided_loop.h"
#include "tierup/kernels/pointwise/pointwise_runs.h"
#include "tierup/kernels/random/random_draws.h"

namespace tierup::kernels {
namespace {

constexpr int64_t kNormalBlock = 16;
// Ranges from here on take 64 random bits.
constexpr uint64_t kWideRange = uint64_t{1} << 28;
constexpr int64_t kDrawsUnasked = 1 << 16;  // Draws between two questions whether to stop.

// Sets every element, in memory order, to draw() converted to T.
template <typename T, typename Draw>
void fill_drawn(const Tensor& self, const Draw& draw) {
  const StridedLoop loop(self.sizes(), {&self});
  loop.run(std::max<int64_t>(loop.numel(), 1),
           [&](char* const* pointers, const int64_t* strides, int64_t count) {
             for (int64_t i = 0; i < count; ++i) {
               if (i % kDrawsUnasked == 0) poll_interrupt();
               *reinterpret_cast<T*>(pointers[0] + i * strides[0]) = static_cast<T>(draw());
             }
           });
}

template <typename Draw>
Tensor fill_floating(const Tensor& self, std::string_view name, Generator& generator,
                     const Draw& draw) {
  check_no_internal_overlap(self);
  const auto lock = generator.lock();
  dispatch_floating(self.dtype(), name,
                    [&](auto tag) { fill_drawn<typename decltype(tag)::type>(self, draw); });
  self.bump_version();
  return self;
}

// The parts of a complex tensor as one real tensor.
Tensor parts_of(const Tensor& self) {
  IntVector sizes(self.sizes().begin(), self.sizes().end());
  IntVector strides(self.strides().begin(), self.strides().end());
  for (int64_t& stride : strides) stride *= 2;
  sizes.push_back(2);
  strides.push_back(1);
  return Tensor::from_storage(self.storage(), real_type_of(self.dtype()), sizes, strides,
                              self.offset() * 2);
}

// Box-Muller on blocks of 16 uniform numbers: halves are paired. Many blocks go through the vector
// functions at once.
template <typename Real>
class NormalBlocks {
 public:
  NormalBlocks(double mean, double deviation)
      : mean_(static_cast<Real>(mean)), deviation_(static_cast<Real>(deviation)) {}

  template <typename T>
  void transform(T* data, int64_t blocks) {
    for (int64_t first = 0; first < blocks; first += kBlocks) {
      if (first * kNormalBlock % kDrawsUnasked == 0) poll_interrupt();
      transform_some(data + first * kNormalBlock, std::min(kBlocks, blocks - first));
    }
  }

 private:
  static constexpr int64_t kBlocks = 32;
  static constexpr int64_t kHalf = kNormalBlock / 2;

  void apply(Body body, const Real* in, Real* out, int64_t count) const {
    const char* const inputs[] = {reinterpret_cast<const char*>(in)};
    table_.find(body, kDTypeOf<Real>)->run(reinterpret_cast<char*>(out), inputs, count);
  }

  template <typename T>
  void transform_some(T* data, int64_t blocks) {
    const int64_t count = blocks * kHalf;
    for (int64_t i = 0; i < count; ++i) {
      const T* pair = data + i / kHalf * kNormalBlock + i % kHalf;
      radius_[i] = 1 - static_cast<Real>(pair[0]);
      theta_[i] = static_cast<Real>(2 * M_PI) * static_cast<Real>(pair[kHalf]);
    }
    apply(Body::kLog, radius_.data(), radius_.data(), count);
    for (int64_t i = 0; i < count; ++i) radius_[i] = std::sqrt(Real(-2) * radius_[i]);
    apply(Body::kCos, theta_.data(), cosine_.data(), count);
    apply(Body::kSin, theta_.data(), theta_.data(), count);
    for (int64_t i = 0; i < count; ++i) {
      T* pair = data + i / kHalf * kNormalBlock + i % kHalf;
      pair[0] = static_cast<T>(radius_[i] * cosine_[i] * deviation_ + mean_);
      pair[kHalf] = static_cast<T>(radius_[i] * theta_[i] * deviation_ + mean_);
    }
  }

  const RunTable& table_ = RunTable::instance();
  Real mean_;
  Real deviation_;
  std::array<Real, kBlocks * kHalf> radius_;
  std::array<Real, kBlocks * kHalf> theta_;
  std::array<Real, kBlocks * kHalf> cosine_;
};

template <typename T>
void normal_blocks(const Tensor& self, double mean, double deviation, Generator& generator) {
  T* data = self.data<T>();
  const int64_t count = self.numel();
  for (int64_t i = 0; i < count; ++i) {
    if (i % kDrawsUnasked == 0) poll_interrupt();
    data[i] = static_cast<T>(draw_uniform<T>(generator));
  }
  NormalBlocks<std::conditional_t<std::is_same_v<T, double>, double, float>> blocks(mean,
                                                                                    deviation);
  blocks.transform(data, count / kNormalBlock);
  if (count % kNormalBlock == 0) return;
  // The last block is drawn afresh and overlaps the one before.
  T* last = data + count - kNormalBlock;
  for (int64_t i = 0; i < kNormalBlock; ++i) last[i] = static_cast<T>(draw_uniform<T>(generator));
  blocks.transform(last, 1);
}

void check_probability(double p, std::string_view name) {
  require(p >= 0 && p <= 1, ErrorCode::kInvalidArgument,
          "{} probability has to be between 0 and 1, but got {}", name, p);
}

uint64_t draw_below(uint64_t range, Generator& generator) {
  return range >= kWideRange ? generator.next64() % range : generator.next32() % range;
}

// The largest integer up to which the dtype holds all integers.
int64_t exact_limit(ScalarType dtype) {
  switch (dtype) {
    case ScalarType::kHalf: return int64_t{1} << 11;
    case ScalarType::kBFloat16: return int64_t{1} << 8;
    case ScalarType::kFloat: return int64_t{1} << 24;
    case ScalarType::kDouble: return int64_t{1} << 53;
    case ScalarType::kByte: return 255;
    case ScalarType::kChar: return 127;
    case ScalarType::kShort: return 32767;
    case ScalarType::kInt: return 2147483647;
    case ScalarType::kBool: return 1;
    default: return INT64_MAX;
  }
}

// low + a number below `range` (0: all 2^64).
Tensor fill_integers(const Tensor& self, uint64_t range, int64_t low, Generator& generator) {
  check_no_internal_overlap(self);
  const auto lock = generator.lock();
  dispatch_real(self.dtype(), "random_", [&](auto tag) {
    fill_drawn<typename decltype(tag)::type>(self, [&] {
      const uint64_t drawn = range == 0 ? generator.next64() : draw_below(range, generator);
      return static_cast<int64_t>(static_cast<uint64_t>(low) + drawn);
    });
  });
  self.bump_version();
  return self;
}

}  // namespace

Tensor uniform_(const Tensor& self, double from, double to, Generator& generator) {
  require(from <= to, ErrorCode::kInvalidArgument,
          "uniform_ expects to return a [from, to) range, but found from={} > to={}", from, to);
  if (is_complex(self.dtype())) {
    uniform_(parts_of(self), from, to, generator);
    return self;
  }
  check_no_internal_overlap(self);
  const auto lock = generator.lock();
  dispatch_floating(self.dtype(), "uniform_", [&](auto tag) {
    using T = typename decltype(tag)::type;
    using Real = std::conditional_t<std::is_same_v<T, double>, double, float>;
    const Real low = static_cast<Real>(from);
    const Real width = static_cast<Real>(to) - static_cast<Real>(from);
    fill_drawn<T>(self, [&] { return draw_uniform<T>(generator) * width + low; });
  });
  self.bump_version();
  return self;
}

Tensor normal_(const Tensor& self, double mean, double deviation, Generator& generator) {
  require(deviation >= 0, ErrorCode::kInvalidArgument,
          "normal expects std >= 0.0, but found std {}", deviation);
  if (is_complex(self.dtype())) {
    normal_(parts_of(self), mean, deviation / M_SQRT2, generator);
    return self;
  }
  check_no_internal_overlap(self);
  const auto lock = generator.lock();
  dispatch_floating(self.dtype(), "normal_", [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (self.numel() >= kNormalBlock && self.is_contiguous()) {
      normal_blocks<T>(self, mean, deviation, generator);
    } else {
      fill_drawn<T>(self, [&] { return draw_normal(generator) * deviation + mean; });
    }
  });
  self.bump_version();
  return self;
}

Tensor exponential_(const Tensor& self, double rate, Generator& generator) {
  require(rate > 0, ErrorCode::kInvalidArgument,
          "exponential_ expects lambda > 0.0, but found "
          "lambda={}",
          rate);
  return fill_floating(self, "exponential_", generator,
                       [&] { return -std::log1p(-draw_uniform<double>(generator)) / rate; });
}

Tensor cauchy_(const Tensor& self, double median, double sigma, Generator& generator) {
  require(sigma > 0, ErrorCode::kInvalidArgument, "cauchy_ expects sigma > 0.0, but found sigma={}",
          sigma);
  return fill_floating(self, "cauchy_", generator, [&] {
    return median + sigma * std::tan(M_PI * (draw_uniform<double>(generator) - 0.5));
  });
}

Tensor log_normal_(const Tensor& self, double mean, double deviation, Generator& generator) {
  require(deviation > 0, ErrorCode::kInvalidArgument,
          "log_normal_ expects std > 0.0, but found std={}", deviation);
  return fill_floating(self, "log_normal_", generator,
                       [&] { return std::exp(draw_normal(generator) * deviation + mean); });
}

Tensor geometric_(const Tensor& self, double p, Generator& generator) {
  require(p > 0 && p < 1, ErrorCode::kInvalidArgument,
          "geometric_ expects p to be in (0, 1), but got p={}", p);
  check_no_internal_overlap(self);
  const auto lock = generator.lock();
  dispatch_real(self.dtype(), "geometric_", [&](auto tag) {
    fill_drawn<typename decltype(tag)::type>(self, [&] {
      return std::ceil(std::log(draw_uniform<double>(generator)) / std::log1p(-p));
    });
  });
  self.bump_version();
  return self;
}

Tensor bernoulli_(const Tensor& self, double p, Generator& generator) {
  check_probability(p, "bernoulli_");
  check_no_internal_overlap(self);
  const auto lock = generator.lock();
  dispatch_real(self.dtype(), "bernoulli_", [&](auto tag) {
    using T = typename decltype(tag)::type;
    fill_drawn<T>(
        self, [&] { return static_cast<T>(draw_uniform<double>(generator) < p ? 1.0F : 0.0F); });
  });
  self.bump_version();
  return self;
}

Tensor bernoulli_from(const Tensor& self, const Tensor& p, Generator& generator) {
  check_no_internal_overlap(self);
  // Probabilities are compared in their own precision, with as many random bits.
  const bool wide = p.dtype() == ScalarType::kDouble;
  const Tensor chances = to_dtype(p, wide ? ScalarType::kDouble : ScalarType::kFloat);
  const Tensor drawn = Tensor::empty(self.sizes(), ScalarType::kBool);
  const StridedLoop loop(self.sizes(), {&drawn, &chances});
  const auto lock = generator.lock();
  loop.run(
      std::max<int64_t>(loop.numel(), 1), [&](char* const* at, const int64_t* step, int64_t count) {
        for (int64_t i = 0; i < count; ++i) {
          if (i % kDrawsUnasked == 0) poll_interrupt();
          const char* chance = at[1] + i * step[1];
          const double limit = wide ? *reinterpret_cast<const double*>(chance)
                                    : static_cast<double>(*reinterpret_cast<const float*>(chance));
          check_probability(limit, "bernoulli");
          const double uniform = wide ? draw_uniform<double>(generator)
                                      : static_cast<double>(draw_uniform<float>(generator));
          *reinterpret_cast<bool*>(at[0] + i * step[0]) = uniform < limit;
        }
      });
  copy_into(self, drawn);
  self.bump_version();
  return self;
}

Tensor random_between(const Tensor& self, int64_t low, int64_t high, Generator& generator) {
  require(low < high, ErrorCode::kInvalidArgument,
          "random_ expects 'from' to be less than 'to', but got from={} >= to={}", low, high);
  return fill_integers(self, static_cast<uint64_t>(high) - static_cast<uint64_t>(low), low,
                       generator);
}

Tensor random_from(const Tensor& self, int64_t low, Generator& generator) {
  const auto top = static_cast<uint64_t>(exact_limit(self.dtype()));
  return fill_integers(self, top - static_cast<uint64_t>(low) + 1, low, generator);
}

Tensor random_full(const Tensor& self, Generator& generator) {
  return random_from(self, 0, generator);
}

Tensor randperm(int64_t n, ScalarType dtype, Generator& generator) {
  require(n >= 0, ErrorCode::kInvalidArgument, "n must be non-negative, got {}", n);
  require(n == 0 || is_complex(dtype) || n - 1 <= exact_limit(dtype), ErrorCode::kInvalidArgument,
          "n is too large for result tensor type: '{}'", dtype_name(dtype));
  const Tensor result = Tensor::empty(IntVector{n}, ScalarType::kLong);
  int64_t* data = result.data<int64_t>();
  std::iota(data, data + n, int64_t{0});
  const auto lock = generator.lock();
  for (int64_t i = 0; i + 1 < n; ++i) {
    if (i % kDrawsUnasked == 0) poll_interrupt();
    std::swap(data[i],
              data[i + static_cast<int64_t>(generator.next32() % static_cast<uint64_t>(n - i))]);
  }
  return to_dtype(result, dtype);
}

Tensor poisson(const Tensor& rates, Generator& generator) {
  const Tensor result = clone(rates);
  check_no_internal_overlap(result);
  const auto lock = generator.lock();
  dispatch_floating(result.dtype(), "poisson", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const StridedLoop loop(result.sizes(), {&result});
    loop.run(std::max<int64_t>(loop.numel(), 1),
             [&](char* const* at, const int64_t* step, int64_t count) {
               for (int64_t i = 0; i < count; ++i) {
                 if (i % kDrawsUnasked == 0) poll_interrupt();
                 T& element = *reinterpret_cast<T*>(at[0] + i * step[0]);
                 const double rate = static_cast<double>(element);
                 require(rate >= 0, ErrorCode::kInvalidArgument,
                         "invalid Poisson rate, expected rate to be non-negative");
                 element = static_cast<T>(static_cast<double>(draw_poisson(rate, generator)));
               }
             });
  });
  return result;
}

}  // namespace tierup::kernels
