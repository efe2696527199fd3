// See neural_regions.h. Three parts: Region gathers nodes in order, closing takes care that what
// leaves it is no view of something else, and building makes the program and the step.
#include "tierup/passes/fuse/neural_regions.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "tierup/analysis/effects.h"
#include "tierup/ops/regions/neural_net.h"
#include "tierup/passes/core/estimate_value.h"
#include "tierup/passes/core/outliner.h"
#include "tierup/passes/core/value_queries.h"
#include "tierup/passes/fuse/gate_work.h"
#include "tierup/passes/fuse/net_program.h"
#include "tierup/passes/fuse/region_bodies.h"
#include "tierup/passes/fuse/region_members.h"
#include "tierup/passes/fuse/region_refusals.h"
#include "tierup/passes/fuse/shared_nets.h"

namespace tierup::passes {

using ir::Block;
using ir::Node;
using ir::NodeKind;
using ir::Value;
using kernels::net::NetRefusal;
using kernels::net::OpKind;

namespace {

using Member = RegionMember;

class Regions {
 public:
  Regions(PassContext& context, RegionRefusals& refusals)
      : context_(context),
        editor_(context.editor()),
        refusals_(refusals),
        gate_work_(context.hints()) {}

  // Nets that stand in the graph already may serve other lines, too.
  void find_nets(const Block& block) {
    for (const Node* node : block.nodes()) {
      for (const Block* inner : node->blocks()) find_nets(*inner);
      if (ops::NeuralNet* net = net_of(*node))
        nets_.add(seen_of(node->inputs().subspan(1)), Ref(net));
    }
  }

  // Again without the operators that are excluded on the way: what stands between them may do.
  void visit_block(const Block& block) {
    size_t known = 0;
    do {
      known = refusals_.excluded_count();
      is_given_up_ = false;
      visit_once(block);
    } while (refusals_.excluded_count() > known);
  }

 private:
  void visit_once(const Block& block) {
    reset();
    std::vector<Node*> nodes;
    for (Node* node : block.nodes()) nodes.push_back(node);
    for (Node* node : nodes) {
      if (!node->blocks().empty()) {
        close();
        for (const Block* inner : node->blocks()) visit_block(*inner);
        continue;
      }
      if (!node->is(NodeKind::kConstant)) visit(node);
      if (is_given_up_) return reset();
    }
    close();
  }

  void reset() {
    members_.clear();
    made_.clear();
    numbers_made_.clear();
    passed_.clear();
    deferred_.clear();
    roots_.clear();
    unpackings_.clear();
    following_.clear();
    viewed_.clear();
    passed_readers_.clear();
  }

  void visit(Node* node) {
    if (unpackings_.contains(node) || removed_.contains(node)) return;
    if (ops::gives_no_tensor(kind_in_region(*node))) {
      // Sizes of what the region makes are its own affair; others are inputs.
      const bool is_inner = depends_on(*node, made_) && !depends_on(*node, passed_);
      const bool may_join = is_inner && is_exact(*node) && !refusals_.is_excluded(node);
      if (may_join && join(node)) return;
      return stay_outside(node);
    }
    if (gate_work_.visit(*node)) return stay_outside(node);
    if (depends_on(*node, passed_) && fits(*node)) {
      is_given_up_ = gives_up_way_to(*node);
      if (is_given_up_) return;
      close();
    }
    if (fits(*node) && join(node)) return;
    stay_outside(node);
  }

  // A node that needs what stands between would end the region. If that needs nothing heavy of the
  // region, its members on the way there are excluded: they stand before it then, as what stands
  // between does, and the region goes on.
  bool gives_up_way_to(const Node& node) {
    const bool keeps_any = std::ranges::any_of(
        members_, [](const Member& member) { return ops::is_heavy(member.kind); });
    std::unordered_set<const Node*> way;
    std::vector<const Node*> open;
    for (const Value* input : node.inputs()) {
      if (passed_.contains(input)) open.push_back(input->node());
    }
    while (keeps_any && !open.empty()) {
      const Node* at = open.back();
      open.pop_back();
      if (!way.insert(at).second) continue;
      const bool is_list = unpackings_.contains(at);
      for (const Value* input : at->inputs()) {
        if (is_list || made_.contains(input) || passed_.contains(input))
          open.push_back(input->node());
      }
    }
    std::vector<const Node*> excluded;
    for (const Member& member : members_) {
      if (!way.contains(member.node)) continue;
      const bool shows_made =
          is_view(*member.node) && made_.contains(root_of(member.node->input(0)));
      const bool stays = ops::is_heavy(member.kind) || ops::gives_parts(member.kind) ||
                         is_in_place(*member.node) || shows_made;
      if (stays) return false;
      excluded.push_back(member.node);
    }
    for (const Node* member : excluded) refusals_.exclude(member, NetRefusal::kLeadsOutside);
    return !excluded.empty();
  }

  // A tensor is taken for a number only if a number was made into it.
  bool is_number(const Value* value) const {
    if (!value->type()->is(TypeKind::kTensor) || constant_of(value) != nullptr) return true;
    return numbers_made_.contains(value);
  }
  bool is_exact(const Node& node) const {
    const OpKind kind = kind_of(node);
    return kind == OpKind::kTensors || kind == OpKind::kSizeOf ||
           std::all_of(node.inputs().begin(), node.inputs().end(),
                       [&](const Value* input) { return is_number(input); });
  }
  // Traced programs compute with sizes as tensors without dimensions.
  OpKind kind_in_region(const Node& node) const {
    const OpKind kind = kind_of(node);
    const bool has_number = depends_on(node, numbers_made_);
    return has_number && is_exact(node) ? kind_over_numbers(node, kind) : kind;
  }

  bool fits(const Node& node) {
    const OpKind kind = kind_of(node);
    if (kind == OpKind::kNone || node.inputs().empty() || refusals_.is_excluded(&node))
      return false;
    if (is_unused(node) && !is_in_place(node)) return false;
    if (ops::takes_list(kind) && !made_.contains(node.input(0))) return false;
    if (ops::stands_between(kind) && !depends_on(node, following_)) return false;
    const NetRefusal refusal = net_refusal(node, kind, context_.hints());
    if (refusal != NetRefusal::kNone) refusals_.note(&node, refusal);
    return refusal == NetRefusal::kNone;
  }

  const Value* root_of(const Value* value) const { return passes::root_of(roots_, value); }

  static bool is_off(const IValue& flag) { return flag.is_bool() && !flag.to_bool(); }
  bool join(Node* node) {
    const OpKind kind = kind_in_region(*node);
    // Dropout that is off gives its argument itself.
    const bool writes = is_in_place(*node) && kind != OpKind::kDropout;
    if (writes && !may_write(*node)) return false;
    if (kind == OpKind::kDropout && !is_off(*constant_of(node->input(2)))) return false;
    if (is_in_place(*node) && !made_.contains(node->input(0))) return false;
    Member member{node, kind};
    if (ops::gives_parts(kind)) {
      member.unpacking = sole_unpacking(*node);
      unpackings_.insert(member.unpacking);
    }
    members_.push_back(member);
    // A list of tensors shows their memory until it is read.
    if (kind == OpKind::kTensors) {
      for (const Value* input : node->inputs()) viewed_.insert(root_of(input));
    }
    const Node* giver = member.unpacking != nullptr ? member.unpacking : node;
    const bool shares = is_in_place(*node) || is_view(*node);
    const bool follows = makes_product(kind) || depends_on(*node, following_);
    for (const Value* output : giver->outputs()) {
      made_.insert(output);
      if (follows) following_.insert(output);
      if (ops::gives_no_tensor(kind) && kind != OpKind::kTensors) numbers_made_.insert(output);
      if (shares) roots_[output] = root_of(node->input(0));
      if (is_view(*node)) viewed_.insert(root_of(node->input(0)));
    }
    return true;
  }

  // The target was made fresh in the region, nothing else shows its memory, and nobody outside has
  // read it so far.
  bool may_write(const Node& node) {
    const Value* target = node.input(0);
    const Value* root = root_of(target);
    if (!made_.contains(target) || !made_.contains(root) || viewed_.contains(root)) return false;
    if (std::any_of(node.inputs().begin() + 1, node.inputs().end(),
                    [&](const Value* input) { return root_of(input) == root; })) {
      return false;
    }
    return std::none_of(passed_readers_.begin(), passed_readers_.end(),
                        [&](const Value* read) { return root_of(read) == root; });
  }

  // A node between members: what needs the region's results goes behind it, if that changes
  // nothing.
  void stay_outside(Node* node) {
    if (members_.empty()) return;
    const analysis::AliasAnalysis& alias = context_.alias();
    const uint8_t effects = analysis::effects_of(*node);
    const bool depends = depends_on(*node, made_) || depends_on(*node, passed_);
    const bool writes = alias.writes_anything(node);
    if (alias.has_effects(node) || (effects & ~ir::kMayRaise) != 0 ||
        (writes && (depends || meets_region(*node)))) {
      return close();
    }
    if (!depends) return;
    deferred_.push_back(node);
    for (const Value* input : node->inputs()) passed_readers_.insert(input);
    for (const Value* output : node->outputs()) passed_.insert(output);
  }

  // Whether the order of this node, which writes, and of what the region moves behind it counts.
  bool meets_region(const Node& writer) const {
    const analysis::AliasAnalysis& alias = context_.alias();
    const auto meets = [&](const Node* node) {
      return alias.conflict(&writer, node) || alias.conflict(node, &writer);
    };
    return std::any_of(members_.begin(), members_.end(),
                       [&](const Member& member) { return meets(member.node); }) ||
           std::any_of(deferred_.begin(), deferred_.end(), meets);
  }

  // What others see of the region: one value per memory, the last version of it.
  struct Exit {
    const Value* root;
    Value* last;
  };

  // A number that somebody outside needs is computed there, from what the region gives.
  void keep_outer_numbers() {
    for (size_t i = members_.size(); i-- > 0;) {
      Member& member = members_[i];
      if (ops::gives_no_tensor(member.kind)) member.stays = leaves(member.node->output());
    }
  }

  void close() {
    if (refusals_.exclude_all(leading_nowhere(members_), NetRefusal::kLeadsNowhere)) return reset();
    const std::vector<const Node*> dropped = drop_views_of_inputs();
    std::vector<Exit> exits;
    const NetRefusal refusal = refusal_of_region(exits);
    if (refusal == NetRefusal::kNone) {
      if (!exclude_followers(dropped)) build(exits);
    } else {
      for (const Member& member : members_) refusals_.note(member.node, refusal);
    }
    reset();
  }

  NetRefusal refusal_of_region(std::vector<Exit>& exits) {
    if (members_.empty() || (members_.size() == 1 && !gains_alone(members_[0], context_.hints()))) {
      return NetRefusal::kAlone;
    }
    if (!is_worth_it(members_, context_.hints())) return NetRefusal::kSmallProducts;
    if (is_left_to_a_group(members_, gate_work_, context_)) return NetRefusal::kLeftToGroup;
    return find_exits(exits) ? NetRefusal::kNone : NetRefusal::kSharedMemory;
  }

  bool is_inside(const ir::Use& use) const {
    return use.user != nullptr &&
           std::any_of(members_.begin(), members_.end(), [&](const Member& member) {
             return !member.stays && (member.node == use.user || member.unpacking == use.user);
           });
  }
  bool leaves(const Value* value) const {
    return std::any_of(value->uses().begin(), value->uses().end(),
                       [&](const ir::Use& use) { return !is_inside(use); });
  }
  // A view of what the region did not make stays outside if others use it. So may numbers, then,
  // that only the view needed, and views that these are of.
  std::vector<const Node*> drop_views_of_inputs() {
    std::vector<const Node*> dropped;
    bool again = true;
    while (again) {
      again = false;
      keep_outer_numbers();
      for (size_t i = members_.size(); i-- > 0;) {
        const Member& member = members_[i];
        const bool is_used = std::any_of(outputs_of(member).begin(), outputs_of(member).end(),
                                         [&](const Value* v) { return leaves(v); });
        if (!is_used || !is_view(*member.node) || made_.contains(root_of(member.node->input(0))))
          continue;
        for (const Value* output : outputs_of(member)) made_.erase(output);
        dropped.push_back(member.node);
        members_.erase(members_.begin() + static_cast<std::ptrdiff_t>(i));
        again = true;
      }
    }
    return dropped;
  }
  // Dropped views that need numbers of the region's results: the next walk defers them.
  bool exclude_followers(const std::vector<const Node*>& dropped) {
    const std::unordered_set<const Value*> given = mark_followers(members_);
    bool any = false;
    for (const Node* view : dropped) {
      if (!depends_on(*view, given)) continue;
      refusals_.exclude(view, NetRefusal::kLeadsOutside);
      any = true;
    }
    return any;
  }

  // False if two results would have to share memory: the later one is then left to others.
  bool find_exits(std::vector<Exit>& exits) {
    for (const Member& member : members_) {
      if (ops::gives_no_tensor(member.kind)) continue;
      for (Value* output : outputs_of(member)) {
        if (!leaves(output)) continue;
        const Value* root = root_of(output);
        if (!made_.contains(root)) return false;
        const auto found =
            std::find_if(exits.begin(), exits.end(), [&](const Exit& e) { return e.root == root; });
        if (found == exits.end()) {
          exits.push_back({root, output});
        } else if (is_in_place(*member.node) && member.unpacking == nullptr) {
          found->last = output;
        } else {
          if (is_view(*member.node)) refusals_.exclude(member.node, NetRefusal::kSharedMemory);
          return false;
        }
      }
    }
    // A later write inside that nobody outside reads by its own name still counts.
    for (Exit& exit : exits) {
      bool is_later = false;
      for (const Member& member : members_) {
        if (is_later && is_in_place(*member.node) && root_of(member.node->output()) == exit.root)
          exit.last = member.node->output();
        const auto outputs = outputs_of(member);
        is_later |= std::find(outputs.begin(), outputs.end(), exit.last) != outputs.end();
      }
    }
    return !exits.empty();
  }

  void build(const std::vector<Exit>& exits) {
    std::vector<const Value*> results;
    for (const Exit& exit : exits) results.push_back(exit.last);
    auto [program, rows, inputs] = net_program(members_, results, roots_);
    std::vector<TensorFacts> seen = seen_of(inputs);
    Ref<ops::NeuralNet> net = nets_.find(program, rows, seen);
    if (net != nullptr) {
      context_.count("shared");
    } else {
      net = make_ref<ops::NeuralNet>(program, rows, context_.target().is_fast);
      if (!estimate_values(context_, inputs)) {
        context_.count("unknown_sizes");
        net->refuse_gaps();
      }
      if (const auto refused = net->refused_operation())
        return refusals_.exclude(members_[*refused].node, net->refusals().back());
      nets_.add(std::move(seen), net);
    }
    insert(IValue::capsule(Ref<RefCounted>(net.get())), inputs, exits);
    context_.count("regions");
    context_.count("operators", static_cast<int64_t>(members_.size()));
  }
  std::vector<TensorFacts> seen_of(std::span<Value* const> inputs) const {
    std::vector<TensorFacts> seen;
    for (const Value* input : inputs) seen.push_back(seen_facts(input, context_.hints()));
    return seen;
  }

  // The members as a graph of their own, which gives what others see of the region.
  std::shared_ptr<const ir::Graph> make_body(const std::vector<Value*>& inputs,
                                             const std::vector<Exit>& exits) {
    Outliner body(context_, members_[0].node->owner(), "region");
    for (const Member& member : members_) {
      body.copy(*member.node);
      if (member.unpacking != nullptr) body.copy(*member.unpacking);
    }
    TIERUP_CHECK(body.captures() == inputs);
    for (const Exit& exit : exits)
      body.editor().add_return(&body.graph()->block(), body.copy_of(exit.last));
    body.keep_ids();
    return body.graph();
  }

  void insert(IValue net, const std::vector<Value*>& inputs, const std::vector<Exit>& exits) {
    Node* last = members_.back().node;
    const std::shared_ptr<const ir::Graph> body = make_body(inputs, exits);
    leave_what_follows(last);
    editor_.set_insert_after(last);
    editor_.set_range(last->range());
    Value* capsule = editor_.constant(std::move(net));
    Node* node = editor_.create_bare_op(context_.table().with(ops::Role::kNeuralNet));
    editor_.add_input(node, capsule);
    for (Value* input : inputs) editor_.add_input(node, input);
    editor_.set_attr(node, ir::AttrName::kBody, body);
    for (const Exit& exit : exits) take_place(exit, editor_.add_output(node, exit.last->type()));
    std::vector<Node*> followers;
    for (const Member& member : members_)
      if (member.follows) followers.push_back(member.node);
    followers.insert(followers.end(), deferred_.begin(), deferred_.end());
    Node* position = node;
    for (Node* follower : followers) move_after(follower, std::exchange(position, follower));
    editor_.set_range({});
    remove_members();
  }
  // Deferred nodes behind the last member stand right, and may need others that do.
  void leave_what_follows(const Node* last) {
    std::unordered_set<const Node*> following;
    for (const Node* node = last->next(); node != nullptr; node = node->next())
      following.insert(node);
    std::erase_if(deferred_, [&](const Node* node) { return following.contains(node); });
  }
  void take_place(const Exit& exit, Value* result) {
    editor_.set_name(result, exit.last->name());
    editor_.set_id(result, exit.last->id());  // The same value, for who compares tiers.
    context_.hints().copy(exit.last, result);
    for (const Member& member : members_) {
      for (Value* output : outputs_of(member)) {
        if (root_of(output) == exit.root && (leaves(output))) editor_.replace_uses(output, result);
      }
    }
  }
  void move_after(Node* node, Node* position) {
    if (position->next() != nullptr) {
      editor_.move_before(node, position->next());
    } else {
      editor_.move_to_end(node, position->owner());
    }
  }
  void remove_members() {
    for (size_t i = members_.size(); i-- > 0;) {
      if (members_[i].stays) continue;
      refusals_.forget(members_[i].node);
      if (Node* unpacking = members_[i].unpacking) {
        removed_.insert(unpacking);
        editor_.remove(unpacking);
      }
      editor_.remove(members_[i].node);
    }
  }

  PassContext& context_;
  ir::GraphEditor& editor_;
  std::vector<Member> members_;
  std::unordered_set<const Value*> made_;            // By members.
  std::unordered_set<const Value*> numbers_made_;    // Of these, numbers.
  std::unordered_set<const Value*> following_;       // ... and what needs a product.
  std::unordered_set<const Value*> passed_;          // Need the region's results.
  std::unordered_set<const Value*> passed_readers_;  // What deferred nodes read.
  std::unordered_set<const Value*> viewed_;          // Roots that a view shows.
  std::unordered_set<const Node*> unpackings_;
  std::unordered_set<const Node*> removed_;
  bool is_given_up_ = false;  // The walk is: it begins again with other exclusions.
  RegionRefusals& refusals_;
  SharedNets nets_;
  GateWork gate_work_;
  std::vector<Node*> deferred_;
  MemoryRoots roots_;
};

}  // namespace

void neural_regions(PassContext& context) {
  RegionRefusals refusals;
  form_regions(context, refusals);
  refusals.report(context, context.graph().block());
}

void form_regions(PassContext& context, RegionRefusals& refusals) {
  const Block& block = context.graph().block();
  Regions regions(context, refusals);
  regions.find_nets(block);
  regions.visit_block(block);
}

}  // namespace tierup::passes
