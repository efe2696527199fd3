// See fold_tensors.h. One sweep in program order. Views of constants and lists are computed as
// well, to see through them, but stay: whoever needs their node keeps it. Only what nets pack is
// made a constant although it is a view.
#include "tierup/passes/specialize/fold_tensors.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <vector>

#include "tierup/base/machine.h"
#include "tierup/ops/regions/neural_net.h"
#include "tierup/passes/core/run_operator.h"
#include "tierup/passes/core/value_queries.h"

namespace tierup::passes {

using ir::Block;
using ir::Node;
using ir::NodeKind;
using ir::Value;

namespace {

// All tensors of a value that is one, or a list of them.
template <typename Body>
void for_each_tensor(const IValue& value, const Body& body) {
  if (value.is_tensor()) {
    if (value.to_tensor().defined()) body(value.to_tensor());
  } else if (value.is_list()) {
    for (const IValue& item : value.to_list().items) for_each_tensor(item, body);
  }
}

// Of the memory that is read or written: elements that are repeated count once.
int64_t bytes_of(std::span<const IValue> values) {
  int64_t bytes = 0;
  for (const IValue& value : values) {
    for_each_tensor(value, [&](const Tensor& tensor) {
      bytes += std::min(tensor.numel() * static_cast<int64_t>(tensor.item_size()),
                        static_cast<int64_t>(tensor.storage()->bytes()));
    });
  }
  return bytes;
}

bool share_memory(std::span<const IValue> results, std::span<const IValue> arguments) {
  bool shares = false;
  for (const IValue& result : results) {
    for_each_tensor(result, [&](const Tensor& view) {
      for (const IValue& argument : arguments) {
        for_each_tensor(argument, [&](const Tensor& base) {
          shares = shares || view.storage().get() == base.storage().get();
        });
      }
    });
  }
  return shares;
}

class TensorFolder {
 public:
  explicit TensorFolder(PassContext& context)
      : context_(context), editor_(context.editor()), alias_(context.alias()) {}

  void visit(const Block& block) {
    std::vector<Node*> nodes;
    for (Node* node : block.nodes()) nodes.push_back(node);
    for (Node* node : nodes) {
      for (const Block* inner : node->blocks()) visit(*inner);
      switch (node->kind()) {
        case NodeKind::kOp: fold(node); break;
        case NodeKind::kListConstruct: note_list(*node); break;
        case NodeKind::kListUnpack: note_items(*node); break;
        default: break;
      }
    }
  }

 private:
  // What the value is in each run; null if that is not known.
  const IValue* known(const Value* value) const {
    const auto found = known_.find(value);
    if (found != known_.end()) return &found->second;
    const IValue* constant = constant_of(value);
    if (constant == nullptr || is_plain(*constant)) return constant;
    if (!is_tensor(value)) return known_argument(value) ? constant : nullptr;
    return alias_.has_writers(value) ? nullptr : constant;
  }

  std::optional<std::vector<IValue>> known_inputs(const Node& node) const {
    std::vector<IValue> values;
    for (const Value* input : node.inputs()) {
      const IValue* value = known(input);
      if (value == nullptr) return std::nullopt;
      values.push_back(*value);
    }
    return values;
  }

  void note_list(const Node& node) {
    auto items = known_inputs(node);
    if (!items) return;
    note(node.output(), make_ref<ListValue>(node.output()->type()->element(), std::move(*items)));
  }

  void note_items(const Node& node) {
    const IValue* list = known(node.input());
    if (list == nullptr || !list->is_list()) return;
    const auto& items = list->to_list().items;
    if (items.size() != node.outputs().size()) return;
    for (size_t i = 0; i < items.size(); ++i) note(node.output(i), items[i]);
  }

  // Memory that somebody writes is not what it was, nor is a list that grows.
  void note(const Value* value, const IValue& is) {
    const bool is_list = value->type()->is(TypeKind::kList);
    if (is_list ? !is_read_by_items(value) || alias_.has_writers_inside(value)
                : is_tensor(value) && alias_.has_writers(value)) {
      return;
    }
    known_.emplace(value, is);
  }

  void fold(Node* node) {
    const ops::Op& op = ops::op_of(*node->op());
    if (!can_run(*node, op)) return;
    auto arguments = known_inputs(*node);
    if (!arguments) return;
    const std::vector<IValue> given = *arguments;  // The run consumes them.
    const auto results = run_operator(context_, op, *arguments, node->outputs().size());
    if (!results) return;  // Its error is the run's.
    if (share_memory(*results, given) || !are_tensors(*node)) {
      if (are_tensors(*node) && is_packed(node->output(0), (*results)[0].to_tensor())) {
        if (WeightReads* reads = context_.weight_reads()) reads->note((*results)[0].to_tensor());
        return replace(node, *results);
      }
      for (size_t i = 0; i < results->size(); ++i) note(node->output(i), (*results)[i]);
      return;
    }
    if (is_handed_on(*node)) return;
    const int64_t bytes = bytes_of(*results);
    if (bytes > std::max(bytes_of(given), cache_sizes().second_level))
      return context_.count("too_large");
    replace(node, *results);
  }

  // Whether it is read as nothing but what nets take as constants, a weight or the like.
  static bool is_packed(const Value* value, const Tensor& tensor) {
    return !value->uses().empty() && std::ranges::all_of(value->uses(), [&](const ir::Use& use) {
      if (use.user == nullptr || !use.user->is(NodeKind::kOp)) return false;
      const kernels::net::OpKind kind = ops::op_of(*use.user->op()).facts().net;
      if (kind == kernels::net::OpKind::kMatmul) return use.index == 1 && tensor.dim() == 2;
      return (ops::constant_arguments(kind) >> use.index & 1U) != 0;
    });
  }
  static bool are_tensors(const Node& node) {
    return std::ranges::all_of(node.outputs(), [](const Value* v) { return is_tensor(v); });
  }
  bool is_handed_on(const Node& node) const {
    return std::ranges::any_of(node.outputs(), [&](const Value* value) {
      return alias_.leaves(value) || alias_.has_writers(value);
    });
  }

  void replace(Node* node, const std::vector<IValue>& results) {
    editor_.set_insert_before(node);
    editor_.set_range(node->range());
    for (size_t i = 0; i < results.size(); ++i) {
      Value* constant = editor_.constant(results[i], node->output(i)->type());
      editor_.set_name(constant, node->output(i)->name());
      known_.emplace(constant, results[i]);
      editor_.replace_uses(node->output(i), constant);
    }
    editor_.set_range({});
    editor_.remove(node);
    context_.count("folded");
  }

  PassContext& context_;
  ir::GraphEditor& editor_;
  const analysis::AliasAnalysis& alias_;
  std::unordered_map<const Value*, IValue> known_;
};

}  // namespace

void fold_tensors(PassContext& context) { TensorFolder(context).visit(context.graph().block()); }

}  // namespace tierup::passes
