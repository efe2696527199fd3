// Whether two programs have the same operators, in the same order, over the same values.
#pragma once

#include "tierup/kernels/net/program.h"
#include "tierup/ops/regions/input_form.h"

namespace tierup::ops {

// Of two arguments that are constants: the same one. A tensor is the same object.
inline bool is_same_constant_of(const kernels::net::Arg& a, const kernels::net::Arg& b) {
  return same_constant(a.constant, b.constant);
}

// `same`: of two arguments that are constants, whether they count as the same.
bool same_program(const kernels::net::Program& a, const kernels::net::Program& b,
                  bool (*same)(const kernels::net::Arg&, const kernels::net::Arg&));

}  // namespace tierup::ops
