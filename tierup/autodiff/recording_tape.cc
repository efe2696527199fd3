// A call that no gradient flows through costs a look at its arguments' flags. Of others: what is to
// be overwritten is checked, and copied if the formula reads it; the tensors are held while the
// kernel runs; then the probe says which of them to keep.
#include "tierup/autodiff/recording_tape.h"

#include <algorithm>

#include "tierup/autodiff/eager_builder.h"
#include "tierup/autodiff/engine.h"
#include "tierup/autodiff/views.h"
#include "tierup/base/error.h"

namespace tierup::autodiff {
namespace {

using ops::Derivative;
using ops::DerivativeKind;
using ops::Op;
using ops::OpCall;

bool is_differentiable(ScalarType dtype) { return is_floating(dtype) || is_complex(dtype); }

Edge wanted_edge_to(TensorImpl& tensor) {
  return tensor.requires_grad && is_differentiable(tensor.dtype) ? edge_to(tensor) : Edge();
}

// Every tensor among the values, those in lists too.
template <typename F>
void for_each_tensor(std::span<const IValue> values, F&& f) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (TensorImpl* tensor = values[i].tensor_impl()) {
      f(i, int64_t{-1}, *tensor);
    } else if (values[i].is_list()) {
      const auto& items = values[i].to_list().items;
      if (items.empty() || (!items[0].is_tensor() && !items[0].is_none())) continue;
      for (size_t k = 0; k < items.size(); ++k) {
        if (TensorImpl* item = items[k].tensor_impl()) f(i, static_cast<int64_t>(k), *item);
      }
    }
  }
}

// Of results that require gradients by their row's declaration, although none flows from them.
class IdleNode final : public Node {
 public:
  explicit IdleNode(const Op& op) : op_(op) {}
  std::string name() const override { return op_.schema().qualified_name(); }
  std::string title() const override { return node_title(op_); }
  Gradients run(std::span<const Tensor> /*cotangents*/, ops::RunContext& /*context*/, bool /*keep*/,
                RunningSums* /*sums*/) override {
    return Gradients(edges().size());
  }

 private:
  const Op& op_;
};

// One call under the tape with grad mode on.
class Recording {
 public:
  Recording(const Op& op, OpCall& call, const ir::Node* origin)
      : op_(op), derivative_(*op.derivative()), call_(call), origin_(origin) {}

  void run() {
    bool any = false;
    for_each_tensor(call_.args, [&](size_t, int64_t, TensorImpl& tensor) {
      if (tensor.autograd) refresh_view(tensor);
      any |= tensor.requires_grad;
    });
    if (derivative_.writes) check_no_inference();
    if (derivative_.kind == DerivativeKind::kNone) {
      if (any && derivative_.writes && !derivative_.is_out && !derivative_.keeps_elements) {
        check_written();
      }
      return run_plain();
    }
    if (!any && !derivative_.makes_view && !derivative_.makes_views) return op_.kernel()(call_);
    if (!any) return run_view_of_plain();
    check_written();
    if (derivative_.kind == DerivativeKind::kDecomposition) return run_decomposed();
    run_recorded();
  }

 private:
  const ir::Argument& argument(size_t i) const { return op_.schema().arguments[i]; }
  bool is_written(size_t i) const {
    return derivative_.writes && i < op_.schema().arguments.size() && argument(i).alias.is_write;
  }

  // Refuses what may not be written, before anything is.
  void check_written() {
    if (derivative_.is_out) {
      fail(
          ErrorCode::kInvalidArgument,
          "{}(): functions with out=... arguments don't support automatic differentiation, but one "
          "of the arguments requires grad.",
          op_.schema().name.substr(op_.schema().name.find("::") + 2));
    }
    for (size_t i = 0; i < call_.args.size() && derivative_.writes; ++i) {
      if (is_written(i) && call_.args[i].is_tensor()) check_writable(*call_.args[i].tensor_impl());
    }
  }

  // Runs in inference mode have no tape.
  void check_no_inference() const {
    for (size_t i = 0; i < call_.args.size() && !derivative_.keeps_elements; ++i) {
      if (!is_written(i) || !call_.args[i].is_tensor()) continue;
      require(!is_inference(*call_.args[i].tensor_impl()), ErrorCode::kInvalidArgument,
              "Inplace update to inference tensor outside InferenceMode: write to a clone of it");
    }
  }

  void hold_arguments() { held_.assign(call_.args); }

  bool is_argument(const TensorImpl& tensor) const {
    bool found = false;
    for_each_tensor(held_, [&](size_t, int64_t, TensorImpl& held) { found |= &held == &tensor; });
    return found;
  }

  // Results that never require gradients.
  void run_plain() {
    hold_arguments();
    op_.kernel()(call_);
    for_each_tensor(call_.results, [&](size_t, int64_t, TensorImpl& result) {
      // Gradients that a recorded pass gave have records of their own.
      if (!result.autograd && !is_argument(result)) result.requires_grad = false;
    });
  }

  // Nothing requires gradients, but a later write through the view may make the base do so.
  void run_view_of_plain() {
    hold_arguments();
    op_.kernel()(call_);
    note_views();
  }

  void run_recorded() {
    hold_arguments();
    auto node = make_ref<CallNode>(op_, held_);
    if (origin_ != nullptr) node->set_place(origin_->range());
    for_each_tensor(held_, [&](size_t i, int64_t element, TensorImpl& tensor) {
      Edge edge = wanted_edge_to(tensor);
      if (edge.is_wanted()) node->connect(i, element, std::move(edge));
    });
    if (node->edges().empty()) return run_plain();
    RecordedCall& notes = node->call();
    if (derivative_.writes) copy_overwritten(*node);
    op_.kernel()(call_);
    notes.note_results(call_.results);
    if (probe(*node)) save_values(notes);
    if (saves_) node->set_saved();
    attach(node);
    note_views();
  }

  // Whether the formula reads anything. A call without a derivative is an error of the backward
  // pass that needs it, not of the run.
  static bool probe(CallNode& node) {
    try {
      return probe_formula(node.call());
    } catch (const Error& error) {
      node.refuse(error);
      return false;
    }
  }

  // What the formula reads of values that the call overwrites.
  void copy_overwritten(CallNode& node) {
    RecordedCall& notes = node.call();
    for (size_t k = 0; k < call_.results.size(); ++k) notes.results.emplace_back(held_[0]);
    probe(node);
    for (size_t i = 0; i < held_.size(); ++i) {
      if (!is_written(i) || !notes.args[i].is_read || !held_[i].is_tensor()) continue;
      const Tensor original = held_[i].to_tensor();
      IValue copy;
      SmallVector<IValue, 2> args{IValue(original), IValue()};
      OpCall clone{args, {&copy, 1}, call_.context};
      ops::named_op("aten::clone").kernel()(clone);
      const Tensor kept = copy.to_tensor();
      kept.impl()->autograd = original.impl()->autograd.ref();
      kept.set_requires_grad(original.requires_grad());
      notes.args[i].saved = SavedTensor(kept);
      saves_ = true;
    }
  }

  static SavedTensor saved(Tensor tensor) {
    require(
        !is_inference(*tensor.impl()), ErrorCode::kInvalidArgument,
        "Inference tensors cannot be saved for backward: clone it outside of inference mode, or "
        "make it under no_grad instead");
    return SavedTensor(std::move(tensor));
  }

  void save_values(RecordedCall& notes) {
    for_each_tensor(held_, [&](size_t i, int64_t element, TensorImpl& tensor) {
      RecordedValue& value =
          element < 0 ? notes.args[i] : (*notes.args[i].elements)[static_cast<size_t>(element)];
      if (!value.is_read || value.saved.is_saved()) return;
      value.saved = saved(Tensor(Ref<TensorImpl>(&tensor)));
      saves_ = true;
    });
    for (size_t k = 0; k < notes.results.size(); ++k) {
      if (!notes.results[k].is_read || !call_.results[k].is_tensor()) continue;
      notes.results[k].saved = saved(call_.results[k].to_tensor().detach());
      saves_ = true;
    }
  }

  // Results get their records; `index` counts results and elements of lists.
  void attach(const Ref<CallNode>& node) {
    uint32_t index = 0;
    for (size_t k = 0; k < call_.results.size(); ++k) {
      const bool is_plain = (derivative_.plain_results >> k & 1U) != 0;
      if (call_.results[k].is_list()) {
        for (const IValue& item : call_.results[k].to_list().items) {
          if (TensorImpl* tensor = item.tensor_impl()) attach_one(*tensor, node, index, is_plain);
          ++index;
        }
      } else {
        if (TensorImpl* tensor = call_.results[k].tensor_impl()) {
          attach_one(*tensor, node, index, is_plain);
        }
        ++index;
      }
    }
    node->set_result_count(index);
  }

  void attach_one(TensorImpl& result, const Ref<CallNode>& node, uint32_t index, bool is_plain) {
    for (size_t i = 0; i < held_.size(); ++i) {
      if (held_[i].tensor_impl() != &result) continue;
      if (is_written(i) && is_differentiable(result.dtype)) rebase(result, node, index);
      return;  // An argument that was given back is what it was.
    }
    result.requires_grad = !is_plain && is_differentiable(result.dtype);
    result.autograd = nullptr;
    if (result.requires_grad) result.autograd = make_ref<Record>(node, index);
  }

  // The argument that a result may be a view of: the first tensor with its memory.
  TensorImpl* base_of(const TensorImpl& result) const {
    for (const IValue& value : held_) {
      TensorImpl* tensor = value.tensor_impl();
      if (tensor != nullptr && tensor != &result && tensor->storage == result.storage) {
        return tensor;
      }
    }
    return nullptr;
  }

  void note_views() {
    if (!derivative_.makes_view && !derivative_.makes_views) return;
    for_each_tensor(call_.results, [&](size_t, int64_t element, TensorImpl& result) {
      if (is_argument(result)) return;
      TensorImpl* base = base_of(result);
      if (base == nullptr) return;
      const bool several = element >= 0 && !derivative_.views_one_by_one;
      note_view(result, *base, several ? ViewOrigin::kOneOfSeveral : ViewOrigin::kRecorded,
                several ? node_title(op_) : std::string(),
                several ? static_cast<uint32_t>(element) : 0);
    });
  }

  // The results, by rows that are recorded one by one.
  void run_decomposed() {
    hold_arguments();
    RecordedCall recorded(op_, held_);
    for_each_tensor(held_, [&](size_t i, int64_t element, TensorImpl& tensor) {
      RecordedValue& value = element < 0
                                 ? recorded.args[i]
                                 : (*recorded.args[i].elements)[static_cast<size_t>(element)];
      value.saved = SavedTensor(Tensor(Ref<TensorImpl>(&tensor)));
    });
    std::vector<IValue> made(call_.results.size());
    EagerBuilder(recorded, call_.context).run_decomposition(made);
    for (size_t k = 0; k < made.size(); ++k) {
      const std::optional<size_t> target = written_by(k);
      if (!target) {
        call_.results[k] = std::move(made[k]);
        continue;
      }
      IValue args[] = {held_[*target], made[k], false};
      call_row(ops::named_op("aten::copy_"), args, {&call_.results[k], 1}, call_.context);
    }
    if ((derivative_.plain_results & ops::kDifferentiatedAsOne) != 0) mark_idle_results();
  }

  void mark_idle_results() {
    const auto node = make_ref<IdleNode>(op_);
    for_each_tensor(held_, [&](size_t, int64_t, TensorImpl& tensor) {
      Edge edge = wanted_edge_to(tensor);
      if (edge.is_wanted()) node->add_edge(std::move(edge));
    });
    node->set_result_count(static_cast<uint32_t>(call_.results.size()));
    for (size_t k = 0; k < call_.results.size(); ++k) {
      TensorImpl* result = call_.results[k].tensor_impl();
      if (result == nullptr || result->requires_grad || !is_differentiable(result->dtype)) continue;
      if (is_argument(*result)) continue;
      result->requires_grad = true;
      result->autograd = make_ref<Record>(node, static_cast<uint32_t>(k));
    }
  }

  // The argument that the k-th result is, of an in-place row.
  std::optional<size_t> written_by(size_t k) const {
    if (!derivative_.writes) return std::nullopt;
    const std::string& set = op_.schema().returns[k].alias.set;
    for (size_t i = 0; i < held_.size(); ++i) {
      if (is_written(i) && !set.empty() && argument(i).alias.set == set) return i;
    }
    return std::nullopt;
  }

  const Op& op_;
  const Derivative& derivative_;
  OpCall& call_;
  const ir::Node* origin_;
  InlineVector<IValue, 4> held_;
  bool saves_ = false;
};

// Views made without gradients of what requires them are leaves that require them (fact A10);
// nothing else does.
void call_without_gradients(const Op& op, OpCall& call) {
  const Derivative& derivative = *op.derivative();
  if (!derivative.makes_tensors || call.context.policy.inference_mode) return op.kernel()(call);
  const SmallVector<IValue, 6> held(call.args.begin(), call.args.end());
  op.kernel()(call);
  const auto find = [&](auto&& wanted) {
    TensorImpl* found = nullptr;
    for_each_tensor(held, [&](size_t, int64_t, TensorImpl& tensor) {
      if (found == nullptr && wanted(tensor)) found = &tensor;
    });
    return found;
  };
  const bool makes_views = derivative.makes_view || derivative.makes_views;
  for_each_tensor(call.results, [&](size_t, int64_t, TensorImpl& result) {
    if (find([&](TensorImpl& tensor) { return &tensor == &result; }) != nullptr) return;
    result.requires_grad = false;
    if (!makes_views || derivative.kind == DerivativeKind::kNone) return;
    TensorImpl* base = find([&](TensorImpl& tensor) { return tensor.storage == result.storage; });
    if (base == nullptr) return;
    result.requires_grad = base->requires_grad && is_differentiable(result.dtype);
    if (result.requires_grad) note_view(result, *base, ViewOrigin::kNoGrad, {}, 0);
  });
}

void refresh_all(const std::vector<Tensor>& tensors) {
  for (const Tensor& tensor : tensors) {
    if (tensor.defined() && tensor.impl()->autograd) refresh_view(*tensor.impl());
  }
}

}  // namespace

void RecordingTape::call(const Op& op, OpCall& call, const ir::Node* origin) {
  if (!call.context.policy.grad_mode) return call_without_gradients(op, call);
  const Derivative& derivative = *op.derivative();
  if (!derivative.makes_tensors && !derivative.writes) {
    for_each_tensor(call.args, [](size_t, int64_t, TensorImpl& tensor) {
      if (tensor.autograd) refresh_flag(tensor);
    });
    return op.kernel()(call);
  }
  Recording(op, call, origin).run();
}

void RecordingTape::finish_results(const IValue& results) {
  std::vector<IValue> open{results};
  while (!open.empty()) {
    const IValue value = std::move(open.back());
    open.pop_back();
    if (TensorImpl* tensor = value.tensor_impl()) {
      if (tensor->autograd) refresh_flag(*tensor);
    } else if (value.is_list() || value.is_tuple()) {
      const auto& items = value.is_list() ? value.to_list().items : value.to_tuple().items;
      open.insert(open.end(), items.begin(), items.end());
    } else if (value.is_dict()) {
      for (const auto& [key, item] : value.to_dict().entries()) open.push_back(item);
    }
  }
}

void RecordingTape::backward(ops::RunContext& context, const ops::BackwardRequest& request) {
  refresh_all(request.outputs);
  run_backward(*this, context, request, false);
}

std::vector<Tensor> RecordingTape::grad(ops::RunContext& context,
                                        const ops::BackwardRequest& request) {
  refresh_all(request.outputs);
  refresh_all(request.inputs);
  return run_backward(*this, context, request, true);
}

void RecordingTape::retain_grad(const Tensor& tensor) {
  require(tensor.requires_grad(), ErrorCode::kInvalidArgument,
          "can't retain_grad on Tensor that has requires_grad=False");
  leaf_record(*tensor.impl()).retain_gradient();
}

void RecordingTape::detach_in_place(const Tensor& tensor) {
  const Record* record = record_of(*tensor.impl());
  require(record == nullptr || record->view() == nullptr, ErrorCode::kInvalidArgument,
          "Can't detach views in-place. Use detach() instead. If you are using "
          "DistributedDataParallel (DDP) for training, and gradient_as_bucket_view is set as True, "
          "gradients are views of DDP buckets, and hence detach_() cannot be called on these "
          "gradients. To fix this error, please refer to the Optimizer.zero_grad() function as a "
          "solution.");
  tensor.impl()->autograd = nullptr;
  tensor.set_requires_grad(false);
}

void RecordingTape::set_requires_grad(const Tensor& tensor, bool value) {
  require(!value || is_differentiable(tensor.dtype()), ErrorCode::kInvalidArgument,
          "only Tensors of floating point dtype can require gradients");
  require(
      !value || !is_inference(*tensor.impl()), ErrorCode::kInvalidArgument,
      "Setting requires_grad=True on inference tensor outside InferenceMode: set it on a clone");
  const Record* record = record_of(*tensor.impl());
  const bool is_leaf = record == nullptr || record->is_leaf();
  if (!is_leaf) {
    require(value, ErrorCode::kInvalidArgument,
            "you can only change requires_grad flags of leaf variables. If you want to use a "
            "computed variable in a subgraph that doesn't require differentiation use var_no_grad "
            "= var.detach().");
    return;
  }
  tensor.set_requires_grad(value);
}

}  // namespace tierup::autodiff
