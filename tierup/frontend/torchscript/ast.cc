#include "tierup/frontend/torchscript/ast.h"

#include <algorithm>
#include <array>

namespace tierup::frontend::torchscript {
namespace {

template <typename T>
const T* find_last(std::span<const T* const> items, std::string_view name) {
  for (auto it = items.rbegin(); it != items.rend(); ++it) {
    if ((*it)->name == name) return *it;
  }
  return nullptr;
}

}  // namespace

bool ClassDef::has_list(std::string_view list_name) const {
  return std::any_of(lists.begin(), lists.end(),
                     [&](const NameList& one) { return one.name == list_name; });
}

std::span<const std::string_view> ClassDef::list(std::string_view list_name) const {
  std::span<const std::string_view> found;
  for (const NameList& one : lists) {
    if (one.name == list_name) found = one.items;
  }
  return found;
}

const FunctionDef* ClassDef::find_method(std::string_view method_name) const {
  return find_last(methods, method_name);
}

const ClassDef* FileUnit::find_class(std::string_view name) const {
  return find_last<ClassDef>(classes_, name);
}

const FunctionDef* FileUnit::find_function(std::string_view name) const {
  return find_last<FunctionDef>(functions_, name);
}

ir::SourceRange FileUnit::range(Span span) const {
  return {source_, span.begin, span.end, nullptr};
}

std::string_view op_text(Op op) {
  constexpr auto kTexts = std::to_array<std::string_view>({
      "",   "+",      "-",  "*",      "/",   "//", "%",   "**", "@", "&",
      "|",  "^",      "<<", ">>",     "==",  "!=", "<",   "<=", ">", ">=",
      "is", "is not", "in", "not in", "and", "or", "not", "-",  "~",
  });
  return kTexts[static_cast<size_t>(op)];
}

}  // namespace tierup::frontend::torchscript
