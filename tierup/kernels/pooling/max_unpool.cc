// From the results of max_pool back to where they stood: see max_pool.h.
#include <algorithm>

#include "tierup/base/parallel.h"
#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/pooling/max_pool.h"
#include "tierup/kernels/pooling/ordered_work.h"
#include "tierup/kernels/pooling/pooling_window.h"

namespace tierup::kernels {
namespace {

constexpr auto kBad = ErrorCode::kInvalidArgument;

[[noreturn]] void fail_index(int64_t at, int64_t size) {
  fail(ErrorCode::kOutOfRange, "Found an invalid max index: {} (output volumes are of size {})", at,
       size);
}

// Sets each element of zeros at its index, plane by plane.
Tensor scatter_planes(const Tensor& values, const Tensor& indices, const IntVector& sizes,
                      int64_t planes, bool add, const char* what) {
  const ScalarType work = work_type(values.dtype());
  const Tensor source = as_work(values, work);
  const Tensor index = contiguous(indices);
  const Tensor out = Tensor::empty(sizes, work);
  if (planes == 0 || values.numel() == 0) {
    fill(out, 0);
    return to_dtype(out, values.dtype());
  }
  const int64_t from = values.numel() / planes;
  const int64_t to = out.numel() / planes;
  dispatch_ordered(work, what, [&]<typename Tag>(Tag) {
    using T = typename Tag::type;
    const T* taken = source.data<T>();
    const int64_t* places = index.data<int64_t>();
    const int64_t grain = grain_of(2 * (from + to));
    parallel_for(0, planes, grain, [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p) {
        T* plane = out.data<T>() + p * to;
        std::fill_n(plane, to, T(0));
        for (int64_t i = p * from; i < (p + 1) * from; ++i) {
          const int64_t at = places[i];
          if (at < 0 || at >= to) fail_index(at, to);
          plane[at] = add ? static_cast<T>(plane[at] + taken[i]) : taken[i];
        }
      }
    });
  });
  return to_dtype(out, values.dtype());
}

Tensor unpool(const Tensor& self, const Tensor& indices, const IntVector& output_size, int rank) {
  require(indices.dtype() == ScalarType::kLong, kBad,
          "elements in indices should be type int64 but got: {}",
          scalar_type_name(indices.dtype()));
  require(output_size.size() == static_cast<size_t>(rank), kBad,
          "There should be exactly {} elements in output_size, but got {} elements.", rank,
          output_size.size());
  if (shape_string(self.sizes()) != shape_string(indices.sizes())) {
    fail(kBad, "Expected shape of indices to be: {} but got: {}", shape_string(self.sizes()),
         shape_string(indices.sizes()));
  }
  const PoolWindow w = resize_window(self, rank, {output_size.data(), output_size.size()});
  return contiguous(
      scatter_planes(self, indices, pooled_sizes(self, w), w.planes, false, "max_unpool"),
      self.suggest_memory_format());
}

}  // namespace

Tensor max_pool2d_backward(const Tensor& grad_output, const Tensor& self,
                           const IntVector& kernel_size, const IntVector& stride,
                           const IntVector& padding, const IntVector& dilation, bool ceil_mode,
                           const Tensor& indices) {
  const PoolWindow w = pool_window(self, 2, kernel_size, stride, padding, dilation, ceil_mode);
  if (!(indices.dtype() == ScalarType::kLong && indices.numel() == grad_output.numel() &&
        grad_output.numel() == w.planes * w.out_points())) {
    fail(kBad, "max_pool2d_backward: expected grad_output and indices of size {}",
         shape_string(pooled_sizes(self, w)));
  }
  const IntVector sizes(self.sizes().begin(), self.sizes().end());
  return contiguous(
      scatter_planes(grad_output, indices, sizes, w.planes, true, "max_pool2d_backward"),
      self.suggest_memory_format());
}

Tensor max_unpool2d(const Tensor& self, const Tensor& indices, const IntVector& output_size) {
  return unpool(self, indices, output_size, 2);
}

Tensor max_unpool3d(const Tensor& self, const Tensor& indices, const IntVector& output_size,
                    const IntVector& stride, const IntVector& padding) {
  require(stride.size() == 3 && padding.size() == 3, kBad,
          "There should be exactly three elements in stride and padding");
  for (const int64_t step : stride)
    require(step > 0, kBad, "strides should be greater than zero, but got stride: {}", step);
  return unpool(self, indices, output_size, 3);
}

}  // namespace tierup::kernels
