// ExpressionTable: scalar bodies as expressions, by body and by the type they compute in: what
// RunTable is for tier 0's kernels. The types of a body's operands and result are those of the run
// of the same name; truth travels in masks.
#pragma once

#include <array>
#include <optional>

#include "tierup/kernels/pointwise/pointwise_runs.h"
#include "tierup/kernels/simd/expression.h"

namespace tierup::kernels {

using ExpressionBuild = ExprValue (*)(const ExprValue* operands);

class ExpressionTable {
 public:
  static const ExpressionTable& instance();

  // Null if the body has no expression in that type (it calls a library, say).
  ExpressionBuild find(Body body, ScalarType compute) const {
    return compute > ScalarType::kBool
               ? nullptr
               : builds_[static_cast<size_t>(body)][static_cast<size_t>(compute)];
  }
  void set(Body body, ScalarType compute, ExpressionBuild build) {
    builds_[static_cast<size_t>(body)][static_cast<size_t>(compute)] = build;
  }

 private:
  static constexpr size_t kTypes = static_cast<size_t>(ScalarType::kBool) + 1;
  std::array<std::array<ExpressionBuild, kTypes>, static_cast<size_t>(Body::kCount)> builds_{};
};

// The lane type that a dtype is computed in; none for those that have no lanes.
std::optional<LaneType> lane_type(ScalarType type);

// A value of one lane type as another, as convert() of cast.h does it for one element.
ExprValue convert_lanes(const ExprValue& value, LaneType to);

}  // namespace tierup::kernels
