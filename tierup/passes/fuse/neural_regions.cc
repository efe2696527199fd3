// See neural_regions.h. Three parts: Region gathers nodes in order, closing takes care that what
// leaves it is no view of something else, and building makes the program and the step.
#include "tierup/passes/fuse/neural_regions.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "tierup/analysis/effects.h"
#include "tierup/ops/regions/neural_net.h"
#include "tierup/passes/core/estimate_value.h"
#include "tierup/passes/core/value_queries.h"
#include "tierup/passes/fuse/gate_work.h"
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
  explicit Regions(PassContext& context)
      : context_(context), editor_(context.editor()), gate_work_(context.hints()) {}

  // Again without the operators that nets of their lines were refused for: what stands between
  // them may do.
  void visit_block(const Block& block) {
    size_t known = 0;
    do {
      known = refusals_.excluded_count();
      visit_once(block);
    } while (refusals_.excluded_count() > known);
  }
  void report(const Block& block) { refusals_.report(context_, block); }

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
  }

  void visit(Node* node) {
    if (unpackings_.contains(node) || removed_.contains(node)) return;
    if (ops::gives_no_tensor(kind_in_region(*node))) {
      // Sizes of what the region makes are its own affair; others are inputs.
      const bool is_inner = depends_on(*node, made_) && !depends_on(*node, passed_);
      if (is_inner && is_exact(*node) && join(node)) return;
      return stay_outside(node);
    }
    if (gate_work_.visit(*node)) return stay_outside(node);
    if (depends_on(*node, passed_) && fits(*node)) close();
    if (fits(*node) && join(node)) return;
    stay_outside(node);
  }

  static bool depends_on(const Node& node, const std::unordered_set<const Value*>& values) {
    return std::any_of(node.inputs().begin(), node.inputs().end(),
                       [&](const Value* input) { return values.contains(input); });
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
    if (kind == OpKind::kCat && !made_.contains(node.input(0))) return false;
    const NetRefusal refusal = net_refusal(node, kind, context_.hints());
    if (refusal != NetRefusal::kNone) refusals_.note(&node, refusal);
    return refusal == NetRefusal::kNone;
  }

  const Value* root_of(const Value* value) const {
    const auto found = roots_.find(value);
    return found == roots_.end() ? value : found->second;
  }

  static bool is_off(const IValue& flag) { return flag.is_bool() && !flag.to_bool(); }
  bool join(Node* node) {
    const OpKind kind = kind_in_region(*node);
    // Dropout that is off gives its argument itself.
    const bool writes = is_in_place(*node) && kind != OpKind::kDropout;
    if (writes && !may_write(*node)) return false;
    if (kind == OpKind::kDropout && !is_off(*constant_of(node->input(2)))) return false;
    if (is_in_place(*node) && !made_.contains(node->input(0))) return false;
    Member member{node, kind};
    if (parts(kind)) {
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
    for (const Value* output : giver->outputs()) {
      made_.insert(output);
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
    if (alias.has_effects(node) || alias.writes_anything(node) || (effects & ~ir::kMayRaise) != 0) {
      return close();
    }
    if (!depends_on(*node, made_) && !depends_on(*node, passed_)) return;
    deferred_.push_back(node);
    for (const Value* input : node->inputs()) passed_readers_.insert(input);
    for (const Value* output : node->outputs()) passed_.insert(output);
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
    keep_outer_numbers();
    drop_views_of_inputs();
    std::vector<Exit> exits;
    const NetRefusal refusal = refusal_of_region(exits);
    if (refusal == NetRefusal::kNone) {
      build(exits);
    } else {
      for (const Member& member : members_) refusals_.note(member.node, refusal);
    }
    reset();
    viewed_.clear();
    passed_readers_.clear();
  }

  NetRefusal refusal_of_region(std::vector<Exit>& exits) {
    if (members_.size() < 2) return NetRefusal::kAlone;
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
  static std::span<Value* const> outputs_of(const Member& member) {
    return member.unpacking != nullptr ? member.unpacking->outputs() : member.node->outputs();
  }

  // A view of what the region did not make stays outside if others use it.
  void drop_views_of_inputs() {
    bool again = true;
    while (again) {
      again = false;
      for (size_t i = members_.size(); i-- > 0;) {
        const Member& member = members_[i];
        const bool is_used = std::any_of(outputs_of(member).begin(), outputs_of(member).end(),
                                         [&](const Value* v) { return leaves(v); });
        if (!is_used || !is_view(*member.node) || made_.contains(root_of(member.node->input(0))))
          continue;
        for (const Value* output : outputs_of(member)) made_.erase(output);
        members_.erase(members_.begin() + static_cast<std::ptrdiff_t>(i));
        again = true;
      }
    }
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
    kernels::net::Program program;
    std::vector<const ops::Op*> rows;
    std::vector<Value*> inputs;
    make_program(program, rows, inputs);
    for (const Exit& exit : exits) program.outputs.push_back(numbers_.at(exit.last));
    mark_last_reads(program);
    std::vector<TensorFacts> seen;
    for (const Value* input : inputs) seen.push_back(seen_facts(input, context_.hints()));
    Ref<ops::NeuralNet> net = nets_.find(program, rows, seen);
    if (net != nullptr) {
      context_.count("shared");
      return finish(*net, inputs, exits);
    }
    net = make_ref<ops::NeuralNet>(program, rows, context_.target().is_fast);
    prepare(*net, inputs);
    if (const auto refused = net->refused_operation()) {
      refusals_.exclude(members_[*refused].node, net->refusals().back());
      return;
    }
    for (const std::string& note : net->notes()) context_.note(note);
    nets_.add(program, rows, std::move(seen), net);
    finish(*net, inputs, exits);
  }
  void finish(ops::NeuralNet& net, const std::vector<Value*>& inputs,
              const std::vector<Exit>& exits) {
    insert(IValue::capsule(Ref<RefCounted>(&net)), inputs, exits);
    context_.count("regions");
    context_.count("operators", static_cast<int64_t>(members_.size()));
  }

  void make_program(kernels::net::Program& program, std::vector<const ops::Op*>& rows,
                    std::vector<Value*>& inputs) {
    numbers_.clear();
    // In-place operators give their target's memory a new number.
    std::unordered_map<const Value*, int> versions;
    const auto number_of = [&](Value* value) {
      const auto version = versions.find(root_of(value));
      if (version != versions.end() && !is_viewed_name(value)) return version->second;
      const auto found = numbers_.find(value);
      if (found != numbers_.end()) return found->second;
      inputs.push_back(value);
      program.inputs.push_back(program.value_count);
      return numbers_[value] = program.value_count++;
    };
    for (const Member& member : members_) {
      kernels::net::Op op;
      op.kind = member.kind;
      op.keeps_shape = is_in_place(*member.node);
      op.result_count = member.node->outputs().size();
      for (Value* input : member.node->inputs()) {
        if (const IValue* constant = constant_of(input)) {
          op.args.push_back({-1, *constant});
        } else {
          op.args.push_back({number_of(input), IValue()});
        }
      }
      for (Value* output : outputs_of(member)) {
        const int number = program.value_count++;
        numbers_[output] = number;
        op.outputs.push_back(number);
        if (is_in_place(*member.node)) versions[root_of(output)] = number;
      }
      program.ops.push_back(std::move(op));
      rows.push_back(member.node->is(NodeKind::kOp) ? &ops::op_of(*member.node->op()) : nullptr);
    }
  }
  // Made by a view, or a part of what one made: has a number of its own. Memory that is viewed is
  // not written.
  bool is_viewed_name(const Value* value) const {
    const Node* maker = value->node();
    if (maker != nullptr && maker->is(NodeKind::kListUnpack)) maker = maker->input(0)->node();
    return maker != nullptr && maker->is(NodeKind::kOp) && is_view(*maker);
  }

  static void mark_last_reads(kernels::net::Program& program) {
    std::vector<bool> is_read(static_cast<size_t>(program.value_count), false);
    for (const int output : program.outputs) is_read[static_cast<size_t>(output)] = true;
    for (size_t i = program.ops.size(); i-- > 0;) {
      kernels::net::Op& op = program.ops[i];
      const auto mark = [&](int value) {
        if (is_read[static_cast<size_t>(value)]) return;
        is_read[static_cast<size_t>(value)] = true;
        op.last_reads.push_back(value);
      };
      for (const int output : op.outputs) mark(output);
      for (const kernels::net::Arg& arg : op.args) {
        if (arg.is_value()) mark(arg.value);
      }
    }
  }

  // Compiles for the sizes that the profile saw, if it is known what they were.
  void prepare(ops::NeuralNet& net, const std::vector<Value*>& inputs) {
    std::vector<IValue> samples;
    for (Value* input : inputs) {
      const auto sample = estimate_value(context_, input);
      if (!sample) {
        net.refuse_gaps();
        return context_.count("unknown_sizes");
      }
      samples.push_back(*sample);
    }
    const int threads = context_.target().threads;
    if (threads > 0) context_.count(net.prepare(samples, threads) ? "prepared" : "unprepared");
  }

  void insert(IValue net, const std::vector<Value*>& inputs, const std::vector<Exit>& exits) {
    Node* last = members_.back().node;
    leave_what_follows(last);
    editor_.set_insert_after(last);
    editor_.set_range(last->range());
    std::vector<Value*> operands{editor_.constant(std::move(net))};
    operands.insert(operands.end(), inputs.begin(), inputs.end());
    const bool is_single = exits.size() == 1;
    const ops::Op* op =
        context_.table().find(is_single ? "tierup::neural_net" : "tierup::neural_nets");
    TIERUP_CHECK(op != nullptr);
    Node* node = editor_.create_op(*op, operands);
    Node* giver = node;
    if (!is_single) {
      giver = editor_.create(NodeKind::kListUnpack, {node->output()});
      for (size_t i = 0; i < exits.size(); ++i) editor_.add_output(giver, Type::tensor());
    }
    for (size_t i = 0; i < exits.size(); ++i) take_place(exits[i], giver->output(i));
    std::vector<Node*> followers;
    for (const Member& member : members_)
      if (member.stays) followers.push_back(member.node);
    followers.insert(followers.end(), deferred_.begin(), deferred_.end());
    Node* position = giver;
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
    editor_.set_type(result, exit.last->type());
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
  std::unordered_set<const Value*> passed_;          // Need the region's results.
  std::unordered_set<const Value*> passed_readers_;  // What deferred nodes read.
  std::unordered_set<const Value*> viewed_;          // Roots that a view shows.
  std::unordered_set<const Node*> unpackings_;
  std::unordered_set<const Node*> removed_;
  RegionRefusals refusals_;
  SharedNets nets_;
  GateWork gate_work_;
  std::vector<Node*> deferred_;
  std::unordered_map<const Value*, const Value*> roots_;
  std::unordered_map<const Value*, int> numbers_;
};

}  // namespace

void neural_regions(PassContext& context) {
  Regions regions(context);
  regions.visit_block(context.graph().block());
  regions.report(context.graph().block());
}

}  // namespace tierup::passes
