#include "tierup/kernels/memory/strided_loop.h"

#include <gtest/gtest.h>

#include <numeric>

#include "tierup/kernels/shape/view.h"

namespace tierup::kernels {
namespace {

Tensor counted(IntVector sizes) {
  const Tensor tensor = Tensor::empty(std::move(sizes), ScalarType::kInt);
  std::iota(tensor.data<int32_t>(), tensor.data<int32_t>() + tensor.numel(), 0);
  return tensor;
}

// Adds both operands, whatever part of the runs a thread has.
void add_by_rows(const Tensor& out, const Tensor& a, const Tensor& b, int threads, int64_t grain) {
  const ThreadCountScope scope(threads);
  const StridedLoop loop(out.sizes(), {&out, &a, &b});
  const auto at = [](const StridedLoop::Rows& rows, size_t k, int64_t r, int64_t i) {
    return reinterpret_cast<int32_t*>(rows.pointers[k] + r * rows.run_strides[k] +
                                      i * rows.strides[k]);
  };
  loop.run_rows(grain, [&](const StridedLoop::Rows& rows) {
    for (int64_t r = 0; r < rows.runs; ++r) {
      for (int64_t i = 0; i < rows.count; ++i)
        *at(rows, 0, r, i) += *at(rows, 1, r, i) + *at(rows, 2, r, i);
    }
  });
}

TEST(StridedLoop, RunsByRowsCoverEachElementOnce) {
  const Tensor turned = transpose(counted({7, 5, 3}), 0, 2);
  const Tensor column = counted({5, 1});
  for (const int threads : {1, 2, 3}) {
    for (const int64_t grain : {1, 4, 1000}) {
      const Tensor out = Tensor::empty(IntVector{3, 5, 7}, ScalarType::kInt);
      std::fill_n(out.data<int32_t>(), out.numel(), 0);
      add_by_rows(out, turned, column, threads, grain);
      for (int32_t i = 0; i < 3; ++i) {
        for (int32_t j = 0; j < 5; ++j) {
          for (int32_t k = 0; k < 7; ++k)
            ASSERT_EQ(out.data<int32_t>()[(i * 5 + j) * 7 + k], (k * 5 + j) * 3 + i + j)
                << threads << " threads, grain " << grain;
        }
      }
    }
  }
}

}  // namespace
}  // namespace tierup::kernels
