#include "tierup/kernels/memory/copy.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "tierup/kernels/memory/cast.h"
#include "tierup/kernels/memory/strided_loop.h"

namespace tierup::kernels {
namespace {

// Bytes moved by one thread before another is worth waking.
constexpr int64_t kCopyGrainBytes = 1 << 18;

// Elements as opaque words of one width.
struct Word16 {
  uint64_t low, high;
};

template <typename Word>
void move_run(char* const* pointers, const int64_t* strides, int64_t count) {
  constexpr int64_t kWidth = sizeof(Word);
  if (strides[0] == kWidth && strides[1] == kWidth) {
    std::memmove(pointers[0], pointers[1], static_cast<size_t>(count * kWidth));
    return;
  }
  char* out = pointers[0];
  const char* in = pointers[1];
  if (strides[0] == kWidth && strides[1] == 0) {
    const Word value = *reinterpret_cast<const Word*>(in);
    std::fill_n(reinterpret_cast<Word*>(out), count, value);
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    *reinterpret_cast<Word*>(out + i * strides[0]) =
        *reinterpret_cast<const Word*>(in + i * strides[1]);
  }
}

CastRun move_run_of(size_t width) {
  switch (width) {
    case 1: return &move_run<uint8_t>;
    case 2: return &move_run<uint16_t>;
    case 4: return &move_run<uint32_t>;
    case 8: return &move_run<uint64_t>;
    default: TIERUP_CHECK(width == 16); return &move_run<Word16>;
  }
}

// Negates (or conjugates) all elements in place.
void negate_stored(const Tensor& tensor) {
  dispatch_all(tensor.dtype(), "neg", [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (!std::is_same_v<T, bool>) {
      map_elements<T, T>(
          tensor, [](T x) { return static_cast<T>(-x); }, tensor);
    }
  });
}

void conjugate_stored(const Tensor& tensor) {
  dispatch_complex(tensor.dtype(), "conj", [&](auto tag) {
    using T = typename decltype(tag)::type;
    map_elements<T, T>(
        tensor, [](T x) { return std::conj(x); }, tensor);
  });
}

void copy_stored(const Tensor& dst, const Tensor& src) {
  const CastRun run = dst.dtype() == src.dtype() ? move_run_of(dst.item_size())
                                                 : cast_run(dst.dtype(), src.dtype());
  const StridedLoop loop(dst.sizes(), {&dst, &src});
  loop.run(kCopyGrainBytes / static_cast<int64_t>(dst.item_size()), run);
}

template <typename T>
void fill_typed(const Tensor& tensor, const Scalar& value) {
  const T element = value.to<T>();
  const StridedLoop loop(tensor.sizes(), {&tensor});
  loop.run(kCopyGrainBytes / static_cast<int64_t>(sizeof(T)),
           [&](char* const* pointers, const int64_t* strides, int64_t count) {
             if (strides[0] == static_cast<int64_t>(sizeof(T))) {
               std::fill_n(reinterpret_cast<T*>(pointers[0]), count, element);
               return;
             }
             for (int64_t i = 0; i < count; ++i) {
               *reinterpret_cast<T*>(pointers[0] + i * strides[0]) = element;
             }
           });
}

}  // namespace

void copy_into(const Tensor& dst, const Tensor& src) {
  if (dst.numel() == 0 && src.numel() <= 1) return;
  const bool conjugate = is_complex(dst.dtype()) && dst.impl()->conjugate != src.impl()->conjugate;
  const bool negative = dst.impl()->negative != src.impl()->negative;
  copy_stored(dst, src);
  if (conjugate) conjugate_stored(dst);
  if (negative) negate_stored(dst);
}

Tensor contiguous(const Tensor& tensor, MemoryFormat format) {
  require(format != MemoryFormat::kPreserve, ErrorCode::kInvalidArgument,
          "preserve memory format is unsupported by the contiguous operator");
  if (tensor.is_contiguous(format)) return resolve_lazy_bits(tensor);
  return clone(tensor, format);
}

Tensor empty_like(const Tensor& tensor, ScalarType dtype, MemoryFormat format) {
  if (format != MemoryFormat::kPreserve) return Tensor::empty(tensor.sizes(), dtype, format);
  if (tensor.is_contiguous()) return Tensor::empty(tensor.sizes(), dtype);
  if (tensor.is_non_overlapping_and_dense()) {
    return Tensor::empty_strided(tensor.sizes(), tensor.strides(), dtype);
  }
  return empty_pointwise(tensor.sizes(), dtype, {&tensor});
}

Tensor clone(const Tensor& tensor, MemoryFormat format) {
  Tensor result = empty_like(tensor, tensor.dtype(), format);
  copy_into(result, tensor);
  return result;
}

Tensor to_dtype(const Tensor& tensor, ScalarType dtype) {
  if (tensor.dtype() == dtype) return tensor;
  Tensor result = empty_like(tensor, dtype);
  copy_into(result, tensor);
  return result;
}

void fill(const Tensor& tensor, const Scalar& value) {
  switch (tensor.dtype()) {
    case ScalarType::kUInt16: return fill_typed<uint16_t>(tensor, value);
    case ScalarType::kUInt32: return fill_typed<uint32_t>(tensor, value);
    case ScalarType::kUInt64: return fill_typed<uint64_t>(tensor, value);
    default: break;
  }
  Scalar stored = value;
  if (tensor.impl()->negative) stored = stored.negated();
  if (tensor.impl()->conjugate) stored = Scalar(std::conj(stored.to_complex()));
  dispatch_all(tensor.dtype(), "fill_",
               [&](auto tag) { fill_typed<typename decltype(tag)::type>(tensor, stored); });
}

Tensor resolve_lazy_bits(const Tensor& tensor) {
  if (!tensor.impl()->conjugate && !tensor.impl()->negative) return tensor;
  return clone(tensor);
}

}  // namespace tierup::kernels
