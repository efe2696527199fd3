// Casts in front of the operators of an enabled autocast region.
//
// PyTorch casts while it runs, by the dtypes that it meets. In an exported program they are known
// from the file; where they are not, an operator casts that looks at the dtype itself.
#include <algorithm>

#include "tierup/base/error.h"
#include "tierup/frontend/exported/graph_builder.h"
#include "tierup/ops/table/autocast.h"
#include "tierup/ops/table/op_table.h"

namespace tierup::frontend::exported {
namespace {

std::optional<ScalarType> dtype_of(const ir::Value* value) { return value->type()->facts().dtype; }

const IValue* constant_of(const ir::Value* value) {
  const ir::Node* node = value->node();
  const bool is_constant = node != nullptr && node->is(ir::NodeKind::kConstant);
  return is_constant ? &node->attr<IValue>(ir::AttrName::kValue) : nullptr;
}

// (tensor, sizes, mode, value): there are casts for reflection in one and two dimensions, and for
// replication.
ops::CastPolicy padding_policy(const std::vector<ir::Value*>& inputs) {
  const IValue* mode = constant_of(inputs[2]);
  if (mode == nullptr || !mode->is_str()) return ops::CastPolicy::kNone;
  const IValue* sizes = constant_of(inputs[1]);
  if (inputs[1]->node() == nullptr) return ops::CastPolicy::kNone;
  const size_t count = sizes != nullptr && sizes->is_list() ? sizes->to_list().items.size()
                                                            : inputs[1]->node()->inputs().size();
  const bool is_cast = mode->to_str() == "replicate" || (mode->to_str() == "reflect" && count < 6);
  return is_cast ? ops::CastPolicy::kFull : ops::CastPolicy::kNone;
}

bool is_cast(ScalarType dtype) { return is_floating(dtype) && dtype != ScalarType::kDouble; }

class Caster {
 public:
  Caster(ir::GraphEditor& editor, ScalarType reduced, ops::CastPolicy policy)
      : editor_(editor), reduced_(reduced), policy_(policy) {}

  // What kWidest comes to depends on all arguments.
  void look_at(const ir::Value* value) {
    if (is_list(value)) {
      for (const ir::Value* item : value->node()->inputs()) look_at(item);
    } else if (value->type()->is(TypeKind::kTensor)) {
      const auto dtype = dtype_of(value);
      has_full_ = has_full_ || !dtype || *dtype == ScalarType::kFloat;
    }
  }

  ir::Value* cast(ir::Value* value) {
    if (is_list(value)) return cast_items(value);
    if (!value->type()->is(TypeKind::kTensor)) return value;
    const bool to_full =
        policy_ == ops::CastPolicy::kFull || (policy_ == ops::CastPolicy::kWidest && has_full_);
    const ScalarType wanted = to_full ? ScalarType::kFloat : reduced_;
    const auto dtype = dtype_of(value);
    if (!dtype) return op("tierup::autocast", {value, number(wanted)});
    if (!is_cast(*dtype) || *dtype == wanted) return value;
    return op("aten::to.dtype", {value, number(wanted), truth(false), truth(false), none()});
  }

 private:
  static bool is_list(const ir::Value* value) {
    return value->node() != nullptr && value->node()->is(ir::NodeKind::kListConstruct) &&
           value->type()->is(TypeKind::kList);
  }

  ir::Value* cast_items(ir::Value* list) {
    std::vector<ir::Value*> items;
    for (ir::Value* item : list->node()->inputs()) items.push_back(cast(item));
    ir::Node* made = editor_.create(ir::NodeKind::kListConstruct, items);
    return editor_.add_output(made, list->type());
  }

  ir::Value* op(std::string_view name, std::initializer_list<ir::Value*> inputs) {
    const ops::Op* found = ops::OpTable::instance().find(name);
    TIERUP_CHECK(found != nullptr);
    return editor_.create_op(*found, {inputs.begin(), inputs.size()})->output();
  }
  ir::Value* truth(bool value) { return editor_.constant(IValue(value)); }
  ir::Value* none() { return editor_.constant(IValue(), Type::none()); }
  ir::Value* number(ScalarType dtype) {
    return editor_.constant(IValue(static_cast<int64_t>(dtype)));
  }

  ir::GraphEditor& editor_;
  const ScalarType reduced_;
  const ops::CastPolicy policy_;
  bool has_full_ = false;
};

}  // namespace

void GraphBuilder::cast_inputs(const ops::Op& op, std::vector<ir::Value*>& inputs) {
  ops::CastPolicy policy = ops::autocast_policy(op.schema().qualified_name());
  if (policy == ops::CastPolicy::kPadding) policy = padding_policy(inputs);
  if (policy == ops::CastPolicy::kNone) return;
  Caster caster(editor_, *autocast_, policy);
  for (const ir::Value* input : inputs) caster.look_at(input);
  for (ir::Value*& input : inputs) input = caster.cast(input);
}

}  // namespace tierup::frontend::exported
