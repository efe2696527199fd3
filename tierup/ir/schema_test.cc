// Schema strings parse, and print back to themselves.
#include "tierup/ir/schema.h"

#include <gtest/gtest.h>

#include "tierup/base/error.h"

namespace tierup::ir {
namespace {

TEST(Schema, PrintsBackExactly) {
  for (const char* text : {
           "aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)",
           "aten::split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]",
           "aten::append.t(t[](a!) self, t(c -> *) el) -> t[](a!)",
           "aten::get.str(Dict(str, t) self, str key) -> t(*)?",
           "aten::popitem.str(Dict(str, t)(a!) self) -> ((str, t))",
           "aten::histogramdd(Tensor self, int[] bins, float[]? range=None, Tensor? weight=None, "
           "bool density=False) -> (Tensor hist, Tensor[] bin_edges)",
           "aten::fft_ihfft2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None) "
           "-> Tensor",
           "aten::conv(Tensor x, int[3] stride=1, int[2] pad=[0, 1], int[1] dim=[0], SymInt[2] "
           "size=[1, 1]) -> Tensor",
           "aten::wait(Future(t) self) -> t",
           "aten::format(str self, ...) -> str",
           "prim::rpc_async(...) -> ...",
           "aten::IfThenElse(bool cond, Any(a) x, Any(b) y) -> Any(b|a)",
           "aten::strip(str self, str chars=\" \\n\\t\\f\\v\") -> str",
           "aten::a(float eps=1.0000000000000001e-05, float x=1., int y=-100) -> ()",
           "aten::max.dim_max(Tensor self, int dim, bool keepdim=False, *, Tensor(a!) max, "
           "Tensor(b!) max_values) -> (Tensor(a!) values, Tensor(b!) indices)",
           "cuda::set_stream(__torch__.torch.classes.cuda.Stream stream) -> ()",
           "aten::dict.str((str, tVal)[] inputs) -> Dict(str, tVal)",
           "aten::as_tensor(Tensor(a) data, *, ScalarType? dtype=None, Device? device=None) -> "
           "Tensor(b|a)",
       }) {
    EXPECT_EQ(parse_schema(text).to_string(), text);
  }
}

TEST(Schema, GivesTheParts) {
  const Schema schema = parse_schema(
      "aten::conv2d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=1, *, "
      "MemoryFormat? memory_format=contiguous_format, Tensor(a!) out) -> Tensor(a!)");
  EXPECT_EQ(schema.name, "aten::conv2d");
  EXPECT_EQ(schema.overload, "");
  ASSERT_EQ(schema.arguments.size(), 6u);
  EXPECT_EQ(schema.arguments[2].type->to_string(), "Optional[Tensor]");
  EXPECT_TRUE(schema.arguments[2].default_value->is_none());
  EXPECT_EQ(schema.arguments[3].type->to_string(), "List[int]");
  EXPECT_EQ(schema.arguments[3].broadcast_size, 2);
  EXPECT_EQ(to_text(*schema.arguments[3].default_value), "[1, 1]");
  EXPECT_EQ(schema.arguments[3].spelling, "SymInt");
  EXPECT_TRUE(schema.arguments[4].kwarg_only);
  EXPECT_EQ(schema.arguments[4].default_value->to_int(), 0);
  EXPECT_TRUE(schema.arguments[5].is_out);
  EXPECT_TRUE(schema.arguments[5].alias.is_write);
  EXPECT_EQ(schema.returns[0].alias.set, "a");
  EXPECT_TRUE(schema.is_mutating());
  EXPECT_EQ(schema.find_argument("stride"), 3u);
  EXPECT_FALSE(schema.find_argument("strides"));
}

TEST(Schema, KeepsAliasesOfElementsApart) {
  const Schema schema = parse_schema("a::b(Tensor(a!)[](b!) x, Tensor(c)[] y) -> Tensor(c)[]");
  EXPECT_EQ(schema.arguments[0].alias.set, "b");
  EXPECT_EQ(schema.arguments[0].element_alias.set, "a");
  EXPECT_TRUE(schema.arguments[1].alias.empty());
  EXPECT_EQ(schema.returns[0].element_alias.set, "c");
}

TEST(Schema, ReadsConstantsAsDefaults) {
  const Schema schema = parse_schema(
      "a::b(int reduction=Mean, ScalarType dtype=long, float x=2, Device d=\"cpu\", bool[3] "
      "m=True) "
      "-> ()");
  EXPECT_EQ(schema.arguments[0].default_value->to_int(), 1);
  EXPECT_EQ(schema.arguments[1].default_value->to_int(), 4);
  EXPECT_TRUE(schema.arguments[2].default_value->is_float());
  EXPECT_TRUE(schema.arguments[3].default_value->is_device());
  EXPECT_EQ(schema.arguments[4].default_value->to_list().items.size(), 3u);
}

TEST(Schema, RefusesBrokenText) {
  for (const char* text :
       {"", "aten::x", "aten::x(", "aten::x()", "aten::x() ->", "aten::x(Tensor) -> Tensor a b",
        "aten::x(Foo a) -> ()", "aten::x(int a=) -> ()", "aten::x(int[99999999] a=1) -> ()",
        "aten::x(str a=\"oops) -> ()", "aten::x(Dict(int) a) -> ()", "aten::x(*, *, int a) -> ()",
        "aten::x(..., int a) -> ()", "aten::x(Tensor(a self) -> ()",
        "aten::x(int a=99999999999999999999999) -> ()"}) {
    EXPECT_THROW(parse_schema(text), Error) << text;
  }
  EXPECT_THROW(parse_schema("a::b(" + std::string(10000, '(') + "int"), Error);
}

}  // namespace
}  // namespace tierup::ir
