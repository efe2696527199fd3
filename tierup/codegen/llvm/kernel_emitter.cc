// The function has three loops over one body: several registers of lanes at a time, one register,
// one element. Long bodies are chains of dependent instructions, a polynomial after the other; the
// first loop's vectors are wider than a register, so that the back end splits them and interleaves
// as many chains as the processor can work on. Loads and stores convert between element and lane
// types; every node becomes one or two instructions.
//
// A kernel that folds does so for one block of lanes after another, with what is folded in
// registers: a loop inside of those loops goes along the folded dimension. What is the same all
// along it is computed before that loop.
#include "tierup/codegen/llvm/kernel_emitter.h"

#include <algorithm>
#include <vector>

#include "tierup/codegen/llvm/component_emitter.h"
#include "tierup/codegen/llvm/lane_emitter.h"

namespace tierup::codegen {
namespace {

using llvm::Value;

class KernelEmitter {
 public:
  KernelEmitter(const KernelSpec& spec, llvm::LLVMContext& context, int vector_bits)
      : spec_(spec),
        context_(context),
        builder_(context),
        lanes_(builder_, vector_bits, spec.nodes),
        vector_bits_(vector_bits),
        width_(lane_count(spec, vector_bits)) {}

  std::unique_ptr<llvm::Module> emit(const std::string& symbol) {
    check_nodes(spec_, spec_.operand_count);
    auto module = std::make_unique<llvm::Module>(symbol, context_);
    llvm::Function* function = begin_kernel(builder_, *module, symbol, KernelCount::kLanes);
    load_arguments(*function);
    find_still();
    Value* count = function->getArg(3);
    const auto whole = [&](unsigned width) {
      return builder_.CreateSub(count, builder_.CreateURem(count, builder_.getInt64(width)));
    };
    Value* begin = builder_.getInt64(0);
    if (const unsigned chains = spec_.folds == nullptr ? interleaved() : folded_registers();
        chains > 1) {
      Value* end = whole(chains * width_);
      loop(*function, begin, end, chains * width_);
      begin = end;
    }
    // What is left of a few lanes for each row costs as much as many do, so vectors get shorter.
    for (unsigned width = width_; width > 1; width /= spec_.folds == nullptr ? width_ : 4) {
      Value* end = whole(width);
      loop(*function, begin, end, width);
      begin = end;
    }
    loop(*function, begin, count, 1);
    finish_kernel(builder_, *function);
    return module;
  }

 private:
  // Registers of lanes to work on side by side. Eight want the 32 registers of AVX-512, and more
  // where many values wait: log1p (13 of them) took 1.15 times as long as with four, erf (9) 0.8.
  unsigned interleaved() const {
    constexpr uint32_t kMostLive = 9;
    if (vector_bits_ == 512 && spec_.node_count > 40 && most_live() <= kMostLive) return 8;
    if (spec_.node_count > 24) return 4;
    return spec_.node_count > 8 ? 2 : 1;
  }

  // Of the same work for each, so that loads and what is folded keep the processor busy.
  unsigned folded_registers() const {
    const unsigned most = spec_.node_count > 24 ? 2 : 4;
    const auto folds = static_cast<uint32_t>(std::count_if(
        spec_.folds, spec_.folds + spec_.output_count, [](Fold f) { return f != Fold::kNone; }));
    return std::max(1U, std::min(most, 8 / std::max(1U, folds)));
  }

  // The most values but constants that are needed at a time, if nodes are computed in order.
  uint32_t most_live() const {
    std::vector<uint32_t> last_use(spec_.node_count, 0);
    for (uint32_t i = 0; i < spec_.node_count; ++i) {
      const ExprNode& node = spec_.nodes[i];
      const uint32_t arity = kernels::operand_count(node.opcode);
      for (uint32_t k = 0; k < arity; ++k) last_use[node.operands[k]] = i;
    }
    for (uint32_t i = 0; i < spec_.output_count; ++i) last_use[spec_.results[i]] = spec_.node_count;
    std::vector<uint32_t> ends(spec_.node_count + 1, 0);
    uint32_t most = 0;
    uint32_t live = 0;
    for (uint32_t i = 0; i < spec_.node_count; ++i) {
      live -= ends[i];
      const Opcode opcode = spec_.nodes[i].opcode;
      if (opcode == Opcode::kConstant || opcode == Opcode::kScalar) continue;
      ++ends[last_use[i]];
      most = std::max(most, ++live);
    }
    return most;
  }

  bool has_stride(uint32_t operand) const {
    const Access access = spec_.operands[operand].access;
    return access == Access::kStrided || access == Access::kSplat;
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
      const bool once = spec_.folds == nullptr && i >= spec_.output_count &&
                        spec_.operands[i].access == Access::kBroadcast;
      hoisted_.push_back(
          once ? builder_.CreateLoad(lanes_.element_type(spec_.operands[i].element), data_[i])
               : nullptr);
    }
    if (spec_.folds == nullptr) return;
    for (uint32_t i = 0; i <= spec_.operand_count; ++i) {
      const uint32_t place = spec_.operand_count + i;
      fold_strides_.push_back(builder_.CreateLoad(
          i64, builder_.CreateConstInBoundsGEP1_64(i64, function.getArg(1), place)));
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
    spec_.folds == nullptr ? body_of(index, width) : fold_body(function, index, width);
    Value* next = builder_.CreateAdd(index, builder_.getInt64(width));
    index->addIncoming(next, builder_.GetInsertBlock());
    builder_.CreateCondBr(builder_.CreateICmpSLT(next, end), body, after);
    builder_.SetInsertPoint(after);
  }

  // Nodes that are the same all along what is folded; without folds, none.
  void find_still() {
    for (uint32_t i = 0; i < spec_.node_count; ++i) {
      const ExprNode& node = spec_.nodes[i];
      bool is_still = spec_.folds != nullptr &&
                      (node.opcode != Opcode::kInput || spec_.operands[operand_of(node)].is_still);
      for (uint32_t k = 0; k < kernels::operand_count(node.opcode); ++k) {
        is_still = is_still && still_[node.operands[k]];
      }
      still_.push_back(is_still);
    }
  }

  // Either those nodes, or all others.
  void add_values(std::vector<Value*>& values, bool still, Value* index, unsigned width) {
    values.resize(spec_.node_count);
    for (uint32_t i = 0; i < spec_.node_count; ++i) {
      if (still_[i] == still) values[i] = node_value(spec_.nodes[i], values, index, width);
    }
  }

  void body_of(Value* index, unsigned width) {
    std::vector<Value*> values;
    add_values(values, false, index, width);
    for (uint32_t i = 0; i < spec_.output_count; ++i) {
      store(i, values[spec_.results[i]], spec_.nodes[spec_.results[i]].type, index, width);
    }
  }

  void fold_body(llvm::Function& function, Value* index, unsigned width) {
    std::vector<Value*> values;
    add_values(values, true, index, width);
    bool has_moving = false;
    for (uint32_t i = 0; i < spec_.output_count; ++i) {
      const uint32_t result = spec_.results[i];
      if (is_still_output(i)) store(i, values[result], spec_.nodes[result].type, index, width);
      has_moving = has_moving || !is_still_output(i);
    }
    if (!has_moving) return;
    llvm::BasicBlock* before = builder_.GetInsertBlock();
    auto* inside = llvm::BasicBlock::Create(context_, "fold", &function);
    auto* after = llvm::BasicBlock::Create(context_, "folded", &function);
    builder_.CreateBr(inside);
    builder_.SetInsertPoint(inside);
    llvm::PHINode* row = builder_.CreatePHI(builder_.getInt64Ty(), 2);
    row->addIncoming(builder_.getInt64(0), before);
    std::vector<llvm::PHINode*> so_far(spec_.output_count, nullptr);
    for (uint32_t i = 0; i < spec_.output_count; ++i) {
      if (spec_.folds[i] == Fold::kNone) continue;
      const LaneType type = LaneEmitter::folded_lane(spec_.operands[i].element);
      so_far[i] = builder_.CreatePHI(LaneEmitter::widen(lanes_.scalar_type(type), width), 2);
      so_far[i]->addIncoming(lanes_.fold_identity(spec_.folds[i], type, width), before);
    }
    const std::vector<Value*> begin = data_;
    for (uint32_t i = 0; i < spec_.operand_count; ++i) {
      data_[i] = builder_.CreateGEP(builder_.getInt8Ty(), begin[i],
                                    builder_.CreateMul(row, fold_strides_[i]));
    }
    add_values(values, false, index, width);
    std::vector<Value*> folded_values(spec_.output_count, nullptr);
    for (uint32_t i = 0; i < spec_.output_count; ++i) {
      if (is_still_output(i)) continue;
      const LaneType from = spec_.nodes[spec_.results[i]].type;
      Value* value = values[spec_.results[i]];
      if (so_far[i] == nullptr) {
        store(i, value, from, index, width);
        continue;
      }
      const LaneType type = LaneEmitter::folded_lane(spec_.operands[i].element);
      folded_values[i] =
          lanes_.folded(spec_.folds[i], type, so_far[i], lanes_.convert(value, from, type, width));
      so_far[i]->addIncoming(folded_values[i], builder_.GetInsertBlock());
    }
    Value* next = builder_.CreateAdd(row, builder_.getInt64(1));
    row->addIncoming(next, builder_.GetInsertBlock());
    builder_.CreateCondBr(builder_.CreateICmpSLT(next, fold_strides_[spec_.operand_count]), inside,
                          after);
    builder_.SetInsertPoint(after);
    data_ = begin;
    for (uint32_t i = 0; i < spec_.output_count; ++i) {
      if (so_far[i] != nullptr) fold_into(i, folded_values[i], index, width);
    }
  }

  bool is_still_output(uint32_t output) const {
    return spec_.folds[output] == Fold::kNone && still_[spec_.results[output]];
  }

  // What an output holds goes on.
  void fold_into(uint32_t output, Value* value, Value* index, unsigned width) {
    const LaneType type = LaneEmitter::folded_lane(spec_.operands[output].element);
    Value* held =
        lanes_.to_lane(load(output, index, width), spec_.operands[output].element, type, width);
    store(output, lanes_.folded(spec_.folds[output], type, held, value), type, index, width);
  }

  Value* address(uint32_t operand, Value* index) {
    if (strides_[operand] != nullptr) {
      return builder_.CreateGEP(builder_.getInt8Ty(), data_[operand],
                                builder_.CreateMul(index, strides_[operand]));
    }
    return builder_.CreateGEP(lanes_.element_type(spec_.operands[operand].element), data_[operand],
                              index);
  }

  Value* load(uint32_t operand, Value* index, unsigned width) {
    llvm::Type* element = lanes_.element_type(spec_.operands[operand].element);
    const Access access = spec_.operands[operand].access;
    if (access == Access::kBroadcast) {
      Value* value = hoisted_[operand] != nullptr ? hoisted_[operand]
                                                  : builder_.CreateLoad(element, data_[operand]);
      return lanes_.splat(value, width);
    }
    if (access != Access::kStrided || width == 1) {
      return builder_.CreateAlignedLoad(LaneEmitter::widen(element, width), address(operand, index),
                                        llvm::Align(1));
    }
    Value* gathered = llvm::PoisonValue::get(LaneEmitter::widen(element, width));
    for (unsigned lane = 0; lane < width; ++lane) {
      Value* at = builder_.CreateAdd(index, builder_.getInt64(lane));
      Value* one = builder_.CreateAlignedLoad(element, address(operand, at), llvm::Align(1));
      gathered = builder_.CreateInsertElement(gathered, one, lane);
    }
    return gathered;
  }

  void store(uint32_t output, Value* value, LaneType from, Value* index, unsigned width) {
    const ElementType element = spec_.operands[output].element;
    Value* stored = lanes_.to_element(value, from, element, width);
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

  Value* node_value(const ExprNode& node, const std::vector<Value*>& values, Value* index,
                    unsigned width) {
    switch (node.opcode) {
      case Opcode::kInput: {
        const uint32_t operand = operand_of(node);
        return lanes_.to_lane(load(operand, index, width), spec_.operands[operand].element,
                              node.type, width);
      }
      case Opcode::kScalar: {
        const auto which = static_cast<uint32_t>(node.immediate);
        return lanes_.splat(lanes_.convert(scalars_[which], spec_.scalars[which], node.type, 1),
                            width);
      }
      case Opcode::kConstant: return lanes_.splat(lanes_.constant(node), width);
      default: return lanes_.operation(node, values, width);
    }
  }

  const KernelSpec& spec_;
  llvm::LLVMContext& context_;
  llvm::IRBuilder<> builder_;
  LaneEmitter lanes_;
  int vector_bits_;
  unsigned width_;
  std::vector<Value*> data_;
  std::vector<Value*> strides_;
  std::vector<Value*> scalars_;
  std::vector<Value*> hoisted_;
  std::vector<bool> still_;
  std::vector<Value*> fold_strides_;  // Then the number of rows, if the kernel folds.
};

}  // namespace

std::unique_ptr<llvm::Module> emit_kernel(const KernelSpec& spec, llvm::LLVMContext& context,
                                          const std::string& symbol, int vector_bits) {
  if (spec.components > 0) return emit_component_kernel(spec, context, symbol, vector_bits);
  return KernelEmitter(spec, context, vector_bits).emit(symbol);
}

}  // namespace tierup::codegen
