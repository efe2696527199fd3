// For each block: plan the groups (fusion_groups.h), put the nodes into an order in which every
// group can stand in one place, then replace its members.
#include "tierup/passes/fuse/fuse_pointwise.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "tierup/ops/regions/fusion_group.h"
#include "tierup/passes/core/value_queries.h"
#include "tierup/passes/fuse/fusion_groups.h"
#include "tierup/passes/fuse/gather_groups.h"
#include "tierup/passes/fuse/shared_groups.h"

namespace tierup::passes {
namespace {

using ir::Node;
using ir::Value;
using ops::GroupArgument;

using Members = std::vector<Node*>;

// Of which each member takes longer than a step does to be called.
constexpr int64_t kManyElements = 4096;

// Replaces the members of one group, which stand together, by its step.
class GroupMaker {
 public:
  GroupMaker(PassContext& context, ValueForms& forms, const FusionPlanner& planner)
      : context_(context), forms_(forms), planner_(planner) {}

  void make(const Members& members) {
    const ir::Operator* op = &context_.table().with(ops::Role::kFusionGroup);
    const std::unordered_set<const Node*> all(members.begin(), members.end());
    Members computed;
    std::copy_if(members.begin(), members.end(), std::back_inserter(computed),
                 [&](const Node* node) {
                   return !planner_.is_view_member(node) && !planner_.is_list_member(node);
                 });
    std::vector<Value*> inputs;
    ops::GroupProgram program = program_of(computed, all, inputs);
    std::vector<Value*> results;
    uint32_t place = 0;
    for (const Node* node : computed) {
      for (Value* value : node->outputs()) {
        const auto uses = value->uses();
        if (std::any_of(uses.begin(), uses.end(),
                        [&](const ir::Use& use) { return !all.contains(use.user); })) {
          program.outputs.push_back(place);
          results.push_back(value);
        }
        ++place;
      }
    }
    auto group = make_ref<ops::FusionGroup>(std::move(program));
    expect(*group, computed, inputs, results);
    const Ref<ops::FusionGroup> shared = groups_.shared(group);
    if (shared != group) context_.count("shared");
    emit(*op, members, inputs, results, shared);
  }

 private:
  using Index = std::unordered_map<const Value*, uint32_t>;  // The members by their results.

  ops::GroupProgram program_of(const Members& computed, const std::unordered_set<const Node*>& all,
                               std::vector<Value*>& inputs) {
    ops::GroupProgram program;
    Index index;
    std::unordered_map<const Value*, uint32_t> chains;
    for (const Node* member : computed) {
      for (const Value* value : member->outputs()) {
        index.emplace(value, static_cast<uint32_t>(index.size()));
      }
    }
    for (const Node* member : computed) {
      const RowCall* call = planner_.row_call(member);
      program.members.push_back({&ops::op_of(*member->op()), {}, call != nullptr});
      ops::GroupMember& made = program.members.back();
      made.joins = planner_.is_join_member(member);
      if (planner_.is_look_up_member(member)) {
        made.looks_up = ops::op_of(*member->op()).facts().look_up;
      }
      if (planner_.is_flat(member)) made.space = ops::RowSpace::kFlat;
      if (call != nullptr) {
        made.space = call->meaning.space;
        made.folded = static_cast<uint32_t>(call->meaning.folded);
        program.row_rank =
            std::max(program.row_rank, static_cast<uint32_t>(call->meaning.row_rank));
      }
      const std::vector<Value*> arguments = arguments_of(*member);
      for (size_t i = 0; i < arguments.size(); ++i) {
        Value* input = arguments[i];
        const bool is_view = all.contains(input->node()) && !index.contains(input);
        made.arguments.push_back(is_view ? viewed_argument(input, index, chains, program)
                                         : argument_of(input, index, inputs));
        if (call != nullptr && call->rank != 0) {
          made.arguments.back().from_back = call->arguments[i].value;
          program.rank = call->rank;
        }
      }
      for (uint32_t i = 1; i < member->outputs().size(); ++i) {
        ops::GroupMember more = program.members.back();
        more.space = call->more[i - 1].space;
        more.result = i;
        program.members.push_back(std::move(more));
      }
    }
    program.input_count = static_cast<uint32_t>(inputs.size());
    program.components = planner_.components_of(computed);
    if (program.components == 0 && ops::folds_parts(program)) {
      for (ops::GroupMember& member : program.members) {
        if (member.space == ops::RowSpace::kFlat) member.space = ops::RowSpace::kFlatPart;
      }
    }
    return program;
  }

  // The elements of a list stand for it: of tensors to join, or of indices.
  std::vector<Value*> arguments_of(const Node& member) const {
    std::vector<Value*> arguments;
    for (Value* input : member.inputs()) {
      const Node* list = input->node();
      if (list == nullptr || !planner_.is_list_member(list)) {
        arguments.push_back(input);
      } else {
        arguments.insert(arguments.end(), list->inputs().begin(), list->inputs().end());
      }
    }
    return arguments;
  }

  GroupArgument viewed_argument(const Value* value, const Index& index,
                                std::unordered_map<const Value*, uint32_t>& chains,
                                ops::GroupProgram& program) {
    ViewChain chain = *planner_.chain_of(value);
    GroupArgument argument{GroupArgument::Source::kMember, index.at(chain.source), {}};
    const auto [known, is_new] =
        chains.emplace(value, static_cast<uint32_t>(program.chains.size()));
    if (is_new) {
      program.chains.push_back({std::move(chain.steps), forms_.form(value).category});
    }
    argument.chain = known->second;
    return argument;
  }

  static GroupArgument argument_of(Value* input, const Index& index, std::vector<Value*>& inputs) {
    if (!is_tensor(input)) return {GroupArgument::Source::kConstant, 0, *known_argument(input)};
    const auto member = index.find(input);
    if (member != index.end()) {
      return {GroupArgument::Source::kMember, member->second, {}};
    }
    const auto known = std::find(inputs.begin(), inputs.end(), input);
    const auto place = static_cast<uint32_t>(known - inputs.begin());
    if (known == inputs.end()) inputs.push_back(input);
    return {GroupArgument::Source::kInput, place, {}};
  }

  void expect(ops::FusionGroup& group, const Members& computed, const std::vector<Value*>& inputs,
              const std::vector<Value*>& results) {
    if (group.program().components > 0) return expect_components(group, inputs);
    if (ops::folds_parts(group.program())) return expect_folds(group, computed, inputs);
    Shape whole;  // Of the widest result, or of rows of which each result is one element.
    const auto take_wider = [&](const Shape& shape) {
      const Dim one{Dim::Kind::kStatic, 1};
      const bool is_wide = shape && !shape->empty() && shape->back() != one;
      const bool is_known = is_wide && shape->back().kind != Dim::Kind::kUnknown;
      if (!whole || is_known || (is_wide && (whole->empty() || whole->back() == one)))
        whole = shape;
    };
    for (const Value* result : results) take_wider(forms_.shape(result));
    for (const Node* member : computed) {
      if (planner_.row_call(member) != nullptr) take_wider(forms_.shape(member->input(0)));
    }
    std::vector<ops::ValueForm> expected;
    std::vector<bool> uniform;
    for (const Value* input : inputs) {
      expected.push_back(forms_.form(input));
      uniform.push_back(is_uniform(expected.back(), forms_.shape(input), whole));
    }
    group.expect(std::move(expected), std::move(uniform));
    group.expect_short_rows(short_row_of(group, inputs));
  }

  // All members go over the space of what is folded.
  void expect_folds(ops::FusionGroup& group, const Members& computed,
                    const std::vector<Value*>& inputs) {
    const auto fold = std::ranges::find_if(
        computed, [&](const Node* member) { return planner_.row_call(member) != nullptr; });
    const Shape& whole = forms_.shape((*fold)->input(0));
    const ops::RowMeaning& rows = planner_.row_call(*fold)->meaning;
    std::vector<ops::ValueForm> expected;
    std::vector<bool> uniform;
    std::vector<bool> still;
    for (const Value* input : inputs) {
      const Shape& shape = forms_.shape(input);
      expected.push_back(forms_.form(input));
      uniform.push_back(is_uniform(expected.back(), shape, whole));
      still.push_back(expected.back().category != ops::PromotionCategory::kDimensioned ||
                      (shape && is_single(*shape, rows)));
    }
    group.expect(std::move(expected), std::move(uniform), std::move(still));
  }
  // Whether it has one element for all that is folded.
  static bool is_single(const std::vector<Dim>& shape, const ops::RowMeaning& rows) {
    const Dim one{Dim::Kind::kStatic, 1};
    for (size_t d = 0; d < shape.size(); ++d) {
      const size_t from_back = shape.size() - d;
      if (from_back <= rows.row_rank && from_back > rows.row_rank - rows.folded &&
          shape[d] != one) {
        return false;
      }
    }
    return true;
  }

  void expect_components(ops::FusionGroup& group, const std::vector<Value*>& inputs) {
    std::vector<ops::ValueForm> expected;
    std::vector<bool> uniform;
    std::vector<bool> still;
    const Dim one{Dim::Kind::kStatic, 1};
    for (const Value* input : inputs) {
      const Shape& shape = forms_.shape(input);
      const size_t rank = shape ? shape->size() : 0;
      expected.push_back(forms_.form(input));
      uniform.push_back(rank == 0 || shape->back() == one);
      still.push_back(rank < 2 || (*shape)[rank - 2] == one);
    }
    group.expect(std::move(expected), std::move(uniform), std::move(still));
  }

  // The elements of a row, of which all inputs over the rows have one or as many; 0 if they are
  // many, or unknown, as where what is looked up may be wider.
  int64_t short_row_of(const ops::FusionGroup& group, const std::vector<Value*>& inputs) const {
    const size_t row_rank = group.program().row_rank;
    IntVector row(row_rank, 1);
    for (uint32_t i = 0; i < inputs.size(); ++i) {
      if (group.use(i) == ops::InputUse::kLookedUp) return 0;
      if (group.use(i) != ops::InputUse::kWide) continue;
      const Shape& shape = forms_.shape(inputs[i]);
      if (!shape) return 0;
      for (size_t d = 0; d < std::min(row_rank, shape->size()); ++d) {
        const Dim& dim = (*shape)[shape->size() - 1 - d];
        if (dim.kind != Dim::Kind::kStatic) return 0;
        row[d] = std::max(row[d], dim.value);
      }
    }
    int64_t width = row_rank > 0 ? 1 : 0;
    for (const int64_t size : row) width = std::min(width * size, ops::FusionGroup::kLongRun);
    return width < ops::FusionGroup::kLongRun ? width : 0;
  }

  // Whether the input is one element along the innermost dimension of the whole.
  static bool is_uniform(const ops::ValueForm& form, const Shape& shape, const Shape& whole) {
    if (form.category != ops::PromotionCategory::kDimensioned) return true;
    const Dim one{Dim::Kind::kStatic, 1};
    const auto is_known = [&](const Dim& dim) { return dim.kind != Dim::Kind::kUnknown; };
    return shape && whole && !shape->empty() && !whole->empty() && shape->back() == one &&
           is_known(whole->back()) && whole->back() != one;
  }

  void emit(const ir::Operator& op, const Members& members, const std::vector<Value*>& inputs,
            const std::vector<Value*>& results, Ref<ops::FusionGroup> group) {
    ir::GraphEditor& editor = context_.editor();
    const Node* last = members.back();
    editor.set_insert_before(members.back());
    editor.set_range(last->range());
    editor.set_call_chain(last->call_chain());
    const std::string text = group->to_string();
    Value* capsule = editor.constant(IValue::capsule(std::move(group)));
    Node* step = editor.create_bare_op(op);
    for (Value* input : inputs) editor.add_input(step, input);
    editor.add_input(step, capsule);
    editor.set_attr(step, ir::AttrName::kNote, text);
    for (Value* result : results) {
      Value* output = editor.add_output(step, result->type(), result->name());
      editor.set_id(output, result->id());  // The same value, for who compares tiers.
      forms_.set(output, ops::ValueForm(forms_.form(result)), Shape(forms_.shape(result)));
      context_.hints().copy(result, output);
      editor.replace_uses(result, output);
    }
    for (auto member = members.rbegin(); member != members.rend(); ++member) {
      editor.remove(*member);
    }
    context_.count("groups");
    context_.count("fused", static_cast<int64_t>(members.size()));
  }

  PassContext& context_;
  ValueForms& forms_;
  const FusionPlanner& planner_;
  SharedGroups groups_;
};

class Fuser {
 public:
  Fuser(PassContext& context, const FusionOptions& options)
      : context_(context), options_(options), forms_(context.hints()) {}

  // Plans everything first, by the alias sets of the graph as it stands, and edits afterwards.
  void run() {
    plan(context_.graph().block());
    for (const auto& [block, planner] : plans_) edit(*block, *planner);
  }

 private:
  void plan(const ir::Block& block) {
    for (const Value* param : block.params()) forms_.form(param);
    auto planner = std::make_unique<FusionPlanner>(context_.alias(), forms_);
    planner->plan(block);
    plans_.emplace_back(&block, std::move(planner));
    for (const Node* node : block.nodes()) {
      for (const ir::Block* inner : node->blocks()) plan(*inner);
    }
  }

  void edit(const ir::Block& block, const FusionPlanner& planner) {
    std::vector<const Members*> chosen;
    for (const PlannedGroup& group : planner.groups()) {
      if (is_worth_it(group)) {
        chosen.push_back(&group.members);
      } else {
        for (Node* member : group.members) refuse(member, ops::GroupRefusal::kAlone);
      }
    }
    for (const auto& [node, refusal] : planner.refused()) refuse(node, refusal);
    if (chosen.empty()) return;
    gather_groups(context_, chosen, block);
    GroupMaker maker(context_, forms_, planner);
    std::unordered_map<const Node*, size_t> position;
    for (const Node* node : block.nodes()) position.emplace(node, position.size());
    for (const Members* group : chosen) {
      Members members = *group;
      std::sort(members.begin(), members.end(),
                [&](const Node* a, const Node* b) { return position[a] < position[b]; });
      maker.make(members);
    }
  }

  // Row members alone gain nothing, and going through rows costs about as much as three steps do.
  bool is_worth_it(const PlannedGroup& group) const {
    const size_t computed = group.members.size() - group.row_members - group.look_ups;
    if (computed == 0) return false;
    const bool is_small = group.row_members > 0 && known_elements(group.shape) < kManyElements;
    return group.members.size() >= std::max<size_t>(options_.min_size, is_small ? 4 : 1);
  }
  static int64_t known_elements(const Shape& shape) {
    if (!shape) return kManyElements;
    int64_t elements = 1;
    for (const Dim& dim : *shape) {
      if (dim.kind != Dim::Kind::kStatic || elements >= kManyElements) return kManyElements;
      elements *= dim.value;
    }
    return elements;
  }

  void refuse(Node* node, const ops::RefusedGroup& refusal) {
    if (!has_row_role(*node)) refuse_group(context_, node, refusal);
  }

  PassContext& context_;
  const FusionOptions& options_;
  ValueForms forms_;
  std::vector<std::pair<const ir::Block*, std::unique_ptr<FusionPlanner>>> plans_;
};

}  // namespace

void fuse_pointwise(PassContext& context, const FusionOptions& options) {
  Fuser(context, options).run();
}

}  // namespace tierup::passes
