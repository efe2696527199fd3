// The body of swish.h; compiled once per instruction set.
#pragma once

#include "tierup/kernels/net/store_step_body.h"
#include "tierup/kernels/net/swish.h"

namespace tierup::kernels::net {
namespace {

void swish_run(float* x, int64_t count) {
  int64_t i = 0;
  for (; i + kVectorFloats <= count; i += kVectorFloats)
    store_vector(x + i, swish_lanes(load_vector(x + i)));
  if (i == count) return;
  float rest[kVectorFloats] = {};
  std::memcpy(rest, x + i, static_cast<size_t>(count - i) * sizeof(float));
  store_vector(rest, swish_lanes(load_vector(rest)));
  std::memcpy(x + i, rest, static_cast<size_t>(count - i) * sizeof(float));
}

}  // namespace
}  // namespace tierup::kernels::net
