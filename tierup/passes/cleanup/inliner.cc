// A call is replaced by its callee's nodes as written, then the calls among those are looked at,
// with the callee on the stack: so recursion shows as a callee that is already there.
//
// Constants are half of what source compiles to, and a body is inlined as often as a net has layers
// of a kind: those that can be shared are copied once, to the graph's beginning.
#include "tierup/passes/cleanup/inliner.h"

#include <algorithm>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tierup/ir/function.h"
#include "tierup/passes/core/value_queries.h"

namespace tierup::passes {

using ir::Block;
using ir::Node;
using ir::NodeKind;
using ir::Value;

namespace {

constexpr size_t kMaxNodes =
    400'000;  // Inlining is exponential for programs written to make it so.
constexpr size_t kMaxDepth = 200;

const ir::Function* callee_of(const Node& node) {
  if (node.is(NodeKind::kCallFunction)) {
    const auto& callee = node.attr<Ref<Callable>>(ir::AttrName::kCallee);
    return dynamic_cast<const ir::Function*>(callee.get());
  }
  if (!node.is(NodeKind::kCallMethod)) return nullptr;
  const TypePtr& type = node.input()->type();
  if (!type->is(TypeKind::kClass)) return nullptr;
  const auto method = type->as_class()->find_method(node.attr<std::string>(ir::AttrName::kName));
  return dynamic_cast<const ir::Function*>(method.get());
}

class Inliner {
 public:
  explicit Inliner(PassContext& context) : context_(context), editor_(context.editor()) {}

  void visit_block(const Block& block) { visit_range(block.first(), nullptr); }

 private:
  // Nodes from `first` up to `end` (null: the end of the block).
  void visit_range(Node* first, Node* end) {
    for (Node* node = first; node != end && node != nullptr;) {
      Node* next = node->next();
      ++visited_;
      for (const Block* inner : node->blocks()) visit_block(*inner);
      if (const ir::Function* callee = callee_of(*node)) visit_call(node, *callee);
      node = next;
    }
  }

  void visit_call(Node* call, const ir::Function& callee) {
    if (std::find(stack_.begin(), stack_.end(), &callee) != stack_.end()) {
      context_.count("recursive");
      return;
    }
    if (visited_ > kMaxNodes || stack_.size() >= kMaxDepth) {
      context_.count("too_large");
      return;
    }
    const std::shared_ptr<const ir::Graph> body = callee.graph();
    if (body->inputs().size() != call->inputs().size() || body->outputs().size() != 1) return;
    Node* const before = call->previous();
    Node* const after = call->next();
    Block* const block = call->owner();
    replace(call, *body);
    context_.count("inlined");
    stack_.push_back(&callee);
    visit_range(before != nullptr ? before->next() : block->first(), after);
    stack_.pop_back();
  }

  void replace(Node* call, const ir::Graph& body) {
    const std::string& caller = stack_.empty() ? context_.graph().name() : stack_.back()->name();
    std::vector<ir::CallPlace> chain = {{caller, call->range()}};
    if (call->call_chain() != nullptr) {
      chain.insert(chain.end(), call->call_chain()->begin(), call->call_chain()->end());
    }
    ir::ValueMap map;
    map.reserve(static_cast<size_t>(body.id_bound()));
    for (const auto& [constant, copy] : constants_of(body)) map[constant] = copy;
    editor_.set_insert_before(call);
    editor_.set_call_chain(std::make_shared<const std::vector<ir::CallPlace>>(std::move(chain)));
    for (size_t i = 0; i < body.inputs().size(); ++i) map[body.inputs()[i]] = call->input(i);
    Value* result = editor_.inline_block(body.block(), map)[0];
    editor_.set_call_chain(nullptr);
    if (!call->output()->name().empty() && result->name().empty()) {
      editor_.set_name(result, call->output()->name());
    }
    editor_.replace_uses(call->output(), result);
    editor_.remove(call);
  }

  using Copies = std::vector<std::pair<const Value*, Value*>>;

  // The constants of a body that can be shared, and their copies at the graph's beginning.
  const Copies& constants_of(const ir::Graph& body) {
    const auto [entry, is_new] = constants_.try_emplace(&body);
    if (is_new) copy_constants(body.block(), entry->second);
    return entry->second;
  }

  void copy_constants(const Block& block, Copies& copies) {
    for (const Node* node : block.nodes()) {
      for (const Block* inner : node->blocks()) copy_constants(*inner, copies);
      if (!node->is(NodeKind::kConstant)) continue;
      const IValue& value = node->attr<IValue>(ir::AttrName::kValue);
      if (!is_plain(value)) continue;
      const Value* constant = node->output();
      if (last_constant_ != nullptr) {
        editor_.set_insert_after(last_constant_);
      } else {
        editor_.set_insert_before(context_.graph().block().first());
      }
      Value* copy = editor_.constant(value, constant->type());
      last_constant_ = copy->node();
      editor_.set_node_range(last_constant_, node->range());
      editor_.set_name(copy, constant->name());
      copies.emplace_back(constant, copy);
    }
  }

  PassContext& context_;
  ir::GraphEditor& editor_;
  std::vector<const ir::Function*> stack_;
  size_t visited_ = 0;
  std::unordered_map<const ir::Graph*, Copies> constants_;
  Node* last_constant_ = nullptr;  // Of the copies.
};

}  // namespace

void inliner(PassContext& context) { Inliner(context).visit_block(context.graph().block()); }

}  // namespace tierup::passes
