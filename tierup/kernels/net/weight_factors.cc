#include "tierup/kernels/net/weight_factors.h"

#include "tierup/kernels/simd/instruction_set.h"

namespace tierup::kernels::net {

FactorLoops factor_loops() {
  return TIERUP_VARIANT(instruction_set(), factor_loops_base, factor_loops_avx2,
                        factor_loops_avx512)();
}

void multiply_weights(const float* from, float factor, int64_t count, float* to) {
  if (factor_loops().by_one(from, factor, count, to) != 0) throw LostWeight();
}

void multiply_panel(float* panel, int64_t rows, int64_t width, const float* factors,
                    int64_t count) {
  if (factor_loops().by_each(panel, rows, width, factors, count) != 0) throw LostWeight();
}

}  // namespace tierup::kernels::net
