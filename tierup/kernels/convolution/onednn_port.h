// What the convolution primitives of oneDNN share: descriptions of tensors, and ports, through
// which a tensor comes into the layout that a primitive wants. For .cc files that run primitives
// only.
#pragma once

#include <dnnl.hpp>

#include "tierup/kernels/convolution/convolution_geometry.h"
#include "tierup/kernels/onednn/onednn_engine.h"

namespace tierup::kernels {

// One tensor of a primitive: where the caller keeps it and where the primitive wants it.
struct Port {
  dnnl::memory outer;
  dnnl::memory inner;
  dnnl::reorder reorder;  // Empty where both layouts agree.
  size_t offset = 0;      // Of the inner copy in the scratch block.
  bool copied = false;
};

// The last `rank` entries, less `subtract` each.
dnnl::memory::dims last(const ConvGeometry::Triple& triple, int rank, int64_t subtract = 0);
// f32 of [outer..., channel, spatial...] stored row-major or with channels innermost.
dnnl::memory::desc dense_desc(const dnnl::memory::dims& sizes, size_t channel, bool channels_last);
// The weight as oneDNN counts it, [groups,] out, in, kernel; the transposed form is stored with
// its input channels first.
dnnl::memory::desc weight_desc(const ConvGeometry& g, bool channels_last);
// The same sizes in a layout that the primitive chooses.
dnnl::memory::desc any_layout(const dnnl::memory::desc& desc);

// Takes a multiple of 64 bytes from a scratch block that grows by them; returns where they begin.
size_t reserve(size_t& total, size_t bytes);
Port make_port(const dnnl::memory::desc& outer, const dnnl::memory::desc& inner, bool is_output,
               size_t& total);
void place(Port& port, const void* data, char* scratch);
// Brings an input to the primitive's layout, or an output from it.
void reorder(Port& port, bool is_output);
// Runs a primitive in the calling thread's stream. Throws kInternal if it fails.
void execute(const dnnl::primitive& primitive, const dnnl_exec_arg_t* arguments, int count);

// All numbers of a geometry, `kind` (0 to 31) of primitive or layout, and the number of threads.
PrimitiveKey convolution_key(const ConvGeometry& g, int64_t kind, bool has_bias);

}  // namespace tierup::kernels
