// x / (1 + exp(-x)) in place, over all threads: oneDNN's as a post-operation takes twice the time
// that this takes and the way through memory together.
#pragma once

#include <cstdint>

namespace tierup::kernels::net {

void swish_in_place(float* x, int64_t count);

// One thread's work, per instruction set.
using SwishFn = void (*)(float* x, int64_t count);
SwishFn swish_base();
SwishFn swish_avx2();
SwishFn swish_avx512();

}  // namespace tierup::kernels::net
