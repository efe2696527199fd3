#include "tierup/ops/fused_loop.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "tierup/tensor/block_owner.h"

namespace tierup::ops {
namespace {

using kernels::kSplatBytes;
using kernels::StridedLoop;

constexpr int64_t kBlock = 512;  // Elements of a block on the stack.
constexpr size_t kMaxOperands = StridedLoop::kMaxOperands;

bool same_sizes(IntSpan a, IntSpan b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }

void copy_strided(char* to, int64_t to_stride, const char* from, int64_t from_stride, int64_t width,
                  int64_t count) {
  const auto copy = [&](auto word) {
    for (int64_t i = 0; i < count; ++i) {
      std::memcpy(&word, from + i * from_stride, sizeof(word));
      std::memcpy(to + i * to_stride, &word, sizeof(word));
    }
  };
  switch (width) {
    case 1: return copy(uint8_t{});
    case 2: return copy(uint16_t{});
    case 4: return copy(uint32_t{});
    default: return copy(uint64_t{});
  }
}

void fill_splat(char* splat, const char* value, int64_t width) {
  std::memcpy(splat, value, static_cast<size_t>(width));
  for (int64_t filled = width; filled < kSplatBytes; filled *= 2) {
    std::memcpy(splat + filled, splat, static_cast<size_t>(filled));
  }
}

// Any strides: blocks are gathered, computed and scattered.
void run_packed(const KernelRun& plan, char* const* pointers, const int64_t* strides,
                int64_t count) {
  alignas(64) char blocks[kMaxOperands][kBlock * 8];
  std::array<char*, kMaxOperands> data;
  std::array<int64_t, kMaxOperands> steps;
  const auto is_packed = [&](size_t k) {
    return strides[k] != plan.widths[k] && (k < plan.outputs || strides[k] != 0);
  };
  for (int64_t start = 0; start < count; start += kBlock) {
    const int64_t n = std::min(kBlock, count - start);
    for (size_t k = 0; k < plan.operands; ++k) {
      char* const at = pointers[k] + start * strides[k];
      data[k] = is_packed(k) ? blocks[k] : at;
      steps[k] = is_packed(k) ? plan.widths[k] : strides[k];
      if (!is_packed(k) || k < plan.outputs) continue;
      copy_strided(blocks[k], plan.widths[k], at, strides[k], plan.widths[k], n);
    }
    plan.run(data.data(), steps.data(), n);
    for (size_t k = 0; k < plan.outputs; ++k) {
      if (!is_packed(k)) continue;
      copy_strided(pointers[k] + start * strides[k], strides[k], blocks[k], plan.widths[k],
                   plan.widths[k], n);
    }
  }
}

}  // namespace

void KernelRun::run(char* const* pointers, const int64_t* strides, int64_t count) const {
  alignas(64) char splats[kMaxOperands][kSplatBytes];
  std::array<char*, kMaxOperands> data;
  for (size_t k = 0; k < operands; ++k) {
    data[k] = pointers[k];
    if (k < outputs || strides[k] != 0 || kernel->inputs[k - outputs].uniform) continue;
    fill_splat(splats[k], pointers[k], widths[k]);
    data[k] = splats[k];
  }
  kernel->function(data.data(), strides, nullptr, count);
}

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
  if (kernel_.stages[0].loads.empty()) return true;
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
      const size_t common = std::min(sizes.size(), shape_.size());
      for (size_t d = 1; d <= common; ++d) {
        const int64_t a = sizes[sizes.size() - d];
        const int64_t b = shape_[shape_.size() - d];
        if (a != b && a != 1 && b != 1) return false;
      }
      shape_ = broadcast_shapes(shape_, sizes);
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
  std::vector<Tensor> outlines;
  for (const GroupMember& member : program_.members) {
    std::vector<const Tensor*> tensors;
    for (const GroupArgument& argument : member.arguments) {
      if (argument.source == GroupArgument::Source::kInput)
        tensors.push_back(&inputs_[argument.index]);
      if (argument.source == GroupArgument::Source::kMember)
        tensors.push_back(&outlines[argument.index]);
    }
    IntVector sizes;
    for (const Tensor* tensor : tensors) sizes = broadcast_shapes(sizes, tensor->sizes());
    const IntVector strides = kernels::pointwise_strides(sizes, tensors);
    outlines.push_back(outline(sizes, strides, ScalarType::kFloat));
  }
  for (const uint32_t output : program_.outputs) add(outlines[output]);
  return result;
}

// An input's memory for a contiguous output, if nobody will read that input again. Where a run's
// allocations are planned, they must not depend on who holds what, and blocks are shared anyway.
Tensor FusedLoop::reuse_input(ScalarType dtype) {
  if (AllocationScope::current() != nullptr) return {};
  for (const Tensor& input : inputs_) {
    if (!input.defined() || input.ref()->use_count() != 1) continue;
    const Ref<Storage>& storage = input.storage();
    if (storage->use_count() != 1 || !storage->owns_memory() || !input.is_contiguous() ||
        input.offset() != 0 || input.item_size() != item_size(dtype) ||
        storage->bytes() != input.bytes() || !same_sizes(input.sizes(), shape_)) {
      continue;
    }
    return Tensor::from_storage(storage, dtype, input.sizes(), input.strides(), 0);
  }
  return {};
}

void FusedLoop::make_outputs() {
  std::vector<IntVector> strides;
  if (!all_plain_ || viewed_) strides = output_strides();
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
                          std::span<const Tensor> outputs, std::span<const Tensor> operands) const {
  KernelRun plan{&stage, outputs.size(), outputs.size() + operands.size(), {}};
  std::array<const Tensor*, kMaxOperands> tensors;
  for (size_t k = 0; k < plan.operands; ++k) {
    tensors[k] = k < plan.outputs ? &outputs[k] : &operands[k - plan.outputs];
    plan.widths[k] = static_cast<int64_t>(tensors[k]->item_size());
  }
  const StridedLoop loop(shape, std::span<const Tensor* const>(tensors.data(), plan.operands));
  if (!is_uniform_enough(stage, loop)) return false;
  bool is_dense = true;
  for (size_t k = 0; k < plan.operands; ++k) {
    const int64_t stride = loop.inner_stride(k);
    is_dense = is_dense && (stride == plan.widths[k] || (stride == 0 && k >= plan.outputs));
  }
  loop.run(kernel_.grain, [&](char* const* pointers, const int64_t* strides, int64_t count) {
    is_dense ? plan.run(pointers, strides, count) : run_packed(plan, pointers, strides, count);
  });
  return true;
}

// The outputs' parts that stand beside one part of the joined values.
bool FusedLoop::run_part(uint32_t part) const {
  SmallVector<Tensor, 2> outputs;
  for (const Tensor& output : outputs_) outputs.push_back(viewed_->part_of(output, part));
  const SmallVector<Tensor, 8>& loads = loads_[part];
  return run_stage(kernel_.stages[part], outputs[0].sizes(), {outputs.data(), outputs.size()},
                   {loads.data(), loads.size()});
}

bool FusedLoop::run(std::span<IValue> results) {
  if (!find_views() || !find_shape()) return false;
  make_outputs();
  if (kernel_.stages.size() > 1) {
    for (uint32_t part = 0; part < kernel_.stages.size(); ++part) {
      if (!run_part(part)) return false;
    }
  } else {
    const SmallVector<Tensor, 8>& operands = viewed_ ? loads_[0] : inputs_;
    const std::span<const Tensor> outputs(outputs_.data(), outputs_.size());
    if (!run_stage(kernel_.stages[0], shape_, outputs, {operands.data(), operands.size()})) {
      return false;
    }
  }
  for (size_t i = 0; i < outputs_.size(); ++i) results[i] = IValue(std::move(outputs_[i]));
  return true;
}

}  // namespace tierup::ops
