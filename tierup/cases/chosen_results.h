// Results that are right up to a choice: which of equal elements comes first, the sign of a vector,
// the order of eigenvalues. What is unique is compared as it is; the rest by what it must do.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "tierup/ops/table/op.h"
#include "tierup/tensor/comparison.h"

namespace tierup::api {

// One call of an operator with what it gave and what another implementation gave.
struct ChosenCall {
  const ops::Op& op;
  std::span<const IValue> args;
  std::span<const IValue> results;
  std::span<const IValue> expected;
  const ComparisonOptions& options;

  // The argument of this name; None if the operator has none.
  IValue argument(std::string_view name) const;
};

// Compares the results of an operator whose recorded cases are marked ambiguous:
//   - sort, argsort, topk, kthvalue, median, nanmedian, mode: values bit for bit; indices lie in
//     their range, none comes twice in a line, and what they point at are those values (of a
//     stable sort they must be the expected ones);
//   - qr, svd, eigh, eig: factors multiply to the input and are orthogonal where they must be,
//     triangular ones triangular; singular values and eigenvalues near the expected ones;
//   - others that have one right answer for all that LAPACK leaves open: near.
// The first difference as a phrase, empty if right. Throws kUnsupported for an operator without a
// rule. Thread rule: any thread.
std::string check_choice(const ChosenCall& call);

// The two families, each by the operator's name without overload; null if it is of the other one.
using ChoiceRule = std::function<std::string(const ChosenCall& call)>;
ChoiceRule ordering_rule(std::string_view name);
ChoiceRule factor_rule(std::string_view name);

}  // namespace tierup::api
