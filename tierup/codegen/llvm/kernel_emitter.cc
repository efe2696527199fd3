// The function has three loops over one body: several registers of lanes at a time, one register,
// one element. Long bodies are chains of dependent instructions, a polynomial after the other; the
// first loop's vectors are wider than a register, so that the back end splits them and interleaves
// as many chains as the processor can work on. Loads and stores convert between element and lane
// types; every node becomes one or two instructions.
#include "tierup/codegen/llvm/kernel_emitter.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/Verifier.h>

#include <stdexcept>
#include <vector>

namespace tierup::codegen {
namespace {

using llvm::Value;

class KernelEmitter {
 public:
  KernelEmitter(const KernelSpec& spec, llvm::LLVMContext& context, int vector_bits)
      : spec_(spec),
        context_(context),
        builder_(context),
        vector_bits_(vector_bits),
        width_(lanes(spec, vector_bits)) {}

  std::unique_ptr<llvm::Module> emit(const std::string& symbol) {
    check();
    auto module = std::make_unique<llvm::Module>(symbol, context_);
    llvm::Type* pointer = llvm::PointerType::get(context_, 0);
    llvm::Type* i64 = builder_.getInt64Ty();
    auto* type =
        llvm::FunctionType::get(builder_.getVoidTy(), {pointer, pointer, pointer, i64}, false);
    auto* function = llvm::Function::Create(type, llvm::Function::ExternalLinkage, symbol, *module);
    auto* entry = llvm::BasicBlock::Create(context_, "entry", function);
    builder_.SetInsertPoint(entry);
    load_arguments(*function);
    Value* count = function->getArg(3);
    const auto whole = [&](unsigned width) {
      return builder_.CreateSub(count, builder_.CreateURem(count, builder_.getInt64(width)));
    };
    Value* begin = builder_.getInt64(0);
    if (const unsigned chains = interleaved(); chains > 1) {
      Value* end = whole(chains * width_);
      loop(*function, begin, end, chains * width_);
      begin = end;
    }
    Value* end = whole(width_);
    loop(*function, begin, end, width_);
    loop(*function, end, count, 1);
    builder_.CreateRetVoid();
    if (llvm::verifyFunction(*function))
      throw std::invalid_argument("the emitted function is broken");
    return module;
  }

 private:
  static unsigned lanes(const KernelSpec& spec, int vector_bits) {
    unsigned bytes = 4;
    for (uint32_t i = 0; i < spec.node_count; ++i) {
      const LaneType t = spec.nodes[i].type;
      if (t == LaneType::kF64 || t == LaneType::kI64) bytes = 8;
    }
    return static_cast<unsigned>(vector_bits) / 8 / bytes;
  }

  // Registers of lanes to work on side by side.
  unsigned interleaved() const {
    if (spec_.node_count > 24) return 4;
    return spec_.node_count > 8 ? 2 : 1;
  }

  void check() const {
    const auto fail = [](const char* what) { throw std::invalid_argument(what); };
    if (spec_.output_count == 0 || spec_.output_count > spec_.operand_count) fail("no outputs");
    for (uint32_t i = 0; i < spec_.node_count; ++i) {
      const ExprNode& node = spec_.nodes[i];
      const uint32_t arity = operand_count(node.opcode);
      for (uint32_t k = 0; k < arity; ++k) {
        if (node.operands[k] >= i) fail("a node uses a later one");
      }
      if (node.opcode == Opcode::kInput && node.immediate >= spec_.operand_count)
        fail("no such input");
      if (node.opcode == Opcode::kScalar && node.immediate >= spec_.scalar_count)
        fail("no such scalar");
    }
    for (uint32_t i = 0; i < spec_.output_count; ++i) {
      if (spec_.results[i] >= spec_.node_count) fail("no such result");
    }
  }

  bool has_stride(uint32_t operand) const {
    const Access access = spec_.operands[operand].access;
    return access == Access::kStrided || access == Access::kSplat;
  }

  static uint32_t operand_count(Opcode opcode) {
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
      case Opcode::kScale: return 3;
      default: return 2;
    }
  }

  void load_arguments(llvm::Function& function) {
    llvm::Type* pointer = llvm::PointerType::get(context_, 0);
    llvm::Type* i64 = builder_.getInt64Ty();
    for (uint32_t i = 0; i < spec_.operand_count; ++i) {
      Value* place = builder_.CreateConstInBoundsGEP1_64(pointer, function.getArg(0), i);
      data_.push_back(builder_.CreateLoad(pointer, place));
      Value* stride = nullptr;
      if (has_stride(i)) {
        stride = builder_.CreateLoad(
            i64, builder_.CreateConstInBoundsGEP1_64(i64, function.getArg(1), i));
      }
      strides_.push_back(stride);
    }
    for (uint32_t i = 0; i < spec_.scalar_count; ++i) {
      llvm::Type* type = spec_.scalars[i] == LaneType::kF64 ? builder_.getDoubleTy() : i64;
      scalars_.push_back(builder_.CreateLoad(
          type, builder_.CreateConstInBoundsGEP1_64(i64, function.getArg(2), i)));
    }
    // A broadcast operand that is not also written is loaded once.
    for (uint32_t i = 0; i < spec_.operand_count; ++i) {
      const bool once = i >= spec_.output_count && spec_.operands[i].access == Access::kBroadcast;
      hoisted_.push_back(
          once ? builder_.CreateLoad(element_type(spec_.operands[i].element), data_[i]) : nullptr);
    }
  }

  void loop(llvm::Function& function, Value* begin, Value* end, unsigned width) {
    llvm::BasicBlock* before = builder_.GetInsertBlock();
    auto* body = llvm::BasicBlock::Create(context_, "body", &function);
    auto* after = llvm::BasicBlock::Create(context_, "after", &function);
    builder_.CreateCondBr(builder_.CreateICmpSLT(begin, end), body, after);
    builder_.SetInsertPoint(body);
    llvm::PHINode* index = builder_.CreatePHI(builder_.getInt64Ty(), 2);
    index->addIncoming(begin, before);
    body_of(index, width);
    Value* next = builder_.CreateAdd(index, builder_.getInt64(width));
    index->addIncoming(next, builder_.GetInsertBlock());
    builder_.CreateCondBr(builder_.CreateICmpSLT(next, end), body, after);
    builder_.SetInsertPoint(after);
  }

  void body_of(Value* index, unsigned width) {
    std::vector<Value*> values;
    for (uint32_t i = 0; i < spec_.node_count; ++i) {
      values.push_back(node_value(spec_.nodes[i], values, index, width));
    }
    for (uint32_t i = 0; i < spec_.output_count; ++i) {
      store(i, values[spec_.results[i]], spec_.nodes[spec_.results[i]].type, index, width);
    }
  }

  llvm::Type* scalar_type(LaneType type) {
    switch (type) {
      case LaneType::kF32: return builder_.getFloatTy();
      case LaneType::kF64: return builder_.getDoubleTy();
      case LaneType::kI32: return builder_.getInt32Ty();
      case LaneType::kI64: return builder_.getInt64Ty();
      case LaneType::kMask: return builder_.getInt1Ty();
    }
    throw std::invalid_argument("unknown lane type");
  }
  llvm::Type* element_type(ElementType type) {
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
  static llvm::Type* widen(llvm::Type* type, unsigned width) {
    return width == 1 ? type : llvm::FixedVectorType::get(type, width);
  }
  Value* splat(Value* value, unsigned width) {
    return width == 1 ? value : builder_.CreateVectorSplat(width, value);
  }

  Value* address(uint32_t operand, Value* index) {
    if (strides_[operand] != nullptr) {
      return builder_.CreateGEP(builder_.getInt8Ty(), data_[operand],
                                builder_.CreateMul(index, strides_[operand]));
    }
    return builder_.CreateGEP(element_type(spec_.operands[operand].element), data_[operand], index);
  }

  Value* load(uint32_t operand, Value* index, unsigned width) {
    llvm::Type* element = element_type(spec_.operands[operand].element);
    const Access access = spec_.operands[operand].access;
    if (access == Access::kBroadcast) {
      Value* value = hoisted_[operand] != nullptr ? hoisted_[operand]
                                                  : builder_.CreateLoad(element, data_[operand]);
      return splat(value, width);
    }
    if (access != Access::kStrided || width == 1) {
      return builder_.CreateAlignedLoad(widen(element, width), address(operand, index),
                                        llvm::Align(1));
    }
    Value* gathered = llvm::PoisonValue::get(widen(element, width));
    for (unsigned lane = 0; lane < width; ++lane) {
      Value* at = builder_.CreateAdd(index, builder_.getInt64(lane));
      Value* one = builder_.CreateAlignedLoad(element, address(operand, at), llvm::Align(1));
      gathered = builder_.CreateInsertElement(gathered, one, lane);
    }
    return gathered;
  }

  // From the element type in memory to the lane type of the node.
  Value* to_lane(Value* value, ElementType from, LaneType to, unsigned width) {
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

  static bool is_float(LaneType type) { return type == LaneType::kF32 || type == LaneType::kF64; }

  Value* convert(Value* value, LaneType from, LaneType to, unsigned width) {
    if (from == to) return value;
    llvm::Type* target = widen(scalar_type(to), width);
    if (to == LaneType::kMask) {
      llvm::Constant* zero = llvm::Constant::getNullValue(value->getType());
      return is_float(from) ? builder_.CreateFCmpUNE(value, zero)
                            : builder_.CreateICmpNE(value, zero);
    }
    if (from == LaneType::kMask) {
      return is_float(to) ? builder_.CreateUIToFP(value, target)
                          : builder_.CreateZExt(value, target);
    }
    if (is_float(from))
      return is_float(to) ? builder_.CreateFPCast(value, target) : truncated(value, to, width);
    return is_float(to) ? builder_.CreateSIToFP(value, target)
                        : builder_.CreateSExtOrTrunc(value, target);
  }

  // As kernels::truncated: NaN and what does not fit become the smallest number.
  Value* truncated(Value* value, LaneType to, unsigned width) {
    llvm::Type* target = widen(scalar_type(to), width);
    const double end = to == LaneType::kI32 ? 0x1p31 : 0x1p63;
    const auto bits = to == LaneType::kI32 ? uint64_t{1} << 31 : uint64_t{1} << 63;
    Value* fits = builder_.CreateAnd(
        builder_.CreateFCmpOGE(value, llvm::ConstantFP::get(value->getType(), -end)),
        builder_.CreateFCmpOLT(value, llvm::ConstantFP::get(value->getType(), end)));
    return builder_.CreateSelect(fits, builder_.CreateFPToSI(value, target),
                                 llvm::ConstantInt::get(target, bits));
  }

  void store(uint32_t output, Value* value, LaneType from, Value* index, unsigned width) {
    const ElementType element = spec_.operands[output].element;
    Value* stored = to_element(value, from, element, width);
    if (spec_.operands[output].access == Access::kContiguous || width == 1) {
      builder_.CreateAlignedStore(stored, address(output, index), llvm::Align(1));
      return;
    }
    for (unsigned lane = 0; lane < width; ++lane) {
      Value* at = builder_.CreateAdd(index, builder_.getInt64(lane));
      builder_.CreateAlignedStore(builder_.CreateExtractElement(stored, lane), address(output, at),
                                  llvm::Align(1));
    }
  }

  Value* to_element(Value* value, LaneType from, ElementType to, unsigned width) {
    switch (to) {
      case ElementType::kF32: return convert(value, from, LaneType::kF32, width);
      case ElementType::kF64: return convert(value, from, LaneType::kF64, width);
      case ElementType::kI32: return convert(value, from, LaneType::kI32, width);
      case ElementType::kI64: return convert(value, from, LaneType::kI64, width);
      case ElementType::kBool:
        return builder_.CreateZExt(convert(value, from, LaneType::kMask, width),
                                   widen(builder_.getInt8Ty(), width));
      case ElementType::kBF16:
        return round_bf16(convert(value, from, LaneType::kF32, width), width);
    }
    throw std::invalid_argument("unknown element type");
  }

  // To nearest even; every NaN becomes 0x7fc0, as BFloat16 does.
  Value* round_bf16(Value* value, unsigned width) {
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

  Value* node_value(const ExprNode& node, const std::vector<Value*>& values, Value* index,
                    unsigned width) {
    switch (node.opcode) {
      case Opcode::kInput: {
        const auto operand = static_cast<uint32_t>(node.immediate);
        return to_lane(load(operand, index, width), spec_.operands[operand].element, node.type,
                       width);
      }
      case Opcode::kScalar: {
        const auto which = static_cast<uint32_t>(node.immediate);
        return splat(convert(scalars_[which], spec_.scalars[which], node.type, 1), width);
      }
      case Opcode::kConstant: return splat(constant(node), width);
      default: return operation(node, values, width);
    }
  }

  // x times 2^n, rounded once: by one instruction where there is one. Else by two factors, of which
  // the first leaves x exact.
  Value* scaled(LaneType type, Value* x, Value* n, Value* integer, unsigned width) {
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
  Value* register_at(Value* vector, unsigned first, unsigned lanes) {
    llvm::Type* element = vector->getType()->getScalarType();
    return builder_.CreateExtractVector(llvm::FixedVectorType::get(element, lanes), vector,
                                        builder_.getInt64(first));
  }
  Value* scaled_register(unsigned bits, Value* x, Value* n) {
    constexpr int kCurrentRounding = 4;
    const auto intrinsic = bits == 32 ? llvm::Intrinsic::x86_avx512_mask_scalef_ps_512
                                      : llvm::Intrinsic::x86_avx512_mask_scalef_pd_512;
    Value* all = llvm::ConstantInt::getAllOnesValue(builder_.getIntNTy(512 / bits));
    return builder_.CreateIntrinsic(intrinsic, {},
                                    {x, n, x, all, builder_.getInt32(kCurrentRounding)});
  }
  Value* power_of_two(Value* integer, llvm::Type* type, unsigned bits) {
    const uint64_t bias = bits == 32 ? 127 : 1023;
    const uint64_t mantissa = bits == 32 ? 23 : 52;
    Value* biased = builder_.CreateAdd(integer, llvm::ConstantInt::get(integer->getType(), bias));
    return builder_.CreateBitCast(
        builder_.CreateShl(biased, llvm::ConstantInt::get(integer->getType(), mantissa)), type);
  }

  Value* constant(const ExprNode& node) {
    llvm::Type* type = scalar_type(node.type);
    if (!is_float(node.type)) return llvm::ConstantInt::get(type, node.immediate);
    const unsigned bits = node.type == LaneType::kF32 ? 32 : 64;
    return builder_.CreateBitCast(llvm::ConstantInt::get(builder_.getIntNTy(bits), node.immediate),
                                  type);
  }

  Value* operation(const ExprNode& node, const std::vector<Value*>& values, unsigned width) {
    Value* a = values[node.operands[0]];
    const LaneType from = spec_.nodes[node.operands[0]].type;
    const uint32_t arity = operand_count(node.opcode);
    Value* b = arity > 1 ? values[node.operands[1]] : nullptr;
    const bool floats = is_float(from);
    switch (node.opcode) {
      case Opcode::kAdd: return floats ? builder_.CreateFAdd(a, b) : builder_.CreateAdd(a, b);
      case Opcode::kSub: return floats ? builder_.CreateFSub(a, b) : builder_.CreateSub(a, b);
      case Opcode::kMul: return floats ? builder_.CreateFMul(a, b) : builder_.CreateMul(a, b);
      case Opcode::kDiv: return builder_.CreateFDiv(a, b);
      case Opcode::kNeg: return floats ? builder_.CreateFNeg(a) : builder_.CreateNeg(a);
      case Opcode::kAbs:
        return floats
                   ? builder_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, a)
                   : builder_.CreateBinaryIntrinsic(llvm::Intrinsic::abs, a, builder_.getFalse());
      case Opcode::kSqrt: return builder_.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, a);
      case Opcode::kFloor: return builder_.CreateUnaryIntrinsic(llvm::Intrinsic::floor, a);
      case Opcode::kCeil: return builder_.CreateUnaryIntrinsic(llvm::Intrinsic::ceil, a);
      case Opcode::kTrunc: return builder_.CreateUnaryIntrinsic(llvm::Intrinsic::trunc, a);
      case Opcode::kRoundEven: return builder_.CreateUnaryIntrinsic(llvm::Intrinsic::rint, a);
      case Opcode::kCopysign:
        return builder_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, a, b);
      case Opcode::kEqual:
        return floats ? builder_.CreateFCmpOEQ(a, b) : builder_.CreateICmpEQ(a, b);
      case Opcode::kNotEqual:
        return floats ? builder_.CreateFCmpUNE(a, b) : builder_.CreateICmpNE(a, b);
      case Opcode::kLess:
        return floats ? builder_.CreateFCmpOLT(a, b) : builder_.CreateICmpSLT(a, b);
      case Opcode::kLessEqual:
        return floats ? builder_.CreateFCmpOLE(a, b) : builder_.CreateICmpSLE(a, b);
      case Opcode::kGreater:
        return floats ? builder_.CreateFCmpOGT(a, b) : builder_.CreateICmpSGT(a, b);
      case Opcode::kGreaterEqual:
        return floats ? builder_.CreateFCmpOGE(a, b) : builder_.CreateICmpSGE(a, b);
      case Opcode::kAnd: return builder_.CreateAnd(a, b);
      case Opcode::kOr: return builder_.CreateOr(a, b);
      case Opcode::kXor: return builder_.CreateXor(a, b);
      case Opcode::kNot: return builder_.CreateNot(a);
      case Opcode::kShiftLeft: return builder_.CreateShl(a, b);
      case Opcode::kShiftRightLogical: return builder_.CreateLShr(a, b);
      case Opcode::kShiftRightArithmetic: return builder_.CreateAShr(a, b);
      case Opcode::kSelect: return builder_.CreateSelect(a, b, values[node.operands[2]]);
      case Opcode::kScale: return scaled(node.type, a, b, values[node.operands[2]], width);
      case Opcode::kBitcast: return builder_.CreateBitCast(a, widen(scalar_type(node.type), width));
      case Opcode::kConvert: return convert(a, from, node.type, width);
      default: throw std::invalid_argument("unknown opcode");
    }
  }

  const KernelSpec& spec_;
  llvm::LLVMContext& context_;
  llvm::IRBuilder<> builder_;
  int vector_bits_;
  unsigned width_;
  std::vector<Value*> data_;
  std::vector<Value*> strides_;
  std::vector<Value*> scalars_;
  std::vector<Value*> hoisted_;
};

}  // namespace

std::unique_ptr<llvm::Module> emit_kernel(const KernelSpec& spec, llvm::LLVMContext& context,
                                          const std::string& symbol, int vector_bits) {
  return KernelEmitter(spec, context, vector_bits).emit(symbol);
}

}  // namespace tierup::codegen
