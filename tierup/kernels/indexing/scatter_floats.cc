#include "tierup/kernels/indexing/scatter_floats.h"

#include <algorithm>
#include <vector>

#include "tierup/base/parallel.h"
#include "tierup/kernels/indexing/scatter_rows.h"
#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/shape/view.h"

namespace tierup::kernels {
namespace {

// The rows that an index names, each once, and for each of its entries where among them its row is.
struct NamedRows {
  std::vector<int64_t> rows;
  Tensor places;
};

// By a table of all rows, in the order in which they are named.
NamedRows found_by_table(const std::vector<int64_t>& index, int64_t all_rows) {
  NamedRows named{{},
                  Tensor::empty(IntVector{static_cast<int64_t>(index.size())}, ScalarType::kLong)};
  std::vector<int64_t> place_of(static_cast<size_t>(all_rows), -1);
  int64_t* places = named.places.data<int64_t>();
  for (const int64_t row : index) {
    int64_t& place = place_of[static_cast<size_t>(row)];
    if (place < 0) {
      place = static_cast<int64_t>(named.rows.size());
      named.rows.push_back(row);
    }
    *places++ = place;
  }
  return named;
}

// By sorting, in the order of the rows.
NamedRows found_by_order(const std::vector<int64_t>& index) {
  NamedRows named{index,
                  Tensor::empty(IntVector{static_cast<int64_t>(index.size())}, ScalarType::kLong)};
  std::ranges::sort(named.rows);
  named.rows.erase(std::unique(named.rows.begin(), named.rows.end()), named.rows.end());
  int64_t* places = named.places.data<int64_t>();
  for (const int64_t row : index)
    *places++ = std::ranges::lower_bound(named.rows, row) - named.rows.begin();
  return named;
}

NamedRows named_rows(const Tensor& index, int64_t all_rows) {
  constexpr int64_t kRowsForOneSource = 16;  // A table of more takes longer than sorting.
  std::vector<int64_t> flat(static_cast<size_t>(index.sizes()[0]));
  for (size_t i = 0; i < flat.size(); ++i)
    flat[i] = index.data<int64_t>()[static_cast<int64_t>(i) * index.strides()[0]];
  const bool is_small = all_rows <= kRowsForOneSource * static_cast<int64_t>(flat.size());
  return is_small ? found_by_table(flat, all_rows) : found_by_order(flat);
}

// copy(named row, row of the target) for each, in parallel.
template <typename T, typename Copy>
void for_named_rows(const NamedRows& named, const Tensor& sums, const Tensor& self,
                    const Copy& copy) {
  const int64_t length = sums.sizes()[1];
  const auto count = static_cast<int64_t>(named.rows.size());
  parallel_for(0, count, grain_of(length), [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k) {
      float* sum = sums.data<float>() + k * length;
      T* row = static_cast<T*>(self.raw()) + named.rows[static_cast<size_t>(k)] * self.strides()[0];
      for (int64_t j = 0; j < length; ++j) copy(sum[j], row[j]);
    }
  });
}

template <typename T>
bool add_rows(const Tensor& self, const Tensor& index, const Tensor& src) {
  const int64_t sources = index.sizes()[0];
  const NamedRows named = named_rows(index, self.sizes()[0]);
  const auto count = static_cast<int64_t>(named.rows.size());
  if (count == sources) return false;
  const int64_t length = self.numel() / self.sizes()[0];
  const Tensor sums = Tensor::empty(IntVector{count, length}, ScalarType::kFloat);
  const Tensor lines =
      src.as_view(IntVector{sources, length}, IntVector{src.strides()[0], 1}, src.offset());
  const Tensor floats = to_dtype(lines, ScalarType::kFloat);
  for_named_rows<T>(named, sums, self, [](float& sum, T& row) { sum = static_cast<float>(row); });
  if (!combine_wide_rows(sums, unsqueeze(named.places, 1), floats, ScatterMode::kSum)) return false;
  for_named_rows<T>(named, sums, self, [](float& sum, T& row) { row = static_cast<T>(sum); });
  return true;
}

}  // namespace

bool add_wide_rows_as_floats(const Tensor& self, const Tensor& index, const Tensor& src) {
  constexpr int64_t kLeastLength = 16;  // Floats of a cache line.
  if (self.numel() < self.sizes()[0] * kLeastLength) return false;
  return self.dtype() == ScalarType::kHalf ? add_rows<Half>(self, index, src)
                                           : add_rows<BFloat16>(self, index, src);
}

}  // namespace tierup::kernels
