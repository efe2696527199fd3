#include "tierup/autodiff/call_node.h"

#include <algorithm>
#include <cctype>

#include "tierup/autodiff/eager_builder.h"
#include "tierup/base/error.h"

namespace tierup::autodiff {
namespace {

class SumsByArgument final : public ArgumentSums {
 public:
  SumsByArgument(const CallNode& node, RunningSums* sums) : node_(node), sums_(sums) {}
  bool add_product(size_t argument, const Tensor& a, const Tensor& b) override {
    const int64_t edge = node_.edge_of(argument);
    return edge >= 0 && sums_->add_product(static_cast<size_t>(edge), a, b);
  }

 private:
  const CallNode& node_;
  RunningSums* sums_;
};

}  // namespace

std::string node_title(const ops::Op& op) {
  std::string title = op.schema().name.substr(op.schema().name.find("::") + 2);
  if (!title.empty() && title.back() == '_') title.pop_back();
  if (!title.empty()) title[0] = static_cast<char>(std::toupper(title[0]));
  return title;
}

CallNode::~CallNode() {
  if (edges_.empty() && !has_saved_) return;
  Links links;
  CallNode::take_links(links);
  release_chain(std::move(links));
}

template <typename F>
void CallNode::for_each_saved(F&& f) {
  const auto visit = [&](RecordedValue& value) {
    if (value.saved.is_saved()) f(value);
    if (!value.elements) return;
    for (RecordedValue& item : *value.elements) {
      if (item.saved.is_saved()) f(item);
    }
  };
  for (RecordedValue& value : call_.args) visit(value);
  for (RecordedValue& value : call_.results) visit(value);
}

void CallNode::take_links(Links& links) {
  Node::take_links(links);
  take_saved(links);
}

void CallNode::take_saved(Links& links) {
  if (!has_saved_ || !has_saved_.exchange(false)) return;
  for_each_saved([&](RecordedValue& value) {
    links.push_back({Link::Kind::kTensor, value.saved.take()});
  });
}

void CallNode::connect(size_t argument, int64_t element, Edge edge) {
  RecordedValue& value = call_.args[argument];
  value.wants_grad = true;
  if (element >= 0) (*value.elements)[static_cast<size_t>(element)].wants_grad = true;
  targets_.push_back({static_cast<uint32_t>(argument), static_cast<int32_t>(element)});
  add_edge(std::move(edge));
}

int64_t CallNode::edge_of(size_t argument) const {
  for (size_t i = 0; i < targets_.size(); ++i) {
    if (targets_[i].argument == argument) return static_cast<int64_t>(i);
  }
  return -1;
}

// ", which is output 0 of Exp,": of an argument that a recorded call made.
std::string CallNode::origin_of(size_t argument) const {
  const int64_t edge = edge_of(argument);
  if (edge < 0 || !edges_[static_cast<size_t>(edge)].node) return {};
  const Edge& source = edges_[static_cast<size_t>(edge)];
  return fmt::format(", which is output {} of {},", source.index, source.node->title());
}

void CallNode::check_values() {
  if (is_freed_) fail_freed();
  if (!has_saved_) return;
  for (size_t i = 0; i < call_.args.size(); ++i) {
    const RecordedValue& value = call_.args[i];
    if (value.saved.is_stale()) fail_overwritten(value.saved, origin_of(i), name());
    if (!value.elements) continue;
    for (const RecordedValue& item : *value.elements) {
      if (item.saved.is_stale()) fail_overwritten(item.saved, {}, name());
    }
  }
  for (size_t k = 0; k < call_.results.size(); ++k) {
    const SavedTensor& saved = call_.results[k].saved;
    if (saved.is_stale()) {
      fail_overwritten(saved, fmt::format(", which is output {} of {},", k, title()), name());
    }
  }
}

void CallNode::free_values() {
  if (!has_saved_) return;
  is_freed_ = true;
  Links links;
  take_saved(links);
  release_chain(std::move(links));
}

// The cotangents of results that are lists stand one after the other.
GivenGradients CallNode::run_with_lists(EagerBuilder& builder, std::span<const Tensor> cotangents) {
  std::vector<std::vector<Tensor>> lists(call_.results.size());
  SmallVector<Tensor, 2> singles;
  size_t next = 0;
  for (size_t k = 0; k < call_.results.size(); ++k) {
    const auto& elements = call_.results[k].elements;
    singles.push_back(elements ? Tensor() : cotangents[next++]);
    if (!elements) continue;
    lists[k].assign(cotangents.begin() + next, cotangents.begin() + next + elements->size());
    next += elements->size();
  }
  return builder.run_formula(singles, lists);
}

Gradients CallNode::run(std::span<const Tensor> cotangents, ops::RunContext& context, bool keep,
                        RunningSums* sums) {
  if (refusal_) throw Error(*refusal_);
  check_values();
  // Only a pass that is recorded itself asks whose results the saved ones are.
  EagerBuilder builder(call_, context, Ref<Node>(context.tape != nullptr ? this : nullptr));
  SumsByArgument by_argument(*this, sums);
  if (sums != nullptr) builder.add_products_to(by_argument);
  const bool has_lists = std::ranges::any_of(
      call_.results, [](const RecordedValue& result) { return result.elements != nullptr; });
  GivenGradients given =
      has_lists ? run_with_lists(builder, cotangents) : builder.run_formula(cotangents, {});
  Gradients gradients;
  for (const Target& target : targets_) {
    gradients.push_back(given.take(target.argument, target.element));
  }
  if (!keep) free_values();
  return gradients;
}

}  // namespace tierup::autodiff
