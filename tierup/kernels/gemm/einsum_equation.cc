#include "tierup/kernels/gemm/einsum_equation.h"

#include <algorithm>
#include <array>

#include "tierup/base/error.h"

namespace tierup::kernels {
namespace {

constexpr auto kBad = ErrorCode::kInvalidArgument;
constexpr int64_t kEllipsis = EinsumEquation::kEllipsis;
constexpr size_t kLetters = EinsumEquation::kLetters;

int64_t letter_index(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  fail(kBad, "einsum(): invalid subscript given: '{}'; subscripts must be in [a-zA-Z]", c);
}

// One side's subscripts as letter numbers, with kEllipsis for "...".
std::vector<int64_t> parse_subscripts(std::string_view text) {
  std::vector<int64_t> labels;
  bool seen = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ' ') continue;
    if (text[i] != '.') {
      labels.push_back(letter_index(text[i]));
      continue;
    }
    require(!seen && text.substr(i, 3) == "...", kBad,
            "einsum(): found '.' in subscripts that is not part of any ellipsis, or more than one "
            "ellipsis");
    seen = true;
    labels.push_back(kEllipsis);
    i += 2;
  }
  return labels;
}

// Without "->" the output has the ellipsis, then the letters that occur once, in alphabetical
// order.
std::vector<int64_t> implied_output(const std::vector<std::vector<int64_t>>& inputs) {
  std::array<int, kLetters> counts{};
  bool ellipsis = false;
  for (const auto& labels : inputs) {
    for (const int64_t label : labels) {
      if (label == kEllipsis)
        ellipsis = true;
      else
        ++counts[static_cast<size_t>(label)];
    }
  }
  std::vector<int64_t> output;
  if (ellipsis) output.push_back(kEllipsis);
  for (size_t i = 0; i < kLetters; ++i) {
    if (counts[i] == 1) output.push_back(static_cast<int64_t>(i));
  }
  return output;
}

}  // namespace

EinsumEquation parse_einsum(std::string_view equation, size_t operand_count) {
  const size_t arrow = equation.find("->");
  std::string_view left = equation.substr(0, arrow);
  EinsumEquation result;
  while (true) {
    const size_t comma = left.find(',');
    result.inputs.push_back(parse_subscripts(left.substr(0, comma)));
    if (comma == std::string_view::npos) break;
    left.remove_prefix(comma + 1);
  }
  require(result.inputs.size() == operand_count, kBad,
          "einsum(): {} operands were provided but the equation specifies {}", operand_count,
          result.inputs.size());
  result.output = arrow == std::string_view::npos ? implied_output(result.inputs)
                                                  : parse_subscripts(equation.substr(arrow + 2));
  return result;
}

}  // namespace tierup::kernels
