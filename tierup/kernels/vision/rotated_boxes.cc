// Overlap of rotated boxes: one quadrangle is clipped by the four half-planes of the other.
#include <cmath>
#include <vector>

#include "tierup/kernels/memory/floating_work.h"
#include "tierup/kernels/vision/regions.h"

namespace tierup::kernels {
namespace {

struct Point {
  double x, y;
};
using Polygon = std::vector<Point>;

double cross(const Point& origin, const Point& a, const Point& b) {
  return (a.x - origin.x) * (b.y - origin.y) - (a.y - origin.y) * (b.x - origin.x);
}

// The corners, counter-clockwise.
Polygon corners(const double* box) {
  const double angle = box[4] * M_PI / 180;
  const double c = std::cos(angle) / 2;
  const double s = std::sin(angle) / 2;
  const double w = box[2];
  const double h = box[3];
  const auto corner = [&](double u, double v) {
    return Point{box[0] + u * c * w + v * s * h, box[1] - u * s * w + v * c * h};
  };
  return {corner(-1, -1), corner(1, -1), corner(1, 1), corner(-1, 1)};
}

// The part of a convex polygon to the left of the line from a to b.
Polygon clipped(const Polygon& polygon, const Point& a, const Point& b) {
  Polygon result;
  for (size_t i = 0; i < polygon.size(); ++i) {
    const Point& p = polygon[i];
    const Point& q = polygon[(i + 1) % polygon.size()];
    const double from = cross(a, b, p);
    const double to = cross(a, b, q);
    if (from >= 0) result.push_back(p);
    if ((from > 0 && to < 0) || (from < 0 && to > 0)) {
      const double part = from / (from - to);
      result.push_back({p.x + part * (q.x - p.x), p.y + part * (q.y - p.y)});
    }
  }
  return result;
}

double area(const Polygon& polygon) {
  double twice = 0;
  for (size_t i = 0; i < polygon.size(); ++i) {
    const Point& p = polygon[i];
    const Point& q = polygon[(i + 1) % polygon.size()];
    twice += p.x * q.y - p.y * q.x;
  }
  return std::abs(twice) / 2;
}

double overlap(const double* a, const double* b) {
  const double area_a = a[2] * a[3];
  const double area_b = b[2] * b[3];
  if (area_a < 1e-14 || area_b < 1e-14) return 0;
  Polygon common = corners(a);
  const Polygon window = corners(b);
  for (size_t i = 0; i < window.size() && !common.empty(); ++i) {
    common = clipped(common, window[i], window[(i + 1) % window.size()]);
  }
  const double shared = area(common);
  return shared / (area_a + area_b - shared);
}

}  // namespace

Tensor box_iou_rotated(const Tensor& boxes1, const Tensor& boxes2) {
  for (const Tensor* boxes : {&boxes1, &boxes2}) {
    if (!(boxes->dim() == 2 && boxes->size(1) == 5)) {
      fail(ErrorCode::kInvalidArgument, "box_iou_rotated: expected boxes of shape [N, 5], got {}",
           shape_string(boxes->sizes()));
    }
  }
  const Tensor a = as_work(boxes1, ScalarType::kDouble);
  const Tensor b = as_work(boxes2, ScalarType::kDouble);
  const Tensor out = Tensor::empty(IntVector{boxes1.size(0), boxes2.size(0)}, ScalarType::kDouble);
  for (int64_t i = 0; i < out.numel(); ++i) {
    out.data<double>()[i] = overlap(a.data<double>() + i / boxes2.size(0) * 5,
                                    b.data<double>() + i % boxes2.size(0) * 5);
  }
  return to_dtype(out,
                  boxes1.dtype() == ScalarType::kDouble ? ScalarType::kDouble : ScalarType::kFloat);
}

}  // namespace tierup::kernels
