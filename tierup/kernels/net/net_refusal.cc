#include "tierup/kernels/net/net_refusal.h"

#include <array>

namespace tierup::kernels::net {
namespace {

struct Row {
  NetRefusal reason;
  std::string_view name;
  std::string_view text;
};
constexpr auto kRows = std::to_array<Row>({
    {NetRefusal::kNone, "none", ""},
    {NetRefusal::kVaryingArgument, "varying_argument",
     "an argument that nets take as a constant is none"},
    {NetRefusal::kOtherDtype, "other_dtype", "a tensor is not of float32"},
    {NetRefusal::kReadBeside, "read_beside", "a result that nets do not make is read"},
    {NetRefusal::kSmallProducts, "small_products", "products so small gain nothing by a net"},
    {NetRefusal::kAlone, "alone", "no neighbour to stand with"},
    {NetRefusal::kLeftToGroup, "left_to_group", "it is left to a fusion group"},
    {NetRefusal::kSharedMemory, "shared_memory", "two results would share their memory"},
    {NetRefusal::kLeadsOutside, "leads_outside",
     "what stands outside of the net needs it, and the rest of the net what that gives"},
    {NetRefusal::kLeadsNowhere, "leads_nowhere", "no layer that gains by the net needs it"},
    {NetRefusal::kMayLeaveGaps, "may_leave_gaps", "a result may lie with gaps in another's memory"},
    {NetRefusal::kArguments, "arguments", "its arguments are not compiled"},
    {NetRefusal::kPadding, "padding", "another padding"},
    {NetRefusal::kFactors, "factors", "a product with other operands"},
    {NetRefusal::kBothBroadcast, "both_broadcast",
     "the result of operands that both broadcast would be the largest value"},
    {NetRefusal::kAttentionShapes, "attention_shapes", "attention over other shapes"},
    {NetRefusal::kLooseFill, "loose_fill", "a fill of fewer numbers than its mask has"},
    {NetRefusal::kNoElements, "no_elements", "a tensor without elements or dimensions"},
    {NetRefusal::kNotTaken, "not_taken", "the kernels do not take it"},
    {NetRefusal::kNoTensor, "no_tensor", "an output is not a tensor of the line"},
    {NetRefusal::kOtherInputs, "other_inputs", "an input is of a kind that no net takes"},
    {NetRefusal::kTier0Raises, "tier0_raises", "tier 0 raises on such inputs"},
    {NetRefusal::kLeavesGaps, "leaves_gaps", "a result would lie with gaps in another's memory"},
    {NetRefusal::kDiffers, "differs", "it differs from tier 0"},
    {NetRefusal::kFailed, "failed", "not compiled for new sizes"},
});
static_assert(kRows.size() == kNetRefusalCount);
static_assert([] {
  for (size_t i = 0; i < kRows.size(); ++i) {
    if (kRows[i].reason != static_cast<NetRefusal>(i)) return false;
  }
  return true;
}());

}  // namespace

std::string_view refusal_name(NetRefusal reason) {
  return kRows.at(static_cast<size_t>(reason)).name;
}

std::string_view refusal_text(NetRefusal reason) {
  return kRows.at(static_cast<size_t>(reason)).text;
}

}  // namespace tierup::kernels::net
