// CodegenApi: the C face of the code generator's shared object, which alone links LLVM.
//
// The object is loaded by the compile thread when it is first needed, so that a process that
// never tiers up does not pay for it. Versioned; strings are owned by who is said to own them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tierup/codegen/kernel_spec.h"

namespace tierup::codegen {

inline constexpr int kCodegenApiVersion = 9;

// One compiled kernel; opaque, freed by release().
struct CompiledObject;

struct CompileResult {
  CompiledObject* object;   // Null if it failed.
  KernelFunction function;  // Of compile(); valid while the object lives.
  MatrixFunction matrix;    // Of compile_matrix(), as well.
  size_t object_size;       // Bytes of the relocatable object.
  const char* error;        // Owned by the library, until this thread's next call.
};

struct CompileOptions {
  bool print_ir;  // LLVM IR to stderr.
  bool perf_map;  // Names in /tmp/perf-PID.map, for perf.
  // 0: as the host has; 128: vectors and instructions of the architecture's base level alone
  // (SSE4.2, NEON), 256: of AVX2, 512: of AVX-512. No more than the host has.
  int max_vector_bits;
  // Nothing beyond those instructions, although the host's vectors are not longer.
  bool generic;
};

struct CodegenApi {
  int version;
  // Thread-safe. Never throws.
  CompileResult (*compile)(const KernelSpec* spec, const CompileOptions* options);
  CompileResult (*compile_matrix)(const MatrixSpec* spec, const CompileOptions* options);
  // Thread-safe. Never throws: where memory is short, the code stays.
  void (*release)(CompiledObject* object);
  // The processor and its features that such kernels are made for: "x86-64-v3;". A key of a disk
  // cache; owned by the library, until this thread's next call. Empty if there is none.
  const char* (*target)(const CompileOptions* options);
};

}  // namespace tierup::codegen

// Exported by the shared object; null for another version.
extern "C" const tierup::codegen::CodegenApi* tierup_codegen_api(int version);
