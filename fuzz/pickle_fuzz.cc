// Any bytes given as a pickle: an Error or a value that can be walked, never more.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tierup/archive/type_restorer.h"
#include "tierup/archive/unpickler.h"
#include "tierup/base/error.h"

namespace {

using namespace tierup;

// Every name is a class but one; objects are made of their attributes.
class AnyClass final : public archive::ClassResolver {
 public:
  AnyClass() : color_(EnumType::make("__torch__.Color", Type::integer())) {
    color_->add_member("RED", IValue(1));
  }
  TypePtr resolve(const std::string& name) override {
    if (name == "__torch__.Color") return color_;
    return ClassType::make(name, false);
  }
  TypePtr parse_type(std::string_view text) override {
    if (text.starts_with("List")) return Type::list(Type::optional(Type::tensor()));
    return Type::dict(Type::str(), Type::any());
  }
  IValue build_object(const TypePtr& type, IValue state) override {
    return archive::object_from_attributes(type, state);
  }

 private:
  std::shared_ptr<EnumType> color_;
};

Ref<Storage> small_storage(const std::string& key, ScalarType, int64_t) {
  return Storage::allocate(key.size() * 16);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  AnyClass classes;
  try {
    const IValue value = archive::unpickle(bytes, classes, small_storage, {.max_values = 100000});
    archive::TypeRestorer restorer;
    const TypePtr point = Type::named_tuple("P", {"x"}, {Type::any()});
    const TypePtr declared = Type::dict(Type::str(), Type::optional(Type::list(point)));
    restorer.restore(value, declared, "fuzz");
  } catch (const Error&) {
  }
  return 0;
}
