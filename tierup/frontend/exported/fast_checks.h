// FastChecks: the input checks of an exported program as a few comparisons, without allocations.
//
// Covers flat calls of tensors whose sizes are numbers or plain symbols, with ranges and guards
// that compare two of those: nearly all programs. It only ever says yes; whatever it does not
// understand or does not hold goes to InputChecks, which decides and words the error.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tierup/frontend/exported/input_checks.h"

namespace tierup::frontend::exported {

// Constant once made.
class FastChecks {
 public:
  // Nothing if the program needs more than this can do.
  static std::optional<FastChecks> make(const InputChecks& checks, const CheckOptions& options);

  // Whether the values, one per leaf, are certainly right.
  bool hold(std::span<const IValue> values) const;

 private:
  struct Leaf {
    ScalarType dtype;
    uint32_t first_size;  // In sizes_.
    uint32_t rank;
  };
  struct Size {
    bool is_symbol;
    int64_t value;  // Or the symbol's number.
  };
  struct Bounds {
    int64_t low;
    int64_t high;
  };
  // A number, or a size of an input.
  struct Term {
    bool is_size;
    uint32_t leaf;
    uint32_t dim;
    int64_t number;
  };
  enum class Relation : uint8_t { kEqual, kUnequal, kLess, kLessEqual };
  struct Guard {
    Relation relation;
    Term left;
    Term right;
  };
  static constexpr size_t kMaxSymbols = 32;

  bool add_leaf(const InputLeaf& leaf);
  bool add_guard(const InputChecks& checks, const Expression& expression);
  static std::optional<Term> term_of(const InputChecks& checks, const Expression& expression);
  bool guards_hold(std::span<const IValue> values) const;

  std::vector<Leaf> leaves_;
  std::vector<Size> sizes_;
  std::vector<Bounds> bounds_;  // By symbol.
  std::vector<Guard> guards_;
};

}  // namespace tierup::frontend::exported
