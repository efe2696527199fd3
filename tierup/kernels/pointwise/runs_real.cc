// Runs over doubles that call the C library for each element: functions too rare for vector code.
#include "tierup/kernels/pointwise/scalar_bodies_math.h"
#include "tierup/kernels/pointwise/scalar_run.h"

namespace tierup::kernels {

void add_real_runs(RunTable& table) {
  set_scalar<bodies::Acosh, double>(table, Body::kAcosh);
  set_scalar<bodies::Erfc, double>(table, Body::kErfc);
  set_scalar<bodies::Pow, double>(table, Body::kPow);
}

}  // namespace tierup::kernels
