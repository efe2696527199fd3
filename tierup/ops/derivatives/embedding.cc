// Look-ups in tables of rows.
#include <algorithm>

#include "tierup/ops/derivatives/tables.h"
#include "tierup/ops/derivatives/term.h"

namespace tierup::ops::derivatives {
namespace {

void embedding(GradContext& c) {
  c.give(0, [&] {
    return grad(c).then("aten::embedding_dense_backward", arg(c, 1), c.size(0, 0),
                        c.int_of("padding_idx"), c.bool_of("scale_grad_by_freq"));
  });
}
void embedding_dense_backward(GradContext& c) {
  c.give(0, [&] {
    const int64_t padding = c.int_of("padding_idx");
    const Term rows =
        grad(c).then("aten::index_select", 0, arg(c, 1).then("aten::reshape", IntVector{-1}));
    const Term found = rows.then("aten::reshape", c.sizes(0));
    if (padding < 0) return found;
    return cleared(found, unsqueeze(equal(arg(c, 1), padding), -1));
  });
}
void embedding_bag_by(GradContext& c, int64_t padding_idx) {
  c.give(0, [&] {
    return grad(c).then("aten::_embedding_bag_backward", arg(c, 1), arg(c, 2), result(c, 1),
                        result(c, 2), result(c, 3), c.size(0, 0), c.bool_of("scale_grad_by_freq"),
                        c.int_of("mode"), false, optional(c, "per_sample_weights"), padding_idx);
  });
  c.give("per_sample_weights", [&] {
    return grad(c).then("aten::_embedding_bag_per_sample_weights_backward", arg(c, 0), arg(c, 1),
                        arg(c, 2), result(c, 1), c.int_of("mode"), padding_idx);
  });
}
void embedding_bag(GradContext& c) { embedding_bag_by(c, -1); }
void embedding_bag_padding(GradContext& c) {
  const int64_t padding = c.int_of("padding_idx", -1);
  const bool given = !c.is_none("padding_idx");
  embedding_bag_by(c, given && padding < 0 ? padding + c.size(0, 0) : padding);
}
void raw_embedding_bag(GradContext& c) { embedding_bag_by(c, c.int_of("padding_idx")); }

constexpr uint32_t kAllButFirst = 0b1110;

constexpr DerivativeRow kRows[] = {
    {"aten::embedding", &embedding},
    {"aten::embedding_dense_backward", &embedding_dense_backward},
    {"aten::embedding_bag", &embedding_bag, kAllButFirst},
    {"aten::embedding_bag.padding_idx", &embedding_bag_padding, kAllButFirst},
    {"aten::_embedding_bag", &raw_embedding_bag, kAllButFirst},
};

}  // namespace

std::span<const DerivativeRow> embedding_derivatives() { return kRows; }

}  // namespace tierup::ops::derivatives
