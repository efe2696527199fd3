// Generator: PyTorch's CPU random stream (MT19937), seedable, one per module or run.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "tierup/base/ref.h"

namespace tierup::kernels {

// Thread rule: lock() while drawing; a kernel draws all it needs under one lock.
class Generator final : public RefCounted {
 public:
  explicit Generator(uint64_t seed = 67280421310721ULL);  // PyTorch's default seed.
  void set_seed(uint64_t seed);
  uint64_t seed() const { return seed_; }
  std::unique_lock<std::mutex> lock() { return std::unique_lock<std::mutex>(mutex_); }

  uint32_t next32() {
    if (--left_ == 0) refill();
    uint32_t word = words_[next_++];
    word ^= word >> 11;
    word ^= (word << 7) & 0x9d2c5680U;
    word ^= (word << 15) & 0xefc60000U;
    return word ^ (word >> 18);
  }
  // High word drawn first, as PyTorch's random64.
  uint64_t next64() {
    const uint64_t high = next32();
    return (high << 32) | next32();
  }
  // Where the stream stands, as torch.get_rng_state() gives it: 5056 bytes. A generator that is set
  // to it goes on with the same numbers.
  std::string state() const;
  // Throws kInvalidArgument for bytes that are no such state.
  void set_state(std::string_view bytes);

  // A normal double left over from the last Box-Muller pair (PyTorch keeps one of each).
  std::optional<double> cached_normal;
  std::optional<float> cached_normal_float;

 private:
  static constexpr size_t kWords = 624;
  using Words = std::array<uint32_t, kWords>;

  // Those at hand, or what the seed spreads to.
  Words words() const;
  void refill();

  uint64_t seed_ = 0;
  size_t left_ = 1;
  size_t next_ = 0;
  bool has_words_ = false;  // A seed is spread with the first draw: most runs draw nothing.
  Words words_;
  std::mutex mutex_;
};

}  // namespace tierup::kernels
