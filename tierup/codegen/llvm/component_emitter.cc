// One loop goes along the lanes, several registers at a time, and a masked one over what is left.
// Components that lie side by side are loaded together and shuffled apart. What is folded stands in
// registers, a lane for each of the loop's; at the end halves are folded with each other.
#include "tierup/codegen/llvm/component_emitter.h"

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "tierup/codegen/llvm/lane_emitter.h"

namespace tierup::codegen {
namespace {

using llvm::Value;

class ComponentEmitter {
 public:
  ComponentEmitter(const KernelSpec& spec, llvm::LLVMContext& context, int vector_bits)
      : spec_(spec),
        context_(context),
        builder_(context),
        lanes_(builder_, vector_bits, spec.nodes),
        width_(lane_count(spec, vector_bits)) {
    uint32_t first = 0;
    for (uint32_t i = 0; i < spec.output_count; ++i) {
      first_result_.push_back(first);
      first += spec.operands[i].components;
    }
  }

  std::unique_ptr<llvm::Module> emit(const std::string& symbol) {
    check_nodes(spec_, spec_.operand_count);
    auto module = std::make_unique<llvm::Module>(symbol, context_);
    function_ = begin_kernel(builder_, *module, symbol, KernelCount::kLanes);
    load_arguments();
    count_ = function_->getArg(3);
    const unsigned wide = registers() * width_;
    Value* end = builder_.CreateSub(count_, builder_.CreateURem(count_, builder_.getInt64(wide)));
    loop(builder_.getInt64(0), end, wide, false);
    narrow(wide, width_);
    loop(end, count_, width_, true);
    narrow(width_, 1);
    store_folds();
    finish_kernel(builder_, *function_);
    return module;
  }

 private:
  // Of the same work for each: short bodies would wait for what they fold into.
  unsigned registers() const {
    if (spec_.node_count > 32) return 1;
    return spec_.node_count > 12 ? 2 : 4;
  }

  bool is_fold(uint32_t output) const { return spec_.folds[output] != Fold::kNone; }
  uint32_t components(uint32_t operand) const { return spec_.operands[operand].components; }
  LaneType fold_type(uint32_t output) const {
    return LaneEmitter::folded_lane(spec_.operands[output].element);
  }
  llvm::Type* element_of(uint32_t operand) {
    return lanes_.element_type(spec_.operands[operand].element);
  }

  // Broadcast components are loaded once.
  void load_arguments() {
    llvm::Type* pointer = llvm::PointerType::get(context_, 0);
    for (uint32_t i = 0; i < spec_.operand_count; ++i) {
      Value* place = builder_.CreateConstInBoundsGEP1_64(pointer, function_->getArg(0), i);
      data_.push_back(builder_.CreateLoad(pointer, place));
    }
    loaded_.resize(spec_.operand_count);
    for (uint32_t i = spec_.output_count; i < spec_.operand_count; ++i) {
      if (spec_.operands[i].access != Access::kBroadcast) continue;
      for (uint32_t c = 0; c < components(i); ++c) loaded_[i].push_back(load_one(i, c));
    }
    folded_.resize(spec_.output_count);
    for (uint32_t i = 0; i < spec_.output_count; ++i) {
      for (uint32_t c = 0; is_fold(i) && c < components(i); ++c) {
        folded_[i].push_back(
            lanes_.fold_identity(spec_.folds[i], fold_type(i), registers() * width_));
      }
    }
  }
  Value* load_one(uint32_t operand, uint32_t component) {
    llvm::Type* element = element_of(operand);
    Value* place = builder_.CreateConstInBoundsGEP1_64(element, data_[operand], component);
    return builder_.CreateLoad(element, place);
  }

  // From `begin` to `end`, what is folded going along; with a mask, the last lanes may be missing.
  void loop(Value* begin, Value* end, unsigned width, bool is_masked) {
    llvm::BasicBlock* before = builder_.GetInsertBlock();
    auto* body = llvm::BasicBlock::Create(context_, "body", function_);
    auto* after = llvm::BasicBlock::Create(context_, "after", function_);
    builder_.CreateCondBr(builder_.CreateICmpSLT(begin, end), body, after);
    builder_.SetInsertPoint(body);
    llvm::PHINode* index = builder_.CreatePHI(builder_.getInt64Ty(), 2);
    index->addIncoming(begin, before);
    const auto begun = folded_;
    for (auto& of_output : folded_) {
      for (Value*& value : of_output) value = phi(value, before);
    }
    const auto entered = folded_;
    left_ = is_masked ? builder_.CreateSub(count_, index) : nullptr;
    body_of(index, width);
    Value* next = builder_.CreateAdd(index, builder_.getInt64(width));
    llvm::BasicBlock* last = builder_.GetInsertBlock();
    index->addIncoming(next, last);
    for (size_t i = 0; i < folded_.size(); ++i) {
      for (size_t c = 0; c < folded_[i].size(); ++c) {
        llvm::cast<llvm::PHINode>(entered[i][c])->addIncoming(folded_[i][c], last);
      }
    }
    builder_.CreateCondBr(builder_.CreateICmpSLT(next, end), body, after);
    builder_.SetInsertPoint(after);
    for (size_t i = 0; i < folded_.size(); ++i) {
      for (size_t c = 0; c < folded_[i].size(); ++c) {
        llvm::PHINode* either = phi(begun[i][c], before);
        either->addIncoming(folded_[i][c], last);
        folded_[i][c] = either;
      }
    }
  }
  llvm::PHINode* phi(Value* value, llvm::BasicBlock* from) {
    llvm::PHINode* node = builder_.CreatePHI(value->getType(), 2);
    node->addIncoming(value, from);
    return node;
  }

  void body_of(Value* index, unsigned width) {
    for (uint32_t i = spec_.output_count; i < spec_.operand_count; ++i) {
      if (spec_.operands[i].access == Access::kContiguous) load_lanes(i, index, width);
    }
    std::vector<Value*> values;
    for (uint32_t i = 0; i < spec_.node_count; ++i) {
      values.push_back(node_value(spec_.nodes[i], values, width));
    }
    for (uint32_t i = 0; i < spec_.output_count; ++i) {
      const uint32_t* results = spec_.results + first_result_[i];
      is_fold(i) ? fold(i, results, values, width) : store_lanes(i, results, values, index, width);
    }
  }

  Value* node_value(const ExprNode& node, const std::vector<Value*>& values, unsigned width) {
    switch (node.opcode) {
      case Opcode::kInput: {
        const uint32_t operand = operand_of(node);
        Value* value = loaded_[operand][component_of(node)];
        if (spec_.operands[operand].access == Access::kBroadcast)
          value = lanes_.splat(value, width);
        return lanes_.to_lane(value, spec_.operands[operand].element, node.type, width);
      }
      case Opcode::kScalar: throw std::invalid_argument("scalars of a kernel over components");
      case Opcode::kConstant: return lanes_.splat(lanes_.constant(node), width);
      default: return lanes_.operation(node, values, width);
    }
  }

  // Which of the `count` lanes are there; `each` elements stand for one.
  Value* mask(unsigned lanes, unsigned each) {
    std::vector<llvm::Constant*> places;
    for (unsigned i = 0; i < lanes * each; ++i) places.push_back(builder_.getInt64(i / each));
    return builder_.CreateICmpSLT(llvm::ConstantVector::get(places),
                                  lanes_.splat(left_, lanes * each));
  }

  Value* lane_address(uint32_t operand, Value* index) {
    Value* place = builder_.CreateMul(index, builder_.getInt64(components(operand)));
    return builder_.CreateGEP(element_of(operand), data_[operand], place);
  }

  // One register of lanes after another, so that shuffles see two registers at most.
  void load_lanes(uint32_t operand, Value* index, unsigned width) {
    const unsigned each = components(operand);
    std::vector<std::vector<Value*>> parts(each);
    for (unsigned lane = 0; lane < width; lane += width_) {
      Value* at = lane_address(operand, builder_.CreateAdd(index, builder_.getInt64(lane)));
      llvm::Type* type = LaneEmitter::widen(element_of(operand), width_ * each);
      Value* together =
          left_ == nullptr
              ? static_cast<Value*>(builder_.CreateAlignedLoad(type, at, llvm::Align(1)))
              : builder_.CreateMaskedLoad(type, at, llvm::Align(1), mask(width_, each),
                                          llvm::Constant::getNullValue(type));
      for (unsigned c = 0; c < each; ++c) parts[c].push_back(every(together, c, each));
    }
    loaded_[operand].clear();
    for (auto& part : parts) loaded_[operand].push_back(joined(std::move(part)));
  }
  Value* every(Value* vector, unsigned first, unsigned step) {
    if (step == 1) return vector;
    std::vector<int> places;
    for (unsigned lane = 0; lane < width_; ++lane) {
      places.push_back(static_cast<int>(first + lane * step));
    }
    return builder_.CreateShuffleVector(vector, places);
  }

  static unsigned width_of(Value* vector) {
    return llvm::cast<llvm::FixedVectorType>(vector->getType())->getNumElements();
  }
  Value* part(Value* vector, unsigned first, unsigned width) {
    std::vector<int> places;
    for (unsigned i = 0; i < width; ++i) places.push_back(static_cast<int>(first + i));
    return builder_.CreateShuffleVector(vector, places);
  }
  // Vectors of one width one behind another, perhaps with more behind them.
  Value* joined(std::vector<Value*> parts) {
    while (parts.size() > 1) {
      if (parts.size() % 2 == 1) parts.push_back(llvm::PoisonValue::get(parts[0]->getType()));
      std::vector<Value*> pairs;
      for (size_t i = 0; i < parts.size(); i += 2) {
        std::vector<int> places;
        for (unsigned k = 0; k < 2 * width_of(parts[i]); ++k) places.push_back(static_cast<int>(k));
        pairs.push_back(builder_.CreateShuffleVector(parts[i], parts[i + 1], places));
      }
      parts = std::move(pairs);
    }
    return parts[0];
  }

  void store_lanes(uint32_t output, const uint32_t* results, const std::vector<Value*>& values,
                   Value* index, unsigned width) {
    const unsigned each = components(output);
    const ElementType element = spec_.operands[output].element;
    std::vector<Value*> elements;
    for (unsigned c = 0; c < each; ++c) {
      const LaneType from = spec_.nodes[results[c]].type;
      elements.push_back(lanes_.to_element(values[results[c]], from, element, width));
    }
    for (unsigned lane = 0; lane < width; lane += width_) {
      std::vector<Value*> parts;
      for (Value* of_component : elements) {
        parts.push_back(width == width_ ? of_component : part(of_component, lane, width_));
      }
      std::vector<int> places;
      for (unsigned i = 0; i < width_ * each; ++i) {
        places.push_back(static_cast<int>(i % each * width_ + i / each));
      }
      Value* together =
          each == 1 ? parts[0] : builder_.CreateShuffleVector(joined(std::move(parts)), places);
      Value* at = lane_address(output, builder_.CreateAdd(index, builder_.getInt64(lane)));
      if (left_ == nullptr) {
        builder_.CreateAlignedStore(together, at, llvm::Align(1));
      } else {
        builder_.CreateMaskedStore(together, at, llvm::Align(1), mask(width_, each));
      }
    }
  }

  void fold(uint32_t output, const uint32_t* results, const std::vector<Value*>& values,
            unsigned width) {
    const LaneType type = fold_type(output);
    for (uint32_t c = 0; c < components(output); ++c) {
      Value* value = lanes_.convert(values[results[c]], spec_.nodes[results[c]].type, type, width);
      if (left_ != nullptr) {
        value = builder_.CreateSelect(mask(width, 1), value,
                                      lanes_.fold_identity(spec_.folds[output], type, width));
      }
      folded_[output][c] = lanes_.folded(spec_.folds[output], type, folded_[output][c], value);
    }
  }

  // What is folded, from so many lanes to fewer: halves, whose sizes are powers of two.
  void narrow(unsigned from, unsigned to) {
    for (uint32_t i = 0; i < spec_.output_count; ++i) {
      for (Value*& value : folded_[i]) {
        for (unsigned width = from; width > to; width /= 2) {
          Value* low = half(value, 0, width / 2);
          Value* high = half(value, width / 2, width / 2);
          value = lanes_.folded(spec_.folds[i], fold_type(i), low, high);
        }
      }
    }
  }
  Value* half(Value* vector, unsigned first, unsigned width) {
    return width == 1 ? builder_.CreateExtractElement(vector, first) : part(vector, first, width);
  }

  // What an output holds goes on.
  void store_folds() {
    for (uint32_t i = 0; i < spec_.output_count; ++i) {
      for (uint32_t c = 0; c < folded_[i].size(); ++c) {
        Value* place = builder_.CreateConstInBoundsGEP1_64(element_of(i), data_[i], c);
        Value* held = builder_.CreateLoad(element_of(i), place);
        builder_.CreateStore(lanes_.folded(spec_.folds[i], fold_type(i), held, folded_[i][c]),
                             place);
      }
    }
  }

  const KernelSpec& spec_;
  llvm::LLVMContext& context_;
  llvm::IRBuilder<> builder_;
  LaneEmitter lanes_;
  unsigned width_;  // Lanes of a register.
  llvm::Function* function_ = nullptr;
  Value* count_ = nullptr;
  Value* left_ = nullptr;  // Lanes that are left, where some may be missing.
  std::vector<uint32_t> first_result_;
  std::vector<Value*> data_;
  std::vector<std::vector<Value*>> loaded_;  // Components of inputs...
  std::vector<std::vector<Value*>> folded_;  // ...and of what is folded.
};

}  // namespace

std::unique_ptr<llvm::Module> emit_component_kernel(const KernelSpec& spec,
                                                    llvm::LLVMContext& context,
                                                    const std::string& symbol, int vector_bits) {
  return ComponentEmitter(spec, context, vector_bits).emit(symbol);
}

}  // namespace tierup::codegen
