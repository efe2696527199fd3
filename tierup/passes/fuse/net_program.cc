#include "tierup/passes/fuse/net_program.h"

#include "tierup/passes/core/value_queries.h"

namespace tierup::passes {

using ir::Node;
using ir::NodeKind;
using ir::Value;

namespace {

// Made by a view, or a part of what one made: has a number of its own. Memory that is viewed is not
// written.
bool is_viewed_name(const Value* value) {
  const Node* maker = value->node();
  if (maker != nullptr && maker->is(NodeKind::kListUnpack)) maker = maker->input(0)->node();
  return maker != nullptr && maker->is(NodeKind::kOp) && is_view(*maker);
}

void mark_last_reads(kernels::net::Program& program) {
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

class ProgramMaker {
 public:
  explicit ProgramMaker(const MemoryRoots& roots) : roots_(roots) {}

  void add(const RegionMember& member) {
    kernels::net::Op op;
    op.kind = member.kind;
    op.keeps_shape = is_in_place(*member.node);
    op.result_count = member.node->outputs().size();
    op.pointwise = pointwise_of(*member.node).value_or(kernels::net::Pointwise{});
    for (Value* input : member.node->inputs()) {
      if (const IValue* constant = constant_of(input)) {
        op.args.push_back({-1, *constant});
      } else {
        op.args.push_back({number_of(input), IValue()});
      }
    }
    for (const Value* output : outputs_of(member)) {
      const int number = made_.program.value_count++;
      numbers_[output] = number;
      op.outputs.push_back(number);
      if (is_in_place(*member.node)) versions_[root_of(roots_, output)] = number;
    }
    made_.program.ops.push_back(std::move(op));
    const bool is_list = !member.node->is(NodeKind::kOp);
    made_.rows.push_back(is_list ? nullptr : &ops::op_of(*member.node->op()));
  }

  NetProgram finish(std::span<const Value* const> results) {
    for (const Value* result : results) made_.program.outputs.push_back(numbers_.at(result));
    mark_last_reads(made_.program);
    return std::move(made_);
  }

 private:
  int number_of(Value* value) {
    const auto version = versions_.find(root_of(roots_, value));
    if (version != versions_.end() && !is_viewed_name(value)) return version->second;
    const auto found = numbers_.find(value);
    if (found != numbers_.end()) return found->second;
    made_.inputs.push_back(value);
    made_.program.inputs.push_back(made_.program.value_count);
    return numbers_[value] = made_.program.value_count++;
  }

  const MemoryRoots& roots_;
  NetProgram made_;
  std::unordered_map<const Value*, int> numbers_;
  // In-place operators give their target's memory a new number.
  std::unordered_map<const Value*, int> versions_;
};

}  // namespace

const Value* root_of(const MemoryRoots& roots, const Value* value) {
  const auto found = roots.find(value);
  return found == roots.end() ? value : found->second;
}

NetProgram net_program(const std::vector<RegionMember>& members,
                       std::span<const Value* const> results, const MemoryRoots& roots) {
  ProgramMaker maker(roots);
  for (const RegionMember& member : members) maker.add(member);
  return maker.finish(results);
}

}  // namespace tierup::passes
