// The code of optimizer_step.h for one instruction set: the including file's name says which.
//
// A rule is one function over lanes; the loop loads and stores around it what the rule has. The
// rest behind the last whole vector goes through the same lanes by a buffer.
#include <algorithm>
#include <array>
#include <cstring>

#include "tierup/base/error.h"
#include "tierup/kernels/optimizer/optimizer_step.h"
#include "tierup/kernels/optimizer/optimizer_step_table.h"
#include "tierup/kernels/simd/simd_divisor.h"
#include "tierup/kernels/simd/simd_lanes.h"

namespace tierup::kernels::TIERUP_SIMD {
namespace {

// The numbers in lanes, made once a span.
template <typename T>
struct Lanes {
  explicit Lanes(const StepNumbers& n)
      : gradient_factor(n.gradient_factor),
        weight_decay(n.weight_decay),
        decay_factor(n.decay_factor),
        rate(n.rate),
        second_rate(n.second_rate),
        momentum(n.momentum),
        undamped(1 - n.dampening),
        beta2(n.beta2),
        rest1(1 - n.beta1),
        rest2(1 - n.beta2),
        eps(n.eps),
        root_divisor(n.root_divisor),
        mean_divisor(n.mean_divisor),
        rectifier(n.rectifier),
        adaptive_factor(n.adaptive_factor),
        one(1.0) {}
  Vec<T> gradient_factor, weight_decay, decay_factor, rate, second_rate, momentum, undamped, beta2,
      rest1, rest2, eps;
  Divisor<T> root_divisor;
  Vec<T> mean_divisor, rectifier, adaptive_factor, one;
};

template <typename T>
struct Element {
  Vec<T> p, g;
  std::array<Vec<T>, 3> s;
};

// a + w (b - a), from the nearer end.
template <typename T>
TIERUP_INLINE Vec<T> lerp(Vec<T> a, Vec<T> b, Vec<T> w, double weight) {
  if (static_cast<T>(weight) < T(0.5)) return multiply_add(w, b - a, a);
  return multiply_add(w - Vec<T>(1.0), b - a, b);
}
// a + w b b.
template <typename T>
TIERUP_INLINE Vec<T> add_square(Vec<T> a, Vec<T> b, Vec<T> w) {
  return multiply_add(w * b, b, a);
}
// The larger; NaN wins.
template <typename T>
TIERUP_INLINE Vec<T> larger(Vec<T> a, Vec<T> b) {
  return select((a > b) | (a != a), a, b);
}

// What comes before every rule.
template <typename T>
TIERUP_INLINE void prepare(const StepNumbers& n, const Lanes<T>& l, Element<T>& e) {
  if (n.gradient_factor != 1) e.g = e.g * l.gradient_factor;
  if (n.maximize) e.g = -e.g;
  if (n.decay_factor != 1) e.p = e.p * l.decay_factor;
  if (n.weight_decay != 0) e.g = multiply_add(e.p, l.weight_decay, e.g);
}

// kStates: which states a rule may have, by its settings: a bit for each.
struct Sgd {
  static constexpr std::array kStates = {0U, 1U};
  template <typename T>
  static TIERUP_INLINE void apply(const StepNumbers& n, const Lanes<T>& l, Element<T>& e) {
    if (n.momentum != 0) {
      Vec<T>& b = e.s[0];
      b = n.first ? e.g : multiply_add(e.g, l.undamped, b * l.momentum);
      e.g = n.nesterov ? multiply_add(b, l.momentum, e.g) : b;
    }
    e.p = multiply_add(e.g, l.rate, e.p);
  }
};

struct Adam {
  static constexpr std::array kStates = {3U, 7U};
  template <typename T>
  static TIERUP_INLINE void apply(const StepNumbers& n, const Lanes<T>& l, Element<T>& e) {
    Vec<T>& m = e.s[0];
    Vec<T>& v = e.s[1];
    m = lerp(m, e.g, l.rest1, 1 - n.beta1);
    v = add_square(v * l.beta2, e.g, l.rest2);
    if (n.amsgrad) e.s[2] = larger(e.s[2], v);
    const Vec<T> root = l.root_divisor.quotient(sqrt(n.amsgrad ? e.s[2] : v)) + l.eps;
    e.p = e.p + l.rate * m / root;
  }
};

struct Rmsprop {
  static constexpr std::array kStates = {1U, 3U, 5U, 7U};
  template <typename T>
  static TIERUP_INLINE void apply(const StepNumbers& n, const Lanes<T>& l, Element<T>& e) {
    Vec<T>& v = e.s[0];
    v = add_square(v * l.beta2, e.g, l.rest2);
    Vec<T> spread = v;
    if (n.centered) {
      e.s[1] = lerp(e.s[1], e.g, l.rest2, 1 - n.beta2);
      spread = multiply_add(-e.s[1], e.s[1], v);
    }
    const Vec<T> root = sqrt(spread) + l.eps;
    if (n.momentum > 0) {
      e.s[2] = e.s[2] * l.momentum + e.g / root;
      e.p = multiply_add(e.s[2], l.rate, e.p);
    } else {
      e.p = e.p + l.rate * e.g / root;
    }
  }
};

struct Adagrad {
  static constexpr std::array kStates = {1U};
  template <typename T>
  static TIERUP_INLINE void apply(const StepNumbers&, const Lanes<T>& l, Element<T>& e) {
    e.s[0] = multiply_add(e.g, e.g, e.s[0]);
    e.p = e.p + l.rate * e.g / (sqrt(e.s[0]) + l.eps);
  }
};

struct Adadelta {
  static constexpr std::array kStates = {3U};
  template <typename T>
  static TIERUP_INLINE void apply(const StepNumbers&, const Lanes<T>& l, Element<T>& e) {
    e.s[0] = add_square(e.s[0] * l.beta2, e.g, l.rest2);
    const Vec<T> delta = sqrt(e.s[1] + l.eps) / sqrt(e.s[0] + l.eps) * e.g;
    e.s[1] = add_square(e.s[1] * l.beta2, delta, l.rest2);
    e.p = multiply_add(delta, l.rate, e.p);
  }
};

struct Nadam {
  static constexpr std::array kStates = {3U};
  template <typename T>
  static TIERUP_INLINE void apply(const StepNumbers& n, const Lanes<T>& l, Element<T>& e) {
    e.s[0] = lerp(e.s[0], e.g, l.rest1, 1 - n.beta1);
    e.s[1] = add_square(e.s[1] * l.beta2, e.g, l.rest2);
    const Vec<T> root = sqrt(e.s[1] / l.root_divisor.number()) + l.eps;
    e.p = e.p + l.rate * e.g / root;
    e.p = e.p + l.second_rate * e.s[0] / root;
  }
};

struct Radam {
  static constexpr std::array kStates = {3U};
  template <typename T>
  static TIERUP_INLINE void apply(const StepNumbers& n, const Lanes<T>& l, Element<T>& e) {
    e.s[0] = lerp(e.s[0], e.g, l.rest1, 1 - n.beta1);
    e.s[1] = add_square(e.s[1] * l.beta2, e.g, l.rest2);
    Vec<T> update = e.s[0] / l.mean_divisor * l.rate;
    if (n.rectifier != 0) {
      const Vec<T> adaptive = l.one / (sqrt(e.s[1]) + l.eps) * l.adaptive_factor;
      update = update * adaptive * l.rectifier;
    }
    e.p = e.p - update;
  }
};

struct Adamax {
  static constexpr std::array kStates = {3U};
  template <typename T>
  static TIERUP_INLINE void apply(const StepNumbers& n, const Lanes<T>& l, Element<T>& e) {
    e.s[0] = lerp(e.s[0], e.g, l.rest1, 1 - n.beta1);
    e.s[1] = larger(e.s[1] * l.beta2, abs(e.g) + l.eps);
    e.p = e.p + l.rate * e.s[0] / e.s[1];
  }
};

// How far before their use lines are asked for, in vectors: over the end of a page, where the
// processor's own prefetching stops.
constexpr int64_t kAhead = 8;

// `kStates` has a bit for each state that is there: a constant, so that all numbers of an element
// stay in registers.
template <uint32_t kStates>
constexpr bool has(size_t k) {
  return (kStates >> k & 1U) != 0;
}
template <typename Rule, uint32_t kStates, typename T>
TIERUP_INLINE void one_vector(const StepNumbers& n, const Lanes<T>& l, const StepSpan<T>& at) {
  Element<T> e;
  e.p = Vec<T>::load(at.parameter);
  e.g = Vec<T>::load(at.gradient);
  e.s = {Vec<T>(0.0), Vec<T>(0.0), Vec<T>(0.0)};
  if constexpr (has<kStates>(0)) e.s[0] = Vec<T>::load(at.state[0]);
  if constexpr (has<kStates>(1)) e.s[1] = Vec<T>::load(at.state[1]);
  if constexpr (has<kStates>(2)) e.s[2] = Vec<T>::load(at.state[2]);
  prepare(n, l, e);
  Rule::apply(n, l, e);
  e.p.store(at.parameter);
  if constexpr (has<kStates>(0)) e.s[0].store(at.state[0]);
  if constexpr (has<kStates>(1)) e.s[1].store(at.state[1]);
  if constexpr (has<kStates>(2)) e.s[2].store(at.state[2]);
}

// Fewer elements than a vector has, by a copy.
template <typename Rule, uint32_t kStates, typename T>
void rest(const StepNumbers& n, const Lanes<T>& l, const StepSpan<T>& span) {
  constexpr size_t kLanes = Vec<T>::kLanes;
  std::array<std::array<T, kLanes>, 5> copies{};
  const size_t bytes = static_cast<size_t>(span.count) * sizeof(T);
  std::memcpy(copies[0].data(), span.parameter, bytes);
  std::memcpy(copies[1].data(), span.gradient, bytes);
  StepSpan<T> at{copies[0].data(), copies[1].data(), {}, span.count};
  for (size_t k = 0; k < 3; ++k) {
    if (!has<kStates>(k)) continue;
    std::memcpy(copies[2 + k].data(), span.state[k], bytes);
    at.state[k] = copies[2 + k].data();
  }
  one_vector<Rule, kStates>(n, l, at);
  std::memcpy(span.parameter, copies[0].data(), bytes);
  for (size_t k = 0; k < 3; ++k) {
    if (has<kStates>(k)) std::memcpy(span.state[k], copies[2 + k].data(), bytes);
  }
}

template <uint32_t kStates, typename T>
TIERUP_INLINE void ask_for(const StepSpan<T>& at) {
  constexpr int64_t kDistance = kAhead * static_cast<int64_t>(Vec<T>::kLanes);
  __builtin_prefetch(at.parameter + kDistance, 1);
  __builtin_prefetch(at.gradient + kDistance);
  if constexpr (has<kStates>(0)) __builtin_prefetch(at.state[0] + kDistance, 1);
  if constexpr (has<kStates>(1)) __builtin_prefetch(at.state[1] + kDistance, 1);
  if constexpr (has<kStates>(2)) __builtin_prefetch(at.state[2] + kDistance, 1);
}

template <typename Rule, uint32_t kStates, typename T>
void run_with(const StepNumbers& n, const StepSpan<T>& span) {
  const Lanes<T> lanes(n);
  StepSpan<T> at = span;
  for (; at.count >= Vec<T>::kLanes; at.count -= Vec<T>::kLanes) {
    ask_for<kStates>(at);
    one_vector<Rule, kStates>(n, lanes, at);
    at.parameter += Vec<T>::kLanes;
    at.gradient += Vec<T>::kLanes;
    if constexpr (has<kStates>(0)) at.state[0] += Vec<T>::kLanes;
    if constexpr (has<kStates>(1)) at.state[1] += Vec<T>::kLanes;
    if constexpr (has<kStates>(2)) at.state[2] += Vec<T>::kLanes;
  }
  if (at.count > 0) rest<Rule, kStates>(n, lanes, at);
}

template <typename Rule, typename T, size_t kNext = 0>
void run(const StepNumbers& n, const StepSpan<T>& span) {
  uint32_t states = 0;
  for (size_t k = 0; k < 3; ++k) states |= span.state[k] != nullptr ? 1U << k : 0U;
  if (states == Rule::kStates[kNext]) return run_with<Rule, Rule::kStates[kNext]>(n, span);
  if constexpr (kNext + 1 < Rule::kStates.size()) return run<Rule, T, kNext + 1>(n, span);
  TIERUP_CHECK(false);
}

template <typename T>
constexpr StepTable<T> kTable = {run<Sgd, T>,      run<Adam, T>,  run<Rmsprop, T>, run<Adagrad, T>,
                                 run<Adadelta, T>, run<Nadam, T>, run<Radam, T>,   run<Adamax, T>};

}  // namespace

const StepTable<float>& float_steps() { return kTable<float>; }
const StepTable<double>& double_steps() { return kTable<double>; }

}  // namespace tierup::kernels::TIERUP_SIMD
