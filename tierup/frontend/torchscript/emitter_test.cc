// Functions emitted from source text: what the graphs look like, and what is refused.
//
// What programs compute is tested in tests/torchscript; here stand properties of the graphs.
#include "tierup/frontend/torchscript/emitter.h"

#include <gtest/gtest.h>

#include <thread>

#include "tierup/base/error.h"
#include "tierup/frontend/torchscript/module_loader.h"
#include "tierup/ir/verifier.h"

namespace tierup::frontend::torchscript {
namespace {

std::shared_ptr<CompilationUnit> unit_of(std::string text, CompileOptions options = {}) {
  const auto read = [text](const std::string& record) -> std::optional<std::string> {
    if (record == "code/__torch__.py") return text;
    return std::nullopt;
  };
  return CompilationUnit::make(SourceIndex(read), options);
}

// The graph of `def f`; the unit may go, since graphs do not need it.
std::shared_ptr<const ir::Graph> graph_of(const std::string& text) {
  const auto unit = unit_of(text);
  const Ref<ScriptFunction> function = unit->find("__torch__.f").function;
  EXPECT_TRUE(static_cast<bool>(function)) << text;
  std::shared_ptr<const ir::Graph> graph = function->graph();
  EXPECT_TRUE(ir::find_issues(*graph).empty()) << graph->to_string();
  return graph;
}

std::string failure_of(const std::string& text) {
  try {
    const auto graph = graph_of(text);
    return "no error: " + graph->to_string();
  } catch (const Error& error) {
    return error.what();
  }
}

size_t count_kind(const ir::Block& block, ir::NodeKind kind) {
  size_t count = 0;
  for (const ir::Node* node : block.nodes()) {
    if (node->is(kind)) ++count;
    for (const ir::Block* inner : node->blocks()) count += count_kind(*inner, kind);
  }
  return count;
}

std::vector<std::string> operators_of(const ir::Block& block) {
  std::vector<std::string> names;
  for (const ir::Node* node : block.nodes()) {
    if (node->is(ir::NodeKind::kOp)) names.push_back(node->op()->schema().qualified_name());
    for (const ir::Block* inner : node->blocks()) {
      for (std::string& name : operators_of(*inner)) names.push_back(std::move(name));
    }
  }
  return names;
}

using Names = std::vector<std::string>;

// A model that is loaded and dropped leaves nothing behind.
TEST(CompilationUnit, takes_its_circles_apart_when_it_goes) {
  std::weak_ptr<const Type> node;
  std::weak_ptr<const ir::Graph> recursive;
  {
    const auto unit = unit_of(R"(
class Node:
  next : Optional[__torch__.Node]
  value : int
  def last(self: __torch__.Node) -> int:
    next = self.next
    if next is not None:
      return next.last()
    return self.value
def down(n: int) -> int:
  if n > 0:
    return __torch__.down(n - 1)
  return n
)");
    const TypePtr type = unit->find_type("__torch__.Node");
    node = type;
    ir::as_function(*type->as_class()->find_method("last")).graph();
    recursive = unit->find("__torch__.down").function->graph();
  }
  EXPECT_TRUE(node.expired());
  EXPECT_TRUE(recursive.expired());
}

TEST(CompilationUnit, methods_of_objects_that_outlive_it_say_so) {
  TypePtr type;
  {
    const auto unit = unit_of("class A:\n  def f(self) -> int:\n    return 1\n");
    type = unit->find_type("__torch__.A");
    ir::as_function(*type->as_class()->find_method("f")).graph();
  }
  EXPECT_THROW(ir::as_function(*type->as_class()->find_method("f")).graph(), Error);
}

TEST(Emitter, PicksOverloadsByStaticType) {
  const auto graph = graph_of(
      "def f(x: Tensor, n: int, s: float) -> Tensor:\n"
      "  a = torch.add(x, x, alpha=2)\n"
      "  b = torch.add(a, n)\n"
      "  c = torch.mul(n, s)\n"
      "  return torch.mul(b, c)\n");
  EXPECT_EQ(operators_of(graph->block()), (Names{"aten::add.Tensor", "aten::add.Scalar",
                                                 "aten::mul.int_float", "aten::mul.Scalar"}));
}

TEST(Emitter, BroadcastsNumbersToSizedLists) {
  const auto graph =
      graph_of("def f(x: Tensor) -> Tensor:\n  return torch.max_pool2d(x, 2, ceil_mode=True)\n");
  const ir::Node* list = graph->outputs()[0]->node()->input(1)->node();
  EXPECT_TRUE(list->is(ir::NodeKind::kListConstruct));
  EXPECT_EQ(list->inputs().size(), 2u);
}

TEST(Emitter, CollectsTrailingPositionalsIntoAList) {
  const auto graph = graph_of("def f(x: Tensor) -> Tensor:\n  return torch.permute(x, 1, 0)\n");
  const ir::Node* list = graph->outputs()[0]->node()->input(1)->node();
  EXPECT_TRUE(list->is(ir::NodeKind::kListConstruct));
}

TEST(Emitter, PutsTensorsFirstWhereNumbersComeFirst) {
  const auto graph = graph_of("def f(x: Tensor) -> Tensor:\n  return torch.sub(1, x)\n");
  EXPECT_EQ(operators_of(graph->block()), (Names{"aten::neg", "aten::add.Scalar"}));
}

TEST(Emitter, TurnsIntLiteralsToFloatsOnlyWhereAFloatIsDeclared) {
  const auto graph = graph_of("def f() -> float:\n  x : float = 1000000000000\n  return x\n");
  EXPECT_TRUE(graph->outputs()[0]->type()->is(TypeKind::kFloat));
  EXPECT_NE(failure_of("def f(n: int) -> float:\n  return n\n").find("float"), std::string::npos);
}

TEST(Emitter, NestsWhatFollowsAnEarlyReturnWithoutFlags) {
  const auto graph = graph_of(
      "def f(n: int) -> int:\n"
      "  if n > 1:\n"
      "    return 1\n"
      "  m = n + 2\n"
      "  return m\n");
  EXPECT_EQ(count_kind(graph->block(), ir::NodeKind::kIf), 1u);
  EXPECT_EQ(count_kind(graph->block(), ir::NodeKind::kUninitialized), 0u);
}

TEST(Emitter, EmitsManyEarlyReturnsInReasonableTime) {
  std::string text = "def f(n: int) -> int:\n";
  for (int i = 0; i < 400; ++i) {
    text += "  a" + std::to_string(i) + " = n * " + std::to_string(i) +
            "\n  if n == " + std::to_string(i) + ":\n    return a" + std::to_string(i) + "\n";
  }
  text += "  return -1\n";
  EXPECT_EQ(count_kind(graph_of(text)->block(), ir::NodeKind::kIf), 400u);
}

TEST(Emitter, BoundsNesting) {
  std::string text = "def f(n: int) -> int:\n";
  for (int i = 0; i < 100000; ++i) text += "  if n == 1:\n    return 1\n";
  text += "  return -1\n";
  EXPECT_NE(failure_of(text).find("too deep"), std::string::npos);
}

TEST(Emitter, BoundsUnrolling) {
  std::string text = "def f() -> int:\n  t = (1, 1, 1, 1, 1, 1, 1, 1, 1, 1)\n  n = 0\n";
  std::string indent = "  ";
  for (int i = 0; i < 8; ++i) {
    text += indent + "for i" + std::to_string(i) + " in t:\n";
    indent += "  ";
  }
  text += indent + "n = 1\n  return n\n";
  EXPECT_NE(failure_of(text).find("unrolls"), std::string::npos);
}

TEST(Emitter, TrapsUnknownOperatorsAndWhatNeedsThem) {
  const auto graph = graph_of(
      "def f(x: Tensor) -> Tensor:\n"
      "  a = torch.no_such_thing(x)\n"
      "  b, c = ops.my_ops.other(a, 1)\n"
      "  for i in range(torch.len(a)):\n"
      "    b = torch.add(b, c)\n"
      "  return b\n");
  EXPECT_GE(count_kind(graph->block(), ir::NodeKind::kTrap), 3u);
  EXPECT_TRUE(graph->outputs()[0]->type()->is(TypeKind::kTensor));
}

TEST(Emitter, NamesTheOverloadsThatDoNotFit) {
  const auto graph = graph_of("def f(x: Tensor) -> Tensor:\n  return torch.relu(x, 3)\n");
  const ir::Node* trap = graph->outputs()[0]->node()->input()->node();
  const auto& message = trap->attr<std::string>(ir::AttrName::kMessage);
  EXPECT_NE(message.find("aten::relu(Tensor self) -> Tensor"), std::string::npos) << message;
}

TEST(Emitter, ReportsTypeErrorsWithTheirPlace) {
  const std::string text = failure_of("def f(x: Tensor) -> int:\n  y = x\n  return zzz\n");
  EXPECT_NE(text.find("undefined value zzz"), std::string::npos) << text;
  EXPECT_NE(text.find("code/__torch__.py:3:"), std::string::npos) << text;
  EXPECT_NE(failure_of("def f(c: bool) -> int:\n  if c:\n    y = 1\n  return y\n")
                .find("y is not defined in the false branch"),
            std::string::npos);
  EXPECT_NE(failure_of("def f(x: __torch__.Nope) -> int:\n  return 1\n")
                .find("Unknown type name '__torch__.Nope'"),
            std::string::npos);
}

TEST(Emitter, RefusesCustomCppClassesByName) {
  const std::string text =
      failure_of("def f(x: __torch__.torch.classes.my.Thing) -> int:\n  return 1\n");
  EXPECT_NE(text.find("custom C++ class"), std::string::npos) << text;
}

TEST(Emitter, LetsMethodsRefuseWhileOthersCompile) {
  const auto unit = unit_of(
      "def good(x: Tensor) -> Tensor:\n  return torch.relu(x)\n"
      "def bad(x: Tensor) -> Tensor:\n  return yyy\n");
  EXPECT_NO_THROW(unit->find("__torch__.good").function->graph());
  for (int i = 0; i < 2; ++i) {
    EXPECT_THROW(unit->find("__torch__.bad").function->graph(), Error) << "each time anew";
  }
}

TEST(Emitter, SupportsRecursionWithADeclaredResult) {
  const auto graph = graph_of(
      "def f(n: int) -> int:\n  if n < 2:\n    return 1\n  return n * __torch__.f(n - 1, )\n");
  EXPECT_EQ(count_kind(graph->block(), ir::NodeKind::kCallFunction), 1u);
  EXPECT_NE(failure_of("def f(n: int):\n  return __torch__.f(n, )\n").find("called recursively"),
            std::string::npos);
}

TEST(Emitter, CompilesEachFunctionOnceForAllThreads) {
  std::string text;
  for (int i = 0; i < 40; ++i) {
    text += "def f" + std::to_string(i) + "(x: Tensor) -> Tensor:\n  return ";
    text += i == 0 ? "torch.relu(x)\n" : "__torch__.f" + std::to_string(i - 1) + "(x, )\n";
  }
  const auto unit = unit_of(text);
  std::vector<std::vector<const ir::Graph*>> seen(4);
  std::vector<std::thread> threads;
  for (auto& graphs : seen) {
    threads.emplace_back([&] {
      for (int i = 39; i >= 0; --i) {
        graphs.push_back(unit->find("__torch__.f" + std::to_string(i)).function->graph().get());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& graphs : seen) EXPECT_EQ(graphs, seen[0]);
}

TEST(Emitter, GivesOldDivisionToMethodsOfOldFilesOnly) {
  const std::string text =
      "class M:\n  def g(self, x: Tensor) -> Tensor:\n    return torch.div(x, 2)\n"
      "def f(x: Tensor) -> Tensor:\n  return torch.div(x, 2)\n";
  const auto unit = unit_of(text, {.version = 3});
  const TypePtr type = unit->find("__torch__.M").type;
  const auto method = ir::as_function(*type->as_class()->find_method("g")).graph();
  EXPECT_EQ(count_kind(method->block(), ir::NodeKind::kIf), 1u);
  const auto function = unit->find("__torch__.f").function->graph();
  EXPECT_EQ(count_kind(function->block(), ir::NodeKind::kIf), 0u);
}

}  // namespace
}  // namespace tierup::frontend::torchscript
