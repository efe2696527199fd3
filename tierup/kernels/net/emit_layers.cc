// The layers that are neither convolutions nor products.
#include <algorithm>
#include <cmath>

#include "tierup/base/parallel.h"
#include "tierup/kernels/gemm/row_kernels.h"
#include "tierup/kernels/net/channel_loops.h"
#include "tierup/kernels/net/convolution_forms.h"
#include "tierup/kernels/net/emitter.h"
#include "tierup/kernels/net/finished_rows.h"
#include "tierup/kernels/net/post_operations.h"
#include "tierup/kernels/onednn/onednn_engine.h"
#include "tierup/kernels/pointwise/pointwise.h"

namespace tierup::kernels::net {
namespace {

dnnl::primitive_attr user_scratchpad() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

memory::dims last(const PoolWindow::Triple& triple, int rank) {
  return {triple.end() - rank, triple.end()};
}

// A layer that one thread has done in some 10 us: what a team saves of it is lost at its barriers,
// and in looking at the flags of all its threads. On crowded cores a barrier takes milliseconds.
constexpr int64_t kMostForOneThread = int64_t{1} << 19;

// The step of the epilogue that adds another value, if there is one.
auto summed_up(const Layer& layer) {
  return std::ranges::find_if(layer.epilogue, [](const Epilogue& e) { return e.summand >= 0; });
}

}  // namespace

int Emitter::threads_for(const Layer& layer) const {
  const auto worth = [](int64_t multiplications, int64_t numbers) {
    return threads_worth(multiplications, numbers, kMostForOneThread);
  };
  const int64_t results = numel_of(value(layer.output).sizes);
  const auto numel = [&](size_t i) { return numel_of(value(layer.inputs[i]).sizes); };
  switch (layer.kind) {
    case LayerKind::kConv: return worth(layer.conv.multiplications(), layer.conv.numbers());
    case LayerKind::kGemm:
      return worth(results * layer.weight.size(0), results + numel(0) + layer.weight.numel());
    case LayerKind::kBatchGemm:
      return worth(results * value(layer.inputs[0]).sizes.back(), results + numel(0) + numel(1));
    case LayerKind::kOverPoints:
    case LayerKind::kOverRows: return worth(0, numel(0));
    default: return worth(0, results);
  }
}

// Primitives keep the number of threads that they were made for.
void Emitter::emit(const Layer& layer) {
  const ThreadCountScope threads(threads_for(layer));
  emit_kind(layer);
}

void Emitter::emit_kind(const Layer& layer) {
  switch (layer.kind) {
    case LayerKind::kConv: return convolution(layer);
    case LayerKind::kGemm: return product(layer);
    case LayerKind::kBatchGemm: return batch_product(layer);
    case LayerKind::kAffine: return affine(layer);
    case LayerKind::kPrelu: return affine(layer);
    case LayerKind::kActivate: return activation(layer);
    case LayerKind::kBinary: return binary(layer);
    case LayerKind::kPool: return pool(layer);
    case LayerKind::kOverPoints: return over_points(layer);
    case LayerKind::kOverRows: return over_rows(layer);
    case LayerKind::kFunction: return function(layer);
    case LayerKind::kLayerNorm: return layer_norm(layer);
    case LayerKind::kRmsNorm: return rms_norm(layer);
    case LayerKind::kSoftmax: return softmax(layer);
    case LayerKind::kAttention: return attention(layer);
    case LayerKind::kWeave: return weave(layer);
    case LayerKind::kView: return view(layer);
    case LayerKind::kPermute: return permute(layer);
    case LayerKind::kSlice: return slice(layer);
    case LayerKind::kCat: return cat(layer);
    case LayerKind::kRepeat: return repeat(layer);
    case LayerKind::kGlu: return glu(layer);
    case LayerKind::kGroupNorm: return group_norm(layer);
    case LayerKind::kPoints: return points(layer);
    case LayerKind::kResample: return resample(layer);
    case LayerKind::kFill: return fill(layer);
  }
}

bool Emitter::is_summed_up(const Layer& layer, int input) const {
  const auto sum = summed_up(layer);
  return sum != layer.epilogue.end() &&
         root_[static_cast<size_t>(input)] == root_[static_cast<size_t>(sum->summand)];
}

// The operand's own place where that may be overwritten, and the summand is not part of it.
Emitter::FinishedRows Emitter::finished_rows(const Layer& layer, const BufferLayout& source,
                                             bool may_overwrite) {
  FinishedRows rows;
  rows.steps = *store_steps(layer);
  const auto sum = summed_up(layer);
  const bool has_summand = sum != layer.epilogue.end();
  if (has_summand) rows.summand = place_in(sum->summand, source.layout);
  const bool is_read_too =
      std::ranges::any_of(layer.inputs, [&](int input) { return is_summed_up(layer, input); });
  rows.target =
      is_read_too || !may_overwrite ? fresh(source.layout) : over(layer.inputs[0], source);
  if (!has_summand) rows.summand = rows.target;
  return rows;
}

Emitter::FinishedRows Emitter::finished_in_place(const Layer& layer, const BufferLayout& target) {
  const auto sum = summed_up(layer);
  const bool has_summand = sum != layer.epilogue.end();
  return {target, has_summand ? place_in(sum->summand, target.layout) : target,
          *store_steps(layer)};
}

void Emitter::activation(const Layer& layer) {
  const BufferLayout source = gapless_place(layer.inputs[0]);
  Layer alone;
  alone.epilogue.push_back({-1, layer.activation});
  const auto step = store_steps(alone);
  if (step && is_plain(source.layout)) {
    const BufferLayout target = over(layer.inputs[0], source);
    const int64_t count = numel_of(value(layer.output).sizes);
    act(
        [=, step = step->front()](Bases bases) {
          const StepLoops loops = step_loops();
          const float* x = at(bases, source);
          float* y = at(bases, target);
          parallel_for(0, count, kNumbersForThread, [&](int64_t begin, int64_t end) {
            loops.apply(step, x + begin, end - begin, y + begin);
          });
        },
        {source, target});
    return settle(layer.output, target);
  }
  const Eltwise e = eltwise_of(layer.activation);
  const dnnl::eltwise_forward::primitive_desc pd(
      {dnnl::prop_kind::forward_inference, e.algorithm, source.layout, e.alpha, e.beta},
      user_scratchpad(), onednn_engine());
  const BufferLayout target = over(layer.inputs[0], source);
  act(dnnl::eltwise_forward(pd),
      {{DNNL_ARG_SRC, source}, {DNNL_ARG_DST, target}, scratch(pd.scratchpad_desc())});
  settle(layer.output, target);
}

void Emitter::binary(const Layer& layer) {
  const int a = layer.inputs[0];
  const int b = layer.inputs[1];
  const IntVector& sizes = value(a).sizes;
  IntVector small(value(b).sizes);
  small.insert(small.begin(), sizes.size() - small.size(), 1);
  const bool is_whole = std::equal(sizes.begin(), sizes.end(), small.begin(), small.end());
  const bool is_apart = root_[static_cast<size_t>(a)] != root_[static_cast<size_t>(b)];
  if (layer.multiplies && is_apart && !is_whole && spread_product(layer, small)) return;
  BufferLayout left = gapless_place(a);
  const bool lies_alike = is_whole && value(b).sizes.size() == sizes.size();
  BufferLayout right = place_in(b, lies_alike ? left.layout : row_major(value(b).sizes));
  if (!lies_alike) {
    if (!is_plain(left.layout)) left = plain_place(a);
    right.layout = row_major(small);
  }
  if (lies_alike && (is_plain(left.layout) || !layer.epilogue.empty())) {
    if (!is_plain(left.layout)) {
      left = plain_place(a);
      right = place_in(b, left.layout);
    }
    return join(layer, left, right);
  }
  const auto algorithm =
      layer.multiplies ? dnnl::algorithm::binary_mul : dnnl::algorithm::binary_add;
  const dnnl::binary::primitive_desc pd({algorithm, left.layout, right.layout, left.layout},
                                        user_scratchpad(), onednn_engine());
  const bool may_go_over = is_apart && !is_summed_up(layer, a);
  const BufferLayout target = may_go_over ? over(a, left) : fresh(left.layout);
  if (is_reference(pd) && is_plain(left.layout)) {
    const Body body = layer.multiplies ? Body::kMul : Body::kAdd;
    act(
        [=](Bases bases) {
          run_pointwise(tensor_at(bases, target), body, ScalarType::kFloat,
                        std::array<Operand, 2>{tensor_at(bases, left), tensor_at(bases, right)});
        },
        {left, right, target});
    return finish_apart(layer, target);
  }
  act(dnnl::binary(pd), {{DNNL_ARG_SRC_0, left},
                         {DNNL_ARG_SRC_1, right},
                         {DNNL_ARG_DST, target},
                         scratch(pd.scratchpad_desc())});
  finish_apart(layer, target);
}

void Emitter::fill(const Layer& layer) {
  const int input = layer.inputs[0];
  const int mask = layer.inputs[1];
  const IntVector& sizes = value(input).sizes;
  const IntVector& mask_sizes = value(mask).sizes;
  if (broadcast_shapes(sizes, mask_sizes) != sizes) throw NotCompiled(NetRefusal::kLooseFill);
  const BufferLayout dense = gapless_place(input);
  const BufferLayout source = is_plain(dense.layout) ? dense : plain_place(input);
  const BufferLayout where = any_place(mask);
  const BufferLayout target =
      is_summed_up(layer, input) ? fresh(source.layout) : over(input, source);
  act(
      [=, by = Scalar(layer.fill), strides = contiguous_strides(mask_sizes)](Bases bases) {
        const auto storage = Storage::borrow(at(bases, where), numel_of(mask_sizes), nullptr);
        const Tensor bools =
            Tensor::from_storage(storage, ScalarType::kBool, mask_sizes, strides, 0);
        run_pointwise(tensor_at(bases, target), Body::kWhere, ScalarType::kFloat,
                      std::array<Operand, 3>{bools, by, tensor_at(bases, source)});
      },
      {source, where, target});
  finish_apart(layer, target);
}

void Emitter::finish_apart(const Layer& layer, const BufferLayout& target) {
  settle(layer.output, target);
  if (layer.epilogue.empty()) return;
  const FinishedRows finish = finished_in_place(layer, target);
  const int64_t count = numel_of(value(layer.output).sizes);
  act([=](Bases bases) { finish.run(bases, count, 1, [](auto...) {}); }, {finish.summand, target});
}

// Channels innermost, unless the value lies in order, and the factors go with rows of that.
bool Emitter::spread_product(const Layer& layer, const IntVector& small) {
  const int a = layer.inputs[0];
  const IntVector& sizes = value(a).sizes;
  const bool is_in_order = same_layout(any_place(a).layout, row_major(sizes));
  size_t first = 0;  // The first dimension along which factors are repeated.
  while (small[first] == sizes[first]) ++first;
  size_t last = first;
  while (last < sizes.size() && small[last] == 1) ++last;
  const auto all_from = [&](size_t d) {
    return numel_of(IntSpan(sizes.data(), sizes.size()).subspan(d));
  };
  const bool is_row = std::equal(small.begin() + static_cast<std::ptrdiff_t>(last), small.end(),
                                 sizes.begin() + static_cast<std::ptrdiff_t>(last));
  const bool has_rows = is_in_order && is_row && last < sizes.size();
  const bool has_channels = !is_in_order && sizes.size() > 2 && first == 2 && last == sizes.size();
  if (!has_rows && !has_channels) return false;
  const BufferLayout source = place_in(a, has_rows ? row_major(sizes) : channels_last(sizes));
  const BufferLayout factors = place_in(layer.inputs[1], row_major(value(layer.inputs[1]).sizes));
  const FinishedRows finish = finished_rows(layer, source);
  const int64_t channels = has_rows ? all_from(last) : sizes[1];
  const int64_t points = has_rows ? all_from(first) / channels : all_from(2);
  const int64_t rows = numel_of(sizes) / channels;
  act(
      [=](Bases bases) {
        const ChannelLoops loops = channel_loops();
        finish.run(bases, rows, channels, [&](int64_t begin, int64_t count, float* y) {
          const float* x = at(bases, source) + begin * channels;
          for (int64_t i = 0; i < count; ++i) {
            const float* factor = at(bases, factors) + (begin + i) / points * channels;
            loops.scale(x + i * channels, factor, channels, y + i * channels);
          }
        });
      },
      {source, factors, finish.target, finish.summand});
  settle(layer.output, finish.target);
  return true;
}

void Emitter::join(const Layer& layer, const BufferLayout& left, const BufferLayout& right) {
  const bool is_apart =
      root_[static_cast<size_t>(layer.inputs[0])] != root_[static_cast<size_t>(layer.inputs[1])];
  const FinishedRows finish = finished_rows(layer, left, is_apart);
  const int64_t count = numel_of(value(layer.output).sizes);
  act(
      [=, multiplies = layer.multiplies](Bases bases) {
        const StepLoops loops = step_loops();
        const auto joined = multiplies ? loops.multiply : loops.add;
        const float* a = at(bases, left);
        const float* b = at(bases, right);
        finish.run(bases, count, 1, [&](int64_t first, int64_t numbers, float* y) {
          joined(a + first, b + first, numbers, y);
        });
      },
      {left, right, finish.target, finish.summand});
  settle(layer.output, finish.target);
}

// oneDNN's begins with the least finite number, which -infinity is below.
void Emitter::largest_of_windows_in(const Layer& layer) {
  const IntVector& sizes = value(layer.inputs[0]).sizes;
  const BufferLayout source = place_in(layer.inputs[0], channels_last(sizes));
  const BufferLayout target = fresh(channels_last(value(layer.output).sizes));
  act(
      [=, window = layer.pool, batch = sizes[0], channels = sizes[1]](Bases bases) {
        largest_of_windows(window, at(bases, source), batch, channels, at(bases, target));
      },
      {source, target});
  settle(layer.output, target);
}

void Emitter::pool(const Layer& layer) {
  if (layer.is_max) return largest_of_windows_in(layer);
  const PoolWindow& w = layer.pool;
  BufferLayout source = any_place(layer.inputs[0]);
  if (is_plain(source.layout))
    source = place_in(layer.inputs[0], channels_last(value(layer.inputs[0]).sizes));
  memory::dims after;
  for (auto d = static_cast<size_t>(3 - w.rank); d < 3; ++d) {
    after.push_back((w.out[d] - 1) * w.stride[d] + w.kernel[d] - w.in[d] - w.padding[d]);
  }
  const auto algorithm = layer.counts_padding ? dnnl::algorithm::pooling_avg_include_padding
                                              : dnnl::algorithm::pooling_avg_exclude_padding;
  const dnnl::pooling_forward::primitive_desc pd(
      {dnnl::prop_kind::forward_inference, algorithm, source.layout,
       any_layout(value(layer.output).sizes), last(w.stride, w.rank), last(w.kernel, w.rank),
       last(w.padding, w.rank), after},
      user_scratchpad(), onednn_engine());
  const BufferLayout target = fresh(pd.dst_desc());
  act(dnnl::pooling_forward(pd),
      {{DNNL_ARG_SRC, source}, {DNNL_ARG_DST, target}, scratch(pd.scratchpad_desc())});
  settle(layer.output, target);
}

void Emitter::over_points(const Layer& layer) {
  const IntVector& sizes = value(layer.inputs[0]).sizes;
  const BufferLayout source = place_in(layer.inputs[0], channels_last(sizes));
  const IntVector& out = value(layer.output).sizes;
  const BufferLayout target = fresh(out.size() > 2 ? channels_last(out) : row_major(out));
  const int64_t channels = sizes[1];
  const int64_t batch = numel_of(out) / channels;  // The points that stay take part in it.
  const int64_t points = numel_of(sizes) / batch / channels;
  reduce_points(layer, source, target, {batch, points, channels});
}

void Emitter::reduce_points(const Layer& layer, const BufferLayout& source,
                            const BufferLayout& target, const PointCounts& counts) {
  act(
      [=, reduction = layer.reduction](Bases bases) {
        const auto& [batch, points, channels] = counts;
        const float* x = at(bases, source);
        float* results = at(bases, target);
        switch (reduction) {
          case Reduction::kSum: return sum_of_points(x, batch, points, channels, results);
          case Reduction::kMean: return mean_of_points(x, batch, points, channels, results);
          case Reduction::kMeanSquare:
            return mean_square_of_points(x, batch, points, channels, results);
          case Reduction::kNorm: return norm_of_points(x, batch, points, channels, results);
          case Reduction::kLargest: return largest_of_points(x, batch, points, channels, results);
        }
      },
      {source, target});
  settle(layer.output, target);
}

void Emitter::view(const Layer& layer) {
  const IntVector& sizes = value(layer.output).sizes;
  const int input = layer.inputs[0];
  any_place(input);
  for (const BufferLayout& place : places_[static_cast<size_t>(input)]) {
    if (const auto layout = viewed(place.layout, sizes)) {
      return settle(layer.output, {*layout, place.buffer, place.offset});
    }
  }
  const IntVector& given = value(input).sizes;
  if (const auto layout = channels_last_of_view(any_place(input).layout, given, sizes)) {
    const BufferLayout moved = place_in(input, *layout);
    return settle(layer.output, {channels_last(sizes), moved.buffer, moved.offset});
  }
  const BufferLayout dense = place_in(input, row_major(given));
  settle(layer.output, {row_major(sizes), dense.buffer, dense.offset});
}

void Emitter::permute(const Layer& layer) {
  const BufferLayout place = plain_place(layer.inputs[0]);
  settle(layer.output, {*permuted(place.layout, layer.order), place.buffer, place.offset});
}

void Emitter::slice(const Layer& layer) {
  const BufferLayout place = plain_place(layer.inputs[0]);
  IntVector strides = strides_of(place.layout);
  const auto skipped = static_cast<size_t>(layer.first * strides[layer.axis]) * sizeof(float);
  strides[layer.axis] *= layer.step;
  settle(layer.output,
         {strided(value(layer.output).sizes, strides), place.buffer, place.offset + skipped});
}

// By channels as the first value that lies in one way alone: a single channel lies in both. What is
// stacked stays as it lies, if that is another order.
memory::desc Emitter::layout_of_join(const Layer& layer) {
  const IntVector& sizes = value(layer.output).sizes;
  if (lies_by_channels(layer.inputs)) return channels_last(sizes);
  const memory::desc first = any_place(layer.inputs[0]).layout;
  const bool is_stack = std::ranges::all_of(
      layer.inputs, [&](int input) { return value(input).sizes[layer.axis] == 1; });
  const bool is_in_order = same_layout(first, row_major(value(layer.inputs[0]).sizes));
  return is_stack && !is_in_order ? ordered_like(first, sizes) : row_major(sizes);
}

bool Emitter::lies_by_channels(const std::vector<int>& inputs) {
  for (const int input : inputs) {
    const IntVector& sizes = value(input).sizes;
    const memory::desc layout = any_place(input).layout;
    if (sizes.size() < 3) return false;
    if (!is_plain(layout)) return true;
    const bool by_channels = same_layout(layout, channels_last(sizes));
    if (by_channels != same_layout(layout, row_major(sizes))) return by_channels;
  }
  return false;
}

// Each part is moved to its place.
void Emitter::cat(const Layer& layer) {
  const BufferLayout target = fresh(layout_of_join(layer));
  const IntVector strides = strides_of(target.layout);
  int64_t done = 0;
  for (const int input : layer.inputs) {
    const IntVector& part = value(input).sizes;
    const auto offset = static_cast<size_t>(done * strides[layer.axis]) * sizeof(float);
    done += part[layer.axis];
    if (numel_of(part) == 0) continue;
    copy(any_place(input), {strided(part, strides), target.buffer, target.offset + offset});
  }
  settle(layer.output, target);
}

void Emitter::repeat(const Layer& layer) {
  const IntVector& sizes = value(layer.output).sizes;
  const BufferLayout source = place_in(layer.inputs[0], row_major(value(layer.inputs[0]).sizes));
  const BufferLayout target = fresh(row_major(sizes));
  const int64_t times = sizes[layer.axis];
  int64_t inner = 1;
  for (size_t d = layer.axis + 1; d < sizes.size(); ++d) inner *= sizes[d];
  const int64_t outer = numel_of(sizes) / times / inner;
  act(
      [=](Bases bases) {
        const float* from = at(bases, source);
        float* to = at(bases, target);
        parallel_for(0, outer * times, grain_of(inner), [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i)
            std::copy_n(from + i / times * inner, inner, to + i * inner);
        });
      },
      {source, target});
  settle(layer.output, target);
}

// Halves are blocks that lie one after the other, again and again: channels of a point, or whole
// planes.
void Emitter::glu(const Layer& layer) {
  const IntVector& sizes = value(layer.output).sizes;
  const IntVector& given = value(layer.inputs[0]).sizes;
  const bool by_channels = sizes.size() > 2 && layer.axis == 1 &&
                           same_layout(any_place(layer.inputs[0]).layout, channels_last(given));
  const BufferLayout source =
      by_channels ? any_place(layer.inputs[0]) : place_in(layer.inputs[0], row_major(given));
  const BufferLayout target = fresh(by_channels ? channels_last(sizes) : row_major(sizes));
  int64_t block = sizes[layer.axis];
  for (size_t d = layer.axis + 1; d < sizes.size() && !by_channels; ++d) block *= sizes[d];
  const int64_t count = numel_of(sizes) / block;
  Layer alone;
  if (layer.gated) alone.epilogue.push_back({-1, *layer.gated});
  act(
      [=, steps = *store_steps(alone)](Bases bases) {
        constexpr int64_t kGrain = 8192;  // Numbers.
        const RowKernels<float>& kernels = row_kernels<float>();
        const StepLoops loops = step_loops();
        const float* from = at(bases, source);
        float* to = at(bases, target);
        parallel_for(0, count, kGrain / block + 1, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            const float* halves = from + 2 * i * block;
            float* gated = to + i * block;
            if (!steps.empty()) loops.apply(steps.front(), halves, block, gated);
            kernels.gate(steps.empty() ? halves : gated, halves + block, block, gated);
          }
        });
      },
      {source, target});
  settle(layer.output, target);
}

}  // namespace tierup::kernels::net
