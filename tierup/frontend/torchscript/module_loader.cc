// See module_loader.h.
#include "tierup/frontend/torchscript/module_loader.h"

#include <fmt/format.h>

#include <unordered_set>

#include "tierup/archive/type_restorer.h"
#include "tierup/base/error.h"
#include "tierup/frontend/torchscript/module_saver.h"

namespace tierup::frontend::torchscript {
namespace {

// Answers the unpickler's questions out of the archive's code.
class CodeClasses final : public archive::ClassResolver {
 public:
  CodeClasses(CompilationUnit& unit, const LoadOptions& options) : unit_(unit), options_(options) {}

  TypePtr resolve(const std::string& qualified_name) override;
  TypePtr parse_type(std::string_view annotation) override {
    return unit_.types().resolve_text(annotation);
  }
  IValue build_object(const TypePtr& class_type, IValue state) override;

 private:
  IValue build_by_setstate(const std::shared_ptr<const ClassType>& type, const Callable& setstate,
                           IValue state);

  CompilationUnit& unit_;
  const LoadOptions& options_;
};

TypePtr CodeClasses::resolve(const std::string& qualified_name) {
  const Definition& found = unit_.find(qualified_name);
  require(found.type != nullptr, ErrorCode::kNotFound,
          "the archive's data needs {} '{}', which its code does not define",
          found.function ? "the class of a function named" : "class", qualified_name);
  return found.type;
}

IValue CodeClasses::build_object(const TypePtr& class_type, IValue state) {
  const ClassType* type = class_type->as_class();
  require(type != nullptr && !class_type->is(TypeKind::kInterface), ErrorCode::kCorruptArchive,
          "'{}' is not a class that has objects", class_type->to_string());
  if (!has_own_state(*type)) return archive::object_from_attributes(class_type, state);
  return build_by_setstate(std::static_pointer_cast<const ClassType>(class_type),
                           *type->find_method("__setstate__"), std::move(state));
}

IValue CodeClasses::build_by_setstate(const std::shared_ptr<const ClassType>& type,
                                      const Callable& setstate, IValue state) {
  require(options_.run != nullptr, ErrorCode::kUnsupported,
          "class {} is restored by running its __setstate__, which is switched off", type->name());
  const ir::Function& function = ir::as_function(setstate);
  const auto& arguments = function.schema().arguments;
  require(arguments.size() == 2, ErrorCode::kSyntax, "{} must take one state besides self",
          function.name());
  const auto object = make_ref<ObjectValue>(type);
  IValue restored = archive::TypeRestorer().restore(state, arguments[1].type, function.name());
  std::vector<IValue> values;
  values.emplace_back(object);
  values.push_back(std::move(restored));
  options_.run(function, std::move(values));
  for (size_t i = 0; i < object->slots.size(); ++i) {
    const ClassType::Attribute& attribute = type->attributes()[i];
    if (!object->slots[i].is_uninitialized()) continue;
    const bool may_be_none = is_subtype(Type::none(), attribute.type);
    require(may_be_none, ErrorCode::kCorruptArchive,
            "attribute '{}' of class {} was not set by its __setstate__", attribute.name,
            type->name());
    object->slots[i] = IValue();
  }
  return object;
}

std::vector<std::string> code_records(const archive::ModelArchive& archive) {
  std::vector<std::string> result;
  for (std::string& record : archive.records("code/")) {
    if (record.ends_with(".py")) result.push_back(std::move(record));
  }
  return result;
}

// A caller's function gives its bytes to the loader's thread only; and of very much code a module
// may need little.
void parse_ahead(SourceIndex& index, const archive::ModelArchive& archive,
                 const LoadOptions& options) {
  constexpr uint64_t kMostBytes = uint64_t{4} << 20;
  if (options.parse_ahead == nullptr || archive.source()->data() == nullptr ||
      code_bytes(archive) > kMostBytes) {
    return;
  }
  const std::shared_ptr<FilesAhead> files = index.parse_ahead(code_records(archive));
  options.parse_ahead([files](const std::stop_token& stop) { files->work(stop); });
}

SourceIndex index_of(const Ref<archive::ModelArchive>& archive) {
  const auto read_text = [archive](const std::string& record) -> std::optional<std::string> {
    if (!archive->contains(record)) return std::nullopt;
    return archive->read_record(record);
  };
  const auto read_debug = [archive](const std::string& record) -> std::optional<IValue> {
    if (!archive->contains(record)) return std::nullopt;
    archive::NoClasses classes;
    archive::UnpickleOptions options;
    options.name = record;
    const auto no_storages = [](const std::string& key, ScalarType, int64_t) -> Ref<Storage> {
      fail(ErrorCode::kCorruptArchive, "a debug table holds a storage '{}'", key);
    };
    return archive::unpickle(archive->read_record(record), classes, no_storages, options);
  };
  return SourceIndex(read_text, read_debug);
}

void collect_tensors(const ObjectValue& object, const std::string& prefix,
                     std::unordered_set<const ObjectValue*>& seen,
                     std::vector<NamedTensor>& result) {
  if (!seen.insert(&object).second) return;
  const auto& attributes = object.type->attributes();
  for (size_t i = 0; i < attributes.size(); ++i) {
    const ClassType::Attribute& attribute = attributes[i];
    if (!object.slots[i].is_tensor() || !(attribute.is_parameter || attribute.is_buffer)) continue;
    result.push_back(
        {prefix + attribute.name, object.slots[i].to_tensor(), attribute.is_parameter});
  }
  for (size_t i = 0; i < attributes.size(); ++i) {
    const IValue& value = object.slots[i];
    if (!value.is_object() || !value.to_object().type->is_module()) continue;
    collect_tensors(value.to_object(), prefix + attributes[i].name + ".", seen, result);
  }
}

}  // namespace

uint64_t code_bytes(const archive::ModelArchive& archive) {
  uint64_t bytes = 0;
  for (const std::string& record : code_records(archive)) bytes += archive.record_bytes(record);
  return bytes;
}

LoadedModule load_torchscript(Ref<archive::ModelArchive> archive, const LoadOptions& options) {
  archive->require_kind(archive::ArchiveKind::kTorchScript);
  CompileOptions compile;
  compile.version = archive->version();
  compile.upgrade_free_functions = options.upgrade_free_functions;
  compile.operators = options.operators;
  LoadedModule result;
  SourceIndex index = index_of(archive);
  parse_ahead(index, *archive, options);
  result.unit = CompilationUnit::make(std::move(index), compile);
  CodeClasses classes(*result.unit, options);
  const IValue constants = archive->unpickle("constants", classes);
  require(constants.is_tuple(), ErrorCode::kCorruptArchive,
          "constants.pkl holds a {} where a tuple is expected", constants.tag_name());
  result.unit->set_constants(constants.to_tuple().items);
  const IValue root = archive->unpickle("data", classes);
  require(root.is_object() && root.to_object().type->is_module(), ErrorCode::kCorruptArchive,
          "data.pkl holds a {} where a module is expected", root.tag_name());
  result.root = root.object_ref();
  result.archive = std::move(archive);
  return result;
}

std::vector<NamedTensor> named_tensors(const ObjectValue& root) {
  std::vector<NamedTensor> result;
  std::unordered_set<const ObjectValue*> seen;
  collect_tensors(root, "", seen, result);
  return result;
}

std::vector<NamedTensor> named_parameters(const ObjectValue& root) {
  std::vector<NamedTensor> result = named_tensors(root);
  std::unordered_set<const TensorImpl*> seen;
  std::erase_if(result, [&](const NamedTensor& named) {
    return !named.is_parameter || !seen.insert(named.tensor.impl()).second;
  });
  return result;
}

std::vector<std::pair<std::string, std::string>> extra_files(const archive::ModelArchive& archive) {
  constexpr std::string_view kPrefix = "extra/";
  std::vector<std::pair<std::string, std::string>> result;
  for (const std::string& record : archive.records(kPrefix)) {
    result.emplace_back(record.substr(kPrefix.size()), archive.read_record(record));
  }
  return result;
}

}  // namespace tierup::frontend::torchscript
