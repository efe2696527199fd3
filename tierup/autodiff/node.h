// Node: one recorded call; Edge: where the gradient of one of its arguments goes; Record: what
// hangs on a tensor.
//
//   tensor -> Record -> Node (result k) -> Edges of the arguments -> Nodes ..., leaves
//
// Nodes point backwards only: a saved result of a node's own call is held without its record, so no
// cycle is made. A chain of nodes is freed in a loop (release_chain).
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "tierup/base/inline_vector.h"
#include "tierup/ir/source.h"
#include "tierup/ops/table/tape.h"

namespace tierup::autodiff {

class Node;
class Record;

// Where a gradient goes: to result `index` of a node, or into a leaf; or nowhere.
struct Edge {
  Ref<Node> node;
  uint32_t index = 0;
  Ref<TensorImpl> leaf;
  bool is_wanted() const { return node || leaf; }
};

using Gradients = InlineVector<Tensor, 2>;

// A reference that keeps other nodes alive, with what it refers to, so that no cast has to find
// out.
struct Link {
  enum class Kind : uint8_t { kNode, kRecord, kTensor };
  Kind kind;
  Ref<RefCounted> object;
};
using Links = InlineVector<Link, 4>;

// What a hook makes of a gradient: another one, or undefined to leave it.
using GradientHook = std::function<Tensor(const Tensor& gradient)>;

// Records of a node's results that want to see their gradient: retain_grad and hooks. Few nodes
// have any.
struct ResultWatches final : RefCounted {
  struct Watch {
    uint32_t index = 0;
    Record* record = nullptr;  // Unregisters itself when it goes.
  };
  std::mutex mutex;
  std::vector<Watch> items;
};

// The sums that a pass has so far of what a node's edges lead to.
class RunningSums {
 public:
  virtual ~RunningSums() = default;
  // Adds a b, now or later in the pass; false if nothing has come yet or it cannot be added.
  virtual bool add_product(size_t edge, const Tensor& a, const Tensor& b) = 0;
};

class Node : public RefCounted {
 public:
  ~Node() override;

  // Gradients by edge, of the results' cotangents (undefined ones included). Values are freed
  // afterwards unless `keep`. What the node has added to one of `sums` (may be null) by itself is
  // undefined. Throws the error of freed or overwritten values.
  virtual Gradients run(std::span<const Tensor> cotangents, ops::RunContext& context, bool keep,
                        RunningSums* sums) = 0;
  // "aten::mul.Tensor": for errors.
  virtual std::string name() const = 0;
  virtual std::string title() const = 0;  // "Mul".
  // Whether a pass that does not keep values makes a second one an error: the node has saved some.
  virtual bool has_saved() const { return false; }
  // Takes the references by which other nodes are kept alive, so that they are freed in a loop.
  virtual void take_links(Links& links);

  std::span<const Edge> edges() const { return {edges_.data(), edges_.size()}; }
  // Above all nodes that this one's edges lead to: falling depth is a backward order that does not
  // depend on which fork was faster.
  uint32_t depth() const { return depth_; }
  uint32_t result_count() const { return result_count_; }
  const ir::SourceRange& place() const { return place_; }
  void set_place(const ir::SourceRange& place) { place_ = place; }

  // A backward pass that has the node to itself keeps its task's number here; false if another one
  // has it.
  bool claim(const void* pass, size_t task);
  bool is_claimed_by(const void* pass) const {
    return pass_.load(std::memory_order_relaxed) == pass;
  }
  size_t task() const { return task_; }
  void give_up() { pass_.store(nullptr, std::memory_order_release); }

  void add_edge(Edge edge);
  void set_result_count(uint32_t count) { result_count_ = count; }

  void watch(uint32_t index, Record* record);
  void unwatch(Record* record);
  // The watched records of a result. The lock is the caller's while it uses them.
  std::vector<Record*> watchers(uint32_t index, std::unique_lock<std::mutex>& lock);
  bool is_watched() const { return static_cast<bool>(watches_); }

 protected:
  InlineVector<Edge, 2> edges_;
  uint32_t depth_ = 1;
  uint32_t result_count_ = 1;
  ir::SourceRange place_;

 private:
  std::atomic<const void*> pass_{nullptr};
  size_t task_ = 0;
  LateRef<ResultWatches> watches_;
};

// How a view came to be: what a write to it means (fact B5).
enum class ViewOrigin : uint8_t { kRecorded, kNoGrad, kOneOfSeveral };

// Of which tensor a tensor is a view, and what that tensor's node was when this record was made.
struct ViewOf {
  Ref<TensorImpl> base;  // Never a view itself.
  ViewOrigin origin = ViewOrigin::kRecorded;
  const Node* seen = nullptr;  // Of the base, when the view's record was made: compared alone.
  std::string maker;           // "Split": for errors; of kOneOfSeveral.
  uint32_t number = 0;
};

// Thread rule: one run writes it; leaves are locked while they accumulate.
class Record final : public ops::GradRecord {
 public:
  Record() = default;
  Record(Ref<Node> node, uint32_t index) : node_(std::move(node)), index_(index) {}
  ~Record() override;

  bool is_leaf() const override { return !node_; }
  Tensor grad() const override;
  bool retains_grad() const override { return retains_; }
  int64_t output_number() const override { return index_; }

  const Ref<Node>& node() const { return node_; }
  uint32_t index() const { return index_; }
  Ref<Node> take_node() { return std::move(node_); }

  // Keeps the gradient of a result; for a leaf nothing changes.
  void retain_gradient();
  void add_hook(GradientHook hook);                 // Before the gradient is used.
  void add_after_hook(std::function<void()> hook);  // Of a leaf, once its gradient has grown.
  Tensor run_hooks(Tensor gradient) const;
  void run_after_hooks() const;
  void set_grad(Tensor gradient);
  // Adds under the leaf's lock: `change` makes the new gradient of the old one.
  template <typename F>
  void update_grad(F&& change) {
    const std::lock_guard lock(mutex_);
    grad_ = change(std::move(grad_));
  }

  // Of a tensor that was made in inference mode, or of a view of one.
  bool is_inference() const { return is_inference_; }
  void set_inference() { is_inference_ = true; }

  ViewOf* view() const { return view_.get(); }
  void set_view(ViewOf view) { view_ = std::make_unique<ViewOf>(std::move(view)); }
  const std::unique_ptr<ViewOf>& view_ref() const { return view_; }

 private:
  void watch_node();

  Ref<Node> node_;
  uint32_t index_ = 0;
  bool retains_ = false;
  bool watches_ = false;
  bool is_inference_ = false;
  mutable std::mutex mutex_;
  Tensor grad_;
  std::vector<GradientHook> hooks_;
  std::vector<std::function<void()>> after_hooks_;
  std::unique_ptr<ViewOf> view_;
};

// Where a gradient of the tensor goes: to the call that gave it, or into the tensor as a leaf.
// Whether it wants one is the caller's to ask.
Edge edge_to(TensorImpl& tensor);

// The tensor's record; null if it has none.
inline Record* record_of(const TensorImpl& tensor) {
  return static_cast<Record*>(tensor.autograd.get());
}
// Made in inference mode: no tape may rely on it.
inline bool is_inference(const TensorImpl& tensor) {
  const Record* record = record_of(tensor);
  return record != nullptr && record->is_inference();
}
// The leaf's record, made on first need.
Record& leaf_record(TensorImpl& tensor);

// Makes `gradient` the leaf's, or takes it away if it is undefined. Throws kInvalidArgument for
// other sizes, another dtype, or a tensor that was computed.
void assign_grad(const Tensor& tensor, Tensor gradient);

// Frees what `links` hold and all that only they hold, without recursion.
void release_chain(Links links);

}  // namespace tierup::autodiff
