// Why a line of operators, or one operator, runs in no compiled net: each reason has a name, for
// counters and JSON, and one sentence, for people.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tierup::kernels::net {

enum class NetRefusal : uint8_t {
  kNone,
  // Of an operator in its graph.
  kVaryingArgument,
  kOtherDtype,
  kReadBeside,
  kSmallProducts,
  kAlone,
  kLeftToGroup,
  kSharedMemory,
  kLeadsOutside,
  kLeadsNowhere,
  kMayLeaveGaps,
  // Of an operator for certain sizes.
  kArguments,
  kPadding,
  kFactors,
  kBothBroadcast,
  kAttentionShapes,
  kLooseFill,
  kNoElements,
  kNotTaken,
  // Of the line.
  kNoTensor,
  kOtherInputs,
  kTier0Raises,
  kLeavesGaps,
  kDiffers,
  kFailed,
};
inline constexpr size_t kNetRefusalCount = static_cast<size_t>(NetRefusal::kFailed) + 1;

// "varying_argument".
std::string_view refusal_name(NetRefusal reason);
// "an argument that nets take as a constant is none".
std::string_view refusal_text(NetRefusal reason);

}  // namespace tierup::kernels::net
