// MatrixLoop: runs the stages of a group with products, one after another.
//
// What they store lies in one piece of memory, which all of it fits a near cache: such a group is
// small, and what it saves is the calls between its members.
#pragma once

#include "tierup/ops/regions/matrix_plan.h"

namespace tierup::ops {

class MatrixLoop {
 public:
  // The program must outlive this.
  MatrixLoop(const GroupProgram& program, CompiledMatrices kernels)
      : program_(program), kernels_(std::move(kernels)) {}

  const std::vector<ValueForm>& inputs() const { return kernels_.inputs; }
  const CompiledMatrices& kernels() const { return kernels_; }
  // The arguments have the inputs' forms. False, with nothing done, if sizes or layouts are not
  // those that the kernels suit, or a row member refused; the twin says what tier 0 would.
  bool run(OpCall& call) const;

 private:
  const GroupProgram& program_;
  const CompiledMatrices kernels_;
  const MatrixPlans plans_;
};

}  // namespace tierup::ops
