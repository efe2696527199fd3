// For each block: plan the groups, make their programs, see whether kernels over matrices suit
// them, then put the nodes in order and replace those of each group.
#include "tierup/passes/fuse/fuse_products.h"

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <unordered_map>
#include <unordered_set>

#include "tierup/ops/regions/group_loads.h"
#include "tierup/ops/regions/matrix_meta_tensors.h"
#include "tierup/ops/regions/matrix_stage.h"
#include "tierup/ops/regions/product_kinds.h"
#include "tierup/passes/core/value_queries.h"
#include "tierup/passes/core/view_chains.h"
#include "tierup/passes/fuse/gather_groups.h"
#include "tierup/passes/fuse/product_groups.h"
#include "tierup/passes/fuse/shared_groups.h"

namespace tierup::passes {
namespace {

using ir::Node;
using ir::Value;
using ops::GroupArgument;

using Nodes = std::vector<Node*>;

// A group as it will be: its nodes in program order, its program, and what goes in and out.
struct MadeGroup {
  Nodes nodes;
  std::vector<const Node*> kept;  // Views that others read, too.
  std::vector<Value*> inputs;     // Constants among them, until take_constants().
  std::vector<Value*> results;
  ops::GroupProgram program;
  std::vector<IntVector> sizes;  // Of the inputs.
  // Members whose right factor is a constant that lies column by column, and that factor row by
  // row.
  std::vector<std::pair<uint32_t, Tensor>> turned;
};

// Constants as they lie; what comes at run time is taken to lie in order.
Tensor meta_of(const Value& input, const IntVector& sizes) {
  const IValue* constant = constant_of(&input);
  if (constant == nullptr) return ops::meta_tensor(sizes);
  const Tensor& tensor = constant->to_tensor();
  return ops::meta_tensor(tensor.sizes(), tensor.strides(), tensor.dtype());
}

class ProgramMaker {
 public:
  ProgramMaker(ValueForms& forms, const ProductPlanner& planner, const ProductGroup& group,
               const std::unordered_map<const Node*, size_t>& places)
      : forms_(forms), planner_(planner), computed_(group.members) {
    sort(computed_, places);
    made_.nodes = group.members;
    made_.nodes.insert(made_.nodes.end(), group.views.begin(), group.views.end());
    sort(made_.nodes, places);
    inside_.insert(made_.nodes.begin(), made_.nodes.end());
  }

  MadeGroup make() {
    find_kept_views();
    for (const Node* member : computed_) {
      index_.emplace(member->output(), static_cast<uint32_t>(index_.size()));
    }
    for (const Node* member : computed_) add(*member);
    made_.program.input_count = static_cast<uint32_t>(made_.inputs.size());
    for (const Node* member : computed_) {
      if (!is_read_outside(member->output())) continue;
      made_.program.outputs.push_back(index_.at(member->output()));
      made_.results.push_back(member->output());
    }
    for (const Value* input : made_.inputs)
      made_.sizes.push_back(*static_sizes(forms_.known_shape(input)));
    return std::move(made_);
  }

 private:
  static void sort(Nodes& nodes, const std::unordered_map<const Node*, size_t>& places) {
    std::sort(nodes.begin(), nodes.end(),
              [&](const Node* a, const Node* b) { return places.at(a) < places.at(b); });
  }

  bool is_read_outside(const Value* value) const {
    const auto uses = value->uses();
    return std::any_of(uses.begin(), uses.end(), [&](const ir::Use& use) {
      return !inside_.contains(use.user) || is_kept(use.user);
    });
  }
  bool is_kept(const Node* node) const {
    return std::find(made_.kept.begin(), made_.kept.end(), node) != made_.kept.end();
  }
  void find_kept_views() {
    for (auto node = made_.nodes.rbegin(); node != made_.nodes.rend(); ++node) {
      if (std::find(computed_.begin(), computed_.end(), *node) != computed_.end()) continue;
      const auto outputs = (*node)->outputs();
      if (std::any_of(outputs.begin(), outputs.end(),
                      [&](const Value* output) { return is_read_outside(output); })) {
        made_.kept.push_back(*node);
      }
    }
  }

  void add(const Node& member) {
    const RowCall* call = planner_.row_call(&member);
    ops::GroupProgram& program = made_.program;
    program.members.push_back({&ops::op_of(*member.op()), {}, call != nullptr});
    ops::GroupMember& made = program.members.back();
    made.multiplies = is_product(member);
    if (call != nullptr) {
      made.space = call->meaning.space;
      program.row_rank = static_cast<uint32_t>(call->meaning.row_rank);
    }
    for (size_t i = 0; i < member.inputs().size(); ++i) {
      made.arguments.push_back(argument_of(member.input(i)));
      if (call != nullptr && call->rank != 0) {
        made.arguments.back().from_back = call->arguments[i].value;
      }
    }
  }

  GroupArgument argument_of(Value* value) {
    if (!is_tensor(value)) return {GroupArgument::Source::kConstant, 0, *known_argument(value)};
    ViewChain chain = longest_view_chain(
        value, [&](const Value* at) { return index_.contains(at) || !has_known_sizes(at); });
    // What would be copied, or is of unknown size, stays a step outside.
    const bool is_inside = index_.contains(chain.source);
    if (!is_inside && (!has_known_sizes(chain.source) || !fits(chain))) chain = {value, {}, {}};
    GroupArgument argument = source_of(const_cast<Value*>(chain.source));
    if (!chain.steps.empty()) argument.chain = chain_of(value, chain);
    return argument;
  }
  bool fits(const ViewChain& chain) {
    if (chain.steps.empty()) return true;
    const IntVector sizes = *static_sizes(forms_.shape(chain.source));
    try {
      ops::meta_through(meta_of(*chain.source, sizes), {chain.steps, {}});
    } catch (const Error&) {
      return false;
    }
    return true;
  }
  bool has_known_sizes(const Value* value) { return static_sizes(forms_.shape(value)).has_value(); }
  uint32_t chain_of(const Value* value, const ViewChain& chain) {
    const auto [known, is_new] =
        chains_.emplace(value, static_cast<uint32_t>(made_.program.chains.size()));
    if (is_new) made_.program.chains.push_back({chain.steps, forms_.form(value).category});
    return known->second;
  }
  GroupArgument source_of(Value* value) {
    const auto member = index_.find(value);
    if (member != index_.end()) return {GroupArgument::Source::kMember, member->second, {}};
    const auto known = std::find(made_.inputs.begin(), made_.inputs.end(), value);
    const auto place = static_cast<uint32_t>(known - made_.inputs.begin());
    if (known == made_.inputs.end()) made_.inputs.push_back(value);
    return {GroupArgument::Source::kInput, place, {}};
  }

  ValueForms& forms_;
  const ProductPlanner& planner_;
  Nodes computed_;
  std::unordered_set<const Node*> inside_;
  std::unordered_map<const Value*, uint32_t> index_;   // The members by their results.
  std::unordered_map<const Value*, uint32_t> chains_;  // By what they show.
  MadeGroup made_;
};

class Fuser {
 public:
  Fuser(PassContext& context, const FusionOptions& options)
      : context_(context), options_(options), forms_(context.hints()) {}

  // Plans everything first, by the alias sets of the graph as it stands, and edits afterwards.
  void run() {
    plan(context_.graph().block());
    for (auto& [block, groups] : plans_) edit(*block, groups);
  }

 private:
  void plan(const ir::Block& block) {
    for (const Value* param : block.params()) forms_.form(param);
    ProductPlanner planner(context_.alias(), forms_);
    planner.plan(block);
    std::unordered_map<const Node*, size_t> places;
    for (const Node* node : block.nodes()) places.emplace(node, places.size());
    std::vector<MadeGroup> groups;
    for (const ProductGroup& group : planner.groups()) {
      if (group.products == 0) continue;
      ops::RefusedGroup refusal = ops::GroupRefusal::kAlone;
      if (group.members.size() >= std::max<size_t>(options_.min_size, 2)) {
        MadeGroup made = ProgramMaker(forms_, planner, group, places).make();
        refusal = refusal_of(made);
        if (!refusal) groups.push_back(std::move(made));
      }
      if (refusal) refuse(group.members, refusal);
    }
    for (const auto& [node, refusal] : planner.refused()) refuse({node}, refusal);
    if (!groups.empty()) plans_.emplace_back(&block, std::move(groups));
    for (const Node* node : block.nodes()) {
      for (const ir::Block* inner : node->blocks()) plan(*inner);
    }
  }

  // Also finds what is to be turned.
  ops::RefusedGroup refusal_of(MadeGroup& made) {
    std::vector<Tensor> inputs;
    for (size_t i = 0; i < made.sizes.size(); ++i) {
      inputs.push_back(meta_of(*made.inputs[i], made.sizes[i]));
    }
    const ops::MatrixMetaTensors metas(made.program, inputs);
    if (metas.refusal()) return metas.refusal();
    for (uint32_t i = 0; i < made.program.members.size(); ++i) {
      if (!made.program.members[i].multiplies) continue;
      const ops::ColumnStep step = ops::right_step(metas.factors(i).right);
      if (step == ops::ColumnStep::kOne || step == ops::ColumnStep::kNone) continue;
      if (auto turned = turned_constant(made, i, metas)) made.turned.emplace_back(i, *turned);
    }
    return {};
  }

  std::optional<Tensor> turned_constant(const MadeGroup& made, uint32_t index,
                                        const ops::MatrixMetaTensors& metas) {
    const ops::GroupMember& member = made.program.members[index];
    const ops::Factors& factors = metas.factors(index);
    const auto places = ops::product_arguments(member.op->facts().product);
    const GroupArgument& argument =
        member.arguments[factors.are_swapped ? places.left : places.right];
    if (argument.source != GroupArgument::Source::kInput) return std::nullopt;
    const IValue* constant = constant_of(made.inputs[argument.index]);
    if (constant == nullptr) return std::nullopt;
    const Tensor& whole = constant->to_tensor();
    // As it lies from the constant's first element on.
    const Tensor lying =
        Tensor::from_storage(whole.storage(), whole.dtype(), factors.right.sizes(),
                             factors.right.strides(), whole.offset() + factors.right.offset());
    std::vector<int64_t> key{lying.offset()};
    key.insert(key.end(), lying.sizes().begin(), lying.sizes().end());
    key.insert(key.end(), lying.strides().begin(), lying.strides().end());
    Tensor& turned = turned_[{whole.impl(), std::move(key)}];
    if (!turned.defined()) turned = ops::copied_in_order(lying);
    if (WeightReads* reads = context_.weight_reads()) reads->note(whole);
    return turned;
  }

  void refuse(const Nodes& members, const ops::RefusedGroup& refusal) {
    for (Node* node : members) {
      if (is_product(*node)) refuse_group(context_, node, refusal);
    }
  }

  void edit(const ir::Block& block, std::vector<MadeGroup>& groups) {
    std::vector<const Nodes*> nodes;
    for (const MadeGroup& group : groups) nodes.push_back(&group.nodes);
    gather_groups(context_, nodes, block);
    for (MadeGroup& group : groups) replace(group);
  }

  void replace(MadeGroup& made) {
    std::vector<ops::ValueForm> expected = take_constants(made);
    for (const auto& [member, tensor] : made.turned) {
      made.program.members[member].turned = static_cast<uint32_t>(expected.size());
      made.sizes.emplace_back(tensor.sizes().begin(), tensor.sizes().end());
      made.program.constants.push_back(tensor);
      expected.push_back(ops::form_of(*tensor.impl()));
    }
    auto group = make_ref<ops::FusionGroup>(std::move(made.program));
    const std::vector<bool> uniform(expected.size(), false);
    group->expect(std::move(expected), uniform);
    group->expect_sizes(std::move(made.sizes));
    const Ref<ops::FusionGroup> shared = groups_.shared(group);
    if (shared != group) context_.count("shared");
    emit(made, shared);
  }

  // Constants stand behind the other inputs, and in the program: a step need not be given them.
  std::vector<ops::ValueForm> take_constants(MadeGroup& made) {
    std::vector<uint32_t> order(made.inputs.size());
    std::iota(order.begin(), order.end(), 0U);
    const auto given = std::stable_partition(order.begin(), order.end(), [&](uint32_t input) {
      return constant_of(made.inputs[input]) == nullptr;
    });
    std::vector<uint32_t> places(order.size());
    std::vector<ops::ValueForm> expected;
    std::vector<IntVector> sizes;
    std::vector<Value*> inputs;
    for (const uint32_t input : order) {
      places[input] = static_cast<uint32_t>(sizes.size());
      expected.push_back(forms_.form(made.inputs[input]));
      sizes.push_back(made.sizes[input]);
      const IValue* constant = constant_of(made.inputs[input]);
      if (constant != nullptr) made.program.constants.push_back(constant->to_tensor());
    }
    for (auto input = order.begin(); input != given; ++input) {
      inputs.push_back(made.inputs[*input]);
    }
    for (ops::GroupMember& member : made.program.members) {
      for (GroupArgument& argument : member.arguments) {
        if (argument.source == GroupArgument::Source::kInput) {
          argument.index = places[argument.index];
        }
      }
    }
    made.program.input_count = static_cast<uint32_t>(inputs.size());
    made.inputs = std::move(inputs);
    made.sizes = std::move(sizes);
    return expected;
  }

  // Views that others read stay, behind the step.
  void emit(const MadeGroup& made, Ref<ops::FusionGroup> group) {
    ir::GraphEditor& editor = context_.editor();
    const Node* last = made.nodes.back();
    editor.set_insert_before(made.nodes.front());
    editor.set_range(last->range());
    editor.set_call_chain(last->call_chain());
    const std::string text = group->to_string();
    Value* capsule = editor.constant(IValue::capsule(std::move(group)));
    Node* step = editor.create_bare_op(context_.table().with(ops::Role::kFusionGroup));
    for (Value* input : made.inputs) {
      const auto replaced = replaced_.find(input);
      editor.add_input(step, replaced == replaced_.end() ? input : replaced->second);
    }
    editor.add_input(step, capsule);
    editor.set_attr(step, ir::AttrName::kNote, text);
    for (Value* result : made.results) {
      Value* output = editor.add_output(step, result->type(), result->name());
      editor.set_id(output, result->id());  // The same value, for who compares tiers.
      context_.hints().copy(result, output);
      editor.replace_uses(result, output);
      replaced_.emplace(result, output);
    }
    for (auto node = made.nodes.rbegin(); node != made.nodes.rend(); ++node) {
      if (std::find(made.kept.begin(), made.kept.end(), *node) == made.kept.end()) {
        editor.remove(*node);
      }
    }
    context_.count("groups");
    context_.count("fused", static_cast<int64_t>(made.nodes.size()));
  }

  PassContext& context_;
  const FusionOptions& options_;
  ValueForms forms_;
  std::vector<std::pair<const ir::Block*, std::vector<MadeGroup>>> plans_;
  std::unordered_map<const Value*, Value*> replaced_;  // Results of members, by those of steps.
  // By the constant and how a factor lies in it.
  std::map<std::pair<const TensorImpl*, std::vector<int64_t>>, Tensor> turned_;
  SharedGroups groups_;
};

}  // namespace

void fuse_products(PassContext& context, const FusionOptions& options) {
  Fuser(context, options).run();
}

}  // namespace tierup::passes
