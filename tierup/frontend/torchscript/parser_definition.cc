// Files, classes and functions.
#include <algorithm>
#include <array>

#include "tierup/frontend/torchscript/parser.h"
#include "tierup/frontend/torchscript/syntax_error.h"

namespace tierup::frontend::torchscript {
namespace {

// Attribute names are written between quotes without any escaping, so none is undone.
std::string_view raw_string(std::string_view token) { return token.substr(1, token.size() - 2); }

bool is_metadata_name(std::string_view name) {
  return name.size() > 4 && name.starts_with("__") && name.ends_with("__");
}

}  // namespace

void Parser::parse_file() {
  while (true) {
    skip_newlines();
    if (at_kind(TokenKind::kEnd)) return;
    if (at("def")) {
      unit_.functions_.push_back(parse_function(false));
    } else if (at("class")) {
      unit_.classes_.push_back(parse_class());
    } else if (at("import") || at("from")) {
      skip_line();
    } else if (at_kind(TokenKind::kIdentifier) && text() == "op_version_set") {
      parse_op_version_set();
    } else {
      fail_expected("a class or a function");
    }
  }
}

void Parser::parse_op_version_set() {
  take();
  expect("=");
  const Expr* version = parse_expression();
  if (!version->is(ExprKind::kInt)) fail_here(version->span, "expected a version number");
  unit_.op_version_set_ = version->integer;
  expect_newline();
}

const FunctionDef* Parser::parse_function(bool is_method) {
  const Nesting nesting(*this);
  FunctionDef& function = *unit_.nodes_.make<FunctionDef>();
  function.span.begin = begin();
  expect("def");
  function.name_span = current().span;
  function.name = expect_identifier("a function name");
  Collected<Parameter> parameters = parse_parameters();
  if (accept("->")) function.return_annotation = parse_expression();
  function.span.end = previous_end();
  parse_type_comment(function, parameters, is_method, function.span.end);
  function.parameters = keep(parameters);
  function.body = parse_suite();
  return &function;
}

Parser::Collected<Parameter> Parser::parse_parameters() {
  Collected<Parameter> parameters;
  expect("(");
  bool keyword_only = false;
  while (!at(")")) {
    if (at("*") && !keyword_only && (is_symbol(ahead(), ",") || is_symbol(ahead(), ")"))) {
      take();
      keyword_only = true;
    } else {
      Parameter parameter;
      parameter.span = current().span;
      parameter.keyword_only = keyword_only;
      parameter.name = expect_identifier("a parameter name");
      if (accept(":")) parameter.annotation = parse_expression();
      if (accept("=")) parameter.default_value = parse_expression();
      parameter.span.end = previous_end();
      parameters.push_back(parameter);
    }
    if (!accept(",")) break;
  }
  expect(")");
  return parameters;
}

// "# type: (A, B) -> R" between the header and the first statement types what has no annotation.
void Parser::parse_type_comment(FunctionDef& function, Collected<Parameter>& parameters,
                                bool is_method, uint32_t from) {
  size_t first = 1;  // Past the colon, to the first token of the body.
  while (ahead(first).kind == TokenKind::kNewline || ahead(first).kind == TokenKind::kIndent)
    ++first;
  const TypeComment* comment = type_comment_between(from, ahead(first).span.begin);
  if (comment == nullptr) return;
  with_comment_tokens(*comment, [&] {
    expect("(");
    Collected<const Expr*> types;
    while (!at(")")) {
      types.push_back(parse_expression());
      if (!accept(",")) break;
    }
    expect(")");
    expect("->");
    const Expr* result = parse_expression();
    const size_t count = parameters.size();
    const size_t skipped = is_method && types.size() + 1 == count ? 1 : 0;
    if (types.size() + skipped != count) {
      fail_here(comment->text,
                fmt::format("type comment names {} types for {} parameters", types.size(), count));
    }
    for (size_t i = 0; i < types.size(); ++i) {
      const Expr*& annotation = parameters[i + skipped].annotation;
      if (annotation == nullptr) annotation = types[i];
    }
    if (function.return_annotation == nullptr) function.return_annotation = result;
  });
}

const TypeComment* Parser::type_comment_between(uint32_t from, uint32_t to) const {
  const auto& comments = list_.type_comments;
  const auto found =
      std::lower_bound(comments.begin(), comments.end(), from,
                       [](const TypeComment& comment, uint32_t at) { return comment.hash < at; });
  return found != comments.end() && found->hash < to ? &*found : nullptr;
}

ClassBase Parser::parse_base() {
  struct Base {
    std::string_view name;
    ClassBase base;
  };
  constexpr auto kBases = std::to_array<Base>({{"Module", ClassBase::kModule},
                                               {"NamedTuple", ClassBase::kNamedTuple},
                                               {"Interface", ClassBase::kInterface},
                                               {"ModuleInterface", ClassBase::kModuleInterface},
                                               {"Enum", ClassBase::kEnum}});
  if (!accept("(") || accept(")")) return ClassBase::kNone;
  for (const Base& base : kBases) {
    if (!at_kind(TokenKind::kIdentifier) || text() != base.name) continue;
    take();
    expect(")");
    return base.base;
  }
  fail_expected("Module, NamedTuple, Interface, ModuleInterface or Enum as the base class");
}

const ClassDef* Parser::parse_class() {
  ClassDef& def = *unit_.nodes_.make<ClassDef>();
  def.span.begin = begin();
  expect("class");
  def.name_span = current().span;
  def.name = expect_identifier("a class name");
  def.base = parse_base();
  def.span.end = previous_end();
  expect(":");
  Members members;
  if (!at_kind(TokenKind::kNewline)) {
    parse_member(members);
  } else {
    take();
    if (!at_kind(TokenKind::kIndent)) fail_expected("an indented class body");
    take();
    while (!at_kind(TokenKind::kDedent) && !at_kind(TokenKind::kEnd)) parse_member(members);
    if (at_kind(TokenKind::kDedent)) take();
  }
  def.attributes = keep(members.attributes);
  def.lists = keep(members.lists);
  def.methods = keep(members.methods);
  return &def;
}

void Parser::parse_member(Members& members) {
  const bool is_name = is_symbol(ahead(), ":") || is_symbol(ahead(), "=");
  if ((at_kind(TokenKind::kIdentifier) || at_kind(TokenKind::kKeyword)) && is_name) {
    parse_named_member(members);
  } else if (at("def")) {
    members.methods.push_back(parse_function(true));
  } else if (at("pass")) {
    take();
    expect_newline();
  } else if (at_kind(TokenKind::kString)) {
    skip_line();  // A documentation string.
  } else if (at_kind(TokenKind::kIdentifier) && text() == "__annotations__") {
    parse_annotations_member(members);
  } else {
    fail_expected("an attribute or a method");
  }
}

// `__annotations__["name"] = T`.
void Parser::parse_annotations_member(Members& members) {
  AttributeDef attribute;
  attribute.span.begin = begin();
  take();
  expect("[");
  if (!at_kind(TokenKind::kString)) fail_expected("an attribute name in quotes");
  attribute.name = raw_string(text());
  take();
  expect("]");
  expect("=");
  attribute.annotation = parse_expression();
  attribute.span.end = previous_end();
  expect_newline();
  members.attributes.push_back(attribute);
}

// "name : T", "name : Final[T] = value", "name = value", "__parameters__ = [...]".
void Parser::parse_named_member(Members& members) {
  AttributeDef attribute;
  attribute.span.begin = begin();
  attribute.name = text();
  take();
  if (accept(":")) {
    attribute.annotation = parse_expression();
    const Expr* type = attribute.annotation;
    if (type->is(ExprKind::kSubscript) && type->child()->is_name("Final") &&
        type->children.size() == 2) {
      attribute.annotation = type->child(1);
      attribute.is_final = true;
    }
    if (accept("=")) attribute.value = parse_expression_list();
  } else {
    expect("=");
    if (attribute.name == "__annotations__") {
      parse_expression();
      expect_newline();
      return;
    }
    if (is_metadata_name(attribute.name) && at("[")) {
      members.lists.push_back({attribute.name, parse_string_list()});
      expect_newline();
      return;
    }
    attribute.value = parse_expression_list();
  }
  attribute.span.end = previous_end();
  expect_newline();
  members.attributes.push_back(attribute);
}

std::span<const std::string_view> Parser::parse_string_list() {
  Collected<std::string_view> names;
  expect("[");
  while (!at("]")) {
    if (!at_kind(TokenKind::kString)) fail_expected("a name in quotes");
    names.push_back(raw_string(text()));
    take();
    if (!accept(",")) break;
  }
  expect("]");
  return keep(names);
}

}  // namespace tierup::frontend::torchscript
