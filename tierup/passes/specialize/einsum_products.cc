// See einsum_products.h.
#include "tierup/passes/specialize/einsum_products.h"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "tierup/ops/shapes/einsum_letters.h"
#include "tierup/passes/core/value_queries.h"

namespace tierup::passes {

using ir::Block;
using ir::Node;
using ir::NodeKind;
using ir::Value;
using ops::EinsumEquation;
using ops::OpKind;

namespace {

using Letters = std::vector<int64_t>;

bool has(const Letters& letters, int64_t letter) { return std::ranges::count(letters, letter) > 0; }

bool are_apart(const Letters& letters) {
  return std::ranges::all_of(
      letters, [&](int64_t letter) { return std::ranges::count(letters, letter) == 1; });
}

// The letters by what they do in a product of matrices, in the order of the result; `depth` in the
// order of the first tensor.
struct Product {
  Letters batch, rows, depth;
  int64_t column = 0;

  Letters in_front() const {
    Letters all = batch;
    all.insert(all.end(), rows.begin(), rows.end());
    return all;
  }
  Letters left() const {
    Letters all = in_front();
    all.insert(all.end(), depth.begin(), depth.end());
    return all;
  }
  Letters right() const {
    Letters all = batch;
    all.insert(all.end(), depth.begin(), depth.end());
    all.push_back(column);
    return all;
  }
  Letters result() const {
    Letters all = in_front();
    all.push_back(column);
    return all;
  }
};

std::optional<Product> product_of(const EinsumEquation& equation) {
  const Letters& a = equation.inputs[0];
  const Letters& b = equation.inputs[1];
  if (!are_apart(a) || !are_apart(b) || !are_apart(equation.output)) return std::nullopt;
  Product product;
  Letters columns;
  for (const int64_t letter : equation.output) {
    if (has(a, letter) && has(b, letter))
      product.batch.push_back(letter);
    else if (has(a, letter))
      product.rows.push_back(letter);
    else if (has(b, letter))
      columns.push_back(letter);
    else
      return std::nullopt;
  }
  for (const int64_t letter : a) {
    if (has(equation.output, letter)) continue;
    if (!has(b, letter)) return std::nullopt;  // It is summed before the product.
    product.depth.push_back(letter);
  }
  for (const int64_t letter : b) {
    if (!has(equation.output, letter) && !has(a, letter)) return std::nullopt;
  }
  if (product.rows.empty() || columns.size() != 1 || product.depth.empty()) return std::nullopt;
  // One matrix on the right serves rows of any number of letters.
  if (product.rows.size() > 1 && !product.batch.empty()) return std::nullopt;
  product.column = columns.front();
  return product;
}

IntVector places_of(const Letters& wanted, const Letters& given) {
  IntVector places;
  for (const int64_t letter : wanted)
    places.push_back(std::ranges::find(given, letter) - given.begin());
  return places;
}

class EinsumRewriter {
 public:
  explicit EinsumRewriter(PassContext& context) : context_(context), editor_(context.editor()) {}

  void visit(const Block& block) {
    std::vector<Node*> nodes;
    for (Node* node : block.nodes()) nodes.push_back(node);
    for (Node* node : nodes) {
      for (const Block* inner : node->blocks()) visit(*inner);
      if (role_of(*node) == ops::Role::kEinsum) rewrite(node);
    }
  }

 private:
  static std::optional<EinsumEquation> equation_of(const Node& node) {
    const Node* list = node.input(1)->node();
    if (!list->is(NodeKind::kListConstruct) || list->inputs().size() != 2) return std::nullopt;
    return ops::einsum_letters(constant_of(node.input(0)), 2);
  }

  // Whether both tensors have the ranks that the equation gives them, and the letters that are
  // summed surely the same sizes: others would be repeated.
  static bool fits(const EinsumEquation& equation, const Product& product, const Node& list) {
    const auto& a = list.input(0)->type()->facts().sizes;
    const auto& b = list.input(1)->type()->facts().sizes;
    if (!a || !b || a->size() != equation.inputs[0].size() ||
        b->size() != equation.inputs[1].size())
      return false;
    const IntVector in_a = places_of(product.depth, equation.inputs[0]);
    const IntVector in_b = places_of(product.depth, equation.inputs[1]);
    for (size_t i = 0; i < in_a.size(); ++i) {
      const Dim& size = (*a)[static_cast<size_t>(in_a[i])];
      if (size.kind == Dim::Kind::kUnknown || size != (*b)[static_cast<size_t>(in_b[i])])
        return false;
    }
    return true;
  }

  void rewrite(Node* node) {
    const auto equation = equation_of(*node);
    if (!equation) return;
    const auto product = product_of(*equation);
    const Node& list = *node->input(1)->node();
    if (!product || !fits(*equation, *product, list)) return;
    editor_.set_insert_before(node);
    editor_.set_range(node->range());
    editor_.set_call_chain(node->call_chain());
    const auto summed = static_cast<int64_t>(product->depth.size());
    Value* left = permuted(list.input(0), places_of(product->left(), equation->inputs[0]));
    Value* right = permuted(list.input(1), places_of(product->right(), equation->inputs[1]));
    if (summed > 1) {
      left = flattened(left, -summed, -1);
      right = flattened(right, -summed - 1, -2);
    }
    const std::array<Value*, 2> operands{left, right};
    Value* result = editor_.create_op(context_.table().with(OpKind::kMatmul), operands)->output();
    hint(node->output(), places_of(product->result(), equation->output), result);
    result = permuted(result, places_of(equation->output, product->result()));
    editor_.set_range({});
    editor_.set_type(result, node->output()->type());
    editor_.set_name(result, node->output()->name());
    context_.hints().copy(node->output(), result);
    editor_.replace_uses(node->output(), result);
    editor_.remove(node);
    context_.count("rewritten");
  }

  Value* permuted(Value* value, const IntVector& order) {
    if (std::ranges::is_sorted(order)) return value;
    const std::array<Value*, 2> arguments{value, editor_.constant(IValue(make_int_list(order)))};
    Value* result = editor_.create_op(context_.table().with(OpKind::kPermute), arguments)->output();
    hint(value, order, result);
    return result;
  }

  // Of what was seen of a value in another order.
  void hint(const Value* value, const IntVector& order, const Value* result) {
    const TensorFacts* seen = context_.hints().find(value);
    if (seen == nullptr) return;
    TensorFacts facts;
    facts.dtype = seen->dtype;
    if (seen->sizes && seen->sizes->size() == order.size()) {
      facts.sizes.emplace();
      for (const int64_t place : order)
        facts.sizes->push_back((*seen->sizes)[static_cast<size_t>(place)]);
    }
    context_.hints().set(result, std::move(facts));
  }

  Value* flattened(Value* value, int64_t first, int64_t last) {
    const std::array<Value*, 3> arguments{value, editor_.constant(first), editor_.constant(last)};
    return editor_.create_op(context_.table().with(OpKind::kFlatten), arguments)->output();
  }

  PassContext& context_;
  ir::GraphEditor& editor_;
};

}  // namespace

void einsum_products(PassContext& context) {
  EinsumRewriter(context).visit(context.graph().block());
}

}  // namespace tierup::passes
