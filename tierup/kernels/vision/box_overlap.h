// Which boxes overlap one, compiled for each instruction set.
#pragma once

#include <cstdint>
#include <vector>

namespace tierup::kernels {

// Boxes in an order, each of their numbers in a row of its own: x and y of one corner, of the
// other, and the area. Behind the last box there are empty ones for the last vector of any
// instruction set.
template <typename T>
struct BoxRows {
  // Box order[i] has its corners at box + 4 * order[i].
  BoxRows(const T* box, const std::vector<int64_t>& order);
  const T* row(int64_t number) const { return numbers.data() + number * width; }

  int64_t count;
  int64_t width;
  std::vector<T> numbers;
};

// Puts a one to each box behind box i whose intersection with it is more than `threshold` of their
// union, and leaves the others as they are; `marks` has boxes.width numbers, of which those behind
// the last box mean nothing.
struct BoxOverlaps {
  void (*of_floats)(const BoxRows<float>& boxes, int64_t i, float threshold, float* marks);
  void (*of_doubles)(const BoxRows<double>& boxes, int64_t i, double threshold, double* marks);

  void operator()(const BoxRows<float>& boxes, int64_t i, float threshold, float* marks) const {
    of_floats(boxes, i, threshold, marks);
  }
  void operator()(const BoxRows<double>& boxes, int64_t i, double threshold, double* marks) const {
    of_doubles(boxes, i, threshold, marks);
  }
};
BoxOverlaps box_overlaps_base();
BoxOverlaps box_overlaps_avx2();
BoxOverlaps box_overlaps_avx512();

// Those of this processor.
BoxOverlaps box_overlaps();

}  // namespace tierup::kernels
