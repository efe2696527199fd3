#include "tierup/tensor/dlpack.h"

#include <cstring>
#include <memory>

#include "tierup/base/error.h"
#include "tierup/tensor/gather.h"

namespace tierup::dlpack {
namespace {

constexpr int32_t kCpu = 1;
constexpr int32_t kCudaHost = 3;
constexpr int32_t kMaxRank = 64;

struct TypeRow {
  ScalarType type;
  uint8_t code;
  uint8_t bits;
};

constexpr TypeRow kTypes[] = {
    {ScalarType::kChar, 0, 8},
    {ScalarType::kShort, 0, 16},
    {ScalarType::kInt, 0, 32},
    {ScalarType::kLong, 0, 64},
    {ScalarType::kByte, 1, 8},
    {ScalarType::kUInt16, 1, 16},
    {ScalarType::kUInt32, 1, 32},
    {ScalarType::kUInt64, 1, 64},
    {ScalarType::kHalf, 2, 16},
    {ScalarType::kFloat, 2, 32},
    {ScalarType::kDouble, 2, 64},
    {ScalarType::kBFloat16, 4, 16},
    {ScalarType::kComplexHalf, 5, 32},
    {ScalarType::kComplexFloat, 5, 64},
    {ScalarType::kComplexDouble, 5, 128},
    {ScalarType::kBool, 6, 8},
    {ScalarType::kFloat8E4M3FN, 10, 8},
    {ScalarType::kFloat8E4M3FNUZ, 11, 8},
    {ScalarType::kFloat8E5M2, 12, 8},
    {ScalarType::kFloat8E5M2FNUZ, 13, 8},
    {ScalarType::kFloat8E8M0FNU, 14, 8},
};

ElementType to_element_type(ScalarType type) {
  for (const TypeRow& row : kTypes) {
    if (row.type == type) return {row.code, row.bits, 1};
  }
  fail(ErrorCode::kUnsupported, "DLPack has no {}", dtype_name(type));
}

ScalarType from_element_type(ElementType type) {
  for (const TypeRow& row : kTypes) {
    if (row.code == type.code && row.bits == type.bits && type.lanes == 1) return row.type;
  }
  fail(ErrorCode::kUnsupported, "DLPack type code {} with {} bits and {} lanes is not supported",
       type.code, type.bits, type.lanes);
}

void check_exportable(const Tensor& tensor) {
  require(tensor.defined() && !tensor.is_meta(), ErrorCode::kInvalidArgument,
          "a tensor without data cannot be exported to DLPack");
  require(!tensor.requires_grad(), ErrorCode::kInvalidArgument,
          "Can't export tensors that require gradient, use tensor.detach()");
  // Of no elements none is to be negated.
  const bool is_plain = !tensor.impl()->conjugate && !tensor.impl()->negative;
  require(is_plain || tensor.numel() == 0, ErrorCode::kInvalidArgument,
          "Can't export tensors with the conjugate or negative bit set: resolve them first");
}

// What an exported description points into; owns itself and goes by its deleter.
template <typename Managed>
struct Exported {
  Managed managed{};
  IntVector sizes;
  IntVector strides;
  Tensor tensor;
};

template <typename Managed>
Managed* export_as(const Tensor& tensor) {
  check_exportable(tensor);
  auto exported = std::make_unique<Exported<Managed>>();
  exported->tensor = tensor;
  exported->sizes.assign(tensor.sizes().begin(), tensor.sizes().end());
  exported->strides.assign(tensor.strides().begin(), tensor.strides().end());
  RawTensor& raw = exported->managed.tensor;
  raw.data = tensor.numel() == 0 ? nullptr : tensor.raw();
  raw.device = {kCpu, 0};
  raw.ndim = static_cast<int32_t>(tensor.dim());
  raw.dtype = to_element_type(tensor.dtype());
  raw.shape = exported->sizes.data();
  raw.strides = exported->strides.data();
  exported->managed.context = exported.get();
  exported->managed.deleter = [](Managed* self) {
    if (self != nullptr) delete static_cast<Exported<Managed>*>(self->context);
  };
  return &exported.release()->managed;
}

struct Geometry {
  ScalarType dtype;
  IntVector sizes;
  IntVector strides;
  size_t bytes = 0;  // From the first element to behind the last one.
};

Geometry check_geometry(const RawTensor& raw) {
  require(raw.device.type == kCpu || raw.device.type == kCudaHost, ErrorCode::kUnsupported,
          "DLPack tensors on device type {} are not supported, only those in CPU memory",
          raw.device.type);
  require(raw.ndim >= 0 && raw.ndim <= kMaxRank && (raw.ndim == 0 || raw.shape != nullptr),
          ErrorCode::kInvalidArgument, "a DLPack tensor has {} dimensions", raw.ndim);
  Geometry geometry{.dtype = from_element_type(raw.dtype)};
  if (raw.ndim > 0) geometry.sizes.assign(raw.shape, raw.shape + raw.ndim);
  const int64_t numel = numel_of(geometry.sizes);
  geometry.strides = contiguous_strides(geometry.sizes);
  if (raw.strides != nullptr) geometry.strides.assign(raw.strides, raw.strides + raw.ndim);
  if (numel == 0) return geometry;
  require(raw.data != nullptr, ErrorCode::kInvalidArgument, "a DLPack tensor has no data");
  int64_t last = 0;
  bool overflow = false;
  for (size_t d = 0; d < geometry.sizes.size(); ++d) {
    require(geometry.strides[d] >= 0, ErrorCode::kUnsupported,
            "DLPack tensors with negative strides are not supported");
    int64_t reach = 0;
    overflow = __builtin_mul_overflow(geometry.sizes[d] - 1, geometry.strides[d], &reach) ||
               __builtin_add_overflow(last, reach, &last) || overflow;
  }
  overflow = overflow || __builtin_mul_overflow(static_cast<size_t>(last) + 1,
                                                item_size(geometry.dtype), &geometry.bytes);
  if (overflow) {
    fail(ErrorCode::kInvalidArgument, "a DLPack tensor of shape {} is too large",
         shape_string(geometry.sizes));
  }
  return geometry;
}

template <typename Managed>
Tensor import_as(Managed* managed, bool read_only) {
  const RawTensor& raw = managed->tensor;
  const Geometry geometry = check_geometry(raw);
  void* data = static_cast<char*>(raw.data) + (geometry.bytes == 0 ? 0 : raw.byte_offset);
  const auto view = [&](Ref<Storage> storage) {
    return Tensor::from_storage(std::move(storage), geometry.dtype, geometry.sizes,
                                geometry.strides, 0);
  };
  const auto release = [managed] {
    if (managed->deleter != nullptr) managed->deleter(managed);
  };
  const size_t width = item_size(geometry.dtype);
  // Complex numbers need the alignment of their parts only.
  const size_t alignment = is_complex(geometry.dtype) ? width / 2 : width;
  const bool aligned = reinterpret_cast<uintptr_t>(data) % alignment == 0;
  if (aligned && !read_only) return view(Storage::borrow(data, geometry.bytes, release));
  Tensor copy = Tensor::empty(geometry.sizes, geometry.dtype);
  gather_elements(view(Storage::borrow(data, geometry.bytes, nullptr)), copy.raw());
  release();
  return copy;
}

}  // namespace

ManagedTensorVersioned* export_tensor(const Tensor& tensor) {
  ManagedTensorVersioned* managed = export_as<ManagedTensorVersioned>(tensor);
  managed->version = {kMajorVersion, kMinorVersion};
  return managed;
}

ManagedTensor* export_unversioned(const Tensor& tensor) { return export_as<ManagedTensor>(tensor); }

Tensor import_tensor(ManagedTensorVersioned* managed) {
  require(managed != nullptr, ErrorCode::kInvalidArgument, "the DLPack tensor is null");
  require(managed->version.major == kMajorVersion, ErrorCode::kUnsupported,
          "DLPack version {}.{} is not supported, only {}.x", managed->version.major,
          managed->version.minor, kMajorVersion);
  return import_as(managed, (managed->flags & kReadOnly) != 0);
}

Tensor import_unversioned(ManagedTensor* managed) {
  require(managed != nullptr, ErrorCode::kInvalidArgument, "the DLPack tensor is null");
  return import_as(managed, false);
}

}  // namespace tierup::dlpack
