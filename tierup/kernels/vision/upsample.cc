// One pass along each dimension, the innermost first: each output line is a weighted sum of a few
// input lines.
#include "tierup/kernels/vision/upsample.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "tierup/base/parallel.h"
#include "tierup/kernels/memory/floating_work.h"
#include "tierup/kernels/vision/resample_lines.h"

namespace tierup::kernels {
namespace {

constexpr auto kBad = ErrorCode::kInvalidArgument;

// A tensor seen along the dimension of a pass: [outer, size, inner].
struct Pass {
  int64_t outer = 1;
  int64_t in = 1;
  int64_t out = 1;
  int64_t inner = 1;
};

// a * w + sum, rounded once (but for ties of ties): the product of floats is exact in double.
template <typename T>
T accumulate(T sum, T a, T w) {
  return static_cast<T>(static_cast<double>(sum) + static_cast<double>(a) * static_cast<double>(w));
}

// Neighbours within a line.
template <typename T>
void resample_line(const Pass& p, const ResampleTaps& taps, const T* weights, const T* source,
                   T* target) {
  const int64_t* index = taps.index.data();
  if (taps.count == 2) {
    for (int64_t i = 0; i < p.out; ++i) {
      target[i] =
          source[index[2 * i]] * weights[2 * i] + source[index[2 * i + 1]] * weights[2 * i + 1];
    }
    return;
  }
  for (int64_t i = 0; i < p.out; ++i) {
    T sum = 0;
    for (int64_t k = 0; k < taps.count; ++k)
      sum = accumulate(sum, source[index[i * taps.count + k]], weights[i * taps.count + k]);
    target[i] = sum;
  }
}

// One output line from whole input lines.
template <typename T>
void combine_lines(const Pass& p, const ResampleTaps& taps, const T* weights, int64_t i,
                   const T* source, T* target) {
  const int64_t* index = taps.index.data() + i * taps.count;
  const T* w = weights + i * taps.count;
  if (taps.count == 2) {
    const T* a = source + index[0] * p.inner;
    const T* b = source + index[1] * p.inner;
    if constexpr (std::is_same_v<T, float>)
      return resample_loops().across_two(a, b, w, p.inner, target);
    for (int64_t j = 0; j < p.inner; ++j) target[j] = a[j] * w[0] + b[j] * w[1];
    return;
  }
  if constexpr (std::is_same_v<T, float>)
    return resample_loops().across(source, index, w, taps.count, p.inner, target);
  std::fill(target, target + p.inner, T{0});
  for (int64_t k = 0; k < taps.count; ++k) {
    const T* a = source + index[k] * p.inner;
    if (w[k] == T{0}) continue;
    for (int64_t j = 0; j < p.inner; ++j) target[j] = accumulate(target[j], a[j], w[k]);
  }
}

// Each of p.outer lines that is read by the next pass: `is_read` says so for as many as that goes
// over.
template <typename T, typename Resample>
void for_lines(const Pass& p, const std::vector<bool>& is_read, const T* in, T* out,
               const Resample& resample) {
  const auto period = static_cast<int64_t>(is_read.size());
  parallel_for(0, p.outer, grain_of(2 * p.out), [&](int64_t begin, int64_t end) {
    for (int64_t o = begin; o < end; ++o) {
      if (is_read[static_cast<size_t>(o % period)]) resample(in + o * p.in, out + o * p.out);
    }
  });
}

template <typename T>
void run_pass(const Pass& p, const ResampleTaps& taps, const std::vector<bool>& is_read,
              const T* in, T* out) {
  const std::vector<T> weights(taps.weight.begin(), taps.weight.end());
  if constexpr (std::is_same_v<T, float>) {
    if (p.inner == 1 && taps.count > 2) {
      const LineTaps line_taps(taps, p.in, p.out);
      const auto along = resample_loops().along;
      return for_lines(p, is_read, in, out, [&](const float* source, float* target) {
        along(source, line_taps, target);
      });
    }
  }
  if (p.inner == 1) {
    return for_lines(p, is_read, in, out, [&](const T* source, T* target) {
      resample_line(p, taps, weights.data(), source, target);
    });
  }
  const int64_t grain = grain_of(p.inner * taps.count);
  parallel_for(0, p.outer * p.out, grain, [&](int64_t begin, int64_t end) {
    for (int64_t line = begin; line < end; ++line) {
      combine_lines(p, taps, weights.data(), line % p.out, in + line / p.out * p.in * p.inner,
                    out + line * p.inner);
    }
  });
}

// A nearest pass only moves elements, of whatever type of this width.
template <typename T>
void gather_pass(const Pass& p, const ResampleTaps& taps, const T* in, T* out) {
  if (p.inner == 1) {
    const int64_t* index = taps.index.data();
    const bool is_doubled =
        p.out == 2 * p.in &&
        std::all_of(index, index + p.out, [&](const int64_t& i) { return i == (&i - index) / 2; });
    parallel_for(0, p.outer, grain_of(p.out), [&](int64_t begin, int64_t end) {
      for (int64_t line = begin; line < end; ++line) {
        const T* from = in + line * p.in;
        T* to = out + line * p.out;
        if (is_doubled) {
          for (int64_t i = 0; i < p.in; ++i) to[2 * i] = to[2 * i + 1] = from[i];
        } else {
          for (int64_t i = 0; i < p.out; ++i) to[i] = from[index[i]];
        }
      }
    });
    return;
  }
  const int64_t grain = grain_of(p.inner);
  parallel_for(0, p.outer * p.out, grain, [&](int64_t begin, int64_t end) {
    for (int64_t line = begin; line < end; ++line) {
      const T* source =
          in + (line / p.out * p.in + taps.index[static_cast<size_t>(line % p.out)]) * p.inner;
      std::copy(source, source + p.inner, out + line * p.inner);
    }
  });
}

void gather_bytes(const Pass& p, const ResampleTaps& taps, const Tensor& in, const Tensor& out) {
  switch (in.item_size()) {
    case 1:
      return gather_pass(p, taps, static_cast<const uint8_t*>(in.raw()),
                         static_cast<uint8_t*>(out.raw()));
    case 2:
      return gather_pass(p, taps, static_cast<const uint16_t*>(in.raw()),
                         static_cast<uint16_t*>(out.raw()));
    case 4:
      return gather_pass(p, taps, static_cast<const uint32_t*>(in.raw()),
                         static_cast<uint32_t*>(out.raw()));
    case 8:
      return gather_pass(p, taps, static_cast<const uint64_t*>(in.raw()),
                         static_cast<uint64_t*>(out.raw()));
    default:
      return gather_pass(p, taps, static_cast<const complex128*>(in.raw()),
                         static_cast<complex128*>(out.raw()));
  }
}

bool is_identity(const ResampleTaps& taps, const ResampleDimension& d) {
  if (d.in != d.out) return false;
  for (int64_t i = 0; i < d.out; ++i) {
    if (taps.index[static_cast<size_t>(i * taps.count)] != i ||
        taps.weight[static_cast<size_t>(i * taps.count)] != 1)
      return false;
  }
  return true;
}

// Room for the tensor with another size of `dim`.
Tensor resized(const Tensor& tensor, size_t dim, int64_t size) {
  IntVector sizes(tensor.sizes().begin(), tensor.sizes().end());
  sizes[dim] = size;
  return Tensor::empty(sizes, tensor.dtype());
}

Tensor resample_dim(const Tensor& tensor, const Tensor& out, size_t dim, const ResampleDimension& d,
                    const ResampleTaps& taps, const std::vector<bool>& is_read, bool moves) {
  if (is_identity(taps, d)) return tensor;
  Pass p;
  p.in = d.in;
  p.out = d.out;
  p.outer = numel_of(tensor.sizes().first(dim));
  p.inner = numel_of(tensor.sizes().subspan(dim + 1));
  if (moves) {
    gather_bytes(p, taps, tensor, out);
    return out;
  }
  dispatch_work(tensor.dtype(), "upsample", [&]<typename Tag>(Tag) {
    using T = typename Tag::type;
    run_pass<T>(p, taps, is_read, tensor.data<T>(), out.data<T>());
  });
  return out;
}

// A pass over bytes: sums in fixed point, rounded half up to a byte again.
void run_byte_pass(const Pass& p, const FixedTaps& taps, const uint8_t* in, uint8_t* out) {
  const int32_t half = taps.shift > 0 ? 1 << (taps.shift - 1) : 0;
  const int64_t grain = grain_of(p.inner * taps.count);
  parallel_for(0, p.outer * p.out, grain, [&](int64_t begin, int64_t end) {
    for (int64_t line = begin; line < end; ++line) {
      const uint8_t* source = in + line / p.out * p.in * p.inner;
      const int64_t first = line % p.out * taps.count;
      for (int64_t j = 0; j < p.inner; ++j) {
        int32_t sum = half;
        for (int64_t k = first; k < first + taps.count; ++k) {
          sum += taps.weight[static_cast<size_t>(k)] *
                 source[taps.index[static_cast<size_t>(k)] * p.inner + j];
        }
        out[line * p.inner + j] = static_cast<uint8_t>(std::clamp(sum >> taps.shift, 0, 255));
      }
    }
  });
}

Tensor resample_bytes(const Tensor& tensor, const Tensor& out, size_t dim,
                      const ResampleDimension& d, const ResampleTaps& taps) {
  if (d.in == d.out) return tensor;
  const Pass p{numel_of(tensor.sizes().first(dim)), d.in, d.out,
               numel_of(tensor.sizes().subspan(dim + 1))};
  run_byte_pass(p, fixed_taps(taps), static_cast<const uint8_t*>(tensor.raw()),
                static_cast<uint8_t*>(out.raw()));
  return out;
}

// Which entries of a dimension its taps read.
std::vector<bool> entries_read(const ResampleTaps& taps, const ResampleDimension& d) {
  std::vector<bool> is_read(static_cast<size_t>(d.in));
  for (const int64_t index : taps.index) is_read[static_cast<size_t>(index)] = true;
  return is_read;
}

// Rounds to the nearest integer of 0..255.
Tensor to_bytes(const Tensor& tensor) {
  const Tensor out = Tensor::empty(tensor.sizes(), ScalarType::kByte);
  const float* x = tensor.data<float>();
  for (int64_t i = 0; i < out.numel(); ++i) {
    out.data<uint8_t>()[i] = static_cast<uint8_t>(std::clamp(std::nearbyint(x[i]), 0.0F, 255.0F));
  }
  return out;
}

}  // namespace

Tensor resample(const Tensor& input, const IntVector& output_size, const Scales& scales,
                const ResampleOptions& options) {
  const size_t rank = output_size.size();
  require(static_cast<size_t>(input.dim()) == rank + 2, kBad,
          "It is expected input_size equals to {}, but got size {}", rank + 2, input.dim());
  for (size_t d = 0; d < rank; ++d) {
    if (!(input.sizes()[d + 2] > 0 && output_size[d] > 0)) {
      fail(kBad, "Input and output sizes should be greater than 0, but got input {} and output {}",
           shape_string(input.sizes()), shape_string({output_size.data(), rank}));
    }
  }
  if (!(input.sizes()[1] > 0)) {
    fail(kBad, "Non-empty {}D data tensor expected but got a tensor with sizes {}", rank + 2,
         shape_string(input.sizes()));
  }
  const bool moves = !options.antialias && (options.mode == ResampleMode::kNearest ||
                                            options.mode == ResampleMode::kNearestExact);
  const bool is_byte = input.dtype() == ScalarType::kByte && !moves;
  const bool in_fixed_point = is_byte && rank == 2;
  const ScalarType work = moves || in_fixed_point ? input.dtype()
                          : is_byte               ? ScalarType::kFloat
                                                  : work_type(input.dtype());
  const bool in_double = work == ScalarType::kDouble || in_fixed_point;
  const auto dimension_of = [&](size_t d) {
    return ResampleDimension{input.sizes()[d + 2], output_size[d], scales[d]};
  };
  const auto taps_of = [&](size_t d) {
    return options.antialias
               ? antialias_taps(dimension_of(d), *options.antialias, options.align_corners,
                                in_double)
               : resample_taps(dimension_of(d), options.mode, options.align_corners, in_double);
  };
  Tensor result = as_work(input, work);
  std::optional<ResampleTaps> next;
  for (size_t d = rank; d-- > 0;) {
    const ResampleDimension dimension = dimension_of(d);
    // Before the taps: whether there is memory for the result decides whether they are worth it.
    const Tensor out = resized(result, d + 2, dimension.out);
    if (out.numel() == 0) {
      result = out;
      continue;
    }
    const ResampleTaps taps = next ? *std::exchange(next, std::nullopt) : taps_of(d);
    std::vector<bool> is_read(1, true);
    if (d > 0 && output_size[d - 1] < input.sizes()[d + 1]) {  // Some may be skipped.
      next = taps_of(d - 1);
      is_read = entries_read(*next, dimension_of(d - 1));
    }
    result = in_fixed_point ? resample_bytes(result, out, d + 2, dimension, taps)
                            : resample_dim(result, out, d + 2, dimension, taps, is_read, moves);
  }
  if (result.storage() == input.storage()) result = clone(result, MemoryFormat::kContiguous);
  result = is_byte && !in_fixed_point ? to_bytes(result) : to_dtype(result, input.dtype());
  return contiguous(result, input.suggest_memory_format());
}

Tensor resample_by(const Tensor& input, const std::optional<IntVector>& output_size,
                   const std::optional<std::vector<double>>& factors, int64_t rank,
                   const ResampleOptions& options) {
  require(output_size.has_value() != factors.has_value(), kBad,
          "Must specify exactly one of output_size and scale_factors");
  require(input.dim() == rank + 2, kBad, "It is expected input_size equals to {}, but got size {}",
          rank + 2, input.dim());
  Scales scales(static_cast<size_t>(rank));
  if (output_size) {
    require(output_size->size() == static_cast<size_t>(rank), kBad,
            "It is expected output_size equals to {}, but got size {}", rank, output_size->size());
    return resample(input, *output_size, scales, options);
  }
  require(factors->size() == static_cast<size_t>(rank), kBad,
          "It is expected scale_factors equals to {}, but got size {}", rank, factors->size());
  IntVector sizes;
  for (size_t d = 0; d < static_cast<size_t>(rank); ++d) {
    const double size = std::floor(static_cast<double>(input.sizes()[d + 2]) * (*factors)[d]);
    require(size >= 0 && size < 1e15, kBad, "upsample: scale factor {} gives no usable size",
            (*factors)[d]);
    sizes.push_back(static_cast<int64_t>(size));
    scales[d] = (*factors)[d];
  }
  return resample(input, sizes, scales, options);
}

}  // namespace tierup::kernels
