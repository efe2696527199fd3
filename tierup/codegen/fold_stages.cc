#include "tierup/codegen/fold_stages.h"

#include <algorithm>
#include <map>
#include <set>

#include "tierup/codegen/fold_kernel.h"
#include "tierup/codegen/group_builder.h"
#include "tierup/kernels/pointwise/expression_table.h"

namespace tierup::codegen {
namespace {

using kernels::Body;
using ops::FoldKind;

// Beyond so many operations, or loads, a value is stored rather than computed again.
constexpr size_t kFewOperations = 8;
constexpr size_t kFewLoads = 2;

ScalarType scalar_of(LaneType type) {
  switch (type) {
    case LaneType::kF32: return ScalarType::kFloat;
    case LaneType::kF64: return ScalarType::kDouble;
    case LaneType::kI32: return ScalarType::kInt;
    case LaneType::kI64: return ScalarType::kLong;
    case LaneType::kMask: break;
  }
  return ScalarType::kBool;
}

// The whole group as expressions: inputs are operands, and behind them the results of folds.
class Whole {
 public:
  struct Folded {
    FoldKind kind = FoldKind::kSum;
    uint32_t node = 0;  // What is folded.
    LaneType type = LaneType::kF32;
    double less = 0;
    bool is_variance = false;
  };

  Whole(const ops::FusionGroup& group, const GroupForms& forms)
      : group_(group), forms_(forms), program_(group.program()) {
    GroupBuilder builder(program_, group.expected(), forms.members, 0, kernel_);
    for (uint32_t i = 0; i < program_.input_count; ++i) {
      builder.set_leaf({GroupArgument::Source::kInput, i}, i);
    }
    builder.set_folds([&](uint32_t member, const ExprValue& value) { return fold(member, value); });
    for (const uint32_t output : program_.outputs) {
      outputs_.push_back(kernel_.expressions.node_of(builder.output(output)));
    }
  }

  const std::vector<kernels::ExprNode>& nodes() const { return kernel_.expressions.nodes(); }
  const std::vector<uint32_t>& outputs() const { return outputs_; }  // Nodes.
  const std::vector<Folded>& folds() const { return folds_; }
  // The fold that a member is, if it is one.
  std::optional<uint32_t> fold_of(uint32_t member) const {
    const auto found = fold_of_.find(member);
    return found == fold_of_.end() ? std::nullopt : std::optional(found->second);
  }
  bool is_fold(const kernels::ExprNode& node) const {
    return node.opcode == Opcode::kInput && operand_of(node) >= program_.input_count;
  }
  uint32_t fold_at(const kernels::ExprNode& node) const {
    return operand_of(node) - program_.input_count;
  }

 private:
  ExprValue fold(uint32_t index, const ExprValue& value) {
    const ops::GroupMember& member = program_.members[index];
    const auto arguments = arguments_in(program_, member, group_.expected(), forms_.members);
    const FoldKind kind = ops::fold_kind_of(*member.op, arguments);
    const auto squared = [](const ExprValue& x) { return expr_binary(Opcode::kMul, x.type, x, x); };
    switch (kind) {
      case FoldKind::kSoftmax:
      case FoldKind::kLogSoftmax: return normalized(kind, value, forms_.members[index].dtype);
      case FoldKind::kLength:
        return expr_unary(Opcode::kSqrt, value.type, folded(FoldKind::kSum, squared(value)));
      case FoldKind::kVariance:
      case FoldKind::kDeviation: {
        const ExprValue mean = folded(FoldKind::kMean, value);
        const ExprValue beside = expr_binary(Opcode::kSub, value.type, value, mean);
        const ExprValue variance =
            folded(FoldKind::kMean, squared(beside), ops::correction_of(*member.op, arguments));
        folds_.back().is_variance = true;
        return kind == FoldKind::kVariance ? variance
                                           : expr_unary(Opcode::kSqrt, value.type, variance);
      }
      default: break;
    }
    fold_of_[index] = static_cast<uint32_t>(folds_.size());
    return folded(kind, value);
  }

  ExprValue normalized(FoldKind kind, const ExprValue& value, ScalarType dtype) {
    const auto of = [&](Body body, const ExprValue& x) {
      return kernels::ExpressionTable::instance().find(body, dtype)(&x);
    };
    const ExprValue below =
        expr_binary(Opcode::kSub, value.type, value, folded(FoldKind::kLargest, value));
    const ExprValue power = of(Body::kExp, below);
    const ExprValue sum = folded(FoldKind::kSum, power);
    return kind == FoldKind::kSoftmax
               ? expr_binary(Opcode::kDiv, value.type, power, sum)
               : expr_binary(Opcode::kSub, value.type, below, of(Body::kLog, sum));
  }

  ExprValue folded(FoldKind kind, const ExprValue& value, double less = 0) {
    const auto place = program_.input_count + static_cast<uint32_t>(folds_.size());
    folds_.push_back({kind, kernel_.expressions.node_of(value), value.type, less});
    return kernel_.expressions.input(place, value.type);
  }

  const ops::FusionGroup& group_;
  const GroupForms& forms_;
  const ops::GroupProgram& program_;
  GroupKernel kernel_;
  std::vector<uint32_t> outputs_;
  std::vector<Folded> folds_;
  std::map<uint32_t, uint32_t> fold_of_;
};

class FoldStager {
 public:
  FoldStager(const ops::FusionGroup& group, const GroupForms& forms)
      : group_(group), forms_(forms), program_(group.program()), whole_(group, forms) {}

  FoldKernels run() {
    find_levels();
    find_values();
    const uint32_t last = *std::max_element(levels_of_roots_.begin(), levels_of_roots_.end());
    for (uint32_t level = last; level > 0; --level) store_what_is_read(level);
    for (uint32_t level = 0; level <= last; ++level) add_stage(level);
    return std::move(made_);
  }

 private:
  const kernels::ExprNode& node(uint32_t index) const { return whole_.nodes()[index]; }
  static uint32_t arity(const kernels::ExprNode& node) {
    return kernels::operand_count(node.opcode);
  }

  void find_levels() {
    for (const kernels::ExprNode& node : whole_.nodes()) {
      uint32_t level = 0;
      bool is_still = true;
      if (whole_.is_fold(node)) {
        level = levels_[whole_.folds()[whole_.fold_at(node)].node] + 1;
      } else if (node.opcode == Opcode::kInput) {
        is_still = group_.expected_still()[operand_of(node)];
      }
      for (uint32_t k = 0; k < arity(node); ++k) {
        level = std::max(level, levels_[node.operands[k]]);
        is_still = is_still && still_[node.operands[k]];
      }
      levels_.push_back(level);
      still_.push_back(is_still);
    }
  }

  // Outputs first.
  void find_values() {
    value_of_fold_.assign(whole_.folds().size(), UINT32_MAX);
    for (size_t i = 0; i < program_.outputs.size(); ++i) {
      const std::optional<uint32_t> fold = whole_.fold_of(program_.outputs[i]);
      fold ? add_fold(*fold)
           : add_value(whole_.outputs()[i], forms_.members[program_.outputs[i]].dtype);
    }
    for (uint32_t fold = 0; fold < whole_.folds().size(); ++fold) {
      if (value_of_fold_[fold] == UINT32_MAX) add_fold(fold);
    }
  }
  void add_fold(uint32_t fold) {
    const Whole::Folded& made = whole_.folds()[fold];
    value_of_fold_[fold] = static_cast<uint32_t>(made_.values.size());
    add_root(made.node, {scalar_of(made.type), made.kind, true, made.less, made.is_variance});
  }
  void add_value(uint32_t index, ScalarType dtype) {
    value_of_node_.emplace(index, static_cast<uint32_t>(made_.values.size()));
    add_root(index, {dtype, FoldKind::kNone, still_[index]});
  }
  void add_root(uint32_t index, ops::FoldValue value) {
    roots_.push_back(index);
    levels_of_roots_.push_back(levels_[index]);
    made_.values.push_back(value);
  }

  // Whether a stage reads this from memory.
  bool is_read(uint32_t index, uint32_t level) const {
    return !still_[index] && levels_[index] < level && value_of_node_.contains(index) &&
           !is_cheap(index);
  }

  // Makes values of what stages before this one compute and this one would take long to.
  void store_what_is_read(uint32_t level) {
    std::set<uint32_t> visited;
    for (size_t i = 0; i < roots_.size(); ++i) {
      if (levels_of_roots_[i] == level) store_below(roots_[i], level, visited);
    }
  }
  void store_below(uint32_t index, uint32_t level, std::set<uint32_t>& visited) {
    if (!visited.insert(index).second || still_[index]) return;
    if (levels_[index] < level && !is_cheap(index)) {
      if (!value_of_node_.contains(index)) add_value(index, scalar_of(node(index).type));
      return;
    }
    for (uint32_t k = 0; k < arity(node(index)); ++k) {
      store_below(node(index).operands[k], level, visited);
    }
  }
  bool is_cheap(uint32_t index) const {
    std::set<uint32_t> visited;
    size_t loads = 0;
    size_t operations = 0;
    count(index, visited, loads, operations);
    return operations <= kFewOperations && loads <= kFewLoads;
  }
  void count(uint32_t index, std::set<uint32_t>& visited, size_t& loads, size_t& operations) const {
    if (still_[index] || !visited.insert(index).second) return;
    loads += node(index).opcode == Opcode::kInput ? 1 : 0;
    const bool is_long = node(index).opcode == Opcode::kDiv || node(index).opcode == Opcode::kSqrt;
    operations += is_long ? kFewOperations : arity(node(index)) > 0 ? 1 : 0;
    for (uint32_t k = 0; k < arity(node(index)); ++k) {
      count(node(index).operands[k], visited, loads, operations);
    }
  }

  void add_stage(uint32_t level) {
    GroupKernel kernel;
    ops::FoldStage stage;
    std::vector<uint32_t> roots;
    for (uint32_t i = 0; i < roots_.size(); ++i) {
      if (levels_of_roots_[i] != level) continue;
      stage.operands.push_back(program_.input_count + i);
      roots.push_back(roots_[i]);
      kernel.operands.push_back(
          {*element_type_of(made_.values[i].dtype), Access::kContiguous, 1, false});
      kernel.folds.push_back(kernel_fold(made_.values[i].fold));
    }
    if (roots.empty()) return;
    stage.outputs = static_cast<uint32_t>(roots.size());
    std::map<uint32_t, uint32_t> copies;
    for (const uint32_t root : roots) {
      kernel.results.push_back(copy(root, level, kernel, stage, copies));
    }
    made_.kernels.push_back(std::move(kernel));
    made_.stages.push_back(std::move(stage));
  }

  // A node and what it is made of, among the stage's own.
  uint32_t copy(uint32_t index, uint32_t level, GroupKernel& kernel, ops::FoldStage& stage,
                std::map<uint32_t, uint32_t>& copies) {
    const auto known = copies.find(index);
    if (known != copies.end()) return known->second;
    kernels::ExprNode copied = node(index);
    if (is_read(index, level)) {
      copied = {
          Opcode::kInput, copied.type, {}, read_value(value_of_node_.at(index), kernel, stage)};
    } else if (whole_.is_fold(copied)) {
      copied.immediate = read_value(value_of_fold_[whole_.fold_at(copied)], kernel, stage);
    } else if (copied.opcode == Opcode::kInput) {
      copied.immediate = read_input(operand_of(copied), kernel, stage);
    }
    for (uint32_t k = 0; k < arity(copied); ++k) {
      copied.operands[k] = copy(copied.operands[k], level, kernel, stage, copies);
    }
    return copies[index] = kernel.expressions.add(copied).node;
  }
  uint64_t read_value(uint32_t value, GroupKernel& kernel, ops::FoldStage& stage) const {
    const ops::FoldValue& read = made_.values[value];
    return read_operand(program_.input_count + value,
                        {*element_type_of(read.dtype), Access::kContiguous, 1, read.is_still},
                        kernel, stage);
  }
  uint64_t read_input(uint32_t input, GroupKernel& kernel, ops::FoldStage& stage) const {
    const Access access =
        group_.expected_uniform()[input] ? Access::kBroadcast : Access::kContiguous;
    return read_operand(input,
                        {*element_type_of(group_.expected()[input].dtype), access, 1,
                         group_.expected_still()[input]},
                        kernel, stage);
  }
  static uint64_t read_operand(uint32_t operand, OperandSpec spec, GroupKernel& kernel,
                               ops::FoldStage& stage) {
    const auto first = stage.operands.begin() + stage.outputs;
    const auto found = std::find(first, stage.operands.end(), operand);
    const auto place = static_cast<uint64_t>(found - stage.operands.begin());
    if (found == stage.operands.end()) {
      stage.operands.push_back(operand);
      kernel.operands.push_back(spec);
    }
    return place;
  }

  const ops::FusionGroup& group_;
  const GroupForms& forms_;
  const ops::GroupProgram& program_;
  Whole whole_;
  std::vector<uint32_t> levels_;  // Of nodes.
  std::vector<bool> still_;       // Nodes that are the same all along what is folded.
  std::vector<uint32_t> roots_;   // What is folded, or stored, for each value.
  std::vector<uint32_t> levels_of_roots_;
  std::vector<uint32_t> value_of_fold_;
  std::map<uint32_t, uint32_t> value_of_node_;
  FoldKernels made_;
};

}  // namespace

FoldKernels build_folds(const ops::FusionGroup& group, const GroupForms& forms) {
  return FoldStager(group, forms).run();
}

}  // namespace tierup::codegen
