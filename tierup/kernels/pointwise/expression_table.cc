// The bodies of the vector kernels, over expressions; and the integer and truth ones, which are
// plain loops at tier 0.
#define TIERUP_EXPRESSION_LANES
#include "tierup/kernels/pointwise/expression_table.h"

#include "tierup/kernels/pointwise/runs_activation_body.h"
#include "tierup/kernels/pointwise/runs_arithmetic_body.h"
#include "tierup/kernels/pointwise/runs_exponential_body.h"
#include "tierup/kernels/pointwise/runs_trigonometric_body.h"

namespace tierup::kernels {
namespace simd_expression {
namespace {

template <typename Op>
void set_integers(ExpressionTable& table, Body body) {
  set_lanes<Op, int32_t>(table, body);
  set_lanes<Op, int64_t>(table, body);
}

template <Opcode kOpcode>
void set_bits(ExpressionTable& table, Body body, bool with_integers) {
  const ExpressionBuild build = [](const ExprValue* operands) {
    return expr_binary(kOpcode, operands[0].type, operands[0], operands[1]);
  };
  table.set(body, ScalarType::kBool, build);
  if (!with_integers) return;
  table.set(body, ScalarType::kInt, build);
  table.set(body, ScalarType::kLong, build);
}

void add_integer_bodies(ExpressionTable& table) {
  set_integers<bodies::Neg>(table, Body::kNeg);
  set_integers<bodies::Abs>(table, Body::kAbs);
  set_integers<bodies::Square>(table, Body::kSquare);
  set_integers<bodies::Cube>(table, Body::kCube);
  set_integers<bodies::Add>(table, Body::kAdd);
  set_integers<bodies::Sub>(table, Body::kSub);
  set_integers<bodies::Mul>(table, Body::kMul);
  set_integers<bodies::AddScaled>(table, Body::kAddScaled);
  set_integers<bodies::SubScaled>(table, Body::kSubScaled);
  set_integers<bodies::Addcmul>(table, Body::kAddcmul);
  set_integers<bodies::Maximum>(table, Body::kMaximum);
  set_integers<bodies::Minimum>(table, Body::kMinimum);
  set_integers<bodies::Clamp>(table, Body::kClamp);
  set_integers<bodies::Relu>(table, Body::kRelu);
  set_integers<bodies::Eq>(table, Body::kEq);
  set_integers<bodies::Ne>(table, Body::kNe);
  set_integers<bodies::Lt>(table, Body::kLt);
  set_integers<bodies::Le>(table, Body::kLe);
  set_integers<bodies::Gt>(table, Body::kGt);
  set_integers<bodies::Ge>(table, Body::kGe);
}

// Conversions: operands come in the dtype that a body computes in.
void add_identity(ExpressionTable& table) {
  for (const ScalarType type :
       {ScalarType::kInt, ScalarType::kLong, ScalarType::kFloat, ScalarType::kDouble}) {
    table.set(Body::kIdentity, type, [](const ExprValue* operands) { return operands[0]; });
  }
}

void add_truth_bodies(ExpressionTable& table) {
  set_bits<Opcode::kAnd>(table, Body::kBitAnd, true);
  set_bits<Opcode::kOr>(table, Body::kBitOr, true);
  set_bits<Opcode::kXor>(table, Body::kBitXor, true);
  for (const Body body : {Body::kLogicalAnd, Body::kMul, Body::kMinimum}) {
    set_bits<Opcode::kAnd>(table, body, false);
  }
  for (const Body body : {Body::kLogicalOr, Body::kAdd, Body::kMaximum}) {
    set_bits<Opcode::kOr>(table, body, false);
  }
  for (const Body body : {Body::kLogicalXor, Body::kNe}) {
    set_bits<Opcode::kXor>(table, body, false);
  }
  const ExpressionBuild negate = [](const ExprValue* operands) {
    return expr_unary(Opcode::kNot, operands[0].type, operands[0]);
  };
  table.set(Body::kLogicalNot, ScalarType::kBool, negate);
  for (const ScalarType type : {ScalarType::kBool, ScalarType::kInt, ScalarType::kLong}) {
    table.set(Body::kBitNot, type, negate);
  }
  table.set(Body::kEq, ScalarType::kBool, [](const ExprValue* operands) {
    const ExprValue differs = expr_binary(Opcode::kXor, LaneType::kMask, operands[0], operands[1]);
    return expr_unary(Opcode::kNot, LaneType::kMask, differs);
  });
}

}  // namespace

ExpressionTable make_table() {
  ExpressionTable table;
  add_arithmetic_runs(table);
  add_exponential_runs(table);
  add_trigonometric_runs(table);
  add_activation_runs(table);
  add_integer_bodies(table);
  add_truth_bodies(table);
  add_identity(table);
  return table;
}

}  // namespace simd_expression

const ExpressionTable& ExpressionTable::instance() {
  static const ExpressionTable table = simd_expression::make_table();
  return table;
}

std::optional<LaneType> lane_type(ScalarType type) {
  switch (type) {
    case ScalarType::kFloat: return LaneType::kF32;
    case ScalarType::kDouble: return LaneType::kF64;
    case ScalarType::kInt: return LaneType::kI32;
    case ScalarType::kLong: return LaneType::kI64;
    case ScalarType::kBool: return LaneType::kMask;
    default: return std::nullopt;
  }
}

ExprValue convert_lanes(const ExprValue& value, LaneType to) {
  return value.type == to ? value : expr_unary(Opcode::kConvert, to, value);
}

}  // namespace tierup::kernels
