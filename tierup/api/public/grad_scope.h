// What the GradScopes of this thread ask of calls.
#pragma once

#include <optional>

#include "tierup/tensor/ivalue.h"
#include "tierup/training.h"

namespace tierup::v1 {

// Of the innermost scope; nullopt outside of all.
std::optional<GradMode> scoped_grad_mode();

// What a call gave, as it leaves: in inference mode, tensors that nobody else holds (not those of
// arguments, weights or constants, nor views of them) become inference tensors.
IValue leaving_scope(IValue result);

}  // namespace tierup::v1
