#include "tierup/kernels/net/swish.h"

#include "tierup/base/parallel.h"
#include "tierup/kernels/simd/instruction_set.h"

namespace tierup::kernels::net {
namespace {

SwishFn swish() {
  return TIERUP_VARIANT(instruction_set(), swish_base, swish_avx2, swish_avx512)();
}

}  // namespace

void swish_in_place(float* x, int64_t count) {
  constexpr int64_t kGrain = 8192;
  const SwishFn run = swish();
  parallel_for(0, count, kGrain, [&](int64_t begin, int64_t end) { run(x + begin, end - begin); });
}

}  // namespace tierup::kernels::net
