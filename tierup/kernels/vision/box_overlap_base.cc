// Overlaps of boxes without vector extensions beyond the platform's own, and the choice of a
// variant.
#include "tierup/kernels/simd/instruction_set.h"
#include "tierup/kernels/vision/box_overlap_body.h"

namespace tierup::kernels {

template <typename T>
BoxRows<T>::BoxRows(const T* box, const std::vector<int64_t>& order)
    : count(static_cast<int64_t>(order.size())) {
  constexpr int64_t kMostLanes = 16;  // Of a vector of any instruction set.
  width = count + kMostLanes;
  numbers.resize(static_cast<size_t>(5 * width));
  for (int64_t i = 0; i < count; ++i) {
    const T* const from = box + 4 * order[static_cast<size_t>(i)];
    T* const to = numbers.data() + i;
    for (int64_t number = 0; number < 4; ++number) to[number * width] = from[number];
    to[4 * width] = (from[2] - from[0]) * (from[3] - from[1]);
  }
}
template struct BoxRows<float>;
template struct BoxRows<double>;

BoxOverlaps box_overlaps_base() { return kBoxOverlaps; }

BoxOverlaps box_overlaps() {
  return TIERUP_VARIANT(instruction_set(), box_overlaps_base, box_overlaps_avx2,
                        box_overlaps_avx512)();
}

}  // namespace tierup::kernels
