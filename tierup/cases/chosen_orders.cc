// Operators that order elements: equal elements may come in any order, so their indices may differ
// between implementations; where indices point never does.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "tierup/cases/chosen_results.h"
#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/shape/conversion.h"

namespace tierup::api {
namespace {

// Holds every element of every real dtype as it is.
using Number = long double;

bool are_same(Number a, Number b) { return a == b || (a != a && b != b); }

std::vector<Number> elements(const Tensor& tensor) {
  const bool is_exact = is_integral(tensor.dtype(), true);
  const Tensor wide = kernels::contiguous(
      kernels::to_dtype(tensor, is_exact ? ScalarType::kLong : ScalarType::kDouble));
  if (is_exact) return {wide.data<int64_t>(), wide.data<int64_t>() + wide.numel()};
  return {wide.data<double>(), wide.data<double>() + wide.numel()};
}

// A tensor's elements as lines along one dimension, in the order in which a reduction over that
// dimension has its results. A tensor without dimensions is one line of one.
class Lines {
 public:
  Lines(const Tensor& tensor, int64_t dim) : elements_(elements(tensor)) {
    const IntSpan sizes = tensor.sizes();
    if (sizes.empty()) return;
    const auto at = static_cast<size_t>(dim < 0 ? dim + static_cast<int64_t>(sizes.size()) : dim);
    length_ = static_cast<size_t>(sizes[at]);
    for (size_t d = at + 1; d < sizes.size(); ++d) step_ *= static_cast<size_t>(sizes[d]);
  }
  size_t count() const { return length_ == 0 ? 0 : elements_.size() / length_; }
  size_t length() const { return length_; }
  Number at(size_t line, size_t i) const {
    return elements_[(line / step_ * length_ + i) * step_ + line % step_];
  }

 private:
  std::vector<Number> elements_;
  size_t length_ = 1;
  size_t step_ = 1;
};

std::string exact_difference(const IValue& found, const IValue& expected) {
  ComparisonOptions options;
  options.tolerances = Tolerances::uniform({0, 0});
  return find_difference(found, expected, options);
}

std::string shape_difference(const Tensor& found, const IValue& expected) {
  const Tensor wanted = expected.to_tensor();
  if (found.dtype() == wanted.dtype() && std::ranges::equal(found.sizes(), wanted.sizes()))
    return {};
  return fmt::format("the indices are {} instead of {}", found.describe(), wanted.describe());
}

// Whether indices lie in the lines that they are of, none twice, and point at what
// value_at(line, i) is.
template <typename ValueAt>
std::string pointing_difference(const Lines& input, const Lines& indices, ValueAt&& value_at) {
  if (indices.count() != input.count())
    return fmt::format("{} lines of indices instead of {}", indices.count(), input.count());
  for (size_t line = 0; line < input.count(); ++line) {
    std::vector<bool> seen(input.length(), false);
    for (size_t i = 0; i < indices.length(); ++i) {
      const Number index = indices.at(line, i);
      if (index < 0 || index >= static_cast<Number>(input.length()))
        return fmt::format("index {} of line {} is {}", i, line, static_cast<int64_t>(index));
      const auto place = static_cast<size_t>(index);
      if (seen[place]) return fmt::format("line {} has index {} twice", line, place);
      seen[place] = true;
      const Number found = input.at(line, place);
      const Number wanted = value_at(line, i);
      if (are_same(found, wanted)) continue;
      return fmt::format("index {} of line {} points at {} instead of {}", i, line,
                         static_cast<double>(found), static_cast<double>(wanted));
    }
  }
  return {};
}

int64_t dim_of(const ChosenCall& call) {
  const IValue dim = call.argument("dim");
  return dim.is_int() ? dim.to_int() : -1;
}

// Of (values, indices), both as long along the dimension as they are.
std::string pointed_values(const ChosenCall& call) {
  const Tensor indices = call.results[1].to_tensor();
  std::string difference = shape_difference(indices, call.expected[1]);
  if (!difference.empty()) return difference;
  const int64_t dim = dim_of(call);
  const Lines values(call.results[0].to_tensor(), dim);
  return pointing_difference(Lines(call.argument("self").to_tensor(), dim), Lines(indices, dim),
                             [&](size_t line, size_t i) { return values.at(line, i); });
}

std::string values_only(const ChosenCall& call) {
  return exact_difference(call.results[0], call.expected[0]);
}

bool is_stable(const ChosenCall& call) {
  const IValue stable = call.argument("stable");
  return stable.is_bool() && stable.to_bool();
}

std::string sorted(const ChosenCall& call) {
  std::string difference = values_only(call);
  if (!difference.empty()) return difference;
  if (is_stable(call)) return exact_difference(call.results[1], call.expected[1]);
  return pointed_values(call);
}

// Of indices alone: what they point at is what the expected ones point at.
std::string sorted_indices(const ChosenCall& call) {
  if (is_stable(call)) return exact_difference(call.results[0], call.expected[0]);
  const Tensor indices = call.results[0].to_tensor();
  std::string difference = shape_difference(indices, call.expected[0]);
  if (!difference.empty()) return difference;
  const int64_t dim = dim_of(call);
  const Lines input(call.argument("self").to_tensor(), dim);
  const Lines wanted(call.expected[0].to_tensor(), dim);
  return pointing_difference(input, Lines(indices, dim), [&](size_t line, size_t i) {
    return input.at(line, static_cast<size_t>(wanted.at(line, i)));
  });
}

// The k largest: in any order where no order is asked for.
std::string top(const ChosenCall& call) {
  const IValue is_sorted = call.argument("sorted");
  if (!is_sorted.is_bool() || is_sorted.to_bool()) return sorted(call);
  const Tensor values = call.results[0].to_tensor();
  std::string difference = shape_difference(values, call.expected[0]);
  if (!difference.empty()) return difference;
  const Lines found(values, dim_of(call));
  const Lines wanted(call.expected[0].to_tensor(), dim_of(call));
  for (size_t line = 0; line < found.count(); ++line) {
    std::vector<Number> a;
    std::vector<Number> b;
    for (size_t i = 0; i < found.length(); ++i) {
      a.push_back(found.at(line, i));
      b.push_back(wanted.at(line, i));
    }
    const auto by_value = [](Number x, Number y) { return y != y ? x == x : x < y; };
    std::ranges::sort(a, by_value);
    std::ranges::sort(b, by_value);
    if (!std::ranges::equal(a, b, are_same)) return fmt::format("line {} has other values", line);
  }
  return pointed_values(call);
}

// One element of each line, with its place.
std::string picked(const ChosenCall& call) {
  std::string difference = values_only(call);
  if (!difference.empty() || call.results.size() == 1) return difference;
  const Tensor indices = call.results[1].to_tensor();
  difference = shape_difference(indices, call.expected[1]);
  if (!difference.empty()) return difference;
  // As lines of one, whether the dimension was kept or not.
  const auto column = [](const Tensor& tensor) {
    const Tensor dense = kernels::contiguous(tensor);
    return Lines(dense.as_view(IntVector{dense.numel(), 1}, IntVector{1, 1}, 0), 1);
  };
  const Lines values = column(call.results[0].to_tensor());
  return pointing_difference(Lines(call.argument("self").to_tensor(), dim_of(call)),
                             column(indices),
                             [&](size_t line, size_t i) { return values.at(line, i); });
}

}  // namespace

ChoiceRule ordering_rule(std::string_view name) {
  if (name == "aten::sort") return sorted;
  if (name == "aten::argsort") return sorted_indices;
  if (name == "aten::msort") return values_only;
  if (name == "aten::topk") return top;
  for (const char* each : {"aten::kthvalue", "aten::median", "aten::nanmedian", "aten::mode"}) {
    if (name == each) return picked;
  }
  return nullptr;
}

}  // namespace tierup::api
