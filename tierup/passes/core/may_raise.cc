// An operator on tensors may raise unless its row's Fits rule every reason out here; one on other
// values if its row says so.
#include "tierup/passes/core/may_raise.h"

#include <algorithm>

#include "tierup/ops/shapes/shape_context.h"
#include "tierup/ops/table/facts.h"
#include "tierup/passes/core/value_queries.h"

namespace tierup::passes {

using ir::Node;
using ir::NodeKind;
using ir::Value;
using ops::Fits;
using ops::place_of_dim;
using ops::Sizes;

namespace {

bool holds_tensor(const Type& type) {
  return type.is(TypeKind::kTensor) ||
         std::any_of(type.elements().begin(), type.elements().end(),
                     [](const TypePtr& element) { return holds_tensor(*element); });
}

bool works_on_tensors(const ir::Schema& schema) {
  if (schema.is_varret) return true;  // A region.
  const auto is_tensor = [](const ir::Argument& argument) { return holds_tensor(*argument.type); };
  return std::any_of(schema.arguments.begin(), schema.arguments.end(), is_tensor) ||
         std::any_of(schema.returns.begin(), schema.returns.end(), is_tensor);
}

// Constant ints: a list's, or a single one.
std::optional<std::vector<int64_t>> ints_of(const Value* value) {
  const std::optional<IValue> constant = known_argument(value);
  return constant ? ops::constant_ints(ops::shape_of_constant(*constant)) : std::nullopt;
}

// Places of constant dimensions of a tensor of this rank; nothing if one is not known, or is out of
// range.
std::optional<std::vector<size_t>> places_of(const Value* dims, size_t rank) {
  const auto list = ints_of(dims);
  if (!list) return std::nullopt;
  std::vector<size_t> places;
  for (const int64_t dim : *list) {
    const auto place = place_of_dim(dim, rank);
    if (!place) return std::nullopt;
    places.push_back(*place);
  }
  return places;
}

bool are_equal(const Dim& a, const Dim& b) { return a.kind != Dim::Kind::kUnknown && a == b; }

bool can_broadcast(std::span<const Dim> a, std::span<const Dim> b) {
  const Dim one = ops::static_dim(1);
  for (size_t i = 1; i <= std::min(a.size(), b.size()); ++i) {
    const Dim& x = a[a.size() - i];
    const Dim& y = b[b.size() - i];
    if (x != one && y != one && !are_equal(x, y)) return false;
  }
  return true;
}

const std::optional<Sizes>& sizes_of(const Value* value) { return value->type()->facts().sizes; }

// An operator's call, its first argument being a tensor of known rank.
class Call {
 public:
  explicit Call(const Node& node)
      : node_(node), op_(ops::op_of(*node.op())), sizes_(*sizes_of(node.input(0))) {}

  // Whether its arguments are known to be ones that it does not raise for.
  bool fits() const {
    switch (op_.facts().fits) {
      case Fits::kUnknown:
      case Fits::kAnyTensor:
      case Fits::kNumber: return false;
      case Fits::kSizeOfDim: return has_places(1);
      case Fits::kDims: return node_.inputs().size() == 1 || has_places(1);
      case Fits::kTwoDims: return has_places(1) && has_places(2);
      case Fits::kNewDim: return places_of(node_.input(1), rank() + 1).has_value();
      case Fits::kPermutation: return is_fitting_permutation();
      case Fits::kMatrix: return rank() <= 2;
      case Fits::kIndex: return is_fitting_selection();
      case Fits::kStep: return is_fitting_slice();
      case Fits::kLinear:
      case Fits::kMatmul:
      case Fits::kMatrixProduct:
      case Fits::kBatchProduct: return is_fitting_product();
    }
    return false;
  }

 private:
  size_t rank() const { return sizes_.size(); }
  bool has_places(size_t i) const { return places_of(node_.input(i), rank()).has_value(); }

  bool is_fitting_permutation() const {
    auto places = places_of(node_.input(1), rank());
    if (!places || places->size() != rank()) return false;
    std::sort(places->begin(), places->end());
    return std::adjacent_find(places->begin(), places->end()) == places->end();
  }

  bool is_fitting_selection() const {
    const auto place = places_of(node_.input(1), rank());
    const auto index = ints_of(node_.input(2));
    if (!place || !index) return false;
    const Dim& size = sizes_[place->front()];
    return ops::is_static(size) &&
           place_of_dim(index->front(), static_cast<size_t>(size.value)).has_value();
  }

  bool is_fitting_slice() const {
    const auto step = ints_of(node_.input(4));
    return has_places(1) && step && step->front() > 0;
  }

  bool have_equal_floats(size_t i, size_t j) const {
    const auto dtype = node_.input(i)->type()->facts().dtype;
    return dtype && dtype == node_.input(j)->type()->facts().dtype &&
           (*dtype == ScalarType::kFloat || *dtype == ScalarType::kDouble);
  }

  bool is_fitting_product() const {
    if (!have_equal_floats(0, 1) || sizes_.empty() || !sizes_of(node_.input(1))) return false;
    const Sizes& other = *sizes_of(node_.input(1));
    switch (op_.facts().fits) {
      case Fits::kLinear: return is_fitting_linear(other);
      case Fits::kMatrixProduct: return rank() == 2 && other.size() == 2 && multiply(other);
      case Fits::kBatchProduct:
        return rank() == 3 && other.size() == 3 && are_equal(sizes_[0], other[0]) &&
               multiply(other);
      default: return multiply(other);
    }
  }

  // As matrices behind what is broadcast, vectors as rows or columns.
  bool multiply(const Sizes& other) const {
    if (other.empty()) return false;
    const size_t row = other.size() == 1 ? 0 : other.size() - 2;
    const std::span<const Dim> left(sizes_.data(), rank() - std::min<size_t>(rank(), 2));
    return are_equal(sizes_.back(), other[row]) && can_broadcast(left, {other.data(), row});
  }

  bool is_fitting_linear(const Sizes& weight) const {
    if (weight.size() != 2 || !are_equal(sizes_.back(), weight[1])) return false;
    const Value* bias = node_.input(2);
    if (const IValue* constant = constant_of(bias); constant != nullptr && constant->is_none())
      return true;
    const auto& sizes = sizes_of(bias);
    return have_equal_floats(0, 2) && sizes && sizes->size() == 1 &&
           are_equal(sizes->front(), weight[0]);
  }

  const Node& node_;
  const ops::Op& op_;
  const Sizes& sizes_;
};

// Whether a number is asked of a tensor that was made of one.
bool takes_back_number(const Node& node) {
  const Node* made = node.input(0)->node();
  return made != nullptr && made->is(NodeKind::kOp) && made->inputs().size() == 1 &&
         ops::op_of(*made->op()).facts().fits == Fits::kNumber &&
         made->input()->type()->is(TypeKind::kInt);
}

bool may_raise_op(const Node& node) {
  const ops::Op& op = ops::op_of(*node.op());
  if (node.inputs().size() == 1 && op.facts().fits == Fits::kNumber)
    return holds_tensor(*op.schema().arguments[0].type) && !takes_back_number(node);
  if (op.has_effect(ir::kMayRaise)) return true;
  if (!works_on_tensors(op.schema()) || op.facts().fits == Fits::kAnyTensor) return false;
  const bool has_sizes = !op.schema().is_mutating() && !node.inputs().empty() &&
                         node.input(0)->type()->is(TypeKind::kTensor) && sizes_of(node.input(0));
  return !has_sizes || !Call(node).fits();
}

}  // namespace

bool may_raise(const Node& node) {
  switch (node.kind()) {
    case NodeKind::kOp: return may_raise_op(node);
    case NodeKind::kListUnpack: {
      const Node* list = node.input()->node();
      const bool has_all = list != nullptr && list->is(NodeKind::kListConstruct) &&
                           list->inputs().size() == node.outputs().size();
      // Somebody may have changed it.
      return !has_all || !is_only_read(node.input());
    }
    case NodeKind::kToList:
    case NodeKind::kModuleIndex: return true;
    default: return false;
  }
}

}  // namespace tierup::passes
