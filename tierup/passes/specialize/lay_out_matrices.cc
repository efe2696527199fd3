#include "tierup/passes/specialize/lay_out_matrices.h"

#include <algorithm>
#include <vector>

#include "tierup/passes/core/value_queries.h"
#include "tierup/passes/specialize/exact_products.h"
#include "tierup/passes/specialize/few_rows.h"

namespace tierup::passes {

using ir::Block;
using ir::Node;
using ir::Value;
using ops::Role;

namespace {

struct Matrix {
  Value* weight;
  std::vector<Node*> products;  // Of one block, in order.
};

class Layouter {
 public:
  explicit Layouter(PassContext& context) : context_(context), alias_(context.alias()) {}

  void run() {
    find(context_.graph().block());
    for (const Matrix& matrix : matrices_) {
      if (matrix.products.size() < kFewestProducts) continue;
      if (context_.target().keeps_bits && !is_exact(matrix)) {
        context_.count("rounds_otherwise");
      } else {
        lay_out(matrix);
      }
    }
  }

 private:
  void find(const Block& block) {
    for (Node* node : block.nodes()) {
      for (const Block* inner : node->blocks()) find(*inner);
      if (is_taken(*node)) add(*node);
    }
  }

  void add(Node& product) {
    const auto known = std::ranges::find_if(matrices_, [&](const Matrix& matrix) {
      return matrix.weight == product.input(1) && matrix.products[0]->owner() == product.owner();
    });
    if (known != matrices_.end()) {
      known->products.push_back(&product);
    } else {
      matrices_.push_back({product.input(1), {&product}});
    }
  }

  bool is_taken(const Node& node) const {
    if (role_of(node) != Role::kLinear) return false;
    const Value* weight = node.input(1);
    if (constant_of(weight) != nullptr || rank_of(weight) != 2 || alias_.has_writers(weight))
      return false;
    const auto rows = few_rows_of(context_, node.output());
    return rows && *rows > 1;
  }

  // Products of equal sizes are tried once.
  static bool is_exact(const Matrix& matrix) {
    const auto rows_of = [](const Node* product) { return product->input(0)->type()->facts(); };
    const Node* tried = nullptr;
    for (const Node* product : matrix.products) {
      if (tried != nullptr && rows_of(tried) == rows_of(product)) continue;
      if (!lays_out_exactly(*product)) return false;
      tried = product;
    }
    return true;
  }

  void lay_out(const Matrix& matrix) {
    ir::GraphEditor& editor = context_.editor();
    Node* first = matrix.products[0];
    editor.set_insert_before(first);
    editor.set_range(first->range());
    editor.set_call_chain(first->call_chain());
    Value* zero = editor.constant(int64_t{0});
    Value* one = editor.constant(int64_t{1});
    const auto create = [&](Role role, const std::vector<Value*>& inputs) {
      return editor.create_op(context_.table().with(role), inputs)->output();
    };
    Value* turned = create(Role::kTranspose, {matrix.weight, zero, one});
    Value* dense = create(Role::kContiguous, {turned, zero});
    Value* same = create(Role::kTranspose, {dense, zero, one});
    editor.set_type(same, matrix.weight->type());
    for (Node* product : matrix.products) editor.set_input(product, 1, same);
    editor.set_range({});
    editor.set_call_chain(nullptr);
    context_.count("laid_out");
  }

  PassContext& context_;
  const analysis::AliasAnalysis& alias_;
  std::vector<Matrix> matrices_;
};

}  // namespace

void lay_out_matrices(PassContext& context) { Layouter(context).run(); }

}  // namespace tierup::passes
