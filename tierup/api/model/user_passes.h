// UserPasses: the passes of a model's options and plugins, as the pass runner takes them.
#pragma once

#include <memory>
#include <vector>

#include "tierup/executor/delegation.h"
#include "tierup/executor/graph_rewrite.h"
#include "tierup/passes/core/pass.h"

namespace tierup::api {

// Constant once made. Each pass is followed by verification and, where it changed something, by
// dead code elimination; what it throws leaves as kInvalidArgument with its name.
struct UserPasses {
  passes::PassRegistry tier0;
  passes::PassRegistry specialized;
};

// `plugins` may be null, and outlives the result; null if there is no pass at all. Throws
// kInvalidArgument for a name that is empty or taken.
std::shared_ptr<const UserPasses> make_user_passes(std::vector<executor::UserPass> passes,
                                                   const executor::Plugins* plugins);

}  // namespace tierup::api
