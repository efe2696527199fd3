// Higher-order operators of exported programs as blocks of the IR: cond becomes prim::If, loops
// become prim::Loop, and wrappers that change nothing for inference are inlined.
#include <algorithm>
#include <array>

#include "tierup/base/error.h"
#include "tierup/frontend/exported/graph_builder.h"

namespace tierup::frontend::exported {

using Kind = Argument::Kind;
using Values = std::vector<ir::Value*>;

class HigherOrderBuilder {
 public:
  HigherOrderBuilder(GraphBuilder& builder, const NodeData& node, const Environment& environment)
      : builder_(builder), editor_(builder.editor()), node_(node), environment_(environment) {}

  // (pred, true graph, false graph, operands)
  Values cond() {
    expect_arguments(4);
    const Values operands = list(3);
    ir::Node* choice = editor_.create(ir::NodeKind::kIf, {as_bool(value(0))});
    ir::Block* home = editor_.insert_block();
    std::array<Values, 2> results;
    for (size_t branch = 0; branch < 2; ++branch) {
      ir::Block* block = editor_.add_block(choice);
      editor_.set_insert_end(block);
      results[branch] = builder_.inline_graph(graph(1 + branch), operands);
      for (ir::Value* result : results[branch]) editor_.add_return(block, result);
    }
    editor_.set_insert_end(home);
    require(results[0].size() == results[1].size(), ErrorCode::kCorruptArchive,
            "the branches of a cond have {} and {} results", results[0].size(), results[1].size());
    return outputs_like(choice, results[0]);
  }

  // (cond graph, body graph, carried, additional)
  Values while_loop() {
    expect_arguments(4);
    const Values carried = list(2);
    const Values additional = list(3);
    const auto with_additional = [&](Values values) {
      values.insert(values.end(), additional.begin(), additional.end());
      return values;
    };
    const auto condition = [&](const Values& values) {
      const Values result = builder_.inline_graph(graph(0), with_additional(values));
      require(result.size() == 1, ErrorCode::kCorruptArchive, "a loop condition has one result");
      return as_bool(result[0]);
    };
    ir::Value* enter = condition(carried);
    return loop(editor_.constant(IValue(INT64_MAX)), enter, carried,
                [&](ir::Value*, const Values& state) -> std::pair<ir::Value*, Values> {
                  Values next = builder_.inline_graph(graph(1), with_additional(state));
                  return {condition(next), std::move(next)};
                });
  }

  // (body graph, mapped, others): over dimension 0, results stacked.
  Values map() {
    expect_arguments(3);
    const Values mapped = list(1);
    const Values others = list(2);
    return over_rows(graph(0), {}, mapped, others);
  }

  // (combine graph, init, xs, additional): carried values, then stacked ones.
  Values scan() {
    expect_arguments(4);
    return over_rows(graph(0), list(1), list(2), list(3));
  }

  // (whether gradients are recorded, graph, operands...): no record reaches back through operands
  // that are detached, and a run without gradients has no mode to set and restore.
  Values with_grad_mode() {
    expect_at_least(2);
    const bool records = node_.inputs[0].value.integer != 0;
    return inlined(1, [&](ir::Value* operand) {
      const bool is_tensor = operand->type()->is(TypeKind::kTensor);
      return records || !is_tensor ? operand : op("aten::detach", {operand});
    });
  }

  // A graph among the arguments at `position`, its operands after it, inline.
  Values inlined(size_t position) {
    return inlined(position, [](ir::Value* operand) { return operand; });
  }

  template <typename Change>
  Values inlined(size_t position, Change&& change) {
    require(node_.inputs.size() > position, ErrorCode::kCorruptArchive,
            "a wrapper without its graph");
    Values operands;
    for (size_t i = position + 1; i < node_.inputs.size(); ++i) {
      const Argument& argument = node_.inputs[i].value;
      if (argument.kind == Kind::kList) {
        const Values items = list(i);
        operands.insert(operands.end(), items.begin(), items.end());
      } else if (operands.size() < graph(position).inputs.size() &&
                 argument.kind != Kind::kString && argument.kind != Kind::kDict) {
        operands.push_back(value(i));
      }
    }
    operands.resize(std::min(operands.size(), graph(position).inputs.size()));
    std::ranges::transform(operands, operands.begin(), change);
    return builder_.inline_graph(graph(position), operands);
  }

  // (operator; its arguments by name; `_NAME_base_index` for those it writes; `_all_bases`), or in
  // the older form the written ones by name: the operator on copies. Results: the operator's, then
  // the copies. Nothing if the operator is unknown, or writes to views of bases.
  std::optional<Values> auto_functionalized() {
    const ops::Op* target = operator_at(0);
    if (target == nullptr) return std::nullopt;
    size_t used = 1;
    Values written;
    if (const auto bases = find("_all_bases")) {
      ++used;
      for (ir::Value* base : list(*bases)) written.push_back(copy_of(base));
    }
    Values inputs;
    for (const ir::Argument& formal : target->schema().arguments) {
      if (const auto given = find(formal.name)) {
        inputs.push_back(builder_.convert(node_.inputs[*given].value, formal.type, environment_));
        if (formal.alias.is_write) written.push_back(inputs.back() = copy_of(inputs.back()));
      } else if (const auto index = find("_" + formal.name + "_base_index")) {
        const Argument& base = node_.inputs[*index].value;
        const bool is_base = base.kind == Kind::kInt;
        require(!is_base || static_cast<uint64_t>(base.integer) < written.size(),
                ErrorCode::kCorruptArchive, "argument '{}' is base {} of {}", formal.name,
                base.integer, written.size());
        inputs.push_back(is_base ? written[static_cast<size_t>(base.integer)]
                                 : editor_.constant(IValue(), Type::none()));
      } else if (formal.default_value) {
        inputs.push_back(editor_.constant(*formal.default_value, formal.type));
        continue;
      } else {
        return std::nullopt;
      }
      ++used;
    }
    if (used != node_.inputs.size()) return std::nullopt;
    const ir::Node* call = editor_.create_op(*target, inputs);
    Values results(call->outputs().begin(), call->outputs().end());
    if (results.empty()) results.push_back(editor_.constant(IValue(), Type::none()));
    results.insert(results.end(), written.begin(), written.end());
    return results;
  }

  // (token, operator, its arguments): an operator with a side effect, which a decomposed program
  // orders by tokens. Nodes with effects keep their order here, so that a token says nothing
  // more. Nothing if the operator is unknown.
  std::optional<Values> with_effects() {
    const ops::Op* target = operator_at(1);
    if (target == nullptr) return std::nullopt;
    Values inputs;
    size_t next = 2;
    size_t named = 0;
    for (const ir::Argument& formal : target->schema().arguments) {
      const bool is_positional = next < node_.inputs.size() && node_.inputs[next].name.empty();
      if (const auto given = is_positional ? std::optional<size_t>(next++) : find(formal.name)) {
        named += is_positional ? 0 : 1;
        inputs.push_back(builder_.convert(node_.inputs[*given].value, formal.type, environment_));
      } else if (formal.default_value) {
        inputs.push_back(editor_.constant(*formal.default_value, formal.type));
      } else {
        return std::nullopt;
      }
    }
    if (next + named != node_.inputs.size()) return std::nullopt;
    const ir::Node* call = editor_.create_op(*target, inputs);
    Values results = {editor_.constant(IValue(), Type::none())};
    results.insert(results.end(), call->outputs().begin(), call->outputs().end());
    if (results.size() == 1) results.push_back(editor_.constant(IValue(), Type::none()));
    return results;
  }

  // (device, dtype, enabled, cache, graph, operands...): the graph's operators get their arguments
  // cast. Nothing for other devices than the CPU, whose lists of operators are others.
  std::optional<Values> autocast() {
    expect_at_least(5);
    if (argument_is_false(2)) return with_autocast(std::nullopt);
    const Argument& device = node_.inputs[0].value;
    const bool is_cpu = device.kind == Kind::kString && device.text == "cpu";
    const Argument& dtype = node_.inputs[1].value;
    if (!is_cpu || (dtype.kind != Kind::kScalarType && dtype.kind != Kind::kNone))
      return std::nullopt;
    const ScalarType reduced =
        dtype.kind == Kind::kNone ? ScalarType::kBFloat16 : static_cast<ScalarType>(dtype.integer);
    if (reduced != ScalarType::kBFloat16 && reduced != ScalarType::kHalf) return std::nullopt;
    return with_autocast(reduced);
  }

  bool argument_is_false(size_t i) const {
    return i < node_.inputs.size() && node_.inputs[i].value.kind == Kind::kBool &&
           node_.inputs[i].value.integer == 0;
  }

 private:
  Values with_autocast(std::optional<ScalarType> dtype) {
    const std::optional<ScalarType> outer = builder_.set_autocast(dtype);
    Values results = inlined(4);
    builder_.set_autocast(outer);
    return results;
  }

  void expect_at_least(size_t count) const {
    require(node_.inputs.size() >= count, ErrorCode::kCorruptArchive,
            "{} has {} arguments instead of {} or more", node_.target, node_.inputs.size(), count);
  }

  // The operator that an argument names; null if it names none, or an unknown one.
  const ops::Op* operator_at(size_t index) const {
    if (index >= node_.inputs.size() || node_.inputs[index].value.kind != Kind::kOperator)
      return nullptr;
    return builder_.find_operator(node_.inputs[index].value.text);
  }

  std::optional<size_t> find(std::string_view name) const {
    for (size_t i = 1; i < node_.inputs.size(); ++i) {
      if (node_.inputs[i].name == name) return i;
    }
    return std::nullopt;
  }

  ir::Value* copy_of(ir::Value* tensor) {
    return op("aten::clone", {tensor, editor_.constant(IValue(), Type::none())});
  }

  void expect_arguments(size_t count) const {
    require(node_.inputs.size() >= count, ErrorCode::kCorruptArchive,
            "{} arguments where {} are needed", node_.inputs.size(), count);
  }

  ir::Value* value(size_t i) {
    return builder_.convert(node_.inputs[i].value, nullptr, environment_);
  }

  const GraphData& graph(size_t i) const {
    const Argument& argument = node_.inputs[i].value;
    require(argument.kind == Kind::kGraph, ErrorCode::kCorruptArchive, "argument {} is no graph",
            i);
    return *argument.graph;
  }

  // Names in a list may stand for numbers as well as tensors.
  Values list(size_t i) {
    Values values;
    for (const Argument& item : node_.inputs[i].value.items) {
      values.push_back(builder_.convert(item, nullptr, environment_));
    }
    return values;
  }

  ir::Value* op(std::string_view name, std::initializer_list<ir::Value*> inputs) {
    return builder_.call(name, inputs);
  }

  ir::Value* as_bool(ir::Value* condition) {
    return condition->type()->is(TypeKind::kBool) ? condition
                                                  : op("aten::Bool.Tensor", {condition});
  }

  static TypePtr loose(const TypePtr& type) {
    return type->is(TypeKind::kTensor) ? Type::tensor() : type;
  }

  Values outputs_like(ir::Node* node, const Values& values) {
    Values outputs;
    for (const ir::Value* v : values) outputs.push_back(editor_.add_output(node, loose(v->type())));
    return outputs;
  }

  // body(trip, state) gives the next condition (null: always on) and the next state.
  template <typename Body>
  Values loop(ir::Value* trips, ir::Value* enter, const Values& state, Body&& body) {
    Values inputs{trips, enter};
    inputs.insert(inputs.end(), state.begin(), state.end());
    ir::Node* node = editor_.create(ir::NodeKind::kLoop, inputs);
    ir::Block* home = editor_.insert_block();
    ir::Block* block = editor_.add_block(node);
    editor_.set_insert_end(block);
    ir::Value* trip = editor_.add_param(block, Type::integer());
    Values carried;
    for (const ir::Value* v : state) carried.push_back(editor_.add_param(block, loose(v->type())));
    auto [condition, next] = body(trip, carried);
    require(next.size() == state.size(), ErrorCode::kCorruptArchive,
            "a loop body gives {} values for {} carried ones", next.size(), state.size());
    editor_.add_return(block, condition != nullptr ? condition : editor_.constant(IValue(true)));
    for (ir::Value* v : next) editor_.add_return(block, v);
    editor_.set_insert_end(home);
    return outputs_like(node, state);
  }

  Values over_rows(const GraphData& body, const Values& init, const Values& mapped,
                   const Values& others) {
    require(!mapped.empty(), ErrorCode::kUnsupported, "a loop over no tensors");
    ir::Value* zero = editor_.constant(IValue(0));
    ir::Value* trips = op("aten::size.int", {mapped[0], zero});
    const size_t stacked = body.outputs.size() - std::min(body.outputs.size(), init.size());
    Values lists;
    for (size_t i = 0; i < stacked; ++i) {
      ir::Node* list = editor_.create(ir::NodeKind::kListConstruct);
      lists.push_back(editor_.add_output(list, Type::list(Type::tensor())));
    }
    Values results =
        loop(trips, editor_.constant(IValue(true)), init,
             [&](ir::Value* trip, const Values& state) -> std::pair<ir::Value*, Values> {
               Values operands = state;
               ir::Value* dim = editor_.constant(IValue(0));
               for (ir::Value* m : mapped)
                 operands.push_back(op("aten::select.int", {m, dim, trip}));
               operands.insert(operands.end(), others.begin(), others.end());
               Values next = builder_.inline_graph(body, operands);
               for (size_t i = 0; i < stacked; ++i) {
                 op("aten::append.t", {lists[i], next[init.size() + i]});
               }
               next.resize(init.size());
               return {nullptr, std::move(next)};
             });
    for (ir::Value* list : lists) results.push_back(op("aten::stack", {list, zero}));
    return results;
  }

  GraphBuilder& builder_;
  ir::GraphEditor& editor_;
  const NodeData& node_;
  const Environment& environment_;
};

bool build_higher_order(GraphBuilder& builder, std::string_view name, const NodeData& node,
                        const Environment& environment, Values& results) {
  HigherOrderBuilder higher(builder, node, environment);
  if (name == "cond") {
    results = higher.cond();
  } else if (name == "while_loop") {
    results = higher.while_loop();
  } else if (name == "map_impl" || name == "map") {
    results = higher.map();
  } else if (name == "scan") {
    results = higher.scan();
  } else if (name == "wrap_with_set_grad_enabled") {
    results = higher.with_grad_mode();
  } else if (name == "wrap_with_autocast") {
    std::optional<Values> made = higher.autocast();
    if (!made) return false;
    results = std::move(*made);
  } else if (name == "auto_functionalized" || name == "auto_functionalized_v2") {
    std::optional<Values> made = higher.auto_functionalized();
    if (!made) return false;
    results = std::move(*made);
  } else if (name == "with_effects") {
    std::optional<Values> made = higher.with_effects();
    if (!made) return false;
    results = std::move(*made);
  } else if (name == "strict_mode" || name == "hints_wrapper" || name == "wrap" ||
             name == "run_const_graph" || name == "tag_activation_checkpoint" ||
             name == "wrap_activation_checkpoint") {
    results = higher.inlined(0);
  } else if (name == "invoke_subgraph") {
    // (graph, identifier, operands...): the identifier is a string and is skipped.
    results = higher.inlined(0);
  } else {
    return false;
  }
  return true;
}

}  // namespace tierup::frontend::exported
