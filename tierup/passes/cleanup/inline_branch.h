// inline_branch: puts the nodes of one block of an If in the If's place, and removes the If.
#pragma once

#include "tierup/ir/graph_editor.h"

namespace tierup::passes {

// Uses of the If's outputs become uses of the block's returns. `index` 0 is the branch for true.
inline void inline_branch(ir::GraphEditor& editor, ir::Node* node, size_t index) {
  ir::Block* block = node->block(index);
  for (ir::Node* inner : block->nodes()) editor.move_before(inner, node);
  for (size_t i = 0; i < node->outputs().size(); ++i) {
    editor.replace_uses(node->output(i), block->returns()[i]);
  }
  editor.remove(node);
}

}  // namespace tierup::passes
