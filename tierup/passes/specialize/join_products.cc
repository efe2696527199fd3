// See join_products.h. Families are found by the alias sets of the graph as it stands; what is
// rewritten afterwards only adds reads of memory that nobody writes.
#include "tierup/passes/specialize/join_products.h"

#include <algorithm>

#include "tierup/passes/core/value_queries.h"
#include "tierup/passes/specialize/exact_products.h"
#include "tierup/passes/specialize/few_rows.h"

namespace tierup::passes {

using ir::Block;
using ir::Node;
using ir::NodeKind;
using ir::Value;
using ops::Role;

namespace {

std::optional<int64_t> int_of(const Value* value) {
  const IValue* constant = constant_of(value);
  if (constant == nullptr || !constant->is_int()) return std::nullopt;
  return constant->to_int();
}

bool same_value(const Value* a, const Value* b) {
  if (a == b) return true;
  const IValue* x = constant_of(a);
  const IValue* y = constant_of(b);
  return x != nullptr && y != nullptr && same_constant(*x, *y);
}

// A slice of a tensor, or one of the parts that an operator takes it into.
struct Part {
  Value* base = nullptr;
  Node* taker = nullptr;
  size_t dim = 0;
  int64_t first = 0;  // Of the range [first, end); parts of a whole have none.
  int64_t end = 0;
  bool is_of_whole() const { return end == first; }
};

struct Member {
  Node* product;
  Part part;
  size_t output = 0;  // Among the parts of the whole.
};
using Family = std::vector<Member>;

class Joiner {
 public:
  explicit Joiner(PassContext& context)
      : context_(context), editor_(context.editor()), alias_(context.alias()) {}

  void run() {
    find(context_.graph().block());
    for (const Family& family : families_) {
      if (!is_worth(family)) continue;
      if (context_.target().keeps_bits && !is_exact(family)) {
        context_.count("rounds_otherwise");
      } else {
        join(family);
      }
    }
  }

 private:
  // Families of one block: a product stands where the first of them stood.
  void find(const Block& block) {
    const size_t begin = families_.size();
    for (Node* node : block.nodes()) {
      if (const auto member = member_of(*node)) add(*member, begin);
    }
    for (const Node* node : block.nodes()) {
      for (const Block* inner : node->blocks()) find(*inner);
    }
  }

  void add(const Member& member, size_t begin) {
    const auto found =
        std::find_if(families_.begin() + static_cast<std::ptrdiff_t>(begin), families_.end(),
                     [&](const Family& family) { return are_alike(family.front(), member); });
    if (found == families_.end()) {
      families_.push_back({member});
    } else {
      found->push_back(member);
    }
  }

  static bool are_alike(const Member& a, const Member& b) {
    if (a.part.base != b.part.base || a.part.dim != b.part.dim ||
        a.part.is_of_whole() != b.part.is_of_whole() || a.product->op() != b.product->op() ||
        (a.part.is_of_whole() && a.part.taker != b.part.taker)) {
      return false;
    }
    const auto x = a.product->inputs();
    const auto y = b.product->inputs();
    return std::equal(x.begin() + 1, x.end(), y.begin() + 1, y.end(), same_value);
  }

  std::optional<Member> member_of(Node& node) const {
    const Role role = role_of(node);
    if (role != Role::kLinear && role != Role::kMatmul) return std::nullopt;
    if (rank_of(node.input(1)) != 2 || !few_rows_of(context_, node.output())) return std::nullopt;
    const auto is_written = [&](const Value* value) {
      return constant_of(value) == nullptr && alias_.has_writers(value);
    };
    if (std::any_of(node.inputs().begin(), node.inputs().end(), is_written) ||
        alias_.has_writers(node.output()) || alias_.leaves(node.output())) {
      return std::nullopt;
    }
    const Value* rows = node.input(0);
    const auto part = part_of(rows);
    if (!part || part->taker->owner() != node.owner() || is_written(part->base))
      return std::nullopt;
    return Member{&node, *part, rows->index()};
  }

  std::optional<Part> part_of(const Value* rows) const {
    Node* node = rows->node();
    if (node == nullptr) return std::nullopt;
    if (node->is(NodeKind::kListUnpack)) return part_of_whole(*node);
    Part part{node->is(NodeKind::kOp) ? node->input(0) : nullptr, node};
    switch (role_of(*node)) {
      case Role::kSelect: {
        const auto dim = int_of(node->input(1));
        const auto index = int_of(node->input(2));
        if (!dim || !index || *index < 0 || !may_take(part.base, *dim, true)) return std::nullopt;
        part.dim = static_cast<size_t>(*dim);
        part.first = *index;
        part.end = *index + 1;
        return part;
      }
      case Role::kSlice: {
        const auto dim = int_of(node->input(1));
        const auto first = int_of(node->input(2));
        const auto end = int_of(node->input(3));
        if (!dim || !first || !end || int_of(node->input(4)) != 1 || *first < 0 || *end <= *first ||
            !may_take(part.base, *dim, false)) {
          return std::nullopt;
        }
        part.first = *first;
        part.end = *end;
        return part;
      }
      default: return std::nullopt;
    }
  }

  std::optional<Part> part_of_whole(Node& unpacking) const {
    Node* node = unpacking.input()->node();
    if (node == nullptr || unpacking.input()->uses().size() != 1) return std::nullopt;
    const Role role = role_of(*node);
    if (role != Role::kUnbind && role != Role::kParts) return std::nullopt;
    const auto dim = int_of(node->input(role == Role::kUnbind ? 1 : 2));
    if (!dim || !may_take(node->input(0), *dim, role == Role::kUnbind)) return std::nullopt;
    return Part{node->input(0), &unpacking, static_cast<size_t>(*dim)};
  }

  // Whether the dimension is another one than the product sums over, and parts of it can be made
  // to lie dense. An entry of a vector has no product.
  static bool may_take(const Value* base, int64_t dim, bool is_entry) {
    if (dim == 0 && is_entry) return true;
    const auto rank = rank_of(base);
    return rank && ((dim == 0 && *rank >= 2) || (dim == 1 && is_entry && *rank >= 3));
  }

  static bool is_worth(const Family& family) {
    if (family.size() < kFewestProducts) return false;
    const Part& one = family.front().part;
    if (one.is_of_whole()) return family.size() * 2 >= one.taker->outputs().size();
    int64_t covered = 0;
    for (const Member& member : family) covered += member.part.end - member.part.first;
    const auto [first, end] = range_of(family);
    return covered * 2 >= end - first;
  }
  static std::pair<int64_t, int64_t> range_of(const Family& family) {
    std::pair<int64_t, int64_t> range{family[0].part.first, family[0].part.end};
    for (const Member& member : family) {
      range.first = std::min(range.first, member.part.first);
      range.second = std::max(range.second, member.part.end);
    }
    return range;
  }

  static bool is_exact(const Family& family) {
    const Part& one = family.front().part;
    const auto [first, end] = range_of(family);
    const auto outputs = static_cast<int64_t>(one.taker->outputs().size());
    return joins_exactly(*family.front().product, one.is_of_whole() ? outputs : end - first);
  }

  void join(const Family& family) {
    const Member& one = family.front();
    editor_.set_insert_before(one.product);
    editor_.set_range(one.product->range());
    editor_.set_call_chain(one.product->call_chain());
    const int64_t first = one.part.is_of_whole() ? 0 : range_of(family).first;
    std::vector<Value*> inputs(one.product->inputs().begin(), one.product->inputs().end());
    inputs[0] = operand_of(family);
    const ir::Operator* op = &context_.table().with(role_of(*one.product));
    Value* products = editor_.create_op(*op, inputs)->output();
    give_hint(inputs[0], one.product->output(), products);
    if (one.part.is_of_whole()) {
      take_apart(family, products);
    } else {
      for (const Member& member : family) {
        editor_.set_insert_before(member.product);
        replace(*member.product, take(member.part, products, first));
      }
    }
    editor_.set_range({});
    editor_.set_call_chain(nullptr);
    context_.count("joined", static_cast<int64_t>(family.size()));
  }

  // What all members read, with the dimension that is taken apart in front. An earlier family may
  // have made it anew.
  Value* operand_of(const Family& family) {
    const Part& part = family.front().part;
    Value* base = part.is_of_whole() ? part.taker->input()->node()->input(0) : part.taker->input(0);
    TensorFacts seen;
    if (const TensorFacts* hint = context_.hints().find(base)) seen = *hint;
    const bool is_seen = seen.sizes && seen.sizes->size() >= 2;
    if (part.dim == 1) {
      base = create(Role::kTranspose,
                    {base, editor_.constant(int64_t{0}), editor_.constant(int64_t{1})});
      if (is_seen) std::swap((*seen.sizes)[0], (*seen.sizes)[1]);
      if (is_seen) context_.hints().set(base, seen);
    }
    if (part.is_of_whole()) return base;
    const auto [first, end] = range_of(family);
    base = create(Role::kSlice, {base, editor_.constant(int64_t{0}), editor_.constant(first),
                                 editor_.constant(end), editor_.constant(int64_t{1})});
    if (is_seen) {
      Dim& rows = (*seen.sizes)[0];
      if (rows.kind == Dim::Kind::kStatic) rows.value = std::min(rows.value, end) - first;
      context_.hints().set(base, seen);
    }
    return base;
  }

  // What was seen of the operand, and of one of the products.
  void give_hint(const Value* operand, const Value* product, const Value* products) {
    const TensorFacts* rows = context_.hints().find(operand);
    const TensorFacts* one = context_.hints().find(product);
    if (rows == nullptr || !rows->sizes || one == nullptr || !one->sizes || one->sizes->empty())
      return;
    TensorFacts seen = *rows;
    seen.sizes->back() = one->sizes->back();
    context_.hints().set(products, std::move(seen));
  }

  Value* take(const Part& part, Value* products, int64_t first) {
    std::vector<Value*> inputs(part.taker->inputs().begin(), part.taker->inputs().end());
    inputs[0] = products;
    inputs[1] = editor_.constant(int64_t{0});
    inputs[2] = editor_.constant(part.first - first);
    if (inputs.size() > 3) inputs[3] = editor_.constant(part.end - first);
    return editor_.create_op(*part.taker->op(), inputs)->output();
  }

  void take_apart(const Family& family, Value* products) {
    const Part& part = family.front().part;
    const Node* taker = part.taker->input()->node();
    std::vector<Value*> inputs(taker->inputs().begin(), taker->inputs().end());
    inputs[0] = products;
    inputs[role_of(*taker) == Role::kUnbind ? 1 : 2] = editor_.constant(int64_t{0});
    Value* list = editor_.create_op(*taker->op(), inputs)->output();
    Node* unpacking = editor_.create(NodeKind::kListUnpack, {list});
    for (size_t i = 0; i < part.taker->outputs().size(); ++i)
      editor_.add_output(unpacking, Type::tensor());
    for (const Member& member : family) replace(*member.product, unpacking->output(member.output));
  }

  Value* create(Role role, const std::vector<Value*>& inputs) {
    return editor_.create_op(context_.table().with(role), inputs)->output();
  }

  void replace(Node& product, Value* result) {
    Value* old = product.output();
    editor_.set_name(result, old->name());
    editor_.set_id(result, old->id());  // The same value, for who compares tiers.
    editor_.set_type(result, old->type());
    context_.hints().copy(old, result);
    editor_.replace_uses(old, result);
    editor_.remove(&product);
  }

  PassContext& context_;
  ir::GraphEditor& editor_;
  const analysis::AliasAnalysis& alias_;
  std::vector<Family> families_;
};

}  // namespace

void join_products(PassContext& context) { Joiner(context).run(); }

}  // namespace tierup::passes
