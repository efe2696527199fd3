// A module's object tree with other weights in it: what a new generation of an Executor runs on.
#pragma once

#include "tierup/archive/safetensors.h"
#include "tierup/tensor/ivalue.h"

namespace tierup::api {

// A copy of the tree below `root` in which the weights named by `weights` are those tensors
// (shared, not copied). Whatever held a replaced weight under another name, tied or in a list,
// holds its successor; everything else is shared with the old tree. With `strict` every weight must
// be given, or one it is tied to, and no unknown one. Throws kInvalidArgument with all names that
// are missing, unexpected or of another shape or dtype.
Ref<ObjectValue> clone_with_weights(const Ref<ObjectValue>& root,
                                    const archive::NamedTensors& weights, bool strict);

}  // namespace tierup::api
