// Role: what a pass may want to recognise an operator as, without knowing its name.
//
// Passes rewrite shapes of programs ("a product whose result is only added to"), and ask rows for
// roles, never for names. Overloads of one meaning share a role; most operators have none.
#pragma once

#include <cstdint>

namespace tierup::ops {

enum class Role : uint8_t {
  kNone,
  kIs,  // (a, b) -> bool: identity.
  kIsNot,
  kExpand,          // (self, size, *, implicit)
  kAppend,          // (list, element) -> list
  kListLength,      // (list) -> int
  kListItem,        // (list, index) -> element
  kNot,             // (bool) -> bool
  kUnwrapOptional,  // (optional) -> value; raises for None.
  kRank,            // (tensor) -> int
  kSize,            // (tensor, dim) -> int
  kSizes,           // (tensor) -> int[]
  kElementType,     // (tensor) -> int, the ScalarType's code
  kMetadataAssert,  // (tensor, sizes, strides, dtype, device, layout): raises if it has others.
  kGreater,         // (int, int) -> bool
  kEqual,           // (int, int) -> bool
  kNotEqual,        // (int, int) -> bool
  kView,            // (tensor, sizes) -> the same elements; perhaps a copy of them
  kLinear,          // (input, weight, bias) -> input times the transposed weight, plus the bias
  kMatmul,          // (a, b) -> their matrix product
  kEinsum,          // (equation, tensors) -> the sum of products that it says
  kSelect,          // (tensor, dim, index) -> its part without that dimension
  kSlice,           // (tensor, dim, start, end, step) -> its part
  kUnbind,          // (tensor, dim) -> all its entries of that dimension
  kParts,           // (tensor, sizes or number, dim) -> ranges of that dimension
  kTranspose,       // (tensor, dim0, dim1)
  kContiguous,      // (tensor, memory format) -> itself, or a copy that lies so
  kRearrangement,   // (tensor, ...) -> a view of its elements in other dimensions, or of a part
  kFlatten,         // (tensor, first, last) -> these dimensions as one
  kRowwise,         // (tensor, dims, ...) -> what is made of each row of them; see row_meaning.h
  kArithmetic,      // (tensor, other tensor, ...): a sum, difference, product or quotient
  kRecurrent,       // a layer or cell whose twin under tierup:: keeps its matrices packed
  kRagged,          // (tensor, mask, ...) -> the tensor, with the masked positions missing
  kFusionGroup,     // (inputs..., capsule) -> outputs...; see fusion_group.h
  kNeuralNet,       // (capsule, inputs...) -> outputs...; see neural_net.h
};

// Whether it looks at no more of a tensor than its geometry, and gives no tensor.
constexpr bool reads_geometry_alone(Role role) {
  switch (role) {
    case Role::kIs:
    case Role::kIsNot:
    case Role::kRank:
    case Role::kSize:
    case Role::kSizes:
    case Role::kElementType: return true;
    default: return false;
  }
}

}  // namespace tierup::ops
