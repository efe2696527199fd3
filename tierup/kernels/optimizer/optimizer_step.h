// One step of an optimiser over a span of a parameter, its gradient and its state: one pass over
// memory, compiled for each instruction set.
//
// Every operation is rounded where PyTorch's loop over parameters rounds it, with a fused multiply
// and add where its kernels have one (a sum with a factor, lerp, addcmul), so that the bits of a
// step are those of the loop; decision 0022 says what processors without the instruction get.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace tierup::kernels {

enum class StepRule : uint8_t {
  kSgd,       // State: momentum buffer.
  kAdam,      // State: m, v, running maximum of v. AdamW as well.
  kRmsprop,   // State: mean square, mean, momentum buffer.
  kAdagrad,   // State: sum of squares.
  kAdadelta,  // State: mean square, mean square of steps.
  kNadam,     // State: m, v.
  kRadam,     // State: m, v.
  kAdamax,    // State: m, running maximum.
};

// What a step needs besides memory. Numbers are rounded to the element type where they are used.
struct StepNumbers {
  double gradient_factor = 1;  // First of all, unless 1: clipping by norm.
  bool maximize = false;       // The gradient's negative.
  double weight_decay = 0;     // Added to the gradient, times the parameter.
  double decay_factor = 1;     // The parameter times this, before: decoupled decay.
  double rate = 0;             // What the step is multiplied by, with its sign.
  double second_rate = 0;      // NAdam: of m.
  double momentum = 0;         // SGD, RMSprop.
  double dampening = 0;        // SGD: 1 minus it goes with the gradient.
  bool nesterov = false;       // SGD.
  bool first = false;          // SGD: the buffer becomes the gradient.
  double beta1 = 0;            // Of m.
  double beta2 = 0;            // Of v; alpha of RMSprop, rho of Adadelta.
  double eps = 0;
  double root_divisor = 1;     // Adam: of sqrt(v). NAdam: of v.
  bool amsgrad = false;        // Adam.
  bool centered = false;       // RMSprop.
  double mean_divisor = 1;     // RAdam: of m.
  double rectifier = 0;        // RAdam: 0: without the adaptive rate.
  double adaptive_factor = 1;  // RAdam: over sqrt(v) + eps.
};

template <typename T>
struct StepSpan {
  T* parameter;
  const T* gradient;
  std::array<T*, 3> state;  // Null where the rule, as set, has none.
  int64_t count;
};

// float and double. The spans of one step may be given to different threads in any pieces: an
// element's result does not depend on where it lies in a span.
template <typename T>
void optimizer_step(StepRule rule, const StepNumbers& numbers, const StepSpan<T>& span);

// x[i] = min(max(x[i], -limit), limit), NaN staying; x[i] *= factor.
template <typename T>
void clamp_span(T* x, int64_t count, double limit);
template <typename T>
void scale_span(T* x, int64_t count, double factor);

}  // namespace tierup::kernels
