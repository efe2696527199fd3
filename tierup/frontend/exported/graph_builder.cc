#include "tierup/frontend/exported/graph_builder.h"

#include <algorithm>
#include <array>

#include "tierup/base/error.h"
#include "tierup/frontend/exported/batch_regions.h"
#include "tierup/ops/table/autocast.h"
#include "tierup/ops/table/op_table.h"

namespace tierup::frontend::exported {
namespace {

using Kind = Argument::Kind;

const TypePtr& without_optional(const TypePtr& type) {
  return type->is(TypeKind::kOptional) ? type->element() : type;
}

// A Python number in the place of a tensor: 0-dim, and weak in type promotion.
IValue wrapped_number(const Scalar& number) {
  const Tensor tensor = Tensor::scalar(number);
  tensor.impl()->wrapped_number = true;
  return tensor;
}

Scalar number_of(const Argument& argument) {
  switch (argument.kind) {
    case Kind::kFloat: return {argument.floating};
    case Kind::kBool: return {argument.integer != 0};
    case Kind::kComplex: return {complex128(argument.floating, argument.imaginary)};
    default: return {argument.integer};
  }
}

bool is_number(Kind kind) {
  return kind == Kind::kInt || kind == Kind::kFloat || kind == Kind::kBool ||
         kind == Kind::kComplex;
}

TypePtr type_of_reference(Kind kind) {
  switch (kind) {
    case Kind::kSymInt: return Type::integer();
    case Kind::kSymFloat: return Type::floating();
    case Kind::kSymBool: return Type::boolean();
    default: return Type::tensor();
  }
}

// "torch.ops.aten.add.Tensor" less the prefix to "aten::add.Tensor".
std::string operator_name(std::string_view target) {
  const size_t first = target.find('.');
  const size_t last = target.rfind('.');
  if (first == std::string_view::npos || first == last) return std::string(target);
  std::string name(target.substr(0, first));
  name += "::";
  name += target.substr(first + 1, last - first - 1);
  const std::string_view overload = target.substr(last + 1);
  if (overload != "default") name += "." + std::string(overload);
  return name;
}

// Python's operators on numbers, by the operator of the table that means the same.
struct ScalarRow {
  std::string_view target;
  std::string_view op;
};
constexpr auto kScalarOperators = std::to_array<ScalarRow>({
    {"_operator.add", "aten::add"},
    {"_operator.sub", "aten::sub"},
    {"_operator.mul", "aten::mul"},
    {"_operator.neg", "aten::neg"},
    {"_operator.floordiv", "aten::floordiv"},
    {"_operator.mod", "aten::remainder"},
    {"_operator.pow", "aten::pow"},
    {"_operator.truediv", "aten::div"},
    {"_operator.eq", "aten::eq"},
    {"_operator.ne", "aten::ne"},
    {"_operator.lt", "aten::lt"},
    {"_operator.le", "aten::le"},
    {"_operator.gt", "aten::gt"},
    {"_operator.ge", "aten::ge"},
    {"_operator.and_", "aten::__and__"},
    {"_operator.or_", "aten::__or__"},
    {"_operator.lshift", "aten::__lshift__"},
    {"_operator.rshift", "aten::__rshift__"},
    {"torch.sym_not", "aten::__not__"},
    {"torch.sym_int", "aten::Int"},
    {"torch.sym_float", "aten::Float"},
    {"torch.sym_max", "prim::max"},
    {"torch.sym_min", "prim::min"},
    {"torch._sym_sqrt", "aten::sqrt"},
    {"math.trunc", "aten::Int"},
});

bool accepts(const ops::Op& op, std::span<ir::Value* const> inputs, bool exact) {
  const auto& arguments = op.schema().arguments;
  if (arguments.size() != inputs.size()) return false;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const TypeKind want = arguments[i].type->kind();
    const TypeKind have = inputs[i]->type()->kind();
    const bool number_for = want == TypeKind::kNumber && have != TypeKind::kTensor;
    if (want != have && (exact || !number_for)) return false;
  }
  return true;
}

const ops::Op* find_scalar_operator(std::string_view name, std::span<ir::Value* const> inputs) {
  const auto& table = ops::OpTable::instance();
  const bool all_ints = std::all_of(inputs.begin(), inputs.end(), [](const ir::Value* v) {
    return v->type()->is(TypeKind::kInt);
  });
  // Python's int ** int is exact; TorchScript's pow of two ints is a float.
  if (name == "aten::pow" && all_ints) return table.find("aten::pow.int_to_int");
  for (const bool exact : {true, false}) {
    for (const ops::Op* op : table.overloads(name)) {
      if (accepts(*op, inputs, exact)) return op;
    }
  }
  return nullptr;
}

}  // namespace

ir::SourceRange range_of_trace(const std::string& stack_trace) {
  const size_t file = stack_trace.rfind("File \"");
  if (file == std::string::npos) return {};
  const size_t name_begin = file + 6;
  const size_t name_end = stack_trace.find('"', name_begin);
  const size_t line = stack_trace.find("line ", name_end);
  const size_t code = stack_trace.find('\n', name_end);
  if (name_end == std::string::npos || line == std::string::npos) return {};
  std::string text;
  if (code != std::string::npos) {
    const size_t begin = stack_trace.find_first_not_of(" \n", code);
    if (begin != std::string::npos)
      text = stack_trace.substr(begin, stack_trace.find('\n', begin) - begin);
  }
  const int number = std::atoi(stack_trace.c_str() + line + 5);
  const size_t length = text.size();
  auto source = std::make_shared<ir::Source>(stack_trace.substr(name_begin, name_end - name_begin),
                                             std::move(text), number);
  return {std::move(source), 0, length, nullptr};
}

TypePtr GraphBuilder::tensor_type(const TensorMeta& meta) {
  TensorFacts facts;
  facts.dtype = meta.dtype;
  facts.device = meta.device;
  std::vector<Dim> dims;
  for (const SymInt& size : meta.sizes) {
    if (size.is_static()) {
      dims.push_back({Dim::Kind::kStatic, size.value});
      continue;
    }
    const Expression expression = parse_srepr(size.expression, symbols_);
    dims.push_back(expression.is_symbol()
                       ? Dim{Dim::Kind::kSymbol, static_cast<int64_t>(expression.symbol)}
                       : Dim{});
  }
  facts.sizes = std::move(dims);
  return Type::tensor_with(std::move(facts));
}

void GraphBuilder::add_nodes(std::span<const NodeData> nodes, const GraphData& graph,
                             Environment& environment) {
  while (!nodes.empty()) {
    const NodeData& node = nodes.front();
    editor_.set_range(range_of_trace(node.stack_trace));
    try {
      const size_t length = batch_region_length(nodes);
      if (length > 1) {
        BatchRegion(*this, graph, environment).add(nodes.first(length));
      } else {
        add_node(node, graph, environment);
      }
      nodes = nodes.subspan(length);
    } catch (Error& error) {
      error.add_context(fmt::format("at node '{}' ({})", node.name, node.target));
      throw;
    }
  }
}

void GraphBuilder::add_node(const NodeData& node, const GraphData& graph,
                            Environment& environment) {
  constexpr std::string_view kOps = "torch.ops.";
  constexpr std::string_view kHigherOrder = "torch.ops.higher_order.";
  // What PyTorch loads of itself before a vmap.
  constexpr std::string_view kPreparation = "torch._functorch.predispatch.lazy_load_decompositions";
  const std::string_view target = node.target;
  if (target == kPreparation) return;
  if (target.starts_with(kHigherOrder)) {
    const std::string_view name = target.substr(kHigherOrder.size());
    std::vector<ir::Value*> results;
    if (build_higher_order(*this, name, node, environment, results)) {
      bind_outputs(node, results, graph, environment);
    } else {
      add_trap(node, "higher_order::" + std::string(name),
               "this higher-order operator is not supported", graph, environment);
    }
    return;
  }
  if (target.starts_with(kOps)) {
    add_operator(node, target.substr(kOps.size()), graph, environment);
  } else if (target.starts_with("_operator.") || target.starts_with("torch.") ||
             target.starts_with("math.")) {
    add_scalar_operator(node, graph, environment);
  } else if (std::count(target.begin(), target.end(), '.') >= 2) {
    add_operator(node, target, graph, environment);
  } else {
    add_trap(node, node.target, "this call target is not supported", graph, environment);
  }
}

const ops::Op* GraphBuilder::find_operator(std::string_view target) const {
  constexpr std::string_view kOps = "torch.ops.";
  const std::string name =
      operator_name(target.starts_with(kOps) ? target.substr(kOps.size()) : target);
  const ops::Op* op = ops::OpTable::instance().find(name);
  return op == nullptr && operators_ != nullptr ? operators_->find(name) : op;
}

namespace {

// The node's value for an argument: the one of its name, or, where PyTorch has renamed it since,
// the one in its place under a name that the schema does not have.
std::vector<NamedArgument>::const_iterator argument_for(const NodeData& node,
                                                        const ir::Schema& schema, size_t index) {
  const auto is_named = [&](const std::string& name) {
    return [&](const auto& a) { return a.name == name; };
  };
  const auto named =
      std::find_if(node.inputs.begin(), node.inputs.end(), is_named(schema.arguments[index].name));
  if (named != node.inputs.end() || index >= node.inputs.size()) return named;
  const auto in_place = node.inputs.begin() + static_cast<ptrdiff_t>(index);
  const bool is_known =
      std::any_of(schema.arguments.begin(), schema.arguments.end(), is_named(in_place->name));
  return is_known ? named : in_place;
}

}  // namespace

void GraphBuilder::add_operator(const NodeData& node, std::string_view target,
                                const GraphData& graph, Environment& environment) {
  const std::string name = operator_name(target);
  const ops::Op* op = find_operator(target);
  if (op == nullptr) {
    add_trap(node, name, "the operator is not in this build's table", graph, environment);
    return;
  }
  if (autocast_ && ops::autocast_policy(name) == ops::CastPolicy::kUnsupported) {
    add_trap(node, name, "autocasting is not supported for it", graph, environment);
    return;
  }
  std::vector<ir::Value*> inputs;
  size_t used = 0;
  for (size_t i = 0; i < op->schema().arguments.size(); ++i) {
    const ir::Argument& formal = op->schema().arguments[i];
    const auto given = argument_for(node, op->schema(), i);
    if (given != node.inputs.end()) {
      ++used;
      inputs.push_back(convert(given->value, formal.type, environment));
    } else {
      require(formal.default_value.has_value(), ErrorCode::kCorruptArchive,
              "argument '{}' of {} is missing", formal.name, op->schema().to_string());
      inputs.push_back(editor_.constant(*formal.default_value, formal.type));
    }
  }
  require(used == node.inputs.size(), ErrorCode::kCorruptArchive,
          "{} of the node's arguments are unknown to {}", node.inputs.size() - used,
          op->schema().to_string());
  if (autocast_) cast_inputs(*op, inputs);
  const ir::Node* created = editor_.create_op(for_any_layout(*op, inputs), inputs);
  note_layouts(node, *created, graph);
  bind_outputs(node, created->outputs(), graph, environment);
}

// What a tensor's item() gives is a number, though it may have been a bool.
ir::Value* GraphBuilder::truth_of(ir::Value* condition) {
  if (condition->type()->is(TypeKind::kBool)) return condition;
  const std::array operands{condition, editor_.constant(int64_t{0}, Type::simple(TypeKind::kInt))};
  const ops::Op* op = find_scalar_operator("aten::ne", operands);
  require(op != nullptr, ErrorCode::kCorruptArchive, "the condition of sym_ite is {}",
          condition->type()->to_string());
  return editor_.create_op(*op, operands)->output();
}

void GraphBuilder::add_scalar_operator(const NodeData& node, const GraphData& graph,
                                       Environment& environment) {
  std::vector<ir::Value*> inputs;
  for (const NamedArgument& input : node.inputs) {
    inputs.push_back(convert(input.value, nullptr, environment));
  }
  if (node.target == "_operator.pos" && inputs.size() == 1) {
    bind_outputs(node, inputs, graph, environment);
    return;
  }
  if (node.target == "torch.sym_ite" && inputs.size() == 3) {
    ir::Node* choice = editor_.create(ir::NodeKind::kIf, {truth_of(inputs[0])});
    for (size_t branch = 1; branch <= 2; ++branch) {
      editor_.add_return(editor_.add_block(choice), inputs[branch]);
    }
    ir::Value* result = editor_.add_output(choice, inputs[1]->type());
    bind_outputs(node, std::array{result}, graph, environment);
    return;
  }
  const auto row = std::find_if(kScalarOperators.begin(), kScalarOperators.end(),
                                [&](const ScalarRow& r) { return r.target == node.target; });
  const ops::Op* op =
      row == kScalarOperators.end() ? nullptr : find_scalar_operator(row->op, inputs);
  if (op == nullptr) {
    add_trap(node, node.target, "no operator on numbers matches", graph, environment);
    return;
  }
  bind_outputs(node, editor_.create_op(*op, inputs)->outputs(), graph, environment);
}

void GraphBuilder::add_trap(const NodeData& node, std::string name, std::string reason,
                            const GraphData& graph, Environment& environment) {
  ir::Node* trap = editor_.create(ir::NodeKind::kTrap);
  editor_.set_attr(trap, ir::AttrName::kMessage, fmt::format("{}: {}", name, reason));
  const bool known = std::any_of(missing_.begin(), missing_.end(),
                                 [&](const MissingOperator& m) { return m.name == name; });
  if (!known) missing_.push_back({std::move(name), std::move(reason), trap->range(), false});
  const auto stand_in = [&](const TypePtr& type) {
    ir::Node* empty = editor_.create(ir::NodeKind::kUninitialized);
    return editor_.add_output(empty, type);
  };
  for (const Argument& output : node.outputs) {
    if (output.kind == Kind::kList) {
      for (const Argument& item : output.items)
        bind(item, stand_in(Type::tensor()), graph, environment);
    } else if (output.is_reference()) {
      bind(output, stand_in(type_of_reference(output.kind)), graph, environment);
    }
  }
}

ir::Value* GraphBuilder::call(std::string_view name, std::initializer_list<ir::Value*> inputs) {
  const ops::Op* found = ops::OpTable::instance().find(name);
  require(found != nullptr, ErrorCode::kUnsupported, "{} is not in this build's table", name);
  const ir::Node* node = editor_.create_op(*found, std::span(inputs.begin(), inputs.size()));
  return node->outputs().empty() ? nullptr : node->output();
}

void GraphBuilder::bind(const Argument& output, ir::Value* value, const GraphData& graph,
                        Environment& environment) {
  if (!output.is_reference()) return;
  if (value->type()->is(TypeKind::kTensor)) {
    const auto meta = graph.tensor_values.find(output.text);
    if (meta != graph.tensor_values.end()) editor_.set_type(value, tensor_type(meta->second));
  } else if (value->type()->is(TypeKind::kNumber)) {
    // An element of a tensor, whose dtype the file knows.
    if (output.kind == Kind::kSymInt) value = call("aten::Int.Scalar", {value});
    if (output.kind == Kind::kSymFloat) value = call("aten::Float.Scalar", {value});
  }
  if (value->name().empty()) editor_.set_name(value, output.text);
  const bool fresh = environment.emplace(output.text, value).second;
  require(fresh, ErrorCode::kCorruptArchive, "the value '{}' is defined twice", output.text);
}

void GraphBuilder::bind_list(const Argument& output, ir::Value* list, const GraphData& graph,
                             Environment& environment) {
  ir::Node* unpack = editor_.create(ir::NodeKind::kListUnpack, {list});
  const TypePtr element =
      list->type()->is(TypeKind::kList) ? list->type()->element() : Type::tensor();
  for (const Argument& item : output.items) {
    bind(item, editor_.add_output(unpack, element), graph, environment);
  }
}

void GraphBuilder::bind_outputs(const NodeData& node, std::span<ir::Value* const> results,
                                const GraphData& graph, Environment& environment) {
  // One list output stands for several results where an operator returns a tuple of tensors.
  if (node.outputs.size() == 1 && node.outputs[0].kind == Kind::kList && results.size() > 1) {
    const auto& items = node.outputs[0].items;
    require(items.size() == results.size(), ErrorCode::kCorruptArchive,
            "{} results where the operator has {}", items.size(), results.size());
    for (size_t i = 0; i < items.size(); ++i) bind(items[i], results[i], graph, environment);
    return;
  }
  const bool nothing = node.outputs.size() == 1 && node.outputs[0].kind == Kind::kNone;
  if (nothing && results.empty()) return;
  require(node.outputs.size() <= results.size(), ErrorCode::kCorruptArchive,
          "{} outputs where the operator has {}", node.outputs.size(), results.size());
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    const Argument& output = node.outputs[i];
    const bool is_list = results[i]->type()->is(TypeKind::kList);
    if (output.kind == Kind::kList && is_list) {
      bind_list(output, results[i], graph, environment);
    } else if (output.kind == Kind::kList && output.items.size() == 1) {
      bind(output.items[0], results[i], graph, environment);
    } else {
      bind(output, results[i], graph, environment);
    }
  }
}

ir::Value* GraphBuilder::convert(const Argument& argument, const TypePtr& formal,
                                 const Environment& environment) {
  if (argument.is_reference()) {
    const auto found = environment.find(argument.text);
    require(found != environment.end(), ErrorCode::kCorruptArchive,
            "the value '{}' is used before it is defined", argument.text);
    // A number in the place of a list: "int[2]" given one symbol.
    if (formal != nullptr && without_optional(formal)->is(TypeKind::kList) &&
        found->second->type()->is(TypeKind::kInt)) {
      ir::Node* list = editor_.create(ir::NodeKind::kListConstruct, {found->second});
      return editor_.add_output(list, Type::list(Type::integer()));
    }
    return found->second;
  }
  switch (argument.kind) {
    case Kind::kInt:
    case Kind::kFloat:
    case Kind::kBool:
    case Kind::kComplex: return convert_number(argument, formal);
    case Kind::kString: return editor_.constant(IValue(argument.text));
    case Kind::kDevice: return editor_.constant(IValue(argument.device));
    case Kind::kScalarType:
    case Kind::kMemoryFormat:
    case Kind::kLayout: return editor_.constant(IValue(argument.integer));
    case Kind::kList: return convert_list(argument, formal, environment);
    case Kind::kNone:
      return editor_.constant(
          IValue(), formal != nullptr && formal->is(TypeKind::kOptional) ? formal : Type::none());
    default:
      fail(ErrorCode::kUnsupported, "an argument of kind '{}' is not supported here",
           argument.variant);
  }
}

ir::Value* GraphBuilder::convert_number(const Argument& argument, const TypePtr& formal) {
  const Scalar number = number_of(argument);
  if (formal == nullptr) return editor_.constant(IValue(number));
  const TypePtr& want = without_optional(formal);
  switch (want->kind()) {
    case TypeKind::kTensor: return editor_.constant(wrapped_number(number));
    case TypeKind::kFloat: return editor_.constant(IValue(number.to_double()));
    case TypeKind::kList: {
      auto list = make_ref<ListValue>(want->element());
      list->items.push_back(want->element()->is(TypeKind::kFloat) ? IValue(number.to_double())
                                                                  : IValue(number));
      return editor_.constant(std::move(list));
    }
    default: return editor_.constant(IValue(number));
  }
}

ir::Value* GraphBuilder::convert_list(const Argument& argument, const TypePtr& formal,
                                      const Environment& environment) {
  TypePtr element;
  if (formal != nullptr && without_optional(formal)->is(TypeKind::kList)) {
    element = without_optional(formal)->element();
  }
  const bool constant =
      std::all_of(argument.items.begin(), argument.items.end(), [&](const Argument& item) {
        return is_number(item.kind) && (element == nullptr || !element->is(TypeKind::kTensor));
      });
  if (constant && !(argument.items.empty() && element == nullptr)) {
    // No operator of the table writes to a list of numbers, so one list serves all runs.
    std::vector<IValue> items;
    for (const Argument& item : argument.items) {
      const Scalar number = number_of(item);
      const bool as_float = element != nullptr && element->is(TypeKind::kFloat);
      items.push_back(as_float ? IValue(number.to_double()) : IValue(number));
    }
    if (element == nullptr || element->is(TypeKind::kNumber)) element = items[0].type();
    return editor_.constant(make_ref<ListValue>(element, std::move(items)));
  }
  std::vector<ir::Value*> values;
  for (const Argument& item : argument.items) values.push_back(convert(item, element, environment));
  if (element == nullptr) element = values.empty() ? Type::tensor() : values[0]->type();
  if (element->is(TypeKind::kTensor)) element = Type::tensor();
  ir::Node* list = editor_.create(ir::NodeKind::kListConstruct, values);
  return editor_.add_output(list, Type::list(element));
}

std::vector<ir::Value*> GraphBuilder::inline_graph(const GraphData& graph,
                                                   std::span<ir::Value* const> operands) {
  require(graph.inputs.size() == operands.size(), ErrorCode::kCorruptArchive,
          "a subgraph with {} inputs is given {} operands", graph.inputs.size(), operands.size());
  Environment environment;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (graph.inputs[i].is_reference()) environment.emplace(graph.inputs[i].text, operands[i]);
  }
  const ir::SourceRange range = editor_.range();
  add_nodes(graph, environment);
  editor_.set_range(range);
  std::vector<ir::Value*> results;
  for (const Argument& output : graph.outputs)
    results.push_back(convert(output, nullptr, environment));
  return results;
}

}  // namespace tierup::frontend::exported
