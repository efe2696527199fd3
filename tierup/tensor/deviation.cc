#include "tierup/tensor/deviation.h"

#include <array>

namespace tierup {
namespace {

constexpr size_t kLanes = 8;
// Few enough that numbers looked at twice are still in the cache.
constexpr size_t kPiece = 512;

// Of numbers whose distances are all finite; false where one is not. Lanes side by side, so that
// the compiler needs no order among them.
bool note_finite(const float* found, const float* expected, size_t count, Deviation& deviation) {
  std::array<float, kLanes> most{};
  std::array<float, kLanes> largest{};
  std::array<float, kLanes>
      odd{};  // A product of zero and what is no number, or infinite, is none.
  for (size_t i = 0; i < count; i += kLanes) {
    for (size_t k = 0; k < kLanes; ++k) {
      const float distance = std::abs(found[i + k] - expected[i + k]);
      const float size = std::abs(expected[i + k]);
      most[k] = distance > most[k] ? distance : most[k];
      largest[k] = size > largest[k] ? size : largest[k];
      odd[k] += 0 * distance;
    }
  }
  for (size_t k = 0; k < kLanes; ++k) {
    if (odd[k] != 0) return false;
  }
  for (size_t k = 0; k < kLanes; ++k) deviation.note(Deviation{most[k], largest[k]});
  return true;
}

}  // namespace

void Deviation::note_all(std::span<const float> found, std::span<const float> expected) {
  for (size_t begin = 0; begin < found.size();) {
    const size_t left = found.size() - begin;
    const size_t whole = std::min(left, kPiece) / kLanes * kLanes;
    const size_t count = whole > 0 ? whole : left;
    const float* ours = found.data() + begin;
    const float* theirs = expected.data() + begin;
    begin += count;
    if (whole > 0 && note_finite(ours, theirs, count, *this)) continue;
    for (size_t i = 0; i < count; ++i)
      note(static_cast<double>(ours[i]), static_cast<double>(theirs[i]));
  }
}

}  // namespace tierup
