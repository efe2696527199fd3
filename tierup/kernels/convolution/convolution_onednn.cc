#include "tierup/kernels/convolution/convolution_onednn.h"

#include <dnnl.hpp>

#include "tierup/base/parallel.h"
#include "tierup/kernels/convolution/onednn_port.h"
#include "tierup/kernels/memory/scratch.h"
#include "tierup/kernels/memory/spare_pages.h"

namespace tierup::kernels {
namespace {

using dnnl::memory;

struct CachedConvolution {
  dnnl::primitive primitive;  // None, and nothing else, where it would be a general product.
  Port input, weight, output;
  memory bias, scratchpad;
  size_t scratchpad_offset = 0;
  size_t scratch_bytes = 0;
};

struct Descriptors {
  memory::desc input, weight, bias, output;
};

Descriptors outer_descriptors(const ConvGeometry& g, bool channels_last, bool has_bias) {
  memory::dims input{g.batch, g.in_channels};
  memory::dims output{g.batch, g.out_channels};
  for (const int64_t size : last(g.in, g.rank)) input.push_back(size);
  for (const int64_t size : last(g.out, g.rank)) output.push_back(size);
  return {dense_desc(input, 1, channels_last), weight_desc(g, channels_last),
          has_bias ? memory::desc({g.out_channels}, memory::data_type::f32, memory::format_tag::x)
                   : memory::desc(),
          dense_desc(output, 1, channels_last)};
}

struct Built {
  dnnl::primitive primitive;
  memory::desc input, weight, output, scratchpad;
};

template <typename Primitive>
Built build(const typename Primitive::desc& description, const dnnl::primitive_attr& attributes) {
  const typename Primitive::primitive_desc pd(description, attributes, onednn_engine());
  if (is_general_product(pd)) return {};
  return {Primitive(pd), pd.src_desc(), pd.weights_desc(), pd.dst_desc(), pd.scratchpad_desc()};
}

Built build_primitive(const ConvGeometry& g, const Descriptors& outer, bool channels_last) {
  const memory::desc input = channels_last ? outer.input : any_layout(outer.input);
  const memory::desc output = channels_last ? outer.output : any_layout(outer.output);
  const memory::desc weight = any_layout(outer.weight);
  const memory::dims stride = last(g.stride, g.rank);
  const memory::dims dilation = last(g.dilation, g.rank, 1);
  const memory::dims before = last(g.padding, g.rank);
  memory::dims after = last(g.padding_after, g.rank);
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  const auto inference = dnnl::prop_kind::forward_inference;
  if (g.transposed) {
    const auto direct = dnnl::algorithm::deconvolution_direct;
    const memory::dims extra = last(g.output_padding, g.rank);
    for (size_t d = 0; d < after.size(); ++d) after[d] -= extra[d];
    using Deconvolution = dnnl::deconvolution_forward;
    return build<Deconvolution>(
        outer.bias.is_zero() ? Deconvolution::desc(inference, direct, input, weight, output, stride,
                                                   dilation, before, after)
                             : Deconvolution::desc(inference, direct, input, weight, outer.bias,
                                                   output, stride, dilation, before, after),
        attributes);
  }
  const auto direct = dnnl::algorithm::convolution_direct;
  using Convolution = dnnl::convolution_forward;
  return build<Convolution>(outer.bias.is_zero()
                                ? Convolution::desc(inference, direct, input, weight, output,
                                                    stride, dilation, before, after)
                                : Convolution::desc(inference, direct, input, weight, outer.bias,
                                                    output, stride, dilation, before, after),
                            attributes);
}

CachedConvolution make_convolution(const ConvGeometry& g, bool channels_last, bool has_bias) {
  const Descriptors outer = outer_descriptors(g, channels_last, has_bias);
  const Built built = build_primitive(g, outer, channels_last);
  CachedConvolution result;
  if (!built.primitive) return result;
  result.primitive = built.primitive;
  size_t total = 0;
  result.input = make_port(outer.input, built.input, false, total);
  result.weight = make_port(outer.weight, built.weight, false, total);
  result.output = make_port(outer.output, built.output, true, total);
  if (has_bias) result.bias = memory(outer.bias, onednn_engine(), nullptr);
  result.scratchpad = memory(built.scratchpad, onednn_engine(), nullptr);
  result.scratchpad_offset = reserve(total, built.scratchpad.get_size());
  result.scratch_bytes = total;
  return result;
}

}  // namespace

bool convolve_onednn(const ConvGeometry& g, bool channels_last, const float* input,
                     const float* weight, const float* bias, float* output) {
  const PrimitiveThreads threads(g.multiplications(), g.numbers());
  thread_local PrimitiveCache<CachedConvolution> cache;
  const bool has_bias = bias != nullptr;
  CachedConvolution& conv = cache.get(convolution_key(g, channels_last ? 1 : 0, has_bias),
                                      [&] { return make_convolution(g, channels_last, has_bias); });
  if (!conv.primitive) return false;
  auto* scratch = static_cast<char*>(thread_scratch(conv.scratch_bytes));
  const WeightReading reading(weight, conv.weight.outer.get_desc().get_size(), g.multiplications());
  place(conv.input, input, scratch);
  place(conv.weight, weight, scratch);
  place(conv.output, output, scratch);
  conv.scratchpad.set_data_handle(scratch + conv.scratchpad_offset);
  reorder(conv.input, false);
  reorder(conv.weight, false);
  dnnl_exec_arg_t arguments[5] = {{DNNL_ARG_SRC, conv.input.inner.get()},
                                  {DNNL_ARG_WEIGHTS, conv.weight.inner.get()},
                                  {DNNL_ARG_DST, conv.output.inner.get()},
                                  {DNNL_ARG_SCRATCHPAD, conv.scratchpad.get()}};
  int count = 4;
  if (has_bias) {
    conv.bias.set_data_handle(const_cast<float*>(bias));
    arguments[count++] = {DNNL_ARG_BIAS, conv.bias.get()};
  }
  execute(conv.primitive, arguments, count);
  reorder(conv.output, true);
  onednn_stream().wait();
  return true;
}

}  // namespace tierup::kernels
