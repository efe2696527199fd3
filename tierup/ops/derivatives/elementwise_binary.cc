// Functions of several tensors, element by element.
#include <cmath>

#include "tierup/ops/derivatives/tables.h"
#include "tierup/ops/derivatives/term.h"

namespace tierup::ops::derivatives {
namespace {

// a op b, where b may be a number.
Term product(GradContext& c, const Term& a, ArgIndex i) {
  const Term b = arg(c, i).conj();
  return c.is_tensor(i) ? a * b : a.then("aten::mul.Scalar", b);
}
Term quotient(GradContext& c, const Term& a, ArgIndex i) {
  const Term b = arg(c, i).conj();
  return c.is_tensor(i) ? a / b : a.then("aten::div.Scalar", b);
}

void add(GradContext& c) {
  c.give(0, [&] { return grad(c); });
  c.give(1, [&] { return scaled(grad(c), c.scalar_of("alpha")); });
}
void sub(GradContext& c) {
  c.give(0, [&] { return grad(c); });
  c.give(1, [&] { return -scaled(grad(c), c.scalar_of("alpha")); });
}
void rsub(GradContext& c) {
  c.give(0, [&] { return -scaled(grad(c), c.scalar_of("alpha")); });
  c.give(1, [&] { return grad(c); });
}
void mul(GradContext& c) {
  c.give(0, [&] { return product(c, grad(c), 1); });
  c.give(1, [&] { return product(c, grad(c), 0); });
}
void div(GradContext& c) {
  c.give(0, [&] { return quotient(c, grad(c), 1); });
  c.give(1, [&] {
    const Term other = arg(c, 1);
    return -(grad(c) * (arg(c, 0) / other / other).conj());
  });
}
void div_mode(GradContext& c) {
  if (c.is_none("rounding_mode")) return div(c);
  c.give_zeros(0);
  c.give_zeros(1);
}

Term rounded_quotient(GradContext& c, const char* mode) {
  if (!c.is_tensor(0)) return call(c, "aten::div.Tensor_mode", arg(c, 0), arg(c, 1), mode);
  return arg(c, 0).then("aten::div.Tensor_mode", arg(c, 1), mode);
}
void fmod(GradContext& c) {
  c.give(0, [&] { return grad(c); });
  c.give(1, [&] { return -(grad(c) * rounded_quotient(c, "trunc")); });
}
void remainder(GradContext& c) {
  c.give(0, [&] { return grad(c); });
  c.give(1, [&] { return -(grad(c) * rounded_quotient(c, "floor")); });
}

void pow_by_number(GradContext& c) {
  const Scalar p = c.scalar_of(1);
  c.give(0, [&] {
    if (p == Scalar(0) || p == Scalar(0.0)) return zeros_like(grad(c));
    const Scalar less = p.is_complex()        ? Scalar(p.to_complex() - complex128(1))
                        : p.is_integral(true) ? Scalar(p.to_int() - 1)
                                              : Scalar(p.to_double() - 1);
    return grad(c) * (pow(arg(c, 0), less) * p).conj();
  });
}
// For exponents of tensors: what the exponent gets is 0 where the base is 0 and it is not
// negative; what the base gets is 0 where the exponent is.
Term exponent_gradient(GradContext& c, const Term& log_base, const Term& is_zero) {
  const Term slope = (result(c) * log_base).conj();
  const Term exponent = c.is_complex(1) ? arg(c, 1).then("aten::real") : arg(c, 1);
  return grad(c) * cleared(slope, both(is_zero, at_least(exponent, 0.0)));
}
void pow_by_tensor(GradContext& c) {
  c.give(0, [&] {
    const Term p = arg(c, 1);
    const Term slope = (p * arg(c, 0).then("aten::pow.Tensor_Tensor", p - 1)).conj();
    return grad(c) * cleared(slope, equal(p, 0.0));
  });
  c.give(1, [&] {
    const Term base = arg(c, 0);
    return exponent_gradient(c, log(base), equal(base, 0.0));
  });
}
void pow_of_number(GradContext& c) {
  c.give(1, [&] {
    const Scalar base = c.scalar_of(0);
    if (base == Scalar(0) || base == Scalar(0.0)) {
      const Term slope = result(c) * Scalar(-INFINITY);
      return grad(c) * cleared(slope, at_least(arg(c, 1), 0.0));
    }
    const bool plain = !base.is_complex() && base.to_double() > 0;
    if (plain) return grad(c) * (result(c) * std::log(base.to_double())).conj();
    if (!base.is_complex() && !c.is_complex(1)) return grad(c) * (result(c) * Scalar(NAN));
    return grad(c) * (result(c) * Scalar(std::log(base.to_complex()))).conj();
  });
}
// In double precision throughout.
void float_power(GradContext& c) {
  const bool is_complex = (c.is_tensor(0) ? c.is_complex(0) : c.scalar_of(0).is_complex()) ||
                          (c.is_tensor(1) ? c.is_complex(1) : c.scalar_of(1).is_complex());
  const ScalarType wide = is_complex ? ScalarType::kComplexDouble : ScalarType::kDouble;
  const auto widened = [&](int i) { return kept(c, i).then("aten::to.dtype", wide); };
  if (!c.is_tensor(0)) {
    c.set_result(0, call(c, "aten::pow.Scalar", c.scalar_of(0), widened(1)));
  } else if (!c.is_tensor(1)) {
    c.set_result(0, widened(0).then("aten::pow.Tensor_Scalar", c.scalar_of(1)));
  } else {
    c.set_result(0, widened(0).then("aten::pow.Tensor_Tensor", widened(1)));
  }
}

void atan2(GradContext& c) {
  const auto slope = [&](const Term& numerator) {
    const Term sum = square(arg(c, 0)) + square(arg(c, 1));
    return grad(c) * (numerator * cleared(reciprocal(sum), equal(sum, 0.0)));
  };
  c.give(0, [&] { return slope(arg(c, 1)); });
  c.give(1, [&] { return slope(-arg(c, 0)); });
}
void hypot(GradContext& c) {
  c.give(0, [&] { return grad(c) * (arg(c, 0) / result(c)); });
  c.give(1, [&] { return grad(c) * (arg(c, 1) / result(c)); });
}
void copysign(GradContext& c) {
  c.give(0, [&] {
    const Term x = arg(c, 0);
    return grad(c) * cleared(result(c) / x, equal(x, 0.0));
  });
  c.give_zeros(1);
}

// Ties share; a NaN lets the gradient through to both.
void extremum(GradContext& c, bool is_maximum) {
  const auto side = [&](int mine, int others) {
    const Term x = arg(c, mine);
    const Term y = arg(c, others);
    const Term g = grad(c);
    const Term shared = choose(equal(x, y), g / 2, g);
    return cleared(shared, is_maximum ? less(x, y) : less(y, x));
  };
  c.give(0, [&] { return side(0, 1); });
  c.give(1, [&] { return side(1, 0); });
}
// Where both are equal the result is the other one, whose every neighbour is as near.
void nextafter(GradContext& c) {
  c.give(0, [&] { return cleared(grad(c), equal(arg(c, 0), arg(c, 1))); });
  c.give_zeros(1);
}
void maximum(GradContext& c) { extremum(c, true); }
void minimum(GradContext& c) { extremum(c, false); }
// Ties go to the first; a NaN loses.
void number_extremum(GradContext& c, bool is_maximum) {
  const auto is_first = [&] {
    const Term x = arg(c, 0);
    const Term y = arg(c, 1);
    return either(is_maximum ? at_least(x, y) : at_most(x, y), y.then("aten::isnan"));
  };
  c.give(0, [&] { return only(grad(c), is_first()); });
  c.give(1, [&] { return cleared(grad(c), is_first()); });
}
void fmax(GradContext& c) { number_extremum(c, true); }
void fmin(GradContext& c) { number_extremum(c, false); }

void xlogy(GradContext& c) {
  c.give(0, [&] {
    const Term g = grad(c);
    if (!c.is_tensor(1)) {
      const double y = c.float_of(1);
      const Term all = g * std::log(y);
      return y > 0 ? all : cleared(all, equal(arg(c, 0), 0.0));
    }
    const Term y = arg(c, 1);
    return cleared(g * log(y), both(equal(arg(c, 0), 0.0), at_most(y, 0.0)));
  });
  c.give(1, [&] {
    if (!c.is_tensor(0)) return grad(c) * (reciprocal(arg(c, 1)) * c.scalar_of(0));
    return grad(c) * (arg(c, 0) / arg(c, 1));
  });
}
void xlog1py(GradContext& c) {
  c.give(0, [&] {
    const Term g = grad(c);
    if (!c.is_tensor(1)) {
      const double y = c.float_of(1);
      const Term all = g * std::log1p(y);
      return y > -1 ? all : cleared(all, equal(arg(c, 0), 0.0));
    }
    const Term y = arg(c, 1);
    return cleared(g * y.then("aten::log1p"), both(equal(arg(c, 0), 0.0), at_most(y, -1.0)));
  });
  c.give(1, [&] {
    const Term divisor = arg(c, 1) + 1;
    if (!c.is_tensor(0)) return grad(c) * (reciprocal(divisor) * c.scalar_of(0));
    return grad(c) * (arg(c, 0) / divisor);
  });
}

// The share of each side is 1 / (1 + base^(other - x)).
void logaddexp(GradContext& c, OpName power) {
  c.give(0, [&] { return grad(c) / ((arg(c, 1) - arg(c, 0)).then(power) + 1).conj(); });
  c.give(1, [&] { return grad(c) / ((arg(c, 0) - arg(c, 1)).then(power) + 1).conj(); });
}
void logaddexp_e(GradContext& c) { logaddexp(c, "aten::exp"); }
void logaddexp_2(GradContext& c) { logaddexp(c, "aten::exp2"); }

void ldexp(GradContext& c) {
  c.set_result(0, kept(c, 0) * call(c, "aten::pow.Scalar", 2.0, arg(c, 1)));
}

void lerp_number(GradContext& c) {
  const Scalar w = c.scalar_of("weight");
  c.give(0, [&] {
    if (w.is_complex()) return grad(c) * Scalar(std::conj(complex128(1) - w.to_complex()));
    return grad(c) * (1 - w.to_double());
  });
  c.give(1, [&] {
    return w.is_complex() ? grad(c) * Scalar(std::conj(w.to_complex())) : grad(c) * w;
  });
}
void lerp_tensor(GradContext& c) {
  c.give(0, [&] { return grad(c) * (1 - arg(c, 2)).conj(); });
  c.give(1, [&] { return grad(c) * arg(c, 2).conj(); });
  c.give(2, [&] { return grad(c) * (arg(c, 1) - arg(c, 0)).conj(); });
}
void addcmul(GradContext& c) {
  const Scalar value = c.scalar_of("value");
  c.give(0, [&] { return grad(c); });
  c.give(1, [&] { return scaled(grad(c) * arg(c, 2).conj(), value); });
  c.give(2, [&] { return scaled(grad(c) * arg(c, 1).conj(), value); });
}
void addcdiv(GradContext& c) {
  const Scalar value = c.scalar_of("value");
  c.give(0, [&] { return grad(c); });
  c.give(1, [&] { return scaled(grad(c) / arg(c, 2).conj(), value); });
  c.give(2, [&] { return -scaled(grad(c) * (arg(c, 1) / square(arg(c, 2))).conj(), value); });
}

void where(GradContext& c) {
  c.give(1, [&] { return only(grad(c), arg(c, 0)); });
  c.give(2, [&] { return cleared(grad(c), arg(c, 0)); });
}

void clamp(GradContext& c) {
  c.give(0, [&] {
    const Term x = arg(c, 0);
    const Term g = grad(c);
    const bool low = !c.is_none("min");
    const bool high = !c.is_none("max");
    if (low && high) {
      return only(g, both(at_least(x, c.scalar_of("min")), at_most(x, c.scalar_of("max"))));
    }
    return only(g, low ? at_least(x, c.scalar_of("min")) : at_most(x, c.scalar_of("max")));
  });
}
void clamp_tensor(GradContext& c) {
  const bool low = !c.is_none("min");
  const bool high = !c.is_none("max");
  c.give(0, [&] {
    const Term x = arg(c, 0);
    const Term g = grad(c);
    if (low && high) {
      return only(g, both(at_least(x, arg(c, "min")), at_most(x, arg(c, "max"))));
    }
    return only(g, low ? at_least(x, arg(c, "min")) : at_most(x, arg(c, "max")));
  });
  c.give("min", [&] {
    const Term below = less(arg(c, 0), arg(c, "min"));
    return only(grad(c), high ? both(below, less(arg(c, "min"), arg(c, "max"))) : below);
  });
  c.give("max", [&] {
    const Term above = less(arg(c, "max"), arg(c, 0));
    return only(grad(c), low ? either(above, less(arg(c, "max"), arg(c, "min"))) : above);
  });
}
void clamp_min(GradContext& c) {
  c.give(0, [&] { return only(grad(c), at_least(arg(c, 0), c.scalar_of(1))); });
}
void clamp_max(GradContext& c) {
  c.give(0, [&] { return only(grad(c), at_most(arg(c, 0), c.scalar_of(1))); });
}
void clamp_min_tensor(GradContext& c) {
  c.give(0, [&] { return only(grad(c), at_least(arg(c, 0), arg(c, 1))); });
  c.give(1, [&] { return only(grad(c), less(arg(c, 0), arg(c, 1))); });
}
void clamp_max_tensor(GradContext& c) {
  c.give(0, [&] { return only(grad(c), at_most(arg(c, 0), arg(c, 1))); });
  c.give(1, [&] { return only(grad(c), less(arg(c, 1), arg(c, 0))); });
}

void igamma_slope(GradContext& c, bool upper) {
  c.give_nothing_known(0);
  c.give(1, [&] {
    const Term a = arg(c, 0);
    const Term x = arg(c, 1);
    const Term density = exp((a - 1) * log(x) - x - a.then("aten::lgamma"));
    return upper ? -(grad(c) * density) : grad(c) * density;
  });
}
void igamma(GradContext& c) { igamma_slope(c, false); }
void igammac(GradContext& c) { igamma_slope(c, true); }

void zeta(GradContext& c) {
  c.give_nothing_known(0);
  c.give(1, [&] {
    if (!c.is_tensor(0)) {
      const double s = c.float_of(0);
      return grad(c) * (call(c, "aten::special_zeta.self_scalar", s + 1, arg(c, 1)) * -s);
    }
    const Term s = arg(c, 0);
    return grad(c) * (-s * (s + 1).then("aten::special_zeta", arg(c, 1)));
  });
}

constexpr auto kDecomposed = DerivativeKind::kDecomposition;

constexpr DerivativeRow kRows[] = {
    {"aten::add.Tensor", &add},
    {"aten::add.Scalar", &add},
    {"aten::sub.Tensor", &sub},
    {"aten::sub.Scalar", &sub},
    {"aten::rsub.Tensor", &rsub},
    {"aten::rsub.Scalar", &rsub},
    {"aten::mul.Tensor", &mul},
    {"aten::mul.Scalar", &mul},
    {"aten::div.Tensor", &div},
    {"aten::div.Scalar", &div},
    {"aten::div.Tensor_mode", &div_mode},
    {"aten::div.Scalar_mode", &div_mode},
    {"aten::fmod.Tensor", &fmod},
    {"aten::fmod.Scalar", &fmod},
    {"aten::remainder.Tensor", &remainder},
    {"aten::remainder.Scalar", &remainder},
    {"aten::remainder.Scalar_Tensor", &remainder},
    {"aten::pow.Tensor_Scalar", &pow_by_number},
    {"aten::pow.Tensor_Tensor", &pow_by_tensor},
    {"aten::pow.Scalar", &pow_of_number},
    {"aten::pow_.Scalar", &pow_by_number},
    {"aten::pow_.Tensor", &pow_by_tensor},
    {"aten::float_power.Tensor_Tensor", kDecomposed, &float_power},
    {"aten::float_power.Tensor_Scalar", kDecomposed, &float_power},
    {"aten::float_power.Scalar", kDecomposed, &float_power},
    {"aten::float_power_.Tensor", kDecomposed, &float_power},
    {"aten::float_power_.Scalar", kDecomposed, &float_power},
    {"aten::atan2", &atan2},
    {"aten::hypot", &hypot},
    {"aten::copysign.Tensor", &copysign},
    {"aten::copysign.Scalar", &copysign},
    {"aten::maximum", &maximum},
    {"aten::minimum", &minimum},
    {"aten::max.other", &maximum},
    {"aten::min.other", &minimum},
    {"aten::fmax", &fmax},
    {"aten::fmin", &fmin},
    {"aten::xlogy.Tensor", &xlogy},
    {"aten::xlogy.Scalar_Self", &xlogy},
    {"aten::xlogy.Scalar_Other", &xlogy},
    {"aten::special_xlog1py", &xlog1py},
    {"aten::special_xlog1py.self_scalar", &xlog1py},
    {"aten::special_xlog1py.other_scalar", &xlog1py},
    {"aten::logaddexp", &logaddexp_e},
    {"aten::logaddexp2", &logaddexp_2},
    {"aten::ldexp.Tensor", kDecomposed, &ldexp},
    {"aten::ldexp_", kDecomposed, &ldexp},
    {"aten::nextafter", &nextafter},
    {"aten::lerp.Scalar", &lerp_number},
    {"aten::lerp.Tensor", &lerp_tensor},
    {"aten::addcmul", &addcmul},
    {"aten::addcdiv", &addcdiv},
    {"aten::where.self", &where},
    {"aten::where.ScalarSelf", &where},
    {"aten::where.ScalarOther", &where},
    {"aten::clamp", &clamp},
    {"aten::clamp.Tensor", &clamp_tensor},
    {"aten::clamp_min", &clamp_min},
    {"aten::clamp_max", &clamp_max},
    {"aten::clamp_min.Tensor", &clamp_min_tensor},
    {"aten::clamp_max.Tensor", &clamp_max_tensor},
    {"aten::igamma", &igamma},
    {"aten::igammac", &igammac},
    {"aten::special_zeta", &zeta},
    {"aten::special_zeta.self_scalar", &zeta},
    {"aten::special_zeta.other_scalar", &zeta},
};

}  // namespace

std::span<const DerivativeRow> elementwise_binary_derivatives() { return kRows; }

}  // namespace tierup::ops::derivatives
