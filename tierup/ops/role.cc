// The one table of roles, sorted by name.
#include "tierup/ops/role.h"

#include <algorithm>
#include <array>

namespace tierup::ops {
namespace {

struct NamedRole {
  std::string_view name;
  Role role;
};
constexpr auto kRoles = std::to_array<NamedRole>({
    {"aten::__is__", Role::kIs},
    {"aten::__isnot__", Role::kIsNot},
    {"aten::expand", Role::kExpand},
});
static_assert(std::is_sorted(kRoles.begin(), kRoles.end(),
                             [](const NamedRole& a, const NamedRole& b) {
                               return a.name < b.name;
                             }));

}  // namespace

Role role_of(std::string_view qualified_name) {
  const auto found = std::lower_bound(
      kRoles.begin(), kRoles.end(), qualified_name,
      [](const NamedRole& entry, std::string_view name) { return entry.name < name; });
  return found != kRoles.end() && found->name == qualified_name ? found->role : Role::kNone;
}

}  // namespace tierup::ops
