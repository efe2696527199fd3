// Tensor: a counted handle to a strided array, shared with the runtime without copying.
#pragma once

#include <complex>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <ranges>
#include <span>
#include <string>
#include <vector>

#include "tierup/export.h"

// The structs of DLPack (its header is not needed here).
struct DLManagedTensor;
struct DLManagedTensorVersioned;

namespace tierup::v1 {

// Element types, with PyTorch's codes.
enum class DType : signed char {
  kUInt8 = 0,
  kInt8 = 1,
  kInt16 = 2,
  kInt32 = 3,
  kInt64 = 4,
  kFloat16 = 5,
  kFloat32 = 6,
  kFloat64 = 7,
  kComplex64 = 9,
  kComplex128 = 10,
  kBool = 11,
  kBFloat16 = 15,
  kUInt16 = 27,
  kUInt32 = 28,
  kUInt64 = 29,
};
// "float32", "int64"...
TIERUP_API std::string dtype_name(DType dtype);
TIERUP_API size_t dtype_size(DType dtype);

template <typename T>
struct DTypeOf;
// clang-format off
template <> struct DTypeOf<uint8_t> { static constexpr DType value = DType::kUInt8; };
template <> struct DTypeOf<int8_t> { static constexpr DType value = DType::kInt8; };
template <> struct DTypeOf<int16_t> { static constexpr DType value = DType::kInt16; };
template <> struct DTypeOf<int32_t> { static constexpr DType value = DType::kInt32; };
template <> struct DTypeOf<int64_t> { static constexpr DType value = DType::kInt64; };
template <> struct DTypeOf<float> { static constexpr DType value = DType::kFloat32; };
template <> struct DTypeOf<double> { static constexpr DType value = DType::kFloat64; };
template <> struct DTypeOf<std::complex<float>> { static constexpr DType value = DType::kComplex64; };
template <> struct DTypeOf<std::complex<double>> { static constexpr DType value = DType::kComplex128; };
template <> struct DTypeOf<bool> { static constexpr DType value = DType::kBool; };
// clang-format on

// Copying the handle shares the array. A default-made Tensor is undefined; every function but
// defined() needs a defined one. Thread rule: any number of threads may read one tensor;
// writing needs the caller's order.
class TIERUP_API Tensor {
 public:
  Tensor() noexcept;
  Tensor(const Tensor& other) noexcept;
  Tensor(Tensor&& other) noexcept;
  Tensor& operator=(const Tensor& other) noexcept;
  Tensor& operator=(Tensor&& other) noexcept;
  ~Tensor();

  // Row-major, uninitialized.
  static Tensor empty(std::span<const int64_t> shape, DType dtype);
  static Tensor zeros(std::span<const int64_t> shape, DType dtype);
  // A copy of row-major data.
  static Tensor copy_of(const void* data, std::span<const int64_t> shape, DType dtype);
  template <typename T>
  static Tensor of(std::span<const T> values, std::span<const int64_t> shape) {
    check_count(values.size(), shape);
    return copy_of(values.data(), shape, DTypeOf<T>::value);
  }
  // The same of a vector or array: of(pixels, {1, 3, 224, 224}). Throws kInvalidArgument if the
  // shape has another number of elements.
  template <std::ranges::contiguous_range Values>
  static Tensor of(const Values& values, std::initializer_list<int64_t> shape) {
    using T = std::ranges::range_value_t<Values>;
    return of<T>(std::span<const T>(values), {shape.begin(), shape.size()});
  }
  // The caller's memory, not copied. `release` is called when the last tensor over it is gone;
  // until then the memory must stay. Empty strides: row-major.
  static Tensor borrow(void* data, std::span<const int64_t> shape, DType dtype,
                       std::function<void()> release = {}, std::span<const int64_t> strides = {});
  // Takes over `managed`; on an error the caller still owns it.
  static Tensor from_dlpack(DLManagedTensor* managed);
  static Tensor from_dlpack(DLManagedTensorVersioned* managed);

  bool defined() const noexcept;
  DType dtype() const;
  std::span<const int64_t> shape() const;
  std::span<const int64_t> strides() const;  // In elements.
  int64_t size(int64_t dim) const;           // `dim` may be negative.
  int64_t element_count() const;
  bool is_contiguous() const;  // Row-major without gaps.

  // Address of the first element; for views, elements lie by strides(). Whoever writes there to a
  // module's weight says so by mark_written().
  void* data() const;
  // The same, typed. Throws kTypeError if T is not the element type.
  template <typename T>
  T* data() const {
    check_dtype(DTypeOf<T>::value);
    return static_cast<T*>(data());
  }
  // To be called after writes that tierup does not see, through data() or DLPack, and before the
  // next call of a module that holds the tensor: compiled plans take weights for constants, packed
  // or folded, until then.
  void mark_written() const;
  // Itself if contiguous, else a row-major copy.
  Tensor contiguous() const;
  Tensor clone() const;
  Tensor to(DType dtype) const;
  // Of the first dimension, [begin, end), in the same memory; no gradient flows through it. Throws
  // kOutOfRange.
  Tensor rows(int64_t begin, int64_t end) const;

  // Shares the memory; the receiver must call the deleter. After writes there: mark_written().
  DLManagedTensor* to_dlpack() const;
  DLManagedTensorVersioned* to_dlpack_versioned() const;

  // "Float[2, 3]".
  std::string describe() const;

 private:
  friend struct Access;
  static void check_count(size_t count, std::span<const int64_t> shape);
  void check_dtype(DType dtype) const;
  void* impl_ = nullptr;
};

}  // namespace tierup::v1
