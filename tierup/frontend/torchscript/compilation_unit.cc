// See compilation_unit.h.
#include "tierup/frontend/torchscript/compilation_unit.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "tierup/base/error.h"
#include "tierup/frontend/torchscript/emitter.h"

namespace tierup::frontend::torchscript {

namespace {

// Whether a value of this type can hold one of class `target`, by the attributes of classes.
bool reaches(const Type* start, const ClassType& target) {
  std::set<const Type*> seen{start};
  std::vector<const Type*> open{start};
  while (!open.empty()) {
    const Type* type = open.back();
    open.pop_back();
    if (type == &target) return true;
    const auto visit = [&](const TypePtr& next) {
      if (next != nullptr && seen.insert(next.get()).second) open.push_back(next.get());
    };
    for (const TypePtr& element : type->elements()) visit(element);
    if (const ClassType* inner = type->as_class()) {
      for (const ClassType::Attribute& attribute : inner->attributes()) visit(attribute.type);
    }
  }
  return false;
}

// Attributes through which the class holds itself become untyped. No other is touched: threads
// that hold objects of the class may be reading it.
void break_circles(ClassType& type) {
  for (ClassType::Attribute attribute : std::vector(type.attributes())) {
    if (!reaches(attribute.type.get(), type)) continue;
    attribute.type = Type::any();
    type.add_attribute(std::move(attribute));
  }
}

}  // namespace

std::shared_ptr<CompilationUnit> CompilationUnit::make(SourceIndex index, CompileOptions options) {
  return std::shared_ptr<CompilationUnit>(new CompilationUnit(std::move(index), options));
}

CompilationUnit::CompilationUnit(SourceIndex index, CompileOptions options)
    : index_(std::move(index)),
      options_(options),
      types_([this](const std::string& name) { return find_type(name); }) {}

CompilationUnit::~CompilationUnit() {
  for (const auto& [name, definition] : definitions_) forget_code(definition.function);
  for (const auto& [type, function] : sort_functions_) forget_code(function);
  for (const std::shared_ptr<ClassType>& type : classes_) {
    // Methods of classes of this unit are made by declare_methods alone.
    for (const auto& [name, method] : type->methods()) {
      forget_code(Ref<ScriptFunction>(static_cast<ScriptFunction*>(method.get())));
    }
    break_circles(*type);
  }
}

void CompilationUnit::forget_code(const Ref<ScriptFunction>& function) {
  if (!function) return;
  function->has_graph_.store(false);
  function->has_schema_.store(false);
  function->graph_ = nullptr;
  function->schema_ = {};
}

const Definition& CompilationUnit::find(std::string_view qualified_name) {
  const std::lock_guard lock(mutex_);
  std::string name(qualified_name);
  if (const auto found = definitions_.find(name); found != definitions_.end()) {
    return found->second;
  }
  Definition made = define(name);
  return definitions_.insert_or_assign(std::move(name), std::move(made)).first->second;
}

Definition CompilationUnit::define(const std::string& name) {
  Definition result;
  const SourceIndex::Definition found = index_.find(name);
  if (found.class_def != nullptr) {
    switch (found.class_def->base) {
      case ClassBase::kNamedTuple: result.type = define_named_tuple(name, found); break;
      case ClassBase::kEnum: result.type = define_enum(name, found); break;
      default: result.type = define_class(name, found); break;
    }
  } else if (found.function != nullptr) {
    result.function =
        make_ref<ScriptFunction>(name, weak_from_this(), found.unit, *found.function,
                                 std::weak_ptr<const ClassType>(), /*is_method=*/false);
  }
  return result;
}

TypePtr CompilationUnit::define_class(const std::string& name,
                                      const SourceIndex::Definition& found) {
  const ClassBase base = found.class_def->base;
  const bool is_interface = base == ClassBase::kInterface || base == ClassBase::kModuleInterface;
  const bool is_module = base == ClassBase::kModule || base == ClassBase::kModuleInterface;
  const std::shared_ptr<ClassType> type = ClassType::make(name, is_module, is_interface);
  classes_.push_back(type);
  definitions_[name].type = type;  // The shell, before its attributes name other types.
  try {
    declare_attributes(*type, found);
    declare_methods(type, found);
  } catch (...) {
    definitions_.erase(name);
    throw;
  }
  return type;
}

void CompilationUnit::declare_attributes(ClassType& type, const SourceIndex::Definition& found) {
  const ClassDef& definition = *found.class_def;
  const auto contains = [](std::span<const std::string_view> names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  const auto parameters = definition.list("__parameters__");
  const auto buffers = definition.list("__buffers__");
  // Files before 1.7 do not list buffers: every other tensor counts as one.
  const bool lists_buffers = definition.has_list("__buffers__");
  for (const AttributeDef& attribute : definition.attributes) {
    if (attribute.annotation == nullptr || attribute.value != nullptr) continue;  // A constant.
    ClassType::Attribute made;
    made.name = attribute.name;
    made.type = types_.resolve(*attribute.annotation, *found.unit);
    made.is_parameter = contains(parameters, attribute.name);
    made.is_buffer = lists_buffers ? contains(buffers, attribute.name)
                                   : definition.base == ClassBase::kModule && !made.is_parameter &&
                                         made.type->is(TypeKind::kTensor);
    type.add_attribute(std::move(made));
  }
}

void CompilationUnit::declare_methods(const std::shared_ptr<ClassType>& type,
                                      const SourceIndex::Definition& found) {
  for (const FunctionDef* method : found.class_def->methods) {
    std::string name(method->name);
    auto function = make_ref<ScriptFunction>(type->name() + "." + name, weak_from_this(),
                                             found.unit, *method, type, /*is_method=*/true);
    type->add_method(std::move(name), std::move(function));
  }
  const auto named = [&](std::string_view list) {
    const auto names = found.class_def->list(list);
    return std::vector<std::string>(names.begin(), names.end());
  };
  std::vector<std::string> pre = named("__forward_pre_hooks__");
  std::vector<std::string> post = named("__forward_hooks__");
  for (const auto* names : {&pre, &post}) {
    for (const std::string& name : *names) {
      require(static_cast<bool>(type->find_method(name)), ErrorCode::kSyntax,
              "class {} lists a hook '{}' but does not define it", type->name(), name);
    }
  }
  type->set_hooks(std::move(pre), std::move(post));
}

TypePtr CompilationUnit::define_named_tuple(const std::string& name,
                                            const SourceIndex::Definition& found) {
  std::vector<std::string> fields;
  std::vector<TypePtr> elements;
  // A field of its own type would never end; this entry makes it an unknown name instead.
  definitions_[name] = {};
  try {
    for (const AttributeDef& field : found.class_def->attributes) {
      if (field.annotation == nullptr) continue;
      fields.emplace_back(field.name);
      elements.push_back(types_.resolve(*field.annotation, *found.unit));
    }
  } catch (...) {
    definitions_.erase(name);
    throw;
  }
  return Type::named_tuple(name, std::move(fields), std::move(elements));
}

TypePtr CompilationUnit::define_enum(const std::string& name,
                                     const SourceIndex::Definition& found) {
  std::vector<std::pair<std::string, IValue>> members;
  TypePtr value_type;
  for (const AttributeDef& member : found.class_def->attributes) {
    if (member.value == nullptr) continue;
    IValue value = evaluate_constant(*this, *found.unit, *member.value, nullptr);
    const TypePtr type = value.type();
    if (value_type != nullptr && !equal(value_type, type)) {
      fail_at(*found.unit, member.span,
              fmt::format("Enum class {} has values of more than one type", name));
    }
    value_type = type;
    members.emplace_back(member.name, std::move(value));
  }
  if (value_type == nullptr) {
    fail_at(*found.unit, found.class_def->span, fmt::format("Enum class {} has no members", name));
  }
  const std::shared_ptr<EnumType> type = EnumType::make(name, value_type);
  for (auto& [member, value] : members) type->add_member(std::move(member), std::move(value));
  return type;
}

const std::vector<const ops::Op*>& CompilationUnit::overloads(const std::string& name) {
  const auto [found, inserted] = overloads_.try_emplace(name);
  if (!inserted) return found->second;
  found->second = ops::OpTable::instance().overloads(name);
  if (options_.operators != nullptr) {
    for (const ops::Op* op : options_.operators->overloads(name)) found->second.push_back(op);
  }
  return found->second;
}

const IValue& CompilationUnit::constant(std::string_view name) const {
  size_t index = 0;
  const char* end = name.data() + name.size();
  require(name.size() > 1 && name[0] == 'c', ErrorCode::kSyntax, "unknown constant CONSTANTS.{}",
          name);
  const auto [stop, failure] = std::from_chars(name.data() + 1, end, index);
  require(failure == std::errc() && stop == end, ErrorCode::kSyntax,
          "unknown constant CONSTANTS.{}", name);
  require(index < constants_.size(), ErrorCode::kSyntax,
          "constant index {} is out of bounds (constants table has {} entries)", index,
          constants_.size());
  return constants_[index];
}

}  // namespace tierup::frontend::torchscript
