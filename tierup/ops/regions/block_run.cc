// See block_run.h.
#include "tierup/ops/regions/block_run.h"

#include <algorithm>
#include <array>
#include <atomic>

#include "tierup/base/parallel.h"

namespace tierup::ops {
namespace {

constexpr int64_t kBlock = 512;  // Elements of a block on the stack.

bool is_in_order(const Tensor& tensor, IntSpan shape) {
  return tensor.is_contiguous() &&
         std::equal(tensor.sizes().begin(), tensor.sizes().end(), shape.begin(), shape.end());
}

}  // namespace

BlockRun::BlockRun(const KernelRun& plan, IntSpan shape, std::span<const Tensor> outputs,
                   std::span<const Tensor> operands, const Loads* loads)
    : plan_(plan), count_(numel_of(shape)) {
  const auto add = [&](const Tensor& tensor, const LookUp* how, const Tensor* index) {
    const auto width = static_cast<int64_t>(tensor.item_size());
    auto* data = static_cast<char*>(tensor.raw());
    if (how == nullptr && is_in_order(tensor, shape)) {
      operands_.push_back({data, width, std::nullopt});
    } else if (how == nullptr && tensor.numel() == 1) {
      operands_.push_back({data, 0, std::nullopt});
    } else {
      operands_.push_back({nullptr, width, BlockSource(tensor, shape, how, index)});
    }
  };
  for (const Tensor& output : outputs) add(output, nullptr, nullptr);
  for (size_t i = 0; i < operands.size(); ++i) {
    const LookUp* how = loads == nullptr ? nullptr : loads->look_ups[i];
    add(operands[i], how, how == nullptr ? nullptr : &loads->indices[i]);
  }
}

bool BlockRun::run(int64_t grain) const {
  std::atomic<bool> is_void{false};
  parallel_for(0, count_, grain, [&](int64_t begin, int64_t end) {
    if (!run_range(begin, end)) is_void.store(true, std::memory_order_relaxed);
  });
  return !is_void.load(std::memory_order_relaxed);
}

bool BlockRun::run_range(int64_t begin, int64_t end) const {
  alignas(64) char blocks[KernelRun::kMaxOperands][kBlock * 8];
  std::array<char*, KernelRun::kMaxOperands> data;
  std::array<int64_t, KernelRun::kMaxOperands> steps;
  for (int64_t first = begin; first < end; first += kBlock) {
    const int64_t n = std::min(kBlock, end - first);
    for (size_t k = 0; k < operands_.size(); ++k) {
      const Operand& operand = operands_[k];
      steps[k] = operand.step;
      data[k] = operand.source ? blocks[k] : operand.data + first * operand.step;
      if (operand.source && !operand.source->fill(blocks[k], first, n)) return false;
    }
    plan_.run(data.data(), steps.data(), n);
  }
  return true;
}

}  // namespace tierup::ops
