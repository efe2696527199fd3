// Places of extrema: max.dim, min.dim, argmax and argmin, lane by lane.
#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <vector>

#include "tierup/base/interrupt.h"
#include "tierup/base/parallel.h"
#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/memory/lane_loop.h"
#include "tierup/kernels/memory/turned_rows.h"
#include "tierup/kernels/reduce/double_folds.h"
#include "tierup/kernels/reduce/float_folds.h"
#include "tierup/kernels/reduce/reduce_extremum.h"
#include "tierup/kernels/reduce/whole_folds.h"
#include "tierup/kernels/shape/view.h"

namespace tierup::kernels {
namespace {

constexpr int64_t kShortRow = 64;  // Shorter rows are turned (find_in_short_rows).
constexpr int64_t kNarrow = 16;    // Numbers of the widest register: fewer columns fill none.

template <typename T>
bool is_nan(T value) {
  if constexpr (std::is_integral_v<T>)
    return false;
  else
    return static_cast<float>(value) != static_cast<float>(value);
}
template <>
bool is_nan<double>(double value) {
  return value != value;
}

// Whether `value` takes the place of `best`, which came earlier.
template <bool kMax, typename T>
bool takes_place(T value, T best) {
  if (is_nan(best)) return false;
  return (kMax ? value > best : value < best) || is_nan(value);
}

template <bool kMax, typename T>
void find_in_lane(const char* lane, int64_t count, int64_t step, T& best, int64_t& place) {
  constexpr int64_t kUnasked = 1 << 24;  // Elements between two questions whether to stop.
  best = *reinterpret_cast<const T*>(lane);
  place = 0;
  for (int64_t i = 1; i < count; ++i) {
    if (i % kUnasked == 0) [[unlikely]]
      poll_interrupt();
    const T value = *reinterpret_cast<const T*>(lane + i * step);
    if (!takes_place<kMax>(value, best)) continue;
    best = value;
    place = i;
    if (is_nan(value)) return;
  }
}

int64_t first_equal(const float* x, int64_t n, float value) {
  return float_folds().first_equal(x, n, value);
}
int64_t first_equal(const double* x, int64_t n, double value) {
  if (is_nan(value)) return std::find_if(x, x + n, is_nan<double>) - x;
  return std::find(x, x + n, value) - x;
}

template <typename T>
const auto& folds_of() {
  if constexpr (std::is_same_v<T, float>)
    return float_folds();
  else
    return double_folds();
}

// A dense lane of floats or doubles: block by block the extremum first, and then where it is in the
// one block that has it.
template <bool kMax, typename T>
void find_in_dense_lane(const T* lane, int64_t count, T& best, int64_t& place) {
  constexpr int64_t kBlock = 4096;
  const auto& folds = folds_of<T>();
  int64_t start = 0;
  best = 0;
  for (int64_t first = 0; first < count; first += kBlock) {
    if (first % (kBlock * 4096) == 0 && first > 0) poll_interrupt();
    const int64_t n = std::min(kBlock, count - first);
    const T found = (kMax ? folds.max : folds.min)(lane + first, n);
    if (first > 0 && !takes_place<kMax>(found, best)) continue;
    best = found;
    start = first;
    if (is_nan(found)) break;
  }
  place = start + first_equal(lane + start, std::min(kBlock, count - start), best);
  best = lane[place];  // Of zeros the first has the sign.
}

// The same of integers.
template <bool kMax, typename T>
void find_in_dense_integers(const T* lane, int64_t count, T& best, int64_t& place) {
  constexpr int64_t kBlock = 4096;
  const auto fold = kMax ? whole_folds<T>().max : whole_folds<T>().min;
  int64_t start = 0;
  best = lane[0];
  for (int64_t first = 0; first < count; first += kBlock) {
    if (first % (kBlock * 4096) == 0 && first > 0) poll_interrupt();
    const T found = fold(lane + first, std::min(kBlock, count - first));
    if (!takes_place<kMax>(found, best)) continue;
    best = found;
    start = first;
  }
  place = std::find(lane + start, lane + std::min(start + kBlock, count), best) - lane;
}

// Lanes that lie side by side: rows of `width` neighbouring elements are compared at once.
template <bool kMax, typename T>
void find_in_rows(const T* rows, int64_t count, int64_t stride, int64_t width, T* best,
                  int64_t* place) {
  std::copy_n(rows, width, best);
  std::fill_n(place, width, 0);
  for (int64_t i = 1; i < count; ++i) {
    const T* row = rows + i * stride;
    for (int64_t j = 0; j < width; ++j) {
      const bool takes = takes_place<kMax>(row[j], best[j]);
      best[j] = takes ? row[j] : best[j];
      place[j] = takes ? i : place[j];
    }
  }
}

// Of numbers of eight bytes, some columns at a time from row to row.
template <bool kMax, typename T>
void find_in_wide_rows(const T* rows, int64_t count, int64_t stride, int64_t width, T* best,
                       int64_t* place) {
  constexpr int64_t kRows = 32;  // Of which the lines stay near while columns are gone through.
  const WholeFoldTable& table = whole_fold_table();
  FindInRows<T> find = nullptr;
  if constexpr (std::is_same_v<T, double>)
    find = kMax ? table.find_max_f64 : table.find_min_f64;
  else
    find = kMax ? table.find_max_i64 : table.find_min_i64;
  std::copy_n(rows, width, best);
  std::fill_n(place, width, 0);
  for (int64_t first = 1; first < count; first += kRows)
    find(rows + first * stride, std::min(kRows, count - first), stride, width, first, best, place);
}

// Of floats, some rows at a time over all of the columns.
template <bool kMax>
void find_in_float_rows(const float* rows, int64_t count, int64_t stride, int64_t width,
                        float* best, int64_t* place) {
  constexpr int64_t kTile = 64;
  constexpr int64_t kRows = 32;
  std::vector<int32_t> places(static_cast<size_t>(width));
  std::copy_n(rows, width, best);
  const auto find = kMax ? float_folds().find_max_in_rows : float_folds().find_min_in_rows;
  for (int64_t first = 1; first < count; first += kRows) {
    for (int64_t j = 0; j < width; j += kTile) {
      find(rows + first * stride + j, std::min(kRows, count - first), stride,
           std::min(kTile, width - j), static_cast<int32_t>(first), best + j, places.data() + j);
    }
  }
  std::copy(places.begin(), places.end(), place);
}

// Of `wide` columns, which are `repeats` times `columns`: the best of each, whose place counts rows
// of `columns`. What is found in a wide row lies before what is found in later ones, and after that
// in the order of the repeats.
template <bool kMax>
void merge_repeats(const float* wide_best, const int64_t* wide_place, int64_t columns,
                   int64_t repeats, float* best, int64_t* place) {
  for (int64_t j = 0; j < columns; ++j) {
    best[j] = wide_best[j];
    place[j] = wide_place[j] * repeats;
    for (int64_t k = 1; k < repeats; ++k) {
      const float value = wide_best[k * columns + j];
      const int64_t at = wide_place[k * columns + j] * repeats + k;
      const bool is_same = value == best[j] || (is_nan(value) && is_nan(best[j]));
      if (!takes_place<kMax>(value, best[j]) && !(is_same && at < place[j])) continue;
      best[j] = value;
      place[j] = at;
    }
  }
}

// Few columns, dense: some rows are read as one that fills registers, and the rest as rows.
template <bool kMax>
void find_in_narrow_rows(const float* rows, int64_t count, int64_t columns, float* best,
                         int64_t* place) {
  constexpr int64_t kRepeats = 16;  // So many rows fill registers whatever their size.
  constexpr int64_t kMostWide = 16 * kRepeats;
  const int64_t whole = count / kRepeats;
  std::array<float, kMostWide> wide_best;
  std::array<int64_t, kMostWide> wide_place;
  const int64_t width = kRepeats * columns;
  find_in_float_rows<kMax>(rows, whole, width, width, wide_best.data(), wide_place.data());
  merge_repeats<kMax>(wide_best.data(), wide_place.data(), columns, kRepeats, best, place);
  for (int64_t i = whole * kRepeats; i < count; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      const float value = rows[i * columns + j];
      if (!takes_place<kMax>(value, best[j])) continue;
      best[j] = value;
      place[j] = i;
    }
  }
}

// Short rows of neighbours, `step` apart: turned, so that many are compared at once.
template <bool kMax>
void find_in_short_rows(const float* rows, int64_t count, int64_t step, int64_t size, float* best,
                        int64_t* place) {
  constexpr int64_t kPiece = 64;
  std::array<float, kPiece * kShortRow> turned;
  for (int64_t first = 0; first < count; first += kPiece) {
    const int64_t width = std::min(kPiece, count - first);
    turn_rows(turned.data(), kPiece, rows + first * step, step, width, size);
    find_in_float_rows<kMax>(turned.data(), size, kPiece, width, best + first, place + first);
  }
}

// Dimensions of a tensor as one: so many places, of which neighbours lie `step` elements apart.
struct Run {
  int64_t size = 1;
  int64_t step = 1;
};

// Some dimensions as one; nothing if their places are not equally far apart.
std::optional<Run> as_one(const Tensor& tensor, int64_t first, int64_t last) {
  Run run;
  for (int64_t d = last; d-- > first;) {
    const int64_t size = tensor.sizes()[d];
    if (size == 1) continue;
    const int64_t step = tensor.strides()[d];
    if (run.size > 1 && step != run.step * run.size) return std::nullopt;
    if (run.size == 1) run.step = step;
    run.size *= size;
  }
  return run;
}

// Blocks of rows of columns: of all blocks and columns, the extremum over the rows is looked for.
struct Blocks {
  Run outer, rows, columns;
};

std::optional<Blocks> blocks_of(const Tensor& tensor, int64_t dim) {
  const std::optional<Run> outer = as_one(tensor, 0, dim);
  const std::optional<Run> columns = as_one(tensor, dim + 1, tensor.dim());
  if (!outer || !columns) return std::nullopt;
  return Blocks{*outer, {tensor.sizes()[dim], tensor.strides()[dim]}, *columns};
}

// Columns [begin, end) of one block, which lie side by side.
template <bool kMax, typename T>
void find_in_columns(const T* block, const Blocks& of, int64_t begin, int64_t end, T* best,
                     int64_t* place) {
  const int64_t count = of.rows.size;
  const int64_t columns = of.columns.size;
  if constexpr (std::is_same_v<T, float>) {
    if (columns < kNarrow && of.rows.step == columns && begin == 0 && end == columns &&
        count >= kNarrow && count <= std::numeric_limits<int32_t>::max())
      return find_in_narrow_rows<kMax>(block, count, columns, best, place);
    if (count <= std::numeric_limits<int32_t>::max()) {
      return find_in_float_rows<kMax>(block + begin, count, of.rows.step, end - begin, best + begin,
                                      place + begin);
    }
  }
  if constexpr (sizeof(T) == 8) {
    find_in_wide_rows<kMax>(block + begin, count, of.rows.step, end - begin, best + begin,
                            place + begin);
  } else {
    find_in_rows<kMax>(block + begin, count, of.rows.step, end - begin, best + begin,
                       place + begin);
  }
}

template <bool kMax, typename T>
void find_in_blocks(const T* data, const Blocks& of, T* best, int64_t* place) {
  constexpr int64_t kColumns = 64;  // Side by side, worth a thread's own.
  const int64_t columns = of.columns.size;
  const int64_t pieces = (columns + kColumns - 1) / kColumns;
  const int64_t piece_work = of.rows.size * std::min(columns, kColumns);
  parallel_for(0, of.outer.size * pieces, grain_of(piece_work), [&](int64_t begin, int64_t end) {
    while (begin < end) {
      const int64_t o = begin / pieces;
      const int64_t last = std::min(end, (o + 1) * pieces);
      find_in_columns<kMax>(data + o * of.outer.step, of, begin % pieces * kColumns,
                            std::min(columns, (last - o * pieces) * kColumns), best + o * columns,
                            place + o * columns);
      begin = last;
    }
  });
}

// What lies side by side in another order than that of the dimensions: rows at the end, such as
// channels that lie last and come second.
std::optional<Run> rows_at_the_end(const Blocks& of) {
  if (of.rows.step != 1) return std::nullopt;
  if (of.columns.size == 1) return of.outer;
  if (of.outer.size > 1 && of.outer.step != of.columns.step * of.columns.size) return std::nullopt;
  return Run{of.outer.size * of.columns.size, of.columns.step};
}

// Whether it was done: elements lie so that many lanes can be compared at once.
template <bool kMax, typename T>
bool find_side_by_side(const Tensor& self, int64_t d, const Tensor& values, const Tensor& indices) {
  const std::optional<Blocks> blocks = blocks_of(self, d);
  if (!blocks) return false;
  T* best = values.data<T>();
  auto* place = indices.data<int64_t>();
  constexpr int64_t kFewest = std::is_same_v<T, float> ? 2 : 4;
  if (blocks->columns.step == 1 && blocks->columns.size >= kFewest) {
    find_in_blocks<kMax>(self.data<T>(), *blocks, best, place);
    return true;
  }
  if constexpr (std::is_same_v<T, float>) {
    const std::optional<Run> rows = rows_at_the_end(*blocks);
    const int64_t count = blocks->rows.size;
    if (!rows || count >= kShortRow || rows->size < count) return false;
    parallel_for(0, rows->size, grain_of(count), [&](int64_t begin, int64_t end) {
      find_in_short_rows<kMax>(self.data<T>() + begin * rows->step, end - begin, rows->step, count,
                               best + begin, place + begin);
    });
    return true;
  }
  return false;
}

template <bool kMax, typename T>
void find_extrema(const Tensor& self, int64_t d, const Tensor& values, const Tensor& indices) {
  constexpr int64_t kLongLane = 64;
  if (find_side_by_side<kMax, T>(self, d, values, indices)) return;
  const int64_t count = self.sizes()[d];
  const LaneLoop loop(self.sizes(), d, {&self, &values, &indices});
  loop.run(grain_of(count), [&](const LaneLoop::Pointers& lane) {
    auto& best = *reinterpret_cast<T*>(lane[1]);
    auto& place = *reinterpret_cast<int64_t*>(lane[2]);
    if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
      if (loop.step(0) == sizeof(T) && count >= kLongLane)
        return find_in_dense_lane<kMax>(reinterpret_cast<const T*>(lane[0]), count, best, place);
    }
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      if (loop.step(0) == sizeof(T) && count >= kLongLane)
        return find_in_dense_integers<kMax>(reinterpret_cast<const T*>(lane[0]), count, best,
                                            place);
    }
    find_in_lane<kMax>(lane[0], count, loop.step(0), best, place);
  });
}

template <bool kMax>
std::tuple<Tensor, Tensor> extremum_dim(const Tensor& tensor, int64_t dim, bool keepdim,
                                        const char* what) {
  const int64_t d = wrap_dim(dim, tensor.dim());
  const Tensor self = atleast_1d(tensor);
  require(self.sizes()[d] > 0, ErrorCode::kOutOfRange,
          "{}(): Expected reduction dim {} to have non-zero size.", what, d);
  IntVector sizes(self.sizes().begin(), self.sizes().end());
  sizes[d] = 1;
  Tensor values = Tensor::empty(sizes, self.dtype());
  Tensor indices = Tensor::empty(sizes, ScalarType::kLong);
  if (values.numel() > 0) {
    dispatch_real(self.dtype(), what, [&](auto tag) {
      using T = typename decltype(tag)::type;
      if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
        const Tensor wide = Tensor::empty(sizes, ScalarType::kFloat);
        find_extrema<kMax, float>(to_dtype(self, ScalarType::kFloat), d, wide, indices);
        copy_into(values, wide);
      } else {
        find_extrema<kMax, T>(self, d, values, indices);
      }
    });
  }
  if (tensor.dim() == 0 || !keepdim) {
    values = squeeze_dim(values, d);
    indices = squeeze_dim(indices, d);
  }
  return {values, indices};
}

template <bool kMax>
Tensor place(const Tensor& self, std::optional<int64_t> dim, bool keepdim, const char* what) {
  if (dim) return std::get<1>(extremum_dim<kMax>(self, *dim, keepdim, what));
  require(self.numel() > 0, ErrorCode::kInvalidArgument,
          "{}(): Expected reduction dim to be specified for input.numel() == 0.", what);
  const Tensor index = std::get<1>(extremum_dim<kMax>(reshape(self, {-1}), 0, false, what));
  return keepdim ? view(index, IntVector(static_cast<size_t>(self.dim()), 1)) : index;
}

}  // namespace

std::tuple<Tensor, Tensor> max_dim(const Tensor& self, int64_t dim, bool keepdim) {
  return extremum_dim<true>(self, dim, keepdim, "max");
}
std::tuple<Tensor, Tensor> min_dim(const Tensor& self, int64_t dim, bool keepdim) {
  return extremum_dim<false>(self, dim, keepdim, "min");
}
Tensor argmax(const Tensor& self, std::optional<int64_t> dim, bool keepdim) {
  return place<true>(self, dim, keepdim, "argmax");
}
Tensor argmin(const Tensor& self, std::optional<int64_t> dim, bool keepdim) {
  return place<false>(self, dim, keepdim, "argmin");
}

}  // namespace tierup::kernels
