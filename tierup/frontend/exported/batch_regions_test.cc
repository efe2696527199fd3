// Regions of a vmap that no exporter writes: each is refused with an error that says why. What they
// compute is tested by tests/data/exported/defects_batches_training.pt2.
#include "tierup/frontend/exported/batch_regions.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "tierup/base/error.h"

namespace tierup::frontend::exported {
namespace {

using Kind = Argument::Kind;

Argument number(int64_t value) {
  Argument argument;
  argument.kind = Kind::kInt;
  argument.integer = value;
  return argument;
}

Argument named(Kind kind, std::string text) {
  Argument argument;
  argument.kind = kind;
  argument.text = std::move(text);
  return argument;
}

NodeData node(const std::string& target, std::vector<Argument> inputs, const std::string& output) {
  NodeData made;
  made.target = target;
  for (Argument& input : inputs) made.inputs.push_back({"", std::move(input)});
  made.outputs.push_back(output.empty() ? Argument() : named(Kind::kTensor, output));
  made.name = "node";
  return made;
}

const std::string kMarks = "torch._functorch.predispatch.";

NodeData opening(Argument batch = number(2), const std::string& randomness = "error") {
  return node(kMarks + "_vmap_increment_nesting",
              {std::move(batch), named(Kind::kString, randomness)}, "");
}

NodeData closing() { return node(kMarks + "_vmap_decrement_nesting", {}, ""); }

NodeData entry(const std::string& tensor, const std::string& example) {
  return node(kMarks + "_add_batch_dim", {named(Kind::kTensor, tensor), number(0), number(1)},
              example);
}

NodeData exit_of(const std::string& example, const std::string& result) {
  return node(kMarks + "_remove_batch_dim",
              {named(Kind::kTensor, example), number(1), number(2), number(0)}, result);
}

// The failure of a graph of these nodes, where "x" is a tensor of two rows.
std::string failure_of(std::vector<NodeData> nodes) {
  GraphData data;
  data.nodes = std::move(nodes);
  ir::Graph graph;
  SymbolTable symbols;
  GraphBuilder builder(graph, symbols, nullptr);
  const std::array<int64_t, 2> sizes{2, 3};
  Environment environment{
      {"x", builder.editor().constant(Tensor::empty(sizes, ScalarType::kFloat))}};
  try {
    builder.add_nodes(data, environment);
  } catch (const Error& error) {
    return std::string(error_code_name(error.code())) + ": " + error.what();
  }
  return "no error";
}

#define EXPECT_SAYS(text, part) EXPECT_NE(std::string(text).find(part), std::string::npos) << (text)

TEST(BatchRegions, WholeOnesAreTaken) {
  EXPECT_EQ(failure_of({opening(), entry("x", "a"), exit_of("a", "y"), closing()}), "no error");
}

TEST(BatchRegions, OneThatIsNotClosedIsNamed) {
  EXPECT_SAYS(failure_of({opening(), entry("x", "a"), exit_of("a", "y")}),
              "corrupt_archive: the vmap at node 'node' is not closed");
}

TEST(BatchRegions, NestUpToALimit) {
  std::vector<NodeData> nodes(51, opening());
  nodes.insert(nodes.end(), 51, closing());
  EXPECT_SAYS(failure_of(nodes), "recursion_limit: more than 50 vmaps in each other");
}

TEST(BatchRegions, ExamplesEndWithTheRegion) {
  EXPECT_SAYS(failure_of({opening(), entry("x", "a"), exit_of("a", "y"), closing(), opening(),
                          exit_of("a", "z"), closing()}),
              "corrupt_archive: the value 'a' is used before it is defined");
}

TEST(BatchRegions, TheirSizeIsAnInteger) {
  EXPECT_SAYS(failure_of({opening(named(Kind::kString, "two")), closing()}),
              "corrupt_archive: the batch size of a vmap is no integer");
}

TEST(BatchRegions, RandomNumbersOfExamplesAreUnsupported) {
  EXPECT_SAYS(failure_of({opening(number(2), "different"), closing()}),
              "unsupported: a vmap with randomness='different'");
}

}  // namespace
}  // namespace tierup::frontend::exported
