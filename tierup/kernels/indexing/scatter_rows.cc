#include "tierup/kernels/indexing/scatter_rows.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "tierup/base/error.h"
#include "tierup/base/parallel.h"
#include "tierup/kernels/indexing/bag_sums.h"
#include "tierup/kernels/indexing/index_range.h"
#include "tierup/kernels/pointwise/pointwise_runs.h"

namespace tierup::kernels {
namespace {

// The numbers that a cache line holds at most: narrower shares of a row are not worth a thread.
constexpr int64_t kLineBytes = 64;
// Of a row: threads that write beside one another in a page of memory wait for each other's lines,
// which their cores fetch ahead up to its end (rows of 512 to 1,024 floats: five times as long).
constexpr int64_t kShareBytes = 4096;

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

// Rows of a source and the rows of a target that they go to; steps in bytes.
struct RowRun {
  char* to;
  const char* from;
  const int64_t* at;
  int64_t index_step;
  int64_t to_step;
  int64_t from_step;
  int64_t count;
  BlockRun run;
  RowSum sum;  // Not null: does the same, for all rows in one call.

  // Some source rows in their order, all if `list` is null: `numbers` numbers of each, `offset`
  // bytes from its start.
  void combine(const int64_t* list, int64_t rows, int64_t offset, int64_t numbers) const {
    if (sum != nullptr) {
      constexpr auto kFloat = static_cast<int64_t>(sizeof(float));
      return sum({reinterpret_cast<float*>(to + offset), to_step / kFloat,
                  reinterpret_cast<const float*>(from + offset), from_step / kFloat, at, index_step,
                  list, rows, numbers});
    }
    for (int64_t k = 0; k < rows; ++k) {
      const int64_t i = list == nullptr ? k : list[k];
      char* const target = to + at[i * index_step] * to_step + offset;
      const char* const inputs[] = {target, from + i * from_step + offset};
      run(target, inputs, numbers);
    }
  }
};

// Each thread looks for the source rows that go to its share of the targets, and goes through them
// in the order of the index.
void combine_by_targets(const RowRun& rows, int64_t targets, int64_t threads, int64_t length) {
  const int64_t room = rows.count + 1;
  const Tensor lists = Tensor::empty(IntVector{threads, room}, ScalarType::kLong);
  parallel_for(0, threads, 1, [&](int64_t begin, int64_t end) {
    const auto first = static_cast<uint64_t>(targets * begin / threads);
    const auto share = static_cast<uint64_t>(targets * end / threads) - first;
    int64_t* const own = lists.data<int64_t>() + begin * room;
    int64_t found = 0;
    for (int64_t i = 0; i < rows.count; ++i) {
      own[found] = i;
      found += static_cast<uint64_t>(rows.at[i * rows.index_step]) - first < share ? 1 : 0;
    }
    rows.combine(own, found, 0, length);
  });
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
  const bool is_float_sum = mode == ScatterMode::kSum && self.dtype() == ScalarType::kFloat;
  const RowRun rows{static_cast<char*>(self.raw()),
                    static_cast<const char*>(src.raw()),
                    index.data<int64_t>(),
                    index.strides()[0],
                    self.strides()[0] * width,
                    src.strides()[0] * width,
                    index.sizes()[0],
                    run->run,
                    is_float_sum ? row_sum() : nullptr};
  const int64_t line = kLineBytes / width;
  const int64_t lines = (length + line - 1) / line;
  const int64_t threads = std::min<int64_t>(
      intra_op_threads(), std::max<int64_t>(1, rows.count * length / kNumbersForThread));
  // A thread takes lines of its own where each gets as many, and enough, and else targets of its
  // own.
  const bool are_lines_shared = lines % threads == 0 && length * width >= threads * kShareBytes;
  if (threads > 1 && !are_lines_shared && self.sizes()[0] >= threads) {
    combine_by_targets(rows, self.sizes()[0], threads, length);
    return true;
  }
  parallel_for(0, lines, grain_of(line * rows.count), [&](int64_t begin, int64_t end) {
    const int64_t first = begin * line;
    const int64_t count = std::min(end * line, length) - first;
    rows.combine(nullptr, rows.count, first * width, count);
  });
  return true;
}

}  // namespace tierup::kernels
