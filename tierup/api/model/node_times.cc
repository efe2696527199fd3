#include "tierup/api/model/node_times.h"

#include <fmt/format.h>

#include <algorithm>

#include "tierup/ops/table/work.h"

namespace tierup::api {
namespace {

// Appends "float32[2, 3]" for a tensor (or the tensors of a list); counts their bytes.
void describe(const IValue& value, std::string& text, double& bytes) {
  if (value.is_tensor()) {
    const Tensor tensor = value.to_tensor();
    bytes += static_cast<double>(tensor.bytes());
    if (!text.empty()) text += ", ";
    text += dtype_name(tensor.dtype());
    text += shape_string(tensor.sizes());
  } else if (value.is_list()) {
    for (const IValue& item : value.to_list().items) {
      if (item.is_tensor()) describe(item, text, bytes);
    }
  }
}

std::vector<NodeTime> longest_first(std::vector<NodeTime> times) {
  std::sort(times.begin(), times.end(),
            [](const NodeTime& a, const NodeTime& b) { return a.nanoseconds > b.nanoseconds; });
  return times;
}

}  // namespace

void NodeTimes::before(const runtime::Plan&, const runtime::Step&, std::span<const IValue> inputs) {
  Open open;
  for (const IValue& input : inputs) {
    describe(input, open.shapes, open.bytes);
    std::vector<int64_t> sizes;
    if (input.is_tensor()) {
      const IntSpan known = input.tensor_impl()->sizes;
      sizes.assign(known.begin(), known.end());
    }
    open.sizes.push_back(std::move(sizes));
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  Open& place = open_[std::this_thread::get_id()];
  place = std::move(open);
  place.start = Clock::now();
}

void NodeTimes::after(const runtime::Plan& plan, const runtime::Step& step,
                      std::span<const IValue> results) {
  const auto end = Clock::now();
  const std::lock_guard<std::mutex> lock(mutex_);
  Open& open = open_[std::this_thread::get_id()];
  NodeTime& time = times_[&step];
  time.nanoseconds += std::chrono::duration<double, std::nano>(end - open.start).count();
  ++time.calls;
  std::string shapes;
  for (const IValue& result : results) describe(result, shapes, open.bytes);
  time.bytes += open.bytes;
  const ir::Node* node = plan.origin(static_cast<size_t>(&step - plan.steps().data()));
  if (node == nullptr || node->op() == nullptr) return;
  time.operations += ops::arithmetic_of(*node->op(), open.sizes, results);
  time.shapes = open.shapes + " -> " + shapes;
  if (time.op.empty()) {
    time.op = node->op()->schema().qualified_name();
    if (!node->range().empty()) time.place = node->range().highlight();
  }
}

std::vector<NodeTime> NodeTimes::nodes() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<NodeTime> result;
  for (const auto& [step, time] : times_) result.push_back(time);
  return longest_first(std::move(result));
}

std::vector<NodeTime> NodeTimes::operators() const {
  std::map<std::string, NodeTime> by_name;
  for (const NodeTime& node : nodes()) {
    NodeTime& sum = by_name[node.op];
    sum.op = node.op;
    sum.calls += node.calls;
    sum.nanoseconds += node.nanoseconds;
    sum.operations += node.operations;
    sum.bytes += node.bytes;
  }
  std::vector<NodeTime> result;
  for (auto& [name, time] : by_name) result.push_back(std::move(time));
  return longest_first(std::move(result));
}

void NodeTimes::clear() {
  const std::lock_guard<std::mutex> lock(mutex_);
  times_.clear();
}

}  // namespace tierup::api
