#include "roofline.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <set>
#include <vector>

#include "tierup/api/model/node_times.h"
#include "tierup/base/parallel.h"
#include "tierup/kernels/gemm/matmul.h"

namespace tierup::bench {
namespace {

using Clock = std::chrono::steady_clock;

// Seconds of the fastest of as many calls as two seconds hold.
double fastest(const std::function<void()>& call) {
  double best = 1e9;
  const auto end = Clock::now() + std::chrono::seconds(2);
  do {
    const auto start = Clock::now();
    call();
    best = std::min(best, std::chrono::duration<double>(Clock::now() - start).count());
  } while (Clock::now() < end);
  return best;
}

double measure_products() {
  const Tensor a = Tensor::empty(IntVector{kProductSide, kProductSide}, ScalarType::kFloat);
  std::fill_n(a.data<float>(), a.numel(), 0.5F);
  const double seconds = fastest([&] { kernels::mm(a, a); });
  return 2.0 * static_cast<double>(kProductSide * kProductSide * kProductSide) / seconds;
}

double measure_reading() {
  std::vector<uint64_t> memory(static_cast<size_t>(kReadBytes) / sizeof(uint64_t), 1);
  std::atomic<uint64_t> sum = 0;
  const auto read = [&](int64_t begin, int64_t end) {
    uint64_t sums[8] = {};
    for (int64_t i = begin; i + 8 <= end; i += 8) {
      for (int64_t lane = 0; lane < 8; ++lane) sums[lane] += memory[static_cast<size_t>(i + lane)];
    }
    for (const uint64_t one : sums) sum += one;
  };
  const double seconds = fastest(
      [&] { parallel_for(0, static_cast<int64_t>(memory.size()), int64_t{1} << 16, read); });
  return static_cast<double>(kReadBytes) / seconds;
}

// Which tensors a run's products, norms and so on read: all but those that are only looked up in.
class ReadStorages final : public runtime::StepObserver {
 public:
  void before(const runtime::Plan& plan, const runtime::Step& step,
              std::span<const IValue> inputs) override {
    const ir::Node* node = plan.origin(static_cast<size_t>(&step - plan.steps().data()));
    if (node == nullptr || node->op() == nullptr) return;
    const std::string& name = node->op()->schema().qualified_name();
    const bool looks_up = name.starts_with("aten::embedding") || name == "aten::index_select";
    for (size_t i = looks_up ? 1 : 0; i < inputs.size(); ++i) {
      if (inputs[i].is_tensor()) storages_.insert(inputs[i].to_tensor().storage().get());
    }
  }
  void after(const runtime::Plan&, const runtime::Step&, std::span<const IValue>) override {}

  bool has(const Tensor& tensor) const { return storages_.contains(tensor.storage().get()); }

 private:
  std::set<const Storage*> storages_;
};

double bytes_of(const IValue& value) {
  if (value.is_tensor()) return static_cast<double>(value.to_tensor().bytes());
  double bytes = 0;
  if (value.is_list()) {
    for (const IValue& item : value.to_list().items) bytes += bytes_of(item);
  } else if (value.is_tuple()) {
    for (const IValue& item : value.to_tuple().items) bytes += bytes_of(item);
  }
  return bytes;
}

IValue run(const api::Model& model, const api::CaseCall& call, runtime::StepObserver& observer) {
  api::RunOptions options;
  options.observer = &observer;
  return call.method == "forward" ? model.call(call.args, {}, options)
                                  : model.run(call.method, call.args, {}, options);
}

}  // namespace

Machine measure_machine() {
  const ThreadCountScope threads(0);
  return {measure_products(), measure_reading()};
}

Work work_of(const api::Model& tier0, const api::CaseCall& call) {
  api::NodeTimes times;
  ReadStorages reads;
  const IValue result = run(tier0, call, times);
  run(tier0, call, reads);
  Work work;
  for (const api::NodeTime& node : times.operators()) work.flops += node.operations;
  for (const auto& [name, weight] : tier0.state()) {
    if (reads.has(weight)) work.bytes += static_cast<double>(weight.bytes());
  }
  for (const IValue& argument : call.args) work.bytes += bytes_of(argument);
  work.bytes += bytes_of(result);
  return work;
}

double least_ms(const Machine& machine, const Work& work) {
  return 1000 * std::max(work.flops / machine.flops_per_s, work.bytes / machine.bytes_per_s);
}

}  // namespace tierup::bench
