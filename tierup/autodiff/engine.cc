// See engine.h. All walks are loops over lists of our own: graphs may be a million nodes deep.
#include "tierup/autodiff/engine.h"

#include <algorithm>
#include <queue>
#include <unordered_map>

#include "tierup/autodiff/accumulate.h"
#include "tierup/autodiff/eager_builder.h"
#include "tierup/autodiff/waiting_products.h"
#include "tierup/base/error.h"

namespace tierup::autodiff {
namespace {

// A node, or a leaf, in one backward pass.
struct Task {
  Node* node = nullptr;
  Ref<TensorImpl> leaf;
  uint32_t missing = 0;                               // Gradients that have not come yet.
  bool is_wanted = false;                             // Something wanted lies on a path from here.
  bool is_seen = false;                               // By the walk that counts.
  std::vector<std::pair<uint32_t, size_t>> captured;  // Result, index into the inputs.
  Gradients gradients;                                // By result.
  std::vector<WaitingProducts> waiting;               // By result; empty if there never were any.
};

// Tasks by number. References stay good while others are added. Of a chain of additions, one
// thread: with Boost's deque of equal blocks the backward pass takes .34 to .37 of the forward
// pass's time, with these .28 to .30.
class Tasks {
 public:
  Task& operator[](size_t number) { return chunks_[number / kChunk][number % kChunk]; }
  const Task& operator[](size_t number) const { return chunks_[number / kChunk][number % kChunk]; }
  size_t size() const { return size_; }
  Task& add() {
    if (size_ % kChunk == 0) chunks_.emplace_back().reserve(kChunk);
    ++size_;
    return chunks_.back().emplace_back();
  }
  template <typename F>
  void for_each(F&& f) {
    for (std::vector<Task>& chunk : chunks_) {
      for (Task& task : chunk) f(task);
    }
  }

 private:
  static constexpr size_t kChunk = 64;
  std::vector<std::vector<Task>> chunks_;
  size_t size_ = 0;
};

class Pass {
 public:
  Pass(ops::Tape& tape, const ops::RunContext& context, const ops::BackwardRequest& request,
       bool captures)
      : request_(request),
        captures_(captures),
        keeps_(request.retain_graph.value_or(request.create_graph)),
        context_(context) {
    context_.tape = request.create_graph ? &tape : nullptr;
    context_.policy.grad_mode = request.create_graph;
  }

  ~Pass() {
    tasks_.for_each([&](Task& task) {
      if (task.node != nullptr && task.node->is_claimed_by(this)) task.node->give_up();
    });
  }
  Pass(const Pass&) = delete;
  Pass& operator=(const Pass&) = delete;

  std::vector<Tensor> run() {
    for (const Tensor& output : request_.outputs) add_root(output);
    results_.resize(request_.inputs.size());
    note_inputs();
    count_gradients();
    mark_wanted();
    for (size_t i = 0; i < request_.outputs.size(); ++i) {
      deliver(root_edges_[i], root_gradient(request_, i, context_));
    }
    while (!ready_.empty()) {
      const size_t index = ready_.top().task;
      ready_.pop();
      run_task(index);
    }
    return std::move(results_);
  }

 private:
  struct Ready {
    uint32_t depth;
    uint64_t order;
    size_t task;
    bool operator<(const Ready& other) const {
      return depth != other.depth ? depth < other.depth : order < other.order;
    }
  };

  size_t task_of(const Edge& edge) {
    Node* node = edge.node.get();
    if (node != nullptr && node->is_claimed_by(this)) return node->task();
    if (node == nullptr) {
      const auto [found, is_new] = leaves_.try_emplace(edge.leaf.get(), tasks_.size());
      if (!is_new) return found->second;
    } else if (const auto shared = shared_.find(node); shared != shared_.end()) {
      return shared->second;
    } else if (!node->claim(this, tasks_.size())) {
      shared_.emplace(node, tasks_.size());
    }
    Task& task = tasks_.add();
    task.node = node;
    task.leaf = edge.leaf;
    task.gradients.resize(node != nullptr ? node->result_count() : 1);
    return tasks_.size() - 1;
  }

  void add_root(const Tensor& output) {
    root_edges_.push_back(edge_to(*output.impl()));
    tasks_[task_of(root_edges_.back())].missing += 1;
  }

  // Which tasks' gradients are asked for.
  void note_inputs() {
    for (size_t i = 0; i < request_.inputs.size(); ++i) {
      const Edge edge = edge_to(*request_.inputs[i].impl());
      held_.push_back(edge);
      tasks_[task_of(edge)].captured.emplace_back(edge.index, i);
    }
  }

  void count_gradients() {
    std::vector<size_t> open;
    const auto visit = [&](size_t task) {
      if (tasks_[task].is_seen) return;
      tasks_[task].is_seen = true;
      if (!request_.inputs.empty()) order_.push_back(task);
      if (tasks_[task].node != nullptr) open.push_back(task);
    };
    for (const Edge& edge : root_edges_) visit(task_of(edge));
    while (!open.empty()) {
      const size_t task = open.back();
      open.pop_back();
      for (const Edge& edge : tasks_[task].node->edges()) {
        if (!edge.is_wanted()) continue;
        const size_t next = task_of(edge);
        tasks_[next].missing += 1;
        visit(next);
      }
    }
  }

  // Without inputs everything is wanted. Else: what is captured, and what leads there.
  void mark_wanted() {
    if (request_.inputs.empty()) {
      tasks_.for_each([](Task& task) { task.is_wanted = true; });
      return;
    }
    std::sort(order_.begin(), order_.end(),
              [&](size_t a, size_t b) { return depth_of(a) < depth_of(b); });
    for (const size_t index : order_) {
      Task& task = tasks_[index];
      if (task.node == nullptr) {
        task.is_wanted = !task.captured.empty();
        continue;
      }
      for (const Edge& edge : task.node->edges()) {
        if (!edge.is_wanted()) continue;
        const Task& next = tasks_[task_of(edge)];
        task.is_wanted |= next.is_wanted || !next.captured.empty();
      }
    }
  }

  uint32_t depth_of(size_t task) const {
    return tasks_[task].node == nullptr ? 0 : tasks_[task].node->depth();
  }

  void deliver(const Edge& edge, Tensor gradient) {
    const size_t index = task_of(edge);
    Task& task = tasks_[index];
    if (gradient.defined()) {
      flush(task, edge.index);
      add_gradient(task.gradients[edge.index], std::move(gradient), context_);
    }
    if (--task.missing > 0) return;
    for (uint32_t k = 0; k < task.waiting.size(); ++k) flush(task, k);
    if (task.node == nullptr) {
      run_leaf(task);
    } else {
      ready_.push({task.node->depth(), ++found_, index});
    }
  }

  void flush(Task& task, uint32_t result) {
    if (result >= task.waiting.size()) return;
    task.waiting[result].flush(task.gradients[result], context_);
  }

  void capture(Task& task) {
    for (const auto& [result, input] : task.captured) {
      if (captures_) results_[input] = task.gradients[result];
    }
  }

  void run_leaf(Task& task) {
    Tensor gradient = std::move(task.gradients[0]);
    const Record* record = record_of(*task.leaf);
    if (gradient.defined() && record != nullptr) gradient = record->run_hooks(gradient);
    task.gradients[0] = gradient;
    capture(task);
    task.gradients.clear();
    if (captures_ || !task.is_wanted || !gradient.defined()) return;
    accumulate(*task.leaf, std::move(gradient), context_);
  }

  // Hooks of results, and results that retain their gradients.
  void show_gradients(Task& task) {
    if (!task.node->is_watched()) return;
    for (uint32_t k = 0; k < task.gradients.size(); ++k) {
      if (!task.gradients[k].defined()) continue;
      std::unique_lock<std::mutex> lock;
      const std::vector<Record*> records = task.node->watchers(k, lock);
      for (Record* record : records) {
        task.gradients[k] = record->run_hooks(task.gradients[k]);
        if (record->retains_grad() && !captures_) {
          retain_gradient(*record, task.gradients[k], context_);
        }
      }
    }
  }

  void run_task(size_t index) {
    Task& task = tasks_[index];
    show_gradients(task);
    capture(task);
    if (!captures_ && !request_.inputs.empty()) accumulate_into_results(task);
    if (!task.is_wanted) return;
    Gradients gradients = std::move(task.gradients);
    Gradients given;
    Node* node = task.node;  // The outputs keep it alive.
    const bool is_any = std::ranges::any_of(gradients, [](const Tensor& g) { return g.defined(); });
    if (is_any) given = run_node(*node, gradients);
    gradients.clear();
    given.resize(node->edges().size());
    for (size_t i = 0; i < given.size(); ++i) {
      if (node->edges()[i].is_wanted()) deliver(node->edges()[i], std::move(given[i]));
    }
  }

  // backward(inputs=[...]) of values that are no leaves: their .grad as well.
  void accumulate_into_results(Task& task) {
    for (const auto& [result, input] : task.captured) {
      if (!task.gradients[result].defined()) continue;
      accumulate(*request_.inputs[input].impl(), task.gradients[result], context_);
    }
  }

  // The sums that a node's gradients go to.
  class EdgeSums final : public RunningSums {
   public:
    EdgeSums(Pass& pass, const Node& node) : pass_(pass), node_(node) {}
    bool add_product(size_t index, const Tensor& a, const Tensor& b) override {
      const Edge& edge = node_.edges()[index];
      if (!edge.is_wanted()) return false;
      Task& task = pass_.tasks_[pass_.task_of(edge)];
      Tensor& sum = task.gradients[edge.index];
      if (!sum.defined()) return false;
      task.waiting.resize(task.gradients.size());
      return task.waiting[edge.index].take(sum, a, b, pass_.context_);
    }

   private:
    Pass& pass_;
    const Node& node_;
  };

  Gradients run_node(Node& node, std::span<const Tensor> gradients) {
    try {
      if (request_.watch != nullptr) return run_watched(node, gradients);
      EdgeSums sums(*this, node);
      return node.run(gradients, context_, keeps_, &sums);
    } catch (Error& error) {
      error.add_context("in the backward pass of " + node.name());
      if (!node.place().empty()) {
        error.add_context("which was called at " + node.place().highlight());
      }
      throw;
    }
  }

  // Without sums to add to, all that the node gives is there to be seen.
  Gradients run_watched(Node& node, std::span<const Tensor> gradients) {
    Gradients given = node.run(gradients, context_, keeps_, nullptr);
    request_.watch->after(node.name(), node.place(), gradients, {given.data(), given.size()});
    return given;
  }

  const ops::BackwardRequest& request_;
  const bool captures_;
  const bool keeps_;
  ops::RunContext context_;
  std::vector<Edge> root_edges_;
  std::vector<Edge> held_;
  std::unordered_map<const TensorImpl*, size_t> leaves_;
  std::unordered_map<const Node*, size_t> shared_;  // Those that another pass has claimed.
  Tasks tasks_;
  std::vector<size_t> order_;  // Of a pass with inputs: all tasks that were seen.
  std::priority_queue<Ready> ready_;
  uint64_t found_ = 0;
  std::vector<Tensor> results_;
};

}  // namespace

std::vector<Tensor> run_backward(ops::Tape& tape, ops::RunContext& context,
                                 const ops::BackwardRequest& request, bool captures) {
  check_request(request, captures);
  std::vector<Tensor> gradients = Pass(tape, context, request, captures).run();
  if (captures) check_used(request, gradients);
  return gradients;
}

}  // namespace tierup::autodiff
