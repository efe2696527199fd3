// Term: a value of a formula, with arithmetic that calls rows, so that formulas read as such.
//
//   c.give(0, [&] { return grad(c) * cos(arg(c, 0)).conj(); });
//
// Terms live as long as the context that they were made by. An undefined term stays undefined in
// products and is left out of sums (see derivative.h).
#pragma once

#include "tierup/ops/table/derivative.h"

namespace tierup::ops::derivatives {

class Term {
 public:
  Term() = default;
  Term(GradContext& c, GradValue v) : context_(&c), value_(v) {}
  operator GradValue() const { return value_; }  // NOLINT(google-explicit-constructor)
  bool defined() const { return value_.defined(); }
  GradContext& context() const { return *context_; }

  // The row of that name with this as its first operand: x.then("aten::sum.dim_IntList", dims).
  template <typename... Args>
  Term then(OpName name, Args&&... args) const {
    return {*context_, context_->op(name, value_, operand(std::forward<Args>(args))...)};
  }
  Term conj() const { return {*context_, context_->conj(value_)}; }

  // What of a call's operands is a term, as the value it stands for.
  template <typename T>
  static decltype(auto) operand(T&& value) {
    if constexpr (std::is_same_v<std::remove_cvref_t<T>, Term>) {
      return GradValue(value);
    } else {
      return std::forward<T>(value);
    }
  }

 private:
  GradContext* context_ = nullptr;
  GradValue value_;
};

inline Term grad(GradContext& c, size_t k = 0) { return {c, c.grad(k)}; }
inline Term grad_or_zeros(GradContext& c, size_t k = 0) { return {c, c.grad_or_zeros(k)}; }
inline Term arg(GradContext& c, ArgIndex i) { return {c, c.arg(i)}; }
inline Term arg(GradContext& c, ArgIndex i, size_t k) { return {c, c.arg(i, k)}; }
inline Term result(GradContext& c, size_t k = 0) { return {c, c.result(k)}; }
// A call whose first operand is no term.
template <typename... Args>
Term call(GradContext& c, OpName name, Args&&... args) {
  return {c, c.op(name, Term::operand(std::forward<Args>(args))...)};
}

inline Term operator+(const Term& a, const Term& b) { return a.then("aten::add.Tensor", b); }
inline Term operator-(const Term& a, const Term& b) { return a.then("aten::sub.Tensor", b); }
inline Term operator*(const Term& a, const Term& b) { return a.then("aten::mul.Tensor", b); }
inline Term operator/(const Term& a, const Term& b) { return a.then("aten::div.Tensor", b); }
inline Term operator-(const Term& a) { return a.then("aten::neg"); }
inline Term operator+(const Term& a, const Scalar& b) { return a.then("aten::add.Scalar", b); }
inline Term operator-(const Term& a, const Scalar& b) { return a.then("aten::sub.Scalar", b); }
inline Term operator*(const Term& a, const Scalar& b) { return a.then("aten::mul.Scalar", b); }
inline Term operator/(const Term& a, const Scalar& b) { return a.then("aten::div.Scalar", b); }
inline Term operator*(const Scalar& a, const Term& b) { return b * a; }
inline Term operator-(const Scalar& a, const Term& b) { return b.then("aten::rsub.Scalar", a); }
// `value * factor`, nothing for a factor of exactly 1.
inline Term scaled(const Term& value, const Scalar& factor) {
  return {value.context(), value.context().scaled(value, factor)};
}

inline Term exp(const Term& x) { return x.then("aten::exp"); }
inline Term log(const Term& x) { return x.then("aten::log"); }
inline Term sin(const Term& x) { return x.then("aten::sin"); }
inline Term cos(const Term& x) { return x.then("aten::cos"); }
inline Term sqrt(const Term& x) { return x.then("aten::sqrt"); }
inline Term rsqrt(const Term& x) { return x.then("aten::rsqrt"); }
inline Term reciprocal(const Term& x) { return x.then("aten::reciprocal"); }
inline Term sgn(const Term& x) { return x.then("aten::sgn"); }
inline Term abs(const Term& x) { return x.then("aten::abs"); }
inline Term square(const Term& x) { return x * x; }
inline Term pow(const Term& x, const Scalar& p) { return x.then("aten::pow.Tensor_Scalar", p); }

// Masks.
inline Term equal(const Term& a, const Term& b) { return a.then("aten::eq.Tensor", b); }
inline Term equal(const Term& a, const Scalar& b) { return a.then("aten::eq.Scalar", b); }
inline Term less(const Term& a, const Term& b) { return a.then("aten::lt.Tensor", b); }
inline Term less(const Term& a, const Scalar& b) { return a.then("aten::lt.Scalar", b); }
inline Term at_most(const Term& a, const Term& b) { return a.then("aten::le.Tensor", b); }
inline Term at_most(const Term& a, const Scalar& b) { return a.then("aten::le.Scalar", b); }
inline Term at_least(const Term& a, const Term& b) { return a.then("aten::ge.Tensor", b); }
inline Term at_least(const Term& a, const Scalar& b) { return a.then("aten::ge.Scalar", b); }
inline Term both(const Term& a, const Term& b) { return a.then("aten::logical_and", b); }
inline Term either(const Term& a, const Term& b) { return a.then("aten::logical_or", b); }
inline Term inverted(const Term& a) { return a.then("aten::logical_not"); }
// The value, 0 (or a number) where the mask is set.
inline Term cleared(const Term& value, const Term& mask, const Scalar& to = 0) {
  return value.then("aten::masked_fill.Scalar", mask, to);
}
// The value where the mask is set, elsewhere 0.
inline Term only(const Term& value, const Term& mask) { return cleared(value, inverted(mask)); }
inline Term choose(const Term& mask, const Term& yes, const Term& no) {
  return mask.then("aten::where.self", yes, no);
}

// Shapes.
inline Term reshape(const Term& x, IntSpan sizes) { return x.then("aten::reshape", sizes); }
inline Term expand(const Term& x, IntSpan sizes) { return x.then("aten::expand", sizes); }
inline Term unsqueeze(const Term& x, int64_t dim) { return x.then("aten::unsqueeze", dim); }
inline Term squeeze(const Term& x, int64_t dim) { return x.then("aten::squeeze.dim", dim); }
inline Term transpose(const Term& x, int64_t a, int64_t b) {
  return x.then("aten::transpose.int", a, b);
}
inline Term total(const Term& x) { return x.then("aten::sum"); }
inline Term sum_over(const Term& x, const IntVector& dims, bool keepdim) {
  return x.then("aten::sum.dim_IntList", dims, keepdim);
}

// Matrices.
inline Term turned(const Term& m) { return transpose(m, -2, -1); }
inline Term adjoint(const Term& m) { return turned(m).conj(); }
inline Term matmul(const Term& a, const Term& b) { return a.then("aten::matmul", b); }

// Tensors of numbers like a term's.
inline Term zeros_like(const Term& x) { return x.then("aten::zeros_like"); }
inline Term ones_like(const Term& x) { return x.then("aten::ones_like"); }

// The dimension within [0, rank); rank 0 counts as 1.
inline int64_t wrapped(int64_t dim, int64_t rank) { return wrap_dim(dim, rank); }
// The argument, or None where the call had none: an undefined operand would undo the call.
inline GradArg optional(GradContext& c, ArgIndex i) {
  if (!c.is_tensor(i)) return nullptr;
  return c.arg(i);
}
// An argument of a decomposition to be read: of an in-place operator a copy, since it is written.
inline Term kept(GradContext& c, ArgIndex i) {
  const Term value = arg(c, i);
  return c.row().derivative()->writes ? value.then("aten::clone") : value;
}
// A list of flags, as the masks of wanted results are.
IValue flags(std::initializer_list<bool> values);

}  // namespace tierup::ops::derivatives
