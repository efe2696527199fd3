// See matrix_meta_tensors.h.
#include "tierup/ops/regions/matrix_meta_tensors.h"

#include <fmt/format.h>

#include <algorithm>

#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/memory/strided_loop.h"
#include "tierup/kernels/shape/view.h"
#include "tierup/ops/regions/group_loads.h"
#include "tierup/ops/regions/matrix_stage.h"
#include "tierup/ops/table/role.h"

namespace tierup::ops {
namespace {

// What would have to be copied has no meta tensor.
Tensor stepped(const Tensor& tensor, const ViewStep& step) {
  const bool may_copy = step.op->role() == Role::kView || step.op->role() == Role::kFlatten;
  if (!may_copy || tensor.is_contiguous()) {
    ViewChain one;
    one.steps.push_back(step);
    return through_views(tensor, one);
  }
  require(step.op->role() == Role::kView && step.rest.size() == 1, ErrorCode::kInvalidArgument,
          "a view would copy");
  IntVector sizes;
  for (const IValue& size : step.rest[0].to_list().items) sizes.push_back(size.to_int());
  return kernels::view(tensor, sizes);
}

bool has_tensor(const GroupArgument& argument) {
  return argument.source != GroupArgument::Source::kConstant;
}

}  // namespace

Tensor meta_through(Tensor meta, const ViewChain& views) {
  for (const ViewStep& step : views.steps) meta = stepped(meta, step);
  return meta;
}

Tensor copied_in_order(const Tensor& tensor) {
  return kernels::clone(tensor, MemoryFormat::kContiguous);
}

ColumnStep column_step(const Tensor& tensor, int64_t columns) {
  if (tensor.dim() == 0 || tensor.size(-1) != columns || columns == 1) return ColumnStep::kNone;
  const int64_t stride = tensor.stride(-1);
  if (stride == 0) return ColumnStep::kNone;
  return stride == 1 ? ColumnStep::kOne : ColumnStep::kAny;
}

bool allows(const Tensor& tensor, int64_t columns, ColumnStep step) {
  if (step == ColumnStep::kTurned) return tensor.size(-2) == 1 || tensor.stride(-2) == 1;
  if (columns == 1 || step == ColumnStep::kAny) return true;
  return column_step(tensor, columns) == step;
}

ColumnStep right_step(const Tensor& factor) {
  const ColumnStep step = column_step(factor, factor.size(-1));
  return step == ColumnStep::kAny && factor.stride(-2) == 1 ? ColumnStep::kTurned : step;
}

MatrixMetaTensors::MatrixMetaTensors(const GroupProgram& program, std::span<const Tensor> inputs)
    : program_(program), factors_(program.members.size()) {
  for (const Tensor& input : inputs) {
    inputs_.push_back(meta_tensor(input.sizes(), input.strides(), input.dtype()));
    if (input.dim() > kMaxRank) refusal_ = GroupRefusal::kManyDimensions;
  }
  try {
    if (!refusal_) make_all();
  } catch (const Error& error) {
    refusal_ = {GroupRefusal::kMisfit, error.message()};
  }
}

void MatrixMetaTensors::make_all() {
  for (const GroupMember& member : program_.members) {
    members_.push_back(meta_of(member));
    if (refusal_) return;
    const Tensor& made = members_.back();
    if (made.dim() > kMaxRank) refusal_ = GroupRefusal::kManyDimensions;
    if (made.dim() > 0 && made.size(-1) > 1 && made.stride(-1) != 1) {
      refusal_ = GroupRefusal::kStridedColumns;
    }
  }
}

Tensor MatrixMetaTensors::value_of(GroupArgument::Source source, uint32_t index,
                                   uint32_t chain) const {
  Tensor value = source == GroupArgument::Source::kInput ? inputs_[index] : members_[index];
  if (chain == UINT32_MAX) return value;
  const ViewChain& views = program_.chains[chain];
  value = meta_through(std::move(value), views);
  require((value.dim() == 0) == (views.category != PromotionCategory::kDimensioned),
          ErrorCode::kInvalidArgument, "a view is not what was expected");
  return value;
}

Tensor MatrixMetaTensors::meta_of(const GroupMember& member) {
  if (member.multiplies) return meta_of_product(member);
  return member.by_rows ? meta_of_row_member(member) : meta_of_point(member);
}

Tensor MatrixMetaTensors::meta_of_product(const GroupMember& member) {
  const ProductKind kind = member.op->facts().product;
  const ProductArguments places = product_arguments(kind);
  const Tensor left = value_of(member.arguments[places.left]);
  const Tensor right = value_of(member.arguments[places.right]);
  std::optional<Factors> factors = factors_of(kind, left, right);
  if (!factors) {
    refusal_ = GroupRefusal::kOtherFactors;
    return {};
  }
  if (is_large_product(*factors)) refusal_ = large_product(*factors);
  if (member.turned != UINT32_MAX) {
    const Tensor& turned = inputs_[member.turned];
    require(std::equal(turned.sizes().begin(), turned.sizes().end(), factors->right.sizes().begin(),
                       factors->right.sizes().end()),
            ErrorCode::kInvalidArgument, "a factor has other sizes than before");
    factors->right = turned;
  }
  if (places.added && has_tensor(member.arguments[*places.added])) {
    expand_to(value_of(member.arguments[*places.added]), factors->sizes);  // Throws if it cannot.
  }
  Factors& kept = factors_[members_.size()];
  kept = *std::move(factors);
  return meta_tensor(kept.sizes, contiguous_strides(kept.sizes), left.dtype());
}

// Over dense rows.
Tensor MatrixMetaTensors::meta_of_row_member(const GroupMember& member) const {
  const Tensor value = value_of(member.arguments[0]);
  const size_t rank = value.sizes().size();
  require(value.is_contiguous() && rank > program_.row_rank, ErrorCode::kInvalidArgument,
          "its rows are laid out otherwise");
  IntVector sizes(value.sizes().begin(), value.sizes().end());
  for (size_t d = rank - program_.row_rank; d < rank; ++d) {
    if (member.space == RowSpace::kColumn) sizes[d] = 1;
  }
  if (member.space == RowSpace::kFlat) sizes.resize(rank - program_.row_rank);
  return meta_tensor(sizes, contiguous_strides(sizes), value.dtype());
}

Tensor MatrixMetaTensors::meta_of_point(const GroupMember& member) const {
  SmallVector<Tensor, 4> operands;
  for (const GroupArgument& argument : member.arguments) {
    if (has_tensor(argument)) operands.push_back(value_of(argument));
  }
  IntVector sizes;
  SmallVector<const Tensor*, 4> pointers;
  for (const Tensor& operand : operands) {
    sizes = broadcast_shapes(sizes, operand.sizes());
    pointers.push_back(&operand);
  }
  return meta_tensor(sizes, kernels::pointwise_strides(sizes, pointers), operands[0].dtype());
}

}  // namespace tierup::ops
