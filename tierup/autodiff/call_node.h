// CallNode: the node of one call of a row.
#pragma once

#include <atomic>
#include <memory>

#include "tierup/autodiff/node.h"
#include "tierup/autodiff/recorded_call.h"
#include "tierup/base/error.h"

namespace tierup::autodiff {

class EagerBuilder;
struct GivenGradients;

// "Exp" of "aten::exp_.out": how errors call the operator.
std::string node_title(const ops::Op& op);

class CallNode final : public Node {
 public:
  CallNode(const ops::Op& op, std::span<const IValue> args) : call_(op, args) {}
  ~CallNode() override;

  Gradients run(std::span<const Tensor> cotangents, ops::RunContext& context, bool keep,
                RunningSums* sums) override;
  std::string name() const override { return call_.op->schema().qualified_name(); }
  std::string title() const override { return node_title(*call_.op); }
  bool has_saved() const override { return has_saved_.load(std::memory_order_relaxed); }
  void take_links(Links& links) override;

  RecordedCall& call() { return call_; }
  // To be told once values were saved in the call.
  void set_saved() { has_saved_.store(true, std::memory_order_relaxed); }
  // Backward passes that come here raise this: the formula knows no gradient for the call.
  void refuse(const Error& reason) { refusal_ = std::make_unique<Error>(reason); }
  // The gradient of this argument (element -1), or of an element of it, goes along `edge`.
  void connect(size_t argument, int64_t element, Edge edge);
  // The place among edges() of argument `i`; -1 if it wants no gradient.
  int64_t edge_of(size_t argument) const;

 private:
  struct Target {
    uint32_t argument;
    int32_t element;
  };
  GivenGradients run_with_lists(EagerBuilder& builder, std::span<const Tensor> cotangents);
  std::string origin_of(size_t argument) const;
  void check_values();  // Throws if they were freed, or written since they were saved.
  void free_values();
  void take_saved(Links& links);
  template <typename F>
  void for_each_saved(F&& f);

  RecordedCall call_;
  InlineVector<Target, 2> targets_;  // By edge.
  std::unique_ptr<const Error> refusal_;
  std::atomic<bool> has_saved_{false};
  std::atomic<bool> is_freed_{false};
};

}  // namespace tierup::autodiff
