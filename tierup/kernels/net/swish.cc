#include "tierup/kernels/net/swish.h"

#include "tierup/base/parallel.h"
#include "tierup/kernels/instruction_set.h"

namespace tierup::kernels::net {
namespace {

SwishFn swish() {
  switch (instruction_set()) {
    case InstructionSet::kAvx512: return swish_avx512();
    case InstructionSet::kAvx2: return swish_avx2();
    case InstructionSet::kBase: break;
  }
  return swish_base();
}

}  // namespace

void swish_in_place(float* x, int64_t count) {
  constexpr int64_t kGrain = 8192;
  const SwishFn run = swish();
  parallel_for(0, count, kGrain, [&](int64_t begin, int64_t end) { run(x + begin, end - begin); });
}

}  // namespace tierup::kernels::net
