#include <gtest/gtest.h>

#include <cmath>

#include "tierup/base/error.h"
#include "tierup/frontend/torchscript/ast.h"

namespace tierup::frontend::torchscript {
namespace {

std::shared_ptr<const ir::Source> source_of(std::string text) {
  return std::make_shared<const ir::Source>("code/__torch__.py", std::move(text));
}

std::shared_ptr<FileUnit> parse(std::string text) { return parse_file(source_of(std::move(text))); }

std::string show(const Expr* expr);

std::string show_children(const Expr* expr, size_t from = 0) {
  std::string result;
  for (size_t i = from; i < expr->children.size(); ++i) {
    result += ' ' + show(expr->children[i]);
  }
  for (const KeywordArgument& keyword : expr->keywords) {
    result += ' ' + std::string(keyword.name) + '=' + show(keyword.value);
  }
  return result;
}

// Expressions as nested lists: (+ a (* b c)).
std::string show(const Expr* expr) {
  if (expr == nullptr) return "_";
  switch (expr->kind) {
    case ExprKind::kName: return std::string(expr->text);
    case ExprKind::kNone: return "None";
    case ExprKind::kEllipsis: return "...";
    case ExprKind::kBool: return expr->boolean ? "True" : "False";
    case ExprKind::kInt: return std::to_string(expr->integer);
    case ExprKind::kFloat: return fmt::format("{:.17g}f", expr->floating);
    case ExprKind::kComplex: return fmt::format("{:.17g}j", expr->floating);
    case ExprKind::kString: return '"' + std::string(expr->text) + '"';
    case ExprKind::kAttribute:
      return "(. " + show(expr->child()) + ' ' + std::string(expr->text) + ')';
    case ExprKind::kCall: return "(call" + show_children(expr) + ')';
    case ExprKind::kSubscript: return "(index" + show_children(expr) + ')';
    case ExprKind::kSlice: return "(slice" + show_children(expr) + ')';
    case ExprKind::kList: return "(list" + show_children(expr) + ')';
    case ExprKind::kTuple: return "(tuple" + show_children(expr) + ')';
    case ExprKind::kDict: return "(dict" + show_children(expr) + ')';
    case ExprKind::kListComprehension: return "(for" + show_children(expr) + ')';
    case ExprKind::kDictComprehension: return "(dictfor" + show_children(expr) + ')';
    case ExprKind::kUnary:
    case ExprKind::kBinary: return '(' + std::string(op_text(expr->op)) + show_children(expr) + ')';
    case ExprKind::kTernary: return "(if" + show_children(expr) + ')';
    case ExprKind::kStarred: return "(*" + show_children(expr) + ')';
  }
  return "?";
}

std::string expression(const std::string& text) {
  const ParsedExpression parsed = parse_expression(source_of(text));
  return show(parsed.expression);
}

std::string error_of(const std::string& text) {
  try {
    parse(text);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Parser, PrecedenceFollowsTheFormatsOwnTable) {
  EXPECT_EQ(expression("a or b and c"), "(and (or a b) c)");
  EXPECT_EQ(expression("~x & y"), "(~ (& x y))");
  EXPECT_EQ(expression("not a == b"), "(not (== a b))");
  EXPECT_EQ(expression("1 < a < 3"), "(< (< 1 a) 3)");
  EXPECT_EQ(expression("a + b * c ** d ** e"), "(+ a (* b (** c (** d e))))");
  EXPECT_EQ(expression("a - b - c"), "(- (- a b) c)");
  EXPECT_EQ(expression("a | b ^ c & d << e + f"), "(| a (^ b (& c (<< d (+ e f)))))");
  EXPECT_EQ(expression("-2 ** 2"), "(- (** 2 2))");
  EXPECT_EQ(expression("2 ** -1"), "(** 2 -1)");
  EXPECT_EQ(expression("-a * b"), "(* (- a) b)");
  EXPECT_EQ(expression("a if b else c if d else e"), "(if a b (if c d e))");
  EXPECT_EQ(expression("True if a else b or c"), "(if True a (or b c))");
}

TEST(Parser, IsNotAndNotInAreOneOperatorEach) {
  EXPECT_EQ(expression("a is not b"), "(is not a b)");
  EXPECT_EQ(expression("a not in b"), "(not in a b)");
  EXPECT_EQ(expression("not input"), "(not input)");
  EXPECT_EQ(expression("not a in b"), "(not (in a b))");
  EXPECT_EQ(expression("a is None and b"), "(and (is a None) b)");
}

TEST(Parser, NumbersKeepTheirKindAndText) {
  EXPECT_EQ(expression("017"), "15");
  EXPECT_EQ(expression("0x10"), "16");
  EXPECT_EQ(expression("0x1e"), "30f");
  EXPECT_EQ(expression("-9223372036854775808"), "-9223372036854775808");
  EXPECT_EQ(expression("- 7"), "-7");
  EXPECT_EQ(expression("1e+20"), "1e+20f");
  EXPECT_EQ(expression("4.9406564584124654e-324"), "4.9406564584124654e-324f");
  EXPECT_EQ(expression("1e999"), "inff");
  EXPECT_EQ(expression("1e-999"), "0f");
  EXPECT_EQ(expression("-0."), "-0f");
  EXPECT_EQ(expression("1.+2.j"), "(+ 1f 2j)");
  EXPECT_EQ(expression("-1.5-0.j"), "(- -1.5f 0j)");
  EXPECT_EQ(expression("-inf"), "(- inf)");
  const ParsedExpression parsed = parse_expression(source_of("-10000000000"));
  EXPECT_EQ(parsed.expression->text, "-10000000000");
  for (const char* text : {"9223372036854775808", "08", "0x1p3", "99999999999999999999", "--08"}) {
    EXPECT_THROW(expression(text), Error) << text;
  }
}

TEST(Parser, StringsDecodeTheirEscapes) {
  EXPECT_EQ(expression(R"("a\n\t\a\b\f\v\r\\\"\'")"), "\"a\n\t\a\b\f\v\r\\\"'\"");
  EXPECT_EQ(expression(R"("\001\177" 'x' """y""")"), "\"\001\177xy\"");
  EXPECT_EQ(expression(R"('\x41\u00e9\U0001F600')"), "\"A\xC3\xA9\xF0\x9F\x98\x80\"");
  EXPECT_EQ(expression("'a\\\nb'"), "\"a\nb\"");
  const ParsedExpression nul = parse_expression(source_of(R"("a\000b")"));
  EXPECT_EQ(nul.expression->text, std::string("a\0b", 3));
  for (const char* text : {R"("\0")", R"("\q")", R"("\400")", R"("\x4")", R"("\08a")"}) {
    EXPECT_THROW(expression(text), Error) << text;
  }
}

TEST(Parser, PostfixFormsNest) {
  EXPECT_EQ(expression("torch.add(x, y, alpha=1, )"), "(call (. torch add) x y alpha=1)");
  EXPECT_EQ(expression("(getattr(self, \"0\")).forward(x, )"),
            "(call (. (call getattr self \"0\") forward) x)");
  EXPECT_EQ(expression("(x)[0:2]"), "(index x (slice 0 2 _))");
  EXPECT_EQ(expression("x[..., ::2, None, a:]"), "(index x ... (slice _ _ 2) None (slice a _ _))");
  EXPECT_EQ(expression("f(*a, from=2)"), "(call f (* a) from=2)");
  EXPECT_EQ(expression("a.class.import"), "(. (. a class) import)");
  EXPECT_EQ(expression("all(a > 1 for a in b)"), "(call all (for (> a 1) a b))");
}

TEST(Parser, DisplaysAndComprehensions) {
  EXPECT_EQ(expression("[]"), "(list)");
  EXPECT_EQ(expression("[1, 2, ]"), "(list 1 2)");
  EXPECT_EQ(expression("{}"), "(dict)");
  EXPECT_EQ(expression("{1: a, 2: b,}"), "(dict 1 a 2 b)");
  EXPECT_EQ(expression("()"), "(tuple)");
  EXPECT_EQ(expression("(a,)"), "(tuple a)");
  EXPECT_EQ(expression("(a)"), "a");
  EXPECT_EQ(expression("[1 if x else 2 for x, y in z]"), "(for (if 1 x 2) (tuple x y) z)");
  EXPECT_EQ(expression("{a: b for a in c}"), "(dictfor a b a c)");
  EXPECT_EQ(expression("Dict[str, Tuple[()]]"), "(index Dict str (index Tuple (tuple)))");
}

TEST(Parser, CanonicalClass) {
  const auto unit = parse(R"(class M(Module):
  __parameters__ = ["w", ]
  __buffers__ = []
  __annotations__ = []
  __forward_hooks__ = ["hook", "hook", ]
  w : Tensor
  class : int
  eps : Final[float] = 1000000000000
  __annotations__["we-ird"] = __torch__.Sub
  def forward(self: __torch__.M,
    x: Tensor,
    k: int=3) -> Tensor:
    return x
  def forward(self) -> int:
    pass
)");
  const ClassDef* m = unit->find_class("M");
  ASSERT_NE(m, nullptr);
  EXPECT_EQ(m->base, ClassBase::kModule);
  ASSERT_EQ(m->list("__parameters__").size(), 1U);
  EXPECT_EQ(m->list("__parameters__")[0], "w");
  EXPECT_EQ(m->list("__forward_hooks__").size(), 2u);
  EXPECT_TRUE(m->list("__buffers__").empty());
  ASSERT_EQ(m->attributes.size(), 4u);
  EXPECT_EQ(m->attributes[1].name, "class");
  EXPECT_TRUE(m->attributes[2].is_final);
  EXPECT_EQ(show(m->attributes[2].annotation), "float");
  EXPECT_EQ(m->attributes[2].value->text, "1000000000000");
  EXPECT_EQ(m->attributes[3].name, "we-ird");
  ASSERT_EQ(m->methods.size(), 2u);
  const FunctionDef* forward = m->methods[0];
  ASSERT_EQ(forward->parameters.size(), 3u);
  EXPECT_EQ(show(forward->parameters[2].default_value), "3");
  EXPECT_EQ(show(forward->return_annotation), "Tensor");
  EXPECT_EQ(m->find_method("forward"), m->methods[1]);
}

TEST(Parser, OtherKindsOfClasses) {
  const auto unit = parse(R"(class P(NamedTuple):
  x : Tensor
class Color(Enum):
  RED = 1
  BLUE = "b"
class I(ModuleInterface):
  def f(self, x: Tensor) -> Tensor:
    pass
class C:
  pass
)");
  EXPECT_EQ(unit->find_class("P")->base, ClassBase::kNamedTuple);
  EXPECT_EQ(unit->find_class("Color")->attributes[1].value->text, "b");
  EXPECT_EQ(unit->find_class("Color")->attributes[0].annotation, nullptr);
  EXPECT_EQ(unit->find_class("I")->base, ClassBase::kModuleInterface);
  EXPECT_EQ(unit->find_class("C")->base, ClassBase::kNone);
  EXPECT_NE(error_of("class D(torch):\n  pass\n").find("base class"), std::string::npos);
}

TEST(Parser, OldFilesHaveHeadersAndImports) {
  const auto unit =
      parse("op_version_set = 1\nimport __torch__.a.b\ndef f(self, x):\n  pass\nimport c\n");
  EXPECT_EQ(unit->op_version_set(), 1);
  ASSERT_NE(unit->find_function("f"), nullptr);
  EXPECT_EQ(unit->find_function("f")->parameters[0].annotation, nullptr);
}

TEST(Parser, AssignmentsInAllForms) {
  const auto unit = parse(R"(def f(x):
  a, b, = x
  a, b = torch.max(x, 0)
  c : Optional[int] = None
  self.a = 1
  d = e = 2
  g += 1,
  h[0] //= 2
  a, (b, *c) = t
  z = []  # type: List[int]
  _1, x0 = bool(x1), x1
)");
  const Block& body = unit->find_function("f")->body;
  ASSERT_EQ(body.size(), 10u);
  EXPECT_TRUE(body[0]->targets[0]->trailing_comma);
  EXPECT_FALSE(body[1]->targets[0]->trailing_comma);
  EXPECT_EQ(show(body[2]->annotation), "(index Optional int)");
  EXPECT_EQ(show(body[3]->targets[0]), "(. self a)");
  EXPECT_EQ(body[4]->targets.size(), 2u);
  EXPECT_EQ(show(body[4]->value), "2");
  EXPECT_EQ(body[5]->kind, StmtKind::kAugAssign);
  EXPECT_EQ(body[6]->op, Op::kFloorDiv);
  EXPECT_EQ(show(body[7]->targets[0]), "(tuple a (tuple b (* c)))");
  EXPECT_EQ(show(body[8]->annotation), "(index List int)");
  EXPECT_EQ(show(body[9]->value), "(tuple (call bool x1) x1)");
}

TEST(Parser, ControlFlow) {
  const auto unit = parse(R"(def f(x):
  if a:
    pass
  elif b:
    return 1
  else:
    return
  for i, j in zip(a, b):
    continue
  while True: break
  with x as y, z:
    raise AssertionError("m")
  assert c, "m"
  del a[0], b
  def g():
    return 1
  global q
def h(): return 1
)");
  const Block& body = unit->find_function("f")->body;
  ASSERT_EQ(body.size(), 8u);
  ASSERT_EQ(body[0]->orelse.size(), 1u);
  EXPECT_EQ(body[0]->orelse[0]->kind, StmtKind::kIf);
  EXPECT_EQ(body[0]->orelse[0]->orelse[0]->value, nullptr);
  EXPECT_EQ(show(body[1]->targets[0]), "(tuple i j)");
  EXPECT_EQ(body[2]->body[0]->kind, StmtKind::kBreak);
  EXPECT_EQ(body[3]->items.size(), 2u);
  EXPECT_EQ(body[3]->items[1].target, nullptr);
  EXPECT_EQ(show(body[4]->message), "\"m\"");
  EXPECT_EQ(body[5]->targets.size(), 2u);
  EXPECT_EQ(body[6]->function->name, "g");
  EXPECT_EQ(unit->find_function("h")->body[0]->kind, StmtKind::kReturn);
}

TEST(Parser, TypeCommentsTypeParameters) {
  const auto unit = parse(R"(def f(x, y=2):
  # type: (Tensor, int) -> int
  return y
class C:
  def m(self, a):  # type: (str) -> str
    return a
)");
  EXPECT_EQ(show(unit->find_function("f")->parameters[1].annotation), "int");
  EXPECT_EQ(show(unit->find_function("f")->return_annotation), "int");
  const FunctionDef* m = unit->find_class("C")->find_method("m");
  EXPECT_EQ(m->parameters[0].annotation, nullptr);
  EXPECT_EQ(show(m->parameters[1].annotation), "str");
}

TEST(Parser, KeywordOnlyParameters) {
  const auto unit = parse("def f(a, *, b: int=1): return a\n");
  EXPECT_FALSE(unit->find_function("f")->parameters[0].keyword_only);
  EXPECT_TRUE(unit->find_function("f")->parameters[1].keyword_only);
}

TEST(Parser, CarriageReturnsAndMissingFinalNewline) {
  const auto unit = parse("def f(x):\r\n  return x\r\n\r\ndef g(x):\r\n  return x");
  EXPECT_EQ(unit->functions().size(), 2u);
}

TEST(Parser, SpansPointAtTheText) {
  const auto unit = parse("def f(x):\n  return (x).foo(1, )\n");
  const Expr* call = unit->find_function("f")->body[0]->value;
  const std::string& text = unit->source()->text();
  EXPECT_EQ(text.substr(call->span.begin, call->span.end - call->span.begin), "(x).foo(1, )");
  EXPECT_EQ(unit->range(call->span).location(), "code/__torch__.py:2");
}

TEST(Parser, ErrorsNameThePlaceAndBothTokens) {
  const std::string text = error_of("def f(x):\n  return (x + ]\n");
  EXPECT_NE(text.find("expected an expression but found ']'"), std::string::npos) << text;
  EXPECT_NE(text.find("code/__torch__.py:2:15"), std::string::npos) << text;
  for (const char* bad :
       {"x = 1\n", "def f(x)\n  pass\n", "def f(x):\npass\n", "def f(*args):\n  pass\n",
        "def f(x):\n  1 = x\n", "def f(x):\n  f(x) = 1\n", "def f(x):\n  x ? y\n", "class C:\nx\n",
        "def f(x):\n  return f(a=1, b)\n", "def f(x):\n  x = 1; y = 2\n", "  def f(x):\n    pass\n",
        "def f(x):\n  lambda x: x\n", "def f(x):\n  *x = y\n", "def f(x):\n  return x[]\n", "def",
        "class", "def f(", "class A(Module", "op_version_set = x\n"}) {
    EXPECT_NE(error_of(bad), "no error") << bad;
  }
}

TEST(Parser, DeepNestingIsRefusedWithoutOverflow) {
  const auto nested = [](const std::string& open, const std::string& close, int n) {
    std::string text = "def f(x):\n  return ";
    for (int i = 0; i < n; ++i) text += open;
    text += "x";
    for (int i = 0; i < n; ++i) text += close;
    return text + "\n";
  };
  EXPECT_EQ(error_of(nested("g(", ")", 400)), "no error");
  for (const auto& [open, close] :
       std::vector<std::pair<std::string, std::string>>{{"(", ")"},
                                                        {"[", "]"},
                                                        {"g(", ")"},
                                                        {"- ", ""},
                                                        {"not ", ""},
                                                        {"", "+x"},
                                                        {"", ".x"},
                                                        {"", "[0]"},
                                                        {"", "**x"},
                                                        {"x if x else ", ""},
                                                        {"{1:", "}"}}) {
    EXPECT_NE(error_of(nested(open, close, 50000)).find("nested"), std::string::npos)
        << open << close;
  }
  std::string blocks = "def f(x):\n";
  for (int i = 1; i < 3000; ++i) blocks += std::string(static_cast<size_t>(i), ' ') + "if x:\n";
  EXPECT_NE(error_of(blocks).find("nested"), std::string::npos);
  std::string chain = "def f(x):\n if x: pass\n";
  for (int i = 1; i < 3000; ++i) chain += " elif x: pass\n";
  EXPECT_NE(error_of(chain).find("nested"), std::string::npos);
}

// A small generator with a fixed seed: the same inputs on every run.
class Noise {
 public:
  explicit Noise(uint64_t seed) : state_(seed) {}
  uint32_t next(uint32_t bound) {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<uint32_t>(state_ >> 33) % bound;
  }

 private:
  uint64_t state_;
};

TEST(Parser, RandomBytesGiveATreeOrAnError) {
  Noise noise(1);
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    const uint32_t size = noise.next(200);
    for (uint32_t i = 0; i < size; ++i) text += static_cast<char>(noise.next(256));
    try {
      parse(text);
    } catch (const Error& error) {
      EXPECT_NE(error.code(), ErrorCode::kInternal);
    }
  }
}

TEST(Parser, RandomTokensGiveATreeOrAnError) {
  const std::vector<std::string> words = {"def ",    "f",
                                          "(",       ")",
                                          ":",       "\n",
                                          "\n  ",    "\n    ",
                                          "if ",     "else",
                                          "x",       "=",
                                          ",",       "[",
                                          "]",       "{",
                                          "}",       "1",
                                          "2.5",     "'s'",
                                          "return ", "for ",
                                          "in ",     "-",
                                          "**",      "not ",
                                          "is ",     "class ",
                                          "C",       "(Module)",
                                          ".",       "while ",
                                          "with ",   "as ",
                                          "->",      "pass",
                                          "elif ",   "del ",
                                          "*",       "# type: (T) -> T\n",
                                          "\\\n",    "raise ",
                                          "+=",      "__annotations__",
                                          "Final",   "op_version_set",
                                          "import ", "\"\\n\"",
                                          "and ",    "lambda ",
                                          "..."};
  Noise noise(2);
  for (int round = 0; round < 5000; ++round) {
    std::string text = round % 2 == 0 ? "def f(x):\n  " : "class C(Module):\n  ";
    const uint32_t size = noise.next(60);
    for (uint32_t i = 0; i < size; ++i) {
      text += words[noise.next(static_cast<uint32_t>(words.size()))];
    }
    try {
      parse(text);
    } catch (const Error& error) {
      EXPECT_NE(error.code(), ErrorCode::kInternal) << text;
    }
  }
}

}  // namespace
}  // namespace tierup::frontend::torchscript
