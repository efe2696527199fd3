#include "tierup/kernels/loss/pointwise_loss.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>
#include <vector>

#include "tierup/base/parallel.h"
#include "tierup/kernels/memory/floating_work.h"
#include "tierup/kernels/memory/same_dtype.h"
#include "tierup/kernels/memory/strided_loop.h"
#include "tierup/kernels/memory/type_promotion.h"
#include "tierup/kernels/pointwise/pointwise.h"
#include "tierup/kernels/shape/view.h"

namespace tierup::kernels {
namespace {

constexpr auto kBad = ErrorCode::kInvalidArgument;

// f(a, b) over broadcast operands in the work type, reduced, in the promoted dtype.
template <typename F>
Tensor pair_loss(const Tensor& a, const Tensor& b, int64_t reduction, const F& f) {
  const ScalarType dtype = to_floating(result_type(a, b));
  const ScalarType work = work_type(dtype);
  const Tensor left = to_dtype(a, work);
  const Tensor right = to_dtype(b, work);
  const Tensor out = Tensor::empty(broadcast_shapes(a.sizes(), b.sizes()), work);
  dispatch_work(work, "loss", [&]<typename Tag>(Tag) {
    using T = typename Tag::type;
    map_elements<T, T, T>(
        out, [&f](T x, T t) -> T { return static_cast<T>(f(x, t)); }, left, right);
  });
  return to_dtype(reduce_loss(out, reduction), dtype);
}

// Multiplies losses by a broadcast weight, which may be undefined.
Tensor weighted(const Tensor& losses, const Tensor& weight) {
  if (!weight.defined()) return losses;
  const Tensor out =
      Tensor::empty(broadcast_shapes(losses.sizes(), weight.sizes()), losses.dtype());
  const Tensor factor = to_dtype(weight, losses.dtype());
  dispatch_work(losses.dtype(), "loss", [&]<typename Tag>(Tag) {
    using T = typename Tag::type;
    map_elements<T, T, T>(
        out, [](T x, T w) { return x * w; }, losses, factor);
  });
  return out;
}

template <typename T>
double sum_of_block(const T* x, int64_t count) {
  constexpr int kSums = 16;  // So many additions do not wait for one another.
  double sums[kSums] = {};
  int64_t i = 0;
  for (; i + kSums <= count; i += kSums) {
    for (int j = 0; j < kSums; ++j) sums[j] += static_cast<double>(x[i + j]);
  }
  for (int j = 0; i < count; ++i, ++j) sums[j] += static_cast<double>(x[i]);
  for (int half = kSums / 2; half > 0; half /= 2) {
    for (int j = 0; j < half; ++j) sums[j] += sums[j + half];
  }
  return sums[0];
}

// By blocks, so that it does not depend on the number of threads.
template <typename T>
double sum_of(const T* x, int64_t count) {
  constexpr int64_t kBlock = 8192;
  std::vector<double> sums(static_cast<size_t>((count + kBlock - 1) / kBlock));
  parallel_for(0, static_cast<int64_t>(sums.size()), kNumbersForThread / kBlock,
               [&](int64_t begin, int64_t end) {
                 for (int64_t b = begin; b < end; ++b) {
                   const int64_t first = b * kBlock;
                   sums[static_cast<size_t>(b)] =
                       sum_of_block(x + first, std::min(kBlock, count - first));
                 }
               });
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

}  // namespace

Tensor reduce_loss(const Tensor& losses, int64_t reduction) {
  if (reduction == 0) return losses;
  require(reduction == 1 || reduction == 2, kBad, "{} is not a valid value for reduction",
          reduction);
  const Tensor dense = contiguous(losses);
  const Tensor out = Tensor::empty({}, losses.dtype());
  dispatch_work(losses.dtype(), "loss", [&]<typename Tag>(Tag) {
    using T = typename Tag::type;
    double total = sum_of(dense.data<T>(), dense.numel());
    if (reduction == 1) total /= static_cast<double>(dense.numel());
    *out.data<T>() = static_cast<T>(total);
  });
  return out;
}

namespace {

// Steps that are not rounded, so that a formula may take them as it likes.
struct Unrounded {
  auto operator()(auto x) const { return x; }
};
// What numbers below the limit and above it give, without a branch that numbers without an order
// would make guess wrongly: limit times smooth_l1's, or huber's.
template <typename T>
T bent(T z, T limit) {
  const T below = z < limit ? z : limit;
  return below * (z - static_cast<T>(0.5) * below);
}

// Calls `loss` with how the steps of its formula are rounded: to f16 or bf16 where the operands
// promote to `narrow`, and not at all for other dtypes.
Tensor rounded_loss(const Tensor& self, const Tensor& target, ScalarType narrow, const auto& loss) {
  const ScalarType dtype = result_type(self, target);
  if (dtype == narrow && dtype == ScalarType::kHalf)
    return loss([](auto x) { return static_cast<float>(Half(static_cast<float>(x))); });
  if (dtype == narrow && dtype == ScalarType::kBFloat16)
    return loss([](auto x) { return static_cast<float>(BFloat16(static_cast<float>(x))); });
  return loss(Unrounded{});
}

}  // namespace

// The difference is a number of the dtype, as in PyTorch, before it is squared.
Tensor mse_loss(const Tensor& self, const Tensor& target, int64_t reduction) {
  const auto squared = [&](auto round) {
    return pair_loss(self, target, reduction, [&](auto x, auto t) {
      const auto difference = round(x - t);
      return difference * difference;
    });
  };
  return rounded_loss(self, target, result_type(self, target), squared);
}

// PyTorch computes it in f32 for bf16, and step by step in f16 for that.
Tensor smooth_l1_loss(const Tensor& self, const Tensor& target, int64_t reduction, double beta) {
  require(beta >= 0, kBad, "smooth_l1_loss does not support negative values for beta.");
  const auto loss = [&](auto round) {
    return pair_loss(self, target, reduction, [beta, round](auto x, auto t) {
      using T = decltype(x);
      const auto z = round(std::abs(x - t));
      const auto limit = round(static_cast<T>(beta));
      if constexpr (std::is_same_v<decltype(round), Unrounded>)
        return limit == 0 ? z : bent<T>(z, limit) / limit;
      const auto half = static_cast<T>(0.5);
      if (z < limit) return static_cast<T>(round(round(round(half * z) * z) / limit));
      return static_cast<T>(round(z - round(half * limit)));
    });
  };
  return rounded_loss(self, target, ScalarType::kHalf, loss);
}

// PyTorch computes it in f32 for f16, and step by step in bf16 for that.
Tensor huber_loss(const Tensor& self, const Tensor& target, int64_t reduction, double delta) {
  require(delta > 0, kBad, "huber_loss does not support non-positive values for delta.");
  const auto loss = [&](auto round) {
    return pair_loss(self, target, reduction, [delta, round](auto x, auto t) {
      using T = decltype(x);
      const auto z = round(std::abs(x - t));
      const auto limit = round(static_cast<T>(delta));
      if constexpr (std::is_same_v<decltype(round), Unrounded>) return bent<T>(z, limit);
      const auto half = static_cast<T>(0.5);
      if (z < limit) return static_cast<T>(round(round(half * z) * z));
      return static_cast<T>(round(limit * round(z - round(half * limit))));
    });
  };
  return to_dtype(rounded_loss(self, target, ScalarType::kBFloat16, loss), self.dtype());
}

Tensor binary_cross_entropy(const Tensor& self, const Tensor& target, const Tensor& weight,
                            int64_t reduction) {
  if (shape_string(self.sizes()) != shape_string(target.sizes())) {
    fail(kBad,
         "Using a target size ({}) that is different to the input size ({}) is deprecated. Please "
         "ensure they have "
         "the same size.",
         shape_string(target.sizes()), shape_string(self.sizes()));
  }
  require_dtype_of(self, {&target}, "binary_cross_entropy");
  const ScalarType work = work_type(self.dtype());
  const Tensor x = to_dtype(self, work);
  const Tensor y = to_dtype(target, work);
  const Tensor losses = Tensor::empty(self.sizes(), work);
  const Tensor log_x = pointwise({Body::kLog}, {x});
  const Tensor log_rest = pointwise({Body::kLog1p}, {pointwise({Body::kNeg}, {x})});
  std::atomic<bool> is_within{true};
  dispatch_work(work, "binary_cross_entropy", [&]<typename Tag>(Tag) {
    using T = typename Tag::type;
    map_elements<T, T, T, T, T>(
        losses,
        [&](T v, T t, T log_v, T log_other) {
          if (!(v >= 0 && v <= 1)) is_within = false;
          return (t - 1) * std::max(log_other, T{-100}) - t * std::max(log_v, T{-100});
        },
        x, y, log_x, log_rest);
  });
  require(is_within, kBad, "all elements of input should be between 0 and 1");
  return to_dtype(reduce_loss(weighted(losses, weight), reduction), self.dtype());
}

Tensor binary_cross_entropy_with_logits(const Tensor& self, const Tensor& target,
                                        const Tensor& weight, const Tensor& pos_weight,
                                        int64_t reduction) {
  const ScalarType dtype = to_floating(result_type(self, target));
  const ScalarType work = work_type(dtype);
  const Tensor x = to_dtype(self, work);
  const Tensor t = to_dtype(target, work);
  const Tensor rest = pointwise({Body::kLogSigmoid}, {x});  // -log(1 + exp(-x))
  IntVector sizes = broadcast_shapes(x.sizes(), t.sizes());
  if (pos_weight.defined()) sizes = broadcast_shapes(sizes, pos_weight.sizes());
  const Tensor losses = Tensor::empty(sizes, work);
  dispatch_work(work, "binary_cross_entropy_with_logits", [&]<typename Tag>(Tag) {
    using T = typename Tag::type;
    if (pos_weight.defined()) {
      map_elements<T, T, T, T, T>(
          losses, [](T v, T y, T r, T w) { return (1 - y) * v - ((w - 1) * y + 1) * r; }, x, t,
          rest, to_dtype(pos_weight, work));
    } else {
      map_elements<T, T, T, T>(
          losses, [](T v, T y, T r) { return (1 - y) * v - r; }, x, t, rest);
    }
  });
  return to_dtype(reduce_loss(weighted(losses, weight), reduction), dtype);
}

Tensor kl_div(const Tensor& self, const Tensor& target, int64_t reduction, bool log_target) {
  require(!is_integral(self.dtype(), true) && !is_integral(target.dtype(), true),
          ErrorCode::kInvalidArgument, "kl_div: inputs of integral dtypes are not supported");
  const ScalarType dtype = to_floating(result_type(self, target));
  const ScalarType work = work_type(dtype);
  const Tensor x = to_dtype(self, work);
  const Tensor t = to_dtype(target, work);
  // exp(t), or t log(t), which is zero for zero.
  const Tensor part = log_target ? pointwise({Body::kExp}, {t}) : pointwise({Body::kXlogy}, {t, t});
  const Tensor losses = Tensor::empty(broadcast_shapes(x.sizes(), t.sizes()), work);
  dispatch_work(work, "kl_div", [&]<typename Tag>(Tag) {
    using T = typename Tag::type;
    if (log_target) {
      map_elements<T, T, T, T>(
          losses, [](T v, T y, T p) { return p * (y - v); }, x, t, part);
    } else {
      map_elements<T, T, T, T>(
          losses, [](T v, T y, T p) { return p - y * v; }, x, t, part);
    }
  });
  return to_dtype(reduce_loss(losses, reduction), dtype);
}

}  // namespace tierup::kernels
