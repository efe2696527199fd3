// Why an operator stands in no fusion group or differentiable part, or a group got no kernels: each
// reason has a name, for counters and JSON, and one sentence, for people. For compiled nets:
// kernels/net/net_refusal.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "tierup/ir/source.h"
#include "tierup/kernels/net/net_refusal.h"

namespace tierup::ops {

enum class GroupRefusal : uint8_t {
  kNone,
  // Of an operator and what it reads and gives.
  kNoTensor,
  kUndefinedArgument,
  kVaryingNumber,
  kWrittenMemory,
  kWrittenResult,
  kOtherOperands,
  kNoExpression,
  kNoLanes,
  kSeveralDtypes,
  kNoFloats,
  kIndexDtype,
  kNoDimensions,
  kRaises,
  // Of what it goes over.
  kNotLastDimensions,
  kOtherRows,
  kUnknownSizes,
  kFewElements,
  kOtherFactors,
  kLargeProduct,
  kLargeOperand,
  kLargeResult,
  // Of joined values.
  kSharedList,
  kPartCount,
  kVaryingDimension,
  kNarrowParts,
  kViewedJoin,
  // Of the group.
  kAlone,
  kManyOperands,
  kManyDimensions,
  kStridedColumns,
  kMisfit,
  // Of the code generator.
  kNoGenerator,
  kGeneratorFailed,
};
inline constexpr size_t kGroupRefusalCount =
    static_cast<size_t>(GroupRefusal::kGeneratorFailed) + 1;

// Why an operator ends a differentiable part of a program
// (passes/specialize/differentiable_parts.h).
enum class PartRefusal : uint8_t {
  kNone,
  kNoOperator,
  kNoDerivative,
  kRandom,
  kUninitialized,
  kReadsModes,
  kWrites,
  kEffects,
  kReadsNumbers,
  kAnyArguments,
  kValueSizes,
  kKeptList,
  kContainers,
  kHolds,
  kInput,
};
inline constexpr size_t kPartRefusalCount = static_cast<size_t>(PartRefusal::kInput) + 1;

// "written_memory".
std::string_view refusal_name(GroupRefusal reason);
std::string_view refusal_name(PartRefusal reason);
// "it reads memory that is written".
std::string_view refusal_text(GroupRefusal reason);
std::string_view refusal_text(PartRefusal reason);

// A reason with what is particular to the case, such as a number; kNone: nothing was refused.
template <typename Reason>
struct Refusal {
  Reason reason = Reason::kNone;
  std::string detail;

  Refusal() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): mostly the reason is all there is to say.
  Refusal(Reason why, std::string more = {}) : reason(why), detail(std::move(more)) {}
  explicit operator bool() const { return reason != Reason::kNone; }
  std::string_view name() const { return refusal_name(reason); }
  // The sentence, and the detail in parentheses; empty for kNone.
  std::string text() const {
    std::string text(refusal_text(reason));
    return detail.empty() ? text : text + " (" + detail + ")";
  }
};
using RefusedGroup = Refusal<GroupRefusal>;
using RefusedPart = Refusal<PartRefusal>;
using RefusedNet = Refusal<kernels::net::NetRefusal>;

// An operator that was left out of regions of a kind, for reports.
struct RefusedOperator {
  std::string region;     // "group", "net" or "part".
  std::string reason;     // Refusal::name().
  std::string text;       // Refusal::text().
  std::string operation;  // "aten::mm", or several of a region.
  ir::SourceRange range;  // The model's own line.
};

}  // namespace tierup::ops
