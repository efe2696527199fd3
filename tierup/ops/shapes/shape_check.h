// ShapeCheck: whether what a row's shape function says of a call is what the call gave.
//
// The function is asked with all sizes as numbers, with all of them as symbols, and with those of
// the first argument as symbols, as profiled programs have them. Recorded cases of operators check
// every row so (cases/op_cases.cc).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tierup/ops/shapes/shape_context.h"

namespace tierup::ops {

// Which sizes the symbols stand for in one run.
class BoundSymbols {
 public:
  void bind(int64_t symbol, int64_t size) { sizes_.emplace(symbol, size); }
  // Whether a dimension may have this size; a symbol not met before has it from now on.
  bool admits(const Dim& dim, int64_t size);
  bool admits(const Sizes& sizes, IntSpan actual);

 private:
  std::map<int64_t, int64_t> sizes_;
};

class ShapeCheck {
 public:
  // Before the call, which may move from its arguments.
  ShapeCheck(const Op& op, std::span<const IValue> args);
  // What is wrong about the results, or about written arguments; empty if nothing is.
  std::string mistake(std::span<const IValue> results);

 private:
  struct Answer {
    std::vector<ShapeValue> results;
    BoundSymbols symbols;
  };
  enum class Symbols : uint8_t { kNone, kOfFirst, kOfAll };
  Answer ask(ShapeFn function, std::span<const IValue> args, Symbols which) const;

  const Op& op_;
  std::vector<Answer> answers_;
  std::vector<std::pair<Tensor, IntVector>> written_;  // With their sizes before the call.
};

}  // namespace tierup::ops
