#include "tierup/kernels/indexing/scatter_rows.h"

#include <cstring>
#include <optional>

#include "tierup/base/error.h"
#include "tierup/base/parallel.h"
#include "tierup/kernels/indexing/index_range.h"
#include "tierup/kernels/pointwise/pointwise_runs.h"

namespace tierup::kernels {
namespace {

// The numbers that a cache line holds at most: narrower shares of a row are not worth a thread.
constexpr int64_t kLineBytes = 64;

std::optional<Body> body_of(ScatterMode mode) {
  switch (mode) {
    case ScatterMode::kSum: return Body::kAdd;
    case ScatterMode::kAmax: return Body::kMaximum;
    case ScatterMode::kAmin: return Body::kMinimum;
    default: return std::nullopt;
  }
}

// Whether dimensions 1 and up lie row-major, without gaps.
bool has_dense_rows(const Tensor& tensor) {
  int64_t step = 1;
  for (int64_t d = tensor.dim() - 1; d > 0; --d) {
    if (tensor.sizes()[d] != 1 && tensor.strides()[d] != step) return false;
    step *= tensor.sizes()[d];
  }
  return true;
}

int64_t row_length(const Tensor& tensor) {
  int64_t length = 1;
  for (int64_t d = 1; d < tensor.dim(); ++d) length *= tensor.sizes()[d];
  return length;
}

bool is_one_index_a_row(const Tensor& index) {
  for (int64_t d = 1; d < index.dim(); ++d) {
    if (index.sizes()[d] != 1 && index.strides()[d] != 0) return false;
  }
  return true;
}

bool has_same_rows(const Tensor& a, const Tensor& b) {
  for (int64_t d = 1; d < a.dim(); ++d) {
    if (a.sizes()[d] != b.sizes()[d]) return false;
  }
  return true;
}

}  // namespace

bool scatters_rows(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src) {
  return dim == 0 && is_one_index_a_row(index) && has_same_rows(index, src) &&
         has_same_rows(index, self) && has_dense_rows(self) && has_dense_rows(src);
}

void check_row_indices(const Tensor& index, int64_t rows) {
  const int64_t* at = index.data<int64_t>();
  const int64_t step = index.strides()[0];
  const int64_t bad = first_out_of_range(at, index.sizes()[0], rows, step);
  require(bad < 0, ErrorCode::kOutOfRange, "index {} is out of bounds for dimension 0 with size {}",
          bad < 0 ? 0 : at[bad * step], rows);
}

bool combine_wide_rows(const Tensor& self, const Tensor& index, const Tensor& src,
                       ScatterMode mode) {
  const std::optional<Body> body = body_of(mode);
  const auto width = static_cast<int64_t>(self.item_size());
  const int64_t length = row_length(self);
  if (!body || length * width < kLineBytes || self.dtype() > ScalarType::kBool) return false;
  const Variant* run = RunTable::instance().find(*body, self.dtype());
  if (run == nullptr || run->arity != 2 || run->out != self.dtype() || run->in[0] != self.dtype())
    return false;
  const int64_t* at = index.data<int64_t>();
  const int64_t line = kLineBytes / width;
  const int64_t lines = (length + line - 1) / line;
  const int64_t rows = index.sizes()[0];
  const int64_t grain = grain_of(line * rows);
  const int64_t index_step = index.strides()[0];
  const int64_t to_step = self.strides()[0] * width;
  const int64_t from_step = src.strides()[0] * width;
  parallel_for(0, lines, grain, [&](int64_t begin, int64_t end) {
    const int64_t first = begin * line;
    const int64_t count = std::min(end * line, length) - first;
    char* const to = static_cast<char*>(self.raw()) + first * width;
    const char* from = static_cast<const char*>(src.raw()) + first * width;
    for (int64_t i = 0; i < rows; ++i, from += from_step) {
      char* target = to + at[i * index_step] * to_step;
      const char* const inputs[] = {target, from};
      run->run(target, inputs, count);
    }
  });
  return true;
}

}  // namespace tierup::kernels
