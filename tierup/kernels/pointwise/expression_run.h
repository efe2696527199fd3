// What vector_run.h is for registers: "runs" that write a body down instead of running it. The
// lists of bodies in the runs_*_body.h files fill an ExpressionTable with these.
#pragma once

#include <utility>

#include "tierup/kernels/pointwise/expression_table.h"

namespace tierup::kernels::TIERUP_SIMD {

using RunTable = ExpressionTable;

template <typename T>
inline ExprValue value_of(const Vec<T>& lanes) {
  return lanes.value;
}
template <typename T>
inline ExprValue value_of(const Mask<T>& mask) {
  return mask.m;
}

template <typename Op, typename T>
ExprValue build_body(const ExprValue* operands) {
  return [&]<size_t... I>(std::index_sequence<I...>) {
    return value_of(Op::apply(Vec<T>(operands[I])...));
  }
  (std::make_index_sequence<Op::kArity>{});
}

template <typename Op, typename T>
inline void set_lanes(ExpressionTable& table, Body body) {
  table.set(body, kDTypeOf<T>, &build_body<Op, T>);
}
template <typename Op>
inline void set_float(ExpressionTable& table, Body body) {
  set_lanes<Op, float>(table, body);
}
template <typename Op>
inline void set_real(ExpressionTable& table, Body body) {
  set_lanes<Op, float>(table, body);
  set_lanes<Op, double>(table, body);
}
template <typename Op>
inline void set_real_predicate(ExpressionTable& table, Body body) {
  set_real<Op>(table, body);
}
template <typename T>
inline void set_where(ExpressionTable& table, ScalarType type) {
  if (is_complex(type)) return;  // There are no complex lanes.
  table.set(Body::kWhere, type, [](const ExprValue* operands) {
    return expr_select(operands[0], operands[1], operands[2]);
  });
}

}  // namespace tierup::kernels::TIERUP_SIMD
