// v1::Tensor over the runtime's own tensors.
#include <cstring>

#include "tierup/api/public/facade.h"
#include "tierup/kernels/memory/copy.h"
#include "tierup/tensor/allocator.h"
#include "tierup/tensor/dlpack.h"

namespace tierup::v1 {
namespace {

ScalarType scalar_type(DType dtype) { return scalar_type_from_code(static_cast<int64_t>(dtype)); }

TensorImpl* impl_of(void* impl) { return static_cast<TensorImpl*>(impl); }

}  // namespace

std::string dtype_name(DType dtype) {
  return guarded([&] { return std::string(::tierup::dtype_name(scalar_type(dtype))); });
}

size_t dtype_size(DType dtype) {
  return guarded([&] { return item_size(scalar_type(dtype)); });
}

Tensor::Tensor() noexcept = default;
Tensor::Tensor(const Tensor& other) noexcept : impl_(other.impl_) {
  if (impl_ != nullptr) impl_of(impl_)->retain();
}
Tensor::Tensor(Tensor&& other) noexcept : impl_(std::exchange(other.impl_, nullptr)) {}
Tensor& Tensor::operator=(const Tensor& other) noexcept {
  Tensor copy(other);
  std::swap(impl_, copy.impl_);
  return *this;
}
Tensor& Tensor::operator=(Tensor&& other) noexcept {
  std::swap(impl_, other.impl_);
  return *this;
}
Tensor::~Tensor() {
  if (impl_ != nullptr) impl_of(impl_)->release();
}

Tensor Tensor::empty(std::span<const int64_t> shape, DType dtype) {
  return guarded([&] { return Access::wrap(::tierup::Tensor::empty(shape, scalar_type(dtype))); });
}

Tensor Tensor::zeros(std::span<const int64_t> shape, DType dtype) {
  Tensor result = empty(shape, dtype);
  const size_t bytes = Access::unwrap(result).bytes();
  if (bytes > 0) std::memset(result.data(), 0, bytes);
  return result;
}

Tensor Tensor::copy_of(const void* data, std::span<const int64_t> shape, DType dtype) {
  Tensor result = empty(shape, dtype);
  const size_t bytes = Access::unwrap(result).bytes();
  if (bytes > 0) std::memcpy(result.data(), data, bytes);
  return result;
}

Tensor Tensor::borrow(void* data, std::span<const int64_t> shape, DType dtype,
                      std::function<void()> release, std::span<const int64_t> strides) {
  return guarded([&] {
    const ScalarType type = scalar_type(dtype);
    const IntVector dense = contiguous_strides(shape);
    const IntSpan used = strides.empty() ? IntSpan(dense) : strides;
    require(used.size() == shape.size(), ::tierup::ErrorCode::kInvalidArgument,
            "{} strides for {} dimensions", used.size(), shape.size());
    int64_t last = numel_of(shape) == 0 ? -1 : 0;
    for (size_t d = 0; d < shape.size() && last >= 0; ++d) {
      require(used[d] >= 0, ::tierup::ErrorCode::kInvalidArgument, "strides must not be negative");
      int64_t reach = 0;
      require(!__builtin_mul_overflow(shape[d] - 1, used[d], &reach) &&
                  !__builtin_add_overflow(last, reach, &last),
              ::tierup::ErrorCode::kInvalidArgument,
              "the tensor reaches too far: size {}, stride {}", shape[d], used[d]);
    }
    const size_t bytes = static_cast<size_t>(last + 1) * item_size(type);
    Ref<Storage> storage = Storage::borrow(data, bytes, std::move(release));
    return Access::wrap(::tierup::Tensor::from_storage(std::move(storage), type, shape, used, 0));
  });
}

Tensor Tensor::from_dlpack(DLManagedTensor* managed) {
  return guarded([&] {
    return Access::wrap(
        dlpack::import_unversioned(reinterpret_cast<dlpack::ManagedTensor*>(managed)));
  });
}

Tensor Tensor::from_dlpack(DLManagedTensorVersioned* managed) {
  return guarded([&] {
    return Access::wrap(
        dlpack::import_tensor(reinterpret_cast<dlpack::ManagedTensorVersioned*>(managed)));
  });
}

DLManagedTensor* Tensor::to_dlpack() const {
  return guarded([&] {
    return reinterpret_cast<DLManagedTensor*>(dlpack::export_unversioned(Access::unwrap(*this)));
  });
}

DLManagedTensorVersioned* Tensor::to_dlpack_versioned() const {
  return guarded([&] {
    return reinterpret_cast<DLManagedTensorVersioned*>(
        dlpack::export_tensor(Access::unwrap(*this)));
  });
}

void Tensor::mark_written() const {
  guarded([&] { Access::unwrap(*this).storage()->bump_version(); });
}

bool Tensor::defined() const noexcept { return impl_ != nullptr; }
DType Tensor::dtype() const { return static_cast<DType>(impl_of(impl_)->dtype); }
std::span<const int64_t> Tensor::shape() const { return impl_of(impl_)->sizes; }
std::span<const int64_t> Tensor::strides() const { return impl_of(impl_)->strides; }
int64_t Tensor::size(int64_t dim) const {
  return guarded([&] { return Access::unwrap(*this).size(dim); });
}
int64_t Tensor::element_count() const { return impl_of(impl_)->numel; }
bool Tensor::is_contiguous() const { return impl_of(impl_)->contiguous; }

void* Tensor::data() const {
  return guarded([&] {
    const ::tierup::Tensor tensor = Access::unwrap(*this);
    require(!tensor.impl()->conjugate && !tensor.impl()->negative,
            ::tierup::ErrorCode::kInvalidArgument,
            "the tensor is lazily conjugated or negated: take its clone()");
    return tensor.raw();
  });
}

Tensor Tensor::contiguous() const {
  return guarded([&] { return Access::wrap(kernels::contiguous(Access::unwrap(*this))); });
}

Tensor Tensor::clone() const {
  return guarded([&] {
    return Access::wrap(kernels::clone(Access::unwrap(*this), MemoryFormat::kContiguous));
  });
}

Tensor Tensor::to(DType dtype) const {
  return guarded(
      [&] { return Access::wrap(kernels::to_dtype(Access::unwrap(*this), scalar_type(dtype))); });
}

Tensor Tensor::rows(int64_t begin, int64_t end) const {
  return guarded([&] {
    const ::tierup::Tensor own = Access::unwrap(*this).detach();
    require(own.dim() > 0 && begin >= 0 && begin <= end && end <= own.size(0),
            ::tierup::ErrorCode::kOutOfRange, "{} has no rows from {} to {}", own.describe(), begin,
            end);
    IntVector sizes(own.sizes().begin(), own.sizes().end());
    sizes[0] = end - begin;
    return Access::wrap(own.as_view(sizes, own.strides(), own.offset() + begin * own.stride(0)));
  });
}

std::string Tensor::describe() const {
  return guarded([&] { return Access::unwrap(*this).describe(); });
}

void Tensor::check_count(size_t count, std::span<const int64_t> shape) {
  guarded([&] {
    if (!(static_cast<size_t>(numel_of(shape)) == count)) {
      fail(::tierup::ErrorCode::kInvalidArgument, "{} values for the shape {}", count,
           shape_string(shape));
    }
  });
}

void Tensor::check_dtype(DType wanted) const {
  guarded([&] {
    require(dtype() == wanted, ::tierup::ErrorCode::kTypeError, "the elements are {}, not {}",
            v1::dtype_name(dtype()), v1::dtype_name(wanted));
  });
}

void set_memory_limit(int64_t max_bytes) { ::tierup::set_memory_limit(max_bytes); }

MemoryStats memory_stats() {
  const AllocatorStats stats = allocator_stats();
  return {stats.live_bytes, stats.peak_bytes, stats.call_count};
}

void reset_peak_memory() { reset_peak(); }

}  // namespace tierup::v1
