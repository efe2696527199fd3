// Distances for one instruction set; see distance_rows_body.h.
#include "tierup/kernels/linalg/distance_rows_body.h"
#include "tierup/kernels/simd/instruction_set.h"

namespace tierup::kernels {

void distance_rows_base(const DistanceRows<float>& call) { TIERUP_SIMD::all_distances(call); }
void distance_rows_base(const DistanceRows<double>& call) { TIERUP_SIMD::all_distances(call); }

namespace {

template <typename T>
void run_distance_rows(const DistanceRows<T>& call) {
  using Run = void (*)(const DistanceRows<T>& call);
  const Run run = TIERUP_VARIANT(instruction_set(), Run{&distance_rows_base},
                                 Run{&distance_rows_avx2}, Run{&distance_rows_avx512});
  run(call);
}

}  // namespace

void distance_rows(const DistanceRows<float>& call) { run_distance_rows(call); }
void distance_rows(const DistanceRows<double>& call) { run_distance_rows(call); }

}  // namespace tierup::kernels
