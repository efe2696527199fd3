// The equation of aten::einsum, read.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace tierup::kernels {

// Subscripts are the letters' numbers, A to Z and a to z, with kEllipsis for "...".
struct EinsumEquation {
  static constexpr int64_t kEllipsis = -1;
  static constexpr int64_t kLetters = 52;

  std::vector<std::vector<int64_t>> inputs;  // Of each operand.
  std::vector<int64_t> output;               // Without "->" the implied one.
};

// Throws kInvalidArgument for what is no equation of so many operands.
EinsumEquation parse_einsum(std::string_view equation, size_t operand_count);

}  // namespace tierup::kernels
