// Unpickler: reads the pickles of model archives into values, with a closed table of globals.
//
// Nothing that a pickle names is executed: a global outside of the table is an error, and classes
// and types are asked from the ClassResolver, which the front end implements. Streams of
// torch.jit.save and of torch.save (plain data only) are read alike.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "tierup/tensor/ivalue.h"
#include "tierup/tensor/type.h"

namespace tierup::archive {

// What the front end knows and a pickle needs. Called while the pickle is being read; whatever
// it throws ends the reading. Implementations may nest: build_object may run model code.
class ClassResolver {
 public:
  virtual ~ClassResolver() = default;
  // The class (kClass) or enum (kEnum) of a qualified name such as "__torch__.Net". Throws
  // kNotFound if the archive does not define it.
  virtual TypePtr resolve(const std::string& qualified_name) = 0;
  // An annotation as type tags hold it: "Dict[str, Optional[Tensor]]", "List[__torch__.Obj]".
  virtual TypePtr parse_type(std::string_view annotation) = 0;
  // The object of a class from its pickled state: a dict of attributes by name (see
  // object_from_attributes), or the argument of the class's __setstate__, which is then run.
  virtual IValue build_object(const TypePtr& class_type, IValue state) = 0;
  // The member with this value. The default asks the enum itself; throws kCorruptArchive.
  virtual IValue enum_member(const TypePtr& enum_type, const IValue& value);
};

// Refuses every class; for streams of plain data.
class NoClasses : public ClassResolver {
 public:
  TypePtr resolve(const std::string& qualified_name) override;
  TypePtr parse_type(std::string_view annotation) override;
  IValue build_object(const TypePtr& class_type, IValue state) override;
};

// The bytes of the storage `key` for `numel` elements of `dtype`. Called at most once per
// key; views, tied weights and repeated keys then share the storage.
using StorageLoader =
    std::function<Ref<Storage>(const std::string& key, ScalarType dtype, int64_t numel)>;

struct UnpickleOptions {
  // What errors call the stream: "data.pkl".
  std::string name = "pickle";
  size_t max_depth = 1000;          // Of containers and objects within each other.
  size_t max_values = 100'000'000;  // Pushed in all.
};

// The one value of the stream. Lists and dicts without a type tag have element type Any until
// TypeRestorer gives them their declared types. Tensors have every size, stride and offset
// checked against their storage; all devices become CPU, but "meta". Throws kCorruptArchive for
// bytes that break the format, kUnsupported for what is known and not done (quantized and sparse
// tensors, custom C++ classes, globals outside of the table), naming it.
IValue unpickle(std::string_view bytes, ClassResolver& classes, const StorageLoader& load_storage,
                const UnpickleOptions& options = {});

// An object of `class_type` with the attributes of `state`, a dict with str keys: every declared
// attribute must be there (kCorruptArchive), keys that are not declared are ignored. Values take
// their declared types as by TypeRestorer.
IValue object_from_attributes(const TypePtr& class_type, const IValue& state);

}  // namespace tierup::archive
