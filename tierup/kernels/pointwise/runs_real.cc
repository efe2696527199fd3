// Runs over doubles that call the C library for each element: functions too rare for vector code.
#include "tierup/kernels/pointwise/scalar_bodies_math.h"
#include "tierup/kernels/pointwise/scalar_run.h"

namespace tierup::kernels {

void add_real_runs(RunTable& table) {
  set_scalar<bodies::Tan, double>(table, Body::kTan);
  set_scalar<bodies::Asin, double>(table, Body::kAsin);
  set_scalar<bodies::Acos, double>(table, Body::kAcos);
  set_scalar<bodies::Atan, double>(table, Body::kAtan);
  set_scalar<bodies::Sinh, double>(table, Body::kSinh);
  set_scalar<bodies::Cosh, double>(table, Body::kCosh);
  set_scalar<bodies::Asinh, double>(table, Body::kAsinh);
  set_scalar<bodies::Acosh, double>(table, Body::kAcosh);
  set_scalar<bodies::Atanh, double>(table, Body::kAtanh);
  set_scalar<bodies::Atan2, double>(table, Body::kAtan2);
  set_scalar<bodies::Erfc, double>(table, Body::kErfc);
  set_scalar<bodies::Pow, double>(table, Body::kPow);
}

}  // namespace tierup::kernels
