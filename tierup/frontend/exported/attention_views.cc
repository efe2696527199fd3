// Views of what attention gives.
//
// PyTorch's releases lay that out in different ways: some as [batch, length, heads, width], as
// tierup does, later ones as the query lies. A program has a `view` wherever the layout of the
// release that wrote it allowed one; where that was another than ours, it is a reshape here.
#include <algorithm>
#include <array>
#include <limits>
#include <string_view>

#include "tierup/frontend/exported/graph_builder.h"
#include "tierup/ops/table/op_table.h"

namespace tierup::frontend::exported {
namespace {

using namespace std::string_view_literals;

constexpr std::array kAttention = {"aten::scaled_dot_product_attention"sv,
                                   "aten::_scaled_dot_product_attention_math"sv,
                                   "aten::_scaled_dot_product_flash_attention_for_cpu"sv};
constexpr std::array kRearranging = {"aten::permute"sv, "aten::transpose.int"sv, "aten::detach"sv,
                                     "aten::alias"sv};

template <typename Names>
bool is_among(const Names& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Whether a value was written as [batch, length, heads, width] seen with the heads before the
// length, or its layout is not known.
bool lies_as_ours(const TensorMeta& meta) {
  if (meta.strides.size() != 4 || meta.sizes.size() != 4) return true;
  constexpr std::array kOrder = {0, 2, 1, 3};  // Outermost first.
  int64_t last = std::numeric_limits<int64_t>::max();
  for (const int dim : kOrder) {
    const SymInt& stride = meta.strides[static_cast<size_t>(dim)];
    const SymInt& size = meta.sizes[static_cast<size_t>(dim)];
    if (!stride.is_static()) continue;
    if (size.is_static() && size.value <= 1) continue;
    if (stride.value > last) return false;
    last = stride.value;
  }
  return true;
}

}  // namespace

const ops::Op& GraphBuilder::for_any_layout(const ops::Op& op,
                                            std::span<ir::Value* const> inputs) const {
  if (inputs.empty() || !laid_otherwise_.contains(inputs[0])) return op;
  if (op.schema().qualified_name() != "aten::view") return op;
  const ops::Op* reshape = ops::OpTable::instance().find("aten::reshape");
  return reshape == nullptr ? op : *reshape;
}

void GraphBuilder::note_layouts(const NodeData& node, const ir::Node& created,
                                const GraphData& graph) {
  if (created.outputs().empty() || node.outputs.empty()) return;
  const std::string name = created.op()->schema().qualified_name();
  if (is_among(kRearranging, name)) {
    if (laid_otherwise_.contains(created.inputs()[0])) laid_otherwise_.insert(created.outputs()[0]);
    return;
  }
  if (!is_among(kAttention, name)) return;
  const auto meta = graph.tensor_values.find(node.outputs[0].text);
  if (meta != graph.tensor_values.end() && !lies_as_ours(meta->second)) {
    laid_otherwise_.insert(created.outputs()[0]);
  }
}

}  // namespace tierup::frontend::exported
