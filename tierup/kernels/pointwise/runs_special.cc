// Runs of bodies that are computed one element at a time in double precision.
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "tierup/kernels/pointwise/python_division.h"
#include "tierup/kernels/pointwise/scalar_run.h"
#include "tierup/kernels/pointwise/special_functions.h"
#include "tierup/kernels/simd/scalar_lane.h"

namespace tierup::kernels {
namespace bodies {
namespace {

// A body from a function of doubles; for float it is evaluated in double and rounded once.
template <auto Function>
struct Lift;
template <typename... A, double (*Function)(A...)>
struct Lift<Function> {
  static constexpr size_t kArity = sizeof...(A);
  template <typename... T>
  static double apply(T... x) {
    return Function(static_cast<double>(x)...);
  }
};

#define TIERUP_REAL_BODY(name, expression) \
  struct Real##name {                      \
    static constexpr size_t kArity = 2;    \
    template <typename T>                  \
    static T apply(T a, T b) {             \
      return expression;                   \
    }                                      \
  }
TIERUP_REAL_BODY(DivFloor, floor_quotient(a, b));
TIERUP_REAL_BODY(Remainder, floor_remainder(a, b));
TIERUP_REAL_BODY(Fmod, std::fmod(a, b));

}  // namespace
}  // namespace bodies

namespace {

template <typename T>
void where_run(char* out, const char* const* in, int64_t count) {
  const bool* condition = reinterpret_cast<const bool*>(in[0]);
  const T* yes = reinterpret_cast<const T*>(in[1]);
  const T* no = reinterpret_cast<const T*>(in[2]);
  for (int64_t i = 0; i < count; ++i) reinterpret_cast<T*>(out)[i] = condition[i] ? yes[i] : no[i];
}

template <typename... T>
void set_where(RunTable& table) {
  const auto set = [&]<typename U>(TypeTag<U>) {
    Variant variant{&where_run<U>, nullptr, 3, kDTypeOf<U>, {}};
    variant.in.fill(kDTypeOf<U>);
    variant.in[0] = ScalarType::kBool;
    table.set(Body::kWhere, kDTypeOf<U>, variant);
  };
  (set(TypeTag<T>{}), ...);
}

template <auto Function>
void set_lifted(RunTable& table, Body body) {
  set_scalar<bodies::Lift<Function>, float, double>(table, body);
}

}  // namespace

void add_special_runs(RunTable& table) {
  set_where<bool, uint8_t, int8_t, int16_t, int32_t, int64_t, float, double, complex64, complex128>(
      table);
  set_scalar<bodies::RealDivFloor, float, double>(table, Body::kDivFloor);
  set_scalar<bodies::RealRemainder, float, double>(table, Body::kRemainder);
  set_scalar<bodies::RealFmod, float, double>(table, Body::kFmod);
  set_scalar<bodies::Lift<&special::ndtri>, double>(table, Body::kNdtri);
  set_lifted<&special::zeta>(table, Body::kZeta);
  set_lifted<&special::shifted_chebyshev_t>(table, Body::kShiftedChebyshevT);
  set_lifted<&special::shifted_chebyshev_u>(table, Body::kShiftedChebyshevU);
  set_lifted<&special::shifted_chebyshev_v>(table, Body::kShiftedChebyshevV);
  set_lifted<&special::shifted_chebyshev_w>(table, Body::kShiftedChebyshevW);
}

}  // namespace tierup::kernels
