#include "tierup/autodiff/traced_graph.h"

#include <algorithm>

#include "tierup/base/error.h"
#include "tierup/ir/graph_editor.h"

namespace tierup::autodiff {
namespace {

using ir::NodeKind;
using ir::Value;

TypePtr type_of(const Tensor& tensor) {
  TensorFacts facts;
  facts.dtype = tensor.dtype();
  facts.device = tensor.device();
  facts.sizes.emplace();
  for (const int64_t size : tensor.sizes()) facts.sizes->push_back({Dim::Kind::kStatic, size});
  return Type::tensor_with(std::move(facts));
}

class GraphMaker {
 public:
  GraphMaker(const CallTrace& trace, ir::Graph& graph) : trace_(trace), editor_(graph) {}

  void add_constant(TraceId id) {
    const Tensor& tensor = trace_.tensors()[id];
    values_[id] = editor_.constant(IValue(tensor.detach()), type_of(tensor));
  }

  void add_input(TraceId id) {
    values_[id] = editor_.add_param(&editor_.graph().block(), type_of(trace_.tensors()[id]));
  }

  void add_call(const TracedCall& call) {
    const ir::Schema& schema = call.op->schema();
    require(call.args.size() == schema.arguments.size() && !schema.is_varret,
            ErrorCode::kUnsupported, "{} takes any number of arguments", schema.qualified_name());
    if (call.origin != nullptr) {
      editor_.set_range(call.origin->range());
      editor_.set_call_chain(call.origin->call_chain());
    } else {
      editor_.set_range({});
      editor_.set_call_chain(nullptr);
    }
    std::vector<Value*> inputs;
    for (size_t i = 0; i < call.args.size(); ++i)
      inputs.push_back(operand(call.args[i], schema.arguments[i].type));
    const ir::Node* node = editor_.create_op(*call.op, inputs);
    for (size_t k = 0; k < call.results.size(); ++k) take(node->output(k), call.results[k]);
  }

  void add_output(TraceId id) { editor_.add_return(&editor_.graph().block(), value(id)); }

 private:
  Value* value(TraceId id) const {
    const auto found = values_.find(id);
    require(found != values_.end(), ErrorCode::kUnsupported,
            "a value of the trace is read before it is there");
    return found->second;
  }

  Value* operand(const TracedArg& arg, const TypePtr& formal) {
    switch (arg.kind) {
      case TracedArg::Kind::kTensor: return value(arg.tensor);
      case TracedArg::Kind::kConstant:
        return editor_.constant(arg.constant,
                                arg.constant.is_none() ? Type::none() : arg.constant.type());
      case TracedArg::Kind::kList: break;
    }
    const TypePtr& wanted = formal->is(TypeKind::kOptional) ? formal->element() : formal;
    const bool is_list = wanted->is(TypeKind::kList) && !wanted->element()->is(TypeKind::kVar);
    const TypePtr element = is_list ? wanted->element() : arg.constant.to_list().element;
    std::vector<Value*> items;
    for (const TracedArg& item : arg.list) items.push_back(operand(item, element));
    ir::Node* list = editor_.create(NodeKind::kListConstruct, items);
    return editor_.add_output(list, Type::list(element));
  }

  void take(Value* output, const TracedResult& result) {
    if (result.kind == TracedResult::Kind::kTensor) {
      editor_.set_type(output, type_of(trace_.tensors()[result.tensors[0]]));
      values_[result.tensors[0]] = output;
    } else if (result.kind == TracedResult::Kind::kList) {
      ir::Node* unpack = editor_.create(NodeKind::kListUnpack, {output});
      for (const TraceId id : result.tensors)
        values_[id] = editor_.add_output(unpack, type_of(trace_.tensors()[id]));
    }
  }

  const CallTrace& trace_;
  ir::GraphEditor editor_;
  std::unordered_map<TraceId, Value*> values_;
};

}  // namespace

std::shared_ptr<ir::Graph> make_graph(std::string name, const CallTrace& trace,
                                      std::span<const TracedCall> calls,
                                      std::span<const TraceId> constants,
                                      std::span<const TraceId> inputs,
                                      std::span<const TraceId> outputs) {
  auto graph = std::make_shared<ir::Graph>(std::move(name));
  GraphMaker maker(trace, *graph);
  for (const TraceId id : inputs) maker.add_input(id);
  for (const TraceId id : constants) maker.add_constant(id);
  for (const TracedCall& call : calls) maker.add_call(call);
  for (const TraceId id : outputs) maker.add_output(id);
  return graph;
}

}  // namespace tierup::autodiff
