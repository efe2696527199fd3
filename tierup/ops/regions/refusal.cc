#include "tierup/ops/regions/refusal.h"

#include <array>

namespace tierup::ops {
namespace {

template <typename Reason>
struct Row {
  Reason reason;
  std::string_view name;
  std::string_view text;
};
constexpr auto kGroups = std::to_array<Row<GroupRefusal>>({
    {GroupRefusal::kNone, "none", ""},
    {GroupRefusal::kNoTensor, "no_tensor", "what it reads is no tensor"},
    {GroupRefusal::kUndefinedArgument, "undefined_argument", "an argument is undefined"},
    {GroupRefusal::kVaryingNumber, "varying_number", "a number among its arguments is no constant"},
    {GroupRefusal::kWrittenMemory, "written_memory", "it reads memory that is written"},
    {GroupRefusal::kWrittenResult, "written_result", "its result is written later"},
    {GroupRefusal::kOtherOperands, "other_operands", "it works on more than its arguments"},
    {GroupRefusal::kNoExpression, "no_expression", "there is no expression for it"},
    {GroupRefusal::kNoLanes, "no_lanes", "its elements do not travel in lanes"},
    {GroupRefusal::kSeveralDtypes, "several_dtypes", "its tensors are of several dtypes"},
    {GroupRefusal::kNoFloats, "no_floats", "its elements are no floats"},
    {GroupRefusal::kIndexDtype, "index_dtype", "its index is of another dtype"},
    {GroupRefusal::kNoDimensions, "no_dimensions", "a tensor has no dimensions"},
    {GroupRefusal::kRaises, "raises", "tier 0 raises for such arguments"},
    {GroupRefusal::kNotLastDimensions, "not_last_dimensions",
     "it does not go over the last dimensions"},
    {GroupRefusal::kOtherRows, "other_rows", "its rows are others"},
    {GroupRefusal::kUnknownSizes, "unknown_sizes", "its sizes are not known"},
    {GroupRefusal::kFewElements, "few_elements", "too few elements"},
    {GroupRefusal::kOtherFactors, "other_factors", "its factors have other dimensions"},
    {GroupRefusal::kLargeProduct, "large_product", "the product is large"},
    {GroupRefusal::kLargeOperand, "large_operand", "what it adds is large or unknown"},
    {GroupRefusal::kLargeResult, "large_result", "its result is large"},
    {GroupRefusal::kSharedList, "shared_list", "its list is not its own"},
    {GroupRefusal::kPartCount, "part_count", "it has too many parts, or one"},
    {GroupRefusal::kVaryingDimension, "varying_dimension", "its dimension is no constant"},
    {GroupRefusal::kNarrowParts, "narrow_parts", "its parts are too narrow"},
    {GroupRefusal::kViewedJoin, "viewed_join", "a joined value is read through views"},
    {GroupRefusal::kAlone, "alone", "no neighbour to fuse with"},
    {GroupRefusal::kManyOperands, "many_operands", "its group would have too many operands"},
    {GroupRefusal::kManyDimensions, "many_dimensions", "a value has too many dimensions"},
    {GroupRefusal::kStridedColumns, "strided_columns", "a value's columns do not lie side by side"},
    {GroupRefusal::kMisfit, "misfit", "its values do not fit together without a copy"},
    {GroupRefusal::kNoGenerator, "no_generator", "there is no code generator"},
    {GroupRefusal::kGeneratorFailed, "generator_failed", "the code generator failed"},
});
static_assert(kGroups.size() == kGroupRefusalCount);

constexpr auto kParts = std::to_array<Row<PartRefusal>>({
    {PartRefusal::kNone, "none", ""},
    {PartRefusal::kNoOperator, "no_operator", "it is no operator"},
    {PartRefusal::kNoDerivative, "no_derivative", "it has no derivative"},
    {PartRefusal::kRandom, "random", "it draws random numbers"},
    {PartRefusal::kUninitialized, "uninitialized", "it gives uninitialised memory"},
    {PartRefusal::kReadsModes, "reads_modes", "it reads the run's modes"},
    {PartRefusal::kWrites, "writes", "it writes in place"},
    {PartRefusal::kEffects, "effects", "it has effects"},
    {PartRefusal::kReadsNumbers, "reads_numbers", "it reads numbers out of tensors"},
    {PartRefusal::kAnyArguments, "any_arguments", "it takes any arguments"},
    {PartRefusal::kValueSizes, "value_sizes", "it gives sizes that may depend on values"},
    {PartRefusal::kKeptList, "kept_list", "it makes a list that is kept or written"},
    {PartRefusal::kContainers, "containers", "it gives containers"},
    {PartRefusal::kHolds, "holds", "it holds what may not stand in a part"},
    {PartRefusal::kInput, "input", "it reads what may not enter a part"},
});
static_assert(kParts.size() == kPartRefusalCount);

template <typename Rows>
constexpr bool are_in_order(const Rows& rows) {
  for (size_t i = 0; i < rows.size(); ++i) {
    if (static_cast<size_t>(rows[i].reason) != i) return false;
  }
  return true;
}
static_assert(are_in_order(kGroups) && are_in_order(kParts));

}  // namespace

std::string_view refusal_name(GroupRefusal reason) {
  return kGroups.at(static_cast<size_t>(reason)).name;
}

std::string_view refusal_text(GroupRefusal reason) {
  return kGroups.at(static_cast<size_t>(reason)).text;
}

std::string_view refusal_name(PartRefusal reason) {
  return kParts.at(static_cast<size_t>(reason)).name;
}

std::string_view refusal_text(PartRefusal reason) {
  return kParts.at(static_cast<size_t>(reason)).text;
}

}  // namespace tierup::ops
