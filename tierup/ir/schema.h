// Schema: an operator's or function's signature, with defaults and alias marks.
//
// Text form as PyTorch writes it: "aten::add_.Tensor(Tensor(a!) self, Tensor other, *,
// Scalar alpha=1) -> Tensor(a!)". ScalarType, Layout, MemoryFormat and SymInt are ints here.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tierup/tensor/ivalue.h"
#include "tierup/tensor/type.h"

namespace tierup::ir {

struct AliasInfo {
  std::string set;        // "a"; "*" for the wildcard; empty: fresh, aliases nothing.
  bool is_write = false;  // "(a!)"
  std::string after;      // "(a -> *)": the set it belongs to after the call.
  bool empty() const { return set.empty(); }
  friend bool operator==(const AliasInfo&, const AliasInfo&) = default;
};

struct Argument {
  std::string name;  // Returns may be unnamed.
  TypePtr type;
  std::optional<int64_t> broadcast_size;  // "int[2]": one int stands for two.
  std::optional<IValue> default_value;
  bool kwarg_only = false;
  bool is_out = false;      // "out=" argument: kwarg-only and written.
  AliasInfo alias;          // Of the value itself.
  AliasInfo element_alias;  // Of a list's elements: "Tensor(a)[]".
  std::string spelling;  // "ScalarType", "SymInt"... where it differs from the type; for printing.
};

struct Schema {
  std::string name;      // "aten::add"
  std::string overload;  // "Tensor"; empty for the default one.
  std::vector<Argument> arguments;
  std::vector<Argument> returns;
  bool is_vararg = false;  // "...": takes any further positionals (format, print).
  bool is_varret = false;

  std::string qualified_name() const;  // "aten::add.Tensor"
  std::string to_string() const;       // Parses back to an equal schema.
  std::optional<size_t> find_argument(std::string_view name) const;
  // Whether any argument is written (in-place and out variants).
  bool is_mutating() const;
};

// Throws kSyntax naming the text and the place.
Schema parse_schema(std::string_view text);
// Only the type part, e.g. "Dict(str, t)" or "int[2]?"; schema spelling, not annotations.
TypePtr parse_schema_type(std::string_view text);

}  // namespace tierup::ir
