// The node's edges are those of the inputs and leaves that require gradients, in that order. A pass
// without create_graph runs the part on inputs cut off from their history, so that the pass within
// ends at them; with create_graph on the inputs themselves, so that the next order goes on.
#include "tierup/autodiff/checkpoint.h"

#include <algorithm>

#include "tierup/autodiff/engine.h"
#include "tierup/autodiff/recorded_call.h"
#include "tierup/autodiff/recording_tape.h"
#include "tierup/base/error.h"

namespace tierup::autodiff {
namespace {

bool is_differentiable(const Tensor& tensor) {
  return tensor.defined() && (is_floating(tensor.dtype()) || is_complex(tensor.dtype()));
}

class CheckpointNode final : public Node {
 public:
  explicit CheckpointNode(CheckpointedPart part)
      : name_(std::move(part.name)),
        leaves_(std::move(part.leaves)),
        rerun_(std::move(part.rerun)) {
    for (size_t i = 0; i < part.inputs.size(); ++i) connect(part.inputs[i], i);
    for (size_t i = 0; i < leaves_.size(); ++i) connect(leaves_[i], part.inputs.size() + i);
    for (Tensor& input : part.inputs) inputs_.emplace_back(std::move(input));
  }
  ~CheckpointNode() override {
    Links links;
    CheckpointNode::take_links(links);
    release_chain(std::move(links));
  }

  std::string name() const override { return name_; }
  std::string title() const override { return "Checkpoint"; }
  void take_links(Links& links) override {
    Node::take_links(links);
    for (SavedTensor& input : inputs_) {
      if (input.is_saved()) links.push_back({Link::Kind::kTensor, input.take()});
    }
  }

  Gradients run(std::span<const Tensor> cotangents, ops::RunContext& context, bool keep,
                RunningSums* /*sums*/) override {
    check_inputs();
    std::vector<Tensor> inputs;
    for (const SavedTensor& input : inputs_) {
      inputs.push_back(context.tape != nullptr ? input.tensor() : cut_off(input.tensor()));
    }
    const std::vector<Tensor> results = rerun_(inputs);
    require(results.size() == result_count_, ErrorCode::kInvalidArgument,
            "{} gave {} tensors when it was run, and {} when it was run again", name_,
            result_count_, results.size());
    Gradients gradients = differentiate(inputs, results, cotangents, context);
    if (!keep) free_part();
    return gradients;
  }

 private:
  // `number`: among the inputs and then the leaves.
  void connect(const Tensor& tensor, size_t number) {
    if (!is_differentiable(tensor) || !tensor.requires_grad()) return;
    add_edge(edge_to(*tensor.impl()));
    targets_.push_back(number);
  }

  static Tensor cut_off(const Tensor& input) {
    if (!input.defined()) return input;
    Tensor copy = input.detach();
    copy.set_requires_grad(input.requires_grad());
    return copy;
  }

  void check_inputs() const {
    require(!is_freed_, ErrorCode::kInvalidArgument,
            "Trying to backward through the graph a second time: what {} was called with has been "
            "freed. Specify retain_graph=True if you need to backward through the graph a second "
            "time.",
            name_);
    for (const SavedTensor& saved : inputs_) {
      if (!saved.is_saved() || saved.current_version() == saved.version()) continue;
      fail(ErrorCode::kInvalidArgument,
           "one of the variables needed for gradient computation has been modified by an inplace "
           "operation: an input {} of {} is at version {}; expected version {} instead",
           saved.tensor().describe(), name_, saved.current_version(), saved.version());
    }
  }

  // By edge; leaves that were frozen since get nothing.
  Gradients differentiate(const std::vector<Tensor>& inputs, const std::vector<Tensor>& results,
                          std::span<const Tensor> cotangents, ops::RunContext& context) const {
    ops::BackwardRequest request;
    for (size_t k = 0; k < results.size(); ++k) {
      if (!cotangents[k].defined() || !results[k].requires_grad()) continue;
      request.outputs.push_back(results[k]);
      request.cotangents.push_back(cotangents[k]);
    }
    std::vector<size_t> asked;  // Edges.
    for (size_t i = 0; i < targets_.size(); ++i) {
      const size_t number = targets_[i];
      const Tensor& tensor =
          number < inputs.size() ? inputs[number] : leaves_[number - inputs.size()];
      if (!tensor.requires_grad()) continue;
      request.inputs.push_back(tensor);
      asked.push_back(i);
    }
    Gradients gradients(targets_.size());
    if (request.outputs.empty() || asked.empty()) return gradients;
    request.create_graph = context.tape != nullptr;
    request.allow_unused = true;
    RecordingTape tape;
    std::vector<Tensor> found = tape.grad(context, request);
    for (size_t i = 0; i < asked.size(); ++i) gradients[asked[i]] = std::move(found[i]);
    return gradients;
  }

  void free_part() {
    is_freed_ = true;
    inputs_.clear();
    rerun_ = {};
  }

  std::string name_;
  std::vector<SavedTensor> inputs_;
  std::vector<Tensor> leaves_;
  std::function<std::vector<Tensor>(const std::vector<Tensor>& inputs)> rerun_;
  std::vector<size_t> targets_;  // What each edge is of.
  bool is_freed_ = false;
};

}  // namespace

std::vector<Tensor> record_checkpoint(CheckpointedPart part, const std::vector<Tensor>& results) {
  std::vector<Tensor> made;
  for (const Tensor& result : results) made.push_back(result.defined() ? result.detach() : result);
  const auto node = make_ref<CheckpointNode>(std::move(part));
  if (node->edges().empty()) return made;
  node->set_result_count(static_cast<uint32_t>(results.size()));
  for (size_t k = 0; k < made.size(); ++k) {
    if (!is_differentiable(made[k])) continue;
    made[k].impl()->autograd = make_ref<Record>(node, static_cast<uint32_t>(k));
    made[k].set_requires_grad(true);
  }
  return made;
}

}  // namespace tierup::autodiff
