// Views, and copies that look like them.
#include "tierup/ops/derivatives/tables.h"

namespace tierup::ops::derivatives {
namespace {

void back_to_sizes(GradContext& c) {
  c.give(0, [&] { return c.op("aten::reshape", c.grad(), c.sizes(0)); });
}

void t(GradContext& c) {
  c.give(0, [&] { return c.op("aten::t", c.grad()); });
}

// Un-broadcasting is what `give` does.
void expand(GradContext& c) {
  c.give(0, [&] { return c.grad(); });
}

void copy_into(GradContext& c) {
  c.give_zeros(0);
  c.give(1, [&] { return c.grad(); });
}

constexpr DerivativeRow kRows[] = {
    {"aten::view", &back_to_sizes},
    {"aten::reshape", &back_to_sizes},
    {"aten::t", &t},
    {"aten::expand", &expand},
    {"aten::detach", DerivativeKind::kNone},
    {"aten::detach_", DerivativeKind::kNone},
    {"prim::data", DerivativeKind::kNone},
    {"aten::data", DerivativeKind::kNone},
    {"prim::grad", DerivativeKind::kNone},
    {"aten::copy_", &copy_into},
};

}  // namespace

std::span<const DerivativeRow> views_derivatives() { return kRows; }

}  // namespace tierup::ops::derivatives
