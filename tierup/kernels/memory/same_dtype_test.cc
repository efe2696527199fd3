#include "tierup/kernels/memory/same_dtype.h"

#include <gtest/gtest.h>

#include "tierup/base/error.h"
#include "tierup/kernels/attention/attention.h"
#include "tierup/kernels/gemm/matmul.h"
#include "tierup/kernels/linalg/distance.h"
#include "tierup/kernels/linalg/matrix_function.h"
#include "tierup/kernels/loss/class_loss.h"
#include "tierup/kernels/loss/pointwise_loss.h"
#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/norm/batch_norm.h"
#include "tierup/kernels/norm/layer_norm.h"
#include "tierup/kernels/recurrent/recurrent.h"

namespace tierup::kernels {
namespace {

constexpr ScalarType kFloats[] = {ScalarType::kDouble, ScalarType::kFloat, ScalarType::kHalf,
                                  ScalarType::kBFloat16};

Tensor filled(const IntVector& sizes, ScalarType dtype, double value = 0.5) {
  const Tensor out = Tensor::empty(sizes, dtype);
  fill(out, value);
  return out;
}

// Calls `run(a, b)` for all pairs of dtypes: it must raise where `fits(a, b)` is false, and only
// there.
template <typename Run, typename Fits>
void expect_raises_unless(const char* what, Run run, Fits fits) {
  for (const ScalarType a : kFloats) {
    for (const ScalarType b : kFloats) {
      bool raised = false;
      try {
        run(a, b);
      } catch (const Error& error) {
        raised = true;
        EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument) << what;
      }
      EXPECT_EQ(raised, !fits(a, b)) << what << " " << dtype_name(a) << " " << dtype_name(b);
    }
  }
}

template <typename Run>
void expect_no_promotion(const char* what, Run run) {
  expect_raises_unless(what, run, [](ScalarType a, ScalarType b) { return a == b; });
}

bool is_norm_pair(ScalarType input, ScalarType parameter) {
  const bool is_narrow = input == ScalarType::kHalf || input == ScalarType::kBFloat16;
  return input == parameter || (is_narrow && parameter == ScalarType::kFloat);
}

TEST(SameDtype, NormsTakeParametersOfTheirInputOrFloat32BesideNarrowOnes) {
  const auto one = [](ScalarType dtype) { return filled({3}, dtype); };
  expect_raises_unless(
      "batch_norm",
      [&](ScalarType a, ScalarType b) {
        batch_norm(filled({2, 3, 4}, a), one(b), one(b), one(b), one(b), false, 0.1, 1e-5);
      },
      is_norm_pair);
  expect_raises_unless(
      "batch_norm's statistics",
      [&](ScalarType a, ScalarType b) {
        batch_norm(filled({2, 3, 4}, a), Tensor(), Tensor(), one(b), one(b), false, 0.1, 1e-5);
      },
      is_norm_pair);
  expect_raises_unless(
      "layer_norm",
      [&](ScalarType a, ScalarType b) {
        layer_norm(filled({2, 3}, a), IntVector{3}, one(b), one(b), 1e-5);
      },
      is_norm_pair);
  expect_raises_unless(
      "group_norm",
      [&](ScalarType a, ScalarType b) {
        group_norm(filled({2, 3, 4}, a), 3, one(b), one(b), 1e-5);
      },
      is_norm_pair);
}

TEST(SameDtype, RecurrentNetsDoNotPromote) {
  const auto net = [](ScalarType input, ScalarType state, ScalarType weight) {
    const Tensor hidden = filled({1, 2, 4}, state);
    run_recurrent(filled({3, 2, 5}, input), hidden, hidden,
                  {filled({16, 5}, weight), filled({16, 4}, weight)},
                  {RecurrentKind::kLstm, false, 1, 0, false, nullptr}, false);
  };
  expect_no_promotion("weights", [&](ScalarType a, ScalarType b) { net(a, a, b); });
  expect_no_promotion("states", [&](ScalarType a, ScalarType b) { net(a, b, a); });
  const auto cell = [](ScalarType input, ScalarType state, ScalarType weight, ScalarType bias) {
    gru_cell(filled({2, 5}, input), filled({2, 4}, state), filled({12, 5}, weight),
             filled({12, 4}, weight), filled({12}, bias), filled({12}, bias));
  };
  expect_no_promotion("a cell's weights", [&](ScalarType a, ScalarType b) { cell(a, a, b, a); });
  expect_no_promotion("a cell's state", [&](ScalarType a, ScalarType b) { cell(a, b, a, a); });
  expect_no_promotion("a cell's biases", [&](ScalarType a, ScalarType b) { cell(a, a, a, b); });
}

TEST(SameDtype, SummandsOfProductsAreNotPromoted) {
  expect_no_promotion("addmm", [](ScalarType a, ScalarType b) {
    addmm(filled({2, 2}, a), filled({2, 3}, b), filled({3, 2}, b), 1, 1);
  });
  expect_no_promotion("baddbmm", [](ScalarType a, ScalarType b) {
    baddbmm(filled({1, 2, 2}, a), filled({1, 2, 3}, b), filled({1, 3, 2}, b), 1, 1);
  });
  expect_no_promotion("addmv", [](ScalarType a, ScalarType b) {
    addmv(filled({2}, a), filled({2, 3}, b), filled({3}, b), 1, 1);
  });
}

TEST(SameDtype, LossesAndDistancesDoNotPromote) {
  const Tensor classes = filled({2}, ScalarType::kLong, 1);
  expect_no_promotion("nll_loss", [&](ScalarType a, ScalarType b) {
    nll_loss(filled({2, 3}, a), classes, filled({3}, b), 1, -100);
  });
  expect_no_promotion("cross_entropy_loss", [&](ScalarType a, ScalarType b) {
    cross_entropy_loss(filled({2, 3}, a), classes, filled({3}, b), 1, -100, 0);
  });
  expect_no_promotion("multi_margin_loss", [&](ScalarType a, ScalarType b) {
    multi_margin_loss(filled({2, 3}, a), classes, 1, 1.0, filled({3}, b), 1);
  });
  expect_no_promotion("binary_cross_entropy", [](ScalarType a, ScalarType b) {
    binary_cross_entropy(filled({2}, a), filled({2}, b), Tensor(), 1);
  });
  expect_no_promotion("cdist", [](ScalarType a, ScalarType b) {
    cdist(filled({2, 3}, a), filled({2, 3}, b), 2, std::nullopt);
  });
  expect_no_promotion("cross", [](ScalarType a, ScalarType b) {
    linalg_cross(filled({2, 3}, a), filled({2, 3}, b), 1);
  });
}

TEST(SameDtype, MasksOfAttentionAreFloat32OrOfTheQuerysDtype) {
  expect_raises_unless(
      "attention",
      [](ScalarType a, ScalarType b) {
        const Tensor x = filled({1, 2, 4}, a);
        attention(x, x, x, filled({2, 2}, b), {});
      },
      [](ScalarType a, ScalarType b) { return a == b || b == ScalarType::kFloat; });
}

}  // namespace
}  // namespace tierup::kernels
