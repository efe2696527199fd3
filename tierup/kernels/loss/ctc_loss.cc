// The recursions in log space. States of a target of length S are 2 S + 1: its labels with blanks
// around them; a state is reached from itself, from the one before, and, if it is a label that
// differs from the last label, from the one before that. The backward pass runs the same from the
// end: alpha * beta, summed over the states of a class, is that class's share of the likelihood.
#include "tierup/kernels/loss/ctc_loss.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

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
  // Whether a path may go from the state two before to this one.
  bool may_skip_to(int64_t state) const {
    return state > 1 && state % 2 == 1 && label(state) != label(state - 2);
  }
};

// The sequence `at` of the batch; `alpha` [count, steps, 2 * longest + 1] is dense.
template <typename T>
Sequence<T> sequence_at(const Tensor& probs, const Tensor& alpha, const Batch& batch, size_t at,
                        int64_t target_length, int64_t blank) {
  const auto i = static_cast<int64_t>(at);
  const int64_t width = 2 * batch.longest + 1;
  return {probs.data<T>() + i * probs.stride(1),
          probs.stride(0),
          probs.stride(2),
          batch.labels.data() + batch.offsets[at],
          2 * target_length + 1,
          blank,
          alpha.data<T>() + i * batch.steps * width,
          width};
}

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
      const T skipped = sequence.may_skip_to(state) ? sequence.at(step - 1, state - 2) : kNone;
      row[state] =
          log_sum(sequence.at(step - 1, state), before, skipped) + sequence.emission(step, state);
    }
  }
  const T last = sequence.at(steps - 1, sequence.states - 1);
  return -log_sum(last, sequence.states > 1 ? sequence.at(steps - 1, sequence.states - 2) : kNone,
                  kNone);
}

// The states of one step by those of the step after it.
template <typename T>
void step_back(const Sequence<T>& sequence, int64_t step, std::vector<T>& beta) {
  constexpr T kNone = -std::numeric_limits<T>::infinity();
  for (int64_t state = 0; state < sequence.states; ++state) {  // Upwards: those above are old yet.
    T* at = beta.data() + state;
    const bool has_next = state + 1 < sequence.states;
    const bool may_skip = state + 2 < sequence.states && sequence.may_skip_to(state + 2);
    *at = log_sum(at[0], has_next ? at[1] : kNone, may_skip ? at[2] : kNone) +
          sequence.emission(step, state);
  }
}

// The gradient of one sequence's loss by its log-probabilities, taken to be normalised; `gradient`
// is laid out as [steps, step_stride].
template <typename T>
void differentiate(const Sequence<T>& sequence, int64_t steps, int64_t classes, T loss, T cotangent,
                   T* gradient, int64_t step_stride) {
  constexpr T kNone = -std::numeric_limits<T>::infinity();
  std::vector<T> beta(static_cast<size_t>(sequence.states), kNone);
  for (int64_t step = steps - 1; step >= 0; --step) {
    if (step + 1 == steps) {
      for (int64_t s = std::max<int64_t>(0, sequence.states - 2); s < sequence.states; ++s)
        beta[static_cast<size_t>(s)] = sequence.emission(step, s);
    } else {
      step_back(sequence, step, beta);
    }
    T* row = gradient + step * step_stride;
    std::fill_n(row, classes, kNone);
    for (int64_t s = 0; s < sequence.states; ++s) {
      T& share = row[sequence.label(s)];
      share = log_sum(share, sequence.at(step, s) + beta[static_cast<size_t>(s)], kNone);
    }
    const T* log_probs = sequence.log_probs + step * sequence.step_stride;
    for (int64_t c = 0; c < classes; ++c) {
      const T log_prob = log_probs[c * sequence.class_stride];
      row[c] = (std::exp(log_prob) - std::exp(row[c] + loss - log_prob)) * cotangent;
    }
  }
}

void clear_infinities(const Tensor& losses) {
  dispatch_work(losses.dtype(), "ctc_loss", [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* data = losses.data<T>();
    std::replace_if(
        data, data + losses.numel(), [](T loss) { return std::isinf(loss); }, T{0});
  });
}

Tensor batched(const Tensor& log_probs) {
  return log_probs.dim() == 2 ? unsqueeze(log_probs, 1) : log_probs;
}

}  // namespace

std::tuple<Tensor, Tensor> ctc_loss_forward(const Tensor& log_probs, const Tensor& targets,
                                            const IntVector& input_lengths,
                                            const IntVector& target_lengths, int64_t blank,
                                            bool /*zero_infinity: of the gradient*/) {
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
      const auto sequence = sequence_at<T>(probs, alpha, batch, at, target_lengths[at], blank);
      losses.data<T>()[i] = negative_likelihood(sequence, input_lengths[at]);
    }
  });
  if (log_probs.dim() == 2) return {squeeze_dim(losses, 0), squeeze_dim(alpha, 0)};
  return {losses, alpha};
}

Tensor ctc_loss_backward(const Tensor& grad, const Tensor& log_probs, const Tensor& targets,
                         const IntVector& input_lengths, const IntVector& target_lengths,
                         const Tensor& neg_log_likelihood, const Tensor& log_alpha, int64_t blank,
                         bool zero_infinity) {
  const Tensor probs = batched(log_probs);
  const Batch batch = batch_of(probs, targets, input_lengths, target_lengths, blank);
  const ScalarType dtype = probs.dtype();
  const int64_t width = 2 * batch.longest + 1;
  require(log_alpha.numel() == batch.count * batch.steps * width &&
              neg_log_likelihood.numel() == batch.count && grad.numel() == batch.count &&
              log_alpha.dtype() == dtype && neg_log_likelihood.dtype() == dtype,
          kBad, "log_alpha and neg_log_likelihood are not of these sequences");
  Tensor gradient = Tensor::empty(probs.sizes(), dtype);
  fill(gradient, Scalar(0));
  const Tensor alpha = contiguous(log_alpha);
  const Tensor losses = contiguous(neg_log_likelihood);
  const Tensor cotangents = contiguous(to_dtype(grad, dtype));
  dispatch_work(dtype, "ctc_loss_backward", [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0; i < batch.count; ++i) {
      const auto at = static_cast<size_t>(i);
      const T loss = losses.data<T>()[i];
      if (zero_infinity && std::isinf(loss)) continue;
      const auto sequence = sequence_at<T>(probs, alpha, batch, at, target_lengths[at], blank);
      differentiate(sequence, input_lengths[at], batch.classes, loss, cotangents.data<T>()[i],
                    gradient.data<T>() + i * batch.classes, batch.count * batch.classes);
    }
  });
  return log_probs.dim() == 2 ? squeeze_dim(gradient, 1) : gradient;
}

Tensor ctc_loss_backward_tensor(const Tensor& grad, const Tensor& log_probs, const Tensor& targets,
                                const Tensor& input_lengths, const Tensor& target_lengths,
                                const Tensor& neg_log_likelihood, const Tensor& log_alpha,
                                int64_t blank, bool zero_infinity) {
  return ctc_loss_backward(grad, log_probs, targets, lengths_of(input_lengths, "input_lengths"),
                           lengths_of(target_lengths, "target_lengths"), neg_log_likelihood,
                           log_alpha, blank, zero_infinity);
}

Tensor ctc_loss(const Tensor& log_probs, const Tensor& targets, const IntVector& input_lengths,
                const IntVector& target_lengths, int64_t blank, int64_t reduction,
                bool zero_infinity) {
  Tensor losses = std::get<0>(
      ctc_loss_forward(log_probs, targets, input_lengths, target_lengths, blank, zero_infinity));
  if (zero_infinity) clear_infinities(losses);
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
