// See autocast_regions.h.
#include "tierup/passes/cleanup/autocast_regions.h"

#include "tierup/base/error.h"
#include "tierup/ops/table/autocast.h"
#include "tierup/passes/core/value_queries.h"

namespace tierup::passes {
namespace {

using ir::AttrName;
using ir::Block;
using ir::Node;
using ir::NodeKind;
using ir::Value;

bool is_region(const Value* object) {
  return object->type()->is(TypeKind::kClass) &&
         object->type()->as_class()->name().ends_with(".autocast_mode.autocast");
}

// What the region's constructor put into an attribute.
const IValue& setting(const Value* object, std::string_view name) {
  for (const ir::Use& use : object->uses()) {
    const bool sets = use.user != nullptr && use.user->is(NodeKind::kSetAttr) && use.index == 0 &&
                      use.user->attr<std::string>(AttrName::kName) == name;
    if (!sets) continue;
    if (const IValue* value = constant_of(use.user->input(1))) return *value;
  }
  fail(ErrorCode::kUnsupported, "autocast: {} must be a constant of the program", name);
}

class Caster {
 public:
  explicit Caster(PassContext& context) : context_(context), editor_(context.editor()) {}

  void visit(const Block& block) {
    for (Node* node : block.nodes()) {
      for (const Block* inner : node->blocks()) visit(*inner);
      if (node->is(NodeKind::kEnter) && is_region(node->input())) {
        enter(node->input());
      } else if (node->is(NodeKind::kExit) && is_region(node->input())) {
        if (!outer_.empty()) {
          dtype_ = outer_.back();
          outer_.pop_back();
        }
      } else if (node->is(NodeKind::kOp) && dtype_) {
        cast_inputs(node);
      }
    }
  }

 private:
  void enter(const Value* object) {
    outer_.push_back(dtype_);
    if (setting(object, "device").to_str() != "cpu") return;
    dtype_.reset();
    if (!setting(object, "_enabled").to_bool()) return;
    dtype_ = static_cast<ScalarType>(setting(object, "fast_dtype").to_int());
  }

  static bool has_dtype(const Node& node) {
    const auto& arguments = node.op()->schema().arguments;
    for (size_t i = 0; i < arguments.size() && i < node.inputs().size(); ++i) {
      if (arguments[i].name != "dtype") continue;
      const IValue* value = constant_of(node.input(i));
      return value == nullptr || !value->is_none();
    }
    return false;
  }

  void cast_inputs(Node* node) {
    const ops::CastPolicy policy = ops::scripted_autocast_policy(node->op()->schema().name);
    const bool is_full = policy == ops::CastPolicy::kFull;
    if (policy == ops::CastPolicy::kNone || (is_full && has_dtype(*node))) return;
    for (size_t i = 0; i < node->inputs().size(); ++i) {
      if (!node->input(i)->type()->is(TypeKind::kTensor)) continue;
      editor_.set_insert_before(node);
      std::vector<Value*> inputs{node->input(i), truth(false), truth(true)};
      if (!is_full) {
        inputs.push_back(number(ScalarType::kHalf));
        inputs.push_back(number(*dtype_));
      }
      const ops::Op* op = context_.table().find(ops::scripted_cast(policy));
      TIERUP_CHECK(op != nullptr);
      editor_.set_input(node, i, editor_.create_op(*op, inputs)->output());
      context_.count("casts");
    }
  }

  Value* truth(bool value) { return editor_.constant(IValue(value)); }
  Value* number(ScalarType dtype) { return editor_.constant(IValue(static_cast<int64_t>(dtype))); }

  PassContext& context_;
  ir::GraphEditor& editor_;
  std::optional<ScalarType> dtype_;  // Of the innermost region; none outside.
  std::vector<std::optional<ScalarType>> outer_;
};

}  // namespace

void autocast_regions(PassContext& context) { Caster(context).visit(context.graph().block()); }

}  // namespace tierup::passes
