#include "tierup/kernels/loss/class_loss_backward.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "tierup/kernels/memory/floating_work.h"

namespace tierup::kernels {
namespace {

constexpr auto kBad = ErrorCode::kInvalidArgument;

bool same_sizes(IntSpan a, IntSpan b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }

// The gradient of each of `count` losses: one for all of them if they were reduced.
struct LossGradient {
  Tensor values;
  bool single = true;
  template <typename T>
  T of(int64_t i) const {
    return values.data<T>()[single ? 0 : i];
  }
};

LossGradient loss_gradient(const Tensor& grad, int64_t reduction, int64_t count, ScalarType work) {
  require(reduction >= 0 && reduction <= 2, kBad, "{} is not a valid value for reduction",
          reduction);
  const bool single = reduction != 0;
  require(grad.numel() == (single ? 1 : count), kBad,
          "expected a gradient of {} element(s) for this reduction, but got {}", single ? 1 : count,
          grad.numel());
  return {as_work(grad, work), single};
}

// [N, C] or [C] scores of the margin losses.
struct Rows {
  int64_t samples = 1;
  int64_t count = 1;
};

Rows rows_of(const Tensor& self) {
  if (self.dim() == 0) return {};
  require(self.dim() <= 2 && self.size(-1) > 0, kBad,
          "Expected non-empty vector or matrix with optional 0-dim batch size, but got: {}",
          shape_string(self.sizes()));
  return {self.dim() == 2 ? self.size(0) : 1, self.size(-1)};
}

}  // namespace

Tensor nll_loss_backward(const Tensor& grad, const Tensor& self, const Tensor& target,
                         const Tensor& weight, int64_t reduction, int64_t ignore_index,
                         const Tensor& total_weight) {
  require(self.dim() >= 1, kBad, "input tensor should be 1D or more");
  const bool batched = self.dim() > 1;
  const int64_t samples = batched ? self.size(0) : 1;
  const int64_t classes = self.size(batched ? 1 : 0);
  const int64_t points = batched ? numel_of(self.sizes().subspan(2)) : 1;
  require(target.numel() == samples * points, kBad,
          "Expected a target for each of {} places, got {}", samples * points,
          shape_string(target.sizes()));
  require(!weight.defined() || weight.numel() == classes, kBad,
          "weight tensor should be defined either for all or no classes");
  require(total_weight.numel() == 1, kBad,
          "expected total_weight to be a single element tensor, but got {}",
          shape_string(total_weight.sizes()));
  const ScalarType work = work_type(self.dtype());
  const LossGradient g = loss_gradient(grad, reduction, target.numel(), work);
  const Tensor weights = as_work(weight, work);
  const Tensor index = contiguous(to_dtype(target, ScalarType::kLong));
  const Tensor divisor = as_work(total_weight, work);
  const Tensor out = Tensor::empty(self.sizes(), work);
  fill(out, 0);
  dispatch_work(work, "nll_loss_backward", [&]<typename Tag>(Tag) {
    using T = typename Tag::type;
    const T total = reduction == 1 ? *divisor.data<T>() : T{1};
    for (int64_t i = 0; i < samples * points; ++i) {
      const int64_t cls = index.data<int64_t>()[i];
      if (cls == ignore_index) continue;
      require(cls >= 0 && cls < classes, ErrorCode::kOutOfRange, "Target {} is out of bounds.",
              cls);
      const T w = weights.defined() ? weights.data<T>()[cls] : T{1};
      out.data<T>()[(i / points * classes + cls) * points + i % points] = -w * g.of<T>(i) / total;
    }
  });
  return to_dtype(out, self.dtype());
}

Tensor multi_margin_loss_backward(const Tensor& grad, const Tensor& self, const Tensor& target,
                                  const Scalar& p, const Scalar& margin, const Tensor& weight,
                                  int64_t reduction) {
  const Rows rows = rows_of(self);
  const int64_t power = p.to_int();
  require(power == 1 || power == 2, kBad, "only p == 1 and p == 2 supported");
  require(target.numel() == rows.samples, kBad, "inconsistent target size, expected {} but got {}",
          rows.samples, shape_string(target.sizes()));
  require(!weight.defined() || weight.numel() == rows.count, kBad,
          "inconsistent weight size, expected {} but got {}", rows.count,
          weight.defined() ? shape_string(weight.sizes()) : "");
  const ScalarType work = work_type(self.dtype());
  const LossGradient g = loss_gradient(grad, reduction, rows.samples, work);
  const Tensor x = as_work(self, work);
  const Tensor index = contiguous(to_dtype(target, ScalarType::kLong));
  const Tensor weights = as_work(weight, work);
  const Tensor out = Tensor::empty(self.sizes(), work);
  const double norm = 1.0 / static_cast<double>(rows.count) /
                      (reduction == 1 ? static_cast<double>(rows.samples) : 1.0);
  dispatch_work(work, "multi_margin_loss_backward", [&]<typename Tag>(Tag) {
    using T = typename Tag::type;
    for (int64_t i = 0; i < rows.samples; ++i) {
      const T* row = x.data<T>() + i * rows.count;
      T* to = out.data<T>() + i * rows.count;
      const int64_t cls = index.data<int64_t>()[i];
      require(cls >= 0 && cls < rows.count, ErrorCode::kOutOfRange, "target out of range");
      T factor = static_cast<T>(norm) * g.of<T>(i);
      if (weights.defined()) factor *= weights.data<T>()[cls];
      T of_target = 0;
      for (int64_t j = 0; j < rows.count; ++j) {
        const T z = static_cast<T>(margin.to_double()) - row[cls] + row[j];
        to[j] = j == cls || !(z > 0) ? T{0} : power == 1 ? factor : 2 * factor * z;
        of_target -= to[j];
      }
      to[cls] = of_target;
    }
  });
  return to_dtype(out, self.dtype());
}

Tensor multilabel_margin_loss_backward(const Tensor& grad, const Tensor& self, const Tensor& target,
                                       int64_t reduction, const Tensor& is_target) {
  const Rows rows = rows_of(self);
  require(same_sizes(self.sizes(), target.sizes()) && same_sizes(self.sizes(), is_target.sizes()),
          kBad, "inconsistent target size: {} for input of size: {}", shape_string(target.sizes()),
          shape_string(self.sizes()));
  const ScalarType work = work_type(self.dtype());
  const LossGradient g = loss_gradient(grad, reduction, rows.samples, work);
  const Tensor x = as_work(self, work);
  const Tensor index = contiguous(to_dtype(target, ScalarType::kLong));
  const Tensor marks = as_work(is_target, work);
  const Tensor out = Tensor::empty(self.sizes(), work);
  fill(out, 0);
  const double norm = 1.0 / static_cast<double>(rows.count) /
                      (reduction == 1 ? static_cast<double>(rows.samples) : 1.0);
  dispatch_work(work, "multilabel_margin_loss_backward", [&]<typename Tag>(Tag) {
    using T = typename Tag::type;
    for (int64_t i = 0; i < rows.samples; ++i) {
      const int64_t base = i * rows.count;
      const T* row = x.data<T>() + base;
      const T factor = static_cast<T>(norm) * g.of<T>(i);
      for (int64_t t = 0; t < rows.count && index.data<int64_t>()[base + t] >= 0; ++t) {
        const int64_t cls = index.data<int64_t>()[base + t];
        require(cls < rows.count, ErrorCode::kOutOfRange, "target out of range");
        for (int64_t j = 0; j < rows.count; ++j) {
          if (marks.data<T>()[base + j] != T{0} || !(1 - row[cls] + row[j] > 0)) continue;
          out.data<T>()[base + j] += factor;
          out.data<T>()[base + cls] -= factor;
        }
      }
    }
  });
  return to_dtype(out, self.dtype());
}

}  // namespace tierup::kernels
