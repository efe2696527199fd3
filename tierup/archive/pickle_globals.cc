// The table of allowed globals, looked up by module and name.
#include "tierup/archive/pickle_globals.h"

#include <algorithm>

#include "tierup/base/error.h"

namespace tierup::archive {
namespace {

struct GlobalRow {
  std::string_view module;
  std::string_view name;
  Global global;
};

constexpr GlobalRow kGlobals[] = {
    {"torch", "device", Global::kDevice},
    {"torch", "Size", Global::kSize},
    {"torch", "Tensor", Global::kTypeName},
    {"torch.nn.parameter", "Parameter", Global::kTypeName},
    {"torch.nn.parameter", "Buffer", Global::kTypeName},
    {"torch", "per_tensor_affine", Global::kQuantizer},
    {"torch", "per_channel_affine", Global::kQuantizer},
    {"torch", "per_tensor_symmetric", Global::kQuantizer},
    {"torch", "per_channel_symmetric", Global::kQuantizer},
    {"torch", "per_channel_affine_float_qparams", Global::kQuantizer},
    {"torch._utils", "_rebuild_tensor_v2", Global::kRebuildTensor},
    {"torch._utils", "_rebuild_parameter", Global::kRebuildParameter},
    {"torch._utils", "_rebuild_parameter_with_state", Global::kRebuildParameter},
    {"torch._tensor", "_rebuild_from_type_v2", Global::kRebuildFromType},
    {"torch._utils", "_rebuild_qtensor", Global::kRebuildQuantized},
    {"torch._utils", "_rebuild_sparse_tensor", Global::kRebuildSparse},
    {"torch._utils", "_rebuild_sparse_csr_tensor", Global::kRebuildSparse},
    {"torch.jit._pickle", "build_intlist", Global::kBuildList},
    {"torch.jit._pickle", "build_doublelist", Global::kBuildList},
    {"torch.jit._pickle", "build_boollist", Global::kBuildList},
    {"torch.jit._pickle", "build_tensorlist", Global::kBuildList},
    {"torch.jit._pickle", "restore_type_tag", Global::kRestoreTypeTag},
    {"builtins", "complex", Global::kComplex},
    {"__builtin__", "complex", Global::kComplex},
    {"collections", "OrderedDict", Global::kOrderedDict},
    {"collections", "Counter", Global::kCounter},
};

struct StorageRow {
  std::string_view name;
  ScalarType dtype;
};

constexpr StorageRow kStorages[] = {
    {"ByteStorage", ScalarType::kByte},
    {"CharStorage", ScalarType::kChar},
    {"ShortStorage", ScalarType::kShort},
    {"IntStorage", ScalarType::kInt},
    {"LongStorage", ScalarType::kLong},
    {"HalfStorage", ScalarType::kHalf},
    {"FloatStorage", ScalarType::kFloat},
    {"DoubleStorage", ScalarType::kDouble},
    {"ComplexHalfStorage", ScalarType::kComplexHalf},
    {"ComplexFloatStorage", ScalarType::kComplexFloat},
    {"ComplexDoubleStorage", ScalarType::kComplexDouble},
    {"BoolStorage", ScalarType::kBool},
    {"QInt8Storage", ScalarType::kQInt8},
    {"QUInt8Storage", ScalarType::kQUInt8},
    {"QInt32Storage", ScalarType::kQInt32},
    {"BFloat16Storage", ScalarType::kBFloat16},
    {"QUInt4x2Storage", ScalarType::kQUInt4x2},
    {"QUInt2x4Storage", ScalarType::kQUInt2x4},
    {"Float8_e5m2Storage", ScalarType::kFloat8E5M2},
    {"Float8_e4m3fnStorage", ScalarType::kFloat8E4M3FN},
    {"Float8_e5m2fnuzStorage", ScalarType::kFloat8E5M2FNUZ},
    {"Float8_e4m3fnuzStorage", ScalarType::kFloat8E4M3FNUZ},
    {"UInt16Storage", ScalarType::kUInt16},
    {"UInt32Storage", ScalarType::kUInt32},
    {"UInt64Storage", ScalarType::kUInt64},
    {"Float8_e8m0fnuStorage", ScalarType::kFloat8E8M0FNU},
};

TypePtr list_element(std::string_view builder) {
  if (builder == "build_intlist") return Type::integer();
  if (builder == "build_doublelist") return Type::floating();
  if (builder == "build_boollist") return Type::boolean();
  return Type::tensor();
}

Ref<PickleMarker> class_marker(const std::string& qualified, ClassResolver& classes) {
  constexpr std::string_view kCustomClasses = "__torch__.torch.classes.";
  require(!qualified.starts_with(kCustomClasses), ErrorCode::kUnsupported,
          "custom C++ class {} is not supported: its code is not in the archive",
          std::string_view(qualified).substr(std::min(kCustomClasses.size(), qualified.size())));
  auto marker = make_ref<PickleMarker>(Global::kNewClass);
  marker->type = classes.resolve(qualified);
  require(marker->type != nullptr &&
              (marker->type->is(TypeKind::kClass) || marker->type->is(TypeKind::kEnum)),
          ErrorCode::kCorruptArchive, "{} is neither a class nor an enum", qualified);
  return marker;
}

// Null if the name is no storage type.
Ref<PickleMarker> storage_marker(std::string_view name) {
  for (const StorageRow& row : kStorages) {
    if (row.name != name) continue;
    auto marker = make_ref<PickleMarker>(Global::kStorageType);
    marker->dtype = row.dtype;
    return marker;
  }
  return nullptr;
}

IValue finish(Ref<PickleMarker> marker, std::string_view module, std::string_view name) {
  marker->name = fmt::format("{}.{}", module, name);
  return IValue::capsule(marker);
}

}  // namespace

PickleMarker* marker_of(const IValue& value) {
  return value.is_capsule() ? dynamic_cast<PickleMarker*>(value.to_capsule()) : nullptr;
}

std::string_view storage_type_name(ScalarType dtype) {
  const auto* const row =
      std::ranges::find_if(kStorages, [&](const StorageRow& r) { return r.dtype == dtype; });
  TIERUP_CHECK(row != std::end(kStorages));
  return row->name;
}

IValue resolve_global(std::string_view module, std::string_view name, ClassResolver& classes) {
  if (module == "__torch__" || module.starts_with("__torch__.")) {
    return finish(class_marker(fmt::format("{}.{}", module, name), classes), module, name);
  }
  for (const GlobalRow& row : kGlobals) {
    if (row.module != module || row.name != name) continue;
    auto marker = make_ref<PickleMarker>(row.global);
    if (row.global == Global::kBuildList) marker->type = list_element(name);
    return finish(std::move(marker), module, name);
  }
  if (module == "torch" || module == "torch.storage") {
    if (Ref<PickleMarker> marker = storage_marker(name)) {
      return finish(std::move(marker), module, name);
    }
    if (const auto dtype = parse_dtype(name); dtype && dtype_name(*dtype) == name) {
      return IValue(static_cast<int64_t>(*dtype));
    }
  }
  require(module != "torch.distributed.rpc", ErrorCode::kUnsupported,
          "{}.{}: remote references are not supported", module, name);
  fail(ErrorCode::kUnsupported,
       "the pickle names {}.{}, which is not among the names that may be loaded", module, name);
}

}  // namespace tierup::archive
