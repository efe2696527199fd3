// The syntax tree of one TorchScript file: what was written, nothing resolved.
//
// Nodes are plain structs in their FileUnit's arena and constant once the parser returned it;
// they point at each other, and texts into the source, for as long as the unit lives. Their depth
// is bounded by kMaxNesting (blocks and expressions together), so that walking them recursively is
// safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "tierup/base/arena.h"
#include "tierup/ir/source.h"

namespace tierup::frontend::torchscript {

inline constexpr int kMaxNesting = 1000;

// Byte offsets into the text of the unit's source.
struct Span {
  uint32_t begin = 0;
  uint32_t end = 0;
};

enum class ExprKind : uint8_t {
  kName,  // text. "NoneType", "inf", "nan" are names too.
  kNone,
  kEllipsis,
  kBool,       // boolean
  kInt,        // integer; text keeps the token, with its folded sign
  kFloat,      // floating; text likewise
  kComplex,    // an imaginary literal "2.5j": floating is the imaginary part; text likewise
  kString,     // text: decoded bytes, adjacent literals joined
  kAttribute,  // children[0] . text
  kCall,       // children[0] ( children[1..], keywords )
  kSubscript,  // children[0] [ children[1..] ]: "x[a, 1:2]" has two, "x[(a, b)]" one tuple
  kSlice,      // start, stop, step: three children, each may be null; only inside kSubscript
  kList,       // [ children ]
  kTuple,      // ( children ), with or without the brackets
  kDict,       // key, value, key, value...
  kListComprehension,  // element, target, iterable (a generator argument is one too)
  kDictComprehension,  // key, value, target, iterable
  kUnary,              // op children[0]: kNot, kNeg, kInvert
  kBinary,             // children[0] op children[1]
  kTernary,            // value if true, condition, value if false
  kStarred,            // * children[0]
};

enum class Op : uint8_t {
  kNothing,
  kAdd,
  kSub,
  kMul,
  kDiv,
  kFloorDiv,
  kMod,
  kPow,
  kMatmul,
  kBitAnd,
  kBitOr,
  kBitXor,
  kShiftLeft,
  kShiftRight,
  kEq,
  kNe,
  kLt,
  kLe,
  kGt,
  kGe,
  kIs,
  kIsNot,
  kIn,
  kNotIn,
  kAnd,
  kOr,
  kNot,
  kNeg,
  kInvert,
};

struct Expr;

// name=value in a call.
struct KeywordArgument {
  std::string_view name;
  const Expr* value = nullptr;
  Span span;
};

struct Expr {
  ExprKind kind = ExprKind::kNone;
  Op op = Op::kNothing;
  bool trailing_comma =
      false;  // Of a tuple: "a, b, = x" unpacks, "a, b = f()" takes several results.
  bool boolean = false;
  uint16_t depth = 1;  // Nesting below this node, itself included.
  Span span;
  int64_t integer = 0;
  double floating = 0;
  std::string_view text;
  std::span<const Expr* const> children;
  std::span<const KeywordArgument> keywords;

  bool is(ExprKind k) const { return kind == k; }
  bool is_name(std::string_view name) const { return kind == ExprKind::kName && text == name; }
  const Expr* child(size_t i = 0) const { return children[i]; }
};

enum class StmtKind : uint8_t {
  kExpr,       // value
  kAssign,     // targets[0] = targets[1] = ... = value; one target may have an annotation.
               // A bare "x : T" has no value.
  kAugAssign,  // targets[0] op= value
  kIf,         // value: condition; body, orelse ("elif" is an if inside orelse)
  kWhile,      // value: condition; body
  kFor,        // targets[0] in value; body
  kReturn,     // value, or null
  kRaise,      // value, or null
  kAssert,     // value, message or null
  kDelete,     // targets
  kGlobal,     // targets: names
  kWith,       // items; body
  kDef,        // function
  kPass,
  kBreak,
  kContinue,
};

// "value as target" of a with statement.
struct WithItem {
  const Expr* value = nullptr;
  const Expr* target = nullptr;  // Or null.
};

struct FunctionDef;
struct Stmt;
using Block = std::span<const Stmt* const>;

struct Stmt {
  StmtKind kind = StmtKind::kPass;
  Op op = Op::kNothing;
  Span span;  // Of compound statements: the header, without its block.
  std::span<const Expr* const> targets;
  const Expr* annotation = nullptr;  // Also from a comment: "x = []  # type: List[int]".
  const Expr* value = nullptr;
  const Expr* message = nullptr;
  Block body;
  Block orelse;
  std::span<const WithItem> items;
  const FunctionDef* function = nullptr;
};

struct Parameter {
  std::string_view name;
  const Expr* annotation = nullptr;     // Or null: Tensor, or self.
  const Expr* default_value = nullptr;  // Or null.
  bool keyword_only = false;
  Span span;
};

struct FunctionDef {
  std::string_view name;
  std::span<const Parameter> parameters;
  const Expr* return_annotation = nullptr;  // Or null.
  Block body;
  Span span;  // "def" to the colon.
  Span name_span;
};

enum class ClassBase : uint8_t { kNone, kModule, kNamedTuple, kInterface, kModuleInterface, kEnum };

// "name : T", "name : T = value", "name : Final[T] = value", `__annotations__["name"] = T`, or
// "name = value".
struct AttributeDef {
  std::string_view name;
  const Expr* annotation = nullptr;  // T, without Final; null for "name = value".
  const Expr* value = nullptr;       // Of constants, enum members.
  bool is_final = false;
  Span span;
};

// `name = ["a", "b"]` in a class.
struct NameList {
  std::string_view name;
  std::span<const std::string_view> items;
};

struct ClassDef {
  std::string_view name;
  ClassBase base = ClassBase::kNone;
  // In the order of the file, constants and enum members too.
  std::span<const AttributeDef> attributes;
  // "__parameters__", "__buffers__", "__forward_hooks__", "__forward_pre_hooks__", and unknown
  // ones.
  std::span<const NameList> lists;
  std::span<const FunctionDef* const> methods;
  Span span;  // "class" to the colon.
  Span name_span;

  bool has_list(std::string_view list_name) const;
  // The names of the last list of this name; empty if the class does not have it.
  std::span<const std::string_view> list(std::string_view list_name) const;
  // The last method of this name, or null.
  const FunctionDef* find_method(std::string_view method_name) const;
};

// One parsed file, owner of all its nodes. Constant after parsing; any thread may read it.
class FileUnit {
 public:
  FileUnit(std::shared_ptr<const ir::Source> source) : source_(std::move(source)) {}
  FileUnit(const FileUnit&) = delete;
  FileUnit& operator=(const FileUnit&) = delete;

  const std::shared_ptr<const ir::Source>& source() const { return source_; }
  // In the order of the file; of one name, find_* gives the last. Null if there is none.
  const std::vector<const ClassDef*>& classes() const { return classes_; }
  const std::vector<const FunctionDef*>& functions() const { return functions_; }
  const ClassDef* find_class(std::string_view name) const;
  const FunctionDef* find_function(std::string_view name) const;
  // The number of an "op_version_set = N" line (files of 1.4 and before).
  std::optional<int64_t> op_version_set() const { return op_version_set_; }

  // The range for a node; its source finds the user's own line where a debug table has one.
  ir::SourceRange range(Span span) const;

 private:
  friend class Parser;
  std::shared_ptr<const ir::Source> source_;
  std::vector<const ClassDef*> classes_;
  std::vector<const FunctionDef*> functions_;
  std::optional<int64_t> op_version_set_;
  Arena nodes_;
};

// Parses one file. Throws kSyntax with the source's name, line, column, the line and a caret;
// kRecursionLimit above kMaxNesting.
std::shared_ptr<FileUnit> parse_file(std::shared_ptr<const ir::Source> source);
// Parses a text that is one expression or type ("Dict[str, Tensor]").
// The unit owns the expression and must outlive it.
struct ParsedExpression {
  std::shared_ptr<const FileUnit> unit;
  const Expr* expression = nullptr;
};
ParsedExpression parse_expression(std::shared_ptr<const ir::Source> source);

// "add", "not in"...: as written, for messages.
std::string_view op_text(Op op);

}  // namespace tierup::frontend::torchscript
