// Conversions, copies and fills; complex numbers and their parts.
#include "tierup/ops/derivatives/tables.h"
#include "tierup/ops/derivatives/term.h"

namespace tierup::ops::derivatives {
namespace {

// Another dtype, device or layout: `give` casts back.
void same(GradContext& c) {
  c.give(0, [&] { return grad(c); });
}
void zero(GradContext& c) { c.give_zeros(0); }
void fill_tensor(GradContext& c) {
  c.give_zeros(0);
  c.give(1, [&] { return total(grad(c)); });
}

Term as_complex(GradContext& c, const Term& real, const Term& imaginary) {
  return call(c, "aten::complex", real, imaginary);
}
void real(GradContext& c) {
  c.give(0, [&] {
    if (!c.is_complex(0)) return grad(c);
    return as_complex(c, grad(c), zeros_like(grad(c)));
  });
}
void imag(GradContext& c) {
  c.give(0, [&] { return as_complex(c, zeros_like(grad(c)), grad(c)); });
}
void view_as_real(GradContext& c) {
  c.give(0, [&] { return grad(c).then("aten::contiguous").then("aten::view_as_complex"); });
}
void view_as_complex(GradContext& c) {
  c.give(0, [&] { return grad(c).then("aten::resolve_conj").then("aten::view_as_real"); });
}
void complex_formula(GradContext& c) {
  c.give(0, [&] { return grad(c).then("aten::real"); });
  c.give(1, [&] { return grad(c).then("aten::imag"); });
}
// r e^(i a): along the direction for r, across it for a.
void polar(GradContext& c) {
  const auto across = [&] {
    const Term y = result(c);
    return (grad(c).conj() * y * Scalar(complex128(0, 1))).then("aten::real");
  };
  c.give(0, [&] { return (grad(c).conj() * sgn(result(c))).then("aten::real"); });
  c.give(1, across);
}

constexpr auto kNone = DerivativeKind::kNone;

constexpr DerivativeRow kRows[] = {
    {"tierup::autocast", &same},
    {"aten::to.device", &same},
    {"aten::to.dtype", &same},
    {"aten::to.other", &same},
    {"aten::to.dtype_layout", &same},
    {"aten::to.prim_Device", &same},
    {"aten::to.prim_dtype", &same},
    {"aten::to.prim_other", &same},
    {"aten::_to_copy", &same},
    {"aten::cpu", &same},
    {"aten::as_tensor", &same},
    {"aten::pin_memory", &same},
    {"aten::_cast_Double", &same},
    {"aten::_cast_Float", &same},
    {"aten::_cast_Half", &same},
    {"aten::type_as", &same},
    {"aten::contiguous", &same},
    {"aten::clone", &same},
    {"aten::lift_fresh", &same},
    {"aten::lift_fresh_copy", &same},
    {"aten::_autocast_to_full_precision", &same},
    {"aten::_autocast_to_reduced_precision", &same},
    {"aten::fill.Scalar", &zero},
    {"aten::fill.Tensor", &fill_tensor},
    {"aten::zero", &zero},
    {"aten::real", &real},
    {"aten::imag", &imag},
    {"aten::view_as_real", &view_as_real},
    {"aten::view_as_real_copy", &view_as_real},
    {"aten::view_as_complex", &view_as_complex},
    {"aten::view_as_complex_copy", &view_as_complex},
    {"aten::complex", &complex_formula},
    {"aten::polar", &polar},
    {"aten::isreal", kNone},
    {"aten::item", kNone},
    {"aten::_local_scalar_dense", kNone},
};

}  // namespace

std::span<const DerivativeRow> conversions_derivatives() { return kRows; }

}  // namespace tierup::ops::derivatives
