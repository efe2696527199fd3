#include "tierup/kernels/generator.h"

namespace tierup::kernels {
namespace {

constexpr size_t kWords = 624;
constexpr size_t kShift = 397;
constexpr uint32_t kMatrix = 0x9908b0df;
constexpr uint32_t kUpper = 0x80000000;
constexpr uint32_t kLower = 0x7fffffff;

uint32_t twist(uint32_t high, uint32_t low) {
  const uint32_t mixed = (high & kUpper) | (low & kLower);
  return (mixed >> 1) ^ ((low & 1U) != 0 ? kMatrix : 0U);
}

}  // namespace

Generator::Generator(uint64_t seed) { set_seed(seed); }

void Generator::set_seed(uint64_t seed) {
  seed_ = seed;
  state_[0] = static_cast<uint32_t>(seed);
  for (size_t i = 1; i < kWords; ++i) {
    const uint32_t last = state_[i - 1];
    state_[i] = 1812433253U * (last ^ (last >> 30)) + static_cast<uint32_t>(i);
  }
  left_ = 1;
  next_ = 0;
  cached_normal.reset();
  cached_normal_float.reset();
}

void Generator::refill() {
  size_t i = 0;
  for (; i < kWords - kShift; ++i) {
    state_[i] = state_[i + kShift] ^ twist(state_[i], state_[i + 1]);
  }
  for (; i < kWords - 1; ++i) {
    state_[i] = state_[i + kShift - kWords] ^ twist(state_[i], state_[i + 1]);
  }
  state_[i] = state_[kShift - 1] ^ twist(state_[i], state_[0]);
  left_ = kWords;
  next_ = 0;
}

}  // namespace tierup::kernels
