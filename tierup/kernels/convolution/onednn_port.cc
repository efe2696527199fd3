#include "tierup/kernels/convolution/onednn_port.h"

#include <numeric>

#include "tierup/base/parallel.h"

namespace tierup::kernels {

using dnnl::memory;

memory::dims last(const ConvGeometry::Triple& triple, int rank, int64_t subtract) {
  memory::dims result;
  for (int i = 3 - rank; i < 3; ++i) result.push_back(triple[static_cast<size_t>(i)] - subtract);
  return result;
}

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

memory::desc any_layout(const memory::desc& desc) {
  return memory::desc(desc.dims(), memory::data_type::f32, memory::format_tag::any);
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

PrimitiveKey convolution_key(const ConvGeometry& g, int64_t kind, bool has_bias) {
  PrimitiveKey key{g.rank,
                   g.batch,
                   g.groups,
                   g.in_channels,
                   g.out_channels,
                   (g.transposed ? 1 : 0) + 2 * kind + (has_bias ? 64 : 0),
                   intra_op_threads()};
  for (const auto* triple : {&g.in, &g.out, &g.kernel, &g.stride, &g.padding, &g.padding_after,
                             &g.dilation, &g.output_padding}) {
    key.insert(key.end(), triple->begin(), triple->end());
  }
  return key;
}

}  // namespace tierup::kernels
