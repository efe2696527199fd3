// Layers that go over rows: normalisations, softmax, means over the last dimension.
#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "tierup/base/parallel.h"
#include "tierup/kernels/gemm/dense_rows.h"
#include "tierup/kernels/gemm/row_kernels.h"
#include "tierup/kernels/net/channel_loops.h"
#include "tierup/kernels/net/emitter.h"
#include "tierup/kernels/net/finished_rows.h"
#include "tierup/kernels/pointwise/pointwise_runs.h"

namespace tierup::kernels::net {
namespace {

// Calls row(from, to) for each of so many rows of `width`, in parallel by about `grain` numbers.
template <typename Row>
void each_row(const float* from, float* to, int64_t rows, int64_t width, int64_t grain,
              const Row& row) {
  parallel_for(0, rows, std::max<int64_t>(1, grain / width), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) row(from + i * width, to + i * width);
  });
}

float reduced_row(const RowKernels<float>& kernels, Reduction reduction, const float* x,
                  int64_t width) {
  switch (reduction) {
    case Reduction::kSum: return kernels.sum(x, width);
    case Reduction::kMean: return kernels.sum(x, width) / static_cast<float>(width);
    case Reduction::kMeanSquare:
      return kernels.sum_of_squares(x, width) / static_cast<float>(width);
    case Reduction::kNorm: return std::sqrt(kernels.sum_of_squares(x, width));
    case Reduction::kLargest: break;
  }
  return kernels.max(x, width);
}

// How many rows lie number by number within one another, where the last axis was another one and
// nothing else is out of order: these are reduced as they lie. Of very few, none; nor of long rows,
// which would be added up number by number.
std::optional<int64_t> numbers_between(const memory::desc& given, IntSpan sizes) {
  constexpr int64_t kFewest = 8;
  constexpr int64_t kLongest = 4096;
  const size_t last = sizes.size() - 1;
  if (sizes[last] > kLongest) return std::nullopt;
  IntVector order;
  for (size_t d = 0; d <= last; ++d) order.push_back(static_cast<int64_t>(d));
  int64_t between = 1;
  for (size_t place = last; place-- > 0;) {
    std::swap(order[place], order[place + 1]);
    between *= sizes[place];
    IntVector moved;
    IntVector back(order.size(), 0);
    for (size_t i = 0; i < order.size(); ++i) {
      moved.push_back(sizes[static_cast<size_t>(order[i])]);
      back[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
    }
    const auto layout = permuted(row_major(moved), back);
    if (between >= kFewest && layout && same_layout(given, *layout)) return between;
  }
  return std::nullopt;
}

}  // namespace

// The channel innermost, so that a point is a row.
void Emitter::affine(const Layer& layer) {
  const IntVector& sizes = value(layer.output).sizes;
  const bool is_last = layer.axis + 1 == sizes.size();
  if (!is_last && (layer.axis != 1 || lies_by_planes(layer.inputs[0])))
    return affine_of_planes(layer);
  const BufferLayout source =
      place_in(layer.inputs[0], is_last ? row_major(sizes) : channels_last(sizes));
  const FinishedRows finish = finished_rows(layer, source);
  const BufferLayout scale = vector_of(layer.id * 2, layer.scale);
  const bool bends = layer.kind == LayerKind::kPrelu;
  const BufferLayout shift = bends ? scale : vector_of(layer.id * 2 + 1, layer.shift);
  const int64_t channels = sizes[layer.axis];
  const int64_t rows = numel_of(sizes) / channels;
  act(
      [=](Bases bases) {
        const ChannelLoops loops = channel_loops();
        const float* x = at(bases, source);
        finish.run(bases, rows, channels, [&](int64_t first, int64_t count, float* y) {
          const float* from = x + first * channels;
          if (bends) return loops.prelu(from, count, channels, at(bases, scale), y);
          loops.affine(from, count, channels, at(bases, scale), at(bases, shift), y);
        });
      },
      {source, finish.target, finish.summand, scale, shift});
  settle(layer.output, finish.target);
}

// Neither with channels innermost nor in blocks of them; planes that fill a vector.
bool Emitter::lies_by_planes(int id) {
  constexpr int64_t kFewestPoints = 16;
  const IntVector& sizes = value(id).sizes;
  const memory::desc layout = any_place(id).layout;
  return numel_of(sizes) >= sizes[0] * sizes[1] * kFewestPoints && is_plain(layout) &&
         !same_layout(layout, channels_last(sizes));
}

void Emitter::affine_of_planes(const Layer& layer) {
  const IntVector& sizes = value(layer.output).sizes;
  const BufferLayout source = place_in(layer.inputs[0], row_major(sizes));
  const FinishedRows finish = finished_rows(layer, source);
  const auto channels = static_cast<size_t>(sizes[layer.axis]);
  const IntSpan within = IntSpan(sizes.data(), sizes.size()).subspan(layer.axis + 1);
  const int64_t points = numel_of(within);
  const int64_t planes = numel_of(sizes) / points;
  const bool bends = layer.kind == LayerKind::kPrelu;
  std::vector<StoreStep> steps(channels);
  for (size_t c = 0; c < channels; ++c) {
    steps[c] = bends ? StoreStep{StoreStep::Kind::kLeakyRelu, layer.scale[c], 0}
                     : StoreStep{StoreStep::Kind::kLinear, layer.scale[c], layer.shift[c]};
  }
  act(
      [=, steps = std::move(steps)](Bases bases) {
        const StepLoops loops = step_loops();
        const float* x = at(bases, source);
        finish.run(bases, planes, points, [&](int64_t first, int64_t count, float* y) {
          for (int64_t i = 0; i < count; ++i) {
            const auto channel = static_cast<size_t>(first + i) % channels;
            loops.apply(steps[channel], x + (first + i) * points, points, y + i * points);
          }
        });
      },
      {source, finish.target, finish.summand});
  settle(layer.output, finish.target);
}

Emitter::RowHomes Emitter::row_homes(const Layer& layer) {
  const IntVector& sizes = value(layer.output).sizes;
  const BufferLayout source = place_in(layer.inputs[0], row_major(sizes));
  const int64_t width = sizes.back();
  return {source, over(layer.inputs[0], source), numel_of(sizes) / width, width};
}

void Emitter::layer_norm(const Layer& layer) {
  const RowHomes places = row_homes(layer);
  const float* gamma = layer.weight.defined() ? layer.weight.data<float>() : nullptr;
  const float* beta = layer.bias.defined() ? layer.bias.data<float>() : nullptr;
  out_.tensors.push_back(layer.weight);
  out_.tensors.push_back(layer.bias);
  const auto eps = static_cast<float>(layer.eps);
  act(
      [=](Bases bases) {
        normalize_rows<float>(places.rows, places.width, eps,
                              {.x = at(bases, places.source),
                               .gamma = gamma,
                               .beta = beta,
                               .y = at(bases, places.target),
                               .mean = nullptr,
                               .rstd = nullptr});
      },
      {places.source, places.target});
  settle(layer.output, places.target);
}

void Emitter::softmax(const Layer& layer) {
  const RowHomes places = row_homes(layer);
  act(
      [=](Bases bases) {
        softmax_rows(at(bases, places.source), places.rows, places.width, false,
                     at(bases, places.target));
      },
      {places.source, places.target});
  settle(layer.output, places.target);
}

void Emitter::rms_norm(const Layer& layer) {
  const RowHomes places = row_homes(layer);
  const bool has_scale = !layer.scale.empty();
  const BufferLayout scale = has_scale ? vector_of(layer.id * 2, layer.scale) : places.source;
  const auto eps = static_cast<float>(layer.eps);
  const bool by_length = layer.reduction == Reduction::kNorm;
  act(
      [=](Bases bases) {
        const RowKernels<float>& kernels = row_kernels<float>();
        const float* gamma = has_scale ? at(bases, scale) : nullptr;
        const auto row = [&](const float* x, float* y) {
          const float squares = kernels.sum_of_squares(x, places.width);
          const float length = by_length
                                   ? std::max(std::sqrt(squares), eps)
                                   : std::sqrt(squares / static_cast<float>(places.width) + eps);
          kernels.normalize(x, places.width, 0, 1 / length, gamma, nullptr, y);
        };
        each_row(at(bases, places.source), at(bases, places.target), places.rows, places.width,
                 kNumbersForThread, row);
      },
      {places.source, places.target, scale});
  settle(layer.output, places.target);
}

void Emitter::over_rows(const Layer& layer) {
  const IntVector& sizes = value(layer.inputs[0]).sizes;
  const BufferLayout where = any_place(layer.inputs[0]);
  const memory::desc& given = where.layout;
  const bool by_channels = sizes.size() > 2 && same_layout(given, channels_last(sizes)) &&
                           !same_layout(given, row_major(sizes));
  if (by_channels) return over_points(layer);
  const BufferLayout target = fresh(row_major(value(layer.output).sizes));
  const int64_t width = sizes.back();
  const int64_t rows = numel_of(sizes) / width;
  if (const auto between = numbers_between(given, sizes))
    return reduce_points(layer, where, target, {rows / *between, width, *between});
  const BufferLayout source = place_in(layer.inputs[0], row_major(sizes));
  act(
      [=, reduction = layer.reduction](Bases bases) {
        const RowKernels<float>& kernels = row_kernels<float>();
        const float* from = at(bases, source);
        float* to = at(bases, target);
        parallel_for(0, rows, grain_of(width), [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i)
            to[i] = reduced_row(kernels, reduction, from + i * width, width);
        });
      },
      {source, target});
  settle(layer.output, target);
}

void Emitter::function(const Layer& layer) {
  const int first = layer.inputs[0];
  BufferLayout source = gapless_place(first);
  if (!is_plain(source.layout)) source = plain_place(first);
  std::vector<BufferLayout> places{source};
  bool is_apart = true;  // No other input shows what the result may be written over.
  for (size_t i = 1; i < layer.inputs.size(); ++i) {
    const int input = layer.inputs[i];
    is_apart &= root_[static_cast<size_t>(input)] != root_[static_cast<size_t>(first)];
    places.push_back(place_in(input, source.layout));
  }
  const BufferLayout target = is_apart ? over(first, source) : fresh(source.layout);
  const int64_t count = numel_of(value(layer.output).sizes);
  std::vector<BufferLayout> touched = places;
  touched.push_back(target);
  act(
      [=, formula = FormulaRun(layer.formula)](Bases bases) {
        std::array<const float*, kMostFormulaInputs> from{};
        for (size_t i = 0; i < places.size(); ++i) from[i] = at(bases, places[i]);
        formula.run({from.data(), places.size()}, count, at(bases, target));
      },
      std::move(touched));
  settle(layer.output, target);
}

}  // namespace tierup::kernels::net
