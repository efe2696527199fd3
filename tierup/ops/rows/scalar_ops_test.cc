// Numbers: expected values were computed by PyTorch's own interpreter.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "tierup/ops/table/called_operator.h"

namespace tierup::ops {
namespace {

constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr double kInf = std::numeric_limits<double>::infinity();

TEST(ScalarMath, IntegersWrap) {
  EXPECT_EQ(called("aten::add.int", {kMax, 1}), "-9223372036854775808");
  EXPECT_EQ(called("aten::mul.int", {kMax, 2}), "-2");
  EXPECT_EQ(called("aten::sub.int", {kMin, 1}), "9223372036854775807");
  EXPECT_EQ(called("aten::neg.int", {kMin}), "-9223372036854775808");
  EXPECT_EQ(called("prim::abs.int", {kMin}), "-9223372036854775808");
}

TEST(ScalarMath, DivisionFollowsPythonsFloor) {
  EXPECT_EQ(called("aten::floordiv.int", {-7, 2}), "-4");
  EXPECT_EQ(called("aten::remainder.int", {-7, 2}), "1");
  EXPECT_EQ(called("aten::remainder.int", {7, -2}), "-1");
  EXPECT_EQ(called("aten::divmod.int", {-7, 2}), "(-4, 1)");
  EXPECT_EQ(called("aten::floordiv.float", {-7.5, 2.0}), "-4.");
  EXPECT_EQ(called("aten::remainder.float", {-7.5, 2.0}), "0.5");
  EXPECT_EQ(called("aten::remainder.float", {7.5, -2.0}), "-0.5");
  EXPECT_EQ(called("aten::remainder.int_float", {7, -2.5}), "-0.5");
  EXPECT_EQ(called("aten::divmod.float", {7.5, -2.0}), "(-4., -0.5)");
  EXPECT_EQ(called("aten::remainder.float", {1.0, kInf}), "nan");
  EXPECT_EQ(called("aten::remainder.float", {-1e-20, 1.0}), "0.");
  EXPECT_EQ(called("aten::divmod.float", {-1e-20, 1.0}), "(-1., 1.)");
  EXPECT_EQ(called("aten::fmod.float", {-7.5, 2.0}), "-1.5");
  EXPECT_EQ(called("aten::fmod.int", {7, -2}), "1.");
  EXPECT_EQ(called("aten::div.int", {1, 2}), "0.5");
  EXPECT_EQ(called("aten::__round_to_zero_floordiv.int", {-7, 2}), "-3");
}

TEST(ScalarMath, ZeroDivisorsRaiseForIntegersOnly) {
  EXPECT_EQ(called("aten::floordiv.int", {1, 0}), "! division by 0");
  EXPECT_EQ(called("aten::remainder.int", {1, 0}), "! division by 0");
  EXPECT_EQ(called("aten::divmod.int", {1, 0}),
            "! ZeroDivisionError: integer division or modulo by zero");
  EXPECT_EQ(called("aten::divmod.float", {1.0, 0.0}), "! ZeroDivisionError: float divmod()");
  EXPECT_EQ(called("aten::floordiv.float", {1.0, 0.0}), "inf");
  EXPECT_EQ(called("aten::remainder.float", {1.0, 0.0}), "nan");
  EXPECT_EQ(called("aten::div.int", {-1, 0}), "-inf");
  EXPECT_EQ(called("aten::div.float", {0.0, 0.0}), "nan");
}

TEST(ScalarMath, SmallestIntegerByMinusOneDoesNotTrap) {
  EXPECT_EQ(called("aten::floordiv.int", {kMin, -1}), "-9223372036854775808");
  EXPECT_EQ(called("aten::remainder.int", {kMin, -1}), "0");
  EXPECT_EQ(called("aten::divmod.int", {kMin, -1}), "(-9223372036854775808, 0)");
  EXPECT_EQ(called("aten::__round_to_zero_floordiv.int", {kMin, -1}), "-9223372036854775808");
  EXPECT_EQ(called("aten::gcd.int", {kMin, kMin}), "-9223372036854775808");
}

TEST(ScalarMath, PowerOfIntegersIsFloat) {
  EXPECT_EQ(called("aten::pow.int", {2, 3}), "8.");
  EXPECT_EQ(called("aten::pow.int", {2, -1}), "0.5");
  EXPECT_EQ(called("aten::pow.float", {-8.0, 0.5}), "nan");
  EXPECT_EQ(called("aten::pow.int", {0, -2}), "! 0.0 cannot be raised to a negative power");
  EXPECT_EQ(called("aten::pow.int_to_int", {3, 40}), "-6289078614652622815");
}

TEST(ScalarMath, MixedKindsPromote) {
  EXPECT_EQ(called("aten::add.int_float", {1, 2.5}), "3.5");
  EXPECT_EQ(called("aten::add", {IValue(true), 2}), "3");
  EXPECT_EQ(called("aten::mul.complex_float", {complex128(1, 2), 2.0}), "2.+4.j");
  EXPECT_EQ(called("aten::div.complex", {complex128(1, 2), complex128(0, 1)}), "2.-1.j");
  EXPECT_EQ(called("prim::abs.complex", {complex128(3, 4)}), "5.");
  EXPECT_EQ(called("aten::remainder", {complex128(3, 4), 2}),
            "! this operator does not take complex numbers");
}

TEST(ScalarMath, BitOperators) {
  EXPECT_EQ(called("aten::__lshift__.int", {1, 70}), "64");
  EXPECT_EQ(called("aten::__lshift__.int", {1, -1}), "-9223372036854775808");
  EXPECT_EQ(called("aten::__rshift__.int", {-8, 1}), "-4");
  EXPECT_EQ(called("aten::__and__.int", {6, 3}), "2");
  EXPECT_EQ(called("aten::__or__.int", {6, 1}), "7");
  EXPECT_EQ(called("aten::__xor__.bool", {true, true}), "False");
  EXPECT_EQ(called("aten::__not__", {false}), "True");
}

TEST(ScalarCompare, ComparesByValue) {
  EXPECT_EQ(called("aten::eq.int_float", {1, 1.0}), "True");
  EXPECT_EQ(called("aten::eq.bool", {true, false}), "False");
  EXPECT_EQ(called("aten::ne.float", {std::nan(""), std::nan("")}), "True");
  EXPECT_EQ(called("aten::lt.str", {"a", "b"}), "True");
  EXPECT_EQ(called("aten::ge", {IValue(true), 1.0}), "True");
  EXPECT_EQ(called("aten::eq.complex", {complex128(1, 2), complex128(1, 2)}), "True");
  EXPECT_EQ(called("aten::eq.device", {Device::parse("cuda"), Device::parse("cuda:0")}), "False");
  EXPECT_EQ(
      called("aten::eq.int_list", {make_int_list(IntVector{1, 2}), make_int_list(IntVector{1, 2})}),
      "True");
  const auto nans = make_ref<ListValue>(Type::floating(), std::vector<IValue>{std::nan("")});
  EXPECT_EQ(called("aten::eq.float_list", {nans, nans}), "False");
}

TEST(ScalarCompare, IdentityOfContainersAndNone) {
  const IValue list = make_int_list(IntVector{1});
  EXPECT_EQ(called("aten::__is__", {list, list}), "True");
  EXPECT_EQ(called("aten::__is__", {list, make_int_list(IntVector{1})}), "False");
  EXPECT_EQ(called("aten::__isnot__", {IValue(), IValue()}), "False");
  EXPECT_EQ(called("aten::__is__", {1, 1}), "True");
}

TEST(ScalarCompare, MinAndMax) {
  EXPECT_EQ(called("prim::min.int_float", {1, 2.5}), "1.");
  EXPECT_EQ(called("prim::max.int", {1, 2}), "2");
  EXPECT_EQ(called("prim::min.self_int", {make_int_list(IntVector{3, 1, 2})}), "1");
  EXPECT_EQ(called("prim::min.self_int", {make_int_list({})}), "! min() arg is an empty sequence");
  EXPECT_EQ(called("prim::max.self_float", {make_ref<ListValue>(Type::floating())}),
            "! max() arg is an empty sequence");
  EXPECT_EQ(called("prim::min.int_list",
                   {make_int_list(IntVector{1, 2}), make_int_list(IntVector{1, 1})}),
            "[1, 1]");
}

TEST(ScalarFunctions, RoundFloorCeil) {
  EXPECT_EQ(called("aten::round.float", {2.5}), "2.");
  EXPECT_EQ(called("aten::round.float", {-2.5}), "-2.");
  EXPECT_EQ(called("aten::round.int", {3}), "3.");
  EXPECT_EQ(called("aten::floor.float", {-2.5}), "-3");
  EXPECT_EQ(called("aten::ceil.float", {-2.5}), "-2");
  EXPECT_EQ(called("aten::floor.int", {3}), "3");
  EXPECT_EQ(called("aten::floor.float", {1e30}),
            "! Cannot convert float 1000000000000000019884624838656.000000 to integer");
  EXPECT_EQ(called("aten::ceil.float", {std::nan("")}), "! Cannot convert float nan to integer");
}

TEST(ScalarFunctions, MathModule) {
  EXPECT_EQ(called("aten::sqrt.int", {4}), "2.");
  EXPECT_EQ(called("aten::sqrt.int", {-1}).find("nan") != std::string::npos, true);
  EXPECT_EQ(called("aten::log.int", {0}), "-inf");
  EXPECT_EQ(called("aten::log.int_int", {8, 2}), "3.");
  EXPECT_EQ(called("aten::exp.int", {1000}), "inf");
  EXPECT_EQ(called("aten::frexp", {10.0}), "(0.625, 4)");
  EXPECT_EQ(called("aten::ldexp", {0.5, 3}), "4.");
  EXPECT_EQ(called("aten::ldexp", {0.5, kMax}), "inf");
  EXPECT_EQ(called("aten::modf", {2.5}), "(0.5, 2.)");
  EXPECT_EQ(called("aten::copysign.int_float", {1, -0.0}), "-1.");
  EXPECT_EQ(called("aten::gcd.int", {12, -18}), "6");
  EXPECT_EQ(called("aten::factorial.int", {5}), "120");
  EXPECT_EQ(called("aten::factorial.int", {kMax}), "0");
  EXPECT_EQ(called("aten::factorial.int", {-1}),
            "! ValueError: factorial() not defined for negative values");
  EXPECT_EQ(called("aten::isinf.float", {kInf}), "True");
  EXPECT_EQ(called("aten::lgamma.int", {5}), "3.1780538303479458");
  EXPECT_EQ(called("aten::atan2.int", {1, 2}), "0.46364760900080609");
  EXPECT_EQ(called("aten::angle.int", {-1}), "3.1415926535897931");
  EXPECT_EQ(called("aten::polar.float", {1.0, 2.0}), "-0.41614683654714241+0.90929742682568171j");
}

TEST(ScalarCasts, NumbersAndTexts) {
  EXPECT_EQ(called("aten::Int.float", {3.9}), "3");
  EXPECT_EQ(called("aten::Int.float", {1e30}), "-9223372036854775808");
  EXPECT_EQ(called("aten::Int.Scalar", {true}), "1");
  EXPECT_EQ(called("aten::Int.str", {"-12"}), "-12");
  EXPECT_EQ(called("aten::Int.str", {" +12"}), "12");
  for (const char* bad : {"0x10", "", "1_0", "12abc", "+-1", "99999999999999999999"}) {
    EXPECT_EQ(called("aten::Int.str", {bad}),
              "! invalid literal for int() with base 10: '" + std::string(bad) + "'");
  }
  EXPECT_EQ(called("aten::Float.str", {" 1e5"}), "100000.");
  EXPECT_EQ(called("aten::Float.str", {"-Infinity"}), "-inf");
  EXPECT_EQ(called("aten::Float.str", {"0x1p3"}), "8.");
  EXPECT_EQ(called("aten::Float.str", {"1e5x"}), "! could not convert string to float: '1e5x'");
  EXPECT_EQ(called("aten::Float.str", {""}), "! could not convert string to float: ''");
  EXPECT_EQ(called("aten::Bool.float", {0.5}), "True");
  EXPECT_EQ(called("aten::Complex.int_float", {1, 2.5}), "1.+2.5j");
  EXPECT_EQ(called("aten::str", {1.0}), "1.");
}

TEST(ScalarCasts, TensorsOfOneElement) {
  const Tensor one = Tensor::scalar(3.75, ScalarType::kFloat);
  EXPECT_EQ(called("aten::Int.Tensor", {one}), "3");
  EXPECT_EQ(called("aten::Float.Tensor", {one}), "3.75");
  EXPECT_EQ(called("aten::Bool.Tensor", {one}), "True");
  for (const double beyond : {std::numeric_limits<double>::quiet_NaN(), kInf, 1e30, -1e19}) {
    const std::string refusal = "! value cannot be converted to type int64_t without overflow";
    EXPECT_EQ(called("aten::Int.Tensor", {Tensor::scalar(beyond)}), refusal);
    EXPECT_EQ(called("aten::Int.Scalar", {beyond}), refusal);
  }
  const int64_t two[] = {2};
  const Tensor pair = Tensor::empty(two, ScalarType::kLong);
  EXPECT_EQ(called("aten::Int.Tensor", {pair}),
            "! a Tensor with 2 elements cannot be converted to Scalar");
  EXPECT_EQ(called("aten::Bool.Tensor", {pair}),
            "! Boolean value of Tensor with more than one value is ambiguous");
  EXPECT_EQ(called("aten::IntImplicit", {one}),
            "! Cannot input a tensor of type Float as an integral argument");
  EXPECT_EQ(called("aten::IntImplicit", {pair}),
            "! Cannot input a tensor of dimension other than 0 as a scalar argument");
  EXPECT_EQ(called("aten::IntImplicit", {Tensor::scalar(true)}),
            "! Cannot input a tensor of type Bool as an integral argument");
  EXPECT_EQ(called("aten::FloatImplicit", {Tensor::scalar(2)}), "2.");
  one.set_requires_grad(true);
  EXPECT_EQ(called("aten::FloatImplicit", {one}),
            "! Cannot input a tensor that requires grad as a scalar argument");
}

TEST(ScalarCasts, NumberToTensorKeepsFullWidth) {
  EXPECT_EQ(call_operator("prim::NumToTensor.Scalar", {2.5})[0].to_tensor().dtype(),
            ScalarType::kDouble);
  EXPECT_EQ(call_operator("prim::NumToTensor.Scalar", {2})[0].to_tensor().dtype(),
            ScalarType::kLong);
  EXPECT_EQ(call_operator("prim::NumToTensor.bool", {true})[0].to_tensor().dtype(),
            ScalarType::kBool);
}

TEST(ScalarCasts, UnwrapRefusesNone) {
  EXPECT_EQ(called("aten::_unwrap_optional", {IValue()}), "! Unwrapping null optional");
  EXPECT_EQ(called("aten::_unwrap_optional", {3}), "3");
}

// Converted as a tensor of the number is, where fill_ would refuse it.
TEST(TensorLiterals, CutOffWhatTheirDtypeDoesNotHold) {
  const auto in_list = [](const IValue& number, ScalarType dtype) {
    auto list = make_ref<ListValue>(number.type(), std::vector<IValue>{number});
    const IValue code = static_cast<int64_t>(dtype);
    return called("aten::item", {call_operator("aten::tensor", {list, code})[0]});
  };
  const auto alone = [](const IValue& number, ScalarType dtype) {
    const char* name = number.is_int() ? "aten::tensor.int" : "aten::tensor.float";
    return called("aten::item", {call_operator(name, {number, static_cast<int64_t>(dtype)})[0]});
  };
  for (const auto& literal : {std::function(in_list), std::function(alone)}) {
    EXPECT_EQ(literal(3e9, ScalarType::kInt), "-2147483648");
    EXPECT_EQ(literal(-kInf, ScalarType::kLong), "-9223372036854775808");
    EXPECT_EQ(literal(kInf, ScalarType::kByte), "0");
    EXPECT_EQ(literal(300, ScalarType::kChar), "44");
    EXPECT_EQ(literal(300.7, ScalarType::kShort), "300");
    EXPECT_EQ(literal(1e5, ScalarType::kHalf), "inf");
  }
}

}  // namespace
}  // namespace tierup::ops
