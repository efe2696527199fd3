// The code of box_overlap.h; each including file is compiled for one instruction set.
#pragma once

#include "tierup/kernels/simd/vectors_body.h"
#include "tierup/kernels/vision/box_overlap.h"

namespace tierup::kernels {
namespace {

// As std::min and std::max choose: the first of two that do not compare.
template <typename Vector>
Vector lesser(Vector a, Vector b) {
  return b < a ? b : a;
}
template <typename Vector>
Vector greater(Vector a, Vector b) {
  return a < b ? b : a;
}

template <typename T>
void mark_overlapping(const BoxRows<T>& boxes, int64_t i, T threshold, T* marks) {
  using Vector = typename VectorOf<T>::Type;
  constexpr int64_t kLanes = kVectorBytes / static_cast<int64_t>(sizeof(T));
  const Vector zero{};
  const auto own = [&](int64_t number) { return boxes.row(number)[i] - zero; };
  const Vector x0 = own(0);
  const Vector y0 = own(1);
  const Vector x1 = own(2);
  const Vector y1 = own(3);
  const Vector area = own(4);
  for (int64_t j = i + 1; j < boxes.count; j += kLanes) {
    const auto others = [&](int64_t number) {
      Vector values;
      std::memcpy(&values, boxes.row(number) + j, sizeof(values));
      return values;
    };
    const Vector w = greater(zero, lesser(x1, others(2)) - greater(x0, others(0)));
    const Vector h = greater(zero, lesser(y1, others(3)) - greater(y0, others(1)));
    const Vector overlap = w * h;
    Vector mark;
    std::memcpy(&mark, marks + j, sizeof(mark));
    mark = overlap / (area + others(4) - overlap) > threshold - zero ? zero + T{1} : mark;
    std::memcpy(marks + j, &mark, sizeof(mark));
  }
}

constexpr BoxOverlaps kBoxOverlaps{&mark_overlapping<float>, &mark_overlapping<double>};

}  // namespace
}  // namespace tierup::kernels
