// Expression nodes: the per-element meaning of point-wise operators as plain data.
//
// A scalar body instantiated over Expr (expression.h) leaves such nodes; the code generator turns
// them into machine code. They cross the boundary of a shared object, so they hold numbers only.
#pragma once

#include <cstdint>

namespace tierup::kernels {

enum class LaneType : uint8_t { kF32, kF64, kI32, kI64, kMask };

enum class Opcode : uint8_t {
  kInput,     // immediate: the operand's number; converted from its element type to the node's lane
              // type.
  kScalar,    // immediate: the number of a run-time scalar argument (a double, or an int64).
  kConstant,  // immediate: the bits of the value.
  kAdd,
  kSub,
  kMul,
  kDiv,  // Of floats and, but for division, of integers (wrapping).
  kNeg,
  kAbs,
  kSqrt,
  kFloor,
  kCeil,
  kTrunc,
  kRoundEven,
  kCopysign,
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,  // To masks; ordered but for kNotEqual.
  kAnd,
  kOr,
  kXor,
  kNot,  // Of masks and integers.
  kShiftLeft,
  kShiftRightLogical,
  kShiftRightArithmetic,
  kSelect,       // (mask, yes, no)
  kBitcast,      // Between float and integer lanes of one width.
  kConvert,      // By value: float to integer truncates.
  kMultiplyAdd,  // (a, b, c): a * b + c of floats, rounded once where the machine can.
  kScale,     // (x, n, n as an integer): x times 2^n, rounded once; |n| is at most twice what 2^n's
              // exponent holds.
  kFarAngle,  // (x, near): near, but lanes of x beyond the limit of angles are looked up in the C
              // library; immediate: which function, an Angular.
};

struct ExprNode {
  Opcode opcode;
  LaneType type;         // Of the result.
  uint32_t operands[3];  // Earlier nodes.
  uint64_t immediate;
};

// How many nodes one of this kind reads.
constexpr uint32_t operand_count(Opcode opcode) {
  switch (opcode) {
    case Opcode::kInput:
    case Opcode::kScalar:
    case Opcode::kConstant: return 0;
    case Opcode::kNeg:
    case Opcode::kAbs:
    case Opcode::kSqrt:
    case Opcode::kFloor:
    case Opcode::kCeil:
    case Opcode::kTrunc:
    case Opcode::kRoundEven:
    case Opcode::kNot:
    case Opcode::kBitcast:
    case Opcode::kConvert: return 1;
    case Opcode::kSelect:
    case Opcode::kMultiplyAdd:
    case Opcode::kScale: return 3;
    default: return 2;
  }
}

}  // namespace tierup::kernels
