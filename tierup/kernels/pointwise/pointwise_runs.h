// The compiled forms of point-wise bodies: one run for each body and element type.
//
// A run works on dense blocks only; pointwise.cc brings any strides, dtypes and broadcasts to that
// form. Types: f16 and bf16 have no runs of their own, they are computed in f32.
#pragma once

#include <array>
#include <cstdint>

#include "tierup/kernels/simd/instruction_set.h"
#include "tierup/tensor/dtype.h"

namespace tierup::kernels {

enum class Body : uint16_t {
#define TIERUP_BODY(name) k##name,
#include "tierup/kernels/pointwise/pointwise_bodies.def"
#undef TIERUP_BODY
  kCount,
};

// "Add": for errors.
const char* body_name(Body body);

// out[i] = body(in[0][i], in[1][i]...) for i < count; everything dense, in the variant's types.
// May be called with out equal to an input.
using BlockRun = void (*)(char* out, const char* const* in, int64_t count);

inline constexpr size_t kMaxInputs = 5;

// The same over rows, whose inputs may be one number for a whole row.
struct BlockRows {
  char* out;  // Dense along a row.
  std::array<const char*, kMaxInputs> in;
  std::array<bool, kMaxInputs> stands;  // Whether the input is one number, else it is dense.
  int64_t count;                        // Of a row.
  int64_t rows;
  int64_t out_step;  // From a row to the next one, in bytes.
  std::array<int64_t, kMaxInputs> in_steps;
};
using RowsRun = void (*)(const BlockRows& rows);

struct Variant {
  BlockRun run = nullptr;
  RowsRun rows = nullptr;  // Null where numbers have to be written out.
  uint8_t arity = 0;
  ScalarType out = ScalarType::kFloat;
  std::array<ScalarType, kMaxInputs> in{};
};

// All variants by body and by the type they compute in.
class RunTable {
 public:
  // The table for the instruction set in use, and for a given one that the processor has.
  static const RunTable& instance() { return of(instruction_set()); }
  static const RunTable& of(InstructionSet set);

  // Null if the body is not defined for the type.
  const Variant* find(Body body, ScalarType compute) const {
    const Variant& variant = variants_[static_cast<size_t>(body)][static_cast<size_t>(compute)];
    return variant.run == nullptr ? nullptr : &variant;
  }
  // Not inline: files of all instruction sets call these.
  void set(Body body, ScalarType compute, const Variant& variant);
  // Of a run that takes all its inputs in the type that it computes in.
  void set(Body body, ScalarType compute, ScalarType out, size_t arity, BlockRun run,
           RowsRun rows = nullptr);

 private:
  static constexpr size_t kTypes = static_cast<size_t>(ScalarType::kBool) + 1;
  std::array<std::array<Variant, kTypes>, static_cast<size_t>(Body::kCount)> variants_{};
};

// Each fills in the variants of one source file.
void add_real_runs(RunTable& table);
void add_integer_runs(RunTable& table);
void add_truth_runs(RunTable& table);
void add_complex_runs(RunTable& table);
void add_special_runs(RunTable& table);

// The plain loops over complex64 of what vectors do too, where their numbers want more care.
struct ComplexRuns {
  BlockRun abs, sgn, mul, div;
};
const ComplexRuns& plain_complex_runs();

// Vector code, by instruction set.
#define TIERUP_VECTOR_RUNS(name)                 \
  namespace name {                               \
  void add_arithmetic_runs(RunTable& table);     \
  void add_exponential_runs(RunTable& table);    \
  void add_trigonometric_runs(RunTable& table);  \
  void add_activation_runs(RunTable& table);     \
  void add_special_vector_runs(RunTable& table); \
  }
TIERUP_VECTOR_RUNS(simd_base)
TIERUP_VECTOR_RUNS(simd_avx2)
TIERUP_VECTOR_RUNS(simd_avx512)
#undef TIERUP_VECTOR_RUNS

}  // namespace tierup::kernels
