#include "tierup/ops/regions/group_loads.h"

#include <numeric>

#include "tierup/kernels/memory/strided_loop.h"
#include "tierup/kernels/shape/slicing.h"
#include "tierup/ops/table/role.h"

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

Tensor meta_tensor(IntSpan sizes, IntSpan strides, ScalarType dtype) {
  return Tensor::from_storage(no_data(), dtype, sizes, strides, 0);
}

Tensor meta_tensor(IntSpan sizes) {
  return meta_tensor(sizes, contiguous_strides(sizes), ScalarType::kFloat);
}

Tensor through_views(Tensor tensor, const ViewChain& chain) {
  for (const ViewStep& step : chain.steps) tensor = view_of(tensor, step);
  return tensor;
}

GroupLoads::GroupLoads(const CompiledGroup& kernel, const GroupProgram& program,
                       std::span<const Tensor> inputs)
    : program_(program), inputs_(inputs) {
  for (size_t i = 0; i < program.members.size() && fits_; ++i) {
    const GroupMember& member = program.members[i];
    if (member.looks_up != LookUpKind::kNone) {
      add_look_up(member);
    } else {
      member.joins ? add_join(member, kernel.members[i].dtype)
                   : add_member(member, kernel.members[i].dtype);
    }
  }
  // Every result has to fall apart as the joined values do.
  for (const uint32_t output : program.outputs) {
    if (!cut_ || !fits_) break;
    const IntSpan sizes = members_[output].sizes();
    const int64_t dim = members_[output].dim() + cut_->from_back;
    fits_ = dim >= 0 && sizes[static_cast<size_t>(dim)] ==
                            std::accumulate(cut_->lengths.begin(), cut_->lengths.end(), int64_t{0});
  }
}

Loads GroupLoads::loads_of(const CompiledKernel& kernel) {
  Loads loads;
  for (size_t i = 0; i < kernel.loads.size() && fits_; ++i) {
    const Load& load = kernel.loads[i];
    if (load.source == GroupArgument::Source::kInput) {
      loads.tensors.push_back(stepped(inputs_[load.index], load));
      loads.indices.emplace_back();
      loads.look_ups.push_back(nullptr);
      continue;
    }
    const LookUp& look_up = look_ups_[load.index];
    loads.tensors.push_back(stepped(look_up.table, load));
    loads.indices.push_back(stepped(look_up.index, load));
    loads.look_ups.push_back(&look_up);
    // Nothing may have been copied on the way.
    fits_ = fits_ && loads.tensors[i].storage() == look_up.table.storage() &&
            loads.indices[i].storage() == look_up.index.storage();
  }
  return loads;
}

Tensor GroupLoads::stepped(Tensor tensor, const Load& load) {
  for (const LoadStep& step : load.steps) {
    if (step.member != UINT32_MAX) tensor = expand_to(tensor, members_[step.member].sizes());
    tensor = step.chain == UINT32_MAX ? part_of(tensor, step.part)
                                      : viewed(std::move(tensor), program_.chains[step.chain]);
  }
  return tensor;
}

Tensor GroupLoads::part_of(const Tensor& whole, uint32_t part) const {
  const int64_t dim = whole.dim() + cut_->from_back;
  if (cut_->is_stack) return kernels::select(whole, dim, part);
  const auto& lengths = cut_->lengths;
  const int64_t start = std::accumulate(lengths.begin(), lengths.begin() + part, int64_t{0});
  return kernels::narrow(whole, dim, start, lengths[part]);
}

const Tensor& GroupLoads::value_of(const GroupArgument& argument) const {
  const bool is_input = argument.source == GroupArgument::Source::kInput;
  return is_input ? inputs_[argument.index] : members_[argument.index];
}

void GroupLoads::add_member(const GroupMember& member, ScalarType dtype) {
  SmallVector<Tensor, 4> operands;
  for (const GroupArgument& argument : member.arguments) {
    if (argument.source == GroupArgument::Source::kConstant) continue;
    operands.push_back(argument.is_viewed()
                           ? viewed(value_of(argument), program_.chains[argument.chain])
                           : value_of(argument));
  }
  IntVector sizes;
  SmallVector<const Tensor*, 4> pointers;
  for (const Tensor& operand : operands) {
    sizes = broadcast_shapes(sizes, operand.sizes());
    pointers.push_back(&operand);
  }
  members_.push_back(meta_tensor(sizes, kernels::pointwise_strides(sizes, pointers), dtype));
}

// What would be an error, or laid out otherwise than in order, is the operator's to answer for.
void GroupLoads::add_join(const GroupMember& member, ScalarType dtype) {
  const size_t parts = member.arguments.size() - 1;
  const bool is_stack = member.op->facts().join == JoinKind::kStack;
  const Tensor& first = value_of(member.arguments[0]);
  const int64_t rank = first.dim() + (is_stack ? 1 : 0);
  const int64_t given = member.arguments[parts].constant.to_int();
  const int64_t dim = given < 0 ? given + rank : given;
  fits_ = fits_ && dim >= 0 && dim < rank && (is_stack || rank > 0);
  if (!fits_) return;
  Cut cut{dim - rank, is_stack, {}};
  int64_t total = 0;
  bool is_in_order = is_stack;
  for (size_t i = 0; i < parts; ++i) {
    const Tensor& part = value_of(member.arguments[i]);
    fits_ = fits_ && part.dim() == first.dim();
    for (int64_t d = 0; d < first.dim() && fits_; ++d) {
      fits_ = part.size(d) == first.size(d) || (d == dim && !is_stack);
    }
    if (!fits_) return;
    cut.lengths.push_back(is_stack ? 1 : part.size(dim));
    total += cut.lengths.back();
    is_in_order = is_in_order || part.suggest_memory_format() == MemoryFormat::kContiguous;
  }
  IntVector sizes(first.sizes().begin(), first.sizes().end());
  if (is_stack) sizes.insert(sizes.begin() + dim, 0);
  sizes[static_cast<size_t>(dim)] = total;
  members_.push_back(meta_tensor(sizes, contiguous_strides(sizes), dtype));
  fits_ = is_in_order && (!cut_ || *cut_ == cut);
  cut_ = std::move(cut);
}

void GroupLoads::add_look_up(const GroupMember& member) {
  const LookUpArguments call = look_up_arguments(member);
  std::optional<LookUp> look_up =
      look_up_of(member.looks_up, inputs_[call.table], inputs_[call.index], call.dim);
  fits_ = fits_ && look_up.has_value();
  if (!fits_) return;
  const IntSpan sizes = look_up->table.sizes();
  look_ups_.resize(members_.size() + 1);
  members_.push_back(meta_tensor(sizes, contiguous_strides(sizes), look_up->table.dtype()));
  look_ups_.back() = *std::move(look_up);
}

// What would have to be copied has no meta tensor, and is better computed where it lies.
Tensor GroupLoads::viewed(Tensor tensor, const ViewChain& chain) {
  for (const ViewStep& step : chain.steps) {
    if (tensor.is_meta() && may_copy(*step.op) && !tensor.is_contiguous()) {
      fits_ = false;
      return tensor;
    }
    tensor = view_of(tensor, step);
  }
  fits_ = fits_ && (tensor.dim() == 0) == (chain.category != PromotionCategory::kDimensioned);
  return tensor;
}

}  // namespace tierup::ops
