// Comparisons, identity, and min and max of numbers and lists of them.
#include <algorithm>

#include "tierup/ops/table/boxing.h"
#include "tierup/ops/table/facts.h"
#include "tierup/ops/table/families.h"
#include "tierup/ops/table/number_kernels.h"

namespace tierup::ops {
namespace {

struct Equal {
  static bool ints(int64_t a, int64_t b) { return a == b; }
  static bool floats(double a, double b) { return a == b; }
  static bool complexes(complex128 a, complex128 b) { return a == b; }
  static bool texts(const std::string& a, const std::string& b) { return a == b; }
};
struct NotEqual {
  static bool ints(int64_t a, int64_t b) { return a != b; }
  static bool floats(double a, double b) { return a != b; }
  static bool complexes(complex128 a, complex128 b) { return a != b; }
  static bool texts(const std::string& a, const std::string& b) { return a != b; }
};
struct Less {
  static bool ints(int64_t a, int64_t b) { return a < b; }
  static bool floats(double a, double b) { return a < b; }
  static bool texts(const std::string& a, const std::string& b) { return a < b; }
};
struct LessEqual {
  static bool ints(int64_t a, int64_t b) { return a <= b; }
  static bool floats(double a, double b) { return a <= b; }
  static bool texts(const std::string& a, const std::string& b) { return a <= b; }
};
struct Greater {
  static bool ints(int64_t a, int64_t b) { return a > b; }
  static bool floats(double a, double b) { return a > b; }
  static bool texts(const std::string& a, const std::string& b) { return a > b; }
};
struct GreaterEqual {
  static bool ints(int64_t a, int64_t b) { return a >= b; }
  static bool floats(double a, double b) { return a >= b; }
  static bool texts(const std::string& a, const std::string& b) { return a >= b; }
};
struct Smaller {
  static int64_t ints(int64_t a, int64_t b) { return a < b ? a : b; }
  static double floats(double a, double b) { return a < b ? a : b; }
};
struct Larger {
  static int64_t ints(int64_t a, int64_t b) { return a > b ? a : b; }
  static double floats(double a, double b) { return a > b ? a : b; }
};

template <typename Body>
void compare_strings(OpCall& call) {
  call.results[0] = IValue(Body::texts(call.args[0].to_str(), call.args[1].to_str()));
}

template <bool kWanted>
void compare_values(OpCall& call) {
  call.results[0] = IValue(values_equal(call.args[0], call.args[1]) == kWanted);
}

bool tensors_equal_as_numbers(const IValue& a, const IValue& b) {
  IValue left = a;
  IValue right = b;
  const Scalar x = IValue(detail::unbox_tensor(left)).to_scalar();
  const Scalar y = IValue(detail::unbox_tensor(right)).to_scalar();
  return values_equal(IValue(x), IValue(y));
}

// Lists of tensors compare by the truth of elementwise equality, which needs one element each.
template <bool kWanted>
void compare_tensor_lists(OpCall& call) {
  const auto& a = call.args[0].to_list().items;
  const auto& b = call.args[1].to_list().items;
  bool equal = a.size() == b.size();
  for (size_t i = 0; equal && i < a.size(); ++i) {
    equal = tensors_equal_as_numbers(a[i], b[i]);
  }
  call.results[0] = IValue(equal == kWanted);
}

void is_same(OpCall& call) { call.results[0] = IValue(call.args[0].is_same(call.args[1])); }
void is_not_same(OpCall& call) { call.results[0] = IValue(!call.args[0].is_same(call.args[1])); }

bool number_less(const IValue& a, const IValue& b) {
  if (is_integral(a) && is_integral(b)) return a.to_int() < b.to_int();
  return a.to_float() < b.to_float();
}

template <bool kSmallest>
void pick_element(OpCall& call) {
  const auto& items = call.args[0].to_list().items;
  require(!items.empty(), ErrorCode::kInvalidArgument, "{}() arg is an empty sequence",
          kSmallest ? "min" : "max");
  const auto found = kSmallest ? std::min_element(items.begin(), items.end(), number_less)
                               : std::max_element(items.begin(), items.end(), number_less);
  IValue result = *found;
  call.results[0] = std::move(result);
}

// The smaller or larger of two lists in lexicographic order, as a fresh list.
template <bool kSmallest>
void pick_list(OpCall& call) {
  const ListValue& a = call.args[0].to_list();
  const ListValue& b = call.args[1].to_list();
  const bool a_less = std::lexicographical_compare(a.items.begin(), a.items.end(), b.items.begin(),
                                                   b.items.end(), number_less);
  const ListValue& picked = a_less == kSmallest ? a : b;
  call.results[0] = IValue(make_ref<ListValue>(picked.element, picked.items));
}

constexpr OpRow kRows[] = {
    {"aten::eq.int_list(int[] a, int[] b) -> bool", &compare_values<true>},
    {"aten::eq.device(Device a, Device b) -> bool", &compare_values<true>},
    {"aten::eq.bool(bool a, bool b) -> bool", &binary_number<Equal>},
    {"aten::eq.enum(AnyEnumType a, AnyEnumType b) -> bool", &compare_values<true>},
    {"aten::eq.int(int a, int b) -> bool", &binary_number<Equal>, ir::kNoEffect, nullptr,
     facts(Role::kEqual)},
    {"aten::eq.complex(complex a, complex b) -> bool", &binary_number<Equal>},
    {"aten::eq.float(float a, float b) -> bool", &binary_number<Equal>},
    {"aten::eq.int_float(int a, float b) -> bool", &binary_number<Equal>},
    {"aten::eq.float_int(float a, int b) -> bool", &binary_number<Equal>},
    {"aten::eq.float_complex(float a, complex b) -> bool", &binary_number<Equal>},
    {"aten::eq.complex_float(complex a, float b) -> bool", &binary_number<Equal>},
    {"aten::eq(Scalar a, Scalar b) -> bool", &binary_number<Equal>},
    {"aten::eq.str(str a, str b) -> bool", &compare_strings<Equal>},
    {"aten::eq.float_list(float[] a, float[] b) -> bool", &compare_values<true>},
    {"aten::eq.Tensor_list(Tensor[] a, Tensor[] b) -> bool", &compare_tensor_lists<true>,
     ir::kMayRaise},
    {"aten::eq.bool_list(bool[] a, bool[] b) -> bool", &compare_values<true>},
    {"aten::eq.str_list(str[] a, str[] b) -> bool", &compare_values<true>},
    {"aten::ne.int_list(int[] a, int[] b) -> bool", &compare_values<false>},
    {"aten::ne.device(Device a, Device b) -> bool", &compare_values<false>},
    {"aten::ne.bool(bool a, bool b) -> bool", &binary_number<NotEqual>},
    {"aten::ne.enum(AnyEnumType a, AnyEnumType b) -> bool", &compare_values<false>},
    {"aten::ne.int(int a, int b) -> bool", &binary_number<NotEqual>, ir::kNoEffect, nullptr,
     facts(Role::kNotEqual)},
    {"aten::ne.complex(complex a, complex b) -> bool", &binary_number<NotEqual>},
    {"aten::ne.float(float a, float b) -> bool", &binary_number<NotEqual>},
    {"aten::ne.int_float(int a, float b) -> bool", &binary_number<NotEqual>},
    {"aten::ne.float_int(float a, int b) -> bool", &binary_number<NotEqual>},
    {"aten::ne.float_complex(float a, complex b) -> bool", &binary_number<NotEqual>},
    {"aten::ne.complex_float(complex a, float b) -> bool", &binary_number<NotEqual>},
    {"aten::ne(Scalar a, Scalar b) -> bool", &binary_number<NotEqual>},
    {"aten::ne.str(str a, str b) -> bool", &compare_strings<NotEqual>},
    {"aten::ne.float_list(float[] a, float[] b) -> bool", &compare_values<false>},
    {"aten::ne.Tensor_list(Tensor[] a, Tensor[] b) -> bool", &compare_tensor_lists<false>,
     ir::kMayRaise},
    {"aten::ne.bool_list(bool[] a, bool[] b) -> bool", &compare_values<false>},
    {"aten::ne.str_list(str[] a, str[] b) -> bool", &compare_values<false>},
    {"aten::lt.int(int a, int b) -> bool", &binary_number<Less>},
    {"aten::lt.float(float a, float b) -> bool", &binary_number<Less>},
    {"aten::lt.int_float(int a, float b) -> bool", &binary_number<Less>},
    {"aten::lt.float_int(float a, int b) -> bool", &binary_number<Less>},
    {"aten::lt(Scalar a, Scalar b) -> bool", &binary_number<Less>},
    {"aten::lt.str(str a, str b) -> bool", &compare_strings<Less>},
    {"aten::le.int(int a, int b) -> bool", &binary_number<LessEqual>},
    {"aten::le.float(float a, float b) -> bool", &binary_number<LessEqual>},
    {"aten::le.int_float(int a, float b) -> bool", &binary_number<LessEqual>},
    {"aten::le.float_int(float a, int b) -> bool", &binary_number<LessEqual>},
    {"aten::le(Scalar a, Scalar b) -> bool", &binary_number<LessEqual>},
    {"aten::le.str(str a, str b) -> bool", &compare_strings<LessEqual>},
    {"aten::gt.int(int a, int b) -> bool", &binary_number<Greater>, ir::kNoEffect, nullptr,
     facts(Role::kGreater)},
    {"aten::gt.float(float a, float b) -> bool", &binary_number<Greater>},
    {"aten::gt.int_float(int a, float b) -> bool", &binary_number<Greater>},
    {"aten::gt.float_int(float a, int b) -> bool", &binary_number<Greater>},
    {"aten::gt(Scalar a, Scalar b) -> bool", &binary_number<Greater>},
    {"aten::gt.str(str a, str b) -> bool", &compare_strings<Greater>},
    {"aten::ge.int(int a, int b) -> bool", &binary_number<GreaterEqual>},
    {"aten::ge.float(float a, float b) -> bool", &binary_number<GreaterEqual>},
    {"aten::ge.int_float(int a, float b) -> bool", &binary_number<GreaterEqual>},
    {"aten::ge.float_int(float a, int b) -> bool", &binary_number<GreaterEqual>},
    {"aten::ge(Scalar a, Scalar b) -> bool", &binary_number<GreaterEqual>},
    {"aten::ge.str(str a, str b) -> bool", &compare_strings<GreaterEqual>},
    {"aten::__is__(t1 self, t2 obj) -> bool", &is_same, ir::kNoEffect, nullptr, facts(Role::kIs)},
    {"aten::__isnot__(t1 self, t2 obj) -> bool", &is_not_same, ir::kNoEffect, nullptr,
     facts(Role::kIsNot)},
    {"prim::min.int(int a, int b) -> int", &binary_number<Smaller>},
    {"prim::min.float(float a, float b) -> float", &binary_number<Smaller>},
    {"prim::min.int_float(int a, float b) -> float", &binary_number<Smaller>},
    {"prim::min.float_int(float a, int b) -> float", &binary_number<Smaller>},
    {"prim::min(Scalar a, Scalar b) -> Scalar", &binary_number<Smaller>},
    {"prim::min.int_list(int[] l, int[] r) -> int[]", &pick_list<true>},
    {"prim::min.self_int(int[] self) -> int", &pick_element<true>, ir::kMayRaise},
    {"prim::min.float_list(float[] l, float[] r) -> float[]", &pick_list<true>},
    {"prim::min.self_float(float[] self) -> float", &pick_element<true>, ir::kMayRaise},
    {"prim::min.bool_list(bool[] l, bool[] r) -> bool[]", &pick_list<true>},
    {"prim::min.self_bool(bool[] self) -> bool", &pick_element<true>, ir::kMayRaise},
    {"prim::max.int(int a, int b) -> int", &binary_number<Larger>},
    {"prim::max.float(float a, float b) -> float", &binary_number<Larger>},
    {"prim::max.int_float(int a, float b) -> float", &binary_number<Larger>},
    {"prim::max.float_int(float a, int b) -> float", &binary_number<Larger>},
    {"prim::max(Scalar a, Scalar b) -> Scalar", &binary_number<Larger>},
    {"prim::max.int_list(int[] l, int[] r) -> int[]", &pick_list<false>},
    {"prim::max.self_int(int[] self) -> int", &pick_element<false>, ir::kMayRaise},
    {"prim::max.float_list(float[] l, float[] r) -> float[]", &pick_list<false>},
    {"prim::max.self_float(float[] self) -> float", &pick_element<false>, ir::kMayRaise},
    {"prim::max.bool_list(bool[] l, bool[] r) -> bool[]", &pick_list<false>},
    {"prim::max.self_bool(bool[] self) -> bool", &pick_element<false>, ir::kMayRaise},
};

}  // namespace

std::span<const OpRow> scalar_compare_rows() { return kRows; }

}  // namespace tierup::ops
