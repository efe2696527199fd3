#include "tierup/frontend/exported/flat_signature.h"

namespace tierup::frontend::exported {

ir::Argument argument(std::string name, TypePtr type) {
  ir::Argument result;
  result.name = std::move(name);
  result.type = std::move(type);
  return result;
}

void add_flat_outputs(ir::GraphEditor& editor, const std::vector<ir::Value*>& results,
                      ir::Schema& schema) {
  ir::Value* returned = results.size() == 1 ? results[0] : nullptr;
  if (returned == nullptr) {
    std::vector<TypePtr> types;
    for (const ir::Value* result : results) types.push_back(result->type());
    ir::Node* packed = editor.create(ir::NodeKind::kTupleConstruct, results);
    returned = editor.add_output(packed, Type::tuple(std::move(types)));
  }
  editor.add_return(&editor.graph().block(), returned);
  schema.returns.push_back(argument("", returned->type()));
}

std::vector<TypePtr> flat_output_types(const ir::Schema& schema) {
  const TypePtr& type = schema.returns[0].type;
  if (!type->is(TypeKind::kTuple)) return {type};
  return {type->elements().begin(), type->elements().end()};
}

std::vector<IValue> flat_outputs(IValue result) {
  if (result.is_tuple()) return result.to_tuple().items;
  std::vector<IValue> outputs;
  outputs.push_back(std::move(result));
  return outputs;
}

}  // namespace tierup::frontend::exported
