#include "tierup/autodiff/region_trace.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "tierup/autodiff/call_node.h"
#include "tierup/autodiff/engine.h"
#include "tierup/autodiff/traced_graph.h"
#include "tierup/autodiff/views.h"
#include "tierup/base/error.h"

namespace tierup::autodiff {
namespace {

template <typename F>
void for_each_tensor(const TracedArg& arg, F&& f) {
  if (arg.kind == TracedArg::Kind::kTensor) f(arg.tensor);
  for (const TracedArg& item : arg.list) for_each_tensor(item, f);
}

// Half of everything: far from kinks, poles and zeros.
Tensor synthetic_cotangent(const Tensor& output, ops::RunContext& context) {
  IValue args[] = {make_int_list(output.sizes()),
                   0.5,
                   static_cast<int64_t>(output.dtype()),
                   IValue(),
                   IValue(),
                   IValue()};
  IValue result;
  ops::OpCall call{args, {&result, 1}, context};
  ops::named_op("aten::full").kernel()(call);
  return result.to_tensor();
}

}  // namespace

RegionTrace::RegionTrace(std::vector<Tensor> inputs, std::span<const Tensor> constants)
    : inputs_(std::move(inputs)) {
  for (const Tensor& constant : constants) constants_.push_back(trace_.add(constant));
  for (const Tensor& input : inputs_) input_ids_.push_back(trace_.add(input));
}

void RegionTrace::run_forward(const RunPart& run, ops::RunContext& context) {
  std::vector<uint32_t> versions;
  for (const Tensor& input : inputs_) versions.push_back(input.version());
  context.tape = &trace_;
  results_ = run(context);
  std::set<const Storage*> memory;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    memory.insert(inputs_[i].storage().get());
    written_.push_back(inputs_[i].version() != versions[i]);
    require(!written_[i] || !inputs_[i].requires_grad(), ErrorCode::kUnsupported,
            "writes an input that requires gradients");
  }
  for (const TraceId id : constants_) memory.insert(trace_.tensors()[id].storage().get());
  for (const IValue& result : results_) {
    require(result.is_tensor(), ErrorCode::kUnsupported, "a result is no tensor");
    const Tensor output = result.to_tensor();
    const std::optional<TraceId> id = trace_.find(output);
    require(id.has_value(), ErrorCode::kUnsupported, "a result comes from outside of the trace");
    require(memory.insert(output.storage().get()).second, ErrorCode::kUnsupported,
            "a result shares memory with an input or another result");
    outputs_.push_back(*id);
    if (output.impl()->autograd) refresh_flag(*output.impl());
    records_.push_back(output.requires_grad());
  }
}

std::vector<uint64_t> RegionTrace::outputs_that_share() const {
  std::unordered_map<const Node*, uint64_t> readers;  // Of nodes: outputs whose passes come there.
  for (size_t i = 0; i < results_.size() && i < 64; ++i) {
    const Record* record = record_of(*results_[i].tensor_impl());
    std::vector<const Node*> open;
    if (record != nullptr && record->node()) open.push_back(record->node().get());
    while (!open.empty()) {
      const Node* node = open.back();
      open.pop_back();
      uint64_t& outputs = readers[node];
      if ((outputs >> i & 1U) != 0) continue;
      outputs |= uint64_t{1} << i;
      for (const Edge& edge : node->edges()) {
        if (edge.node) open.push_back(edge.node.get());
      }
    }
  }
  std::vector<uint64_t> shares(results_.size());
  for (const auto& [node, outputs] : readers) {
    if (!node->has_saved()) continue;
    for (size_t i = 0; i < shares.size() && i < 64; ++i) {
      if ((outputs >> i & 1U) != 0) shares[i] |= outputs;
    }
  }
  return shares;
}

std::vector<size_t> RegionTrace::recorded_outputs() const {
  std::vector<size_t> recorded;
  for (size_t i = 0; i < records_.size(); ++i) {
    if (records_[i]) recorded.push_back(i);
  }
  return recorded;
}

void RegionTrace::run_backward(const std::vector<size_t>& roots, ops::RunContext& context) {
  trace_.begin_backward();
  ops::BackwardRequest request;
  // Recorded, so that sums are values of their own; the trace lets formulas' calls be.
  request.create_graph = true;
  request.allow_unused = true;
  for (const size_t root : roots) {
    request.outputs.push_back(results_[root].to_tensor());
    request.cotangents.push_back(synthetic_cotangent(request.outputs.back(), context));
    cotangents_.push_back(trace_.add(request.cotangents.back()));
  }
  std::vector<size_t> wanted;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (!inputs_[i].requires_grad()) continue;
    wanted.push_back(i);
    request.inputs.push_back(inputs_[i]);
  }
  const std::vector<Tensor> given = autodiff::run_backward(trace_, context, request, true);
  gradient_of_.assign(inputs_.size(), -1);
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (!given[i].defined()) continue;
    const std::optional<TraceId> id = trace_.find(given[i]);
    require(id.has_value(), ErrorCode::kUnsupported, "a gradient comes from outside of the trace");
    gradient_of_[wanted[i]] = static_cast<int64_t>(gradients_.size());
    gradients_.push_back(*id);
  }
  keep_needed_calls();
  find_captures();
}

// What no gradient needs goes: a formula's call does nothing but give its results, unless it
// writes.
void RegionTrace::keep_needed_calls() {
  std::set<TraceId> needed(gradients_.begin(), gradients_.end());
  const auto& calls = trace_.backward_calls();
  for (size_t i = calls.size(); i-- > 0;) {
    bool is_needed = calls[i].op->derivative()->writes;
    for (const TracedResult& result : calls[i].results) {
      for (const TraceId id : result.tensors) is_needed |= needed.contains(id);
    }
    if (!is_needed) continue;
    for (const TracedArg& arg : calls[i].args)
      for_each_tensor(arg, [&](TraceId id) { needed.insert(id); });
    backward_.push_back(calls[i]);
  }
  std::ranges::reverse(backward_);
}

void RegionTrace::find_captures() {
  std::set<TraceId> here(cotangents_.begin(), cotangents_.end());
  here.insert(constants_.begin(), constants_.end());
  const auto read = [&](TraceId id) {
    if (!here.insert(id).second) return;
    Capture capture;
    const auto input = std::ranges::find(input_ids_, id);
    capture.is_input = input != input_ids_.end();
    if (capture.is_input) {
      capture.index = static_cast<size_t>(input - input_ids_.begin());
      require(!written_[capture.index], ErrorCode::kUnsupported,
              "a backward pass reads what the forward writes");
    } else {
      capture.index = static_cast<size_t>(
          std::ranges::count_if(captures_, [](const Capture& other) { return !other.is_input; }));
      name_capture(capture, id);
    }
    captures_.push_back(std::move(capture));
    capture_ids_.push_back(id);
  };
  for (const TracedCall& call : backward_) {
    for (const TracedArg& arg : call.args) for_each_tensor(arg, read);
    for (const TracedResult& result : call.results)
      here.insert(result.tensors.begin(), result.tensors.end());
  }
  for (const TraceId id : gradients_) read(id);
}

void RegionTrace::name_capture(Capture& capture, TraceId id) const {
  for (const TracedCall& call : trace_.forward()) {
    size_t number = 0;
    for (const TracedResult& result : call.results) {
      for (const TraceId made : result.tensors) {
        if (made == id) {
          capture.title = fmt::format("output {} of {}", number, node_title(*call.op));
          if (call.origin != nullptr) capture.place = call.origin->range();
          return;
        }
        ++number;
      }
    }
  }
}

size_t RegionTrace::captured_bytes() const {
  std::set<const Storage*> seen;
  size_t bytes = 0;
  for (size_t i = 0; i < captures_.size(); ++i) {
    const Tensor& tensor = trace_.tensors()[capture_ids_[i]];
    if (!captures_[i].is_input && seen.insert(tensor.storage().get()).second)
      bytes += tensor.bytes();
  }
  return bytes;
}

std::shared_ptr<ir::Graph> RegionTrace::forward_graph() const {
  std::vector<TraceId> outputs = outputs_;
  for (size_t i = 0; i < captures_.size(); ++i) {
    if (!captures_[i].is_input) outputs.push_back(capture_ids_[i]);
  }
  return make_graph("forward", trace_, trace_.forward(), constants_, input_ids_, outputs);
}

std::shared_ptr<ir::Graph> RegionTrace::backward_graph() const {
  std::vector<TraceId> inputs = cotangents_;
  inputs.insert(inputs.end(), capture_ids_.begin(), capture_ids_.end());
  return make_graph("backward", trace_, backward_, constants_, inputs, gradients_);
}

}  // namespace tierup::autodiff
