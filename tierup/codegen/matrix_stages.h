// Matrix stages: into which kernels a group with products falls, and what each of them is made of.
//
// A member's level is the number of times that something has to lie in memory before it; members
// of one level over the same rows and columns go into one kernel (ops/regions/matrix_stage.h).
#pragma once

#include "tierup/codegen/group_kernel.h"
#include "tierup/ops/regions/matrix_meta_tensors.h"
#include "tierup/ops/regions/matrix_stage.h"

namespace tierup::codegen {

// Without functions yet.
std::vector<ops::MatrixStage> matrix_stages_of(const ops::GroupProgram& program,
                                               const ops::MatrixMetaTensors& metas);

// A stage's kernel.
struct MatrixKernel {
  GroupKernel body;
  std::vector<ProductSpec> products;
  uint32_t width = 1;
  uint32_t tile_rows = 1;
  uint32_t tile_vectors = 1;

  // Points into this object. `name` must outlive it.
  MatrixSpec spec(const char* name) const;
  static constexpr const char* kKind = "matrices";
  // All that decides the machine code, as bytes: a key of the CodeCache.
  std::string key() const;
};

// For vectors of so many bits.
MatrixKernel build_matrix_kernel(const ops::GroupProgram& program, const GroupForms& forms,
                                 const std::vector<ops::ValueForm>& inputs,
                                 const ops::MatrixStage& stage, const ops::MatrixMetaTensors& metas,
                                 int vector_bits);

}  // namespace tierup::codegen
