#include "tierup/kernels/linalg/distance.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <type_traits>
#include <vector>

#include "tierup/base/parallel.h"
#include "tierup/kernels/linalg/distance_rows.h"
#include "tierup/kernels/memory/floating_work.h"
#include "tierup/kernels/memory/same_dtype.h"
#include "tierup/kernels/memory/turned_rows.h"
#include "tierup/kernels/memory/type_promotion.h"
#include "tierup/kernels/pointwise/pointwise_ops.h"
#include "tierup/kernels/reduce/reduce_moments.h"
#include "tierup/kernels/shape/view.h"

namespace tierup::kernels {
namespace {

constexpr auto kBad = ErrorCode::kInvalidArgument;

// How distances of this order are made side by side; none of doubles of a general order, whose
// powers the C library makes one by one.
template <typename T>
std::optional<DistanceNorm> norm_by_lanes(double p) {
  if (p == 0) return DistanceNorm::kCount;
  if (p == 1) return DistanceNorm::kOne;
  if (p == 2) return DistanceNorm::kTwo;
  if (std::isinf(p)) return DistanceNorm::kLargest;
  if (std::is_same_v<T, float>) return DistanceNorm::kPower;
  return std::nullopt;
}

// The p-norm of a - b over n elements.
double power_distance(const double* a, const double* b, int64_t n, double p) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += std::pow(std::abs(a[i] - b[i]), p);
  return std::pow(sum, 1 / p);
}

void turn_columns(float* to, const float* from, int64_t rows, int64_t length) {
  turn_rows(to, kDistanceColumns, from, length, rows, length);
}
void turn_columns(double* to, const double* from, int64_t rows, int64_t length) {
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t k = 0; k < length; ++k) to[k * kDistanceColumns + r] = from[r * length + k];
  }
}

// The distances of rows of `a` from all of `b`: some rows of `b` at a time, turned, side by side.
template <typename T>
void find_distances(double p, const T* a, int64_t rows, const T* b, int64_t cols, int64_t length,
                    T* out) {
  const std::optional<DistanceNorm> norm = norm_by_lanes<T>(p);
  if constexpr (std::is_same_v<T, double>) {
    if (!norm) {
      for (int64_t i = 0; i < rows * cols; ++i)
        out[i] = power_distance(a + i / cols * length, b + i % cols * length, length, p);
      return;
    }
  }
  std::vector<T> turned(static_cast<size_t>(length * kDistanceColumns));
  for (int64_t first = 0; first < cols; first += kDistanceColumns) {
    const int64_t width = std::min(kDistanceColumns, cols - first);
    turn_columns(turned.data(), b + first * length, width, length);
    distance_rows({*norm, p, a, rows, turned.data(), width, length, out + first, cols});
  }
}

// Where the distances of row i from those behind it begin among those of all pairs.
int64_t first_pair_of(int64_t i, int64_t rows) { return i * (2 * rows - i - 1) / 2; }

// The distances of a few rows from `first` on from all behind each of them. What the rows are
// compared with is turned once for all of them.
template <typename T>
void find_pairs(double p, const T* all, int64_t rows, int64_t length, int64_t first, int64_t count,
                T* out) {
  const int64_t behind = rows - first - 1;
  std::vector<T> found(static_cast<size_t>(count * behind));
  find_distances(p, all + first * length, count, all + (first + 1) * length, behind, length,
                 found.data());
  for (int64_t r = 0; r < count; ++r) {
    std::copy(found.data() + r * behind + r, found.data() + (r + 1) * behind,
              out + first_pair_of(first + r, rows));
  }
}

// Operands broadcast, in the work type, contiguous; `dtype` is that of the result.
struct Pair {
  Tensor a, b;
  ScalarType dtype;
};

Pair broadcast_pair(const Tensor& x1, const Tensor& x2) {
  const ScalarType dtype = to_floating(result_type(x1, x2));
  const ScalarType work = work_type(dtype);
  const IntVector sizes = broadcast_shapes(x1.sizes(), x2.sizes());
  return {as_work(expand_to(x1, sizes), work), as_work(expand_to(x2, sizes), work), dtype};
}

// body(row of a, row of b, length) over the last dimension of both.
template <typename Body>
Tensor map_rows(const Pair& pair, const Body& body) {
  require(pair.a.dim() >= 1, kBad, "expected tensors with at least one dimension");
  IntVector sizes(pair.a.sizes().begin(), pair.a.sizes().end() - 1);
  const int64_t length = pair.a.size(-1);
  const Tensor out = Tensor::empty(sizes, pair.a.dtype());
  dispatch_work(out.dtype(), "distance", [&]<typename Tag>(Tag) {
    using T = typename Tag::type;
    parallel_for(0, out.numel(), grain_of(length), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        out.data<T>()[i] =
            body(pair.a.data<T>() + i * length, pair.b.data<T>() + i * length, length);
      }
    });
  });
  return out;
}

struct Products {
  double ab = 0, aa = 0, bb = 0;
};
template <typename T>
Products products_of(const T* a, const T* b, int64_t n) {
  Products p;
  for (int64_t i = 0; i < n; ++i) {
    const auto x = static_cast<double>(a[i]);
    const auto y = static_cast<double>(b[i]);
    p.ab += x * y;
    p.aa += x * x;
    p.bb += y * y;
  }
  return p;
}

}  // namespace

Tensor pairwise_distance(const Tensor& x1, const Tensor& x2, double p, double eps, bool keepdim) {
  // As it is defined: integers wrap, and the sum of complex numbers is complex.
  const Tensor difference = evaluate(sub(x1, x2, Scalar(1)));
  return vector_norm(pointwise({Body::kAdd}, {difference, Scalar(eps)}), Scalar(p), IntVector{-1},
                     keepdim, std::nullopt);
}

Tensor cosine_similarity(const Tensor& x1, const Tensor& x2, int64_t dim, double eps) {
  Pair pair = broadcast_pair(x1, x2);
  require(is_floating(result_type(x1, x2)), kBad,
          "expected common dtype to be floating point, yet common dtype is {}",
          scalar_type_name(result_type(x1, x2)));
  if (pair.a.dim() > 0) {
    pair.a = contiguous(movedim_int(pair.a, dim, -1));
    pair.b = contiguous(movedim_int(pair.b, dim, -1));
  } else {
    wrap_dim(dim, 0);
    pair.a = unsqueeze(pair.a, 0);
    pair.b = unsqueeze(pair.b, 0);
  }
  const Tensor out = map_rows(pair, [=]<typename T>(const T* a, const T* b, int64_t n) {
    const Products p = products_of(a, b, n);
    return static_cast<T>(p.ab / (std::max(std::sqrt(p.aa), eps) * std::max(std::sqrt(p.bb), eps)));
  });
  return to_dtype(out, pair.dtype);
}

Tensor cdist(const Tensor& x1, const Tensor& x2, double p, std::optional<int64_t> compute_mode) {
  require(x1.dim() >= 2 && x2.dim() >= 2, kBad,
          "cdist only supports at least 2D tensors, X1 got: {}D, X2 got: {}D", x1.dim(), x2.dim());
  require(x1.size(-1) == x2.size(-1), kBad,
          "X1 and X2 must have the same number of columns. X1: {} X2: {}", x1.size(-1),
          x2.size(-1));
  require_dtype_of(x1, {&x2}, "cdist");
  require(is_floating(x1.dtype()), kBad, "cdist: floating-point dtypes are needed, but X1 has {}",
          scalar_type_name(x1.dtype()));
  require(p >= 0, kBad, "cdist only supports non-negative p values");
  require(compute_mode.value_or(0) >= 0 && compute_mode.value_or(0) <= 2, kBad,
          "possible modes: 0, 1, 2, but was: {}", compute_mode.value_or(0));
  const ScalarType dtype = x1.dtype();
  const ScalarType work = work_type(dtype);
  const auto batch_of = [](const Tensor& x) {
    return x.sizes().first(static_cast<size_t>(x.dim() - 2));
  };
  IntVector batch = broadcast_shapes(batch_of(x1), batch_of(x2));
  const int64_t rows = x1.size(-2);
  const int64_t cols = x2.size(-2);
  const int64_t length = x1.size(-1);
  const auto spread = [&](const Tensor& x) {
    IntVector sizes = batch;
    sizes.insert(sizes.end(), {x.size(-2), length});
    return as_work(expand_to(x, sizes), work);
  };
  const Tensor a = spread(x1);
  const Tensor b = spread(x2);
  IntVector sizes = batch;
  sizes.insert(sizes.end(), {rows, cols});
  const Tensor out = Tensor::empty(sizes, work);
  dispatch_work(work, "cdist", [&]<typename Tag>(Tag) {
    using T = typename Tag::type;
    const int64_t grain = grain_of(length * cols);
    parallel_for(0, numel_of(batch) * rows, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin, next = 0; i < end; i = next) {
        next = std::min(end, (i / rows + 1) * rows);  // Of one batch.
        find_distances(p, a.data<T>() + i * length, next - i,
                       b.data<T>() + i / rows * cols * length, cols, length,
                       out.data<T>() + i * cols);
      }
    });
  });
  return to_dtype(out, dtype);
}

Tensor euclidean_dist(const Tensor& x1, const Tensor& x2) { return cdist(x1, x2, 2, std::nullopt); }

Tensor pdist(const Tensor& self, double p) {
  require(self.dim() == 2, kBad, "pdist only supports 2D tensors, got: {}D", self.dim());
  require(is_floating(self.dtype()), kBad, "pdist only supports floating-point dtypes");
  require(p >= 0, kBad, "pdist only supports non-negative p values");
  const ScalarType work = work_type(self.dtype());
  const Tensor x = as_work(self, work);
  const int64_t rows = self.size(0);
  const int64_t length = self.size(1);
  const Tensor out = Tensor::empty(IntVector{rows * std::max<int64_t>(rows - 1, 0) / 2}, work);
  dispatch_work(work, "pdist", [&]<typename Tag>(Tag) {
    using T = typename Tag::type;
    constexpr int64_t kAtOnce = 8;
    const T* all = x.data<T>();
    const int64_t groups = (rows + kAtOnce - 1) / kAtOnce;
    parallel_for(0, groups, grain_of(kAtOnce * length * rows / 2), [&](int64_t begin, int64_t end) {
      for (int64_t k = begin; k < end; ++k) {
        // The first rows take the longest: each range has some of both ends.
        const int64_t first = (k % 2 == 0 ? k / 2 : groups - 1 - k / 2) * kAtOnce;
        const int64_t count = std::min(kAtOnce, rows - first);
        find_pairs(p, all, rows, length, first, count, out.data<T>());
      }
    });
  });
  return to_dtype(out, self.dtype());
}

}  // namespace tierup::kernels
