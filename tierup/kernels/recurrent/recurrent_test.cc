#include "tierup/kernels/recurrent/recurrent.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tierup/kernels/memory/small_tensors.h"

namespace tierup::kernels {
namespace {

TEST(Recurrent, RefusesMoreLayersThanParametersMake) {
  const std::vector<Tensor> params = {counted({2, 3}), counted({2, 2}), counted({2}), counted({2})};
  // The last one's four parameters for each are four in 64 bits.
  for (const int64_t layers : {int64_t{0}, INT64_MIN, INT64_MAX, (int64_t{1} << 62) + 1}) {
    for (const bool bidirectional : {false, true}) {
      RecurrentOptions options{.kind = RecurrentKind::kTanh};
      options.num_layers = layers;
      options.bidirectional = bidirectional;
      EXPECT_EQ(
          message_of([&] {
            run_recurrent(counted({1, 1, 3}), counted({1, 1, 2}), Tensor(), params, options, true);
          }),
          "rnn: 4 parameters do not make " + std::to_string(layers) + " layers");
    }
  }
}

}  // namespace
}  // namespace tierup::kernels
