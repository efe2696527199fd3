#include "tierup/kernels/gemm/dense_rows.h"

#include <cmath>

#include "tierup/base/parallel.h"
#include "tierup/kernels/gemm/row_kernels.h"
#include "tierup/kernels/memory/turned_rows.h"

namespace tierup::kernels {
namespace {

void softmax_turned(const float* x, int64_t rows, int64_t size, bool log, float* y) {
  const RowKernels<float>& kernels = row_kernels<float>();
  const auto columns = log ? kernels.log_softmax_columns : kernels.softmax_columns;
  parallel_for(0, rows, grain_of(2 * size), [&](int64_t begin, int64_t end) {
    TurnedRows turned;
    TurnedRows::for_pieces(begin, end, [&](int64_t i, int64_t count) {
      turned.load(x + i * size, size, count);
      columns(turned.data(), size, TurnedRows::kTogether, count, turned.data());
      turned.store(y + i * size, size, count);
    });
  });
}

void normalize_turned(int64_t rows, int64_t size, float eps, const NormRows<float>& data) {
  const NormalizeColumns normalize = normalize_columns();
  parallel_for(0, rows, grain_of(size), [&](int64_t begin, int64_t end) {
    TurnedRows turned;
    std::array<float, TurnedRows::kTogether> mean;
    std::array<float, TurnedRows::kTogether> rstd;
    TurnedRows::for_pieces(begin, end, [&](int64_t i, int64_t count) {
      turned.load(data.x + i * size, size, count);
      normalize(turned.data(), size, TurnedRows::kTogether, count, eps, data.gamma, data.beta,
                mean.data(), rstd.data());
      turned.store(data.y + i * size, size, count);
      if (data.mean == nullptr) return;
      std::copy_n(mean.data(), count, data.mean + i);
      std::copy_n(rstd.data(), count, data.rstd + i);
    });
  });
}

}  // namespace

void TurnedRows::load(const float* x, int64_t size, int64_t rows) {
  turn_rows(numbers_.data(), kTogether, x, size, rows, size);
}

void TurnedRows::store(float* y, int64_t size, int64_t rows) const {
  turn_rows(y, size, numbers_.data(), kTogether, size, rows);
}

void softmax_rows(const float* x, int64_t rows, int64_t size, bool log, float* y) {
  if (TurnedRows::pay(rows, size)) return softmax_turned(x, rows, size, log, y);
  const RowKernels<float>& kernels = row_kernels<float>();
  const auto rows_of = log ? kernels.log_softmax : kernels.softmax;
  parallel_for(0, rows, grain_of(2 * size), [&](int64_t begin, int64_t end) {
    rows_of(x + begin * size, end - begin, size, y + begin * size);
  });
}

template <typename T>
void normalize_rows(int64_t rows, int64_t size, T eps, const NormRows<T>& data) {
  if constexpr (std::is_same_v<T, float>) {
    if (TurnedRows::pay(rows, size)) return normalize_turned(rows, size, eps, data);
  }
  const RowKernels<T>& kernels = row_kernels<T>();
  parallel_for(0, rows, grain_of(size), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      T mean = 0;
      T variance = 0;
      kernels.moments(data.x + i * size, size, &mean, &variance);
      const T rstd = T{1} / std::sqrt(variance + eps);
      kernels.normalize(data.x + i * size, size, mean, rstd, data.gamma, data.beta,
                        data.y + i * size);
      if (data.mean == nullptr) continue;
      data.mean[i] = mean;
      data.rstd[i] = rstd;
    }
  });
}

template void normalize_rows(int64_t, int64_t, float, const NormRows<float>&);
template void normalize_rows(int64_t, int64_t, double, const NormRows<double>&);

}  // namespace tierup::kernels
