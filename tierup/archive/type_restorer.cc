// Walks a value along its declared type.
#include "tierup/archive/type_restorer.h"

#include "tierup/base/error.h"

namespace tierup::archive {
namespace {

[[noreturn]] void fail_type(const IValue& value, const TypePtr& declared, std::string_view what) {
  fail(ErrorCode::kTypeError, "{} is declared as {}, but the file holds a value of type {}", what,
       declared->to_string(), value.tag_name());
}

// Whether the outermost kind of `value` can be `declared`; elements are not looked at.
bool could_be(const IValue& value, const TypePtr& declared) {
  switch (declared->kind()) {
    case TypeKind::kList: return value.is_list();
    case TypeKind::kDict: return value.is_dict();
    case TypeKind::kTuple:
      return value.is_tuple() && value.to_tuple().items.size() == declared->elements().size();
    default: return value.is_instance(declared);
  }
}

}  // namespace

bool TypeRestorer::visit(const void* container, const TypePtr& declared) {
  return visited_.emplace(container, declared.get()).second;
}

void TypeRestorer::restore_list(ListValue& list, const TypePtr& declared, std::string_view what) {
  list.element = declared->element();
  if (!visit(&list, declared)) return;
  for (IValue& item : list.items) item = restore(item, declared->element(), what);
}

void TypeRestorer::restore_dict(DictValue& dict, const TypePtr& declared, std::string_view what) {
  dict.key = declared->element(0);
  dict.value = declared->element(1);
  if (!visit(&dict, declared)) return;
  for (const auto& [key, value] : dict.entries()) {
    restore(key, dict.key, what);
    dict.set(key, restore(value, declared->element(1), what));
  }
}

IValue TypeRestorer::restore_tuple(const IValue& value, const TypePtr& declared,
                                   std::string_view what) {
  const TupleValue& tuple = value.to_tuple();
  std::vector<IValue> items;
  bool changed = false;
  for (size_t i = 0; i < tuple.items.size(); ++i) {
    items.push_back(restore(tuple.items[i], declared->element(i), what));
    changed = changed || !items.back().is_same(tuple.items[i]);
  }
  if (declared->fields().empty()) return changed ? make_tuple(std::move(items)) : value;
  return IValue(make_ref<TupleValue>(std::move(items), declared));
}

IValue TypeRestorer::restore_union(const IValue& value, const TypePtr& declared,
                                   std::string_view what) {
  // A container that names its own element types belongs to the member of just those.
  for (const TypePtr& member : declared->elements()) {
    if (value.is_instance(member)) return restore(value, member, what);
  }
  for (const TypePtr& member : declared->elements()) {
    if (could_be(value, member)) return restore(value, member, what);
  }
  fail_type(value, declared, what);
}

bool TypeRestorer::is_restored(const IValue& value, const TypePtr& declared) {
  switch (declared->kind()) {
    case TypeKind::kOptional: return value.is_none() || is_restored(value, declared->element());
    case TypeKind::kTensor: return value.is_tensor() || value.is_none();
    case TypeKind::kFloat: return value.is_float();
    case TypeKind::kInt: return value.is_int();
    case TypeKind::kBool: return value.is_bool();
    case TypeKind::kStr: return value.is_str();
    case TypeKind::kClass: return value.is_object() && value.to_object().type == declared;
    default: return false;
  }
}

IValue TypeRestorer::restore(const IValue& value, const TypePtr& declared, std::string_view what) {
  switch (declared->kind()) {
    case TypeKind::kOptional:
      return value.is_none() ? value : restore(value, declared->element(), what);
    case TypeKind::kUnion: return restore_union(value, declared, what);
    case TypeKind::kTensor:  // None stands for an undefined tensor.
      if (!value.is_tensor() && !value.is_none()) fail_type(value, declared, what);
      return value;
    case TypeKind::kFloat:
      if (value.is_int()) return value.to_float();
      if (!value.is_float()) fail_type(value, declared, what);
      return value;
    case TypeKind::kInt:
    case TypeKind::kBool:
    case TypeKind::kComplex:
    case TypeKind::kNumber:
    case TypeKind::kStr:
    case TypeKind::kDevice:
    case TypeKind::kNone:
    case TypeKind::kClass:
    case TypeKind::kEnum:
      if (!value.is_instance(declared)) fail_type(value, declared, what);
      return value;
    case TypeKind::kList:
      if (!value.is_list()) fail_type(value, declared, what);
      restore_list(value.to_list(), declared, what);
      return value;
    case TypeKind::kDict:
      if (!value.is_dict()) fail_type(value, declared, what);
      restore_dict(value.to_dict(), declared, what);
      return value;
    case TypeKind::kTuple:
      if (!could_be(value, declared)) fail_type(value, declared, what);
      return restore_tuple(value, declared, what);
    default: return value;
  }
}

}  // namespace tierup::archive
