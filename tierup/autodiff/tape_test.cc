// The tape and the engine: what requires gradients, what accumulates, what is refused.
#include <gtest/gtest.h>

#include "tierup/autodiff/node.h"
#include "tierup/autodiff/recording_tape.h"
#include "tierup/base/error.h"
#include "tierup/kernels/random/generator.h"
#include "tierup/ops/table/op_table.h"

namespace tierup::autodiff {
namespace {

using Floats = std::vector<float>;

class Taped : public ::testing::Test {
 protected:
  Taped() {
    context_.tape = &tape_;
    context_.policy.grad_mode = true;
    context_.generator = &generator_;
  }

  static Tensor floats(const std::vector<int64_t>& sizes, const Floats& values) {
    const Tensor t = Tensor::empty(sizes, ScalarType::kFloat);
    std::copy(values.begin(), values.end(), t.data<float>());
    return t;
  }
  static Tensor leaf(const std::vector<int64_t>& sizes, const Floats& values) {
    Tensor t = floats(sizes, values);
    t.set_requires_grad(true);
    return t;
  }
  static Floats numbers(const Tensor& t) {
    if (!t.defined()) return {};
    return {t.data<float>(), t.data<float>() + t.numel()};
  }
  static Floats grad(const Tensor& t) {
    const Record* record = record_of(*t.impl());
    return numbers(record == nullptr ? Tensor() : record->grad());
  }

  Tensor call(std::string_view name, std::vector<IValue> args) {
    const IValue result = result_of(name, std::move(args));
    return result.is_tensor() ? result.to_tensor() : Tensor();
  }

  IValue result_of(std::string_view name, std::vector<IValue> args,
                   std::vector<IValue>* all = nullptr) {
    const ops::Op& op = *ops::OpTable::instance().find(name);
    for (size_t i = args.size(); i < op.schema().arguments.size(); ++i) {
      args.push_back(*op.schema().arguments[i].default_value);
    }
    std::vector<IValue> results(op.schema().returns.size());
    ops::OpCall op_call{args, results, context_};
    tape_.call(op, op_call, nullptr);
    if (all != nullptr) *all = results;
    return results.empty() ? IValue() : results[0];
  }

  void backward(const Tensor& output, bool retain = false, bool create = false) {
    ops::BackwardRequest request;
    request.outputs = {output};
    request.retain_graph = retain || create;
    request.create_graph = create;
    tape_.backward(context_, request);
  }

  template <typename F>
  static std::string error_of(F&& f) {
    try {
      f();
    } catch (const Error& error) {
      return error.message();
    }
    return "no error";
  }

  RecordingTape tape_;
  kernels::Generator generator_;
  ops::RunContext context_;
};

TEST_F(Taped, LeavesAccumulateOverPasses) {
  const Tensor x = leaf({2}, {2, 3});
  const Tensor y = call("aten::sum", {call("aten::mul.Tensor", {x, x})});
  EXPECT_TRUE(y.requires_grad());
  backward(y, true);
  EXPECT_EQ(grad(x), (Floats{4, 6}));
  backward(y);
  EXPECT_EQ(grad(x), (Floats{8, 12}));
}

// The second product is added where the first one stands; the third factor is no product.
TEST_F(Taped, ProductsOfOneMatrixAddUp) {
  const Tensor w = leaf({2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor a = floats({1, 2}, {1, 2});
  const Tensor b = floats({1, 2}, {10, 30});
  const Tensor sum = call("aten::add.Tensor", {call("aten::mm", {a, w}), call("aten::mm", {b, w})});
  const Tensor loss = call("aten::sum", {call("aten::add.Tensor", {sum, call("aten::sum", {w})})});
  backward(loss, true);
  EXPECT_EQ(grad(w), (Floats{14, 14, 14, 35, 35, 35}));
  backward(loss);
  EXPECT_EQ(grad(w), (Floats{28, 28, 28, 70, 70, 70}));
}

// A gradient that a hook has kept is not written to.
TEST_F(Taped, ProductsLeaveGradientsThatOthersHold) {
  const Tensor w = leaf({2, 2}, {1, 2, 3, 4});
  const Tensor same = call("aten::mul.Scalar", {w, 1});
  const Tensor loss = call("aten::sum", {call("aten::mm", {same, same})});
  ops::BackwardRequest request;
  request.outputs = {loss};
  request.inputs = {same};
  const Tensor given = tape_.grad(context_, request)[0];
  EXPECT_EQ(numbers(given), (Floats{7, 11, 9, 13}));
}

TEST_F(Taped, FreedValuesAreRefused) {
  const Tensor x = leaf({1}, {2});
  const Tensor y = call("aten::mul.Tensor", {x, x});
  backward(y);
  EXPECT_NE(error_of([&] { backward(y); }).find("a second time"), std::string::npos);
  const Tensor z = call("aten::add.Tensor", {x, x});
  backward(z);
  backward(z);  // Nothing was saved.
}

TEST_F(Taped, OverwrittenValuesAreRefusedByVersion) {
  const Tensor x = leaf({3}, {1, 2, 3});
  const Tensor y = call("aten::sigmoid", {x});
  call("aten::add_.Scalar", {y, 1});
  const Tensor loss = call("aten::sum", {y});
  const std::string text = error_of([&] { backward(loss); });
  EXPECT_NE(text.find("[torch.FloatTensor [3]], which is output 0 of Sigmoid, is at version 1; "
                      "expected version 0 instead."),
            std::string::npos)
      << text;
}

TEST_F(Taped, ListsThatGrowKeepTheRecordsOfTheirElements) {
  const Tensor x = leaf({2}, {2, 3});
  const auto list = make_ref<ListValue>(Type::tensor());
  for (int i = 0; i < 3; ++i) call("aten::append.t", {list, call("aten::mul.Tensor", {x, x})});
  call("aten::insert.t", {list, 0, call("aten::mul.Tensor", {x, x})});
  call("aten::pop.t", {list, 1});
  ASSERT_EQ(list->items.size(), 3U);
  backward(call("aten::sum", {call("aten::stack", {list, 0})}));
  EXPECT_EQ(grad(x), (Floats{12, 18}));
}

TEST_F(Taped, LeavesAreNotWritten) {
  const Tensor x = leaf({2}, {1, 2});
  EXPECT_NE(error_of([&] {
              call("aten::add_.Scalar", {x, 1});
            }).find("a leaf Variable that requires grad is being used in an in-place operation"),
            std::string::npos);
  EXPECT_EQ(numbers(x), (Floats{1, 2}));
  const Tensor view = call("aten::view", {x, make_int_list(IntVector{2, 1})});
  EXPECT_NE(error_of([&] {
              call("aten::add_.Scalar", {view, 1});
            }).find("a view of a leaf"),
            std::string::npos);
  context_.policy.grad_mode = false;
  call("aten::add_.Scalar", {x, 1});
  EXPECT_EQ(numbers(x), (Floats{2, 3}));
}

TEST_F(Taped, WritesInPlaceRebaseTheRecord) {
  const Tensor x = leaf({2}, {2, 3});
  const Tensor y = call("aten::mul.Scalar", {x, 2});
  call("aten::mul_.Tensor", {y, floats({2}, {5, 7})});
  backward(call("aten::sum", {y}));
  EXPECT_EQ(grad(x), (Floats{10, 14}));
}

TEST_F(Taped, WritesThroughViewsReachTheBase) {
  const Tensor x = leaf({2}, {2, 3});
  const Tensor w = leaf({1}, {10});
  const Tensor base = call("aten::mul.Scalar", {x, 1});
  const Tensor part = call("aten::slice.Tensor", {base, 0, 0, 1, 1});
  call("aten::mul_.Tensor", {part, w});
  EXPECT_EQ(numbers(base), (Floats{20, 3}));
  backward(call("aten::sum", {base}), true);
  EXPECT_EQ(grad(x), (Floats{10, 1}));
  EXPECT_EQ(grad(w), (Floats{2}));
  backward(call("aten::sum", {part}));
  EXPECT_EQ(grad(w), (Floats{4}));
}

// Of a tensor that required none when the views were made.
TEST_F(Taped, ViewsOfWhatWasWrittenSayThatTheyRequireGradients) {
  const Tensor x = leaf({2}, {2, 3});
  const Tensor base = floats({3}, {0, 0, 0});
  const auto slice = [&](int64_t from, int64_t to) {
    return call("aten::slice.Tensor", {base, 0, from, to, 1});
  };
  const Tensor written = slice(1, 3);
  const Tensor asked = slice(0, 2);
  const Tensor given = slice(0, 2);
  const Tensor apart = slice(0, 1);
  const IValue split = result_of("aten::split.Tensor", {base, 1, 0});
  call("aten::add_.Tensor", {call("aten::alias", {written}), x, 1});
  EXPECT_TRUE(result_of("prim::requires_grad", {asked}).to_bool());
  EXPECT_TRUE(result_of("prim::requires_grad", {written}).to_bool());
  tape_.finish_results(make_tuple({given, split, apart}));
  EXPECT_TRUE(given.requires_grad() && apart.requires_grad());
  backward(call("aten::sum", {given}));
  EXPECT_EQ(grad(x), (Floats{1, 0}));
  EXPECT_EQ(result_of("aten::numel", {split.to_list().items[0]}).to_int(), 1);
  EXPECT_NE(error_of([&] {
              call("aten::sum", {split.to_list().items[0]});
            }).find("its base or another view of its base has been modified inplace"),
            std::string::npos);
}

TEST_F(Taped, PartsThatWereSlicedOneByOneAreWrittenThoseOfASplitAreNot) {
  const Tensor x = leaf({4}, {1, 2, 3, 4});
  const Tensor base = call("aten::mul.Scalar", {x, 2});
  const auto second_of = [&](const char* name) {
    return result_of(name, {base, 2, 0}).to_list().items[1].to_tensor();
  };
  const Tensor part = second_of("aten::tensor_split.sections");
  call("aten::mul_.Scalar", {part, 5});
  backward(call("aten::sum", {base}));
  EXPECT_EQ(grad(x), (Floats{2, 2, 10, 10}));
  EXPECT_NE(error_of([&] {
              call("aten::zero_", {second_of("aten::split.Tensor")});
            }).find("Output 1 of Split is a view and is being modified inplace"),
            std::string::npos);
}

TEST_F(Taped, WritesIntoPlainMemoryMakeTheBaseRequireGradients) {
  const Tensor w = leaf({1}, {10});
  const Tensor base = floats({2}, {0, 0});
  const Tensor part = call("aten::slice.Tensor", {base, 0, 1, 2, 1});
  call("aten::copy_", {part, w, false});
  EXPECT_TRUE(base.requires_grad());
  backward(call("aten::sum", {call("aten::mul.Tensor", {base, base})}));
  EXPECT_EQ(grad(w), (Floats{20}));
}

TEST_F(Taped, SecondOrder) {
  const Tensor x = leaf({1}, {3});
  const Tensor y = call("aten::mul.Tensor", {call("aten::mul.Tensor", {x, x}), x});
  ops::BackwardRequest request;
  request.outputs = {y};
  request.inputs = {x};
  request.create_graph = true;
  const Tensor first = tape_.grad(context_, request)[0];
  EXPECT_EQ(numbers(first), (Floats{27}));
  request.outputs = {first};
  request.create_graph = false;
  EXPECT_EQ(numbers(tape_.grad(context_, request)[0]), (Floats{18}));
}

TEST_F(Taped, SecondOrderThroughSavedResults) {
  const Tensor x = leaf({1}, {0});
  const Tensor y = call("aten::sigmoid", {x});
  ops::BackwardRequest request;
  request.outputs = {y};
  request.inputs = {x};
  request.create_graph = true;
  const Tensor first = tape_.grad(context_, request)[0];
  EXPECT_EQ(numbers(first), (Floats{0.25F}));
  request.outputs = {call("aten::mul.Tensor", {first, floats({1}, {1})})};
  request.inputs = {x};
  EXPECT_EQ(numbers(tape_.grad(context_, request)[0]), (Floats{0}));
}

TEST_F(Taped, GradientsOfWhatWasNotUsedAreRefused) {
  const Tensor x = leaf({1}, {3});
  const Tensor other = leaf({1}, {3});
  ops::BackwardRequest request;
  request.outputs = {call("aten::mul.Tensor", {x, x})};
  request.inputs = {x, other};
  EXPECT_NE(error_of([&] {
              tape_.grad(context_, request);
            }).find("The differentiated Tensor at index 1 appears to not have been used"),
            std::string::npos);
  request.outputs = {call("aten::mul.Tensor", {x, x})};
  request.allow_unused = true;
  EXPECT_FALSE(tape_.grad(context_, request)[1].defined());
}

TEST_F(Taped, RootsAreChecked) {
  const Tensor x = leaf({2}, {3, 4});
  EXPECT_EQ(error_of([&] {
              backward(call("aten::mul.Tensor", {x, x}));
            }),
            "grad can be implicitly created only for scalar outputs");
  EXPECT_EQ(error_of([&] { backward(floats({1}, {1})); }),
            "element 0 of tensors does not require grad and does not have a grad_fn");
}

TEST_F(Taped, DetachedMemoryIsWatchedDataIsNot) {
  const Tensor x = leaf({1}, {3});
  const Tensor y = call("aten::mul.Scalar", {x, 1});
  const Tensor first = call("aten::mul.Tensor", {y, y});
  call("aten::add_.Scalar", {call("prim::data", {y}), 1});
  backward(first, true);
  call("aten::add_.Scalar", {call("aten::detach", {y}), 1});
  EXPECT_NE(error_of([&] { backward(first); }).find("modified by an inplace"), std::string::npos);
}

// A sum of products is linear in each operand: a gradient is the sum with a one in that place.
TEST_F(Taped, EinsumsOfSeveralOperandsPassBackToEach) {
  const std::vector<IntVector> sizes{{2, 3}, {2, 1, 2}, {2, 2, 3}, {3, 2}};
  std::vector<Tensor> operands;
  for (const IntVector& size : sizes) {
    Floats values(static_cast<size_t>(numel_of(size)));
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 5 % 7) - 3;
    operands.push_back(leaf({size.begin(), size.end()}, values));
  }
  const auto sum_with = [&](const std::vector<Tensor>& tensors) {
    std::vector<IValue> list(tensors.begin(), tensors.end());
    // i stands twice in the third, j of the second is one, l stands in the last alone.
    return call("aten::sum",
                {call("aten::einsum", {std::string("ij,ijk,iij,jl->ik"),
                                       make_ref<ListValue>(Type::tensor(), std::move(list))})});
  };
  backward(sum_with(operands));
  for (size_t k = 0; k < operands.size(); ++k) {
    const Floats found = grad(operands[k]);
    for (size_t i = 0; i < found.size(); ++i) {
      std::vector<Tensor> others = operands;
      Floats one(found.size(), 0);
      one[i] = 1;
      others[k] = floats({sizes[k].begin(), sizes[k].end()}, one);
      EXPECT_EQ(found[i], numbers(sum_with(others))[0]) << k << " " << i;
    }
  }
}

TEST_F(Taped, DifferencesOfOrderZeroLeaveOutWhatStandsBeside) {
  const Tensor x = leaf({2}, {1, 2});
  const Tensor edge = floats({1}, {9});
  const Tensor y = call("aten::diff", {x, 0, -1, edge, edge});
  EXPECT_EQ(numbers(y), (Floats{1, 2}));
  backward(call("aten::sum", {call("aten::mul.Tensor", {y, floats({2}, {3, 5})})}));
  EXPECT_EQ(grad(x), (Floats{3, 5}));
}

TEST_F(Taped, IndicesFromTheEndTakeAlongADimension) {
  const Tensor x = leaf({1, 3}, {1, 2, 3});
  const Tensor places = Tensor::empty(IntVector{1, 2}, ScalarType::kLong);
  places.data<int64_t>()[0] = -1;
  places.data<int64_t>()[1] = 0;
  const Tensor y = call("aten::take_along_dim", {x, places, 1});
  EXPECT_EQ(numbers(y), (Floats{3, 1}));
  backward(call("aten::sum", {call("aten::mul.Tensor", {y, floats({1, 2}, {3, 5})})}));
  EXPECT_EQ(grad(x), (Floats{5, 0, 3}));
}

TEST_F(Taped, SolutionsOfLeastSquaresAndTheirResidualsPassBack) {
  const Tensor a = leaf({3, 1}, {1, 1, 1});
  const Tensor b = leaf({3, 1}, {1, 2, 6});
  backward(call("aten::linalg_lstsq", {a, b}));  // The mean of b.
  const auto expect_near = [](const Floats& found, const Floats& wanted) {
    ASSERT_EQ(found.size(), wanted.size());
    for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], wanted[i], 1e-4) << i;
  };
  expect_near(grad(b), {1 / 3.F, 1 / 3.F, 1 / 3.F});
  expect_near(grad(a), {-5 / 3.F, -4 / 3.F, 0});
  const Tensor again = leaf({3, 1}, {1, 1, 1});
  const Tensor side = leaf({3, 1}, {1, 2, 6});
  std::vector<IValue> results;
  result_of("aten::linalg_lstsq", {again, side, IValue(), std::string("gels")}, &results);
  backward(results[1].to_tensor());
  expect_near(grad(side), {-4, -2, 6});
  expect_near(grad(again), {12, 6, -18});
  EXPECT_FALSE(results[3].to_tensor().requires_grad());
}

// Of as few dimensions as vectors for each matrix would have.
TEST_F(Taped, OneRightSideOfAllMatricesPassesBack) {
  const Tensor a = leaf({2, 2, 1}, {1, 1, 2, 2});
  const Tensor b = leaf({2, 3}, {1, 2, 3, 5, 6, 7});
  const Tensor x = call("aten::linalg_lstsq", {a, b});
  EXPECT_EQ(x.dim(), 3);
  backward(call("aten::sum", {x}));
  const Floats found = grad(b);
  ASSERT_EQ(found.size(), 6U);
  for (const float g : found) EXPECT_NEAR(g, .5F + .25F, 1e-5);  // Means for 1 and for 2.
}

TEST_F(Taped, ResultsRetainTheirGradients) {
  const Tensor x = leaf({1}, {3});
  const Tensor y = call("aten::mul.Scalar", {x, 2});
  tape_.retain_grad(y);
  backward(call("aten::mul.Tensor", {y, y}));
  EXPECT_EQ(grad(y), (Floats{12}));
}

TEST_F(Taped, AMillionNodesAreRunAndFreedWithoutRecursion) {
  const Tensor x = leaf({1}, {1});
  Tensor y = x;
  for (int i = 0; i < 1000000; ++i) y = call("aten::add.Scalar", {y, 0});
  backward(y);
  EXPECT_EQ(grad(x), (Floats{1}));
  y = Tensor();
  Tensor z = x;
  for (int i = 0; i < 1000000; ++i) z = call("aten::mul.Tensor", {z, x});
}

TEST_F(Taped, ViewsMadeWithoutGradientsAreNotWrittenWithThem) {
  const Tensor x = leaf({2}, {1, 2});
  context_.policy.grad_mode = false;
  const Tensor view = call("aten::view", {x, make_int_list(IntVector{2, 1})});
  context_.policy.grad_mode = true;
  EXPECT_TRUE(view.requires_grad());
  EXPECT_NE(error_of([&] {
              call("aten::add_.Scalar", {view, 1});
            }).find("A view was created in no_grad mode"),
            std::string::npos);
}

}  // namespace
}  // namespace tierup::autodiff
