// For tests: compiled nets of operators one after the other, and numbers to run them on.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tierup/kernels/net/layers.h"
#include "tierup/ops/regions/neural_net.h"
#include "tierup/ops/table/op_table.h"

namespace tierup::ops {

namespace net = kernels::net;

inline Tensor numbers(IntVector sizes, uint32_t seed, float scale = 1) {
  const Tensor t = Tensor::empty(sizes, ScalarType::kFloat);
  uint32_t state = seed * 747796405U + 1;
  for (int64_t i = 0; i < t.numel(); ++i) {
    state = state * 1664525U + 1013904223U;
    t.data<float>()[i] = scale * (static_cast<float>(state >> 8) / 8388608.0F - 1);
  }
  return t;
}

inline Tensor variances(int64_t count) {
  const Tensor t = numbers({count}, 4);
  for (int64_t i = 0; i < count; ++i) t.data<float>()[i] += 1.5F;
  return t;
}

inline IValue ints(IntVector values) { return make_int_list(values); }

// Operators one after the other; value 0 is the first input.
class Line {
 public:
  Line() {
    program_.inputs = {0};
    program_.value_count = 1;
  }
  // `args`: an int value prefixed by kValue means a value; everything else is a constant.
  int add(const char* name, std::vector<net::Arg> args, size_t outputs = 1, bool in_place = false) {
    net::Op op;
    const Op* row = OpTable::instance().find(name);
    op.kind = net_kind(*row);
    EXPECT_NE(op.kind, net::OpKind::kNone) << name;
    op.keeps_shape = in_place;
    std::vector<MeaningArgument> meant;
    for (const net::Arg& arg : args) {
      MeaningArgument& argument = meant.emplace_back();
      if (arg.is_value()) {
        argument.tensor = ValueForm{};
      } else if (arg.constant.is_tensor()) {
        argument.tensor = form_of(*arg.constant.to_tensor().impl());
      } else {
        argument.value = arg.constant;
      }
    }
    op.pointwise = net_pointwise(*row, meant).value_or(net::Pointwise{});
    op.args = std::move(args);
    for (size_t i = 0; i < outputs; ++i) op.outputs.push_back(program_.value_count++);
    rows_.push_back(row);
    program_.ops.push_back(std::move(op));
    return program_.value_count - static_cast<int>(outputs);
  }
  int convolution(int input, const Tensor& weight, const Tensor& bias, int64_t stride,
                  int64_t padding, int64_t dilation, int64_t groups) {
    return add("aten::conv2d",
               {v(input), c(weight), c(bias), c(ints({stride, stride})),
                c(ints({padding, padding})), c(ints({dilation, dilation})), c(groups)});
  }
  int input() {
    program_.inputs.push_back(program_.value_count);
    return program_.value_count++;
  }
  int list(std::vector<int> values) {
    net::Op op;
    op.kind = net::OpKind::kTensors;
    for (const int value : values) op.args.push_back(v(value));
    op.outputs.push_back(program_.value_count++);
    rows_.push_back(nullptr);
    program_.ops.push_back(std::move(op));
    return program_.value_count - 1;
  }
  // To plant a difference: tier 0 runs this for the last operator.
  void replace_kernel(KernelFn kernel) {
    planted_row_ = rows_.back()->row();
    planted_row_.kernel = kernel;
    rows_.back() = &planted_.emplace(planted_row_);
  }
  static net::Arg v(int value) { return {value, {}}; }
  static net::Arg c(IValue value) { return {-1, std::move(value)}; }
  const net::Program& program(std::vector<int> outputs) {
    program_.outputs = std::move(outputs);
    return program_;
  }
  Ref<NeuralNet> make(std::vector<int> outputs) {
    program_.outputs = std::move(outputs);
    return make_ref<NeuralNet>(program_, rows_, true);
  }

 private:
  net::Program program_;
  std::vector<const Op*> rows_;
  OpRow planted_row_{};
  std::optional<Op> planted_;
};

// The layers of a line, with formulas recognised, and how many of them are of a kind.
inline net::LayerNet recognized(Line& line, int output, const std::vector<IValue>& inputs) {
  net::LayerNet layers = net::resolve(line.program({output}), inputs);
  net::recognize(layers);
  return layers;
}
inline int64_t count_of(const net::LayerNet& layers, net::LayerKind kind) {
  return std::ranges::count_if(layers.layers,
                               [&](const net::Layer& layer) { return layer.kind == kind; });
}

inline void expect_close(const IValue& a, const IValue& b) {
  const Tensor x = a.to_tensor();
  const Tensor y = b.to_tensor();
  ASSERT_EQ(shape_string(x.sizes()), shape_string(y.sizes()));
  EXPECT_EQ(shape_string(x.strides()), shape_string(y.strides()));
  double top = 1e-6;
  for (int64_t i = 0; i < x.numel(); ++i)
    top = std::max(top, std::abs(static_cast<double>(x.data<float>()[i])));
  for (int64_t i = 0; i < x.numel(); ++i)
    ASSERT_NEAR(x.data<float>()[i], y.data<float>()[i], 1e-5 * top) << "at " << i;
}

// The first call runs the twin, the second compiles, the third uses what was compiled.
inline void expect_same_thrice(NeuralNet& object, std::vector<IValue> inputs) {
  RunContext context;
  const std::vector<IValue> first = object.run(inputs, context);
  const size_t before = object.net_count();
  for (int i = 0; i < 2; ++i) {
    const std::vector<IValue> next = object.run(inputs, context);
    ASSERT_EQ(next.size(), first.size());
    for (size_t r = 0; r < next.size(); ++r) expect_close(first[r], next[r]);
  }
  const std::vector<RefusedNet> refusals = object.refusals();
  EXPECT_EQ(object.net_count(), before + 1)
      << (refusals.empty() ? "not refused" : refusals.back().text());
}
inline void expect_same_thrice(NeuralNet& object, const Tensor& input) {
  expect_same_thrice(object, std::vector<IValue>{input});
}

}  // namespace tierup::ops
