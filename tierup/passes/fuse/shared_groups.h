// SharedGroups: fusion groups that are the same are one object.
//
// A loop that was written out makes the same group in each step. One for all of them is compiled
// once, and stays in the nearest cache.
#pragma once

#include <vector>

#include "tierup/ops/regions/fusion_group.h"

namespace tierup::passes {

class SharedGroups {
 public:
  // The group itself, or an equal one that was given before.
  Ref<ops::FusionGroup> shared(Ref<ops::FusionGroup> group);

 private:
  std::vector<Ref<ops::FusionGroup>> groups_;
};

}  // namespace tierup::passes
