// What torch.autocast does to the floating arguments of an operator on the CPU.
//
// The lists are those of the operators that PyTorch registers for autocasting on the CPU, with the
// composites whose parts are in them. Doubles, integers and bools are left as they are.
#pragma once

#include <cstdint>
#include <string_view>

namespace tierup::ops {

enum class CastPolicy : uint8_t {
  kNone,         // Runs in the dtypes that it is given.
  kReduced,      // In the region's dtype: products and convolutions.
  kFull,         // In float32: what loses too much otherwise.
  kWidest,       // In the widest of its arguments' dtypes.
  kPadding,      // kFull for the modes and ranks whose operator is in that list, else kNone.
  kUnsupported,  // Its parts are cast one by one, in ways that are not rebuilt here.
};

// By qualified name with the overload: "aten::conv2d.padding".
CastPolicy autocast_policy(std::string_view qualified_name);
// In TorchScript, whose compiler casts by lists of its own: by the name without the overload. kFull
// there leaves operators alone that are given a dtype.
CastPolicy scripted_autocast_policy(std::string_view name);
// The operator that casts there: (tensor, on CUDA, on the CPU[, CUDA's dtype, the CPU's dtype]),
// with the dtypes for kReduced.
std::string_view scripted_cast(CastPolicy policy);

}  // namespace tierup::ops
