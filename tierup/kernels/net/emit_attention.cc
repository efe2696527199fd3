// Attention of a net: operands where they lie, masks by their strides.
#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "tierup/kernels/attention/attention_floats.h"
#include "tierup/kernels/net/emitter.h"

namespace tierup::kernels::net {

AttentionMask Emitter::attention_mask(const AttentionProblem& problem, const LayerMask& use, int id,
                                      const BufferLayout& place) const {
  AttentionMask mask;
  mask.is_bool = value(id).dtype == ScalarType::kBool;
  mask.hides = use.fills;
  if (use.fills) mask.hidden_score = static_cast<float>(use.fill);
  mask.batch_period = use.batch_period;
  IntVector given = value(id).sizes;
  require(given.size() <= 4, ErrorCode::kUnsupported, "a mask of higher rank");
  IntVector strides = strides_of(place.layout);
  if (use.is_of_keys) {
    given.insert(given.begin() + 1, 2, 1);
    strides.insert(strides.begin() + 1, 2, 0);
  }
  const int64_t entries = use.batch_period > 0 ? use.batch_period : problem.batch;
  const IntVector wanted{entries, problem.heads, problem.queries, problem.keys};
  for (size_t d = 0; d < 4; ++d) {
    const size_t lead = 4 - given.size();
    const bool spreads = d < lead || given[d - lead] == 1;
    require(spreads || given[d - lead] == wanted[d], ErrorCode::kUnsupported,
            "a mask of another shape");
    mask.strides[d] = spreads ? 0 : strides[d - lead];
  }
  return mask;
}

// Where the keys' numbers lie one beside the other: a turned mask, a bias that a product gave for
// each pair and head, is read by many heads or batches.
BufferLayout Emitter::mask_place(int id) {
  const BufferLayout place = any_place(id);
  const IntVector& sizes = value(id).sizes;
  const bool is_turned = sizes.back() > 1 && strides_of(place.layout).back() != 1;
  if (!is_turned || value(id).dtype != ScalarType::kFloat) return place;
  return place_in(id, row_major(sizes));
}

void Emitter::attention(const Layer& layer) {
  AttentionProblem problem;
  const auto operand = [&](size_t i) {
    const int id = layer.inputs[i];
    BufferLayout place = plain_place(id);
    if (strides_of(place.layout).back() != 1) place = place_in(id, row_major(value(id).sizes));
    return place;
  };
  const BufferLayout q = operand(0);
  const BufferLayout k = operand(1);
  const BufferLayout v = operand(2);
  const IntVector& sizes = value(layer.output).sizes;
  // Heads beside their depth, so that the way back is a view.
  const IntVector stored{sizes[0], sizes[2], sizes[1], sizes[3]};
  BufferLayout target = fresh(row_major(stored));
  const IntVector order{0, 2, 1, 3};
  target.layout = *permuted(target.layout, order);
  problem.batch = sizes[0];
  problem.heads = sizes[1];
  problem.queries = sizes[2];
  problem.width = sizes[3];
  problem.depth = value(layer.inputs[0]).sizes[3];
  problem.keys = value(layer.inputs[1]).sizes[2];
  problem.group = problem.heads / value(layer.inputs[1]).sizes[1];
  problem.scale = layer.attention_scale;
  problem.is_causal = layer.is_causal;
  if (layer.is_written_out) problem.unseen = std::numeric_limits<float>::quiet_NaN();
  const auto set = [](int64_t(&to)[4], const memory::desc& layout) {
    const IntVector strides = strides_of(layout);
    std::copy(strides.begin(), strides.end(), to);
  };
  set(problem.query_strides, q.layout);
  set(problem.key_strides, k.layout);
  set(problem.value_strides, v.layout);
  set(problem.out_strides, target.layout);
  std::vector<BufferLayout> touched{q, k, v};
  std::array<BufferLayout, kMostAttentionMasks> masks;
  for (size_t i = 0; i < layer.masks.size(); ++i) {
    masks[i] = mask_place(layer.inputs[3 + i]);
    touched.push_back(masks[i]);
    problem.masks[i] = attention_mask(problem, layer.masks[i], layer.inputs[3 + i], masks[i]);
    ++problem.mask_count;
  }
  touched.push_back(target);
  act(
      [=](Bases bases) {
        std::array<const void*, kMostAttentionMasks> data{};
        for (int i = 0; i < problem.mask_count; ++i) {
          const auto at_mask = static_cast<size_t>(i);
          data[at_mask] = at<void>(bases, masks[at_mask]);
        }
        attend_floats(problem, at(bases, q), at(bases, k), at(bases, v), data, at(bases, target));
      },
      touched);
  settle(layer.output, target);
}

}  // namespace tierup::kernels::net
