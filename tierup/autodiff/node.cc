#include "tierup/autodiff/node.h"

#include <algorithm>

#include "tierup/base/error.h"

namespace tierup::autodiff {
namespace {

// The reference itself, not another one.
template <typename T>
Link taken(Link::Kind kind, Ref<T>& reference) {
  return {kind, Ref<RefCounted>::adopt(reference.leak())};
}

// What a dying object keeps alive, taken out of it. Objects with other owners are left alone.
void open_link(const Link& link, Links& links) {
  if (link.object->use_count() != 1) return;
  switch (link.kind) {
    case Link::Kind::kNode: return static_cast<Node&>(*link.object).take_links(links);
    case Link::Kind::kRecord: {
      Ref<Node> inner = static_cast<Record&>(*link.object).take_node();
      if (inner) links.push_back(taken(Link::Kind::kNode, inner));
      return;
    }
    case Link::Kind::kTensor: {
      auto& tensor = static_cast<TensorImpl&>(*link.object);
      if (Ref<AutogradRecord> record = tensor.autograd.take(); record)
        links.push_back(taken(Link::Kind::kRecord, record));
    }
  }
}

}  // namespace

void release_chain(Links links) {
  while (!links.empty()) {
    const Link last = std::move(links.back());
    links.pop_back();
    open_link(last, links);
  }
}

Node::~Node() {
  if (edges_.empty()) return;
  Links links;
  Node::take_links(links);
  release_chain(std::move(links));
}

void Node::take_links(Links& links) {
  for (Edge& edge : edges_) {
    if (edge.node) links.push_back(taken(Link::Kind::kNode, edge.node));
    if (edge.leaf) links.push_back(taken(Link::Kind::kTensor, edge.leaf));
  }
  edges_.clear();
}

bool Node::claim(const void* pass, size_t task) {
  const void* nobody = nullptr;
  if (!pass_.compare_exchange_strong(nobody, pass, std::memory_order_acquire)) return false;
  task_ = task;
  return true;
}

void Node::add_edge(Edge edge) {
  if (edge.node) depth_ = std::max(depth_, edge.node->depth() + 1);
  edges_.push_back(std::move(edge));
}

void Node::watch(uint32_t index, Record* record) {
  ResultWatches* watches = watches_.get();
  if (watches == nullptr) watches = watches_.fill(make_ref<ResultWatches>());
  const std::lock_guard lock(watches->mutex);
  watches->items.push_back({index, record});
}

void Node::unwatch(Record* record) {
  ResultWatches& watches = *watches_.get();
  const std::lock_guard lock(watches.mutex);
  std::erase_if(watches.items, [&](const auto& watch) { return watch.record == record; });
}

std::vector<Record*> Node::watchers(uint32_t index, std::unique_lock<std::mutex>& lock) {
  lock = std::unique_lock(watches_.get()->mutex);
  std::vector<Record*> records;
  for (const ResultWatches::Watch& watch : watches_.get()->items) {
    if (watch.index == index) records.push_back(watch.record);
  }
  return records;
}

Record::~Record() {
  if (watches_ && node_) node_->unwatch(this);
  if (node_ && node_->use_count() == 1) {
    Links links;
    links.push_back(taken(Link::Kind::kNode, node_));
    release_chain(std::move(links));
  }
}

Tensor Record::grad() const {
  const std::lock_guard lock(mutex_);
  return grad_;
}

void Record::set_grad(Tensor gradient) {
  const std::lock_guard lock(mutex_);
  grad_ = std::move(gradient);
}

void Record::watch_node() {
  if (watches_ || !node_) return;
  node_->watch(index_, this);
  watches_ = true;
}

void Record::retain_gradient() {
  if (is_leaf()) return;
  retains_ = true;
  watch_node();
}

void Record::add_hook(GradientHook hook) {
  hooks_.push_back(std::move(hook));
  watch_node();
}

void Record::add_after_hook(std::function<void()> hook) { after_hooks_.push_back(std::move(hook)); }

Tensor Record::run_hooks(Tensor gradient) const {
  for (const GradientHook& hook : hooks_) {
    Tensor changed = hook(gradient);
    if (changed.defined()) gradient = std::move(changed);
  }
  return gradient;
}

void Record::run_after_hooks() const {
  for (const auto& hook : after_hooks_) hook();
}

Record& leaf_record(TensorImpl& tensor) {
  if (Record* const record = record_of(tensor); record != nullptr) return *record;
  return static_cast<Record&>(*tensor.autograd.fill(make_ref<Record>()));
}

Edge edge_to(TensorImpl& tensor) {
  Edge edge;
  const Record* record = record_of(tensor);
  if (record != nullptr && !record->is_leaf()) {
    edge.node = record->node();
    edge.index = record->index();
  } else {
    edge.leaf = Ref<TensorImpl>(&tensor);
  }
  return edge;
}

void assign_grad(const Tensor& tensor, Tensor gradient) {
  if (!gradient.defined() && !tensor.impl()->autograd) return;
  if (gradient.defined()) {
    require(std::ranges::equal(gradient.sizes(), tensor.sizes()), ErrorCode::kInvalidArgument,
            "attempting to assign a gradient of size '{}' to a tensor of size '{}'. Please ensure "
            "that the gradient and the tensor are the same size",
            shape_string(gradient.sizes()), shape_string(tensor.sizes()));
    require(gradient.dtype() == tensor.dtype(), ErrorCode::kInvalidArgument,
            "attempting to assign a gradient with dtype '{}' to a tensor with dtype '{}'. Please "
            "ensure that the gradient and the tensor have the same dtype",
            scalar_type_name(gradient.dtype()), scalar_type_name(tensor.dtype()));
  }
  leaf_record(*tensor.impl()).set_grad(std::move(gradient));
}

}  // namespace tierup::autodiff
