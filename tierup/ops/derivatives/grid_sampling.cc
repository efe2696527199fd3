// The gradient of grid_sampler by what it is made of, for second order: for every tap of a sample
// an element of the input, a weight, and the weight's derivative by the grid's numbers.
#include "tierup/ops/derivatives/tables.h"
#include "tierup/ops/derivatives/term.h"

namespace tierup::ops::derivatives {
namespace {

enum Padding : int64_t { kZeros = 0, kBorder = 1, kReflection = 2 };
enum Mode : int64_t { kLinear = 0, kNearest = 1, kCubic = 2 };

Term detached(const Term& t) { return t.then("aten::detach"); }
Term floored(const Term& t) { return t.then("aten::floor"); }
Term as_numbers(const Term& mask, const Term& like) {
  return choose(mask, ones_like(like), zeros_like(like));
}

// Numbers of each sample [N, P] along one dimension.
struct Tap {
  Term index;  // Whole numbers, perhaps outside.
  Term weight;
  Term slope;  // Of the weight by the grid.
};
// A coordinate after padding, and its derivative by the one before; both constant.
struct Place {
  Term at;
  Term slope;
};

class Axis {
 public:
  Axis(GradContext& c, const Term& numbers, int64_t size)
      : size_(static_cast<double>(size)),
        mode_(c.int_of("interpolation_mode")),
        padding_(c.int_of("padding_mode")),
        align_(c.bool_of("align_corners")) {
    factor_ = align_ ? (size_ - 1) / 2 : size_ / 2;
    raw_ = align_ ? (numbers + 1) * factor_ : (numbers + 1) * factor_ - 0.5;
  }
  std::vector<Tap> taps() const { return mode_ == kCubic ? cubic_taps() : near_taps(); }

 private:
  Place clipped(const Place& p) const {
    const Term inside = both(less(zeros_like(p.at), p.at), less(p.at, size_ - 1));
    const Term at = p.at.then("aten::clamp", 0.0, size_ - 1);
    return {at, p.slope * as_numbers(inside, p.at)};
  }
  Place reflected(const Place& p, double low, double span) const {
    if (span == 0) return {zeros_like(p.at), zeros_like(p.at)};
    const Term from_low = p.at - low;
    const Term distance = abs(from_low);
    const Term extra = distance.then("aten::fmod.Scalar", span);
    const Term turns = floored(distance / span).then("aten::fmod.Scalar", 2.0);
    const Term even = equal(turns, 0.0);
    const Term sign = as_numbers(at_least(from_low, 0.0), p.at) * 2 - 1;
    return {choose(even, extra + low, (low + span) - extra), p.slope * choose(even, sign, -sign)};
  }
  Place padded(const Place& p) const {
    if (padding_ == kZeros) return p;
    if (padding_ == kBorder) return clipped(p);
    return clipped(align_ ? reflected(p, 0, size_ - 1) : reflected(p, -0.5, size_));
  }
  std::vector<Tap> near_taps() const {
    const Term fixed = detached(raw_);
    const Place place = padded({fixed, ones_like(fixed)});
    if (mode_ == kNearest) {
      return {{place.at.then("aten::round"), ones_like(fixed), zeros_like(fixed)}};
    }
    const Term low = floored(place.at);
    const Term share = place.at + place.slope * (raw_ - fixed) - low;
    const Term slope = place.slope * factor_;
    return {{low, 1 - share, -slope}, {low + 1, share, slope}};
  }
  // Keys' convolution with parameter -0.75, within distance 1 and up to 2.
  std::vector<Tap> cubic_taps() const {
    constexpr double kA = -0.75;
    const auto near = [](const Term& x) {
      return Tap{{}, ((kA + 2) * x - (kA + 3)) * x * x + 1, (3 * (kA + 2) * x - 2 * (kA + 3)) * x};
    };
    const auto far = [](const Term& x) {
      return Tap{
          {}, ((kA * x - 5 * kA) * x + 8 * kA) * x - 4 * kA, (3 * kA * x - 10 * kA) * x + 8 * kA};
    };
    const Term low = floored(detached(raw_));
    const Term t = raw_ - low;
    std::vector<Tap> taps{far(t + 1), near(t), near(1 - t), far(2 - t)};
    for (size_t k = 0; k < taps.size(); ++k) {
      const Term at = low + (static_cast<double>(k) - 1);
      taps[k].index = padded({at, ones_like(at)}).at.then("aten::round");
      taps[k].slope = taps[k].slope * (k < 2 ? factor_ : -factor_);
    }
    return taps;
  }

  double size_;
  double factor_ = 1;
  int64_t mode_;
  int64_t padding_;
  bool align_;
  Term raw_;
};

// One choice of a tap along each dimension.
struct Combination {
  Term place;   // In the plane, inside; [N, P].
  Term inside;  // 1 or 0.
  Term weight;
  std::vector<Term> slopes;  // By each of the grid's numbers.
};
Combination combined(const std::vector<std::vector<Tap>>& axes, const IntVector& sizes,
                     size_t choice) {
  Combination made;
  std::vector<const Tap*> taps;
  for (size_t d = 0; d < axes.size(); ++d) {
    taps.push_back(&axes[d][choice % axes[d].size()]);
    choice /= axes[d].size();
  }
  int64_t stride = 1;
  for (size_t d = 0; d < axes.size(); ++d) {
    const Term& index = taps[d]->index;
    const double last = static_cast<double>(sizes[d] - 1);
    const Term is_inside = both(at_least(index, 0.0), at_most(index, last));
    const Term inside = as_numbers(is_inside, index);
    const Term part = (cleared(index, inverted(is_inside)) * static_cast<double>(stride))
                          .then("aten::to.dtype", ScalarType::kLong);
    made.place = d == 0 ? part : made.place + part;
    made.inside = d == 0 ? inside : made.inside * inside;
    made.weight = d == 0 ? taps[d]->weight : made.weight * taps[d]->weight;
    stride *= sizes[d];
  }
  for (size_t d = 0; d < axes.size(); ++d) {
    Term slope = taps[d]->slope;
    for (size_t e = 0; e < axes.size(); ++e)
      if (e != d) slope = slope * taps[e]->weight;
    made.slopes.push_back(slope);
  }
  return made;
}

// (grad [N, C, *], input [N, C, *], grid [N, *, rank], mode, padding, align, mask)
void grid_sampler_backward(GradContext& c) {
  const auto rank = static_cast<size_t>(c.rank(1) - 2);
  const int64_t batch = c.size(1, 0);
  const int64_t channels = c.size(1, 1);
  IntVector sizes;  // x, y, z.
  for (size_t d = 0; d < rank; ++d) sizes.push_back(c.size(1, -1 - static_cast<int64_t>(d)));
  const Term g = reshape(arg(c, 0), IntVector{batch, channels, -1});
  const Term x = reshape(arg(c, 1), IntVector{batch, channels, -1});
  const Term grid = reshape(arg(c, 2), IntVector{batch, -1, static_cast<int64_t>(rank)});
  std::vector<std::vector<Tap>> axes;
  size_t choices = 1;
  for (size_t d = 0; d < rank; ++d) {
    const Term numbers = grid.then("aten::select.int", -1, static_cast<int64_t>(d));
    axes.push_back(Axis(c, numbers, sizes[d]).taps());
    choices *= axes.back().size();
  }
  Term of_input = zeros_like(x);
  std::vector<Term> of_grid(rank, zeros_like(grid.then("aten::select.int", -1, 0)));
  // The nearest place is constant in the grid, whose gradient rests on nothing but the grid.
  constexpr int64_t kNearest = 1;
  const bool is_nearest = c.int_of("interpolation_mode") == kNearest;
  for (size_t d = 0; d < rank && is_nearest; ++d) {
    const Term numbers = grid.then("aten::select.int", -1, static_cast<int64_t>(d));
    of_grid[d] = cleared(numbers, call(c, "aten::ones_like", numbers, ScalarType::kBool));
  }
  for (size_t choice = 0; choice < choices; ++choice) {
    const Combination tap = combined(axes, sizes, choice);
    const Term places = expand(unsqueeze(tap.place, 1), IntVector{-1, channels, -1});
    const Term part = g * unsqueeze(tap.weight * tap.inside, 1);
    of_input = of_input.then("aten::scatter_add", 2, places, part);
    if (is_nearest) continue;
    const Term found = x.then("aten::gather", 2, places);
    const Term along = sum_over(g * found, IntVector{1}, false) * tap.inside;
    for (size_t d = 0; d < rank; ++d) of_grid[d] = of_grid[d] + along * tap.slopes[d];
  }
  const auto& mask = c.value_of("output_mask").to_list().items;
  if (mask[0].to_scalar().to_bool()) c.set_result(0, of_input.then("aten::reshape", c.sizes(1)));
  if (!mask[1].to_scalar().to_bool()) return;
  const std::vector<GradValue> parts(of_grid.begin(), of_grid.end());
  c.set_result(1, call(c, "aten::stack", parts, -1).then("aten::reshape", c.sizes(2)));
}

constexpr DerivativeRow kRows[] = {
    {"aten::grid_sampler_2d_backward", DerivativeKind::kDecomposition, &grid_sampler_backward,
     kDifferentiatedAsOne},
    {"aten::grid_sampler_3d_backward", DerivativeKind::kDecomposition, &grid_sampler_backward,
     kDifferentiatedAsOne},
};

}  // namespace

std::span<const DerivativeRow> grid_sampling_derivatives() { return kRows; }

}  // namespace tierup::ops::derivatives
