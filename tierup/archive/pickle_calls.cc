// The calls that a pickle may make: rebuilding tensors, tagging containers, making small values.
#include <algorithm>
#include <cstdint>

#include "tierup/archive/byte_source.h"
#include "tierup/archive/pickle_globals.h"
#include "tierup/base/error.h"

namespace tierup::archive {
namespace {

// More than any machine's memory, and small enough that products of two cannot surprise anybody.
constexpr int64_t kMaxExtent = int64_t{1} << 48;
constexpr size_t kMaxRank = 64;

[[noreturn]] void wrong_arguments(std::string_view callee) {
  fail(ErrorCode::kCorruptArchive, "{} is called with wrong arguments", callee);
}

void check_arguments(bool fine, std::string_view callee) {
  if (!fine) wrong_arguments(callee);
}

IntVector extents(const IValue& tuple, std::string_view what) {
  check_arguments(tuple.is_tuple(), "_rebuild_tensor_v2");
  IntVector values;
  for (const IValue& item : tuple.to_tuple().items) {
    check_arguments(item.is_int() && values.size() < kMaxRank, "_rebuild_tensor_v2");
    const int64_t value = item.to_int();
    require(value >= 0 && value <= kMaxExtent, ErrorCode::kCorruptArchive, "a tensor has the {} {}",
            what, value);
    values.push_back(value);
  }
  return values;
}

// Every index that the geometry allows must lie within the storage's `numel` elements.
void check_geometry(IntSpan sizes, IntSpan strides, int64_t offset, int64_t numel) {
  require(sizes.size() == strides.size(), ErrorCode::kCorruptArchive,
          "a tensor has {} sizes and {} strides", sizes.size(), strides.size());
  require(offset >= 0 && offset <= kMaxExtent, ErrorCode::kCorruptArchive,
          "a tensor has the storage offset {}", offset);
  int64_t last = offset;
  bool overflow = false;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == 0) return;
    int64_t reach = 0;
    overflow = __builtin_mul_overflow(sizes[d] - 1, strides[d], &reach) || overflow;
    overflow = __builtin_add_overflow(last, reach, &last) || overflow;
  }
  if (!overflow && last < numel) return;
  fail(ErrorCode::kCorruptArchive,
       "a tensor of sizes {}, strides {} and offset {} reaches outside of its storage of {} "
       "elements",
       shape_string(sizes), shape_string(strides), offset, numel);
}

// {"conj": True} and {"neg": True}: the value is the conjugate or negative of what is stored.
void apply_math_bits(const IValue& bits, const Tensor& tensor) {
  check_arguments(bits.is_dict(), "_rebuild_tensor_v2");
  for (const auto& [key, value] : bits.to_dict().entries()) {
    check_arguments(key.is_str() && value.is_bool(), "_rebuild_tensor_v2");
    if (key.to_str() == "conj") {
      require(!value.to_bool() || is_complex(tensor.dtype()), ErrorCode::kCorruptArchive,
              "a tensor of {} is marked as conjugated", dtype_name(tensor.dtype()));
      tensor.impl()->conjugate = value.to_bool();
    } else if (key.to_str() == "neg") {
      tensor.impl()->negative = value.to_bool();
    }
  }
}

IValue make_complex(std::span<const IValue> arguments) {
  check_arguments(arguments.size() == 2, "complex");
  for (const IValue& part : arguments) {
    check_arguments(part.is_float() || part.is_int(), "complex");
  }
  return complex128{arguments[0].to_float(), arguments[1].to_float()};
}

IValue make_device(std::span<const IValue> arguments) {
  check_arguments((arguments.size() == 1 || arguments.size() == 2) && arguments[0].is_str(),
                  "torch.device");
  std::string text = arguments[0].to_str();
  if (arguments.size() == 2) {
    check_arguments(arguments[1].is_int(), "torch.device");
    text += fmt::format(":{}", arguments[1].to_int());
  }
  return Device::parse(text);
}

IValue make_size(std::span<const IValue> arguments) {
  check_arguments(arguments.size() == 1 && arguments[0].is_tuple(), "torch.Size");
  IntVector sizes;
  for (const IValue& item : arguments[0].to_tuple().items) {
    check_arguments(item.is_int(), "torch.Size");
    sizes.push_back(item.to_int());
  }
  return make_int_list({sizes.data(), sizes.size()});
}

IValue build_list(const TypePtr& element, std::span<const IValue> arguments) {
  check_arguments(arguments.size() == 1 && arguments[0].is_list(), "build_list");
  for (const IValue& item : arguments[0].to_list().items) {
    // None stands for an undefined tensor.
    const bool fits =
        item.is_instance(element) || (element->is(TypeKind::kTensor) && item.is_none());
    require(fits, ErrorCode::kCorruptArchive, "a list of {} holds a value of type {}",
            element->to_string(), item.tag_name());
  }
  arguments[0].to_list().element = element;
  return arguments[0];
}

}  // namespace

Ref<Storage> PickleCalls::storage_of(const std::string& key, ScalarType dtype, int64_t numel,
                                     bool is_meta) {
  int64_t bytes = 0;
  require(
      numel >= 0 && !__builtin_mul_overflow(numel, static_cast<int64_t>(item_size(dtype)), &bytes),
      ErrorCode::kCorruptArchive, "storage {} has {} elements", key, numel);
  if (is_meta) {
    return Storage::borrow(nullptr, static_cast<size_t>(bytes), nullptr, Device{DeviceType::kMeta});
  }
  if (numel == 0) return Storage::allocate(0);
  auto found = storages_.find(key);
  if (found == storages_.end()) {
    found = storages_.emplace(key, std::pair(load_(key, dtype, numel), dtype)).first;
  }
  const auto& [storage, first_dtype] = found->second;
  require(storage->bytes() >= static_cast<size_t>(bytes), ErrorCode::kCorruptArchive,
          "storage {} has {} bytes, but {} elements of {} need {}", key, storage->bytes(), numel,
          dtype_name(dtype), bytes);
  require(reinterpret_cast<uintptr_t>(storage->data()) % item_size(dtype) == 0,
          ErrorCode::kUnsupported, "storage {} is not aligned for elements of {}", key,
          dtype_name(dtype));
  if (dtype != first_dtype) prepare_storage(*storage, dtype);
  return storage;
}

IValue PickleCalls::persistent_storage(const IValue& identifier) {
  constexpr std::string_view kWhat = "a storage identifier";
  check_arguments(identifier.is_tuple(), kWhat);
  const std::vector<IValue>& items = identifier.to_tuple().items;
  check_arguments(items.size() >= 5 && items[0].is_str() && items[0].to_str() == "storage", kWhat);
  const PickleMarker* type = marker_of(items[1]);
  check_arguments(type != nullptr && type->global == Global::kStorageType && items[2].is_str() &&
                      items[3].is_str() && items[4].is_int(),
                  kWhat);
  auto marker = make_ref<PickleMarker>(Global::kStorage);
  marker->name = items[2].to_str();
  marker->dtype = type->dtype;
  marker->numel = items[4].to_int();
  marker->storage =
      storage_of(marker->name, marker->dtype, marker->numel, items[3].to_str() == "meta");
  return IValue::capsule(marker);
}

IValue PickleCalls::rebuild_tensor(std::span<const IValue> arguments) {
  constexpr std::string_view kWhat = "_rebuild_tensor_v2";
  check_arguments(arguments.size() >= 6 && arguments.size() <= 7, kWhat);
  const PickleMarker* storage = marker_of(arguments[0]);
  check_arguments(storage != nullptr && storage->global == Global::kStorage &&
                      arguments[1].is_int() && arguments[4].is_bool(),
                  kWhat);
  require(!is_quantized(storage->dtype), ErrorCode::kUnsupported,
          "quantized tensors ({}) are not supported", dtype_name(storage->dtype));
  const IntVector sizes = extents(arguments[2], "size");
  const IntVector strides = extents(arguments[3], "stride");
  const int64_t offset = arguments[1].to_int();
  const IntSpan size_span{sizes.data(), sizes.size()};
  const IntSpan stride_span{strides.data(), strides.size()};
  int64_t extent = 1;
  for (const int64_t size : sizes) {
    const bool overflow = __builtin_mul_overflow(extent, std::max<int64_t>(size, 1), &extent);
    if (!overflow && extent <= kMaxExtent) continue;
    fail(ErrorCode::kCorruptArchive, "a tensor of shape {} has too many elements",
         shape_string(size_span));
  }
  check_geometry(size_span, stride_span, offset, storage->numel);
  Tensor tensor =
      Tensor::from_storage(storage->storage, storage->dtype, size_span, stride_span, offset);
  const bool differentiable = is_floating(tensor.dtype()) || is_complex(tensor.dtype());
  tensor.set_requires_grad(arguments[4].to_bool() && differentiable);
  if (arguments.size() == 7) apply_math_bits(arguments[6], tensor);
  return tensor;
}

// (function, type, arguments, state): what subclasses of Tensor are saved as.
IValue PickleCalls::rebuild_from_type(std::span<const IValue> arguments) {
  constexpr std::string_view kWhat = "_rebuild_from_type_v2";
  check_arguments(arguments.size() == 4 && arguments[2].is_tuple(), kWhat);
  const PickleMarker* inner = marker_of(arguments[0]);
  check_arguments(inner != nullptr && (inner->global == Global::kRebuildTensor ||
                                       inner->global == Global::kRebuildParameter),
                  kWhat);
  return call(*inner, arguments[2]);
}

IValue PickleCalls::restore_type_tag(std::span<const IValue> arguments) {
  constexpr std::string_view kWhat = "restore_type_tag";
  check_arguments(arguments.size() == 2 && arguments[1].is_str(), kWhat);
  const IValue& container = arguments[0];
  const std::string& text = arguments[1].to_str();
  const TypePtr type = classes_.parse_type(text);
  check_arguments(type != nullptr, kWhat);
  if (container.is_list() && type->is(TypeKind::kList)) {
    container.to_list().element = type->element();
  } else if (container.is_dict() && type->is(TypeKind::kDict)) {
    container.to_dict().key = type->element(0);
    container.to_dict().value = type->element(1);
  } else {
    fail(ErrorCode::kCorruptArchive, "a value of type {} is tagged as {}", container.tag_name(),
         text);
  }
  return container;
}

IValue PickleCalls::call(const PickleMarker& callee, const IValue& argument) {
  if (callee.global == Global::kNewClass && callee.type->is(TypeKind::kEnum)) {
    return classes_.enum_member(callee.type, argument);
  }
  check_arguments(argument.is_tuple(), callee.name);
  const std::span<const IValue> arguments = argument.to_tuple().items;
  switch (callee.global) {
    case Global::kRebuildTensor: return rebuild_tensor(arguments);
    case Global::kRebuildFromType: return rebuild_from_type(arguments);
    case Global::kRebuildParameter: {
      check_arguments(arguments.size() >= 2 && arguments[0].is_tensor() && arguments[1].is_bool(),
                      callee.name);
      const Tensor tensor = arguments[0].to_tensor();
      tensor.set_requires_grad(arguments[1].to_bool() &&
                               (is_floating(tensor.dtype()) || is_complex(tensor.dtype())));
      return tensor;
    }
    case Global::kRebuildQuantized:
      fail(ErrorCode::kUnsupported, "quantized tensors are not supported: save the float model");
    case Global::kRebuildSparse:
      fail(ErrorCode::kUnsupported, "sparse tensors are not supported: save them dense (to_dense)");
    case Global::kBuildList: return build_list(callee.type, arguments);
    case Global::kRestoreTypeTag: return restore_type_tag(arguments);
    case Global::kComplex: return make_complex(arguments);
    case Global::kDevice: return make_device(arguments);
    case Global::kSize: return make_size(arguments);
    case Global::kCounter:
      check_arguments(arguments.size() == 1 && arguments[0].is_dict(), "collections.Counter");
      return arguments[0];
    default: fail(ErrorCode::kCorruptArchive, "{} cannot be called", callee.name);
  }
}

}  // namespace tierup::archive
