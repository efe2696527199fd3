// Roofline: the least time that a call can take on this machine, from what it must compute and
// read.
#pragma once

#include <cstdint>

#include "tierup/api/model/model.h"
#include "tierup/cases/model_cases.h"

namespace tierup::bench {

// What the machine does at best, measured in this process, on all usable cores.
struct Machine {
  double flops_per_s = 0;  // Of a product of two square f32 matrices; the best of many.
  double bytes_per_s = 0;  // Reading memory that no cache holds; the best of many.
};

inline constexpr int64_t kProductSide = 1536;
inline constexpr int64_t kReadBytes = int64_t{1} << 30;

// Takes a few seconds.
Machine measure_machine();

// What a call cannot do without: the arithmetic of its products and convolutions, counted as they
// are written (Winograd's takes less), and each weight and argument read, each result written,
// once. Tables that are only looked up in are left out. Runs the call at tier 0.
struct Work {
  double flops = 0;
  double bytes = 0;
};
Work work_of(const api::Model& tier0, const api::CaseCall& call);

// The longer of both, in milliseconds. Weights that stay in a cache are read faster than that.
double least_ms(const Machine& machine, const Work& work);

}  // namespace tierup::bench
