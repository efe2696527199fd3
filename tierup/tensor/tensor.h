// Tensor: a counted handle to a strided view of a storage.
//
// Copying the handle shares the tensor; a view is another tensor over the same storage. Sizes
// and strides count elements. A default-made Tensor is *undefined* (what None is for an
// optional tensor argument); every accessor but defined() needs a defined one.
// Thread rule: any number of threads may read one tensor; writing needs the caller's order.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "tierup/base/object_allocator.h"
#include "tierup/base/ref.h"
#include "tierup/base/small_vector.h"
#include "tierup/tensor/dtype.h"
#include "tierup/tensor/scalar.h"
#include "tierup/tensor/storage.h"

namespace tierup {
class Tensor;
}
TIERUP_OBJECT_ALLOCATOR(tierup::Tensor)

namespace tierup {

// What the tape of a differentiable run hangs on a tensor; see autodiff/record.h.
class AutogradRecord : public RefCounted {};

struct TensorImpl final : public RefCounted {
  Ref<Storage> storage;
  IntVector sizes;
  IntVector strides;
  int64_t offset = 0;  // In elements of dtype.
  int64_t numel = 0;
  ScalarType dtype = ScalarType::kFloat;
  bool requires_grad = false;
  bool contiguous = true;  // Row-major without gaps; kept by set_geometry.
  bool conjugate = false;  // Lazy conjugation (complex only): the value is conj of what is stored.
  bool negative = false;   // Lazy negation: the value is the negative of what is stored.
  bool wrapped_number = false;  // Came from a Python number: weak in type promotion.
  bool hides_writes = false;    // Made by `.data`, or a view of such: the tape sees no write.
  // A leaf's is made by the thread that first needs it.
  LateRef<AutogradRecord> autograd;

  // Or the compiler fills the whole object with zeros first, which takes as long as all the rest.
  TensorImpl() {}  // NOLINT(modernize-use-equals-default)
};

class Tensor {
 public:
  Tensor() = default;
  explicit Tensor(Ref<TensorImpl> impl) : impl_(std::move(impl)) {}

  // Uninitialised; contiguous, or strided for the memory format. Throws kInvalidArgument for a
  // negative size or one that overflows, kOutOfMemory.
  static Tensor empty(IntSpan sizes, ScalarType dtype,
                      MemoryFormat format = MemoryFormat::kContiguous);
  static Tensor empty_strided(IntSpan sizes, IntSpan strides, ScalarType dtype);
  // A view of raw storage. Throws kOutOfRange if it would reach outside of the storage.
  static Tensor from_storage(Ref<Storage> storage, ScalarType dtype, IntSpan sizes, IntSpan strides,
                             int64_t offset);
  // A 0-dim tensor; `dtype` defaults to the number's own (bool, int64, float64, complex128).
  static Tensor scalar(const Scalar& value, std::optional<ScalarType> dtype = std::nullopt);

  bool defined() const { return static_cast<bool>(impl_); }
  TensorImpl* impl() const { return impl_.get(); }
  const Ref<TensorImpl>& ref() const { return impl_; }
  Ref<TensorImpl> take() && { return std::move(impl_); }
  bool is_same(const Tensor& other) const { return impl_ == other.impl_; }

  ScalarType dtype() const { return impl_->dtype; }
  int64_t dim() const { return static_cast<int64_t>(impl_->sizes.size()); }
  int64_t numel() const { return impl_->numel; }
  IntSpan sizes() const { return {impl_->sizes.data(), impl_->sizes.size()}; }
  IntSpan strides() const { return {impl_->strides.data(), impl_->strides.size()}; }
  // `dim` may be negative; throws kOutOfRange.
  int64_t size(int64_t dim) const;
  int64_t stride(int64_t dim) const;
  int64_t offset() const { return impl_->offset; }
  size_t item_size() const { return tierup::item_size(impl_->dtype); }
  size_t bytes() const { return static_cast<size_t>(numel()) * item_size(); }
  const Ref<Storage>& storage() const { return impl_->storage; }
  Device device() const { return impl_->storage->device(); }
  bool is_meta() const { return device().type == DeviceType::kMeta; }
  bool requires_grad() const { return impl_->requires_grad; }
  uint32_t version() const { return impl_->storage->version(); }

  bool is_contiguous() const { return impl_->contiguous; }
  bool is_contiguous(MemoryFormat format) const;
  // No two indices share an element and there are no gaps, in any order of dimensions.
  bool is_non_overlapping_and_dense() const;
  // channels_last, channels_last_3d or contiguous: what an operator that preserves the layout
  // produces.
  MemoryFormat suggest_memory_format() const;

  // Address of the first element.
  void* raw() const {
    return static_cast<char*>(impl_->storage->data()) +
           static_cast<size_t>(impl_->offset) * tierup::item_size(impl_->dtype);
  }
  // The same, typed; T must be the element type.
  template <typename T>
  T* data() const {
    TIERUP_CHECK(kDTypeOf<T> == impl_->dtype);
    return static_cast<T*>(impl_->storage->data()) + impl_->offset;
  }

  // A view of the same storage with another geometry, unchecked beyond the storage's bounds.
  // Keeps dtype and the lazy bits.
  Tensor as_view(IntSpan sizes, IntSpan strides, int64_t offset) const;
  // A second handle onto the same data: no shared metadata, no autograd record.
  Tensor detach() const;
  // The same bytes read as another dtype of equal width (or of sizes that fit: see view.dtype).
  Tensor with_dtype(ScalarType dtype) const;
  // Replaces geometry in place (metadata operators such as transpose_, resize_).
  void set_geometry(IntSpan sizes, IntSpan strides, int64_t offset) const;
  void set_requires_grad(bool value) const { impl_->requires_grad = value; }
  // To be called by every kernel that writes to an argument.
  void bump_version() const { impl_->storage->bump_version(!impl_->hides_writes); }

  // "Float[2, 3]", "Long[]", "undefined": for errors.
  std::string describe() const;

 private:
  Ref<TensorImpl> impl_;
};

// Row-major strides.
IntVector contiguous_strides(IntSpan sizes);
// Strides of a fresh tensor of this memory format; kPreserve is treated as contiguous.
IntVector strides_for(IntSpan sizes, MemoryFormat format);
// Product of sizes. Throws kInvalidArgument for a negative size or an overflow.
int64_t numel_of(IntSpan sizes);
// dim in [-rank, rank) to [0, rank); rank 0 allows -1 and 0. Throws kOutOfRange with PyTorch's
// words.
int64_t wrap_dim(int64_t dim, int64_t rank);
// Shape of the broadcast of both. Throws kInvalidArgument naming both shapes and the dimension.
IntVector broadcast_shapes(IntSpan a, IntSpan b);
// The view with these sizes, stride 0 where broadcast. Throws kInvalidArgument.
Tensor expand_to(const Tensor& tensor, IntSpan sizes);
// Strides under which `tensor` can be viewed as `sizes` without a copy; nullopt if impossible.
std::optional<IntVector> view_strides(IntSpan old_sizes, IntSpan old_strides, IntSpan sizes);
// Whether some element can be reached by two different indices (an in-place write would be
// ambiguous).
bool has_internal_overlap(const Tensor& tensor);
// kNone: surely disjoint; kFull: the same elements in the same geometry; kPartial: may overlap
// otherwise.
enum class Overlap : uint8_t { kNone, kFull, kPartial };
Overlap memory_overlap(const Tensor& a, const Tensor& b);
// Throws kInvalidArgument if writing to `output` is ambiguous (internal overlap) or would disturb
// `input` half-way (partial overlap).
void check_no_internal_overlap(const Tensor& output);
void check_no_partial_overlap(const Tensor& output, const Tensor& input);

std::string shape_string(IntSpan sizes);  // "[2, 3]"

}  // namespace tierup
