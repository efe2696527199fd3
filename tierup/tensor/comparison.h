// Comparison: whether what a program gave is what is expected of it, and how far off it is. Every
// check uses it: recorded cases, tier 1 against tier 0, live checks, benchmarks.
//
// Integers, booleans, strings and keys must be equal, floating-point numbers near:
// |found - expected| <= atol + rtol * |expected|; infinities and NaN equal themselves, and are
// infinitely far from anything else (deviation.h). Shapes and dtypes must be equal. Lists and
// tuples are not told apart. Objects are compared by class and attributes.
//
// Thread rule: any thread, while nobody writes to what is compared.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "tierup/tensor/deviation.h"
#include "tierup/tensor/ivalue.h"

namespace tierup {

struct Tolerance {
  double rtol = 0;
  double atol = 0;
};

// The tolerance of each floating-point and complex dtype, and of numbers that are no tensors.
class Tolerances {
 public:
  // The same for all.
  static Tolerances uniform(Tolerance tolerance);
  // By dtype, as torch.testing.assert_close: of cases that carry none.
  static Tolerances of_dtypes();
  // What operator cases use unless an index says otherwise.
  static Tolerances of_operators();

  void set(ScalarType dtype, Tolerance tolerance) { by_dtype_[dtype] = tolerance; }
  // Without it numbers have the tolerance of float64.
  void set_number(Tolerance tolerance) { number_ = tolerance; }
  // Replaces what is given, for all dtypes.
  void replace(std::optional<double> rtol, std::optional<double> atol);
  // Raises every atol to at least this.
  void raise_atol(double atol);
  Tolerance of(ScalarType dtype) const;
  Tolerance of_number() const { return number_ ? *number_ : of(ScalarType::kDouble); }

 private:
  template <typename Change>
  void change_all(Change&& change);

  std::map<ScalarType, Tolerance> by_dtype_;
  std::optional<Tolerance> number_;
  Tolerance other_;
};

struct ComparisonOptions {
  Tolerances tolerances = Tolerances::of_operators();
  // rtol is of the tensor's largest value, instead of each element.
  bool relative_to_largest = false;
};

// The first difference as a phrase ("the result[0][2, 1] is 1.5 instead of 1.25"), empty if there
// is none. `deviation`, if given, takes in every tensor and float compared.
std::string find_difference(const IValue& found, const IValue& expected,
                            const ComparisonOptions& options, Deviation* deviation = nullptr);

// Whether find_difference can tell: there is no future in it, whose value may not be there yet, and
// nothing that is only itself (a generator, a function).
bool is_comparable(const IValue& value);

// The largest deviation of any tensor or number of `found` from its like in `expected`, relative
// to the largest value of that tensor; infinite if they do not match in number and shape. Both are
// walked depth first, so that structures need not be the same; where no numbers are expected (a
// case of flattened tensors), those found are left out.
double relative_deviation(const IValue& found, const IValue& expected);

}  // namespace tierup
