// The forward recursion in log space. States of a target of length S are 2 S + 1: its labels with
// blanks around them; a state is reached from itself, from the one before, and, if it is a label
// that differs from the last label, from the one before that.
#include "tierup/kernels/loss/ctc_loss.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/memory/floating_work.h"
#include "tierup/kernels/shape/view.h"

namespace tierup::kernels {
namespace {

constexpr auto kBad = ErrorCode::kInvalidArgument;

// Where each sequence's labels stand, all checked.
struct Batch {
  int64_t steps = 0;
  int64_t count = 0;
  int64_t classes = 0;
  int64_t longest = 0;  // Of the targets: what log_alpha has room for.
  std::vector<int64_t> labels;
  IntVector offsets;
};

IntVector lengths_of(const Tensor& tensor, std::string_view name) {
  require(is_integral(tensor.dtype(), false), kBad, "{} must be integral", name);
  const Tensor wide = contiguous(to_dtype(tensor, ScalarType::kLong));
  const int64_t* data = wide.data<int64_t>();
  return IntVector(data, data + wide.numel());
}

void place_targets(Batch& batch, const Tensor& targets, const IntVector& target_lengths) {
  const bool in_a_row = targets.dim() == 1;
  int64_t offset = 0;
  for (int64_t i = 0; i < batch.count; ++i) {
    const int64_t length = target_lengths[static_cast<size_t>(i)];
    require(length >= 0, kBad, "Expected target_lengths to have value at least 0, but got {}",
            length);
    require(in_a_row || length <= targets.size(1), kBad,
            "Expected tensor to have size at least {} at dimension 1, but got size {} for targets",
            length, in_a_row ? 0 : targets.size(1));
    batch.offsets.push_back(in_a_row ? offset : i * targets.size(1));
    offset += length;
    batch.longest = std::max(batch.longest, length);
  }
  require(!in_a_row || offset == targets.size(0), kBad,
          "Expected target_lengths to add up to the number of targets {}, but got {}",
          in_a_row ? targets.size(0) : 0, offset);
  const Tensor wide = contiguous(to_dtype(targets, ScalarType::kLong));
  batch.labels.assign(wide.data<int64_t>(), wide.data<int64_t>() + wide.numel());
  for (int64_t i = 0; i < batch.count; ++i) {
    const int64_t first = batch.offsets[static_cast<size_t>(i)];
    for (int64_t s = 0; s < target_lengths[static_cast<size_t>(i)]; ++s) {
      const int64_t label = batch.labels[static_cast<size_t>(first + s)];
      require(label >= 0 && label < batch.classes, kBad, "target {} is not one of {} classes",
              label, batch.classes);
    }
  }
}

Batch batch_of(const Tensor& log_probs, const Tensor& targets, const IntVector& input_lengths,
               const IntVector& target_lengths, int64_t blank) {
  require(log_probs.dim() == 3, kBad, "log_probs must have 2 or 3 dimensions");
  require(targets.dim() == 1 || targets.dim() == 2, kBad, "targets must have 1 or 2 dimensions");
  require(targets.dtype() == ScalarType::kLong || targets.dtype() == ScalarType::kInt, kBad,
          "targets must be of type int or long, not {}", scalar_type_name(targets.dtype()));
  Batch batch;
  batch.steps = log_probs.size(0);
  batch.count = log_probs.size(1);
  batch.classes = log_probs.size(2);
  const auto count = static_cast<size_t>(batch.count);
  require(batch.steps > 0, kBad, "log_probs tensor must not be empty");
  require(blank >= 0 && blank < batch.classes, kBad, "blank must be in label range");
  require(input_lengths.size() == count, kBad, "input_lengths must be of size batch_size");
  require(target_lengths.size() == count, kBad, "target_lengths must be of size batch_size");
  require(targets.dim() == 1 || targets.size(0) == batch.count, kBad,
          "targets must have a row for each of {} sequences", batch.count);
  for (const int64_t length : input_lengths) {
    require(length >= 0 && length <= batch.steps, kBad,
            "Expected input_lengths to have value at most {}, but got value {}", batch.steps,
            length);
  }
  place_targets(batch, targets, target_lengths);
  return batch;
}

// One sequence.
template <typename T>
struct Sequence {
  const T* log_probs;  // Of class 0 at step 0.
  int64_t step_stride;
  int64_t class_stride;
  const int64_t* labels;
  int64_t states;
  int64_t blank;
  T* alpha;  // [steps, alpha_stride], -inf.
  int64_t alpha_stride;

  int64_t label(int64_t state) const { return state % 2 == 0 ? blank : labels[state / 2]; }
  T emission(int64_t step, int64_t state) const {
    return log_probs[step * step_stride + label(state) * class_stride];
  }
  T at(int64_t step, int64_t state) const { return alpha[step * alpha_stride + state]; }
};

template <typename T>
T log_sum(T a, T b, T c) {
  const T largest = std::max(a, std::max(b, c));
  if (largest == -std::numeric_limits<T>::infinity()) return largest;
  return largest + std::log(std::exp(a - largest) + std::exp(b - largest) + std::exp(c - largest));
}

template <typename T>
T negative_likelihood(const Sequence<T>& sequence, int64_t steps) {
  constexpr T kNone = -std::numeric_limits<T>::infinity();
  if (steps == 0) return sequence.states == 1 ? T{0} : -kNone;
  for (int64_t state = 0; state < std::min<int64_t>(2, sequence.states); ++state)
    sequence.alpha[state] = sequence.emission(0, state);
  for (int64_t step = 1; step < steps; ++step) {
    T* row = sequence.alpha + step * sequence.alpha_stride;
    for (int64_t state = 0; state < sequence.states; ++state) {
      const T before = state > 0 ? sequence.at(step - 1, state - 1) : kNone;
      const bool may_skip =
          state > 1 && state % 2 == 1 && sequence.label(state) != sequence.label(state - 2);
      const T skipped = may_skip ? sequence.at(step - 1, state - 2) : kNone;
      row[state] =
          log_sum(sequence.at(step - 1, state), before, skipped) + sequence.emission(step, state);
    }
  }
  const T last = sequence.at(steps - 1, sequence.states - 1);
  return -log_sum(last, sequence.states > 1 ? sequence.at(steps - 1, sequence.states - 2) : kNone,
                  kNone);
}

Tensor batched(const Tensor& log_probs) {
  return log_probs.dim() == 2 ? unsqueeze(log_probs, 1) : log_probs;
}

}  // namespace

std::tuple<Tensor, Tensor> ctc_loss_forward(const Tensor& log_probs, const Tensor& targets,
                                            const IntVector& input_lengths,
                                            const IntVector& target_lengths, int64_t blank,
                                            bool zero_infinity) {
  const Tensor probs = batched(log_probs);
  const Batch batch = batch_of(probs, targets, input_lengths, target_lengths, blank);
  const ScalarType dtype = probs.dtype();
  require(dtype == ScalarType::kFloat || dtype == ScalarType::kDouble, ErrorCode::kTypeError,
          "ctc_loss not implemented for '{}'", scalar_type_name(dtype));
  const int64_t width = 2 * batch.longest + 1;
  const IntVector sizes{batch.count};
  const IntVector alpha_sizes{batch.count, batch.steps, width};
  Tensor losses = Tensor::empty(sizes, dtype);
  Tensor alpha = Tensor::empty(alpha_sizes, dtype);
  fill(alpha, Scalar(-std::numeric_limits<double>::infinity()));
  dispatch_work(dtype, "ctc_loss", [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0; i < batch.count; ++i) {
      const auto at = static_cast<size_t>(i);
      const Sequence<T> sequence{probs.data<T>() + i * probs.stride(1),
                                 probs.stride(0),
                                 probs.stride(2),
                                 batch.labels.data() + batch.offsets[at],
                                 2 * target_lengths[at] + 1,
                                 blank,
                                 alpha.data<T>() + i * batch.steps * width,
                                 width};
      const T loss = negative_likelihood(sequence, input_lengths[at]);
      losses.data<T>()[i] = zero_infinity && std::isinf(loss) ? T{0} : loss;
    }
  });
  if (log_probs.dim() == 2) return {squeeze_dim(losses, 0), squeeze_dim(alpha, 0)};
  return {losses, alpha};
}

Tensor ctc_loss(const Tensor& log_probs, const Tensor& targets, const IntVector& input_lengths,
                const IntVector& target_lengths, int64_t blank, int64_t reduction,
                bool zero_infinity) {
  Tensor losses = std::get<0>(
      ctc_loss_forward(log_probs, targets, input_lengths, target_lengths, blank, zero_infinity));
  if (reduction == 0) return losses;
  const IntVector scalar;
  Tensor result = Tensor::empty(scalar, losses.dtype());
  dispatch_work(losses.dtype(), "ctc_loss", [&](auto tag) {
    using T = typename decltype(tag)::type;
    double total = 0;
    for (int64_t i = 0; i < losses.numel(); ++i) {
      const int64_t length = std::max<int64_t>(1, target_lengths[static_cast<size_t>(i)]);
      const auto loss = static_cast<double>(losses.data<T>()[i]);
      total += reduction == 1 ? loss / static_cast<double>(length) : loss;
    }
    if (reduction == 1) total /= static_cast<double>(losses.numel());
    *result.data<T>() = static_cast<T>(total);
  });
  return result;
}

std::tuple<Tensor, Tensor> ctc_loss_forward_tensor(const Tensor& log_probs, const Tensor& targets,
                                                   const Tensor& input_lengths,
                                                   const Tensor& target_lengths, int64_t blank,
                                                   bool zero_infinity) {
  return ctc_loss_forward(log_probs, targets, lengths_of(input_lengths, "input_lengths"),
                          lengths_of(target_lengths, "target_lengths"), blank, zero_infinity);
}

Tensor ctc_loss_tensor(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
                       const Tensor& target_lengths, int64_t blank, int64_t reduction,
                       bool zero_infinity) {
  return ctc_loss(log_probs, targets, lengths_of(input_lengths, "input_lengths"),
                  lengths_of(target_lengths, "target_lengths"), blank, reduction, zero_infinity);
}

}  // namespace tierup::kernels
