// The closed table of what a pickle may name, and the calls that its REDUCE opcode may make.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "tierup/archive/unpickler.h"

namespace tierup::archive {

enum class Global : uint8_t {
  kNewClass,     // A class or enum of the archive, asked from the ClassResolver.
  kStorageType,  // "torch FloatStorage": an element type inside storage identifiers.
  kStorage,      // Not named: what a storage identifier becomes.
  kTypeName,     // "torch.nn.parameter Parameter": only an argument of wrappers.
  kDtype,        // "torch float32": becomes its integer code.
  kDevice,
  kQuantizer,  // "torch per_tensor_affine".
  kRebuildTensor,
  kRebuildParameter,
  kRebuildFromType,
  kRebuildQuantized,
  kRebuildSparse,
  kBuildList,  // Of ints, doubles, bools or tensors.
  kRestoreTypeTag,
  kComplex,
  kOrderedDict,
  kCounter,  // collections.Counter: a dict of what was counted.
  kSize,     // torch.Size: a tuple of ints; becomes a list of them.
};

// Something that a pickle names and that is no value of a program; it travels on the stack as
// a capsule and must not be left in what is read.
struct PickleMarker final : public RefCounted {
  explicit PickleMarker(Global g) : global(g) {}
  Global global;
  std::string name;                      // "torch._utils._rebuild_tensor_v2".
  TypePtr type;                          // Of kNewClass; element type of kBuildList.
  ScalarType dtype = ScalarType::kByte;  // Of kStorageType and kStorage.
  Ref<Storage> storage;
  int64_t numel = 0;  // Of kStorage, in elements of dtype.
};

// The marker in `value`, or null.
PickleMarker* marker_of(const IValue& value);

// What "module name" stands for: a marker, or at once a value (a dtype). Throws kUnsupported naming
// both if the table does not have it.
IValue resolve_global(std::string_view module, std::string_view name, ClassResolver& classes);

// "FloatStorage": what a pickle calls storages of these elements, in module "torch".
std::string_view storage_type_name(ScalarType dtype);

// Storages by key, and the calls that make tensors of them.
class PickleCalls {
 public:
  PickleCalls(ClassResolver& classes, const StorageLoader& load) : classes_(classes), load_(load) {}

  // The marker of a storage from its identifier ("storage", type, key, device, numel).
  IValue persistent_storage(const IValue& identifier);
  // The result of calling `callee` with `argument`, a tuple but for enums. Throws kUnsupported for
  // quantized and sparse tensors, kCorruptArchive for wrong arguments.
  IValue call(const PickleMarker& callee, const IValue& argument);

 private:
  IValue rebuild_tensor(std::span<const IValue> arguments);
  IValue rebuild_from_type(std::span<const IValue> arguments);
  IValue restore_type_tag(std::span<const IValue> arguments);
  Ref<Storage> storage_of(const std::string& key, ScalarType dtype, int64_t numel, bool is_meta);

  ClassResolver& classes_;
  const StorageLoader& load_;
  std::unordered_map<std::string, std::pair<Ref<Storage>, ScalarType>> storages_;
};

}  // namespace tierup::archive
