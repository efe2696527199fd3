#include "tierup/kernels/reduce/scan.h"

#include <array>
#include <cmath>
#include <limits>

#include "tierup/base/parallel.h"
#include "tierup/kernels/memory/cast.h"
#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/memory/floating_work.h"
#include "tierup/kernels/memory/lane_loop.h"
#include "tierup/kernels/memory/nan_order.h"
#include "tierup/kernels/reduce/scan_logs.h"
#include "tierup/kernels/shape/view.h"
#include "tierup/kernels/simd/instruction_set.h"

namespace tierup::kernels {

template <>
ScanLogs<float> scan_logs<float>() {
  return TIERUP_VARIANT(instruction_set(), simd_base::float_scan_logs, simd_avx2::float_scan_logs,
                        simd_avx512::float_scan_logs)();
}
template <>
ScanLogs<double> scan_logs<double>() {
  return TIERUP_VARIANT(instruction_set(), simd_base::double_scan_logs, simd_avx2::double_scan_logs,
                        simd_avx512::double_scan_logs)();
}

namespace {

// What a running total is kept in: integers wrap around.
template <typename T>
using ScanType = std::conditional_t<std::is_integral_v<T>, uint64_t,
                                    std::conditional_t<kIsComplex<T>, complex128, double>>;

// From `start`: next(acc, element) gives the new total. Steps in bytes.
template <typename T, typename Acc, typename Next>
inline void scan_lane(const char* from, int64_t from_step, char* to, int64_t to_step, int64_t count,
                      Acc start, const Next& next) {
  for (int64_t i = 0; i < count; ++i, from += from_step, to += to_step) {
    start = next(start, *reinterpret_cast<const T*>(from));
    *reinterpret_cast<T*>(to) = static_cast<T>(start);
  }
}

// Scans each lane.
template <typename T, typename Acc, typename Next>
void scan_lanes(const Tensor& self, const Tensor& out, int64_t d, Acc start, const Next& next) {
  const int64_t count = self.sizes()[d];
  const LaneLoop loop(self.sizes(), d, {&self, &out});
  const int64_t from_step = loop.step(0);
  const int64_t to_step = loop.step(1);
  loop.run(grain_of(count), [&](const LaneLoop::Pointers& lane) {
    scan_lane<T>(lane[0], from_step, lane[1], to_step, count, start, next);
  });
}

// Some dense lanes that follow one another side by side: no total waits for another lane's.
constexpr int64_t kLanesTogether = 4;
template <typename T, typename Acc, typename Next>
inline void scan_together(const T* from, T* to, int64_t count, Acc start, const Next& next) {
  Acc totals[kLanesTogether] = {start, start, start, start};
  for (int64_t i = 0; i < count; ++i) {
#pragma GCC unroll 4
    for (int64_t l = 0; l < kLanesTogether; ++l) {
      totals[l] = next(totals[l], from[l * count + i]);
      to[l * count + i] = static_cast<T>(totals[l]);
    }
  }
}

// The same for dense lanes that follow one another.
template <typename T, typename Acc, typename Next>
void scan_dense_lanes(const Tensor& self, const Tensor& out, int64_t count, Acc start,
                      const Next& next) {
  parallel_for(0, self.numel() / count, grain_of(count), [&](int64_t begin, int64_t end) {
    const T* from = self.data<T>() + begin * count;
    T* to = out.data<T>() + begin * count;
    int64_t lane = begin;
    for (; lane + kLanesTogether <= end; lane += kLanesTogether) {
      scan_together(from, to, count, start, next);
      from += kLanesTogether * count;
      to += kLanesTogether * count;
    }
    for (; lane < end; ++lane, from += count, to += count) {
      scan_lane<T>(reinterpret_cast<const char*>(from), sizeof(T), reinterpret_cast<char*>(to),
                   sizeof(T), count, start, next);
    }
  });
}

// The same for lanes that lie side by side in a contiguous tensor: a tile of them at once.
constexpr int64_t kTile = 64;

int64_t inner_of(const Tensor& self, int64_t d) {
  int64_t inner = 1;
  for (int64_t i = d + 1; i < self.dim(); ++i) inner *= self.sizes()[i];
  return inner;
}
bool lie_side_by_side(const Tensor& self, int64_t inner) {
  return inner >= 4 && self.is_contiguous();
}

// body(the place of a tile's first element, the number of its lanes).
template <typename Body>
void for_each_tile(const Tensor& self, int64_t d, int64_t inner, const Body& body) {
  const int64_t count = self.sizes()[d];
  const int64_t tiles = (inner + kTile - 1) / kTile;
  const int64_t outer = self.numel() / (inner * count);
  const int64_t grain = grain_of(count * std::min(inner, kTile));
  parallel_for(0, outer * tiles, grain, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      const int64_t first = t % tiles * kTile;
      body(t / tiles * count * inner + first, std::min(kTile, inner - first));
    }
  });
}

template <typename T, typename Acc, typename Next>
void scan_rows(const Tensor& self, const Tensor& out, int64_t d, int64_t inner, Acc start,
               const Next& next) {
  const int64_t count = self.sizes()[d];
  for_each_tile(self, d, inner, [&](int64_t base, int64_t width) {
    std::array<Acc, kTile> acc;
    acc.fill(start);
    for (int64_t i = 0; i < count; ++i) {
      const T* from = self.data<T>() + base + i * inner;
      T* to = out.data<T>() + base + i * inner;
      for (int64_t j = 0; j < width; ++j) {
        acc[j] = next(acc[j], from[j]);
        to[j] = static_cast<T>(acc[j]);
      }
    }
  });
}

template <typename T, typename Acc, typename Next>
void scan_into(const Tensor& self, const Tensor& out, int64_t d, Acc start, const Next& next) {
  const int64_t inner = inner_of(self, d);
  if (lie_side_by_side(self, inner))
    scan_rows<T>(self, out, d, inner, start, next);
  else if (inner == 1 && self.is_contiguous())
    scan_dense_lanes<T>(self, out, self.sizes()[d], start, next);
  else
    scan_lanes<T>(self, out, d, start, next);
}

// Converts, allocates and runs scan(self, out, d) on tensors of at least one dimension; narrow
// floats as float.
template <typename Scan>
Tensor scan(const Tensor& tensor, int64_t dim, std::optional<ScalarType> dtype, const Scan& run) {
  const int64_t d = wrap_dim(dim, tensor.dim());
  const ScalarType type =
      dtype.value_or(is_integral(tensor.dtype(), true) ? ScalarType::kLong : tensor.dtype());
  const ScalarType work = work_type(type);
  const Tensor self = to_dtype(to_dtype(tensor, type), work);
  const Tensor out = Tensor::empty(self.sizes(), work);
  if (out.numel() > 0) run(atleast_1d(self), atleast_1d(out), d);
  return to_dtype(out, type);
}

// Of what scan() converts to.
template <typename Body>
void dispatch_work_or_whole(ScalarType type, const char* what, const Body& body) {
  if (is_complex(type)) return dispatch_complex(type, what, body);
  if (is_integral(type, true)) return dispatch_integral(type, what, body);
  dispatch_work(type, what, body);
}

// Narrow floats as float, in which they are compared.
template <bool kMax>
std::tuple<Tensor, Tensor> running_extremum(const Tensor& tensor, int64_t dim, const char* what) {
  const int64_t d = wrap_dim(dim, tensor.dim());
  const ScalarType type = tensor.dtype();
  if (type == ScalarType::kHalf || type == ScalarType::kBFloat16) {
    const auto [values, indices] =
        running_extremum<kMax>(to_dtype(tensor, ScalarType::kFloat), dim, what);
    return {to_dtype(values, type), indices};
  }
  Tensor values = Tensor::empty(tensor.sizes(), tensor.dtype());
  Tensor indices = Tensor::empty(tensor.sizes(), ScalarType::kLong);
  if (values.numel() == 0) return {values, indices};
  const Tensor self = atleast_1d(tensor);
  const Tensor value_lanes = atleast_1d(values);
  const Tensor index_lanes = atleast_1d(indices);
  const int64_t count = self.sizes()[d];
  const LaneLoop loop(self.sizes(), d, {&self, &value_lanes, &index_lanes});
  dispatch_real(self.dtype(), what, [&](auto tag) {
    using T = typename decltype(tag)::type;
    loop.run(grain_of(count), [&](const LaneLoop::Pointers& lane) {
      T best = *reinterpret_cast<const T*>(lane[0]);
      int64_t place = 0;
      for (int64_t i = 0; i < count; ++i) {
        const T x = *reinterpret_cast<const T*>(lane[0] + i * loop.step(0));
        if (value_is_nan(x) || (!value_is_nan(best) && (kMax ? x >= best : x <= best))) {
          best = x;
          place = i;
        }
        *reinterpret_cast<T*>(lane[1] + i * loop.step(1)) = best;
        *reinterpret_cast<int64_t*>(lane[2] + i * loop.step(2)) = place;
      }
    });
  });
  return {values, indices};
}

void scan_logs_along(const Tensor& self, const Tensor& out, int64_t d, auto tag) {
  using T = typename decltype(tag)::type;
  const ScanLogs<T> kernels = scan_logs<T>();
  const int64_t count = self.sizes()[d];
  const int64_t inner = inner_of(self, d);
  if (!lie_side_by_side(self, inner)) {
    const LaneLoop loop(self.sizes(), d, {&self, &out});
    const auto width = static_cast<int64_t>(sizeof(T));
    return loop.run(grain_of(count), [&](const LaneLoop::Pointers& lane) {
      kernels.lane(reinterpret_cast<const T*>(lane[0]), loop.step(0) / width, count,
                   reinterpret_cast<T*>(lane[1]), loop.step(1) / width);
    });
  }
  for_each_tile(self, d, inner, [&](int64_t base, int64_t width) {
    kernels.columns(self.data<T>() + base, count, inner, width, out.data<T>() + base);
  });
}

// log(exp(a) + exp(b)) without overflow.
complex128 log_add_exp(complex128 a, complex128 b) {
  if (std::isnan(a.real()) || std::isnan(a.imag()) || std::isnan(b.real()) ||
      std::isnan(b.imag())) {
    return {std::nan(""), std::nan("")};
  }
  const complex128 low = a.real() < b.real() ? a : b;
  const complex128 high = a.real() < b.real() ? b : a;
  if (std::isinf(low.real()) && low.real() == high.real()) {
    return low.real() < 0 ? low : std::log(std::exp(low) + std::exp(high));
  }
  return std::log(1.0 + std::exp(low - high)) + high;
}

}  // namespace

Tensor cumsum(const Tensor& self, int64_t dim, std::optional<ScalarType> dtype) {
  return scan(self, dim, dtype, [](const Tensor& in, const Tensor& out, int64_t d) {
    dispatch_work_or_whole(in.dtype(), "cumsum", [&](auto tag) {
      using T = typename decltype(tag)::type;
      using Acc = ScanType<T>;
      scan_into<T>(in, out, d, Acc(0), [](Acc acc, T x) { return acc + static_cast<Acc>(x); });
    });
  });
}

Tensor cumprod(const Tensor& self, int64_t dim, std::optional<ScalarType> dtype) {
  return scan(self, dim, dtype, [](const Tensor& in, const Tensor& out, int64_t d) {
    dispatch_work_or_whole(in.dtype(), "cumprod", [&](auto tag) {
      using T = typename decltype(tag)::type;
      using Acc = ScanType<T>;
      scan_into<T>(in, out, d, Acc(1), [](Acc acc, T x) { return acc * static_cast<Acc>(x); });
    });
  });
}

std::tuple<Tensor, Tensor> cummax(const Tensor& self, int64_t dim) {
  return running_extremum<true>(self, dim, "cummax");
}
std::tuple<Tensor, Tensor> cummin(const Tensor& self, int64_t dim) {
  return running_extremum<false>(self, dim, "cummin");
}

Tensor logcumsumexp(const Tensor& self, int64_t dim) {
  return scan(self, dim, self.dtype(), [](const Tensor& in, const Tensor& out, int64_t d) {
    if (!is_complex(in.dtype())) {
      return dispatch_work(in.dtype(), "logcumsumexp",
                           [&](auto tag) { scan_logs_along(in, out, d, tag); });
    }
    dispatch_complex(in.dtype(), "logcumsumexp", [&](auto tag) {
      using T = typename decltype(tag)::type;
      const complex128 start = -std::numeric_limits<double>::infinity();
      scan_into<T>(in, out, d, start, [](complex128 acc, T x) {
        return log_add_exp(acc, static_cast<complex128>(x));
      });
    });
  });
}

}  // namespace tierup::kernels
