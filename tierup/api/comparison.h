// Comparison: whether what a program gave is what its case expects, and how far off it is.
//
// Integers, booleans, strings and keys must be equal, floating-point numbers near:
// |found - expected| <= atol + rtol * |expected|, infinities and NaN equal themselves. Shapes and
// dtypes must be equal. Lists and tuples are not told apart.
#pragma once

#include <map>
#include <string>

#include "tierup/tensor/ivalue.h"

namespace tierup::api {

struct Tolerance {
  double rtol = 0;
  double atol = 0;
};

// The tolerance of each floating-point and complex dtype.
class Tolerances {
 public:
  // The same for all.
  static Tolerances uniform(Tolerance tolerance);
  // What operator cases use unless an index says otherwise.
  static Tolerances of_operators();

  void set(ScalarType dtype, Tolerance tolerance) { by_dtype_[dtype] = tolerance; }
  // Raises every atol to at least this.
  void raise_atol(double atol);
  Tolerance of(ScalarType dtype) const;

 private:
  std::map<ScalarType, Tolerance> by_dtype_;
  Tolerance other_;
};

// Largest deviations met so far, over all floating-point values compared.
struct Deviation {
  double max_absolute = 0;
  double max_relative = 0;   // Elementwise: |found - expected| / |expected|.
  double largest_value = 0;  // Of what was expected.
};

struct ComparisonOptions {
  Tolerances tolerances = Tolerances::of_operators();
  // Right only up to a choice (the sign of a vector, the order of equal elements): integers are
  // compared by shape only, others by absolute value, in any order if need be.
  bool ambiguous = false;
};

// The first difference as a phrase ("value [0][2, 1] is 1.5 instead of 1.25"), empty if there is
// none. `deviation`, if given, takes in every tensor and float compared.
std::string find_difference(const IValue& found, const IValue& expected,
                            const ComparisonOptions& options, Deviation* deviation = nullptr);

// The largest deviation of any tensor of `found` from its like in `expected`, relative to that
// tensor's largest value; infinite if they do not match in number and shape. Both are walked
// depth first, so that structures need not be the same. Copies nothing.
double relative_deviation(const IValue& found, const IValue& expected);

}  // namespace tierup::api
