// What the formulas of recurrent layers are written in.
#pragma once

#include <vector>

#include "tierup/ops/derivatives/term.h"

namespace tierup::ops::derivatives {

// The term as an operand, or None: an undefined one would undo the call.
inline GradArg defined_or_none(const Term& t) {
  if (!t.defined()) return nullptr;
  return GradValue(t);
}
// x times the transposed weight, and the bias if it is defined.
inline Term linear(const Term& x, const Term& weight, const Term& bias) {
  return x.then("aten::linear", weight, defined_or_none(bias));
}
// The tensors of a list that a row gave.
inline std::vector<Term> parts(const Term& list, size_t count) {
  std::vector<Term> made;
  for (const GradValue& part : list.context().elements(list, count))
    made.emplace_back(list.context(), part);
  return made;
}
inline std::vector<Term> chunks(const Term& gates, size_t count) {
  return parts(gates.then("aten::chunk", static_cast<int64_t>(count), -1), count);
}
// The slices of dimension 0: their gradients are put together once, where those of so many selects
// would each be as large as the whole.
inline std::vector<Term> slices(const Term& x, int64_t count) {
  return parts(x.then("aten::unbind.int", 0), static_cast<size_t>(count));
}
inline Term joined(GradContext& c, OpName row, const std::vector<Term>& terms, int64_t dim) {
  return call(c, row, std::vector<GradValue>(terms.begin(), terms.end()), dim);
}
inline Term stacked(GradContext& c, const std::vector<Term>& terms) {
  return joined(c, "aten::stack", terms, 0);
}
inline Term sigmoid(const Term& x) { return x.then("aten::sigmoid"); }
inline Term tanh(const Term& x) { return x.then("aten::tanh"); }

}  // namespace tierup::ops::derivatives
