#include "tierup/kernels/net/packed_weights.h"

#include <gtest/gtest.h>

#include "tierup/kernels/net/weight_store.h"

namespace tierup::kernels::net {
namespace {

class PackedWeightsTest : public testing::Test {
 protected:
  static Tensor weight() {
    Tensor made = Tensor::empty(IntVector{kRows, kColumns}, ScalarType::kFloat);
    std::fill_n(made.data<float>(), made.numel(), 1.0F);
    return made;
  }
  static PackedName name(const Tensor& weight, PackedForm form = PackedForm::kPanels,
                         std::vector<float> scale = {}) {
    return {weight, {static_cast<int64_t>(form)}, row_major(IntVector{kRows, kColumns}), scale};
  }
  // As a net would have it; counts what is packed.
  std::shared_ptr<PackedBlock> get(const PackedName& name) {
    return weights_.get(name, [&](char* to) {
      ++packed_;
      std::copy_n(static_cast<const char*>(name.weight.raw()), name.weight.bytes(), to);
      return SpareWeight();
    });
  }

  static constexpr int64_t kRows = 8;
  static constexpr int64_t kColumns = 16;
  PackedWeights weights_;
  int packed_ = 0;
};

TEST_F(PackedWeightsTest, OneFormOfAWeightIsPackedOnce) {
  const Tensor given = weight();
  const auto first = get(name(given));
  EXPECT_EQ(get(name(given)), first);
  EXPECT_EQ(packed_, 1);
  EXPECT_NE(get(name(given, PackedForm::kRowPanels)), first);
  EXPECT_NE(get(name(given, PackedForm::kPanels, {2})), first);
  EXPECT_NE(get(name(weight())), first);
  EXPECT_EQ(packed_, 4);
}

TEST_F(PackedWeightsTest, AWeightThatWasWrittenIsPackedAnew) {
  const Tensor given = weight();
  const auto before = get(name(given));
  given.data<float>()[0] = 7;
  given.storage()->bump_version();
  const auto after = get(name(given));
  EXPECT_EQ(reinterpret_cast<const float*>(before->data())[0], 1);
  EXPECT_EQ(reinterpret_cast<const float*>(after->data())[0], 7);
}

TEST_F(PackedWeightsTest, TheLastReaderTakesTheFormWithIt) {
  const Tensor given = weight();
  const uint32_t readers = given.storage().get()->use_count();
  get(name(given));
  EXPECT_EQ(given.storage().get()->use_count(), readers);
  get(name(given));
  EXPECT_EQ(packed_, 2);
}

TEST_F(PackedWeightsTest, StoresThatHaveOneBlockHoldTheirSharesOfIt) {
  const Tensor given = weight();
  WeightStore first;
  WeightStore second;
  const memory::desc layout = name(given).layout;
  const auto fill = [](char*) { return SpareWeight(); };
  const auto block = first.get(0, layout, name(given), fill);
  EXPECT_EQ(first.bytes(), given.bytes());
  EXPECT_EQ(second.get(7, layout, name(given), fill), block);
  EXPECT_EQ(first.bytes() + second.bytes(), given.bytes());
  // Without a name it is the store's own.
  EXPECT_NE(second.get(8, layout, std::nullopt, fill), block);
  EXPECT_EQ(second.bytes(), given.bytes() / 2 + given.bytes());
}

}  // namespace
}  // namespace tierup::kernels::net
