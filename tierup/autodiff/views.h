// Views under the tape: which tensor they are views of, and what a write through one of them does
// to the others (facts B3 to B5).
#pragma once

#include "tierup/autodiff/call_node.h"

namespace tierup::autodiff {

// Gives a view whose base was written since its record was made a record made from the base's.
// Throws kInvalidArgument where such a view may not be used any more.
void refresh_view(TensorImpl& tensor);
// The same for who asks whether a tensor requires gradients: a view that may not be used stays.
void refresh_flag(TensorImpl& tensor);
// Notes that `view` is a view of `base`, or of what `base` is a view of. Its record must be set.
void note_view(TensorImpl& view, TensorImpl& base, ViewOrigin origin, std::string maker,
               uint32_t number);
// Throws kInvalidArgument, with PyTorch's words, if `tensor` may not be written in place.
void check_writable(const TensorImpl& tensor);
// `tensor` was written by the call of `node`, whose result `index` it is.
void rebase(TensorImpl& tensor, Ref<CallNode> node, uint32_t index);

}  // namespace tierup::autodiff
