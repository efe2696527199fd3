// A write through a view makes a RouteNode the base's record: it cuts the written part out of the
// base's gradient, runs the written call's node on it, puts what that gives for the old values in
// its place, and passes the rest on to the base's old record. Views, the written one too, get a
// PartNode from the base's new record when they are next looked at.
#include "tierup/autodiff/views.h"

#include <algorithm>

#include "tierup/autodiff/eager_builder.h"
#include "tierup/base/error.h"

namespace tierup::autodiff {
namespace {

// Where a view lies in its base's memory.
struct Part {
  IntVector base_sizes;
  IntVector base_strides;
  IntVector sizes;
  IntVector strides;
  int64_t offset = 0;  // From the base's first element.
  ScalarType dtype = ScalarType::kFloat;

  Part(const TensorImpl& base, const TensorImpl& view)
      : base_sizes(base.sizes),
        base_strides(base.strides),
        sizes(view.sizes),
        strides(view.strides),
        offset(view.offset - base.offset),
        dtype(base.dtype) {}
};

// A tensor laid out as the base, holding `gradient`, or zeros if that is undefined.
Tensor like_base(const Part& part, const Tensor& gradient, ops::RunContext& context) {
  return copy_laid_out(part.base_sizes, part.base_strides, part.dtype, gradient, context);
}

Tensor cut_out(const Part& part, const Tensor& whole, ops::RunContext& context) {
  return call_named("aten::as_strided",
                    {whole, make_int_list(part.sizes), make_int_list(part.strides), part.offset},
                    context)
      .to_tensor();
}

// The record of a view, made from its base's.
class PartNode final : public Node {
 public:
  explicit PartNode(Part part) : part_(std::move(part)) {}
  std::string name() const override { return "aten::as_strided"; }
  std::string title() const override { return "AsStrided"; }
  Gradients run(std::span<const Tensor> cotangents, ops::RunContext& context, bool /*keep*/,
                RunningSums* /*sums*/) override {
    Tensor whole = like_base(part_, {}, context);
    call_named("aten::copy_", {cut_out(part_, whole, context), cotangents[0]}, context);
    Gradients given;
    given.push_back(std::move(whole));
    return given;
  }

 private:
  Part part_;
};

// Edges: that of the base's old record (if it had one), then those of the call but for the written
// argument's.
class RouteNode final : public Node {
 public:
  RouteNode(Part part, Ref<CallNode> call, Edge base_edge)
      : part_(std::move(part)), call_(std::move(call)), written_(call_->edge_of(0)) {
    has_base_ = base_edge.is_wanted();
    if (has_base_) add_edge(std::move(base_edge));
    for (size_t i = 0; i < call_->edges().size(); ++i) {
      if (static_cast<int64_t>(i) != written_) add_edge(call_->edges()[i]);
    }
  }
  std::string name() const override { return call_->name(); }
  std::string title() const override { return call_->title(); }

  Gradients run(std::span<const Tensor> cotangents, ops::RunContext& context, bool keep,
                RunningSums* /*sums*/) override {
    Tensor whole = like_base(part_, cotangents[0], context);
    const Tensor written = cut_out(part_, whole, context);
    const Tensor gradient = call_named("aten::clone", {written}, context).to_tensor();
    Gradients given = call_->run({&gradient, 1}, context, keep, nullptr);
    if (written_ >= 0 && given[static_cast<size_t>(written_)].defined()) {
      call_named("aten::copy_", {written, given[static_cast<size_t>(written_)]}, context);
    } else {
      call_named("aten::zero_", {written}, context);
    }
    Gradients by_edge;
    if (has_base_) by_edge.push_back(std::move(whole));
    for (size_t i = 0; i < given.size(); ++i) {
      if (static_cast<int64_t>(i) != written_) by_edge.push_back(std::move(given[i]));
    }
    return by_edge;
  }

  void take_links(Links& links) override {
    Node::take_links(links);
    if (call_) links.push_back({Link::Kind::kNode, std::move(call_)});
  }
  ~RouteNode() override {
    Links links;
    RouteNode::take_links(links);
    release_chain(std::move(links));
  }

 private:
  Part part_;
  Ref<CallNode> call_;
  int64_t written_;  // Among the call's edges; -1: the old values want no gradient.
  bool has_base_ = false;
};

const Node* node_of(const TensorImpl& tensor) {
  const Record* record = record_of(tensor);
  return record == nullptr ? nullptr : record->node().get();
}

Edge edge_of(TensorImpl& tensor) {
  Edge edge = edge_to(tensor);
  if (!tensor.requires_grad) edge.leaf = {};
  return edge;
}

void set_record(TensorImpl& tensor, Ref<Node> node, const std::unique_ptr<ViewOf>& view) {
  auto record = make_ref<Record>(std::move(node), 0);
  if (view) record->set_view(*view);
  tensor.autograd = std::move(record);
}

[[noreturn]] void fail_several(const ViewOf& view, std::string_view what) {
  fail(ErrorCode::kInvalidArgument,
       "Output {} of {} is a view and {} modified inplace. This view is the output of a "
       "function that returns multiple views. Such functions do not allow the output views to be "
       "modified inplace. You should replace the inplace operation by an out-of-place one.",
       view.number, view.maker, what);
}

}  // namespace

void refresh_view(TensorImpl& tensor) {
  Record* record = record_of(tensor);
  if (record == nullptr || record->view() == nullptr) return;
  ViewOf& view = *record->view();
  if (node_of(*view.base) == view.seen) return;
  if (view.origin == ViewOrigin::kOneOfSeveral) {
    fail_several(view, "its base or another view of its base has been");
  }
  const Edge base = edge_of(*view.base);
  view.seen = node_of(*view.base);
  if (!base.is_wanted()) return;
  auto node = make_ref<PartNode>(Part(*view.base, tensor));
  node->add_edge(base);
  const Ref<AutogradRecord> old = tensor.autograd.ref();
  set_record(tensor, std::move(node), record->view_ref());
  tensor.requires_grad = true;
}

void refresh_flag(TensorImpl& tensor) {
  Record* record = record_of(tensor);
  if (record == nullptr || record->view() == nullptr) return;
  if (record->view()->origin != ViewOrigin::kOneOfSeveral) refresh_view(tensor);
}

void note_view(TensorImpl& view, TensorImpl& base, ViewOrigin origin, std::string maker,
               uint32_t number) {
  ViewOf relation;
  relation.base = Ref<TensorImpl>(&base);
  relation.origin = origin;
  relation.maker = std::move(maker);
  relation.number = number;
  if (const Record* record = record_of(base); record != nullptr && record->view() != nullptr) {
    const ViewOf& outer = *record->view();
    relation.base = outer.base;
    if (outer.origin != ViewOrigin::kRecorded) {
      relation.origin = outer.origin;
      relation.maker = outer.maker;
      relation.number = outer.number;
    }
  }
  relation.seen = node_of(*relation.base);
  Record& made = leaf_record(view);
  if (is_inference(*relation.base)) made.set_inference();
  made.set_view(std::move(relation));
}

void check_writable(const TensorImpl& tensor) {
  const Record* record = record_of(tensor);
  const bool is_leaf = record == nullptr || record->is_leaf();
  const ViewOf* view = record == nullptr ? nullptr : record->view();
  if (view != nullptr && view->origin == ViewOrigin::kNoGrad && tensor.requires_grad) {
    fail(ErrorCode::kInvalidArgument,
         "A view was created in no_grad mode and is being modified inplace with grad mode enabled. "
         "Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify "
         "your code by moving both the view and the inplace either both inside the no_grad block "
         "(if you don't want the inplace to be tracked) or both outside (if you want the inplace "
         "to be tracked).");
  }
  if (view != nullptr) {
    const Record* base = record_of(*view->base);
    const bool base_is_leaf = base == nullptr || base->is_leaf();
    require(!(view->base->requires_grad && base_is_leaf), ErrorCode::kInvalidArgument,
            "a view of a leaf Variable that requires grad is being used in an in-place operation.");
    if (view->origin == ViewOrigin::kOneOfSeveral && !is_leaf) fail_several(*view, "is being");
  }
  require(!(tensor.requires_grad && is_leaf), ErrorCode::kInvalidArgument,
          "a leaf Variable that requires grad is being used in an in-place operation.");
}

void rebase(TensorImpl& tensor, Ref<CallNode> node, uint32_t index) {
  Record* record = record_of(tensor);
  if (record == nullptr || record->view() == nullptr) {
    tensor.autograd = make_ref<Record>(std::move(node), index);
    tensor.requires_grad = true;
    return;
  }
  TensorImpl& base = *record->view()->base;
  const Ref<TensorImpl> held(&base);
  auto route = make_ref<RouteNode>(Part(base, tensor), std::move(node), edge_of(base));
  base.autograd = make_ref<Record>(std::move(route), 0);
  base.requires_grad = true;
  refresh_view(tensor);
}

}  // namespace tierup::autodiff
