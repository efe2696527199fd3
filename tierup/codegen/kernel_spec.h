// KernelSpec: a fused point-wise kernel as plain data: what the code generator compiles.
//
// A kernel runs over `count` elements of one innermost dimension. Its values are a list of
// expression nodes in order of dependence, over lanes of f32, f64, i32, i64 or truth. The struct
// crosses the boundary of a shared object, so it holds numbers and pointers only.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tierup/kernels/pointwise/fused_kernel.h"
#include "tierup/kernels/simd/expression_node.h"

namespace tierup::codegen {

using kernels::ExprNode;
using kernels::LaneType;
using kernels::Opcode;

// Element types in memory.
enum class ElementType : uint8_t { kF32, kF64, kI32, kI64, kBool, kBF16 };

// How an operand moves along the innermost dimension; kernels are compiled for it.
enum class Access : uint8_t {
  kContiguous,
  kBroadcast,  // One element for all.
  kSplat,      // Contiguous; or kSplatBytes filled with one element, if its stride is 0.
  kStrided,
};

struct OperandSpec {
  ElementType element;
  Access access;
  // Of a kernel over components: how many lie side by side for each of its lanes, one or all.
  uint8_t components = 1;
  // Of an input of a kernel that folds: the same all along the folded dimension.
  bool is_still = false;
};

// What a kernel does with an output's elements along the dimension that it folds.
enum class Fold : uint8_t { kNone, kSum, kLargest, kSmallest };

struct KernelSpec {
  const char* name;             // For debuggers and profilers.
  const OperandSpec* operands;  // Outputs first, then inputs.
  uint32_t output_count;
  uint32_t operand_count;
  const ExprNode* nodes;
  uint32_t node_count;
  const uint32_t* results;  // The node of each output, or of each of its components.
  const LaneType* scalars;  // kF64 or kI64.
  uint32_t scalar_count;
  // Of each output; null if the kernel folds nothing. Else no operand is kSplat or kStrided. Behind
  // their strides along the innermost dimension stand those along the folded one, and its size,
  // which is not zero. Folds go on from what an output holds; other outputs are stored all along,
  // or once if nothing that they are made of moves along the folded dimension.
  const Fold* folds;
  // Not zero: the last dimension has so many elements, which the kernel takes one by one, while
  // lanes go along the dimension before it. A node reads component c of operand k by k + (c << 32).
  // Operands are kContiguous or kBroadcast, which for the latter are the same components for all
  // lanes. The kernel folds along the lanes, and reads no strides.
  uint32_t components;
};

// Of a kInput node.
inline uint32_t operand_of(const ExprNode& node) { return static_cast<uint32_t>(node.immediate); }
inline uint32_t component_of(const ExprNode& node) {
  return static_cast<uint32_t>(node.immediate >> 32);
}

// `strides` are read only for kSplat and kStrided.
using KernelFunction = kernels::FusedFunction;

// A matrix product: each element's sum begins with zero and takes its products in the order of the
// depth, by one multiply-add each where the machine has one (decision 0019).
struct ProductSpec {
  ElementType left;
  ElementType right;
  Access right_access;  // Along the columns...
  bool is_turned;       // ...each of which lies in one piece; tiles are one vector wide then.
  LaneType sum;         // kF32 or kF64.
};

// A kernel over the rows and columns of matrices. `body` is what is made of the sums of products,
// which are its inputs behind all operands, and of other operands, element by element.
struct MatrixSpec {
  KernelSpec body;  // No operand is kSplat, none but inputs are kStrided or kBroadcast.
  const ProductSpec* products;
  uint32_t product_count;
  uint32_t width;  // Of vectors, in lanes; a power of two.
  // Tiles, whose sums stand in registers: so many rows, and vectors of columns.
  uint32_t tile_rows;
  uint32_t tile_vectors;
};

using MatrixFunction = kernels::MatrixFunction;

}  // namespace tierup::codegen
