// Type annotations (section 7 of the format): an expression, or a text, to a type.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "tierup/frontend/torchscript/ast.h"
#include "tierup/tensor/type.h"

namespace tierup::frontend::torchscript {

class TypeResolver {
 public:
  // Finds a class, interface, NamedTuple or enum by qualified name; null if there is none.
  using FindNominal = std::function<TypePtr(const std::string& qualified_name)>;

  explicit TypeResolver(FindNominal find_nominal) : find_nominal_(std::move(find_nominal)) {}

  // Throws kSyntax "Unknown type name 'X'", showing the place.
  TypePtr resolve(const Expr& annotation, const FileUnit& unit) const;
  // From a text, as pickled type tags carry it: "Dict[str, Optional[Tensor]]".
  TypePtr resolve_text(std::string_view annotation) const;

  // A parameter's annotation may be BroadcastingList2[int]: `broadcast` is then 2.
  TypePtr resolve_parameter(const Expr& annotation, const FileUnit& unit,
                            std::optional<int64_t>* broadcast) const;

 private:
  TypePtr resolve_generic(const Expr& annotation, std::string_view name,
                          const FileUnit& unit) const;
  FindNominal find_nominal_;
};

// "a.b.c" of names and attributes; empty if the expression is anything else.
std::string dotted_name(const Expr& expression);

// Throws kSyntax with the message and the place: in the archive's code, and the user's own line
// where it is known.
[[noreturn]] void fail_at(const FileUnit& unit, Span span, const std::string& message);

}  // namespace tierup::frontend::torchscript
