#include "tierup/kernels/simd/expression.h"

#include <bit>

#include "tierup/base/error.h"

namespace tierup::kernels {
namespace {

double number_of(const ExprValue& value) {
  return value.type == LaneType::kF32
             ? static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(value.bits)))
             : std::bit_cast<double>(value.bits);
}

bool is_float(LaneType type) { return type == LaneType::kF32 || type == LaneType::kF64; }

// The low bits that a lane of the type has.
uint64_t trimmed(LaneType type, uint64_t bits) {
  switch (type) {
    case LaneType::kF32:
    case LaneType::kI32: return bits & 0xffffffffU;
    case LaneType::kMask: return bits & 1U;
    default: return bits;
  }
}

ExprValue fold_unary(Opcode opcode, LaneType type, const ExprValue& a) {
  switch (opcode) {
    case Opcode::kBitcast: return {nullptr, type, 0, a.bits};
    case Opcode::kNot: return {nullptr, type, 0, trimmed(type, ~a.bits)};
    case Opcode::kNeg:
      if (is_float(type)) return expr_constant(type, -number_of(a));
      return {nullptr, type, 0, trimmed(type, 0 - a.bits)};
    default: TIERUP_CHECK(false);
  }
}

ExprValue fold_float(Opcode opcode, LaneType type, double a, double b) {
  // One rounding: the sum or product of two floats is exact enough in double for that.
  switch (opcode) {
    case Opcode::kAdd: return expr_constant(type, a + b);
    case Opcode::kSub: return expr_constant(type, a - b);
    case Opcode::kMul: return expr_constant(type, a * b);
    case Opcode::kDiv: return expr_constant(type, a / b);
    default: TIERUP_CHECK(false);
  }
}

ExprValue fold_binary(Opcode opcode, LaneType type, const ExprValue& a, const ExprValue& b) {
  if (is_float(a.type)) return fold_float(opcode, type, number_of(a), number_of(b));
  const auto integer = [&](uint64_t bits) -> ExprValue {
    return {nullptr, type, 0, trimmed(type, bits)};
  };
  switch (opcode) {
    case Opcode::kAdd: return integer(a.bits + b.bits);
    case Opcode::kSub: return integer(a.bits - b.bits);
    case Opcode::kMul: return integer(a.bits * b.bits);
    case Opcode::kAnd: return integer(a.bits & b.bits);
    case Opcode::kOr: return integer(a.bits | b.bits);
    case Opcode::kXor: return integer(a.bits ^ b.bits);
    case Opcode::kShiftLeft: return integer(a.bits << b.bits);
    default: TIERUP_CHECK(false);
  }
}

}  // namespace

ExprValue ExprBuilder::add(const ExprNode& node) {
  const Key key{node.opcode,      node.type,        node.operands[0],
                node.operands[1], node.operands[2], node.immediate};
  const auto [entry, is_new] = known_.try_emplace(key, static_cast<uint32_t>(nodes_.size()));
  if (is_new) nodes_.push_back(node);
  return {this, node.type, entry->second, 0};
}

uint32_t ExprBuilder::node_of(const ExprValue& value) {
  return value.builder != nullptr ? value.node : constant(value.type, value.bits).node;
}

ExprValue expr_constant(LaneType type, double value) {
  switch (type) {
    case LaneType::kF32:
      return {nullptr, type, 0, std::bit_cast<uint32_t>(static_cast<float>(value))};
    case LaneType::kF64: return {nullptr, type, 0, std::bit_cast<uint64_t>(value)};
    case LaneType::kMask: return {nullptr, type, 0, value != 0 ? uint64_t{1} : uint64_t{0}};
    default: return expr_integer(type, static_cast<int64_t>(value));
  }
}

ExprValue expr_integer(LaneType type, int64_t value) {
  return {nullptr, type, 0, trimmed(type, static_cast<uint64_t>(value))};
}

ExprValue expr_unary(Opcode opcode, LaneType type, const ExprValue& a) {
  if (a.builder == nullptr) return fold_unary(opcode, type, a);
  return a.builder->add({opcode, type, {a.node}, 0});
}

ExprValue expr_binary(Opcode opcode, LaneType type, const ExprValue& a, const ExprValue& b) {
  ExprBuilder* builder = a.builder != nullptr ? a.builder : b.builder;
  if (builder == nullptr) return fold_binary(opcode, type, a, b);
  const uint32_t left = builder->node_of(a);
  const uint32_t right = builder->node_of(b);
  return builder->add({opcode, type, {left, right}, 0});
}

ExprValue expr_multiply_add(const ExprValue& a, const ExprValue& b, const ExprValue& c) {
  ExprBuilder* builder = a.builder != nullptr ? a.builder : b.builder;
  if (builder == nullptr) builder = c.builder;
  TIERUP_CHECK(builder != nullptr);
  const uint32_t left = builder->node_of(a);
  const uint32_t right = builder->node_of(b);
  return builder->add({Opcode::kMultiplyAdd, a.type, {left, right, builder->node_of(c)}, 0});
}

ExprValue expr_scale(const ExprValue& x, const ExprValue& n, const ExprValue& integer) {
  ExprBuilder& builder = *n.builder;
  const uint32_t number = builder.node_of(x);
  return builder.add(
      {Opcode::kScale, x.type, {number, builder.node_of(n), builder.node_of(integer)}, 0});
}

ExprValue expr_far(const ExprValue& x, const ExprValue& near, Angular function) {
  const auto number = static_cast<uint64_t>(function);
  return x.builder->add({Opcode::kFarAngle, x.type, {x.node, x.builder->node_of(near)}, number});
}

ExprValue expr_select(const ExprValue& condition, const ExprValue& yes, const ExprValue& no) {
  if (condition.builder == nullptr) return condition.bits != 0 ? yes : no;
  ExprBuilder& builder = *condition.builder;
  const uint32_t first = builder.node_of(yes);
  const uint32_t second = builder.node_of(no);
  return builder.add({Opcode::kSelect, yes.type, {condition.node, first, second}, 0});
}

}  // namespace tierup::kernels
