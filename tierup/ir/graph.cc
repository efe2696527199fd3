// Names of node kinds and attributes, and Graph's own small operations.
#include "tierup/ir/graph.h"

#include "tierup/ir/graph_editor.h"
#include "tierup/ir/text.h"

namespace tierup::ir {

std::string_view node_kind_name(NodeKind kind) {
  switch (kind) {
    case NodeKind::kOp: return "";
    case NodeKind::kConstant: return "prim::Constant";
    case NodeKind::kIf: return "prim::If";
    case NodeKind::kLoop: return "prim::Loop";
    case NodeKind::kReturn: return "prim::Return";
    case NodeKind::kListConstruct: return "prim::ListConstruct";
    case NodeKind::kListUnpack: return "prim::ListUnpack";
    case NodeKind::kTupleConstruct: return "prim::TupleConstruct";
    case NodeKind::kTupleUnpack: return "prim::TupleUnpack";
    case NodeKind::kTupleIndex: return "prim::TupleIndex";
    case NodeKind::kTupleSlice: return "prim::TupleSlice";
    case NodeKind::kDictConstruct: return "prim::DictConstruct";
    case NodeKind::kCreateObject: return "prim::CreateObject";
    case NodeKind::kGetAttr: return "prim::GetAttr";
    case NodeKind::kSetAttr: return "prim::SetAttr";
    case NodeKind::kCallFunction: return "prim::CallFunction";
    case NodeKind::kCallMethod: return "prim::CallMethod";
    case NodeKind::kFork: return "prim::fork";
    case NodeKind::kWait: return "prim::wait";
    case NodeKind::kEnter: return "prim::Enter";
    case NodeKind::kExit: return "prim::Exit";
    case NodeKind::kRaise: return "prim::RaiseException";
    case NodeKind::kUncheckedCast: return "prim::unchecked_cast";
    case NodeKind::kUninitialized: return "prim::Uninitialized";
    case NodeKind::kIsInstance: return "prim::isinstance";
    case NodeKind::kEnumName: return "prim::EnumName";
    case NodeKind::kEnumValue: return "prim::EnumValue";
    case NodeKind::kToList: return "prim::tolist";
    case NodeKind::kModuleIndex: return "prim::ModuleContainerIndex";
    case NodeKind::kPrint: return "prim::Print";
    case NodeKind::kTrap: return "prim::Trap";
  }
  return "";
}

std::optional<NodeKind> node_kind_from_name(std::string_view name) {
  for (int kind = 1; kind <= static_cast<int>(NodeKind::kTrap); ++kind) {
    if (node_kind_name(static_cast<NodeKind>(kind)) == name) return static_cast<NodeKind>(kind);
  }
  return std::nullopt;
}

std::string_view attr_name_text(AttrName name) {
  switch (name) {
    case AttrName::kValue: return "value";
    case AttrName::kName: return "name";
    case AttrName::kType: return "type";
    case AttrName::kTypes: return "types";
    case AttrName::kIndex: return "index";
    case AttrName::kBegin: return "begin";
    case AttrName::kEnd: return "end";
    case AttrName::kCallee: return "callee";
    case AttrName::kMessage: return "message";
    case AttrName::kBody: return "body";
    case AttrName::kNote: return "note";
  }
  return "";
}

std::optional<AttrName> attr_name_from_text(std::string_view text) {
  for (int name = 0; name <= static_cast<int>(AttrName::kNote); ++name) {
    if (attr_name_text(static_cast<AttrName>(name)) == text) return static_cast<AttrName>(name);
  }
  return std::nullopt;
}

std::string Node::display_name() const {
  if (op_ != nullptr) return op_->schema().qualified_name();
  return std::string(node_kind_name(kind_));
}

Graph::Graph(std::string name) : name_(std::move(name)) { block_ = &blocks_.make(); }

std::shared_ptr<Graph> Graph::clone() const {
  auto copy = std::make_shared<Graph>(name_);
  GraphEditor editor(*copy);
  std::unordered_map<const Value*, Value*> map;
  for (const Value* param : inputs()) {
    map[param] = editor.add_param(&copy->block(), param->type(), param->name());
  }
  for (Value* value : editor.inline_block(block(), map)) editor.add_return(&copy->block(), value);
  for (const auto& [value, copied] : map) editor.set_id(copied, value->id());
  return copy;
}

std::string Graph::to_string() const { return print_graph(*this); }

}  // namespace tierup::ir
