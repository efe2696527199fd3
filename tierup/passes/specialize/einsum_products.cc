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

Letters joined(Letters first, const Letters& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

// The letters by what they do in a product of matrices, in the order of the result; `depth` in the
// order of the first tensor.
struct Product {
  Letters batch, rows, depth, columns;
  size_t left = 0;  // Which of the two tensors has the rows.

  size_t right() const { return 1 - left; }

  // One matrix on the right serves rows of any number of letters; of several, each serves the rows
  // of its own entry, which become one dimension.
  bool joins_rows() const { return rows.size() > 1 && !batch.empty(); }

  Letters in_front() const { return joined(batch, rows); }
  Letters of_left() const { return joined(in_front(), depth); }
  Letters of_right() const { return joined(joined(batch, depth), columns); }
  Letters result() const { return joined(in_front(), columns); }
};

// Numbers that lie beside each other in the result had better do so in the product: where the first
// tensor's letters stand last in the result, it is the one on the right, unless that would bring a
// constant to the left.
bool is_better_turned(const Product& product, const Letters& output, bool second_is_constant) {
  return !second_is_constant && product.rows.size() < output.size() &&
         std::equal(product.rows.rbegin(), product.rows.rend(), output.rbegin());
}

std::optional<Product> product_of(const EinsumEquation& equation, bool second_is_constant) {
  const Letters& a = equation.inputs[0];
  const Letters& b = equation.inputs[1];
  if (!are_apart(a) || !are_apart(b) || !are_apart(equation.output)) return std::nullopt;
  Product product;
  for (const int64_t letter : equation.output) {
    if (has(a, letter) && has(b, letter))
      product.batch.push_back(letter);
    else if (has(a, letter))
      product.rows.push_back(letter);
    else if (has(b, letter))
      product.columns.push_back(letter);
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
  if (product.rows.empty() || product.columns.empty() || product.depth.empty()) return std::nullopt;
  if (is_better_turned(product, equation.output, second_is_constant)) {
    std::swap(product.rows, product.columns);
    product.left = 1;
  } else if (product.columns.size() > 1) {
    return std::nullopt;
  }
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
    if (list == nullptr || !list->is(NodeKind::kListConstruct) || list->inputs().size() != 2 ||
        !is_only_read(node.input(1))) {
      return std::nullopt;
    }
    return ops::einsum_letters(constant_of(node.input(0)), 2);
  }

  // Whether both tensors have the ranks that the equation gives them, and the letters that are
  // summed the same sizes: those that are not surely so are repeated, as einsum does.
  static bool fits(const EinsumEquation& equation, const Product& product, const Node& list) {
    const auto a = known_sizes(list.input(0));
    const auto b = known_sizes(list.input(1));
    return a && b && a->size() == equation.inputs[0].size() &&
           b->size() == equation.inputs[1].size() &&
           std::ranges::all_of(product.depth, [&](int64_t letter) {
             const Dim& in_a = size_of(letter, equation.inputs[0], *a);
             const Dim& in_b = size_of(letter, equation.inputs[1], *b);
             return is_same(in_a, in_b) || is_repeated(in_a, in_b) || is_repeated(in_b, in_a);
           });
  }

  // Of its type, or of the constant that it is.
  static std::optional<std::vector<Dim>> known_sizes(const Value* value) {
    const IValue* constant = constant_of(value);
    if (constant == nullptr || !constant->is_tensor()) return value->type()->facts().sizes;
    std::vector<Dim> sizes;
    for (const int64_t size : constant->to_tensor().sizes())
      sizes.push_back({Dim::Kind::kStatic, size});
    return sizes;
  }
  static const Dim& size_of(int64_t letter, const Letters& letters, const std::vector<Dim>& sizes) {
    return sizes[static_cast<size_t>(std::ranges::find(letters, letter) - letters.begin())];
  }
  static bool is_same(const Dim& a, const Dim& b) {
    return a.kind != Dim::Kind::kUnknown && a == b;
  }
  // To the other one, unless it is the same.
  static bool is_repeated(const Dim& a, const Dim& other) {
    return a.kind != Dim::Kind::kStatic && other.kind == Dim::Kind::kStatic;
  }

  // An operand with its summed letters as large as the other one's.
  Value* repeated(const Node& list, size_t side, const Product& product,
                  const EinsumEquation& equation) {
    const std::vector<Dim> own = *known_sizes(list.input(side));
    const std::vector<Dim> other = *known_sizes(list.input(1 - side));
    IntVector sizes(own.size(), -1);
    for (const int64_t letter : product.depth) {
      const Dim& wanted = size_of(letter, equation.inputs[1 - side], other);
      const IntVector place = places_of({letter}, equation.inputs[side]);
      if (is_repeated(own[static_cast<size_t>(place[0])], wanted))
        sizes[static_cast<size_t>(place[0])] = wanted.value;
    }
    if (std::ranges::all_of(sizes, [](int64_t size) { return size == -1; }))
      return list.input(side);
    const std::array<Value*, 3> arguments{
        list.input(side), editor_.constant(IValue(make_int_list(sizes))), editor_.constant(false)};
    Value* result = editor_.create_op(context_.table().with(OpKind::kExpand), arguments)->output();
    context_.hints().copy(list.input(side), result);
    return result;
  }

  void rewrite(Node* node) {
    const auto equation = equation_of(*node);
    if (!equation) return;
    const Node& list = *node->input(1)->node();
    const auto product = product_of(*equation, constant_of(list.input(1)) != nullptr);
    if (!product || !fits(*equation, *product, list)) return;
    editor_.set_insert_before(node);
    editor_.set_range(node->range());
    editor_.set_call_chain(node->call_chain());
    const IntVector to_result = places_of(product->result(), equation->output);
    Value* result = multiplied(*product, *equation, list);
    hint(node->output(), to_result, result);
    result = permuted(result, places_of(equation->output, product->result()));
    // It does not lie as PyTorch's: in order, it can be viewed in all ways that the other can.
    if (product->left == 1 && !std::ranges::is_sorted(to_result)) result = in_order(result);
    editor_.set_range({});
    editor_.set_type(result, node->output()->type());
    editor_.set_name(result, node->output()->name());
    context_.hints().copy(node->output(), result);
    editor_.replace_uses(node->output(), result);
    editor_.remove(node);
    context_.count("rewritten");
  }

  Value* in_order(Value* value) {
    constexpr int64_t kRowMajor = 0;
    const std::array<Value*, 2> arguments{value, editor_.constant(kRowMajor)};
    Value* result =
        editor_.create_op(context_.table().with(OpKind::kContiguous), arguments)->output();
    context_.hints().copy(value, result);
    return result;
  }

  Value* multiplied(const Product& product, const EinsumEquation& equation, const Node& list) {
    const auto summed = static_cast<int64_t>(product.depth.size());
    const auto batch = static_cast<int64_t>(product.batch.size());
    const auto columns = static_cast<int64_t>(product.columns.size());
    Value* left = permuted(repeated(list, product.left, product, equation),
                           places_of(product.of_left(), equation.inputs[product.left]));
    Value* right = permuted(repeated(list, product.right(), product, equation),
                            places_of(product.of_right(), equation.inputs[product.right()]));
    Value* rows = left;
    Value* whole_right = right;
    if (summed > 1) {
      left = flattened(left, -summed, -1);
      right = flattened(right, -summed - columns, -columns - 1);
    }
    if (columns > 1) right = flattened(right, -columns, -1);
    if (product.joins_rows()) left = flattened(left, batch, -2);
    const std::array<Value*, 2> operands{left, right};
    Value* result = editor_.create_op(context_.table().with(OpKind::kMatmul), operands)->output();
    if (columns > 1)
      result = parted(result, -1, whole_right, batch + summed, product.columns.size());
    return product.joins_rows() ? parted(result, batch, rows, batch, product.rows.size()) : result;
  }

  // The dimension `place` with the sizes that stand in another tensor from dimension `first` on.
  Value* parted(Value* value, int64_t place, Value* like, int64_t first, size_t count) {
    std::vector<Value*> sizes;
    for (size_t i = 0; i < count; ++i) {
      const std::array<Value*, 2> arguments{like,
                                            editor_.constant(first + static_cast<int64_t>(i))};
      sizes.push_back(
          editor_.create_op(context_.table().with(OpKind::kSizeOf), arguments)->output());
    }
    Value* list = editor_.add_output(editor_.create(NodeKind::kListConstruct, sizes),
                                     Type::list(Type::integer()));
    const std::array<Value*, 3> arguments{value, editor_.constant(place), list};
    return editor_.create_op(context_.table().with(OpKind::kUnflatten), arguments)->output();
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

  // With the dimensions from one to another as one; none if their sizes are not numbers.
  static std::optional<std::vector<Dim>> joined_sizes(std::vector<Dim> sizes, int64_t first,
                                                      int64_t last) {
    const auto rank = static_cast<int64_t>(sizes.size());
    const auto begin = sizes.begin() + (first < 0 ? first + rank : first);
    const auto end = sizes.begin() + (last < 0 ? last + rank : last) + 1;
    if (std::any_of(begin, end, [](const Dim& dim) { return dim.kind != Dim::Kind::kStatic; }))
      return std::nullopt;
    for (auto at = begin + 1; at != end; ++at) begin->value *= at->value;
    sizes.erase(begin + 1, end);
    return sizes;
  }

  Value* flattened(Value* value, int64_t first, int64_t last) {
    const std::array<Value*, 3> arguments{value, editor_.constant(first), editor_.constant(last)};
    Value* result = editor_.create_op(context_.table().with(OpKind::kFlatten), arguments)->output();
    const TensorFacts* seen = context_.hints().find(value);
    if (seen == nullptr) return result;
    TensorFacts facts;
    facts.dtype = seen->dtype;
    facts.sizes = seen->sizes ? joined_sizes(*seen->sizes, first, last) : std::nullopt;
    context_.hints().set(result, std::move(facts));
    return result;
  }

  PassContext& context_;
  ir::GraphEditor& editor_;
};

}  // namespace

void einsum_products(PassContext& context) {
  EinsumRewriter(context).visit(context.graph().block());
}

}  // namespace tierup::passes
