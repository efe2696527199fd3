#include "tierup/kernels/reduce/histogram.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "tierup/base/interrupt.h"
#include "tierup/base/parallel.h"
#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/shape/view.h"

namespace tierup::kernels {
namespace {

using Range = std::pair<double, double>;

// The extent of the data, widened by `margin` on both sides if it is a single value.
template <typename T>
Range extent_of(const T* p, int64_t count, int64_t stride, double margin) {
  double low = 0;
  double high = count == 0 && margin == 0.5 ? 1 : 0;
  for (int64_t i = 0; i < count; ++i) {
    const double x = p[i * stride];
    low = i == 0 ? x : std::min(low, x);
    high = i == 0 ? x : std::max(high, x);
  }
  require(std::isfinite(low) && std::isfinite(high), ErrorCode::kInvalidArgument,
          "torch.histogram: dimension's range [{}, {}] is not finite", low, high);
  return low == high ? Range{low - margin, high + margin} : Range{low, high};
}

template <typename T>
Tensor linear_edges(Range range, int64_t bins, ScalarType dtype) {
  require(bins > 0, ErrorCode::kInvalidArgument, "torch.histogram(): bins must be > 0, but got {}",
          bins);
  Tensor edges = Tensor::empty(IntVector{bins + 1}, dtype);
  T* p = edges.data<T>();
  const T first = static_cast<T>(range.first);
  const T last = static_cast<T>(range.second);
  const T step = (last - first) / static_cast<T>(bins);
  for (int64_t i = 0; i <= bins; ++i) {
    p[i] = i < (bins + 1) / 2 ? first + step * static_cast<T>(i)
                              : last - step * static_cast<T>(bins - i);
  }
  return edges;
}

// The bins between edges, which rise.
template <typename T>
class Bins {
 public:
  explicit Bins(const Tensor& edges)
      : edges_(edges.data<T>()),
        count_(edges.numel() - 1),
        per_unit_(static_cast<T>(count_) / (edges_[count_] - edges_[0])) {
    if (!std::isfinite(per_unit_)) per_unit_ = 0;  // No guess.
  }
  int64_t count() const { return count_; }

  // The bin of x, or -1. The last bin includes its right edge.
  int64_t bin_of(T x) const {
    constexpr int kSteps = 3;
    if (!(x >= edges_[0] && x <= edges_[count_])) return -1;
    // Most edges are even: the place is guessed, and put right by a step or two.
    int64_t at = 0;
    if (per_unit_ > 0) at = std::min(static_cast<int64_t>((x - edges_[0]) * per_unit_), count_ - 1);
    for (int step = 0; step < kSteps; ++step) {
      if (edges_[at] > x)
        --at;
      else if (at + 1 < count_ && edges_[at + 1] <= x)
        ++at;
      else
        return at;
    }
    const auto above = std::upper_bound(edges_, edges_ + count_ + 1, x) - edges_;
    return std::min<int64_t>(above - 1, count_ - 1);
  }

 private:
  const T* edges_;
  int64_t count_;
  T per_unit_;
};

// Counts points [count, rank] into the cells of a grid given by edges.
template <typename T>
void count_points(const Tensor& points, const std::vector<Tensor>& edges, const Tensor& weight,
                  const Tensor& hist) {
  const auto rank = static_cast<int64_t>(edges.size());
  const T* p = points.data<T>();
  const T* w = weight.defined() ? weight.data<T>() : nullptr;
  T* cells = hist.data<T>();
  const std::vector<Bins<T>> bins(edges.begin(), edges.end());
  for (int64_t i = 0; i < points.numel() / std::max<int64_t>(rank, 1); ++i) {
    if (i % 65536 == 0) poll_interrupt();
    int64_t cell = 0;
    for (int64_t d = 0; d < rank && cell >= 0; ++d) {
      const int64_t bin = bins[d].bin_of(p[i * rank + d]);
      cell = bin < 0 ? -1 : cell * bins[d].count() + bin;
    }
    if (cell >= 0) cells[cell] += w != nullptr ? w[i] : T(1);
  }
}

// Divides each cell by the total and by its volume.
template <typename T>
void make_density(const std::vector<Tensor>& edges, const Tensor& hist) {
  T* cells = hist.data<T>();
  T total = 0;
  for (int64_t i = 0; i < hist.numel(); ++i) total += cells[i];
  for (int64_t i = 0; i < hist.numel(); ++i) {
    cells[i] /= total;
    int64_t rest = i;
    for (size_t d = edges.size(); d-- > 0;) {
      const int64_t bins = edges[d].numel() - 1;
      const T* e = edges[d].data<T>() + rest % bins;
      cells[i] /= e[1] - e[0];
      rest /= bins;
    }
  }
}

void dispatch_histogram(ScalarType type, const auto& body) {
  dispatch_floating(type, "histogram", [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>)
      body(tag);
    else
      fail_dtype("histogram", type);
  });
}

// The histogram of points, the coordinates of which stand in the last dimension.
Tensor histogram_of(const Tensor& points, const std::vector<Tensor>& edges, const Tensor& weight,
                    bool density) {
  IntVector sizes;
  std::vector<Tensor> dense;
  for (const Tensor& edge : edges) {
    if (!(edge.dim() == 1 && edge.numel() > 0 && edge.dtype() == points.dtype())) {
      fail(ErrorCode::kInvalidArgument,
           "torch.histogramdd(): bins must be non-empty vectors of the input's dtype, got {}",
           edge.describe());
    }
    sizes.push_back(edge.numel() - 1);
    dense.push_back(contiguous(edge));
  }
  require(
      !weight.defined() || (weight.dtype() == points.dtype() &&
                            weight.numel() * static_cast<int64_t>(edges.size()) == points.numel()),
      ErrorCode::kInvalidArgument,
      "torch.histogramdd(): weight must have the input's dtype and one value for each point");
  Tensor hist = Tensor::empty(sizes, points.dtype());
  fill(hist, Scalar(0));
  if (hist.numel() == 0) return hist;
  const Tensor source = contiguous(points);
  const Tensor weights = weight.defined() ? contiguous(weight) : weight;
  dispatch_histogram(points.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    count_points<T>(source, dense, weights, hist);
    if (density) make_density<T>(dense, hist);
  });
  return hist;
}

// The most of some numbers, of which negative ones count as more than all others.
uint64_t most_of(const int64_t* numbers, int64_t count) {
  constexpr int64_t kSideBySide = 4;
  std::array<uint64_t, kSideBySide> most{};
  int64_t i = 0;
  for (; i + kSideBySide <= count; i += kSideBySide) {
    for (int64_t j = 0; j < kSideBySide; ++j)
      most[j] = std::max(most[j], static_cast<uint64_t>(numbers[i + j]));
  }
  for (; i < count; ++i) most[0] = std::max(most[0], static_cast<uint64_t>(numbers[i]));
  return *std::ranges::max_element(most);
}

// Numbers cut into one piece for each thread that they are worth.
struct Pieces {
  explicit Pieces(int64_t numbers)
      : numbers(numbers),
        count(std::clamp<int64_t>(numbers / kNumbersForThread, 1, intra_op_threads())) {}
  // body(piece, first number, behind the last number), side by side.
  template <typename Body>
  void run(const Body& body) const {
    parallel_for(0, count, 1, [&](int64_t begin, int64_t end) {
      for (int64_t piece = begin; piece < end; ++piece)
        body(piece, numbers * piece / count, numbers * (piece + 1) / count);
    });
  }
  int64_t numbers;
  int64_t count;
};

uint64_t most_of_pieces(const int64_t* numbers, const Pieces& pieces) {
  SmallVector<uint64_t, 16> most(static_cast<size_t>(pieces.count), 0);
  pieces.run([&](int64_t piece, int64_t begin, int64_t end) {
    most[piece] = most_of(numbers + begin, end - begin);
  });
  return *std::ranges::max_element(most);
}

// Counts numbers. Those in a row go to tables of their own, `step` apart: of equal ones, each would
// wait for the sum before it.
constexpr int64_t kTables = 4;
void count_numbers(const int64_t* numbers, int64_t count, int64_t step, int64_t* tables) {
  int64_t i = 0;
  for (; i + kTables <= count; i += kTables) {
    for (int64_t table = 0; table < kTables; ++table) ++tables[table * step + numbers[i + table]];
  }
  for (; i < count; ++i) ++tables[numbers[i]];
}

// `bins` sums. Threads count for themselves, in cache lines of their own, where the numbers are
// many more than the sums.
Tensor count_pieces(const int64_t* numbers, const Pieces& pieces, int64_t bins) {
  constexpr int64_t kLine = 128 / sizeof(int64_t);  // Two lines, which are fetched together.
  const int64_t tables = kTables * pieces.count;
  Tensor out = Tensor::empty(IntVector{bins}, ScalarType::kLong);
  int64_t* const sums = out.data<int64_t>();
  std::fill_n(sums, bins, 0);
  if (bins > pieces.numbers / tables) {
    for (int64_t i = 0; i < pieces.numbers; ++i) ++sums[numbers[i]];
    return out;
  }
  const int64_t step = (bins / kLine + 1) * kLine;
  const Tensor scratch = Tensor::empty(IntVector{tables * step}, ScalarType::kLong);
  int64_t* const all = scratch.data<int64_t>();
  pieces.run([&](int64_t piece, int64_t begin, int64_t end) {
    int64_t* const own = all + kTables * piece * step;
    std::fill_n(own, kTables * step, 0);
    count_numbers(numbers + begin, end - begin, step, own);
  });
  for (int64_t table = 0; table < tables; ++table) {
    for (int64_t i = 0; i < bins; ++i) sums[i] += all[table * step + i];
  }
  return out;
}

}  // namespace

Tensor bincount(const Tensor& self, const Tensor& weights, int64_t minlength) {
  require(self.dim() == 1 && is_integral(self.dtype(), false), ErrorCode::kInvalidArgument,
          "bincount only supports 1-d non-negative integral inputs.");
  require(minlength >= 0, ErrorCode::kInvalidArgument, "minlength should be >= 0");
  if (self.numel() == 0) {  // Whatever the weights.
    Tensor out = Tensor::empty(IntVector{minlength}, ScalarType::kLong);
    fill(out, Scalar(0));
    return out;
  }
  require(!weights.defined() || (weights.dim() == 1 && weights.numel() == self.numel()),
          ErrorCode::kInvalidArgument, "weights should be 1-d and have the same length as input");
  const Tensor values = contiguous(to_dtype(self, ScalarType::kLong));
  const int64_t* at = values.data<int64_t>();
  const Pieces pieces(values.numel());
  const auto most = static_cast<int64_t>(most_of_pieces(at, pieces));
  require(most >= 0, ErrorCode::kInvalidArgument,
          "bincount only supports 1-d non-negative integral inputs.");
  require(most < (int64_t{1} << 48), ErrorCode::kInvalidArgument,
          "maximum value of input overflowed, it should be < {} but got {}", int64_t{1} << 48,
          most);
  const int64_t bins = std::max(minlength, most + 1);
  if (!weights.defined()) return count_pieces(at, pieces, bins);
  const auto sum_up = [&](auto tag, ScalarType type) {
    using T = typename decltype(tag)::type;
    Tensor out = Tensor::empty(IntVector{bins}, type);
    fill(out, Scalar(0));
    const Tensor weight = contiguous(to_dtype(weights, type));
    T* const sums = out.data<T>();
    const T* const added = weight.data<T>();
    for (int64_t i = 0; i < values.numel(); ++i) sums[at[i]] += added[i];
    return out;
  };
  if (weights.dtype() == ScalarType::kFloat) return sum_up(TypeTag<float>{}, ScalarType::kFloat);
  return sum_up(TypeTag<double>{}, ScalarType::kDouble);
}

Tensor histc(const Tensor& self, int64_t bins, const Scalar& min, const Scalar& max) {
  require(bins > 0, ErrorCode::kInvalidArgument, "torch.histc(): bins must be > 0, but got {}",
          bins);
  require(min.to_double() <= max.to_double(), ErrorCode::kInvalidArgument,
          "torch.histc(): max must be larger than min");
  require(is_floating(self.dtype()), ErrorCode::kTypeError, "\"histc\" not implemented for '{}'",
          scalar_type_name(self.dtype()));
  const bool narrow = self.dtype() == ScalarType::kHalf || self.dtype() == ScalarType::kBFloat16;
  const Tensor source =
      reshape(contiguous(narrow ? to_dtype(self, ScalarType::kFloat) : self), {-1});
  Tensor hist = Tensor::empty(IntVector{bins}, source.dtype());
  fill(hist, Scalar(0));
  dispatch_histogram(source.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* p = source.data<T>();
    Range range{min.to_double(), max.to_double()};
    if (range.first == range.second && source.numel() > 0) {
      range = extent_of(p, source.numel(), 1, 1.0);
    } else if (range.first == range.second) {
      range = {range.first - 1, range.second + 1};
    }
    const T low = static_cast<T>(range.first);
    const T high = static_cast<T>(range.second);
    T* cells = hist.data<T>();
    for (int64_t i = 0; i < source.numel(); ++i) {
      if (!(p[i] >= low && p[i] <= high)) continue;
      const auto bin = static_cast<int64_t>((p[i] - low) * static_cast<T>(bins) / (high - low));
      cells[std::min(bin, bins - 1)] += 1;
    }
  });
  return to_dtype(hist, self.dtype());
}

std::tuple<Tensor, Tensor> histogram_edges(const Tensor& self, const Tensor& edges,
                                           const Tensor& weight, bool density) {
  return {histogram_of(reshape(self, {-1, 1}), {edges}, weight, density), clone(edges)};
}

std::tuple<Tensor, Tensor> histogram_count(const Tensor& self, int64_t bins,
                                           const std::optional<std::vector<double>>& range,
                                           const Tensor& weight, bool density) {
  const Tensor points = reshape(self, {-1, 1});
  const std::vector<Tensor> edges = histogramdd_bin_edges(points, {bins}, range);
  return {histogram_of(points, edges, weight, density), edges[0]};
}

std::vector<Tensor> histogramdd_bin_edges(const Tensor& self, const IntVector& bins,
                                          const std::optional<std::vector<double>>& range) {
  require(self.dim() >= 2, ErrorCode::kInvalidArgument,
          "torch.histogramdd(): input tensor should have at least 2 dimensions, but got {}",
          self.dim());
  const int64_t rank = self.size(-1);
  require(static_cast<int64_t>(bins.size()) == rank, ErrorCode::kInvalidArgument,
          "torch.histogramdd(): expected {} sequences of bin edges for a {}-dimensional histogram "
          "but got {}",
          rank, rank, bins.size());
  require(!range || static_cast<int64_t>(range->size()) == 2 * rank, ErrorCode::kInvalidArgument,
          "torch.histogramdd(): for a {}-dimensional histogram, range should have {} elements, but "
          "got {}",
          rank, 2 * rank, range ? range->size() : 0);
  const Tensor source = contiguous(self);
  std::vector<Tensor> edges;
  dispatch_histogram(self.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t d = 0; d < rank; ++d) {
      Range extent;
      if (range) {
        extent = {(*range)[2 * d], (*range)[2 * d + 1]};
        require(std::isfinite(extent.first) && std::isfinite(extent.second) &&
                    extent.first <= extent.second,
                ErrorCode::kInvalidArgument,
                "torch.histogramdd(): dimension {}'s range [{}, {}] is not finite or reversed", d,
                extent.first, extent.second);
        if (extent.first == extent.second) extent = {extent.first - 0.5, extent.second + 0.5};
      } else {
        extent = extent_of(source.data<T>() + d, source.numel() / rank, rank, 0.5);
      }
      edges.push_back(linear_edges<T>(extent, bins[d], self.dtype()));
    }
  });
  return edges;
}

std::tuple<Tensor, std::vector<Tensor>> histogramdd(const Tensor& self, const IntVector& bins,
                                                    const std::optional<std::vector<double>>& range,
                                                    const Tensor& weight, bool density) {
  std::vector<Tensor> edges = histogramdd_bin_edges(self, bins, range);
  Tensor hist = histogram_of(self, edges, weight, density);
  return {std::move(hist), std::move(edges)};
}

std::tuple<Tensor, std::vector<Tensor>> histogramdd_edges(
    const Tensor& self, const std::vector<Tensor>& edges,
    const std::optional<std::vector<double>>& /*range*/, const Tensor& weight, bool density) {
  require(self.dim() >= 2 && self.size(-1) == static_cast<int64_t>(edges.size()),
          ErrorCode::kInvalidArgument,
          "torch.histogramdd(): expected {} sequences of bin edges but got {}",
          self.dim() == 0 ? 0 : self.size(-1), edges.size());
  return {histogram_of(self, edges, weight, density), edges};
}

}  // namespace tierup::kernels
