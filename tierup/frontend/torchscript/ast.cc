#include "tierup/frontend/torchscript/ast.h"

#include <array>

namespace tierup::frontend::torchscript {
namespace {

template <typename T>
const T* find_last(const std::vector<const T*>& items, std::string_view name) {
  for (auto it = items.rbegin(); it != items.rend(); ++it) {
    if ((*it)->name == name) return *it;
  }
  return nullptr;
}

}  // namespace

const std::vector<std::string>& ClassDef::list(std::string_view list_name) const {
  static const std::vector<std::string> kEmpty;
  const auto found = lists.find(list_name);
  return found == lists.end() ? kEmpty : found->second;
}

const FunctionDef* ClassDef::find_method(std::string_view method_name) const {
  return find_last(methods, method_name);
}

const ClassDef* FileUnit::find_class(std::string_view name) const {
  return find_last(classes_, name);
}

const FunctionDef* FileUnit::find_function(std::string_view name) const {
  return find_last(functions_, name);
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
