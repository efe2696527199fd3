// LaneEmitter: what one expression node becomes, on lanes that stand in LLVM values.
//
// Fast-math flags are off and nothing is contracted, so that lanes have the bits that tier 0 gives;
// the one fused multiply-add is asked for by name.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <string>
#include <vector>

#include "tierup/codegen/kernel_spec.h"

namespace tierup::codegen {

// Throws std::invalid_argument for a body that is not well-formed. Its inputs are numbered below
// `inputs`.
void check_nodes(const KernelSpec& spec, uint32_t inputs);
// Lanes of a register for a body's widest type.
unsigned lane_count(const KernelSpec& spec, int vector_bits);

// Whether a kernel is told how many lanes it goes along.
enum class KernelCount : uint8_t { kNone, kLanes };
// A new function of three pointers (operands, strides, numbers) and perhaps a count, named
// `symbol`; the builder stands at its beginning.
llvm::Function* begin_kernel(llvm::IRBuilder<>& builder, llvm::Module& module,
                             const std::string& symbol, KernelCount count);
// Returns from it. Throws std::invalid_argument for a function that LLVM finds broken.
void finish_kernel(llvm::IRBuilder<>& builder, const llvm::Function& function);

class LaneEmitter {
 public:
  using Value = llvm::Value;

  // `nodes` are those of the body, and must outlive this like the builder.
  LaneEmitter(llvm::IRBuilder<>& builder, int vector_bits, const ExprNode* nodes)
      : builder_(builder), vector_bits_(vector_bits), nodes_(nodes) {}

  llvm::Type* scalar_type(LaneType type);
  llvm::Type* element_type(ElementType type);
  static llvm::Type* widen(llvm::Type* type, unsigned width) {
    return width == 1 ? type : llvm::FixedVectorType::get(type, width);
  }
  Value* splat(Value* value, unsigned width) {
    return width == 1 ? value : builder_.CreateVectorSplat(width, value);
  }

  // From the element type in memory to the lane type of a node, and back.
  Value* to_lane(Value* value, ElementType from, LaneType to, unsigned width);
  Value* to_element(Value* value, LaneType from, ElementType to, unsigned width);
  Value* convert(Value* value, LaneType from, LaneType to, unsigned width);
  // a * b + sum, rounded once where the machine can.
  Value* multiply_add(Value* a, Value* b, Value* sum);

  // What is folded is of such lanes; throws std::invalid_argument for elements that are not.
  static LaneType folded_lane(ElementType element);
  // What changes nothing that it is folded with, for each lane.
  Value* fold_identity(Fold fold, LaneType type, unsigned width);
  // What is not a number stays.
  Value* folded(Fold fold, LaneType type, Value* so_far, Value* value);

  Value* constant(const ExprNode& node);
  // A node that is no input, given the values of all earlier nodes.
  Value* operation(const ExprNode& node, const std::vector<Value*>& values, unsigned width);

 private:
  static bool is_float(LaneType type) { return type == LaneType::kF32 || type == LaneType::kF64; }
  Value* beyond_or_nan(const ExprNode& either, const std::vector<Value*>& values);
  Value* truncated(Value* value, LaneType to, unsigned width);
  Value* round_bf16(Value* value, unsigned width);
  Value* scaled(LaneType type, Value* x, Value* n, Value* integer, unsigned width);
  Value* register_at(Value* vector, unsigned first, unsigned lanes);
  Value* scaled_register(unsigned bits, Value* x, Value* n);
  Value* far_angle(const ExprNode& node, Value* x, Value* near, unsigned width);
  Value* power_of_two(Value* integer, llvm::Type* type, unsigned bits);

  llvm::IRBuilder<>& builder_;
  int vector_bits_;
  const ExprNode* nodes_;
};

}  // namespace tierup::codegen
