#include "tierup/ops/regions/fused_loop.h"

#include <algorithm>
#include <atomic>
#include <limits>

#include "tierup/kernels/memory/memory_reuse.h"
#include "tierup/ops/regions/block_run.h"
#include "tierup/ops/regions/space_shape.h"

namespace tierup::ops {
namespace {

using kernels::StridedLoop;

constexpr int64_t kFewElements = 2048;  // Over which blocks would take longer to prepare.

bool has_uniform_inputs(const CompiledKernel& stage) {
  return std::any_of(stage.inputs.begin(), stage.inputs.end(),
                     [](const KernelInput& input) { return input.uniform; });
}

// Whether kernels may go over everything in one order: inputs that must be the same for all
// elements of a run are single ones.
bool can_run_blocks(const CompiledKernel& stage, std::span<const Tensor> outputs,
                    std::span<const Tensor> operands) {
  for (size_t i = 0; i < operands.size(); ++i) {
    if (stage.inputs[i].uniform && operands[i].numel() != 1) return false;
  }
  return std::all_of(outputs.begin(), outputs.end(), [&](const Tensor& output) {
    return output.is_non_overlapping_and_dense() &&
           same_sizes(output.strides(), outputs[0].strides());
  });
}

// The dimensions from the slowest to the fastest.
SmallVector<size_t, 6> order_of(const Tensor& output) {
  SmallVector<size_t, 6> order;
  for (size_t d = 0; d < output.sizes().size(); ++d) order.push_back(d);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return output.strides()[a] > output.strides()[b]; });
  return order;
}

Tensor in_order(const Tensor& tensor, IntSpan shape, const SmallVector<size_t, 6>& order) {
  const Tensor whole = expand_to(tensor, shape);
  IntVector sizes;
  IntVector strides;
  for (const size_t d : order) {
    sizes.push_back(whole.sizes()[d]);
    strides.push_back(whole.strides()[d]);
  }
  return Tensor::from_storage(whole.storage(), whole.dtype(), sizes, strides, whole.offset());
}

bool run_by_blocks(const KernelRun& plan, std::span<const Tensor> outputs,
                   std::span<const Tensor> operands, const Loads* loads, int64_t grain) {
  const IntSpan shape = outputs[0].sizes();
  const SmallVector<size_t, 6> order = order_of(outputs[0]);
  if (std::is_sorted(order.begin(), order.end())) {
    return BlockRun(plan, shape, outputs, operands, loads).run(grain);
  }
  SmallVector<Tensor, 2> to;
  SmallVector<Tensor, 8> from;
  Loads looked;
  for (const Tensor& output : outputs) to.push_back(in_order(output, shape, order));
  for (size_t i = 0; i < operands.size(); ++i) {
    from.push_back(in_order(operands[i], shape, order));
    if (loads == nullptr) continue;
    looked.look_ups.push_back(loads->look_ups[i]);
    looked.indices.push_back(
        loads->look_ups[i] == nullptr ? Tensor() : in_order(loads->indices[i], shape, order));
  }
  return BlockRun(plan, to[0].sizes(), to, from, loads == nullptr ? nullptr : &looked).run(grain);
}

}  // namespace

FusedLoop::FusedLoop(const CompiledGroup& kernel, const GroupProgram& program,
                     const std::vector<std::vector<uint32_t>>& support, std::span<IValue> inputs)
    : kernel_(kernel), program_(program), support_(support), homes_(inputs) {
  for (IValue& input : inputs) inputs_.push_back(std::move(input).to_tensor());
}

FusedLoop::~FusedLoop() {
  for (size_t i = 0; i < inputs_.size(); ++i) homes_[i] = IValue(std::move(inputs_[i]));
}

// False if views do not fit: then the operators say why, or go another way.
bool FusedLoop::find_views() {
  if (!reads_loads(program_)) return true;
  try {
    viewed_.emplace(kernel_, program_, std::span<const Tensor>(inputs_.data(), inputs_.size()));
    for (const CompiledKernel& stage : kernel_.stages) loads_.push_back(viewed_->loads_of(stage));
  } catch (const Error&) {
    return false;
  }
  return viewed_->fits();
}

// That of the first output, as it would be if its member ran alone; the others' must be the same.
bool FusedLoop::find_viewed_shape() {
  const IntSpan sizes = viewed_->member(program_.outputs[0]).sizes();
  shape_.assign(sizes.begin(), sizes.end());
  return std::all_of(program_.outputs.begin(), program_.outputs.end(), [&](uint32_t output) {
    return same_sizes(viewed_->member(output).sizes(), shape_);
  });
}

bool FusedLoop::find_shape() {
  if (viewed_) return find_viewed_shape();
  bool first = true;
  for (const Tensor& input : inputs_) {
    const IntSpan sizes = input.sizes();
    if (sizes.empty()) continue;
    if (first) {
      shape_.assign(sizes.begin(), sizes.end());
      first = false;
    } else if (!same_sizes(sizes, shape_)) {
      all_plain_ = false;
      if (!widen(shape_, sizes)) return false;
    }
    all_plain_ = all_plain_ && input.is_contiguous();
  }
  return std::all_of(support_.begin(), support_.end(),
                     [&](const auto& support) { return has_shape(support); });
}

// Whether the inputs broadcast to the whole shape.
bool FusedLoop::has_shape(const std::vector<uint32_t>& support) const {
  for (size_t d = 1; d <= shape_.size(); ++d) {
    const int64_t wanted = shape_[shape_.size() - d];
    const bool found = std::any_of(support.begin(), support.end(), [&](uint32_t i) {
      const IntSpan sizes = inputs_[i].sizes();
      return d <= sizes.size() && sizes[sizes.size() - d] == wanted;
    });
    if (!found) return false;
  }
  return true;
}

bool FusedLoop::is_uniform_enough(const CompiledKernel& stage, const StridedLoop& loop) const {
  for (size_t i = 0; i < stage.inputs.size(); ++i) {
    if (stage.inputs[i].uniform && loop.inner_stride(outputs_.size() + i) != 0 &&
        loop.inner_size() > 1)
      return false;
  }
  return true;
}

// Each member's layout follows from its arguments', as if it had run alone.
std::vector<IntVector> FusedLoop::output_strides() const {
  std::vector<IntVector> result;
  const auto add = [&](const Tensor& tensor) {
    result.emplace_back(tensor.strides().begin(), tensor.strides().end());
  };
  if (viewed_) {
    for (const uint32_t output : program_.outputs) add(viewed_->member(output));
    return result;
  }
  std::vector<Tensor> metas;
  for (const GroupMember& member : program_.members) {
    std::vector<const Tensor*> tensors;
    for (const GroupArgument& argument : member.arguments) {
      if (argument.source == GroupArgument::Source::kInput)
        tensors.push_back(&inputs_[argument.index]);
      if (argument.source == GroupArgument::Source::kMember)
        tensors.push_back(&metas[argument.index]);
    }
    IntVector sizes;
    for (const Tensor* tensor : tensors) sizes = broadcast_shapes(sizes, tensor->sizes());
    const IntVector strides = kernels::pointwise_strides(sizes, tensors);
    metas.push_back(meta_tensor(sizes, strides, ScalarType::kFloat));
  }
  for (const uint32_t output : program_.outputs) add(metas[output]);
  return result;
}

// An input's memory for a contiguous output, if nobody will read that input again.
Tensor FusedLoop::reuse_input(ScalarType dtype) {
  const IntVector strides = contiguous_strides(shape_);
  for (const Tensor& input : inputs_) {
    if (!input.defined() || input.ref()->use_count() != 1) continue;
    Tensor reused = kernels::reuse_memory(input, dtype, shape_, strides);
    if (reused.defined()) return reused;
  }
  return {};
}

// Whether the dimensions of each input lie in their order: so do those of all results then, be they
// broadcast or not. A dimension of one place has no order.
bool FusedLoop::lies_in_order() const {
  if (std::ranges::any_of(shape_, [](int64_t size) { return size <= 1; })) return false;
  return std::ranges::all_of(inputs_, [](const Tensor& input) {
    if (!input.defined()) return true;
    int64_t outer = std::numeric_limits<int64_t>::max();
    for (size_t d = 0; d < input.sizes().size(); ++d) {
      const int64_t stride = input.strides()[d];
      if (input.sizes()[d] == 1 || stride == 0) continue;
      if (stride >= outer) return false;
      outer = stride;
    }
    return true;
  });
}

void FusedLoop::make_outputs() {
  std::vector<IntVector> strides;
  if (viewed_ || !(all_plain_ || lies_in_order())) strides = output_strides();
  for (size_t i = 0; i < program_.outputs.size(); ++i) {
    const ScalarType dtype = kernel_.members[program_.outputs[i]].dtype;
    const bool is_plain = strides.empty() || same_sizes(strides[i], contiguous_strides(shape_));
    // Once reused, the storage has a second owner and is not found again.
    Tensor output = is_plain && !viewed_ ? reuse_input(dtype) : Tensor();
    if (!output.defined()) {
      output = is_plain ? Tensor::empty(shape_, dtype)
                        : Tensor::empty_strided(shape_, strides[i], dtype);
    }
    outputs_.push_back(std::move(output));
  }
}

bool FusedLoop::run_stage(const CompiledKernel& stage, IntSpan shape,
                          std::span<const Tensor> outputs, std::span<const Tensor> operands,
                          const Loads* loads) const {
  KernelRun plan{&stage, outputs.size(), outputs.size() + operands.size(), {}, {}};
  SmallVector<const Tensor*, kMaxOperands> tensors;
  for (const Tensor& output : outputs) tensors.push_back(&output);
  for (const Tensor& operand : operands) tensors.push_back(&operand);
  for (size_t k = 0; k < plan.operands; ++k) {
    plan.widths[k] = static_cast<int64_t>(tensors[k]->item_size());
  }
  for (size_t i = 0; loads != nullptr && i < loads->look_ups.size(); ++i) {
    if (loads->look_ups[i] == nullptr) continue;
    const Tensor& index = loads->indices[i];
    const auto* first = static_cast<const char*>(index.raw());
    int64_t last = 0;
    for (int64_t d = 0; d < index.dim(); ++d) last += (index.size(d) - 1) * index.stride(d);
    last *= static_cast<int64_t>(index.item_size());
    plan.looked.push_back({plan.outputs + i, loads->look_ups[i], first, first + last});
    tensors.push_back(&index);
  }
  if (tensors.size() > kMaxOperands) return false;
  const StridedLoop loop(shape, std::span<const Tensor* const>(tensors.data(), tensors.size()));
  if (!is_uniform_enough(stage, loop)) return false;
  bool looks_up_in_runs = false;
  for (size_t k = plan.operands; k < tensors.size(); ++k) {
    looks_up_in_runs = looks_up_in_runs || loop.inner_stride(k) != 0;
  }
  const bool has_short_runs = loop.inner_size() < stage.short_run && loop.numel() >= kFewElements;
  if (looks_up_in_runs || has_short_runs) {
    if (can_run_blocks(stage, outputs, operands)) {
      return run_by_blocks(plan, outputs, operands, loads, kernel_.grain);
    }
    // A kernel for inputs that are the same over each run is for longer ones; the general one
    // follows it.
    if (looks_up_in_runs || has_uniform_inputs(stage)) return false;
  }
  std::atomic<bool> is_void{false};
  loop.run_rows(kernel_.grain, [&](const kernels::StridedLoop::Rows& rows) {
    if (!plan.run_rows(rows)) is_void.store(true, std::memory_order_relaxed);
  });
  return !is_void.load(std::memory_order_relaxed);
}

// The outputs' parts that stand beside one part of the joined values.
bool FusedLoop::run_part(uint32_t part) const {
  SmallVector<Tensor, 2> outputs;
  for (const Tensor& output : outputs_) outputs.push_back(viewed_->part_of(output, part));
  return run_stage(kernel_.stages[part], outputs[0].sizes(), outputs, loads_[part].tensors,
                   &loads_[part]);
}

bool FusedLoop::run(std::span<IValue> results) {
  if (!find_views() || !find_shape()) return false;
  make_outputs();
  if (kernel_.stages.size() > 1) {
    for (uint32_t part = 0; part < kernel_.stages.size(); ++part) {
      if (!run_part(part)) return false;
    }
  } else {
    const Loads* loads = viewed_ ? loads_.data() : nullptr;
    const SmallVector<Tensor, 8>& operands = viewed_ ? loads->tensors : inputs_;
    if (!run_stage(kernel_.stages[0], shape_, outputs_, operands, loads)) return false;
  }
  for (size_t i = 0; i < outputs_.size(); ++i) results[i] = IValue(std::move(outputs_[i]));
  return true;
}

}  // namespace tierup::ops
