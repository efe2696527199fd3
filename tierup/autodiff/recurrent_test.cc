// LSTMs and GRUs that are trained in float32 take all steps at once, in float64 one by one: first
// and second gradients of both, over padded and packed sequences.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tierup/autodiff/node.h"
#include "tierup/autodiff/recording_tape.h"
#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/random/generator.h"
#include "tierup/kernels/simd/instruction_set.h"
#include "tierup/ops/table/op_table.h"

namespace tierup::autodiff {
namespace {

struct Layers {
  const char* row;
  int64_t gates;
  int64_t steps, batch, input, size, layers;
  bool bidirectional, has_biases, batch_first;
  bool states_alone = false;  // Nothing is made of the outputs.
  bool packed = false;        // Sequences of different lengths.
};

Tensor numbers(const std::vector<int64_t>& sizes, int64_t seed, ScalarType dtype) {
  const Tensor t = Tensor::empty(sizes, ScalarType::kFloat);
  for (int64_t i = 0; i < t.numel(); ++i)
    t.data<float>()[i] = static_cast<float>((i * 7919 + seed * 131) % 1009) / 1009.0F - 0.5F;
  return kernels::to_dtype(t, dtype);
}

class Recorded {
 public:
  Recorded(const Layers& layers, ScalarType dtype) : l_(layers), dtype_(dtype) {
    context_.tape = &tape_;
    context_.policy.grad_mode = true;
    context_.generator = &generator_;
  }

  // How many calls stand one upon another in the record of a run.
  uint32_t depth() {
    const Tensor output = run()[0].to_tensor();
    return edge_to(*output.impl()).node->depth();
  }

  // Of input, states and parameters: the gradients of a weighted sum of the results, then those of
  // the sum of these gradients' squares.
  std::vector<Tensor> gradients() {
    std::vector<IValue> results = run();
    ops::BackwardRequest first;
    for (size_t k = l_.states_alone ? 1 : 0; k < results.size(); ++k) {
      const Tensor result = results[k].to_tensor();
      first.outputs.push_back(result);
      first.cotangents.push_back(numbers({result.sizes().begin(), result.sizes().end()},
                                         50 + static_cast<int64_t>(k), dtype_));
    }
    first.inputs = leaves_;
    first.create_graph = true;
    first.allow_unused = true;
    std::vector<Tensor> made = tape_.grad(context_, first);
    ops::BackwardRequest second;
    for (const Tensor& gradient : made) {
      second.outputs.push_back(gradient);
      second.cotangents.push_back(gradient.detach());
    }
    second.inputs = leaves_;
    second.allow_unused = true;
    for (const Tensor& gradient : tape_.grad(context_, second)) made.push_back(gradient);
    return made;
  }

 private:
  IValue leaf(const std::vector<int64_t>& sizes) {
    Tensor t = numbers(sizes, static_cast<int64_t>(leaves_.size()), dtype_);
    t.set_requires_grad(true);
    leaves_.push_back(t);
    return t;
  }
  static IValue list_of(std::vector<IValue> items) {
    auto list = make_ref<ListValue>(Type::tensor());
    list->items = std::move(items);
    return list;
  }

  // Ever fewer sequences, one at the last step.
  Tensor rows_of_steps() const {
    Tensor rows = Tensor::empty(IntVector{l_.steps}, ScalarType::kLong);
    for (int64_t t = 0; t < l_.steps; ++t)
      rows.data<int64_t>()[t] = l_.batch - (l_.batch - 1) * t / std::max<int64_t>(1, l_.steps - 1);
    return rows;
  }

  std::vector<IValue> run() {
    const int64_t directions = l_.bidirectional ? 2 : 1;
    const int64_t width = l_.gates * l_.size;
    std::vector<IValue> args;
    if (l_.packed) {
      const Tensor rows = rows_of_steps();
      const int64_t* begin = rows.data<int64_t>();
      args.push_back(leaf({std::accumulate(begin, begin + l_.steps, int64_t{0}), l_.input}));
      args.push_back(rows);
    } else {
      args.push_back(l_.batch_first ? leaf({l_.batch, l_.steps, l_.input})
                                    : leaf({l_.steps, l_.batch, l_.input}));
    }
    const std::vector<int64_t> states{l_.layers * directions, l_.batch, l_.size};
    args.push_back(l_.gates == 4 ? list_of({leaf(states), leaf(states)}) : leaf(states));
    std::vector<IValue> parameters;
    for (int64_t cell = 0; cell < l_.layers * directions; ++cell) {
      parameters.push_back(leaf({width, cell < directions ? l_.input : directions * l_.size}));
      parameters.push_back(leaf({width, l_.size}));
      if (!l_.has_biases) continue;
      parameters.push_back(leaf({width}));
      parameters.push_back(leaf({width}));
    }
    args.push_back(list_of(std::move(parameters)));
    for (const IValue& arg : {IValue(l_.has_biases), IValue(l_.layers), IValue(0.0), IValue(true),
                              IValue(l_.bidirectional)})
      args.push_back(arg);
    if (!l_.packed) args.emplace_back(l_.batch_first);
    const ops::Op& op = *ops::OpTable::instance().find(l_.row);
    std::vector<IValue> results(op.schema().returns.size());
    ops::OpCall call{args, results, context_};
    tape_.call(op, call, nullptr);
    return results;
  }

  const Layers& l_;
  const ScalarType dtype_;
  RecordingTape tape_;
  kernels::Generator generator_;
  ops::RunContext context_;
  std::vector<Tensor> leaves_;
};

void expect_near(const Tensor& found, const Tensor& expected, const std::string& what) {
  ASSERT_EQ(found.defined(), expected.defined()) << what;
  if (!found.defined()) return;
  const Tensor a = kernels::to_dtype(kernels::contiguous(found.detach()), ScalarType::kDouble);
  const Tensor b = kernels::contiguous(expected.detach());
  ASSERT_EQ(a.numel(), b.numel()) << what;
  double most = 1e-3;
  for (int64_t i = 0; i < b.numel(); ++i) most = std::max(most, std::abs(b.data<double>()[i]));
  for (int64_t i = 0; i < b.numel(); ++i)
    ASSERT_NEAR(a.data<double>()[i], b.data<double>()[i], 2e-5 * most) << what << " at " << i;
}

class RecurrentGradients : public ::testing::TestWithParam<Layers> {};

TEST_P(RecurrentGradients, OfAllStepsAtOnceAreThoseOfTheSteps) {
  const std::vector<Tensor> found = Recorded(GetParam(), ScalarType::kFloat).gradients();
  const std::vector<Tensor> expected = Recorded(GetParam(), ScalarType::kDouble).gradients();
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i)
    expect_near(found[i], expected[i], "gradient " + std::to_string(i));
}

constexpr const char* kPackedLstm = "aten::lstm.data";
constexpr const char* kPackedGru = "aten::gru.data";

TEST(PackedRecurrentGradients, AreRecordedAsFewCallsForManySteps) {
  for (const Layers& layers :
       {Layers{kPackedLstm, 4, 50, 3, 4, 6, 1, true, true, false, false, true},
        Layers{kPackedGru, 3, 50, 3, 4, 6, 1, true, true, false, false, true}}) {
    EXPECT_LT(Recorded(layers, ScalarType::kFloat).depth(), 20U);
    EXPECT_GT(Recorded(layers, ScalarType::kDouble).depth(), 50U);
  }
}

constexpr const char* kLstm = "aten::lstm.input";
constexpr const char* kGru = "aten::gru.input";

INSTANTIATE_TEST_SUITE_P(All, RecurrentGradients,
                         ::testing::Values(Layers{kLstm, 4, 5, 3, 4, 6, 1, false, true, false},
                                           Layers{kLstm, 4, 6, 2, 3, 17, 2, true, true, true},
                                           Layers{kLstm, 4, 1, 4, 5, 3, 1, true, false, false},
                                           Layers{kLstm, 4, 4, 2, 3, 5, 1, false, true, true, true},
                                           Layers{kLstm, 4, 7, 40, 3, 40, 1, false, true, false},
                                           Layers{kGru, 3, 5, 3, 4, 6, 1, false, true, false},
                                           Layers{kGru, 3, 6, 2, 3, 17, 2, true, true, true},
                                           Layers{kGru, 3, 1, 4, 5, 3, 1, true, false, false},
                                           Layers{kGru, 3, 4, 2, 3, 5, 1, false, false, true, true},
                                           Layers{kGru, 3, 7, 40, 3, 40, 1, false, true, false}));

INSTANTIATE_TEST_SUITE_P(
    Packed, RecurrentGradients,
    ::testing::Values(Layers{kPackedLstm, 4, 5, 3, 4, 6, 1, false, true, false, false, true},
                      Layers{kPackedLstm, 4, 6, 4, 3, 17, 2, true, true, false, false, true},
                      Layers{kPackedLstm, 4, 4, 5, 3, 5, 1, true, false, false, true, true},
                      Layers{kPackedGru, 3, 5, 3, 4, 6, 1, false, true, false, false, true},
                      Layers{kPackedGru, 3, 6, 4, 3, 17, 2, true, true, false, false, true},
                      Layers{kPackedGru, 3, 4, 5, 3, 5, 1, true, false, false, true, true}));

}  // namespace
}  // namespace tierup::autodiff
