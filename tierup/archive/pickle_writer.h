// PickleWriter: values to the pickles that PyTorch and the Unpickler read back.
//
// Objects, lists, dicts, tuples and tensors that are reached twice are written once and named the
// second time, and views keep their common storage, so what shared memory does so after loading.
// Storages themselves are not in the pickle: storages() lists them for whoever writes the archive.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "tierup/archive/safetensors.h"
#include "tierup/tensor/ivalue.h"

namespace tierup::archive {

enum class PickleDialect : uint8_t {
  kTorchScript,  // torch.jit.save: containers are tagged with their types; objects of classes.
  kTorchSave,    // torch.save of plain data, as torch.load(weights_only=True) reads it.
};

// Thread rule: used by one thread.
class PickleWriter {
 public:
  // What a class's own __getstate__ gives for an object; nullopt: its attributes are its state.
  using StateOf = std::function<std::optional<IValue>(const Ref<ObjectValue>&)>;
  explicit PickleWriter(PickleDialect dialect, StateOf state_of = nullptr);

  // Appends a value. `path` is what errors call it: "layers.0.weight". Throws kUnsupported, naming
  // the path below it, for what no file can hold (futures, functions, generators, meta tensors,
  // attributes that were never set, containers that contain themselves) and, in kTorchSave, for
  // objects and enums; kRecursionLimit for values nested deeper than readers go.
  void value(const IValue& value, const std::string& path);
  // An OrderedDict of tensors, as Module.state_dict() gives.
  void state_dict(const NamedTensors& tensors);
  // The tensor as a torch.nn.Parameter, in kTorchSave.
  void parameter(const Tensor& tensor, const std::string& path);
  // A dict whose entries are appended as key, value, key, value... between the two.
  void begin_dict();
  void end_dict() { out_ += 'u'; }
  void text(std::string_view text);
  // An empty dict; end_dict() would need entries.
  void empty_dict() { out_ += '}'; }

  // The whole pickle, of the one value that was appended. Nothing can be appended after it.
  std::string finish();

  struct StorageRecord {
    std::string key;  // The record's name under "data/".
    Ref<Storage> storage;
  };
  // In the order in which the pickle names them.
  const std::vector<StorageRecord>& storages() const { return storages_; }

 private:
  void integer(int64_t value);
  void floating(double value);
  void global(std::string_view module, std::string_view name);
  void size_tuple(IntSpan sizes);
  void tensor(const Tensor& tensor, const std::string& path);
  void storage(const Tensor& tensor);
  bool recall(const void* identity);
  void remember(const void* identity);
  void shared(const IValue& value, const void* identity, const std::string& path);
  void list(const ListValue& list, const std::string& path);
  void dict(const DictValue& dict, const std::string& path);
  void tuple(const TupleValue& tuple, const std::string& path);
  void object(const Ref<ObjectValue>& object, const std::string& path);
  void enum_member(const EnumValue& member, const std::string& path);
  void end_tag(const std::string& type);

  const PickleDialect dialect_;
  const StateOf state_of_;
  std::string out_;
  std::unordered_map<const void*, uint32_t> memo_;
  std::unordered_set<const void*> open_;  // Being written.
  std::vector<IValue> kept_;              // So that addresses in the memo stay theirs.
  std::unordered_map<const Storage*, size_t> storage_index_;
  std::vector<StorageRecord> storages_;
};

}  // namespace tierup::archive
