// ExprValue: a value that is not computed but written down: the operand of scalar bodies when their
// meaning is to become machine code.
//
// A builder collects the nodes; equal ones are made once. A value without a builder is a constant
// that has met no other operand yet: what is computed from constants alone is folded at once.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "tierup/kernels/simd/angular.h"
#include "tierup/kernels/simd/expression_node.h"

namespace tierup::kernels {

class ExprBuilder;

struct ExprValue {
  ExprBuilder* builder = nullptr;  // Null: a constant.
  LaneType type = LaneType::kF32;
  uint32_t node = 0;
  uint64_t bits = 0;  // Of a constant.
};

class ExprBuilder {
 public:
  const std::vector<ExprNode>& nodes() const { return nodes_; }
  ExprValue input(uint32_t operand, LaneType type) {
    return add({Opcode::kInput, type, {}, operand});
  }
  ExprValue component(uint32_t operand, uint32_t which, LaneType type) {
    return add({Opcode::kInput, type, {}, operand + (uint64_t{which} << 32U)});
  }
  ExprValue constant(LaneType type, uint64_t bits) {
    return add({Opcode::kConstant, type, {}, bits});
  }
  // The node of a value that may be a constant without a builder.
  uint32_t node_of(const ExprValue& value);
  ExprValue add(const ExprNode& node);

 private:
  using Key = std::tuple<Opcode, LaneType, uint32_t, uint32_t, uint32_t, uint64_t>;
  std::vector<ExprNode> nodes_;
  std::map<Key, uint32_t> known_;
};

// A number as a constant of a lane type; `value` is rounded to it.
ExprValue expr_constant(LaneType type, double value);
ExprValue expr_integer(LaneType type, int64_t value);
ExprValue expr_unary(Opcode opcode, LaneType type, const ExprValue& a);
ExprValue expr_binary(Opcode opcode, LaneType type, const ExprValue& a, const ExprValue& b);
// Not of constants alone.
ExprValue expr_multiply_add(const ExprValue& a, const ExprValue& b, const ExprValue& c);
// Scales x by what is no constant.
ExprValue expr_scale(const ExprValue& x, const ExprValue& n, const ExprValue& integer);
// `near`, but the function's value where x is beyond the limit of angles.
ExprValue expr_far(const ExprValue& x, const ExprValue& near, Angular function);
ExprValue expr_select(const ExprValue& condition, const ExprValue& yes, const ExprValue& no);

}  // namespace tierup::kernels
