// One function per family of kinds; each reports in sentences without the node's name.
#include "tierup/ir/verifier_nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "tierup/ir/function.h"

namespace tierup::ir {
namespace {

constexpr size_t kAny = static_cast<size_t>(-1);

struct KindRule {
  NodeKind kind;
  size_t inputs;  // kAny: checked elsewhere, or free.
  size_t outputs;
  size_t blocks;
  std::vector<AttrName> attrs;  // Required ones.
};

const KindRule* rule_of(NodeKind kind) {
  static const std::vector<KindRule> rules = {
      {NodeKind::kConstant, 0, 1, 0, {AttrName::kValue}},
      {NodeKind::kIf, 1, kAny, 2, {}},
      {NodeKind::kLoop, kAny, kAny, 1, {}},
      {NodeKind::kListConstruct, kAny, 1, 0, {}},
      {NodeKind::kListUnpack, 1, kAny, 0, {}},
      {NodeKind::kTupleConstruct, kAny, 1, 0, {}},
      {NodeKind::kTupleUnpack, 1, kAny, 0, {}},
      {NodeKind::kTupleIndex, 1, 1, 0, {AttrName::kIndex}},
      {NodeKind::kTupleSlice, 1, 1, 0, {AttrName::kBegin, AttrName::kEnd}},
      {NodeKind::kDictConstruct, kAny, 1, 0, {}},
      {NodeKind::kCreateObject, 0, 1, 0, {AttrName::kType}},
      {NodeKind::kGetAttr, 1, 1, 0, {AttrName::kName}},
      {NodeKind::kSetAttr, 2, 0, 0, {AttrName::kName}},
      {NodeKind::kCallFunction, kAny, 1, 0, {AttrName::kCallee}},
      {NodeKind::kCallMethod, kAny, 1, 0, {AttrName::kName}},
      {NodeKind::kFork, kAny, 1, 0, {AttrName::kCallee}},
      {NodeKind::kWait, 1, 1, 0, {}},
      {NodeKind::kEnter, 1, 1, 0, {}},
      {NodeKind::kExit, 1, kAny, 0, {}},
      {NodeKind::kRaise, kAny, 0, 0, {}},
      {NodeKind::kUncheckedCast, 1, 1, 0, {}},
      {NodeKind::kUninitialized, 0, 1, 0, {}},
      {NodeKind::kIsInstance, 1, 1, 0, {AttrName::kTypes}},
      {NodeKind::kEnumName, 1, 1, 0, {}},
      {NodeKind::kEnumValue, 1, 1, 0, {}},
      {NodeKind::kToList, 1, 1, 0, {}},
      {NodeKind::kModuleIndex, 2, 1, 0, {}},
      {NodeKind::kPrint, kAny, 0, 0, {}},
      {NodeKind::kTrap, kAny, kAny, 0, {AttrName::kMessage}},
  };
  const auto found =
      std::find_if(rules.begin(), rules.end(), [&](const KindRule& r) { return r.kind == kind; });
  return found == rules.end() ? nullptr : &*found;
}

class NodeChecker {
 public:
  explicit NodeChecker(const Node& node) : node_(node) {}

  std::vector<std::string> run() {
    if (node_.is(NodeKind::kOp)) {
      check_op();
    } else if (check_counts()) {
      check_kind();
    }
    return std::move(issues_);
  }

 private:
  template <typename... Args>
  void report(fmt::format_string<Args...> format, Args&&... args) {
    issues_.push_back(fmt::format(format, std::forward<Args>(args)...));
  }

  // Null if it is of another type.
  template <typename T>
  const T* attribute(AttrName wanted) const {
    for (const auto& [name, value] : node_.attrs()) {
      if (name == wanted) return std::get_if<T>(&value);
    }
    return nullptr;
  }
  const Type& input_type(size_t i) const { return *node_.input(i)->type(); }
  const TypePtr& output_type(size_t i = 0) const { return node_.output(i)->type(); }

  void expect_subtype(const TypePtr& have, const TypePtr& want, std::string_view what) {
    if (!is_subtype(have, want))
      report("{} is {}, expected {}", what, have->to_string(), want->to_string());
  }
  void expect_kind(const Type& type, TypeKind kind, std::string_view what) {
    if (!type.is(kind)) report("{} is {}", what, type.to_string());
  }

  bool check_counts() {
    const KindRule* rule = rule_of(node_.kind());
    if (rule == nullptr) return true;
    const auto expect_count = [&](size_t have, size_t want, std::string_view what) {
      if (want != kAny && have != want) report("has {} {}, expected {}", have, what, want);
    };
    expect_count(node_.inputs().size(), rule->inputs, "inputs");
    expect_count(node_.outputs().size(), rule->outputs, "outputs");
    expect_count(node_.blocks().size(), rule->blocks, "blocks");
    for (const AttrName name : rule->attrs) {
      if (!node_.has_attr(name)) report("lacks the attribute {}", attr_name_text(name));
    }
    return issues_.empty();
  }

  void check_kind() {
    switch (node_.kind()) {
      case NodeKind::kConstant: return check_constant();
      case NodeKind::kIf: return check_if();
      case NodeKind::kLoop: return check_loop();
      case NodeKind::kListConstruct: return check_list_construct();
      case NodeKind::kListUnpack:
        return expect_kind(input_type(0), TypeKind::kList, "the unpacked value");
      case NodeKind::kTupleConstruct: return check_tuple_construct();
      case NodeKind::kTupleUnpack: return check_tuple_unpack();
      case NodeKind::kTupleIndex:
      case NodeKind::kTupleSlice: return check_tuple_part();
      case NodeKind::kDictConstruct: return check_dict_construct();
      case NodeKind::kGetAttr:
      case NodeKind::kSetAttr: return check_attribute();
      case NodeKind::kCallFunction: return check_call_function();
      case NodeKind::kCallMethod: return check_call_method();
      case NodeKind::kFork: return check_fork();
      case NodeKind::kIsInstance: return expect_kind(*output_type(), TypeKind::kBool, "the answer");
      case NodeKind::kRaise:
        if (node_.inputs().empty()) report("has no message");
        return;
      default: return;
    }
  }

  void check_constant() {
    const auto* value = attribute<IValue>(AttrName::kValue);
    if (value == nullptr) return report("its value is not a constant");
    if (!value->is_function() && !value->is_instance(output_type())) {
      report("a {} constant is not of type {}", value->tag_name(), output_type()->to_string());
    }
  }

  void check_if() {
    expect_kind(input_type(0), TypeKind::kBool, "the condition");
    for (const Block* block : node_.blocks()) {
      if (!block->params().empty()) report("a branch has parameters");
      if (block->returns().size() != node_.outputs().size()) {
        report("a branch returns {} values for {} outputs", block->returns().size(),
               node_.outputs().size());
        continue;
      }
      for (size_t i = 0; i < block->returns().size(); ++i) {
        expect_subtype(block->returns()[i]->type(), output_type(i), "a branch's return");
      }
    }
  }

  void check_loop() {
    if (node_.inputs().size() < 2) return report("has no trip count and condition");
    const Block& body = *node_.block();
    const size_t carried = node_.inputs().size() - 2;
    if (body.params().size() != carried + 1 || body.returns().size() != carried + 1 ||
        node_.outputs().size() != carried) {
      return report("carries {} values, but has {} parameters, {} returns and {} outputs", carried,
                    body.params().size(), body.returns().size(), node_.outputs().size());
    }
    expect_kind(input_type(0), TypeKind::kInt, "the trip count");
    expect_kind(input_type(1), TypeKind::kBool, "the first condition");
    expect_kind(*body.params()[0]->type(), TypeKind::kInt, "the counter");
    expect_kind(*body.returns()[0]->type(), TypeKind::kBool, "the next condition");
    for (size_t i = 0; i < carried; ++i) {
      const TypePtr& param = body.params()[i + 1]->type();
      expect_subtype(node_.input(i + 2)->type(), param, "a carried value's start");
      expect_subtype(body.returns()[i + 1]->type(), param, "a carried value's next");
      // What is known of a tensor behind the loop may be more than what is known inside.
      if (!param->is(TypeKind::kTensor) || !output_type(i)->is(TypeKind::kTensor))
        expect_subtype(param, output_type(i), "a carried value");
    }
  }

  void check_list_construct() {
    if (!output_type()->is(TypeKind::kList))
      return report("makes a {}", output_type()->to_string());
    for (const Value* input : node_.inputs()) {
      expect_subtype(input->type(), output_type()->element(), "an element");
    }
  }

  void check_tuple_construct() {
    if (!output_type()->is(TypeKind::kTuple) ||
        output_type()->elements().size() != node_.inputs().size()) {
      return report("makes a {} of {} values", output_type()->to_string(), node_.inputs().size());
    }
    for (size_t i = 0; i < node_.inputs().size(); ++i) {
      expect_subtype(node_.input(i)->type(), output_type()->element(i), "an element");
    }
  }

  void check_tuple_unpack() {
    const Type& tuple = input_type(0);
    if (!tuple.is(TypeKind::kTuple) || tuple.elements().size() != node_.outputs().size()) {
      return report("takes a {} apart into {} values", tuple.to_string(), node_.outputs().size());
    }
    for (size_t i = 0; i < node_.outputs().size(); ++i) {
      expect_subtype(tuple.element(i), output_type(i), "an element");
    }
  }

  void check_tuple_part() {
    const Type& tuple = input_type(0);
    if (!tuple.is(TypeKind::kTuple)) return report("the tuple is {}", tuple.to_string());
    const auto size = static_cast<int64_t>(tuple.elements().size());
    if (node_.is(NodeKind::kTupleIndex)) {
      const auto* index_attr = attribute<int64_t>(AttrName::kIndex);
      if (index_attr == nullptr) return report("its index is not a number");
      const int64_t index = *index_attr;
      if (index < 0 || index >= size) return report("index {} of {} elements", index, size);
      return expect_subtype(tuple.element(static_cast<size_t>(index)), output_type(),
                            "the element");
    }
    const int64_t begin = node_.attr<int64_t>(AttrName::kBegin);
    const int64_t end = node_.attr<int64_t>(AttrName::kEnd);
    if (begin < 0 || begin > end || end > size) report("slice [{}, {}) of {}", begin, end, size);
  }

  void check_dict_construct() {
    if (node_.inputs().size() % 2 != 0) report("a key has no value");
    if (!output_type()->is(TypeKind::kDict))
      return report("makes a {}", output_type()->to_string());
    for (size_t i = 0; i < node_.inputs().size(); ++i) {
      expect_subtype(node_.input(i)->type(), output_type()->element(i % 2),
                     i % 2 == 0 ? "a key" : "a value");
    }
  }

  void check_attribute() {
    const ClassType* type = input_type(0).as_class();
    if (type == nullptr) return report("the object is {}", input_type(0).to_string());
    if (type->is(TypeKind::kInterface)) return;
    const std::string& name = node_.attr<std::string>(AttrName::kName);
    const auto index = type->find_attribute(name);
    if (!index) return report("{} has no attribute {}", type->name(), name);
    const TypePtr& declared = type->attributes()[*index].type;
    if (node_.is(NodeKind::kSetAttr)) {
      expect_subtype(node_.input(1)->type(), declared, "the value set");
    } else if (!declared->is(TypeKind::kTensor) || !output_type()->is(TypeKind::kTensor)) {
      // What else is said of a tensor (sizes, dtype) is a refinement, which only a run can tell.
      expect_subtype(declared, output_type(), "the attribute");
    }
  }

  void check_call_function() {
    const auto* callee = attribute<Ref<Callable>>(AttrName::kCallee);
    if (callee == nullptr || !*callee) return report("calls nothing");
    const auto* function = dynamic_cast<const Function*>(callee->get());
    if (function != nullptr) check_argument_count(function->schema());
  }

  void check_argument_count(const Schema& schema) {
    if (!schema.is_vararg && schema.arguments.size() != node_.inputs().size()) {
      report("passes {} arguments to {}, which takes {}", node_.inputs().size(), schema.name,
             schema.arguments.size());
    }
  }

  void check_call_method() {
    if (node_.inputs().empty()) return report("has no object");
    const ClassType* type = input_type(0).as_class();
    if (type == nullptr) return report("the object is {}", input_type(0).to_string());
    const std::string& name = node_.attr<std::string>(AttrName::kName);
    const Ref<Callable> method = type->find_method(name);
    if (!method) return report("{} has no method {}", type->name(), name);
    const auto* function = dynamic_cast<const Function*>(method.get());
    if (function != nullptr) check_argument_count(function->schema());
  }

  void check_fork() {
    expect_kind(*output_type(), TypeKind::kFuture, "the result");
    const auto* body = attribute<std::shared_ptr<const Graph>>(AttrName::kCallee);
    if (body != nullptr && (*body)->inputs().size() != node_.inputs().size()) {
      report("passes {} values to a graph of {} inputs", node_.inputs().size(),
             (*body)->inputs().size());
    }
  }

  // Operators.
  void check_op() {
    if (node_.op() == nullptr) return report("names no operator");
    if (!node_.blocks().empty()) report("an operator has blocks");
    const Schema& schema = node_.op()->schema();
    const size_t formals = schema.arguments.size();
    if (node_.inputs().size() < formals || (!schema.is_vararg && node_.inputs().size() > formals)) {
      return report("has {} inputs, the schema takes {}", node_.inputs().size(), formals);
    }
    if (!schema.is_varret && node_.outputs().size() != schema.returns.size()) {
      return report("has {} outputs, the schema gives {}", node_.outputs().size(),
                    schema.returns.size());
    }
    for (size_t i = 0; i < formals; ++i) {
      const TypePtr& have = node_.input(i)->type();
      if (!fits(have, schema.arguments[i].type)) {
        report("argument {} is {}, expected {}", schema.arguments[i].name, have->to_string(),
               schema.arguments[i].type->to_string());
      }
    }
  }

  static bool is_number(const Type& type) {
    return type.is(TypeKind::kInt) || type.is(TypeKind::kFloat) || type.is(TypeKind::kBool) ||
           type.is(TypeKind::kNumber);
  }

  // Whether an operator takes a value of type `have` for a formal of type `want`. Type variables
  // bind to the first type they meet. Numbers are taken where a Scalar is wanted, and where a
  // tensor is (exported programs multiply tensors by sizes), as kernels do.
  bool fits(const TypePtr& have, const TypePtr& want) {
    if (want->is(TypeKind::kVar)) {
      const auto [bound, is_new] = variables_.emplace(want->name(), have);
      return is_new || unify(bound->second, have) != nullptr;
    }
    if (is_subtype(have, want)) return true;
    if (want->is(TypeKind::kOptional)) {
      return fits(have->is(TypeKind::kOptional) ? have->element() : have, want->element());
    }
    if (want->is(TypeKind::kNumber)) return have->is(TypeKind::kBool);
    if (want->is(TypeKind::kTensor)) return is_number(*have);
    if (want->is(TypeKind::kUnion)) {
      return std::any_of(want->elements().begin(), want->elements().end(),
                         [&](const TypePtr& member) { return fits(have, member); });
    }
    if (have->kind() != want->kind() || have->elements().size() != want->elements().size() ||
        want->elements().empty()) {
      return false;
    }
    for (size_t i = 0; i < want->elements().size(); ++i) {
      if (!fits(have->element(i), want->element(i))) return false;
    }
    return true;
  }

  const Node& node_;
  std::vector<std::string> issues_;
  std::map<std::string, TypePtr> variables_;
};

}  // namespace

std::vector<std::string> find_node_issues(const Node& node) { return NodeChecker(node).run(); }

}  // namespace tierup::ir
