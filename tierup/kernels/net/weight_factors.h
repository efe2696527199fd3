// Factors of output channels, which go into weights as these are packed.
//
// A weight that its factor takes below the smallest normal float, or beyond the largest one, is
// lost: at tier 0 the factor meets the sum behind it, of larger numbers. To look for such weights
// before layers are joined takes a pass over all of them, and packing is not much more than one:
// so layers are joined as if there were none, and packing tells (compile_net()).
#pragma once

#include <cstdint>
#include <exception>

namespace tierup::kernels::net {

// The net is to be compiled with the factors apart. No Error: it is nobody's fault.
class LostWeight final : public std::exception {
 public:
  const char* what() const noexcept override { return "a weight is lost by its channel's factor"; }
};

// to[i] = from[i] * factor. Throws LostWeight.
void multiply_weights(const float* from, float factor, int64_t count, float* to);
// So many rows of a packed panel, in which weights of `width` channels lie side by side: the
// weights of the first `count` times `factors`. Throws LostWeight.
void multiply_panel(float* panel, int64_t rows, int64_t width, const float* factors, int64_t count);

// The bodies, per instruction set: 0 if no number was lost.
struct FactorLoops {
  uint32_t (*by_one)(const float* from, float factor, int64_t count, float* to);
  // Of so many rows, `width` apart, the first `count` each.
  uint32_t (*by_each)(float* panel, int64_t rows, int64_t width, const float* factors,
                      int64_t count);
};
// Those of this processor.
FactorLoops factor_loops();
FactorLoops factor_loops_base();
FactorLoops factor_loops_avx2();
FactorLoops factor_loops_avx512();

}  // namespace tierup::kernels::net
