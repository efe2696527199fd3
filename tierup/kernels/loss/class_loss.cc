#include "tierup/kernels/loss/class_loss.h"

#include <algorithm>
#include <cmath>

#include "tierup/base/parallel.h"
#include "tierup/kernels/loss/pointwise_loss.h"
#include "tierup/kernels/memory/floating_work.h"
#include "tierup/kernels/memory/same_dtype.h"
#include "tierup/kernels/memory/strided_loop.h"
#include "tierup/kernels/memory/type_promotion.h"
#include "tierup/kernels/norm/softmax.h"
#include "tierup/kernels/shape/view.h"

namespace tierup::kernels {
namespace {

constexpr auto kBad = ErrorCode::kInvalidArgument;

// Scores [N, C, points] with a target for each sample and point.
struct Classes {
  int64_t samples = 1;
  int64_t count = 1;
  int64_t points = 1;
  IntVector target_sizes;
};

Classes classes_of(const Tensor& self, const Tensor& target, const Tensor& weight) {
  require(self.dim() >= 1, kBad, "input tensor should be 1D or more");
  Classes c;
  if (self.dim() == 1) {
    c.count = self.size(0);
    if (!(target.dim() <= 1 && target.numel() == 1)) {
      fail(kBad,
           "For 1D input, 1D or 0D target of one element is expected, but got target size: {}",
           shape_string(target.sizes()));
    }
    c.target_sizes = IntVector(target.sizes().begin(), target.sizes().end());
  } else {
    c.samples = self.size(0);
    c.count = self.size(1);
    c.points = numel_of(self.sizes().subspan(2));
    c.target_sizes = IntVector(self.sizes().begin(), self.sizes().end());
    c.target_sizes.erase(c.target_sizes.begin() + 1);
    const IntSpan wanted(c.target_sizes.data(), c.target_sizes.size());
    if (!(std::equal(wanted.begin(), wanted.end(), target.sizes().begin(), target.sizes().end()))) {
      fail(kBad, "Expected target size {}, got {}", shape_string(wanted),
           shape_string(target.sizes()));
    }
  }
  require(target.dtype() == ScalarType::kLong || target.dtype() == ScalarType::kByte, kBad,
          "expected scalar type Long but found {}", scalar_type_name(target.dtype()));
  if (!(!weight.defined() || (weight.dim() == 1 && weight.numel() == c.count))) {
    fail(kBad,
         "weight tensor should be defined either for all {} classes or no classes but got weight "
         "tensor of shape: {}",
         c.count, weight.defined() ? shape_string(weight.sizes()) : "");
  }
  return c;
}

// Calls body(flat target index, offset of class 0, class) for what is not ignored.
template <typename Body>
void for_each_target(const Classes& c, const int64_t* target, int64_t ignore_index,
                     const Body& body) {
  for (int64_t sample = 0, i = 0; sample < c.samples; ++sample) {
    const int64_t first = sample * c.count * c.points;
    for (int64_t point = 0; point < c.points; ++point, ++i) {
      const int64_t cls = target[i];
      if (cls == ignore_index) continue;
      require(cls >= 0 && cls < c.count, ErrorCode::kOutOfRange, "Target {} is out of bounds.",
              cls);
      body(i, first + point, cls);
    }
  }
}

struct NllResult {
  Tensor losses;  // One for each target, 0 where ignored; of the work type.
  double total = 0;
  double total_weight = 0;
};

NllResult run_nll(const Tensor& self, const Tensor& target, const Tensor& weight,
                  int64_t ignore_index) {
  const Classes c = classes_of(self, target, weight);
  const ScalarType work = work_type(self.dtype());
  const Tensor scores = as_work(self, work);
  const Tensor weights = as_work(weight, work);
  const Tensor index = contiguous(to_dtype(target, ScalarType::kLong));
  NllResult result;
  result.losses = Tensor::empty(c.target_sizes, work);
  fill(result.losses, 0);
  dispatch_work(work, "nll_loss_out_frame", [&]<typename Tag>(Tag) {
    using T = typename Tag::type;
    const T* const score = scores.data<T>();
    const T* const weight_of = weights.defined() ? weights.data<T>() : nullptr;
    T* const losses = result.losses.data<T>();
    double total = 0;
    double total_weight = 0;
    for_each_target(c, index.data<int64_t>(), ignore_index,
                    [&](int64_t i, int64_t offset, int64_t cls) {
                      const T w = weight_of != nullptr ? weight_of[cls] : T{1};
                      const T loss = -score[offset + cls * c.points] * w;
                      losses[i] = loss;
                      total += static_cast<double>(loss);
                      total_weight += static_cast<double>(w);
                    });
    result.total = total;
    result.total_weight = total_weight;
  });
  return result;
}

Tensor number(double value, ScalarType dtype) { return Tensor::scalar(value, dtype); }

// -sum over classes of log-probability * weight for each target: what label smoothing mixes in.
struct Smooth {
  Tensor losses;
  double total = 0;
};

Smooth smooth_losses(const Classes& c, const Tensor& log_probabilities, const Tensor& target,
                     const Tensor& weight, int64_t ignore_index) {
  const ScalarType work = log_probabilities.dtype();
  const Tensor index = contiguous(to_dtype(target, ScalarType::kLong));
  const Tensor weights = as_work(weight, work);
  Smooth smooth{Tensor::empty(c.target_sizes, work), 0};
  fill(smooth.losses, 0);
  dispatch_work(work, "cross_entropy_loss", [&]<typename Tag>(Tag) {
    using T = typename Tag::type;
    for_each_target(
        c, index.data<int64_t>(), ignore_index, [&](int64_t i, int64_t offset, int64_t) {
          double sum = 0;
          for (int64_t cls = 0; cls < c.count; ++cls) {
            const T w = weights.defined() ? weights.data<T>()[cls] : T{1};
            sum -= static_cast<double>(log_probabilities.data<T>()[offset + cls * c.points] * w);
          }
          smooth.losses.data<T>()[i] = static_cast<T>(sum);
          smooth.total += sum;
        });
  });
  return smooth;
}

Tensor mix(const Tensor& a, double scale_a, const Tensor& b, double scale_b) {
  const Tensor out = Tensor::empty(a.sizes(), a.dtype());
  dispatch_work(a.dtype(), "cross_entropy_loss", [&]<typename Tag>(Tag) {
    using T = typename Tag::type;
    const T x = static_cast<T>(scale_a);
    const T y = static_cast<T>(scale_b);
    map_elements<T, T, T>(
        out, [=](T u, T v) { return u * x + v * y; }, a, b);
  });
  return out;
}

Tensor cross_entropy_of_classes(const Tensor& log_probabilities, const Tensor& target,
                                const Tensor& weight, int64_t reduction, int64_t ignore_index,
                                double smoothing) {
  const NllResult nll = run_nll(log_probabilities, target, weight, ignore_index);
  const ScalarType work = log_probabilities.dtype();
  const double divisor = reduction == 1 ? nll.total_weight : 1;
  if (smoothing == 0) return reduction == 0 ? nll.losses : number(nll.total / divisor, work);
  const Classes c = classes_of(log_probabilities, target, weight);
  const Smooth smooth = smooth_losses(c, log_probabilities, target, weight, ignore_index);
  const double share = smoothing / static_cast<double>(c.count);
  if (reduction == 0) return mix(nll.losses, 1 - smoothing, smooth.losses, share);
  return number(((1 - smoothing) * nll.total + share * smooth.total) / divisor, work);
}

Tensor cross_entropy_of_probabilities(const Tensor& log_probabilities, const Tensor& target,
                                      const Tensor& weight, int64_t reduction, double smoothing) {
  const ScalarType work = log_probabilities.dtype();
  const bool single = log_probabilities.dim() == 1;
  const int64_t samples = single ? 1 : log_probabilities.size(0);
  const int64_t count = log_probabilities.size(single ? 0 : 1);
  const int64_t points = single ? 1 : numel_of(log_probabilities.sizes().subspan(2));
  require(!weight.defined() || (weight.dim() == 1 && weight.numel() == count), kBad,
          "cross_entropy: weight tensor should be defined either for all {} classes or no classes",
          count);
  const Tensor shares = as_work(target, work);
  const Tensor weights = as_work(weight, work);
  IntVector sizes(log_probabilities.sizes().begin(), log_probabilities.sizes().end());
  sizes.erase(sizes.begin() + (single ? 0 : 1));
  const Tensor losses = Tensor::empty(sizes, work);
  dispatch_work(work, "cross_entropy_loss", [&]<typename Tag>(Tag) {
    using T = typename Tag::type;
    const auto loss_of = [&](int64_t i) {
      const int64_t offset = i / points * count * points + i % points;
      double sum = 0;
      for (int64_t cls = 0; cls < count; ++cls) {
        const int64_t at = offset + cls * points;
        double share = static_cast<double>(shares.data<T>()[at]);
        if (smoothing > 0) share = share * (1 - smoothing) + smoothing / static_cast<double>(count);
        if (weights.defined()) share *= static_cast<double>(weights.data<T>()[cls]);
        sum -= static_cast<double>(log_probabilities.data<T>()[at]) * share;
      }
      return static_cast<T>(sum);
    };
    parallel_for(0, samples * points, grain_of(count), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) losses.data<T>()[i] = loss_of(i);
    });
  });
  return reduce_loss(losses, reduction);
}

// [N, C], [C] or [] with targets, for the margin losses.
struct MarginShape {
  int64_t samples = 1;
  int64_t count = 1;
};

// The targets of a margin loss, which are int64 alone.
Tensor class_numbers(const Tensor& target) {
  require(target.dtype() == ScalarType::kLong || target.numel() == 0, kBad,
          "expected scalar type Long but found {}", scalar_type_name(target.dtype()));
  return contiguous(to_dtype(target, ScalarType::kLong));
}

MarginShape margin_shape(const Tensor& self) {
  if (self.dim() == 0) return {};
  if (!((self.dim() == 1 || self.dim() == 2) && self.size(-1) > 0)) {
    fail(kBad, "Expected non-empty vector or matrix with optional 0-dim batch size, but got: {}",
         shape_string(self.sizes()));
  }
  return {self.dim() == 2 ? self.size(0) : 1, self.size(-1)};
}

}  // namespace

std::tuple<Tensor, Tensor> nll_loss_forward(const Tensor& self, const Tensor& target,
                                            const Tensor& weight, int64_t reduction,
                                            int64_t ignore_index) {
  require_dtype_of(self, {&weight}, "nll_loss");
  const NllResult result = run_nll(self, target, weight, ignore_index);
  // Without reduction PyTorch counts no weights, but for a single sample.
  const bool elements = reduction == 0 && self.dim() > 1;
  const Tensor total_weight = number(elements ? 0 : result.total_weight, self.dtype());
  if (reduction == 0) return {to_dtype(result.losses, self.dtype()), total_weight};
  const double total = reduction == 1 ? result.total / result.total_weight : result.total;
  return {number(total, self.dtype()), total_weight};
}

Tensor nll_loss(const Tensor& self, const Tensor& target, const Tensor& weight, int64_t reduction,
                int64_t ignore_index) {
  return std::get<0>(nll_loss_forward(self, target, weight, reduction, ignore_index));
}

Tensor cross_entropy_loss(const Tensor& self, const Tensor& target, const Tensor& weight,
                          int64_t reduction, int64_t ignore_index, double label_smoothing) {
  require(label_smoothing >= 0 && label_smoothing <= 1, kBad,
          "label_smoothing must be between 0.0 and 1.0. Got: {}", label_smoothing);
  require(reduction >= 0 && reduction <= 2, kBad, "{} is not a valid value for reduction",
          reduction);
  const int64_t class_dim = self.dim() == 1 ? 0 : 1;
  const bool probabilities =
      is_floating(target.dtype()) && shape_string(self.sizes()) == shape_string(target.sizes());
  if (!probabilities) require_dtype_of(self, {&weight}, "cross_entropy_loss");
  const ScalarType result = probabilities ? result_type(self, target) : self.dtype();
  const Tensor log_probabilities =
      to_dtype(log_softmax(self, class_dim, work_type(self.dtype())), work_type(result));
  const Tensor loss = probabilities
                          ? cross_entropy_of_probabilities(log_probabilities, target, weight,
                                                           reduction, label_smoothing)
                          : cross_entropy_of_classes(log_probabilities, target, weight, reduction,
                                                     ignore_index, label_smoothing);
  return to_dtype(loss, result);
}

Tensor multi_margin_loss(const Tensor& self, const Tensor& target, const Scalar& p,
                         const Scalar& margin, const Tensor& weight, int64_t reduction) {
  const MarginShape s = margin_shape(self);
  const int64_t power = p.to_int();
  require(power == 1 || power == 2, kBad, "only p == 1 and p == 2 supported");
  if (!(target.numel() == s.samples && target.dim() <= 1)) {
    fail(kBad, "inconsistent target size, expected {} but got {}", s.samples,
         shape_string(target.sizes()));
  }
  if (!(!weight.defined() || (weight.dim() <= 1 && weight.numel() == s.count))) {
    fail(kBad, "inconsistent weight size, expected {} but got {}", s.count,
         weight.defined() ? shape_string(weight.sizes()) : "");
  }
  require_dtype_of(self, {&weight}, "multi_margin_loss");
  const ScalarType work = work_type(self.dtype());
  const Tensor x = as_work(self, work);
  const Tensor index = class_numbers(target);
  const Tensor weights = as_work(weight, work);
  const Tensor losses = Tensor::empty(target.dim() == 0 ? IntVector{} : IntVector{s.samples}, work);
  dispatch_work(work, "multi_margin_loss", [&]<typename Tag>(Tag) {
    using T = typename Tag::type;
    for (int64_t i = 0; i < s.samples; ++i) {
      const T* row = x.data<T>() + i * s.count;
      const int64_t cls = index.data<int64_t>()[i];
      require(cls >= 0 && cls < s.count, ErrorCode::kOutOfRange, "target out of range");
      double sum = 0;
      for (int64_t j = 0; j < s.count; ++j) {
        const double z =
            margin.to_double() - static_cast<double>(row[cls]) + static_cast<double>(row[j]);
        if (j == cls || !(z > 0)) continue;  // No part of NaN, as in PyTorch.
        const double term = power == 1 ? z : z * z;
        sum += weights.defined() ? term * static_cast<double>(weights.data<T>()[cls]) : term;
      }
      losses.data<T>()[i] = static_cast<T>(sum / static_cast<double>(s.count));
    }
  });
  return to_dtype(reduce_loss(losses, reduction), self.dtype());
}

std::tuple<Tensor, Tensor> multilabel_margin_loss_forward(const Tensor& self, const Tensor& target,
                                                          int64_t reduction) {
  const MarginShape s = margin_shape(self);
  if (shape_string(self.sizes()) != shape_string(target.sizes())) {
    fail(kBad, "inconsistent target size: {} for input of size: {}", shape_string(target.sizes()),
         shape_string(self.sizes()));
  }
  const ScalarType work = work_type(self.dtype());
  const Tensor x = as_work(self, work);
  const Tensor index = class_numbers(target);
  const Tensor is_target = Tensor::empty(target.sizes(), work);
  fill(is_target, 0);
  const Tensor losses = Tensor::empty(self.dim() <= 1 ? IntVector{} : IntVector{s.samples}, work);
  dispatch_work(work, "multilabel_margin_loss", [&]<typename Tag>(Tag) {
    using T = typename Tag::type;
    for (int64_t i = 0; i < s.samples; ++i) {
      const T* row = x.data<T>() + i * s.count;
      const int64_t* classes = index.data<int64_t>() + i * s.count;
      T* marks = is_target.data<T>() + i * s.count;
      int64_t named = 0;
      for (; named < s.count && classes[named] >= 0; ++named) {
        require(classes[named] < s.count, ErrorCode::kOutOfRange, "target out of range");
        marks[classes[named]] = 1;
      }
      double sum = 0;
      for (int64_t t = 0; t < named; ++t) {
        for (int64_t j = 0; j < s.count; ++j) {
          const double z = 1 - static_cast<double>(row[classes[t]]) + static_cast<double>(row[j]);
          if (marks[j] == T{0} && z > 0) sum += z;
        }
      }
      losses.data<T>()[i] = static_cast<T>(sum / static_cast<double>(s.count));
    }
  });
  return {to_dtype(reduce_loss(losses, reduction), self.dtype()),
          to_dtype(is_target, self.dtype())};
}

Tensor multilabel_margin_loss(const Tensor& self, const Tensor& target, int64_t reduction) {
  return std::get<0>(multilabel_margin_loss_forward(self, target, reduction));
}

}  // namespace tierup::kernels
