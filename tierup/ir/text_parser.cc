// parse_graph: the reading half of the text form (see text.h).
//
// Values must be defined before the line that uses them, but scopes are not checked here: that a
// definition dominates its uses is the verifier's to say, so its tests can be written as text.
#include <algorithm>
#include <unordered_map>

#include "tierup/ir/graph_editor.h"
#include "tierup/ir/text.h"
#include "tierup/ir/text_cursor.h"
#include "tierup/ir/text_values.h"

namespace tierup::ir {
namespace {

constexpr int kMaxDepth = 200;
constexpr int64_t kMaxId = 10'000'000;  // Analyses index by id.

class GraphParser {
 public:
  GraphParser(TextCursor& cursor, const TextContext& context)
      : cursor_(cursor), context_(context) {}

  std::shared_ptr<Graph> graph(int depth) {
    if (depth > kMaxDepth) cursor_.fail_here("graphs nested too deeply");
    depth_ = depth;
    cursor_.expect("graph");
    cursor_.expect("@");
    auto result = std::make_shared<Graph>(cursor_.expect_name("the graph's name"));
    GraphEditor editor(*result);
    editor_ = &editor;
    Block* block = &result->block();
    params(block);
    cursor_.expect("{");
    nodes(block);
    cursor_.expect("return");
    returns(block);
    cursor_.expect("}");
    assign_ids();
    return result;
  }

 private:
  // A value as written: a name, an id, or both.
  struct Reference {
    std::string name;
    std::optional<int> id;
    std::string key() const { return id ? "#" + std::to_string(*id) : name; }
  };

  Reference reference() {
    cursor_.expect("%");
    Reference result;
    if (cursor_.peek() == '"') {
      result.name = cursor_.expect_string();
    } else if (cursor_.peek() >= '0' && cursor_.peek() <= '9') {
      result.id = id();
      return result;
    } else {
      result.name = cursor_.accept_name();
      if (result.name.empty()) cursor_.fail_here("expected a value's name");
    }
    if (cursor_.accept_directly('#')) result.id = id();
    return result;
  }

  int id() {
    const int64_t value = cursor_.expect_integer();
    if (value < 0 || value > kMaxId) cursor_.fail_here("id out of range");
    return static_cast<int>(value);
  }

  Value* use() {
    const Reference written = reference();
    const auto found = values_.find(written.key());
    if (found == values_.end()) cursor_.fail_here("unknown value %" + written.key());
    return found->second;
  }

  void define(const Reference& written, Value* value) {
    if (!values_.emplace(written.key(), value).second) {
      cursor_.fail_here("value %" + written.key() + " is defined twice");
    }
    defined_.emplace_back(value, written.id);
  }

  // Written ids first; the other values follow behind the largest of them.
  void assign_ids() {
    int next = 0;
    for (const auto& [value, id] : defined_) next = std::max(next, id ? *id + 1 : 0);
    for (const auto& [value, id] : defined_) editor_->set_id(value, id ? *id : next++);
  }

  void params(Block* block) {
    cursor_.expect("(");
    if (cursor_.accept(")")) return;
    do {
      const Reference written = reference();
      cursor_.expect(":");
      define(written, editor_->add_param(block, parse_type(cursor_, context_), written.name));
    } while (cursor_.accept(","));
    cursor_.expect(")");
  }

  void returns(Block* block) {
    cursor_.expect("(");
    if (cursor_.accept(")")) return;
    do {
      editor_->add_return(block, use());
    } while (cursor_.accept(","));
    cursor_.expect(")");
  }

  void nodes(Block* block) {
    while (!cursor_.sees("return") && !cursor_.sees("->")) {
      if (cursor_.at_end()) cursor_.fail_here("graph without end");
      editor_->set_insert_end(block);
      node();
    }
  }

  void node() {
    struct Output {
      Reference written;
      TypePtr type;
    };
    std::vector<Output> outputs;
    if (cursor_.sees("%")) {
      do {
        Reference written = reference();
        cursor_.expect(":");
        outputs.push_back({std::move(written), parse_type(cursor_, context_)});
      } while (cursor_.accept(","));
      cursor_.expect("=");
    }
    cursor_.skip_space();
    const int line = cursor_.line();
    Node* made = head();
    if (context_.lines != nullptr) (*context_.lines)[made] = line;
    if (cursor_.peek() == '[') attributes(made);
    inputs(made);
    for (size_t i = 0; i < outputs.size(); ++i) {
      Value* value = editor_->add_output(made, outputs[i].type, outputs[i].written.name);
      define(outputs[i].written, value);
    }
    if (context_.ranges) {
      if (const std::string_view place = cursor_.accept_location(); !place.empty()) {
        editor_->set_node_range(made, range_at(place));
      }
    }
    blocks(made);
  }

  // The node's name; its inputs and outputs follow.
  Node* head() {
    const std::string name(cursor_.accept_name());
    if (name.empty()) cursor_.fail_here("expected an operator");
    if (const auto kind = node_kind_from_name(name)) return editor_->create(*kind);
    const Operator* op = context_.operators != nullptr ? context_.operators->find(name) : nullptr;
    if (op == nullptr) cursor_.fail_here("unknown operator " + name);
    return editor_->create_bare_op(*op);
  }

  void inputs(Node* made) {
    cursor_.expect("(");
    if (cursor_.accept(")")) return;
    do {
      editor_->add_input(made, use());
    } while (cursor_.accept(","));
    if (!cursor_.accept(")")) cursor_.fail_here("expected ')'");
  }

  void blocks(Node* made) {
    for (int index = 0; cursor_.accept("block"); ++index) {
      if (++depth_ > kMaxDepth) cursor_.fail_here("blocks nested too deeply");
      if (cursor_.expect_integer() != index) cursor_.fail_here("blocks are numbered from 0");
      Block* block = editor_->add_block(made);
      params(block);
      cursor_.expect(":");
      nodes(block);
      cursor_.expect("->");
      returns(block);
      --depth_;
    }
  }

  void attributes(Node* made) {
    cursor_.expect("[");
    do {
      const std::string_view text = cursor_.accept_name();
      const auto name = attr_name_from_text(text);
      if (!name) cursor_.fail_here("unknown attribute " + std::string(text));
      cursor_.expect("=");
      editor_->set_attr(made, *name, attribute(*name));
    } while (cursor_.accept(","));
    cursor_.expect("]");
  }

  AttrValue attribute(AttrName name) {
    if (name == AttrName::kValue) return parse_constant(cursor_, context_);
    if (name == AttrName::kType) return parse_type(cursor_, context_);
    if (name == AttrName::kTypes) return types();
    if (cursor_.sees("\"")) return cursor_.expect_string();
    if (cursor_.sees("graph")) {
      return std::shared_ptr<const Graph>(GraphParser(cursor_, context_).graph(depth_ + 1));
    }
    if (cursor_.accept("@")) {
      const std::string function = cursor_.expect_name("a function's name");
      Ref<Callable> callable = context_.functions ? context_.functions(function) : nullptr;
      if (!callable) cursor_.fail_here("unknown function " + function);
      return callable;
    }
    return cursor_.expect_integer();
  }

  std::vector<TypePtr> types() {
    std::vector<TypePtr> result;
    cursor_.expect("[");
    if (cursor_.accept("]")) return result;
    do {
      result.push_back(parse_type(cursor_, context_));
    } while (cursor_.accept(","));
    cursor_.expect("]");
    return result;
  }

  // A range that prints as `place` ("model.py:12"): the text itself is not there.
  static SourceRange range_at(std::string_view place) {
    const size_t colon = place.rfind(':');
    std::string name(place.substr(0, colon));
    int line = 1;
    if (colon != std::string_view::npos)
      line = std::atoi(std::string(place.substr(colon + 1)).c_str());
    return {.source = std::make_shared<Source>(std::move(name), "", line), .original = nullptr};
  }

  TextCursor& cursor_;
  const TextContext& context_;
  GraphEditor* editor_ = nullptr;
  int depth_ = 0;
  std::unordered_map<std::string, Value*> values_;
  std::vector<std::pair<Value*, std::optional<int>>> defined_;
};

}  // namespace

std::shared_ptr<Graph> parse_graph(std::string_view text, const TextContext& context) {
  auto graphs = parse_graphs(text, context);
  require(graphs.size() == 1, ErrorCode::kSyntax, "Graph text: expected one graph, found {}",
          graphs.size());
  return graphs[0];
}

IValue parse_constant_text(std::string_view text, const TextContext& context) {
  TextCursor cursor(text, context.first_line);
  IValue value = parse_constant(cursor, context);
  if (!cursor.at_end()) cursor.fail_here("text behind the constant");
  return value;
}

TypePtr parse_type_text(std::string_view text, const TextContext& context) {
  TextCursor cursor(text, context.first_line);
  TypePtr type = parse_type(cursor, context);
  if (!cursor.at_end()) cursor.fail_here("text behind the type");
  return type;
}

std::vector<std::shared_ptr<Graph>> parse_graphs(std::string_view text,
                                                 const TextContext& context) {
  TextCursor cursor(text, context.first_line);
  std::vector<std::shared_ptr<Graph>> graphs;
  while (!cursor.at_end()) graphs.push_back(GraphParser(cursor, context).graph(0));
  return graphs;
}

}  // namespace tierup::ir
