#include "tierup/kernels/pointwise/pointwise_runs.h"

namespace tierup::kernels {
namespace {

constexpr std::array<const char*, static_cast<size_t>(Body::kCount)> kNames = {
#define TIERUP_BODY(name) #name,
#include "tierup/kernels/pointwise/pointwise_bodies.def"
#undef TIERUP_BODY
};

RunTable make_table(InstructionSet set) {
  RunTable table;
  add_real_runs(table);
  add_integer_runs(table);
  add_truth_runs(table);
  add_complex_runs(table);
  add_special_runs(table);
#define TIERUP_ADD_RUNS(add) \
  TIERUP_VARIANT(set, simd_base::add, simd_avx2::add, simd_avx512::add)(table)
  TIERUP_ADD_RUNS(add_arithmetic_runs);
  TIERUP_ADD_RUNS(add_exponential_runs);
  TIERUP_ADD_RUNS(add_trigonometric_runs);
  TIERUP_ADD_RUNS(add_activation_runs);
  TIERUP_ADD_RUNS(add_special_vector_runs);
#undef TIERUP_ADD_RUNS
  return table;
}

}  // namespace

const char* body_name(Body body) { return kNames[static_cast<size_t>(body)]; }

void RunTable::set(Body body, ScalarType compute, const Variant& variant) {
  variants_[static_cast<size_t>(body)][static_cast<size_t>(compute)] = variant;
}

void RunTable::set(Body body, ScalarType compute, ScalarType out, size_t arity, BlockRun run,
                   RowsRun rows) {
  Variant variant{run, rows, static_cast<uint8_t>(arity), out, {}};
  variant.in.fill(compute);
  set(body, compute, variant);
}

const RunTable& RunTable::of(InstructionSet set) {
  // Each is made when first asked for.
  if (set == InstructionSet::kAvx512) {
    static const RunTable avx512 = make_table(InstructionSet::kAvx512);
    return avx512;
  }
  if (set == InstructionSet::kAvx2) {
    static const RunTable avx2 = make_table(InstructionSet::kAvx2);
    return avx2;
  }
  static const RunTable base = make_table(InstructionSet::kBase);
  return base;
}

}  // namespace tierup::kernels
