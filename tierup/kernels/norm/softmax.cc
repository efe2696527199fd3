#include "tierup/kernels/norm/softmax.h"

#include <algorithm>
#include <cmath>

#include "tierup/base/parallel.h"
#include "tierup/kernels/gemm/dense_rows.h"
#include "tierup/kernels/gemm/row_kernels.h"
#include "tierup/kernels/memory/cast.h"
#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/memory/floating_work.h"
#include "tierup/kernels/memory/type_promotion.h"
#include "tierup/kernels/norm/gradient_rows.h"
#include "tierup/kernels/pointwise/complex_views.h"
#include "tierup/kernels/pointwise/pointwise_ops.h"
#include "tierup/kernels/reduce/reduce_extremum.h"
#include "tierup/kernels/reduce/reduce_plan.h"
#include "tierup/kernels/reduce/reduce_sum.h"
#include "tierup/kernels/shape/view.h"

namespace tierup::kernels {
namespace {

// A contiguous tensor seen along one dimension: [outer, size, inner].
struct Along {
  int64_t outer = 1;
  int64_t size = 1;
  int64_t inner = 1;
};

Along along(const Tensor& tensor, int64_t dim) {
  Along result;
  const int64_t axis = wrap_dim(dim, tensor.dim());
  if (tensor.dim() == 0) return result;
  for (int64_t d = 0; d < axis; ++d) result.outer *= tensor.size(d);
  result.size = tensor.size(axis);
  for (int64_t d = axis + 1; d < tensor.dim(); ++d) result.inner *= tensor.size(d);
  return result;
}

constexpr int64_t kColumnPiece = 64;  // Columns of one task: what kernels go down at once.

template <typename T>
void run_softmax(const Along& shape, bool log, const T* x, T* y) {
  const RowKernels<T>& kernels = row_kernels<T>();
  const int64_t grain = grain_of(2 * shape.size);
  if (shape.inner == 1) {
    if constexpr (std::is_same_v<T, float>) return softmax_rows(x, shape.outer, shape.size, log, y);
    const auto rows = log ? kernels.log_softmax : kernels.softmax;
    parallel_for(0, shape.outer, grain, [&](int64_t begin, int64_t end) {
      rows(x + begin * shape.size, end - begin, shape.size, y + begin * shape.size);
    });
    return;
  }
  const auto columns = log ? kernels.log_softmax_columns : kernels.softmax_columns;
  const int64_t pieces = (shape.inner + kColumnPiece - 1) / kColumnPiece;
  const int64_t width = std::min(kColumnPiece, shape.inner);
  parallel_for(0, shape.outer * pieces, std::max<int64_t>(1, grain / width),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) {
                   const int64_t first = i % pieces * kColumnPiece;
                   const int64_t offset = i / pieces * shape.size * shape.inner + first;
                   columns(x + offset, shape.size, shape.inner,
                           std::min(kColumnPiece, shape.inner - first), y + offset);
                 }
               });
}

Tensor softmax_in(const Tensor& self, int64_t dim, bool log, ScalarType dtype) {
  const ScalarType work = work_type(dtype);
  const Tensor input = as_work(self, work);
  const Tensor out = Tensor::empty(self.sizes(), work);
  const Along shape = along(input, dim);
  dispatch_work(work, log ? "log_softmax_lastdim_kernel_impl" : "softmax_lastdim_kernel_impl",
                [&]<typename Tag>(Tag) {
                  using T = typename Tag::type;
                  if (out.numel() > 0) run_softmax<T>(shape, log, input.data<T>(), out.data<T>());
                });
  return to_dtype(out, dtype);
}

void backward_turned(const Along& shape, bool log, const float* g, const float* y, float* dx) {
  const GradientRows<float>& rows = gradient_rows<float>();
  const auto columns = log ? rows.log_softmax_columns : rows.softmax_columns;
  static_assert(TurnedRows::kTogether <= kMostColumns);
  parallel_for(0, shape.outer, grain_of(2 * shape.size), [&](int64_t begin, int64_t end) {
    TurnedRows grad;
    TurnedRows result;
    TurnedRows::for_pieces(begin, end, [&](int64_t i, int64_t count) {
      grad.load(g + i * shape.size, shape.size, count);
      result.load(y + i * shape.size, shape.size, count);
      columns(grad.data(), result.data(), shape.size, TurnedRows::kTogether, count, grad.data());
      grad.store(dx + i * shape.size, shape.size, count);
    });
  });
}

// grad - sum(grad * weight) * factor, per line; see the two callers.
template <typename T>
void run_backward(const Along& shape, bool log, const T* g, const T* y, T* dx) {
  if constexpr (std::is_same_v<T, float>) {
    if (shape.inner == 1 && TurnedRows::pay(shape.outer, shape.size))
      return backward_turned(shape, log, g, y, dx);
  }
  const GradientRows<T>& rows = gradient_rows<T>();
  const int64_t grain = grain_of(2 * shape.size);
  if (shape.inner == 1) {
    const auto row = log ? rows.log_softmax : rows.softmax;
    parallel_for(0, shape.outer, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        row(g + i * shape.size, y + i * shape.size, shape.size, dx + i * shape.size);
      }
    });
    return;
  }
  const auto columns = log ? rows.log_softmax_columns : rows.softmax_columns;
  const int64_t pieces = (shape.inner + kMostColumns - 1) / kMostColumns;
  const int64_t width = std::min(kMostColumns, shape.inner);
  parallel_for(0, shape.outer * pieces, std::max<int64_t>(1, grain / std::max<int64_t>(1, width)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) {
                   const int64_t first = i % pieces * kMostColumns;
                   const int64_t at = i / pieces * shape.size * shape.inner + first;
                   columns(g + at, y + at, shape.size, shape.inner,
                           std::min(kMostColumns, shape.inner - first), dx + at);
                 }
               });
}

Tensor backward(const Tensor& grad_output, const Tensor& output, int64_t dim,
                ScalarType input_dtype, bool log) {
  if (!std::ranges::equal(grad_output.sizes(), output.sizes())) {
    fail(ErrorCode::kInvalidArgument,
         "softmax backward: expected the gradient to have the same size as the output, but {} does "
         "not equal {}",
         shape_string(grad_output.sizes()), shape_string(output.sizes()));
  }
  const ScalarType work = work_type(output.dtype());
  const Tensor grad = as_work(grad_output, work);
  const Tensor result = as_work(output, work);
  const Tensor out = Tensor::empty(output.sizes(), work);
  const Along shape = along(result, dim);
  dispatch_work(work, "softmax_backward", [&]<typename Tag>(Tag) {
    using T = typename Tag::type;
    run_backward(shape, log, grad.data<T>(), result.data<T>(), out.data<T>());
  });
  return to_dtype(out, input_dtype);
}

// Relative to the largest real part, where that is finite.
Tensor scaled_logsumexp(const Tensor& self, const IntVector& dims, bool keepdim) {
  Tensor top = amax(is_complex(self.dtype()) ? real(self) : self, dims, true);
  const Tensor infinite = pointwise({Body::kIsInf}, {top});
  top = evaluate(where(infinite, Operand(Scalar(0)), Operand(top)));
  const Tensor powers = pointwise({Body::kSub}, {self, top});
  pointwise_into(powers, {Body::kExp}, {powers});
  const Tensor logarithm = pointwise({Body::kLog}, {sum(powers, dims, keepdim, std::nullopt)});
  const IntVector sizes(logarithm.sizes().begin(), logarithm.sizes().end());
  return pointwise({Body::kAdd}, {logarithm, view(top, sizes)});
}

// None if the dimensions are not adjacent.
std::optional<Along> lines_of(const Tensor& tensor, const IntVector& dims) {
  const uint64_t mask = reduce_mask(dims, tensor.dim());
  Along lines;
  bool is_behind = false;
  for (int64_t d = 0; d < tensor.dim(); ++d) {
    if ((mask >> d & 1U) == 0) {
      is_behind = is_behind || lines.size > 1;
      (is_behind ? lines.inner : lines.outer) *= tensor.size(d);
    } else {
      if (is_behind && tensor.size(d) != 1) return std::nullopt;
      lines.size *= tensor.size(d);
    }
  }
  return lines;
}

template <typename T>
void run_lines(const Along& lines, const T* x, T* y) {
  constexpr int64_t kGrain = 8192;  // Exponentials worth a thread.
  const RowKernels<T>& kernels = row_kernels<T>();
  if constexpr (std::is_same_v<T, float>) {
    if (lines.inner == 1 && TurnedRows::pay(lines.outer, lines.size)) {
      parallel_for(0, lines.outer, kGrain / lines.size + 1, [&](int64_t begin, int64_t end) {
        TurnedRows turned;
        TurnedRows::for_pieces(begin, end, [&](int64_t i, int64_t count) {
          turned.load(x + i * lines.size, lines.size, count);
          kernels.log_sum_exp_columns(turned.data(), lines.size, TurnedRows::kTogether, count,
                                      y + i);
        });
      });
      return;
    }
  }
  if (lines.inner == 1) {
    parallel_for(0, lines.outer, kGrain / lines.size + 1, [&](int64_t begin, int64_t end) {
      kernels.log_sum_exp(x + begin * lines.size, end - begin, lines.size, y + begin);
    });
    return;
  }
  const int64_t pieces = (lines.inner + kColumnPiece - 1) / kColumnPiece;
  const int64_t work = lines.size * std::min(kColumnPiece, lines.inner);
  parallel_for(0, lines.outer * pieces, kGrain / work + 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i % pieces * kColumnPiece;
      kernels.log_sum_exp_columns(x + i / pieces * lines.size * lines.inner + first, lines.size,
                                  lines.inner, std::min(kColumnPiece, lines.inner - first),
                                  y + i / pieces * lines.inner + first);
    }
  });
}

Tensor by_lines(const Tensor& self, const Along& lines, const IntVector& dims, bool keepdim) {
  const uint64_t mask = reduce_mask(dims, self.dim());
  IntVector sizes;
  for (int64_t d = 0; d < self.dim(); ++d) {
    if ((mask >> d & 1U) == 0) {
      sizes.push_back(self.size(d));
    } else if (keepdim) {
      sizes.push_back(1);
    }
  }
  const Tensor input = contiguous(self, MemoryFormat::kContiguous);
  const Tensor result = Tensor::empty(sizes, self.dtype());
  dispatch_work(self.dtype(), "logsumexp", [&]<typename Tag>(Tag) {
    using T = typename Tag::type;
    run_lines<T>(lines, input.data<T>(), result.data<T>());
  });
  return result;
}

}  // namespace

Tensor softmax(const Tensor& self, int64_t dim, std::optional<ScalarType> dtype) {
  return softmax_in(self, dim, false, dtype.value_or(self.dtype()));
}

Tensor log_softmax(const Tensor& self, int64_t dim, std::optional<ScalarType> dtype) {
  return softmax_in(self, dim, true, dtype.value_or(self.dtype()));
}

Tensor softmax_raw(const Tensor& self, int64_t dim, bool half_to_float) {
  return softmax_in(self, dim, false, half_to_float ? ScalarType::kFloat : self.dtype());
}

Tensor log_softmax_raw(const Tensor& self, int64_t dim, bool half_to_float) {
  return softmax_in(self, dim, true, half_to_float ? ScalarType::kFloat : self.dtype());
}

Tensor safe_softmax(const Tensor& self, int64_t dim, std::optional<ScalarType> dtype) {
  const Tensor out = softmax(self, dim, dtype);
  const Along shape = along(self, dim);
  const Tensor input = as_work(self, work_type(self.dtype()));
  const Tensor zero = Tensor::scalar(0.0, out.dtype());
  dispatch_work(input.dtype(), "_safe_softmax", [&]<typename Tag>(Tag) {
    using T = typename Tag::type;
    const T* x = input.data<T>();
    for (int64_t line = 0; line < shape.outer * shape.inner; ++line) {
      const int64_t base = line / shape.inner * shape.size * shape.inner + line % shape.inner;
      bool masked = true;
      for (int64_t i = 0; i < shape.size && masked; ++i) {
        masked = x[base + i * shape.inner] == -std::numeric_limits<T>::infinity();
      }
      if (masked && shape.size > 0)
        copy_into(out.as_view(IntVector{shape.size}, IntVector{shape.inner}, base), zero);
    }
  });
  return out;
}

Tensor softmax_backward(const Tensor& grad_output, const Tensor& output, int64_t dim,
                        ScalarType input_dtype) {
  return backward(grad_output, output, dim, input_dtype, false);
}

Tensor log_softmax_backward(const Tensor& grad_output, const Tensor& output, int64_t dim,
                            ScalarType input_dtype) {
  return backward(grad_output, output, dim, input_dtype, true);
}

Tensor logsumexp(const Tensor& self, const IntVector& dims, bool keepdim) {
  const ScalarType type = to_floating(self.dtype());
  const bool is_narrow = type == ScalarType::kHalf || type == ScalarType::kBFloat16;
  const Tensor input = to_dtype(self, is_narrow ? ScalarType::kFloat : type);
  if (input.numel() == 0) {
    const Tensor nothing = sum(pointwise({Body::kExp}, {input}), dims, keepdim, std::nullopt);
    return to_dtype(pointwise({Body::kLog}, {nothing}), type);
  }
  const auto lines = is_complex(type) ? std::nullopt : lines_of(input, dims);
  return to_dtype(
      lines ? by_lines(input, *lines, dims, keepdim) : scaled_logsumexp(input, dims, keepdim),
      type);
}

}  // namespace tierup::kernels
