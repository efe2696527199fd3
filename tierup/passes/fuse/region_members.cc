#include "tierup/passes/fuse/region_members.h"

#include <algorithm>
#include <ranges>

#include "tierup/ops/regions/group_loads.h"
#include "tierup/ops/regions/matrix_meta_tensors.h"
#include "tierup/ops/regions/product_kinds.h"
#include "tierup/passes/core/value_queries.h"

namespace tierup::passes {

using ir::Node;
using ir::NodeKind;
using ir::Value;
using kernels::net::OpKind;

OpKind kind_of(const Node& node) {
  if (node.is(NodeKind::kListConstruct)) {
    const TypePtr& type = node.output()->type();
    if (!type->is(TypeKind::kList) || !is_only_read(node.output())) return OpKind::kNone;
    if (type->element()->is(TypeKind::kInt)) return OpKind::kList;
    return type->element()->is(TypeKind::kTensor) ? OpKind::kTensors : OpKind::kNone;
  }
  return node.is(NodeKind::kOp) ? ops::net_kind(ops::op_of(*node.op())) : OpKind::kNone;
}

std::optional<kernels::net::Pointwise> pointwise_of(const Node& node) {
  if (!node.is(NodeKind::kOp) || ops::op_of(*node.op()).body() == nullptr) return std::nullopt;
  std::vector<ops::MeaningArgument> arguments;
  for (const Value* input : node.inputs()) {
    const IValue* constant = constant_of(input);
    const bool is_float = constant == nullptr && input->type()->is(TypeKind::kTensor);
    if (constant == nullptr && !is_float) return std::nullopt;
    ops::MeaningArgument& argument = arguments.emplace_back();
    if (is_float) {
      argument.tensor = ops::ValueForm{};
    } else if (constant->is_tensor()) {
      argument.tensor = ops::form_of(*constant->to_tensor().impl());
    } else {
      argument.value = *constant;
    }
  }
  return ops::net_pointwise(ops::op_of(*node.op()), arguments);
}

bool takes_mask(OpKind kind, size_t argument) {
  return (kind == OpKind::kAttention && argument == 3) ||
         (kind == OpKind::kMaskedFill && argument == 1) ||
         (kind == OpKind::kMultiHead && argument == 9) ||
         (kind == OpKind::kEncoderLayer && argument == 18);
}

bool is_in_place(const Node& node) {
  if (!node.is(NodeKind::kOp)) return false;
  const auto& arguments = node.op()->schema().arguments;
  return !arguments.empty() && arguments[0].alias.is_write;
}

bool is_view(const Node& node) {
  if (!node.is(NodeKind::kOp)) return false;
  const ir::Schema& schema = node.op()->schema();
  return !is_in_place(node) && !schema.returns.empty() &&
         (!schema.returns[0].alias.empty() || !schema.returns[0].element_alias.empty());
}

Node* sole_unpacking(const Node& node) {
  if (node.outputs().size() != 1 || node.output()->uses().size() != 1) return nullptr;
  Node* user = node.output()->uses()[0].user;
  const bool fits =
      user != nullptr && user->is(NodeKind::kListUnpack) && user->owner() == node.owner();
  return fits ? user : nullptr;
}

namespace {

// Sizes are made of whole numbers; what is not known is a number of the region.
bool may_be_whole(const Value* value) {
  const IValue* constant = constant_of(value);
  if (constant == nullptr || constant->is_int()) return true;
  return constant->is_tensor() && is_integral(constant->to_tensor().dtype(), false);
}

}  // namespace

OpKind kind_over_numbers(const Node& node, OpKind kind) {
  const auto operands = node.inputs().first(std::min<size_t>(node.inputs().size(), 2));
  if (!std::ranges::all_of(operands, may_be_whole)) return kind;
  const bool has_factor = node.inputs().size() > 2;
  const IValue* factor = has_factor ? constant_of(node.input(2)) : nullptr;
  if (has_factor && (factor == nullptr || !factor->is_int() || factor->to_int() != 1)) return kind;
  switch (kind) {
    case OpKind::kAdd: return OpKind::kIntAdd;
    case OpKind::kSub: return OpKind::kIntSub;
    case OpKind::kMul: return OpKind::kIntMul;
    default: return kind;
  }
}

TensorFacts seen_facts(const Value* value, const ir::ValueHints& hints) {
  const TensorFacts* hint = hints.find(value);
  return hint != nullptr ? *hint : value->type()->facts();
}

namespace {

// A constant, or a tensor without data of sizes that were all seen.
std::optional<Tensor> seen_meta_tensor(const Value* value, const ir::ValueHints& hints) {
  if (const IValue* constant = constant_of(value)) {
    return constant->is_tensor() ? std::optional(constant->to_tensor()) : std::nullopt;
  }
  const std::optional<IntVector> sizes = static_sizes(seen_facts(value, hints).sizes);
  if (!sizes) return std::nullopt;
  return ops::meta_tensor(*sizes);
}

// As it was seen.
bool is_small_product(const Node& node, OpKind kind, const ir::ValueHints& hints) {
  if (kind != OpKind::kMatmul) return false;
  std::optional<IntVector> sizes[2];
  for (size_t i = 0; i < 2; ++i) {
    sizes[i] = static_sizes(seen_facts(node.input(i), hints).sizes);
    if (constant_of(node.input(i)) != nullptr || !sizes[i]) return false;
  }
  return ops::is_small_product(*sizes[0], *sizes[1]);
}

// As it was seen.
bool is_stencil_of_planes(const Node& node, OpKind kind, const ir::ValueHints& hints) {
  if (kind != OpKind::kConv && kind != OpKind::kConvolution) return false;
  const std::optional<Tensor> input = seen_meta_tensor(node.input(0), hints);
  const std::optional<Tensor> weight = seen_meta_tensor(node.input(1), hints);
  return input && weight && ops::is_stencil_of_planes(input->sizes(), weight->sizes());
}

}  // namespace

bool is_worth_it(const std::vector<RegionMember>& members, const ir::ValueHints& hints) {
  bool has_large = false;
  bool has_small = false;
  bool has_softmax = false;
  for (const RegionMember& member : members) {
    if (is_stencil_of_planes(*member.node, member.kind, hints)) continue;
    const bool is_small = is_small_product(*member.node, member.kind, hints);
    (is_small ? has_small : has_large) |= ops::is_heavy(member.kind);
    has_softmax |= member.kind == OpKind::kSoftmax;
  }
  return has_large || (has_small && has_softmax);
}

namespace {

// Whether packing the weight once, instead of reading it as it lies or copying it in each call, is
// more than what is lost among the rows' work.
bool has_few_rows(const Node& node, const ir::ValueHints& hints) {
  constexpr int64_t kMostRows = 128;  // Copying a number takes as long as some eight products.
  if (!node.is(NodeKind::kOp)) return false;  // A list, say.
  const ops::ProductKind kind = ops::op_of(*node.op()).facts().product;
  if (kind == ops::ProductKind::kNone) return false;
  const ops::ProductArguments places = ops::product_arguments(kind);
  if (constant_of(node.input(places.right)) == nullptr) return false;
  const std::optional<Tensor> left = seen_meta_tensor(node.input(places.left), hints);
  const std::optional<Tensor> right = seen_meta_tensor(node.input(places.right), hints);
  if (!left || !right || right->dim() != 2 || right->numel() == 0) return false;
  return left->numel() > 0 && left->dim() > 0 && left->numel() / left->size(-1) <= kMostRows &&
         left->numel() / left->size(-1) * right->numel() > ops::kMaxFusedProduct;
}

}  // namespace

bool gains_alone(const RegionMember& member, const ir::ValueHints& hints) {
  switch (member.kind) {
    case OpKind::kConv:
    case OpKind::kConvolution:
    case OpKind::kConvTransposed: return constant_of(member.node->input(1)) != nullptr;
    case OpKind::kMultiHead:
    case OpKind::kEncoderLayer: return true;
    default: return has_few_rows(*member.node, hints);
  }
}

namespace {

// Point-wise, over rows, or a view that copies nothing. A row operator is called as a step would
// be, which takes longer than what a net does for a single row.
bool goes_along(const Node& node, const ir::ValueHints& hints) {
  if (!node.is(NodeKind::kOp)) return false;
  const ops::Op& op = ops::op_of(*node.op());
  if (op.body() != nullptr || op.role() == ops::Role::kTranspose) return true;
  if (op.role() != ops::Role::kRowwise) return false;
  const std::optional<Tensor> rows = seen_meta_tensor(node.input(0), hints);
  return rows && rows->dim() > 0 && rows->numel() > rows->size(-1);
}

bool is_grouped_product(const Node& node, const ir::ValueHints& hints) {
  if (!node.is(NodeKind::kOp)) return false;
  const ops::ProductKind kind = ops::op_of(*node.op()).facts().product;
  if (kind == ops::ProductKind::kNone) return false;
  const ops::ProductArguments places = ops::product_arguments(kind);
  const std::optional<Tensor> left = seen_meta_tensor(node.input(places.left), hints);
  const std::optional<Tensor> right = seen_meta_tensor(node.input(places.right), hints);
  if (!left || !right) return false;
  try {
    const std::optional<ops::Factors> factors = ops::factors_of(kind, *left, *right);
    return factors && !ops::is_large_product(*factors) &&
           factors->sizes.size() <= ops::MatrixMetaTensors::kMaxRank;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

bool is_left_to_a_group(const std::vector<RegionMember>& members, const GateWork& gates,
                        const PassContext& context) {
  const ir::ValueHints& hints = context.hints();
  const auto is_parted = [&](const Value* value) {
    return std::any_of(value->uses().begin(), value->uses().end(), [&](const ir::Use& use) {
      return use.user != nullptr && gates.gives_gates(use.user);
    });
  };
  const auto gives_gates = [&](const RegionMember& member) {
    const auto outputs = member.node->outputs();
    return std::any_of(outputs.begin(), outputs.end(), is_parted);
  };
  const auto is_small = [&](const RegionMember& member) {
    return !ops::is_heavy(member.kind) || is_grouped_product(*member.node, hints);
  };
  const auto is_grouped = [&](const RegionMember& member) {
    return is_grouped_product(*member.node, hints) || goes_along(*member.node, hints);
  };
  const auto& has_groups = context.target().has_groups;
  return has_groups && std::all_of(members.begin(), members.end(), is_small) &&
         (std::any_of(members.begin(), members.end(), gives_gates) ||
          std::all_of(members.begin(), members.end(), is_grouped)) &&
         has_groups();
}

bool makes_product(OpKind kind) {
  return ops::is_heavy(kind) || kind == OpKind::kBatchMatmul || kind == OpKind::kAttention;
}

std::vector<const Node*> leading_nowhere(const std::vector<RegionMember>& members) {
  std::unordered_set<const Node*> leading;
  std::vector<const Node*> others;
  for (const RegionMember& member : members | std::views::reverse) {
    const auto is_needed = [&](const Value* output) {
      return std::ranges::any_of(output->uses(),
                                 [&](const ir::Use& use) { return leading.contains(use.user); });
    };
    const bool leads =
        makes_product(member.kind) || std::ranges::any_of(outputs_of(member), is_needed);
    if (leads) {
      leading.insert(member.node);
      if (member.unpacking != nullptr) leading.insert(member.unpacking);
    } else if (ops::stands_between(member.kind)) {
      others.push_back(member.node);
    }
  }
  return others;
}

bool depends_on(const Node& node, const std::unordered_set<const Value*>& values) {
  return std::any_of(node.inputs().begin(), node.inputs().end(),
                     [&](const Value* input) { return values.contains(input); });
}

std::unordered_set<const Value*> mark_followers(std::vector<RegionMember>& members) {
  std::unordered_set<const Value*> given;
  for (RegionMember& member : members) {
    member.follows = member.stays && depends_on(*member.node, given);
    if (member.stays && !member.follows) continue;
    for (const Value* output : outputs_of(member)) given.insert(output);
  }
  return given;
}

}  // namespace tierup::passes
