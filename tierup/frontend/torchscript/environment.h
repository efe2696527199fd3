// Environment: what the names in a function mean while it is being emitted.
//
// Each block of the source has a frame. Branches and loop bodies bind in their own frames, and the
// emitter joins what they bound when they end.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tierup/frontend/torchscript/script_function.h"

namespace tierup::frontend::torchscript {

// What an expression can mean: mostly a value, but also things that exist only at compile time.
struct Sugared {
  enum class Kind : uint8_t {
    kInvalid,      // text: why the name cannot be used here.
    kValue,        // value
    kResults,      // node: an operator with no result, or several
    kFunction,     // function
    kType,         // type: a class, NamedTuple or enum by name
    kNamespace,    // text: "__torch__.a.b", with definitions below it
    kOpNamespace,  // text: "aten", "prim"...; empty for `ops` itself
    kOp,           // text: "aten::add"
    kBoundOp,      // value, text: "aten::add" with its first argument
    kMethod,       // value, text: a method of an object
    kBuiltin,      // text: a function or form of the language: "len", "annotate"
    kConstants,    // CONSTANTS
    kClosure,      // definition: a nested function, only for fork
  };
  Kind kind = Kind::kInvalid;
  // Of a value: a literal `[]` or `{}` without a type of its own.
  bool is_empty_literal = false;
  ir::Value* value = nullptr;
  ir::Node* node = nullptr;
  TypePtr type;
  Ref<ScriptFunction> function;
  const FunctionDef* definition = nullptr;
  std::string text;

  bool is(Kind k) const { return kind == k; }
  static Sugared of(ir::Value* value);
  static Sugared of(Kind kind, std::string text);
  static Sugared of(Ref<ScriptFunction> function);
  static Sugared of(TypePtr type);
  static Sugared bound(Kind kind, ir::Value* value, std::string text);
  static Sugared invalid(std::string why) { return of(Kind::kInvalid, std::move(why)); }
};

struct Binding {
  Sugared meaning;
  // Only a narrower type of an outer variable, known from a condition; nothing was assigned.
  bool is_refinement = false;
};

// Keys are views into the syntax tree, or literals.
class Frame {
 public:
  explicit Frame(Frame* parent) : parent_(parent) {}

  Frame* parent() const { return parent_; }
  const std::vector<std::pair<std::string_view, Binding>>& bindings() const { return bindings_; }
  const Binding* find_here(std::string_view name) const;
  const Binding* find(std::string_view name) const;
  void bind(std::string_view name, Sugared meaning, bool is_refinement = false);
  void unbind(std::string_view name);

 private:
  // The number of bindings if the name has none.
  size_t place_of(std::string_view name) const;

  static constexpr size_t kMostSearched = 16;  // Nearly all frames have less.
  Frame* parent_;
  std::vector<std::pair<std::string_view, Binding>> bindings_;  // In order of first binding.
  std::unordered_map<std::string_view, size_t> index_;          // Of frames with more.
};

}  // namespace tierup::frontend::torchscript
