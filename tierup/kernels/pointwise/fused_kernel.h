// The machine code of a fused kernel, as those see it that run it.
#pragma once

#include <cstdint>

namespace tierup::kernels {

// Over `count` elements of one innermost dimension. data: the address of each operand's first
// element, outputs first; strides: of each operand in bytes. How an operand may be laid out was
// fixed when the kernel was compiled (codegen/kernel_spec.h). Inputs may be the same memory as an
// output of the same strides. scalars: 64-bit words, null if the kernel has none.
using FusedFunction = void (*)(char* const* data, const int64_t* strides, const uint64_t* scalars,
                               int64_t count);

// Over matrices, numbered by two outer dimensions. data: outputs, inputs, then the left and the
// right factor of each product. strides: in bytes, four for each of them: of the outer dimensions,
// then of rows and columns (of a left factor: rows and depth; of a right one: depth and columns).
// sizes: the outer dimensions, rows, columns, then the depth of each product.
using MatrixFunction = void (*)(char* const* data, const int64_t* strides, const int64_t* sizes);

// An input that is the same for all elements of a run points to this many bytes filled with it: as
// many as a kernel loads at once.
inline constexpr int64_t kSplatBytes = 512;

}  // namespace tierup::kernels
