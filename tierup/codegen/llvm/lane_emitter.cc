#include "tierup/codegen/llvm/lane_emitter.h"

#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>

#include <bit>
#include <cmath>
#include <stdexcept>

#include "tierup/kernels/simd/angular.h"
#include "tierup/kernels/simd/instruction_set.h"

namespace tierup::codegen {

using llvm::Value;

llvm::Function* begin_kernel(llvm::IRBuilder<>& builder, llvm::Module& module,
                             const std::string& symbol, KernelCount count) {
  llvm::Type* pointer = llvm::PointerType::get(builder.getContext(), 0);
  std::vector<llvm::Type*> parameters(3, pointer);
  if (count == KernelCount::kLanes) parameters.push_back(builder.getInt64Ty());
  auto* type = llvm::FunctionType::get(builder.getVoidTy(), parameters, false);
  auto* function = llvm::Function::Create(type, llvm::Function::ExternalLinkage, symbol, module);
  builder.SetInsertPoint(llvm::BasicBlock::Create(builder.getContext(), "entry", function));
  return function;
}

void finish_kernel(llvm::IRBuilder<>& builder, const llvm::Function& function) {
  builder.CreateRetVoid();
  if (llvm::verifyFunction(function)) throw std::invalid_argument("the emitted function is broken");
}

namespace {

// What compiled kernels call.
template <typename T, kernels::Angular kFunction>
void replace_far(const T* x, T* values, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    const auto angle = static_cast<double>(x[i]);
    if (!(std::abs(angle) < kernels::kAngleLimit))
      values[i] = static_cast<T>(kernels::library_value(kFunction, angle));
  }
}
template <kernels::Angular kFunction>
uint64_t replacement(LaneType type) {
  return type == LaneType::kF32 ? reinterpret_cast<uint64_t>(&replace_far<float, kFunction>)
                                : reinterpret_cast<uint64_t>(&replace_far<double, kFunction>);
}
uint64_t library_of(kernels::Angular function, LaneType type) {
  switch (function) {
    case kernels::Angular::kSine: return replacement<kernels::Angular::kSine>(type);
    case kernels::Angular::kCosine: return replacement<kernels::Angular::kCosine>(type);
    case kernels::Angular::kTangent: return replacement<kernels::Angular::kTangent>(type);
  }
  throw std::invalid_argument("unknown function of an angle");
}

}  // namespace

void check_nodes(const KernelSpec& spec, uint32_t inputs) {
  const auto fail = [](const char* what) { throw std::invalid_argument(what); };
  if (spec.output_count == 0 || spec.output_count > spec.operand_count) fail("no outputs");
  for (uint32_t i = 0; i < spec.node_count; ++i) {
    const ExprNode& node = spec.nodes[i];
    const uint32_t arity = kernels::operand_count(node.opcode);
    for (uint32_t k = 0; k < arity; ++k) {
      if (node.operands[k] >= i) fail("a node uses a later one");
    }
    if (node.opcode == Opcode::kInput && operand_of(node) >= inputs) fail("no such input");
    if (node.opcode == Opcode::kInput && component_of(node) > 0 &&
        component_of(node) >= spec.operands[operand_of(node)].components) {
      fail("no such component");
    }
    if (node.opcode == Opcode::kScalar && node.immediate >= spec.scalar_count)
      fail("no such scalar");
  }
  uint32_t results = 0;
  for (uint32_t i = 0; i < spec.output_count; ++i) results += spec.operands[i].components;
  for (uint32_t i = 0; i < results; ++i) {
    if (spec.results[i] >= spec.node_count) fail("no such result");
  }
}

unsigned lane_count(const KernelSpec& spec, int vector_bits) {
  unsigned bytes = 4;
  for (uint32_t i = 0; i < spec.node_count; ++i) {
    const LaneType t = spec.nodes[i].type;
    if (t == LaneType::kF64 || t == LaneType::kI64) bytes = 8;
  }
  return static_cast<unsigned>(vector_bits) / 8 / bytes;
}

LaneType LaneEmitter::folded_lane(ElementType element) {
  switch (element) {
    case ElementType::kF32: return LaneType::kF32;
    case ElementType::kF64: return LaneType::kF64;
    case ElementType::kI64: return LaneType::kI64;
    default: throw std::invalid_argument("a fold of such elements");
  }
}

Value* LaneEmitter::fold_identity(Fold fold, LaneType type, unsigned width) {
  llvm::Type* scalar = scalar_type(type);
  if (fold == Fold::kSum) return splat(llvm::Constant::getNullValue(scalar), width);
  if (type == LaneType::kI64) throw std::invalid_argument("a fold of such elements");
  return splat(llvm::ConstantFP::getInfinity(scalar, fold == Fold::kLargest), width);
}

Value* LaneEmitter::folded(Fold fold, LaneType type, Value* so_far, Value* value) {
  if (fold == Fold::kSum) {
    return type == LaneType::kI64 ? builder_.CreateAdd(so_far, value)
                                  : builder_.CreateFAdd(so_far, value);
  }
  Value* beyond = fold == Fold::kLargest ? builder_.CreateFCmpOGT(value, so_far)
                                         : builder_.CreateFCmpOLT(value, so_far);
  Value* takes = builder_.CreateOr(beyond, builder_.CreateFCmpUNO(value, value));
  return builder_.CreateSelect(takes, value, so_far);
}

llvm::Type* LaneEmitter::scalar_type(LaneType type) {
  switch (type) {
    case LaneType::kF32: return builder_.getFloatTy();
    case LaneType::kF64: return builder_.getDoubleTy();
    case LaneType::kI32: return builder_.getInt32Ty();
    case LaneType::kI64: return builder_.getInt64Ty();
    case LaneType::kMask: return builder_.getInt1Ty();
  }
  throw std::invalid_argument("unknown lane type");
}

llvm::Type* LaneEmitter::element_type(ElementType type) {
  switch (type) {
    case ElementType::kF32: return builder_.getFloatTy();
    case ElementType::kF64: return builder_.getDoubleTy();
    case ElementType::kI32: return builder_.getInt32Ty();
    case ElementType::kI64: return builder_.getInt64Ty();
    case ElementType::kBool: return builder_.getInt8Ty();
    case ElementType::kBF16: return builder_.getInt16Ty();
  }
  throw std::invalid_argument("unknown element type");
}

Value* LaneEmitter::to_lane(Value* value, ElementType from, LaneType to, unsigned width) {
  switch (from) {
    case ElementType::kBF16: {
      Value* bits =
          builder_.CreateShl(builder_.CreateZExt(value, widen(builder_.getInt32Ty(), width)), 16);
      return convert(builder_.CreateBitCast(bits, widen(builder_.getFloatTy(), width)),
                     LaneType::kF32, to, width);
    }
    case ElementType::kBool: {
      Value* truth = builder_.CreateICmpNE(value, llvm::Constant::getNullValue(value->getType()));
      return convert(truth, LaneType::kMask, to, width);
    }
    case ElementType::kF32: return convert(value, LaneType::kF32, to, width);
    case ElementType::kF64: return convert(value, LaneType::kF64, to, width);
    case ElementType::kI32: return convert(value, LaneType::kI32, to, width);
    case ElementType::kI64: return convert(value, LaneType::kI64, to, width);
  }
  throw std::invalid_argument("unknown element type");
}

Value* LaneEmitter::convert(Value* value, LaneType from, LaneType to, unsigned width) {
  if (from == to) return value;
  llvm::Type* target = widen(scalar_type(to), width);
  if (to == LaneType::kMask) {
    llvm::Constant* zero = llvm::Constant::getNullValue(value->getType());
    return is_float(from) ? builder_.CreateFCmpUNE(value, zero)
                          : builder_.CreateICmpNE(value, zero);
  }
  if (from == LaneType::kMask) {
    return is_float(to) ? builder_.CreateUIToFP(value, target) : builder_.CreateZExt(value, target);
  }
  if (is_float(from))
    return is_float(to) ? builder_.CreateFPCast(value, target) : truncated(value, to, width);
  return is_float(to) ? builder_.CreateSIToFP(value, target)
                      : builder_.CreateSExtOrTrunc(value, target);
}

// As kernels::truncated: NaN and what does not fit become the smallest number.
Value* LaneEmitter::truncated(Value* value, LaneType to, unsigned width) {
  llvm::Type* target = widen(scalar_type(to), width);
  const double end = to == LaneType::kI32 ? 0x1p31 : 0x1p63;
  const auto bits = to == LaneType::kI32 ? uint64_t{1} << 31 : uint64_t{1} << 63;
  Value* fits = builder_.CreateAnd(
      builder_.CreateFCmpOGE(value, llvm::ConstantFP::get(value->getType(), -end)),
      builder_.CreateFCmpOLT(value, llvm::ConstantFP::get(value->getType(), end)));
  return builder_.CreateSelect(fits, builder_.CreateFPToSI(value, target),
                               llvm::ConstantInt::get(target, bits));
}

Value* LaneEmitter::to_element(Value* value, LaneType from, ElementType to, unsigned width) {
  switch (to) {
    case ElementType::kF32: return convert(value, from, LaneType::kF32, width);
    case ElementType::kF64: return convert(value, from, LaneType::kF64, width);
    case ElementType::kI32: return convert(value, from, LaneType::kI32, width);
    case ElementType::kI64: return convert(value, from, LaneType::kI64, width);
    case ElementType::kBool:
      return builder_.CreateZExt(convert(value, from, LaneType::kMask, width),
                                 widen(builder_.getInt8Ty(), width));
    case ElementType::kBF16: return round_bf16(convert(value, from, LaneType::kF32, width), width);
  }
  throw std::invalid_argument("unknown element type");
}

// To nearest even; every NaN becomes 0x7fc0, as BFloat16 does.
Value* LaneEmitter::round_bf16(Value* value, unsigned width) {
  llvm::Type* i32 = widen(builder_.getInt32Ty(), width);
  const auto constant = [&](uint32_t bits) { return llvm::ConstantInt::get(i32, bits); };
  Value* raw = builder_.CreateBitCast(value, i32);
  Value* odd = builder_.CreateAnd(builder_.CreateLShr(raw, constant(16)), constant(1));
  Value* rounded = builder_.CreateLShr(
      builder_.CreateAdd(raw, builder_.CreateAdd(odd, constant(0x7fff))), constant(16));
  Value* nan = builder_.CreateFCmpUNO(value, value);
  Value* bits = builder_.CreateSelect(nan, constant(0x7fc0), rounded);
  return builder_.CreateTrunc(bits, widen(builder_.getInt16Ty(), width));
}

// x times 2^n, rounded once: by one instruction where there is one. Else by two factors, of which
// the first leaves x exact.
Value* LaneEmitter::scaled(LaneType type, Value* x, Value* n, Value* integer, unsigned width) {
  const unsigned bits = scalar_type(type)->getScalarSizeInBits();
  const unsigned lanes = 512 / bits;
  if (vector_bits_ == 512 && width % lanes == 0) {
    Value* result = llvm::PoisonValue::get(x->getType());
    for (unsigned first = 0; first < width; first += lanes) {
      result = builder_.CreateInsertVector(
          x->getType(), result,
          scaled_register(bits, register_at(x, first, lanes), register_at(n, first, lanes)),
          builder_.getInt64(first));
    }
    return result;
  }
  llvm::Type* whole = integer->getType();
  Value* half = builder_.CreateAShr(integer, llvm::ConstantInt::get(whole, 1));
  Value* rest = builder_.CreateSub(integer, half);
  return builder_.CreateFMul(builder_.CreateFMul(x, power_of_two(half, x->getType(), bits)),
                             power_of_two(rest, x->getType(), bits));
}

Value* LaneEmitter::register_at(Value* vector, unsigned first, unsigned lanes) {
  llvm::Type* element = vector->getType()->getScalarType();
  return builder_.CreateExtractVector(llvm::FixedVectorType::get(element, lanes), vector,
                                      builder_.getInt64(first));
}

Value* LaneEmitter::scaled_register(unsigned bits, Value* x, Value* n) {
  constexpr int kCurrentRounding = 4;
  const auto intrinsic = bits == 32 ? llvm::Intrinsic::x86_avx512_mask_scalef_ps_512
                                    : llvm::Intrinsic::x86_avx512_mask_scalef_pd_512;
  Value* all = llvm::ConstantInt::getAllOnesValue(builder_.getIntNTy(512 / bits));
  return builder_.CreateIntrinsic(intrinsic, {},
                                  {x, n, x, all, builder_.getInt32(kCurrentRounding)});
}

// The lanes go through memory to the C library, in a block that is hardly ever entered.
Value* LaneEmitter::far_angle(const ExprNode& node, Value* x, Value* near, unsigned width) {
  llvm::LLVMContext& context = builder_.getContext();
  llvm::BasicBlock* before = builder_.GetInsertBlock();
  llvm::Function* function = before->getParent();
  Value* limit = llvm::ConstantFP::get(x->getType(), kernels::kAngleLimit);
  Value* far =
      builder_.CreateFCmpUGE(builder_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x), limit);
  Value* any = width == 1 ? far : builder_.CreateOrReduce(far);
  auto* rare = llvm::BasicBlock::Create(context, "far", function);
  auto* after = llvm::BasicBlock::Create(context, "near", function);
  constexpr uint32_t kNearWeight = 1U << 16;
  builder_.CreateCondBr(any, rare, after,
                        llvm::MDBuilder(context).createBranchWeights(1, kNearWeight));
  builder_.SetInsertPoint(&function->getEntryBlock(), function->getEntryBlock().begin());
  Value* angles = builder_.CreateAlloca(x->getType());
  Value* values = builder_.CreateAlloca(x->getType());
  builder_.SetInsertPoint(rare);
  builder_.CreateStore(x, angles);
  builder_.CreateStore(near, values);
  llvm::Type* pointer = values->getType();
  auto* type = llvm::FunctionType::get(builder_.getVoidTy(),
                                       {pointer, pointer, builder_.getInt64Ty()}, false);
  const uint64_t address = library_of(static_cast<kernels::Angular>(node.immediate), node.type);
  builder_.CreateCall(type, builder_.CreateIntToPtr(builder_.getInt64(address), pointer),
                      {angles, values, builder_.getInt64(width)});
  Value* looked_up = builder_.CreateLoad(x->getType(), values);
  builder_.CreateBr(after);
  builder_.SetInsertPoint(after);
  llvm::PHINode* result = builder_.CreatePHI(x->getType(), 2);
  result->addIncoming(near, before);
  result->addIncoming(looked_up, rare);
  return result;
}

Value* LaneEmitter::power_of_two(Value* integer, llvm::Type* type, unsigned bits) {
  const uint64_t bias = bits == 32 ? 127 : 1023;
  const uint64_t mantissa = bits == 32 ? 23 : 52;
  Value* biased = builder_.CreateAdd(integer, llvm::ConstantInt::get(integer->getType(), bias));
  return builder_.CreateBitCast(
      builder_.CreateShl(biased, llvm::ConstantInt::get(integer->getType(), mantissa)), type);
}

Value* LaneEmitter::constant(const ExprNode& node) {
  llvm::Type* type = scalar_type(node.type);
  if (!is_float(node.type)) return llvm::ConstantInt::get(type, node.immediate);
  const unsigned bits = node.type == LaneType::kF32 ? 32 : 64;
  return builder_.CreateBitCast(llvm::ConstantInt::get(builder_.getIntNTy(bits), node.immediate),
                                type);
}

// (a < b) | (a != a), or with >, for a constant b that is a number: one comparison, true of NaN,
// which with the choice between a and b is one instruction. Null for others.
Value* LaneEmitter::beyond_or_nan(const ExprNode& either, const std::vector<Value*>& values) {
  const ExprNode& beyond = nodes_[either.operands[0]];
  const ExprNode& nan = nodes_[either.operands[1]];
  const uint32_t a = beyond.operands[0];
  const bool is_less = beyond.opcode == Opcode::kLess;
  if (!is_less && beyond.opcode != Opcode::kGreater) return nullptr;
  if (nan.opcode != Opcode::kNotEqual || nan.operands[0] != a || nan.operands[1] != a)
    return nullptr;
  const ExprNode& b = nodes_[beyond.operands[1]];
  if (b.opcode != Opcode::kConstant || !is_float(b.type)) return nullptr;
  const double number = b.type == LaneType::kF32
                            ? std::bit_cast<float>(static_cast<uint32_t>(b.immediate))
                            : std::bit_cast<double>(b.immediate);
  if (std::isnan(number)) return nullptr;
  Value* bound = values[beyond.operands[1]];
  return is_less ? builder_.CreateFCmpULT(values[a], bound)
                 : builder_.CreateFCmpUGT(values[a], bound);
}

Value* LaneEmitter::operation(const ExprNode& node, const std::vector<Value*>& values,
                              unsigned width) {
  Value* a = values[node.operands[0]];
  const LaneType from = nodes_[node.operands[0]].type;
  const uint32_t arity = kernels::operand_count(node.opcode);
  Value* b = arity > 1 ? values[node.operands[1]] : nullptr;
  const bool floats = is_float(from);
  switch (node.opcode) {
    case Opcode::kAdd: return floats ? builder_.CreateFAdd(a, b) : builder_.CreateAdd(a, b);
    case Opcode::kSub: return floats ? builder_.CreateFSub(a, b) : builder_.CreateSub(a, b);
    case Opcode::kMul: return floats ? builder_.CreateFMul(a, b) : builder_.CreateMul(a, b);
    case Opcode::kDiv: return builder_.CreateFDiv(a, b);
    case Opcode::kNeg: return floats ? builder_.CreateFNeg(a) : builder_.CreateNeg(a);
    case Opcode::kAbs:
      return floats ? builder_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, a)
                    : builder_.CreateBinaryIntrinsic(llvm::Intrinsic::abs, a, builder_.getFalse());
    case Opcode::kSqrt: return builder_.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, a);
    case Opcode::kFloor: return builder_.CreateUnaryIntrinsic(llvm::Intrinsic::floor, a);
    case Opcode::kCeil: return builder_.CreateUnaryIntrinsic(llvm::Intrinsic::ceil, a);
    case Opcode::kTrunc: return builder_.CreateUnaryIntrinsic(llvm::Intrinsic::trunc, a);
    case Opcode::kRoundEven: return builder_.CreateUnaryIntrinsic(llvm::Intrinsic::rint, a);
    case Opcode::kCopysign: return builder_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, a, b);
    case Opcode::kEqual: return floats ? builder_.CreateFCmpOEQ(a, b) : builder_.CreateICmpEQ(a, b);
    case Opcode::kNotEqual:
      return floats ? builder_.CreateFCmpUNE(a, b) : builder_.CreateICmpNE(a, b);
    case Opcode::kLess: return floats ? builder_.CreateFCmpOLT(a, b) : builder_.CreateICmpSLT(a, b);
    case Opcode::kLessEqual:
      return floats ? builder_.CreateFCmpOLE(a, b) : builder_.CreateICmpSLE(a, b);
    case Opcode::kGreater:
      return floats ? builder_.CreateFCmpOGT(a, b) : builder_.CreateICmpSGT(a, b);
    case Opcode::kGreaterEqual:
      return floats ? builder_.CreateFCmpOGE(a, b) : builder_.CreateICmpSGE(a, b);
    case Opcode::kAnd: return builder_.CreateAnd(a, b);
    case Opcode::kOr:
      if (Value* one = beyond_or_nan(node, values)) return one;
      return builder_.CreateOr(a, b);
    case Opcode::kXor: return builder_.CreateXor(a, b);
    case Opcode::kNot: return builder_.CreateNot(a);
    case Opcode::kShiftLeft: return builder_.CreateShl(a, b);
    case Opcode::kShiftRightLogical: return builder_.CreateLShr(a, b);
    case Opcode::kShiftRightArithmetic: return builder_.CreateAShr(a, b);
    case Opcode::kSelect: return builder_.CreateSelect(a, b, values[node.operands[2]]);
    case Opcode::kMultiplyAdd: return multiply_add(a, b, values[node.operands[2]]);
    case Opcode::kScale: return scaled(node.type, a, b, values[node.operands[2]], width);
    case Opcode::kFarAngle: return far_angle(node, a, b, width);
    case Opcode::kBitcast: return builder_.CreateBitCast(a, widen(scalar_type(node.type), width));
    case Opcode::kConvert: return convert(a, from, node.type, width);
    default: throw std::invalid_argument("unknown opcode");
  }
}

Value* LaneEmitter::multiply_add(Value* a, Value* b, Value* sum) {
  using kernels::InstructionSet;
  const InstructionSet set = vector_bits_ < 256 ? InstructionSet::kBase : InstructionSet::kAvx2;
  if (!kernels::fuses(set)) return builder_.CreateFAdd(builder_.CreateFMul(a, b), sum);
  return builder_.CreateIntrinsic(llvm::Intrinsic::fma, {a->getType()}, {a, b, sum});
}

}  // namespace tierup::codegen
