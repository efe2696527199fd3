#include "tierup/executor/delegation.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "tierup/analysis/effects.h"
#include "tierup/base/error.h"
#include "tierup/ir/graph_editor.h"

namespace tierup::executor {
namespace {

using ir::Node;
using ir::NodeKind;
using ir::Value;

// What a delegate made of a group or a package; goes with the last plan that has it.
class Compiled : public RefCounted {
 public:
  virtual void run(std::span<IValue> args, std::span<IValue> results,
                   ops::RunContext& context) const = 0;
};

void check_made(std::span<const IValue> results, const char* delegate) {
  for (const IValue& result : results) {
    require(!result.is_none(), ErrorCode::kInvalidArgument, "the delegate {} left a result unmade",
            delegate);
  }
}

class CompiledSubgraph final : public Compiled {
 public:
  CompiledSubgraph(const Delegate& delegate, tierup_plugin_graph graph)
      : delegate_(delegate), graph_(std::move(graph)) {
    compiled_ = delegate_.table->compile(&plugin_host(), &graph_, delegate_.table->context);
  }
  ~CompiledSubgraph() override {
    if (compiled_ != nullptr && delegate_.table->destroy != nullptr) {
      delegate_.table->destroy(compiled_, delegate_.table->context);
    }
  }
  bool is_taken() const { return compiled_ != nullptr; }

  void run(std::span<IValue> args, std::span<IValue> results,
           ops::RunContext& context) const override {
    tierup_plugin_call call{args, results, {}, {}};
    const int status =
        delegate_.table->run(&plugin_host(), &call, compiled_, delegate_.table->context);
    if (status == TIERUP_PLUGIN_DECLINED) return graph_.run(args, results, context);
    check_status(status, call, delegate_.table->name);
    check_made(results, delegate_.table->name);
  }

 private:
  const Delegate delegate_;
  const tierup_plugin_graph graph_;
  void* compiled_ = nullptr;
};

class CompiledPackage final : public Compiled {
 public:
  CompiledPackage(const Delegate& delegate, PackageFiles files) : delegate_(delegate) {
    package_.files = std::move(files);
    compiled_ = delegate_.table->open_package(&plugin_host(), &package_, delegate_.table->context);
    require(compiled_ != nullptr, ErrorCode::kUnsupported,
            "the delegate {} cannot load the compiled model '{}': {}", delegate_.table->name,
            package_.files.model, package_.message.empty() ? "no reason given" : package_.message);
    package_.files.read = nullptr;
    package_.contents.clear();
  }
  ~CompiledPackage() override {
    if (compiled_ != nullptr && delegate_.table->destroy != nullptr) {
      delegate_.table->destroy(compiled_, delegate_.table->context);
    }
  }
  const tierup_plugin_package& package() const { return package_; }

  void run(std::span<IValue> args, std::span<IValue> results, ops::RunContext&) const override {
    tierup_plugin_call call{args, results, {}, {}};
    const int status =
        delegate_.table->run(&plugin_host(), &call, compiled_, delegate_.table->context);
    require(status != TIERUP_PLUGIN_DECLINED, ErrorCode::kUnsupported,
            "the delegate {} declines a call of a model that it alone can run",
            delegate_.table->name);
    check_status(status, call, delegate_.table->name);
    check_made(results, delegate_.table->name);
  }

 private:
  const Delegate delegate_;
  tierup_plugin_package package_;
  void* compiled_ = nullptr;
};

// The kernel of the nodes that stand for groups: the last argument says which.
class DelegateTarget final : public ops::ExternalTarget {
 public:
  void call(ops::OpCall& call) const override {
    const auto* group = static_cast<const Compiled*>(call.args.back().to_capsule());
    group->run(call.args.first(call.args.size() - 1), call.results, call.context);
  }
};

bool is_plain(const ir::Schema& schema) {
  const auto fresh = [](const ir::Argument& result) {
    return result.alias.empty() && result.element_alias.empty() &&
           result.type->is(TypeKind::kTensor);
  };
  return !schema.is_vararg && !schema.is_varret && !schema.is_mutating() &&
         !schema.returns.empty() &&
         std::all_of(schema.returns.begin(), schema.returns.end(), fresh);
}

class Delegation {
 public:
  Delegation(ir::Graph& graph, const Delegate& delegate) : editor_(graph), delegate_(delegate) {}

  size_t visit(ir::Block& block) {
    size_t taken = 0;
    std::vector<Node*> group;
    for (Node* node = block.first(); node != nullptr;) {
      Node* next = node->next();
      for (ir::Block* inner : node->blocks()) taken += visit(*inner);
      if (is_eligible(*node)) {
        group.push_back(node);
      } else if (!may_stay_between(*node)) {
        taken += take(group);
        group.clear();
      }
      node = next;
    }
    return taken + take(group);
  }

 private:
  bool is_eligible(const Node& node) const {
    if (!node.is(NodeKind::kOp) || analysis::effects_of(node) != ir::kNoEffect) return false;
    const ir::Schema& schema = node.op()->schema();
    return is_plain(schema) && delegate_.table->supports(schema.qualified_name().c_str(),
                                                         delegate_.table->context) != 0;
  }

  // Nodes that neither read what a group makes nor see whether it has run.
  static bool may_stay_between(const Node& node) {
    if (node.is(NodeKind::kConstant) || node.is(NodeKind::kGetAttr)) return true;
    if (!node.is(NodeKind::kListConstruct)) return false;
    return std::all_of(node.inputs().begin(), node.inputs().end(),
                       [](const Value* v) { return !v->type()->is(TypeKind::kTensor); });
  }

  bool take(const std::vector<Node*>& group) {
    if (group.empty() || group.size() < delegate_.table->min_nodes) return false;
    const std::unordered_set<const Node*> members(group.begin(), group.end());
    std::vector<Value*> inputs;
    std::vector<Value*> outputs;
    auto compiled =
        make_ref<CompiledSubgraph>(delegate_, describe(group, members, inputs, outputs));
    if (!compiled->is_taken()) return false;
    replace(group, inputs, outputs, std::move(compiled));
    return true;
  }

  static tierup_plugin_graph describe(const std::vector<Node*>& group,
                                      const std::unordered_set<const Node*>& members,
                                      std::vector<Value*>& inputs, std::vector<Value*>& outputs) {
    std::vector<const Value*> constants;
    std::unordered_map<const Value*, uint32_t> numbers;
    for (const Node* node : group) {
      for (Value* input : node->inputs()) {
        if (members.contains(input->node()) || !numbers.try_emplace(input, 0).second) continue;
        if (input->node() != nullptr && input->node()->is(NodeKind::kConstant)) {
          constants.push_back(input);
        } else {
          inputs.push_back(input);
        }
      }
    }
    tierup_plugin_graph graph;
    uint32_t next = 0;
    for (const Value* input : inputs) graph.inputs.push_back(numbers[input] = next++);
    graph.first_constant = next;
    for (const Value* constant : constants) {
      numbers[constant] = next++;
      graph.constants.push_back(constant->node()->attr<IValue>(ir::AttrName::kValue));
    }
    for (const Node* node : group) {
      tierup_plugin_graph::Node& entry = graph.nodes.emplace_back();
      entry.op = &ops::op_of(*node->op());
      entry.name = node->op()->schema().qualified_name();
      for (const Value* input : node->inputs()) entry.inputs.push_back(numbers.at(input));
      for (Value* output : node->outputs()) {
        entry.outputs.push_back(numbers[output] = next++);
        const bool leaves =
            std::any_of(output->uses().begin(), output->uses().end(),
                        [&](const ir::Use& use) { return !members.contains(use.user); });
        if (leaves) {
          outputs.push_back(output);
          graph.outputs.push_back(numbers[output]);
        }
      }
    }
    graph.value_count = next;
    return graph;
  }

  void replace(const std::vector<Node*>& group, std::vector<Value*> inputs,
               const std::vector<Value*>& outputs, Ref<CompiledSubgraph> compiled) {
    editor_.set_insert_before(group.back());
    editor_.set_range(group.back()->range());
    inputs.push_back(editor_.constant(IValue::capsule(std::move(compiled))));
    Node* node = editor_.create_bare_op(*delegate_.op);
    for (Value* input : inputs) editor_.add_input(node, input);
    for (Value* output : outputs) {
      editor_.replace_uses(output, editor_.add_output(node, output->type()));
    }
    for (auto member = group.rbegin(); member != group.rend(); ++member) editor_.remove(*member);
  }

  ir::GraphEditor editor_;
  const Delegate& delegate_;
};

}  // namespace

Plugins::Plugins(const std::vector<std::string>& paths) : libraries_(load_plugins(paths)) {
  add_operators(libraries_, operators_);
  for (const auto& library : libraries_) {
    for (const tierup_plugin_delegate* table : library->delegates()) {
      Delegate& delegate = delegates_.emplace_back(Delegate{library, table});
      delegate.op = &operators_.add(fmt::format("delegate::{}(...) -> ...", table->name),
                                    ir::kNoEffect, make_ref<DelegateTarget>());
      if (!executor::takes_packages(*table)) continue;
      // What a compiled model does to its state is not known here.
      delegate.package =
          &operators_.add(fmt::format("delegate::{}.package(...) -> ...", table->name),
                          ir::kSideEffect, make_ref<DelegateTarget>());
    }
  }
}

std::vector<UserPass> Plugins::passes() const {
  std::vector<UserPass> result;
  for (const auto& library : libraries_)
    result.insert(result.end(), library->passes().begin(), library->passes().end());
  return result;
}

size_t Plugins::delegate_nodes(ir::Graph& graph) const {
  size_t taken = 0;
  for (const Delegate& delegate : delegates_) {
    if (delegate.table->supports == nullptr) continue;
    taken += Delegation(graph, delegate).visit(graph.block());
  }
  return taken;
}

bool Plugins::takes_packages(std::string_view kind) const {
  return std::ranges::any_of(delegates_, [&](const Delegate& delegate) {
    return delegate.package != nullptr && kind == delegate.table->package_kind;
  });
}

OpenedPackage Plugins::open_package(std::string_view kind, PackageFiles files) const {
  for (const Delegate& delegate : delegates_) {
    if (delegate.package == nullptr || kind != delegate.table->package_kind) continue;
    const auto compiled = make_ref<CompiledPackage>(delegate, std::move(files));
    return {delegate.package, IValue::capsule(compiled), compiled->package().arguments,
            compiled->package().result};
  }
  fail(ErrorCode::kNotFound, "no delegate takes packages of the kind {}", kind);
}

}  // namespace tierup::executor
