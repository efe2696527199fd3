// See propagate_shapes.h. One walk in program order; blocks see the values around them.
#include "tierup/passes/specialize/propagate_shapes.h"

#include <algorithm>
#include <unordered_map>

#include "tierup/ops/shapes/shape_check.h"
#include "tierup/passes/core/value_queries.h"

namespace tierup::passes {

using ir::Block;
using ir::Node;
using ir::NodeKind;
using ir::Value;
using ops::ShapeValue;
using ops::Sizes;

namespace {

class Propagation {
 public:
  explicit Propagation(PassContext& context)
      : context_(context), editor_(context.editor()), alias_(context.alias()) {}

  void run() {
    Block& block = context_.graph().block();
    find_new_geometry(block);
    for (const Value* input : block.params()) name_past(input->type()->facts());
    for (Value* input : block.params()) take_input(input);
    visit(block);
    for (const auto& [value, sizes] : found_) mark(value, sizes);
    if (context_.is_verifying()) compare();
  }

 private:
  // Nodes that may give tensors another geometry.
  void find_new_geometry(const Block& block) {
    for (const Node* node : block.nodes()) {
      for (const Block* inner : node->blocks()) find_new_geometry(*inner);
      const bool is_op = node->is(NodeKind::kOp);
      if (is_op ? ops::changes_geometry(*node->op())
                : node->blocks().empty() && alias_.writes_anything(node)) {
        reshaping_.push_back(node);
      }
    }
  }
  bool is_steady(const Value* value) const {
    return std::none_of(reshaping_.begin(), reshaping_.end(),
                        [&](const Node* node) { return alias_.writes(node, value); });
  }

  void name_past(const TensorFacts& facts) {
    if (!facts.sizes) return;
    for (const Dim& dim : *facts.sizes)
      if (dim.kind == Dim::Kind::kSymbol) symbols_ = std::max(symbols_, dim.value + 1);
  }

  void take_input(Value* input) {
    const auto& sizes = input->type()->facts().sizes;
    if (!input->type()->is(TypeKind::kTensor) || !sizes) return;
    if (!is_steady(input)) return drop_sizes(editor_, input);
    Sizes named = *sizes;
    name_rest(named);
    set(input, {.is_tensor = true, .sizes = std::move(named)});
  }

  const ShapeValue& of(const Value* value) const {
    static const ShapeValue kNothing{};
    const auto found = values_.find(value);
    return found == values_.end() ? kNothing : found->second;
  }

  void set(Value* value, ShapeValue shape) {
    shape.is_tensor = value->type()->is(TypeKind::kTensor);
    if (shape.is_tensor && shape.sizes && is_steady(value))
      found_.emplace_back(value, *shape.sizes);
    if (shape.is_tensor && !is_steady(value)) shape = {.is_tensor = true};
    values_[value] = std::move(shape);
  }

  void visit(const Block& block) {
    for (Node* node : block.nodes()) {
      for (Value* output : node->outputs()) {
        drop_sizes(editor_, output);
        values_.erase(output);
      }
      visit(*node);
    }
  }

  void visit(Node& node) {
    switch (node.kind()) {
      case NodeKind::kConstant:
        return set(node.output(), ops::shape_of_constant(node.attr<IValue>(ir::AttrName::kValue)));
      case NodeKind::kListConstruct: return visit_list(node);
      case NodeKind::kListUnpack: return visit_unpacking(node);
      case NodeKind::kIf: return visit_if(node);
      case NodeKind::kLoop: return visit_loop(node);
      case NodeKind::kOp: return visit_op(node);
      default:
        for (const Block* inner : node.blocks()) visit(*inner);
    }
  }

  void visit_list(const Node& node) {
    const TypePtr& type = node.output()->type();
    if (!type->is(TypeKind::kList)) return;
    if (!is_only_read(node.output())) {
      if (type->element()->is(TypeKind::kTensor) && only_grows(node.output()))
        growing_[node.output()] = symbols_;
      return;
    }
    ShapeValue list;
    if (type->element()->is(TypeKind::kInt)) {
      list.numbers.emplace();
      for (const Value* item : node.inputs())
        list.numbers->push_back(of(item).number.value_or(Dim{}));
    } else if (type->element()->is(TypeKind::kTensor)) {
      list.parts.emplace();
      for (const Value* item : node.inputs()) list.parts->push_back(of(item).sizes);
    }
    values_[node.output()] = std::move(list);
  }

  static bool is_append(const ir::Use& use) {
    return use.user != nullptr && role_of(*use.user) == ops::Role::kAppend && use.index == 0 &&
           is_unused(*use.user);
  }
  static bool only_grows(const Value* list) {
    return std::ranges::all_of(
        list->uses(), [](const ir::Use& use) { return is_append(use) || is_only_read_by(use); });
  }

  // What all tensors that such a list holds have in common, where it is read behind what made it.
  // What was named since may differ from one to the next.
  std::optional<Sizes> item_of(const Value* list, const Node& reader) const {
    const auto growing = growing_.find(list);
    if (growing == growing_.end() || reader.owner() != list->node()->owner()) return std::nullopt;
    std::vector<const Value*> items(list->node()->inputs().begin(), list->node()->inputs().end());
    for (const ir::Use& use : list->uses())
      if (is_append(use)) items.push_back(use.user->input(1));
    std::optional<Sizes> sizes = items.empty() ? std::nullopt : of(items.front()).sizes;
    for (const Value* item : items) sizes = common_sizes(sizes, of(item).sizes);
    if (!sizes) return std::nullopt;
    for (Dim& dim : *sizes) {
      if (dim.kind == Dim::Kind::kSymbol && dim.value >= growing->second) dim = Dim{};
    }
    return sizes;
  }

  void visit_unpacking(const Node& node) {
    if (!is_only_read(node.input())) return;
    const ShapeValue list = of(node.input());
    for (size_t i = 0; i < node.outputs().size(); ++i) {
      if (list.numbers && list.numbers->size() == node.outputs().size())
        set(node.output(i), {.number = (*list.numbers)[i]});
      if (list.parts && list.parts->size() == node.outputs().size())
        set(node.output(i), {.sizes = (*list.parts)[i]});
    }
  }

  // What both branches agree on.
  void visit_if(const Node& node) {
    for (const Block* inner : node.blocks()) visit(*inner);
    for (size_t i = 0; i < node.outputs().size(); ++i) {
      const ShapeValue& a = of(node.block(0)->returns()[i]);
      const ShapeValue& b = of(node.block(1)->returns()[i]);
      ShapeValue both;
      if (a.number == b.number) both.number = a.number;
      both.sizes = common_sizes(typed_sizes(node.block(0)->returns()[i]),
                                typed_sizes(node.block(1)->returns()[i]));
      set_joined(node.output(i), std::move(both));
    }
  }

  // Sizes that two sources of a value have in common; what differs is unknown.
  static std::optional<Sizes> common_sizes(const std::optional<Sizes>& a,
                                           const std::optional<Sizes>& b) {
    if (!a || !b || a->size() != b->size()) return std::nullopt;
    Sizes sizes = *a;
    for (size_t d = 0; d < sizes.size(); ++d) {
      if (sizes[d] != (*b)[d]) sizes[d] = Dim{};
    }
    return sizes;
  }

  // Its type knows only what holds for each source; operators that read it are given names for the
  // rest.
  void set_joined(Value* value, ShapeValue joined) {
    set(value, joined);
    ShapeValue& named = values_[value];
    joined_.erase(value);
    if (!named.sizes) return;
    joined_[value] = *named.sizes;
    name_rest(*named.sizes);
  }

  void name_rest(Sizes& sizes) {
    for (Dim& dim : sizes) {
      if (dim.kind == Dim::Kind::kUnknown) dim = {Dim::Kind::kSymbol, symbols_++};
    }
  }

  // As the type gives them.
  std::optional<Sizes> typed_sizes(const Value* value) const {
    const auto found = joined_.find(value);
    return found == joined_.end() ? of(value).sizes : std::optional(found->second);
  }

  // Carried values are taken to keep the sizes that they start with. Where a trip gives others,
  // what it changed is given up, and the body gone over again: at most once for each size and rank.
  void visit_loop(const Node& node) {
    const Block& body = *node.block();
    const size_t count = node.outputs().size();
    std::vector<ShapeValue> carried = starts_of(node);
    const size_t found = found_.size();
    ++depth_;
    for (bool again = true; again;) {
      found_.resize(found);
      for (Value* param : body.params()) drop_sizes(editor_, param);
      for (size_t i = 0; i < count; ++i) set_joined(body.params()[i + 1], carried[i]);
      visit(body);
      again = false;
      for (size_t i = 0; i < count; ++i) {
        const bool changes = body.returns()[i + 1] != body.params()[i + 1];
        again |= changes && weaken(carried[i], typed_sizes(body.returns()[i + 1]));
      }
    }
    --depth_;
    for (size_t i = 0; i < count; ++i) set_joined(node.output(i), std::move(carried[i]));
  }
  // What is known of carried values before the first trip. Of those that a trip may change only
  // sizes are followed, and not deep inside of other loops, whose bodies are gone over again too.
  std::vector<ShapeValue> starts_of(const Node& loop) const {
    constexpr int kDeepest = 3;
    const Block& body = *loop.block();
    std::vector<ShapeValue> starts;
    for (size_t i = 0; i < loop.outputs().size(); ++i) {
      ShapeValue start = of(loop.input(i + 2));
      start.sizes = typed_sizes(loop.input(i + 2));
      const bool changes = body.returns()[i + 1] != body.params()[i + 1];
      if (!changes) {
        starts.push_back(start);
      } else if (depth_ < kDeepest) {
        starts.push_back({.sizes = start.sizes});
      } else {
        starts.push_back({});
      }
    }
    return starts;
  }
  // Whether the next trip's value is another one.
  static bool weaken(ShapeValue& carried, const std::optional<Sizes>& next) {
    std::optional<Sizes> common = common_sizes(carried.sizes, next);
    if (common == carried.sizes) return false;
    carried.sizes = std::move(common);
    return true;
  }

  // As if the list held two such tensors; how many it holds shows in the dimension that joins them.
  void visit_join_of_growing(const Node& node) {
    auto item = item_of(node.input(0), node);
    const IValue* dim = constant_of(node.input(1));
    const ops::ShapeFn function = ops::shape_function(ops::op_of(*node.op()));
    if (!item || function == nullptr || dim == nullptr || !dim->is_int()) return;
    name_rest(*item);
    std::vector<ShapeValue> args{{.parts = {{item, item}}}, of(node.input(1))};
    std::vector<ShapeValue> results(1);
    ops::ShapeContext shape{node.op()->schema(), args, results, symbols_};
    function(shape);
    if (!results[0].sizes) return;
    Sizes& sizes = *results[0].sizes;
    const int64_t place = dim->to_int() + (dim->to_int() < 0 ? std::ssize(sizes) : 0);
    sizes[static_cast<size_t>(place)] = {Dim::Kind::kSymbol, symbols_++};
    set(node.output(), std::move(results[0]));
  }
  bool joins_growing(const Node& node) const {
    return ops::op_of(*node.op()).facts().join != ops::JoinKind::kNone &&
           growing_.contains(node.input(0));
  }

  void visit_op(const Node& node) {
    if (joins_growing(node)) return visit_join_of_growing(node);
    const ir::Schema& schema = node.op()->schema();
    if (node.outputs().empty() || schema.is_vararg ||
        node.inputs().size() != schema.arguments.size())
      return;
    std::vector<ShapeValue> args;
    for (const Value* input : node.inputs()) {
      args.push_back(of(input));
      args.back().is_tensor = args.back().is_tensor || input->type()->is(TypeKind::kTensor);
    }
    std::vector<ShapeValue> results(node.outputs().size());
    if (!args.empty() && schema.arguments[0].alias.is_write) {
      // In place a tensor keeps its sizes, or nothing is known of it.
      results[0].sizes = args[0].sizes;
    } else if (const ops::ShapeFn function = ops::shape_function(ops::op_of(*node.op()))) {
      ops::ShapeContext shape{schema, args, results, symbols_, wanted_parts(node)};
      function(shape);
    }
    for (size_t i = 0; i < results.size(); ++i) {
      const bool is_list = results[i].numbers || results[i].parts;
      if (!is_list || is_only_read(node.output(i))) set(node.output(i), std::move(results[i]));
    }
  }

  static size_t wanted_parts(const Node& node) {
    const auto uses = node.output()->uses();
    const bool is_unpacked =
        uses.size() == 1 && uses[0].user != nullptr && uses[0].user->is(NodeKind::kListUnpack);
    return is_unpacked ? uses[0].user->outputs().size() : 0;
  }

  void mark(Value* value, const Sizes& sizes) {
    TensorFacts facts = value->type()->facts();
    facts.sizes = sizes;
    editor_.set_type(value, Type::tensor_with(std::move(facts)));
    context_.count("known");
  }

  // What ran must be what the functions say.
  void compare() const {
    ops::BoundSymbols bound;
    for (const auto& [value, sizes] : found_) {
      const TensorFacts* seen = context_.hints().find(value);
      if (seen == nullptr || !seen->sizes) continue;
      bool fits = seen->sizes->size() == sizes.size();
      for (size_t i = 0; fits && i < sizes.size(); ++i) {
        const Dim& dim = (*seen->sizes)[i];
        fits = dim.kind != Dim::Kind::kStatic || bound.admits(sizes[i], dim.value);
      }
      if (!fits) {
        fail(ErrorCode::kInternal, "%{} of {} is {} by its shape function, but was {}", value->id(),
             value->node() != nullptr ? value->node()->display_name() : "the caller",
             value->type()->to_string(), Type::tensor_with(*seen)->to_string());
      }
    }
  }

  PassContext& context_;
  ir::GraphEditor& editor_;
  const analysis::AliasAnalysis& alias_;
  int64_t symbols_ = 0;
  int depth_ = 0;  // Of loops around the place.
  std::vector<const Node*> reshaping_;
  std::unordered_map<const Value*, ShapeValue> values_;
  // Lists of tensors that are appended to, with the symbols that were in use before.
  std::unordered_map<const Value*, int64_t> growing_;
  std::unordered_map<const Value*, Sizes> joined_;  // Of Ifs and Loops, before they were named.
  std::vector<std::pair<Value*, Sizes>> found_;     // In program order.
};

}  // namespace

void propagate_shapes(PassContext& context) { Propagation(context).run(); }

}  // namespace tierup::passes
