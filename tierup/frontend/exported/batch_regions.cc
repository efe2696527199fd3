// torch.vmap in an exported program: between two marks, nodes compute on single examples of a
// batch. They become a loop over the examples; what depends on none of them stands before it, once.
//
//   _vmap_increment_nesting(batch, randomness)
//   a = _add_batch_dim(x, dim, level)          -> a = x.select(dim, i)
//   b = torch.ops.aten.sin(a)                  -> b = sin(a)
//   y = _remove_batch_dim(b, level, batch, d)  -> y = stack([b of each i], d)
//   _vmap_decrement_nesting()
#include "tierup/frontend/exported/batch_regions.h"

#include <algorithm>
#include <unordered_set>

#include "tierup/base/error.h"

namespace tierup::frontend::exported {
namespace {

using Kind = Argument::Kind;
using Nodes = std::span<const NodeData>;

constexpr std::string_view kOpening = "torch._functorch.predispatch._vmap_increment_nesting";
constexpr std::string_view kClosing = "torch._functorch.predispatch._vmap_decrement_nesting";
constexpr std::string_view kEntry = "torch._functorch.predispatch._add_batch_dim";
constexpr std::string_view kExit = "torch._functorch.predispatch._remove_batch_dim";

// A region is read once for each that it lies in.
constexpr size_t kMaxDepth = 50;

bool reads_any(const Argument& argument, const std::unordered_set<std::string>& names) {
  if (argument.is_reference()) return names.contains(argument.text);
  return std::any_of(argument.items.begin(), argument.items.end(),
                     [&](const Argument& item) { return reads_any(item, names); });
}

void note_names(const Argument& output, std::unordered_set<std::string>& names) {
  if (output.is_reference()) names.insert(output.text);
  for (const Argument& item : output.items) note_names(item, names);
}

void expect_arguments(const NodeData& node, size_t count) {
  require(node.inputs.size() == count && node.outputs.size() == 1, ErrorCode::kCorruptArchive,
          "{} has {} arguments and {} results instead of {} and 1", node.target, node.inputs.size(),
          node.outputs.size(), count);
}

}  // namespace

size_t batch_region_length(Nodes nodes) {
  size_t depth = 0;
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].target == kOpening) ++depth;
    require(depth <= kMaxDepth, ErrorCode::kRecursionLimit, "more than {} vmaps in each other",
            kMaxDepth);
    if (nodes[i].target == kClosing && depth > 0) --depth;
    if (depth == 0) return i + 1;
  }
  fail(ErrorCode::kCorruptArchive, "the vmap at node '{}' is not closed", nodes.front().name);
}

BatchRegion::BatchRegion(GraphBuilder& builder, const GraphData& graph, Environment& environment)
    : builder_(builder), editor_(builder.editor()), graph_(graph), environment_(environment) {}

void BatchRegion::add(Nodes marked) {
  const NodeData& opening = marked.front();
  require(opening.inputs.size() == 2, ErrorCode::kCorruptArchive, "a vmap without its batch size");
  const Argument& batch = opening.inputs[0].value;
  require(batch.kind == Kind::kInt || batch.kind == Kind::kSymInt, ErrorCode::kCorruptArchive,
          "the batch size of a vmap is no integer");
  require(opening.inputs[1].value.text == "error", ErrorCode::kUnsupported,
          "a vmap with randomness='{}' is not supported", opening.inputs[1].value.text);
  for (const Nodes unit : per_example(marked.subspan(1, marked.size() - 2))) {
    units_.push_back(unit);
    if (unit.front().target == kExit) {
      expect_arguments(unit.front(), 4);
      ir::Node* list = editor_.create(ir::NodeKind::kListConstruct);
      rows_.push_back(editor_.add_output(list, Type::list(Type::tensor())));
    }
  }
  const bool is_empty = batch.kind == Kind::kInt && batch.integer == 0;
  if (is_empty) {
    add_example(nullptr);
  } else {
    ir::Value* enter = editor_.constant(IValue(true));
    ir::Node* loop = editor_.create(ir::NodeKind::kLoop,
                                    {builder_.convert(batch, nullptr, environment_), enter});
    ir::Block* home = editor_.insert_block();
    ir::Block* block = editor_.add_block(loop);
    editor_.set_insert_end(block);
    add_example(editor_.add_param(block, Type::integer()));
    editor_.add_return(block, editor_.constant(IValue(true)));
    editor_.set_insert_end(home);
  }
  bind_results(is_empty);
}

std::vector<Nodes> BatchRegion::per_example(Nodes body) {
  std::vector<Nodes> units;
  while (!body.empty()) {
    const Nodes unit = body.first(batch_region_length(body));
    body = body.subspan(unit.size());
    const bool is_border = unit.front().target == kEntry || unit.front().target == kExit;
    const bool depends = std::any_of(unit.begin(), unit.end(), [&](const NodeData& node) {
      return std::any_of(node.inputs.begin(), node.inputs.end(), [&](const NamedArgument& input) {
        return reads_any(input.value, names_);
      });
    });
    if (!is_border && !depends) {
      builder_.add_nodes(unit, graph_, environment_);
      continue;
    }
    units.push_back(unit);
    for (const NodeData& node : unit) {
      for (const Argument& output : node.outputs) note_names(output, names_);
    }
  }
  return units;
}

void BatchRegion::add_example(ir::Value* index) {
  size_t exits = 0;
  for (const Nodes unit : units_) {
    const NodeData& node = unit.front();
    if (node.target == kEntry) {
      expect_arguments(node, 3);
      builder_.bind(node.outputs[0], example_of(node, index), graph_, environment_);
    } else if (node.target == kExit) {
      ir::Value* row = builder_.convert(node.inputs[0].value, nullptr, environment_);
      builder_.call("aten::append.t", {rows_[exits++], row});
    } else {
      builder_.add_nodes(unit, graph_, environment_);
    }
  }
  for (const std::string& name : names_) environment_.erase(name);
}

ir::Value* BatchRegion::example_of(const NodeData& entry, ir::Value* index) {
  ir::Value* batch = builder_.convert(entry.inputs[0].value, nullptr, environment_);
  const Argument& dim = entry.inputs[1].value;
  if (index != nullptr) {
    return builder_.call("aten::select.int",
                         {batch, builder_.convert(dim, nullptr, environment_), index});
  }
  // Without examples, a sum of none has the shape of one, and the dtype that it is asked for.
  const auto meta = graph_.tensor_values.find(entry.outputs[0].text);
  require(meta != graph_.tensor_values.end(), ErrorCode::kCorruptArchive,
          "nothing is known of the value '{}'", entry.outputs[0].text);
  Argument dims;
  dims.kind = Kind::kList;
  dims.items = {dim};
  ir::Value* over = builder_.convert(dims, Type::list(Type::integer()), environment_);
  ir::Value* dtype = editor_.constant(IValue(static_cast<int64_t>(meta->second.dtype)));
  return builder_.call("aten::sum.dim_IntList",
                       {batch, over, editor_.constant(IValue(false)), dtype});
}

void BatchRegion::bind_results(bool is_empty) {
  size_t exits = 0;
  for (const Nodes unit : units_) {
    const NodeData& node = unit.front();
    if (node.target != kExit) continue;
    ir::Value* dim = builder_.convert(node.inputs[3].value, nullptr, environment_);
    ir::Value* result = builder_.call("aten::stack", {rows_[exits++], dim});
    if (is_empty) {
      ir::Value* zero = editor_.constant(IValue(0));
      result = builder_.call("aten::narrow", {result, dim, zero, zero});
    }
    builder_.bind(node.outputs[0], result, graph_, environment_);
  }
}

}  // namespace tierup::frontend::exported
