// keep_recurrent_weights: recurrent layers and cells keep their matrices packed between calls.
//
//   %h : Tensor = aten::gru_cell(%x, %h0, %w_ih, %w_hh, %b_ih, %b_hh)
//     =>
//   %h : Tensor = tierup::gru_cell(%step, %x, %h0, %w_ih, %w_hh, %b_ih, %b_hh)
//
// where %step is a constant object, ops/rows/recurrent_step.h, which packs matrices when it meets
// them first, and anew where one was written.
//
// Requires   a verified graph.
// Rewrites   every operator of that role.
// Preserves  values but for rounding: a product by panels may sum in another order than a library.
// Counts     kept: operators that keep their matrices.
#pragma once

#include "tierup/passes/core/pass.h"

namespace tierup::passes {

void keep_recurrent_weights(PassContext& context);

}  // namespace tierup::passes
