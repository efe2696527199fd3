// Properties of random graphs: they verify, print back exactly, and hash by structure alone.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <array>
#include <random>

#include "tierup/ir/graph_editor.h"
#include "tierup/ir/graph_hash.h"
#include "tierup/ir/text.h"
#include "tierup/ir/verifier.h"

namespace tierup::ir {
namespace {

class TestOperator final : public Operator {
 public:
  explicit TestOperator(std::string_view schema) { schema_ = parse_schema(schema); }
};

class TestOperators final : public OperatorLookup {
 public:
  const Operator* find(std::string_view name) const override {
    for (const TestOperator& op : operators_) {
      if (op.schema().qualified_name() == name) return &op;
    }
    return nullptr;
  }
  std::span<const TestOperator> all() const { return operators_; }

 private:
  std::array<TestOperator, 4> operators_ = {
      TestOperator("test::binary.Tensor(Tensor self, Tensor other) -> Tensor"),
      TestOperator("test::write_(Tensor(a!) self, Tensor other) -> Tensor(a!)"),
      TestOperator("test::two(Tensor self, int n) -> (Tensor, int)"),
      TestOperator("test::number(int a, int b) -> int"),
  };
};

// Makes a graph from a seed. Everything it makes is well-formed by construction.
class GraphMaker {
 public:
  GraphMaker(uint64_t seed, int size) : random_(seed), budget_(size) {}

  std::shared_ptr<Graph> make(int depth = 0) {
    auto graph = std::make_shared<Graph>(pick(3) == 0 ? "odd name!" : "random");
    GraphEditor editor(*graph);
    editor_ = &editor;
    depth_ = depth;
    std::vector<Value*> scope;
    scope.push_back(editor.add_param(&graph->block(), Type::tensor(), name()));
    scope.push_back(editor.add_param(&graph->block(), tensor_type(), name()));
    scope.push_back(editor.add_param(&graph->block(), Type::integer(), name()));
    scope.push_back(editor.add_param(&graph->block(), Type::boolean(), name()));
    fill(&graph->block(), scope);
    for (size_t i = 0; i < 1 + pick(3); ++i) {
      editor.add_return(&graph->block(), scope[pick(scope.size())]);
    }
    return graph;
  }

 private:
  size_t pick(size_t count) { return std::uniform_int_distribution<size_t>(0, count - 1)(random_); }

  std::string name() {
    static constexpr std::array<const char*, 8> kNames = {"",    "",   "x", "y.1",
                                                          "a b", "12", "ü", "q\"\\"};
    return kNames[pick(kNames.size())];
  }

  TypePtr tensor_type() {
    TensorFacts facts;
    if (pick(2) == 0) facts.dtype = pick(2) == 0 ? ScalarType::kFloat : ScalarType::kLong;
    if (pick(2) == 0) facts.requires_grad = pick(2) == 0;
    if (pick(3) == 0) facts.device = Device{};
    if (pick(2) == 0) {
      facts.sizes.emplace();
      for (size_t i = 0; i < pick(4); ++i) {
        facts.sizes->push_back({static_cast<Dim::Kind>(pick(3)), static_cast<int64_t>(pick(9))});
        if (facts.sizes->back().kind == Dim::Kind::kUnknown) facts.sizes->back().value = 0;
      }
    }
    return Type::tensor_with(facts);
  }

  Value* find(const std::vector<Value*>& scope, TypeKind kind) {
    std::vector<Value*> fitting;
    for (Value* value : scope) {
      if (value->type()->is(kind)) fitting.push_back(value);
    }
    return fitting[pick(fitting.size())];  // Parameters give one of each kind asked for.
  }

  IValue constant() {
    switch (pick(8)) {
      case 0: return {};
      case 1: return static_cast<int64_t>(random_());
      case 2: return std::bit_cast<double>(random_());
      case 3: return pick(2) == 0;
      case 4: return "text\n\"\\" + std::to_string(random_());
      case 5: return complex128(0.5, -static_cast<double>(pick(100)));
      case 6: return make_tuple({1, "a", make_tuple({2.5})});
      default: {
        Tensor tensor = Tensor::empty(IntVector{2, 2}, ScalarType::kDouble);
        for (size_t i = 0; i < 4; ++i)
          tensor.data<double>()[i] = static_cast<double>(random_()) / 7;
        return tensor;
      }
    }
  }

  void fill(Block* block, std::vector<Value*>& scope) {
    const size_t count = pick(6);
    for (size_t i = 0; i < count && budget_ > 0; ++i) {
      --budget_;
      editor_->set_insert_end(block);
      add_node(scope);
    }
  }

  void add_node(std::vector<Value*>& scope) {
    switch (pick(8)) {
      case 0: scope.push_back(editor_->constant(constant())); break;
      case 1: add_if(scope); break;
      case 2: add_loop(scope); break;
      case 3: add_tuple(scope); break;
      case 4: add_list(scope); break;
      case 5: add_fork(scope); break;
      default: add_op(scope);
    }
    if (pick(2) == 0) editor_->set_name(scope.back(), name());
  }

  void add_op(std::vector<Value*>& scope) {
    const TestOperator& op = operators().all()[pick(4)];
    std::vector<Value*> inputs;
    for (const Argument& argument : op.schema().arguments) {
      inputs.push_back(find(scope, argument.type->kind()));
    }
    Node* node = editor_->create_op(op, inputs);
    scope.insert(scope.end(), node->outputs().begin(), node->outputs().end());
  }

  void add_if(std::vector<Value*>& scope) {
    Node* node = editor_->create(NodeKind::kIf, {find(scope, TypeKind::kBool)});
    for (int i = 0; i < 2; ++i) {
      Block* block = editor_->add_block(node);
      std::vector<Value*> inner = scope;
      fill(block, inner);
      editor_->add_return(block, find(inner, TypeKind::kTensor));
    }
    scope.push_back(editor_->add_output(node, Type::tensor()));
  }

  void add_loop(std::vector<Value*>& scope) {
    Value* start = find(scope, TypeKind::kTensor);
    Node* node = editor_->create(
        NodeKind::kLoop, {find(scope, TypeKind::kInt), find(scope, TypeKind::kBool), start});
    Block* block = editor_->add_block(node);
    std::vector<Value*> inner = scope;
    inner.push_back(editor_->add_param(block, Type::integer(), name()));
    inner.push_back(editor_->add_param(block, Type::tensor(), name()));
    fill(block, inner);
    editor_->add_return(block, find(inner, TypeKind::kBool));
    editor_->add_return(block, find(inner, TypeKind::kTensor));
    scope.push_back(editor_->add_output(node, Type::tensor()));
  }

  void add_tuple(std::vector<Value*>& scope) {
    std::vector<Value*> elements;
    std::vector<TypePtr> types;
    for (size_t i = 0; i < pick(4); ++i) {
      elements.push_back(scope[pick(scope.size())]);
      types.push_back(elements.back()->type());
    }
    Node* node = editor_->create(NodeKind::kTupleConstruct, elements);
    scope.push_back(editor_->add_output(node, Type::tuple(types)));
  }

  void add_list(std::vector<Value*>& scope) {
    Value* element = find(scope, TypeKind::kInt);
    Node* node = editor_->create(NodeKind::kListConstruct, {element, element});
    scope.push_back(editor_->add_output(node, Type::list(Type::integer())));
  }

  void add_fork(std::vector<Value*>& scope) {
    if (depth_ > 1) return add_op(scope);
    GraphMaker nested(random_(), 4);
    const std::shared_ptr<Graph> body = nested.make(depth_ + 1);
    std::vector<Value*> captured;
    for (const Value* input : body->inputs()) {
      captured.push_back(find(scope, input->type()->kind()));
    }
    Node* node = editor_->create(NodeKind::kFork, captured);
    editor_->set_attr(node, AttrName::kCallee, std::shared_ptr<const Graph>(body));
    scope.push_back(editor_->add_output(node, Type::future(body->outputs()[0]->type())));
  }

 public:
  static const TestOperators& operators() {
    static const TestOperators operators;
    return operators;
  }

 private:
  std::mt19937_64 random_;
  int budget_;
  int depth_ = 0;
  GraphEditor* editor_ = nullptr;
};

TextContext context() {
  TextContext context;
  context.operators = &GraphMaker::operators();
  return context;
}

TEST(RandomGraph, VerifiesAndPrintsBackExactly) {
  EXPECT_TRUE(rc::check([](uint64_t seed, bool ids) {
    const auto graph = GraphMaker(seed, 60).make();
    RC_ASSERT(find_issues(*graph).empty());
    const TextOptions options{.ids = ids};
    const std::string text = print_graph(*graph, options);
    const auto again = parse_graph(text, context());
    RC_ASSERT(print_graph(*again, options) == text);
    RC_ASSERT(find_issues(*again).empty());
    RC_ASSERT(graph_hash(*again) == graph_hash(*graph));
  }));
}

TEST(RandomGraph, ClonesToAnEqualGraph) {
  EXPECT_TRUE(rc::check([](uint64_t seed) {
    const auto graph = GraphMaker(seed, 60).make();
    const auto copy = graph->clone();
    RC_ASSERT(find_issues(*copy).empty());
    RC_ASSERT(graph_hash(*copy) == graph_hash(*graph));
  }));
}

TEST(RandomGraph, HashSeesAnyChangeOfStructure) {
  EXPECT_TRUE(rc::check([](uint64_t seed) {
    const auto graph = GraphMaker(seed, 30).make();
    const uint64_t before = graph_hash(*graph);
    GraphEditor editor(*graph);
    editor.add_return(&graph->block(), graph->inputs()[0]);
    RC_ASSERT(graph_hash(*graph) != before);
  }));
}

// Removes whatever has no uses, again and again, in random order.
TEST(RandomGraph, StaysWellFormedWhileNodesAreRemoved) {
  EXPECT_TRUE(rc::check([](uint64_t seed) {
    const auto graph = GraphMaker(seed, 60).make();
    GraphEditor editor(*graph);
    for (Node* node = graph->block().last(); node != nullptr;) {
      Node* previous = node->previous();
      bool is_used = false;
      for (const Value* output : node->outputs()) is_used |= !output->uses().empty();
      if (!is_used) editor.remove(node);
      node = previous;
      RC_ASSERT(find_issues(*graph).empty());
    }
  }));
}

// Whatever bytes a text is cut or spoiled to, parsing it gives a graph or an Error.
TEST(RandomGraph, SpoiledTextGivesAnError) {
  EXPECT_TRUE(rc::check([](uint64_t seed, size_t at, char byte) {
    std::string text = print_graph(*GraphMaker(seed, 20).make());
    text[at % text.size()] = byte;
    if (at % 3 == 0) text.resize(at % text.size());
    try {
      parse_graph(text, context());
    } catch (const Error&) {
      return;
    }
  }));
}

}  // namespace
}  // namespace tierup::ir
