#include <dnnl.hpp>

#include "tierup/base/parallel.h"
#include "tierup/base/workers.h"
#include "tierup/kernels/convolution/convolution_onednn.h"
#include "tierup/kernels/convolution/onednn_port.h"
#include "tierup/kernels/memory/scratch.h"

namespace tierup::kernels {
namespace {

using dnnl::memory;

struct CachedCorrelation {
  dnnl::primitive primitive;
  Port input, grad, weight;
  memory scratchpad;
  size_t scratchpad_offset = 0;
  size_t scratch_bytes = 0;
};

memory::desc image_desc(const ConvGeometry& g, int64_t channels, const ConvGeometry::Triple& size) {
  memory::dims sizes{g.batch, channels};
  for (const int64_t s : last(size, g.rank)) sizes.push_back(s);
  return dense_desc(sizes, 1, false);
}

CachedCorrelation make_correlation(const ConvGeometry& g) {
  const memory::desc input = image_desc(g, g.in_channels, g.in);
  const memory::desc grad = image_desc(g, g.out_channels, g.out);
  const memory::desc weight = weight_desc(g, false);
  const memory::dims stride = last(g.stride, g.rank);
  const memory::dims dilation = last(g.dilation, g.rank, 1);
  const memory::dims padding = last(g.padding, g.rank);
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  const auto direct = dnnl::algorithm::convolution_direct;
  // The backward primitive asks for a forward one as a hint.
  const dnnl::convolution_forward::primitive_desc forward(
      {dnnl::prop_kind::forward_training, direct, any_layout(input), any_layout(weight),
       any_layout(grad), stride, dilation, padding, padding},
      onednn_engine());
  const dnnl::convolution_backward_weights::primitive_desc pd(
      {direct, any_layout(input), any_layout(weight), any_layout(grad), stride, dilation, padding,
       padding},
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

}  // namespace

void correlate_onednn(const ConvGeometry& g, const float* input, const float* grad, float* weight) {
  const ThreadCountScope threads(threads_worth(g.multiplications(), g.numbers()));
  prepare_team();
  thread_local PrimitiveCache<CachedCorrelation> cache;
  CachedCorrelation& made =
      cache.get(convolution_key(g, 0, false), [&] { return make_correlation(g); });
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

}  // namespace tierup::kernels
