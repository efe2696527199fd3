#include "tierup/ops/regions/same_program.h"

#include <algorithm>

namespace tierup::ops {

namespace net = kernels::net;
using net::Arg;

bool same_program(const net::Program& a, const net::Program& b,
                  bool (*same)(const Arg&, const Arg&)) {
  const auto same_argument = [&](const Arg& x, const Arg& y) {
    return x.value == y.value && (x.is_value() || same(x, y));
  };
  const auto same_op = [&](const net::Op& x, const net::Op& y) {
    return x.kind == y.kind && x.keeps_shape == y.keeps_shape && x.result_count == y.result_count &&
           x.outputs == y.outputs && x.last_reads == y.last_reads &&
           std::ranges::equal(x.args, y.args, same_argument);
  };
  return a.value_count == b.value_count && a.inputs == b.inputs && a.outputs == b.outputs &&
         std::ranges::equal(a.ops, b.ops, same_op);
}

}  // namespace tierup::ops
