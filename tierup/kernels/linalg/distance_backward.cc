#include "tierup/kernels/linalg/distance_backward.h"

#include <algorithm>
#include <cmath>

#include "tierup/base/parallel.h"
#include "tierup/kernels/memory/floating_work.h"

namespace tierup::kernels {
namespace {

constexpr auto kBad = ErrorCode::kInvalidArgument;

// The derivative of the p-norm of a vector by one of its coordinates, p not 2.
template <typename T>
T slope(T coordinate, T distance, double p) {
  if (p == 0 || distance == 0) return 0;
  const T sign = static_cast<T>((coordinate > 0) - (coordinate < 0));
  if (p == 1) return sign;
  const T size = std::abs(coordinate);
  if (std::isinf(p)) return size == distance ? sign : T{0};
  if (size == 0 && p < 2) return 0;
  return sign * std::pow(size / distance, static_cast<T>(p - 1));
}

// to += g * slope of the norm of a - b.
template <typename T>
void add_slopes(const T* a, const T* b, int64_t length, T distance, T g, double p, T* to) {
  if (p == 2) {
    if (distance == 0) return;
    const T each = g / distance;
    for (int64_t k = 0; k < length; ++k) to[k] += each * (a[k] - b[k]);
    return;
  }
  for (int64_t k = 0; k < length; ++k) to[k] += g * slope(a[k] - b[k], distance, p);
}

// The same for p = 2 and many rows `b`: of some columns at a time, whose sums stand in registers.
template <typename T>
void add_euclidean_slopes(const T* a, const T* b, int64_t others, int64_t length, const T* factors,
                          T* to) {
  constexpr int64_t kColumns = 8;
  int64_t k = 0;
  for (; k + kColumns <= length; k += kColumns) {
    T sums[kColumns] = {};
    for (int64_t j = 0; j < others; ++j) {
      const T* row = b + j * length + k;
      for (int64_t c = 0; c < kColumns; ++c) sums[c] += factors[j] * (a[k + c] - row[c]);
    }
    for (int64_t c = 0; c < kColumns; ++c) to[k + c] += sums[c];
  }
  for (; k < length; ++k) {
    T sum = 0;
    for (int64_t j = 0; j < others; ++j) sum += factors[j] * (a[k] - b[j * length + k]);
    to[k] += sum;
  }
}

void check_p(double p) {
  require(p >= 0, kBad, "distances of p {} have no gradient, only non-negative p values", p);
}

struct Run {
  int64_t first = 0;
  int64_t count = 0;
};

// The segments of each outer place, in order; from lengths, or from the differences of offsets.
std::vector<Run> runs_of(const Tensor& lengths, const Tensor& offsets, int64_t outer,
                         int64_t segments, int64_t size) {
  const Tensor& given = lengths.defined() ? lengths : offsets;
  require(given.defined(), kBad, "segment_reduce(): Either lengths or offsets must be defined.");
  const Tensor numbers = contiguous(to_dtype(given, ScalarType::kLong));
  const int64_t width = segments + (lengths.defined() ? 0 : 1);
  require(numbers.numel() == outer * width, kBad,
          "segment_reduce(): {} lengths or offsets do not fit {} segments", numbers.numel(),
          outer * segments);
  std::vector<Run> runs;
  for (int64_t o = 0; o < outer; ++o) {
    const int64_t* row = numbers.data<int64_t>() + o * width;
    int64_t at = 0;
    for (int64_t s = 0; s < segments; ++s) {
      const Run run = lengths.defined() ? Run{at, row[s]} : Run{row[s], row[s + 1] - row[s]};
      require(run.first >= 0 && run.count >= 0 && run.first + run.count <= size, kBad,
              "segment_reduce(): a segment of {} elements at {} is outside of {}", run.count,
              run.first, size);
      runs.push_back(run);
      at = run.first + run.count;
    }
  }
  return runs;
}

enum class Kind : uint8_t { kSum, kMean, kProduct, kExtremum };

Kind kind_of(std::string_view reduce) {
  if (reduce == "sum") return Kind::kSum;
  if (reduce == "mean") return Kind::kMean;
  if (reduce == "prod") return Kind::kProduct;
  require(reduce == "max" || reduce == "min", kBad, "unsupported reduction: {}", reduce);
  return Kind::kExtremum;
}

// One segment of one column: elements `step` apart.
template <typename T>
void segment_backward(Kind kind, const Run& run, int64_t step, T g, T result, T initial,
                      const T* data, T* to) {
  int64_t ties = 0;
  for (int64_t j = 0; j < run.count; ++j) ties += data[j * step] == result;
  for (int64_t j = 0; j < run.count; ++j) {
    T& slot = to[j * step];
    switch (kind) {
      case Kind::kSum: slot = g; break;
      case Kind::kMean: slot = g / static_cast<T>(run.count); break;
      case Kind::kExtremum:
        slot = data[j * step] == result || std::isnan(data[j * step])
                   ? g / static_cast<T>(std::max<int64_t>(ties, 1))
                   : T{0};
        break;
      case Kind::kProduct: {
        T others = initial;
        for (int64_t k = 0; k < run.count; ++k)
          if (k != j) others *= data[k * step];
        slot = g * others;
        break;
      }
    }
  }
}

}  // namespace

Tensor cdist_backward(const Tensor& grad, const Tensor& x1, const Tensor& x2, double p,
                      const Tensor& distances) {
  check_p(p);
  require(x1.dim() >= 2 && x2.dim() >= 2 && x1.size(-1) == x2.size(-1), kBad,
          "_cdist_backward: X1 and X2 must be matrices with the same number of columns");
  const auto batch_of = [](const Tensor& x) {
    return x.sizes().first(static_cast<size_t>(x.dim() - 2));
  };
  const IntVector batch = broadcast_shapes(batch_of(x1), batch_of(x2));
  const auto spread = [&](const Tensor& x, int64_t rows, int64_t columns) {
    IntVector sizes = batch;
    sizes.insert(sizes.end(), {rows, columns});
    return as_work(expand_to(x, sizes), work_type(x1.dtype()));
  };
  const int64_t rows = x1.size(-2);
  const int64_t others = x2.size(-2);
  const int64_t length = x1.size(-1);
  const Tensor a = spread(x1, rows, length);
  const Tensor b = spread(x2, others, length);
  const Tensor g = spread(grad, rows, others);
  const Tensor d = spread(distances, rows, others);
  const Tensor out = Tensor::empty(a.sizes(), a.dtype());
  fill(out, 0);
  dispatch_work(out.dtype(), "_cdist_backward", [&]<typename Tag>(Tag) {
    using T = typename Tag::type;
    const int64_t grain = grain_of(2 * length * others);
    parallel_for(0, numel_of(batch) * rows, grain, [&](int64_t begin, int64_t end) {
      std::vector<T> factors(static_cast<size_t>(p == 2 ? others : 0));
      for (int64_t i = begin; i < end; ++i) {
        if (p == 2) {
          const T* distance = d.data<T>() + i * others;
          const T* gradient = g.data<T>() + i * others;
          for (size_t j = 0; j < factors.size(); ++j)
            factors[j] = distance[j] == 0 ? T{0} : gradient[j] / distance[j];
          add_euclidean_slopes(a.data<T>() + i * length, b.data<T>() + i / rows * others * length,
                               others, length, factors.data(), out.data<T>() + i * length);
          continue;
        }
        for (int64_t j = 0; j < others; ++j) {
          add_slopes(a.data<T>() + i * length, b.data<T>() + (i / rows * others + j) * length,
                     length, d.data<T>()[i * others + j], g.data<T>()[i * others + j], p,
                     out.data<T>() + i * length);
        }
      }
    });
  });
  return to_dtype(out, x1.dtype());
}

Tensor pdist_backward(const Tensor& grad, const Tensor& self, double p, const Tensor& distances) {
  check_p(p);
  require(self.dim() == 2, kBad, "pdist only supports 2D tensors, got: {}D", self.dim());
  const int64_t rows = self.size(0);
  const int64_t length = self.size(1);
  const int64_t pairs = rows * std::max<int64_t>(rows - 1, 0) / 2;
  require(grad.numel() == pairs && distances.numel() == pairs, kBad,
          "_pdist_backward: expected {} distances and gradients", pairs);
  const ScalarType work = work_type(self.dtype());
  const Tensor x = as_work(self, work);
  const Tensor g = as_work(grad, work);
  const Tensor d = as_work(distances, work);
  const Tensor out = Tensor::empty(self.sizes(), work);
  fill(out, 0);
  dispatch_work(work, "_pdist_backward", [&]<typename Tag>(Tag) {
    using T = typename Tag::type;
    int64_t at = 0;
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = i + 1; j < rows; ++j, ++at) {
        const T* a = x.data<T>() + i * length;
        const T* b = x.data<T>() + j * length;
        add_slopes(a, b, length, d.data<T>()[at], g.data<T>()[at], p, out.data<T>() + i * length);
        add_slopes(b, a, length, d.data<T>()[at], g.data<T>()[at], p, out.data<T>() + j * length);
      }
    }
  });
  return to_dtype(out, self.dtype());
}

Tensor segment_reduce_backward(const Tensor& grad, const Tensor& output, const Tensor& data,
                               std::string_view reduce, const Tensor& lengths,
                               const Tensor& offsets, int64_t axis,
                               const std::optional<Scalar>& initial) {
  const auto d = static_cast<size_t>(wrap_dim(axis, data.dim()));
  require(data.dim() > 0 && output.dim() == data.dim() && grad.numel() == output.numel(), kBad,
          "segment_reduce(): gradient, output and data do not fit each other");
  const Kind kind = kind_of(reduce);
  const int64_t outer = numel_of(data.sizes().first(d));
  const int64_t inner = numel_of(data.sizes().subspan(d + 1));
  const int64_t size = data.sizes()[d];
  const int64_t segments = output.sizes()[d];
  require(output.numel() == outer * segments * inner, kBad,
          "segment_reduce(): output and data do not fit each other");
  const std::vector<Run> runs = runs_of(lengths, offsets, outer, segments, size);
  const ScalarType work = work_type(data.dtype());
  const Tensor g = as_work(grad, work);
  const Tensor y = as_work(output, work);
  const Tensor x = as_work(data, work);
  const Tensor out = Tensor::empty(data.sizes(), work);
  fill(out, 0);
  dispatch_work(work, "_segment_reduce_backward", [&]<typename Tag>(Tag) {
    using T = typename Tag::type;
    const T start = initial ? static_cast<T>(initial->to_double()) : T{1};
    for (int64_t r = 0; r < outer * segments; ++r) {
      const Run& run = runs[static_cast<size_t>(r)];
      for (int64_t i = 0; i < inner; ++i) {
        const int64_t at = (r / segments * size + run.first) * inner + i;
        segment_backward(kind, run, inner, g.data<T>()[r * inner + i], y.data<T>()[r * inner + i],
                         start, x.data<T>() + at, out.data<T>() + at);
      }
    }
  });
  return to_dtype(out, data.dtype());
}

}  // namespace tierup::kernels
