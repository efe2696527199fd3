#include "tierup/ops/group_loads.h"

#include "tierup/kernels/strided_loop.h"
#include "tierup/ops/role.h"

namespace tierup::ops {
namespace {

const Ref<Storage>& no_data() {
  static const Ref<Storage> storage = Storage::borrow(nullptr, 0, {}, {DeviceType::kMeta});
  return storage;
}

bool may_copy(const Op& op) { return op.role() == Role::kView || op.role() == Role::kFlatten; }

Tensor view_of(const Tensor& tensor, const ViewStep& step) {
  SmallVector<IValue, 8> arguments{IValue(tensor)};
  arguments.insert(arguments.end(), step.rest.begin(), step.rest.end());
  IValue result;
  RunContext context;
  OpCall call{{arguments.data(), arguments.size()}, {&result, 1}, context};
  step.op->kernel()(call);
  if (step.part < 0) return std::move(result).to_tensor();
  const auto& parts = result.to_list().items;
  require(static_cast<size_t>(step.part) < parts.size(), ErrorCode::kInvalidArgument,
          "there is no part {} of {}", step.part, parts.size());
  return parts[static_cast<size_t>(step.part)].to_tensor();
}

}  // namespace

Tensor outline(IntSpan sizes, IntSpan strides, ScalarType dtype) {
  return Tensor::from_storage(no_data(), dtype, sizes, strides, 0);
}

Tensor through_views(Tensor tensor, const ViewChain& chain) {
  for (const ViewStep& step : chain.steps) tensor = view_of(tensor, step);
  return tensor;
}

GroupLoads::GroupLoads(const CompiledGroup& kernel, const GroupProgram& program,
                       std::span<const Tensor> inputs)
    : program_(program), inputs_(inputs) {
  for (size_t i = 0; i < program.members.size() && fits_; ++i) {
    outline_member(program.members[i], kernel.members[i].dtype);
  }
  for (size_t i = 0; i < kernel.loads.size() && fits_; ++i) {
    Tensor tensor = inputs[kernel.loads[i].input];
    for (const LoadStep& step : kernel.loads[i].steps) {
      if (step.member != UINT32_MAX) tensor = expand_to(tensor, members_[step.member].sizes());
      tensor = viewed(std::move(tensor), program.chains[step.chain]);
    }
    loads_.push_back(std::move(tensor));
  }
}

void GroupLoads::outline_member(const GroupMember& member, ScalarType dtype) {
  SmallVector<Tensor, 4> operands;
  for (const GroupArgument& argument : member.arguments) {
    if (argument.source == GroupArgument::Source::kConstant) continue;
    const bool is_input = argument.source == GroupArgument::Source::kInput;
    const Tensor& value = is_input ? inputs_[argument.index] : members_[argument.index];
    operands.push_back(argument.is_viewed() ? viewed(value, program_.chains[argument.chain])
                                            : value);
  }
  IntVector sizes;
  SmallVector<const Tensor*, 4> pointers;
  for (const Tensor& operand : operands) {
    sizes = broadcast_shapes(sizes, operand.sizes());
    pointers.push_back(&operand);
  }
  members_.push_back(outline(sizes, kernels::pointwise_strides(sizes, pointers), dtype));
}

// What would have to be copied has no outline, and is better computed where it lies.
Tensor GroupLoads::viewed(Tensor tensor, const ViewChain& chain) {
  for (const ViewStep& step : chain.steps) {
    if (tensor.is_meta() && may_copy(*step.op) && !tensor.is_contiguous()) {
      fits_ = false;
      return tensor;
    }
    tensor = view_of(tensor, step);
  }
  fits_ = fits_ && (tensor.dim() == 0) == (chain.standing != Standing::kDimensioned);
  return tensor;
}

}  // namespace tierup::ops
