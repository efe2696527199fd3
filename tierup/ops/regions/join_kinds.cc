// See join_kinds.h.
#include "tierup/ops/regions/join_kinds.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace tierup::ops {
namespace {

constexpr auto kKinds = std::to_array<std::pair<std::string_view, JoinKind>>({
    {"aten::cat", JoinKind::kCat},
    {"aten::concat", JoinKind::kCat},
    {"aten::concatenate", JoinKind::kCat},
    {"aten::stack", JoinKind::kStack},
});

}  // namespace

JoinKind join_kind_of(const Op& op) {
  const ir::Schema& schema = op.schema();
  if (!schema.overload.empty()) return JoinKind::kNone;
  const auto found = std::find_if(kKinds.begin(), kKinds.end(),
                                  [&](const auto& kind) { return kind.first == schema.name; });
  return found == kKinds.end() ? JoinKind::kNone : found->second;
}

}  // namespace tierup::ops
