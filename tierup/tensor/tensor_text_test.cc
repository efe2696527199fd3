// Expected texts were printed by PyTorch's own interpreter.
#include "tierup/tensor/tensor_text.h"

#include <gtest/gtest.h>

#include <limits>
#include <numeric>

namespace tierup {
namespace {

Tensor floats(std::vector<double> values, IntVector sizes) {
  Tensor tensor = Tensor::empty(sizes, ScalarType::kFloat);
  for (size_t i = 0; i < values.size(); ++i)
    tensor.data<float>()[i] = static_cast<float>(values[i]);
  return tensor;
}
std::string line(std::vector<double> values) {
  const auto size = static_cast<int64_t>(values.size());
  return tensor_text(floats(std::move(values), {size}));
}
std::vector<double> counting(size_t count, double step) {
  std::vector<double> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<double>(i) * step;
  return values;
}
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(TensorText, VectorsOfWholeNumbers) {
  EXPECT_EQ(line({1, 2}), " 1\n 2\n[ CPUFloatType{2} ]");
  EXPECT_EQ(line({100, -2}), " 100\n  -2\n[ CPUFloatType{2} ]");
  EXPECT_EQ(line({1e6, 2}), "   1e+06\n       2\n[ CPUFloatType{2} ]");
  EXPECT_EQ(line({1e10, 1}), " 1.0000e+10\n 1.0000e+00\n[ CPUFloatType{2} ]");
  EXPECT_EQ(line({0, kNan}), " 0\nnan\n[ CPUFloatType{2} ]");
  EXPECT_EQ(line({kInf}), "inf\n[ CPUFloatType{1} ]");
}

TEST(TensorText, VectorsOfFractions) {
  EXPECT_EQ(line({kNan, 2.5, kInf}), "    nan\n 2.5000\n    inf\n[ CPUFloatType{3} ]");
  EXPECT_EQ(line({1000.5, 2}), " 1000.5000\n    2.0000\n[ CPUFloatType{2} ]");
  EXPECT_EQ(line({0.001, 1}), " 0.0010\n 1.0000\n[ CPUFloatType{2} ]");
  EXPECT_EQ(line({123456.5, 1}), " 1.2346e+05\n 1.0000e+00\n[ CPUFloatType{2} ]");
  EXPECT_EQ(line({1e-5, 2e-5}), "1e-05 *\n 1.0000\n 2.0000\n[ CPUFloatType{2} ]");
  EXPECT_EQ(line({123456.5, 234567.5}), "100000 *\n 1.2346\n 2.3457\n[ CPUFloatType{2} ]");
  EXPECT_EQ(line({0.01}), "0.001 *\n10.0000\n[ CPUFloatType{1} ]");
}

TEST(TensorText, Matrices) {
  EXPECT_EQ(tensor_text(floats({1.5, 2.25, 3, -4.125}, {2, 2})),
            " 1.5000  2.2500\n 3.0000 -4.1250\n[ CPUFloatType{2,2} ]");
  EXPECT_EQ(tensor_text(floats({1, 200, 3, 4}, {2, 2})),
            "   1  200\n   3    4\n[ CPUFloatType{2,2} ]");
  EXPECT_EQ(tensor_text(floats({1e-5, 2e-5, 1e-5, 3e-5}, {2, 2})),
            "1e-05 *\n 1.0000  2.0000\n  1.0000  3.0000\n[ CPUFloatType{2,2} ]");
  EXPECT_EQ(tensor_text(floats(counting(60, 10), {2, 30})),
            "Columns 1 to 16   0   10   20   30   40   50   60   70   80   90  100  110  120  130  "
            "140  150\n 300  310  320  330  340  350  360  370  380  390  400  410  420  430  440  "
            "450\n\nColumns 17 to 30 160  170  180  190  200  210  220  230  240  250  260  270  "
            "280  290\n 460  470  480  490  500  510  520  530  540  550  560  570  580  590\n"
            "[ CPUFloatType{2,30} ]");
}

TEST(TensorText, MatricesOfMatrices) {
  const std::vector<double> ones(8, 1);
  EXPECT_EQ(tensor_text(floats(ones, {2, 2, 2})),
            "(1,.,.) = \n 1  1\n  1  1\n\n(2,.,.) = \n 1  1\n  1  1\n[ CPUFloatType{2,2,2} ]");
  EXPECT_EQ(tensor_text(floats({1, 1, 1, 1}, {1, 1, 2, 2})),
            "(1,1,.,.) = \n 1  1\n  1  1\n[ CPUFloatType{1,1,2,2} ]");
  const std::vector<double> small(8, 1e-5);
  EXPECT_EQ(tensor_text(floats(small, {2, 2, 2})),
            "(1,.,.) = \n1e-06 *\n 10.0000 10.0000\n  10.0000 10.0000\n\n(2,.,.) = \n1e-06 *\n "
            "10.0000 10.0000\n  10.0000 10.0000\n[ CPUFloatType{2,2,2} ]");
}

TEST(TensorText, ScalarsAndEmptyTensors) {
  EXPECT_EQ(tensor_text(Tensor::scalar(3.5, ScalarType::kFloat)), "3.5\n[ CPUFloatType{} ]");
  EXPECT_EQ(tensor_text(Tensor::scalar(3.14159265, ScalarType::kFloat)),
            "3.1415927410125732\n[ CPUFloatType{} ]");
  EXPECT_EQ(tensor_text(Tensor::scalar(7)), "7\n[ CPULongType{} ]");
  EXPECT_EQ(tensor_text(Tensor::scalar(true)), "1\n[ CPUBoolType{} ]");
  EXPECT_EQ(tensor_text(Tensor::empty(IntVector{2, 0, 3}, ScalarType::kFloat)),
            "[ CPUFloatType{2,0,3} ]");
}

TEST(TensorText, StridesAreFollowed) {
  const Tensor tensor = floats({1, 2, 3, 4}, {2, 2});
  EXPECT_EQ(tensor_text(tensor.as_view(IntVector{2, 2}, IntVector{1, 2}, 0)),
            " 1  3\n 2  4\n[ CPUFloatType{2,2} ]");
}

}  // namespace
}  // namespace tierup
