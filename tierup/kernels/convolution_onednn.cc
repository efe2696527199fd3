#include "tierup/kernels/convolution_onednn.h"

#include <dnnl.hpp>
#include <numeric>

#include "tierup/base/parallel.h"
#include "tierup/base/workers.h"
#include "tierup/kernels/onednn_engine.h"
#include "tierup/kernels/scratch.h"
#include "tierup/kernels/spare_pages.h"

namespace tierup::kernels {
namespace {

using dnnl::memory;

// One tensor of the primitive: where the caller keeps it and where the primitive wants it.
struct Port {
  memory outer;
  memory inner;
  dnnl::reorder reorder;  // Empty where both layouts agree.
  size_t offset = 0;      // Of the inner copy in the scratch block.
  bool copied = false;
};

struct CachedConvolution {
  dnnl::primitive primitive;
  Port input, weight, output;
  memory bias, scratchpad;
  size_t scratchpad_offset = 0;
  size_t scratch_bytes = 0;
};

struct Descriptors {
  memory::desc input, weight, bias, output;
};

memory::dims last(const ConvGeometry::Triple& triple, int rank, int64_t subtract = 0) {
  memory::dims result;
  for (int i = 3 - rank; i < 3; ++i) result.push_back(triple[static_cast<size_t>(i)] - subtract);
  return result;
}

// Strides of [outer..., channel, spatial...] stored row-major or with channels innermost.
memory::desc dense_desc(const memory::dims& sizes, size_t channel, bool channels_last) {
  memory::dims strides(sizes.size());
  int64_t step = 1;
  if (channels_last) {
    strides[channel] = 1;
    step = sizes[channel];
  }
  for (size_t d = sizes.size(); d-- > 0;) {
    if (channels_last && d == channel) continue;
    strides[d] = step;
    step *= sizes[d];
  }
  return memory::desc(sizes, memory::data_type::f32, strides);
}

// The weight as oneDNN counts it, [groups,] out, in, kernel; the transposed form is stored with
// its input channels first.
memory::desc weight_desc(const ConvGeometry& g, bool channels_last) {
  const int64_t out = g.out_channels / g.groups;
  const int64_t in = g.in_channels / g.groups;
  memory::dims kernel = last(g.kernel, g.rank);
  memory::dims stored{g.transposed ? in : out, g.transposed ? out : in};
  stored.insert(stored.end(), kernel.begin(), kernel.end());
  if (g.groups > 1) stored.insert(stored.begin(), g.groups);
  const size_t first = g.groups > 1 ? 1 : 0;
  const memory::desc desc = dense_desc(stored, first + 1, channels_last);
  if (!g.transposed) return desc;
  std::vector<int> order(stored.size());
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[first], order[first + 1]);
  return desc.permute_axes(order);
}

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

memory::desc any_layout(const memory::desc& desc) {
  return memory::desc(desc.dims(), memory::data_type::f32, memory::format_tag::any);
}

struct Built {
  dnnl::primitive primitive;
  memory::desc input, weight, output, scratchpad;
};

template <typename Primitive>
Built build(const typename Primitive::desc& description, const dnnl::primitive_attr& attributes) {
  const typename Primitive::primitive_desc pd(description, attributes, onednn_engine());
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

size_t reserve(size_t& total, size_t bytes) {
  const size_t offset = total;
  total += (bytes + 63) / 64 * 64;
  return offset;
}

Port make_port(const memory::desc& outer, const memory::desc& inner, bool is_output,
               size_t& total) {
  const auto& engine = onednn_engine();
  Port port;
  port.outer = memory(outer, engine, nullptr);
  port.inner = memory(inner, engine, nullptr);
  port.copied = outer != inner;
  if (!port.copied) return port;
  port.offset = reserve(total, inner.get_size());
  port.reorder =
      is_output ? dnnl::reorder(port.inner, port.outer) : dnnl::reorder(port.outer, port.inner);
  return port;
}

CachedConvolution make_convolution(const ConvGeometry& g, bool channels_last, bool has_bias) {
  const Descriptors outer = outer_descriptors(g, channels_last, has_bias);
  const Built built = build_primitive(g, outer, channels_last);
  CachedConvolution result;
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

void execute(const dnnl::primitive& primitive, const dnnl_exec_arg_t* arguments, int count) {
  const dnnl_status_t status =
      dnnl_primitive_execute(primitive.get(), onednn_stream().get(), count, arguments);
  require(status == dnnl_success, ErrorCode::kInternal, "oneDNN convolution failed with status {}",
          static_cast<int>(status));
}

void place(Port& port, const void* data, char* scratch) {
  port.outer.set_data_handle(const_cast<void*>(data));
  port.inner.set_data_handle(port.copied ? scratch + port.offset : const_cast<void*>(data));
}

void reorder(Port& port, bool is_output) {
  if (!port.copied) return;
  memory& from = is_output ? port.inner : port.outer;
  memory& to = is_output ? port.outer : port.inner;
  const dnnl_exec_arg_t arguments[] = {{DNNL_ARG_FROM, from.get()}, {DNNL_ARG_TO, to.get()}};
  execute(port.reorder, arguments, 2);
}

PrimitiveKey key_of(const ConvGeometry& g, bool channels_last, bool has_bias) {
  PrimitiveKey key{g.rank,
                   g.batch,
                   g.groups,
                   g.in_channels,
                   g.out_channels,
                   (g.transposed ? 1 : 0) + (channels_last ? 2 : 0) + (has_bias ? 4 : 0),
                   intra_op_threads()};
  for (const auto* triple : {&g.in, &g.out, &g.kernel, &g.stride, &g.padding, &g.padding_after,
                             &g.dilation, &g.output_padding}) {
    key.insert(key.end(), triple->begin(), triple->end());
  }
  return key;
}

}  // namespace

void convolve_onednn(const ConvGeometry& g, bool channels_last, const float* input,
                     const float* weight, const float* bias, float* output) {
  const ThreadCountScope threads(threads_worth(g.multiplications(), g.numbers()));
  prepare_team();
  thread_local PrimitiveCache<CachedConvolution> cache;
  const bool has_bias = bias != nullptr;
  CachedConvolution& conv = cache.get(key_of(g, channels_last, has_bias),
                                      [&] { return make_convolution(g, channels_last, has_bias); });
  auto* scratch = static_cast<char*>(thread_scratch(conv.scratch_bytes));
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
  give_back_after_reading(weight, conv.weight.outer.get_desc().get_size(), g.multiplications());
}

}  // namespace tierup::kernels
