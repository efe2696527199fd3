// The correlation is cut into parts by its geometry alone: shares of the batch and bands of rows,
// whose sums are added up in their order, and slices of the channels (of the groups, where there
// are several). Each part is one primitive for one thread. oneDNN's own sharing adds up in an order
// that depends on the number of threads.
#include <dnnl.hpp>

#include <algorithm>
#include <vector>

#include "tierup/base/parallel.h"
#include "tierup/kernels/convolution/convolution_onednn.h"
#include "tierup/kernels/convolution/onednn_port.h"
#include "tierup/kernels/memory/scratch.h"

namespace tierup::kernels {
namespace {

using dnnl::memory;

// As many as the threads that may share the work; a thread's part is not worth less than the
// channels that fill a few vectors.
constexpr int64_t kMostParts = 8;
constexpr int64_t kLeastChannels = 32;
constexpr int64_t kLeastRows = 4;  // Of a band; it reads a window's reach more.

struct CachedCorrelation {
  dnnl::primitive primitive;
  Port input, grad, weight;
  memory scratchpad;
  size_t scratchpad_offset = 0;
  size_t scratch_bytes = 0;
};

// Images of a slice of the channels, and of a band of their rows, within whole ones.
memory::desc image_desc(const ConvGeometry& g, int64_t channels, const ConvGeometry::Triple& size,
                        int64_t whole_channels, const ConvGeometry::Triple& whole_size) {
  memory::dims sizes{g.batch, channels};
  memory::dims whole{g.batch, whole_channels};
  for (const int64_t s : last(size, g.rank)) sizes.push_back(s);
  for (const int64_t s : last(whole_size, g.rank)) whole.push_back(s);
  memory::dims strides(sizes.size());
  int64_t step = 1;
  for (size_t d = sizes.size(); d-- > 0;) {
    strides[d] = step;
    step *= whole[d];
  }
  return memory::desc(sizes, memory::data_type::f32, strides);
}

// The dimension whose rows bands are made of.
size_t first_dim(const ConvGeometry& g) { return static_cast<size_t>(3 - g.rank); }

// `part` is the geometry of a part of `whole`.
CachedCorrelation make_correlation(const ConvGeometry& part, const ConvGeometry& whole) {
  const memory::desc input =
      image_desc(part, part.in_channels, part.in, whole.in_channels, whole.in);
  const memory::desc grad =
      image_desc(part, part.out_channels, part.out, whole.out_channels, whole.out);
  const memory::desc weight = weight_desc(part, false);
  const memory::dims stride = last(part.stride, part.rank);
  const memory::dims dilation = last(part.dilation, part.rank, 1);
  const memory::dims padding = last(part.padding, part.rank);
  const memory::dims after = last(part.padding_after, part.rank);
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  const auto direct = dnnl::algorithm::convolution_direct;
  // The backward primitive asks for a forward one as a hint.
  const dnnl::convolution_forward::primitive_desc forward(
      {dnnl::prop_kind::forward_training, direct, any_layout(input), any_layout(weight),
       any_layout(grad), stride, dilation, padding, after},
      onednn_engine());
  const dnnl::convolution_backward_weights::primitive_desc pd(
      {direct, any_layout(input), any_layout(weight), any_layout(grad), stride, dilation, padding,
       after},
      attributes, onednn_engine(), forward);
  CachedCorrelation result;
  result.primitive = dnnl::convolution_backward_weights(pd);
  size_t total = 0;
  result.input = make_port(input, pd.src_desc(), false, total);
  result.grad = make_port(grad, pd.diff_dst_desc(), false, total);
  result.weight = make_port(weight, pd.diff_weights_desc(), true, total);
  result.scratchpad = memory(pd.scratchpad_desc(), onednn_engine(), nullptr);
  result.scratchpad_offset = reserve(total, pd.scratchpad_desc().get_size());
  result.scratch_bytes = total;
  return result;
}

void correlate_part(const ConvGeometry& part, const ConvGeometry& whole, const float* input,
                    const float* grad, float* weight) {
  const ThreadCountScope one_thread(1);
  thread_local PrimitiveCache<CachedCorrelation> cache;
  PrimitiveKey key = convolution_key(part, 0, false);
  key.push_back(whole.in_channels);
  key.push_back(whole.out_channels);
  key.push_back(whole.in[first_dim(whole)]);
  key.push_back(whole.out[first_dim(whole)]);
  CachedCorrelation& made = cache.get(key, [&] { return make_correlation(part, whole); });
  auto* scratch = static_cast<char*>(thread_scratch(made.scratch_bytes));
  place(made.input, input, scratch);
  place(made.grad, grad, scratch);
  place(made.weight, weight, scratch);
  made.scratchpad.set_data_handle(scratch + made.scratchpad_offset);
  reorder(made.input, false);
  reorder(made.grad, false);
  const dnnl_exec_arg_t arguments[] = {{DNNL_ARG_SRC, made.input.inner.get()},
                                       {DNNL_ARG_DIFF_DST, made.grad.inner.get()},
                                       {DNNL_ARG_DIFF_WEIGHTS, made.weight.inner.get()},
                                       {DNNL_ARG_SCRATCHPAD, made.scratchpad.get()}};
  execute(made.primitive, arguments, 4);
  reorder(made.weight, true);
  onednn_stream().wait();
}

// How a correlation is cut.
struct Cut {
  int64_t shares = 1;  // Of the batch.
  int64_t bands = 1;   // Of rows.
  int64_t slices = 1;  // Of the groups, or of the written channels of the one group.
  int64_t sums() const { return shares * bands; }
};

Cut cut_of(const ConvGeometry& g) {
  Cut cut;
  // Adding the shares up moves each weight twice for each: no more than the images are moved.
  const int64_t images = g.numbers() - g.weights();
  const int64_t sums = std::min(kMostParts, images / std::max<int64_t>(1, 4 * g.weights()));
  const int64_t most = std::min(g.batch, sums);
  while (cut.shares * 2 <= most) cut.shares *= 2;
  const size_t d = first_dim(g);
  // No band lies in the padding alone.
  const bool may_band = g.padding[d] <= g.dilation[d] * (g.kernel[d] - 1);
  const int64_t most_bands = may_band ? g.out[d] / kLeastRows : 1;
  while (cut.shares * cut.bands * 2 <= sums && cut.bands * 2 <= most_bands) cut.bands *= 2;
  const int64_t channels = g.groups > 1 ? g.groups : g.out_channels;
  const int64_t least = g.groups > 1 ? 1 : kLeastChannels;
  const auto fits = [&](int64_t n) { return channels % n == 0 && channels / n >= least; };
  while (cut.sums() * cut.slices * 2 <= kMostParts && fits(cut.slices * 2)) cut.slices *= 2;
  return cut;
}

// sums[i] = the sum of `shares` arrays of `count` numbers, first to last.
void add_shares(const float* shares, int64_t number, int64_t count, float* sums) {
  parallel_for(0, count, kNumbersForThread, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) sums[i] = shares[i];
    for (int64_t s = 1; s < number; ++s) {
      const float* share = shares + s * count;
#pragma omp simd
      for (int64_t i = begin; i < end; ++i) sums[i] += share[i];
    }
  });
}

// Where a band's rows begin in a plane of the input and of the gradient.
struct Rows {
  int64_t input, grad;
};

// Makes `part` the geometry of rows [begin, end) of the results of `g`.
Rows rows_of(const ConvGeometry& g, int64_t begin, int64_t end, ConvGeometry& part) {
  const size_t d = first_dim(g);
  const int64_t first = begin * g.stride[d] - g.padding[d];
  const int64_t last = (end - 1) * g.stride[d] - g.padding[d] + g.dilation[d] * (g.kernel[d] - 1);
  const int64_t top = std::clamp<int64_t>(first, 0, g.in[d] - 1);
  const int64_t bottom = std::clamp<int64_t>(last + 1, top + 1, g.in[d]);
  part.out[d] = end - begin;
  part.in[d] = bottom - top;
  part.padding[d] = top - first;
  part.padding_after[d] = last + 1 - bottom;
  return {top * (g.in_points() / g.in[d]), begin * (g.out_points() / g.out[d])};
}

// One of a cut's parts: `share` of the batch, `band` of the rows, `slice` of the channels.
void correlate_one(const ConvGeometry& g, const Cut& cut, int64_t index, const float* input,
                   const float* grad, float* sums) {
  const int64_t sum = index / cut.slices;
  const int64_t slice = index % cut.slices;
  const int64_t share = sum / cut.bands;
  const int64_t band = sum % cut.bands;
  const int64_t first = share * g.batch / cut.shares;
  ConvGeometry part = g;
  part.batch = (share + 1) * g.batch / cut.shares - first;
  part.out_channels = g.out_channels / cut.slices;
  int64_t in_channel = 0;
  if (g.groups > 1) {
    part.groups = g.groups / cut.slices;
    part.in_channels = g.in_channels / cut.slices;
    in_channel = slice * part.in_channels;
  }
  const Rows rows = rows_of(g, band * g.out[first_dim(g)] / cut.bands,
                            (band + 1) * g.out[first_dim(g)] / cut.bands, part);
  const int64_t out_channel = slice * part.out_channels;
  correlate_part(part, g, input + (first * g.in_channels + in_channel) * g.in_points() + rows.input,
                 grad + (first * g.out_channels + out_channel) * g.out_points() + rows.grad,
                 sums + sum * g.weights() + slice * part.weights());
}

}  // namespace

void correlate_onednn(const ConvGeometry& g, const float* input, const float* grad, float* weight) {
  const ThreadCountScope threads(threads_worth(g.multiplications(), g.numbers()));
  const Cut cut = cut_of(g);
  Tensor sums;
  float* to = weight;
  if (cut.sums() > 1) {
    sums = Tensor::empty(IntVector{cut.sums(), g.weights()}, ScalarType::kFloat);
    to = sums.data<float>();
  }
  parallel_for(0, cut.sums() * cut.slices, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) correlate_one(g, cut, i, input, grad, to);
  });
  if (cut.sums() > 1) add_shares(to, cut.sums(), g.weights(), weight);
}

}  // namespace tierup::kernels
