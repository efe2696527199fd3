// The bodies of step_loops.h; compiled once per instruction set.
#pragma once

#include "tierup/kernels/net/step_loops.h"
#include "tierup/kernels/net/store_step_body.h"

namespace tierup::kernels::net {
namespace {

// Vectors, and the rest in one that is filled up with zeros.
template <typename Change>
TIERUP_INLINE void change_each(const float* x, int64_t count, float* y, const Change& change) {
  int64_t i = 0;
  for (; i + kVectorFloats <= count; i += kVectorFloats)
    store_vector(y + i, change(load_vector(x + i)));
  if (i == count) return;
  float rest[kVectorFloats] = {};
  std::memcpy(rest, x + i, static_cast<size_t>(count - i) * sizeof(float));
  store_vector(rest, change(load_vector(rest)));
  std::memcpy(y + i, rest, static_cast<size_t>(count - i) * sizeof(float));
}

void step_apply(const StoreStep& step, const float* x, int64_t count, float* y) {
  with_step(step, [&](const auto& change) { change_each(x, count, y, change); });
}

template <typename Join>
TIERUP_INLINE void join_each(const float* a, const float* b, int64_t count, float* y,
                             const Join& join) {
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) store(y + i, join(load(a + i), load(b + i)));
  if (i == count) return;
  store_some(y + i, join(load_some(a + i, count - i, 0), load_some(b + i, count - i, 0)),
             count - i);
}

void step_add(const float* a, const float* b, int64_t count, float* y) {
  join_each(a, b, count, y, [](const Lanes& u, const Lanes& v) TIERUP_INLINED { return u + v; });
}
void step_multiply(const float* a, const float* b, int64_t count, float* y) {
  join_each(a, b, count, y, [](const Lanes& u, const Lanes& v) TIERUP_INLINED { return u * v; });
}

void step_scale_and_add(float factor, const float* a, const float* b, int64_t count, float* y) {
  int64_t i = 0;
  for (; i + kVectorFloats <= count; i += kVectorFloats)
    store_vector(y + i, factor * load_vector(a + i) + load_vector(b + i));
  if (i == count) return;
  store_part(y + i, count - i, factor * load_part(a + i, count - i) + load_part(b + i, count - i));
}

constexpr StepLoops kStepLoops{&step_apply, &step_add, &step_multiply, &step_scale_and_add};

}  // namespace
}  // namespace tierup::kernels::net
