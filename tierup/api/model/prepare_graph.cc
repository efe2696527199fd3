#include "tierup/api/model/prepare_graph.h"

#include "tierup/ir/graph_editor.h"
#include "tierup/passes/core/pass_runner.h"
#include "tierup/passes/pipeline.h"

namespace tierup::api {
namespace {

bool is_foreign(const IValue& value) {
  return value.is_device() && value.to_device().type != DeviceType::kCpu &&
         value.to_device().type != DeviceType::kMeta;
}

void move_devices_to_cpu(ir::GraphEditor& editor, const ir::Block& block) {
  for (ir::Node* node : block.nodes()) {
    if (node->is(ir::NodeKind::kConstant) && is_foreign(node->attr<IValue>(ir::AttrName::kValue))) {
      editor.set_attr(node, ir::AttrName::kValue, IValue(Device{}));
    }
    for (const ir::Block* inner : node->blocks()) move_devices_to_cpu(editor, *inner);
  }
}

}  // namespace

std::shared_ptr<const ir::Graph> prepare_graph(const ir::Function& function,
                                               const PrepareOptions& options) {
  const std::shared_ptr<ir::Graph> graph = function.graph()->clone();
  passes::run_no_opt_pipeline(*graph);
  if (options.devices_to_cpu) {
    ir::GraphEditor editor(*graph);
    move_devices_to_cpu(editor, graph->block());
  }
  if (options.passes != nullptr) {
    passes::PassOptions pass_options;
    pass_options.user_passes = options.passes;
    pass_options.disabled = options.disabled;
    passes::run_passes(*graph, {}, pass_options);
  }
  if (options.plugins != nullptr) options.plugins->delegate_nodes(*graph);
  return graph;
}

}  // namespace tierup::api
