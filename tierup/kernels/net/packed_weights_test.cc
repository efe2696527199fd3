#include "tierup/kernels/net/packed_weights.h"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

#include "tierup/base/parallel.h"
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
    if (auto known = weights_.find(name)) return known;
    auto made = std::make_shared<PackedBlock>(name.weight.bytes(), name);
    made->fill([&](char* to) {
      ++packed_;
      std::copy_n(static_cast<const char*>(name.weight.raw()), name.weight.bytes(), to);
      return SpareWeight();
    });
    weights_.add(made);
    return made;
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

TEST_F(PackedWeightsTest, StoragesThatBorrowOneMemoryAreTwoWeights) {
  const Tensor given = weight();
  const auto borrowed = [&] {
    return Tensor::from_storage(Storage::borrow(given.raw(), given.bytes(), nullptr),
                                ScalarType::kFloat, given.sizes(), given.strides(), 0);
  };
  const auto before = get(name(borrowed()));
  given.data<float>()[0] = 7;
  EXPECT_NE(get(name(borrowed())), before);
}

TEST_F(PackedWeightsTest, TheLastReaderTakesTheFormWithIt) {
  const Tensor given = weight();
  const uint32_t readers = given.storage().get()->use_count();
  get(name(given));
  EXPECT_EQ(given.storage().get()->use_count(), readers);
  get(name(given));
  EXPECT_EQ(packed_, 2);
}

class WeightStores : public PackedWeightsTest {
 protected:
  // Counts what is packed, on any thread.
  WeightStore::Memory get(WeightStore& store, int id, std::optional<PackedName> name) {
    return store.get_later(id, layout_, std::move(name), [this](char* to) {
      ++filled_;
      std::fill_n(to, layout_.get_size(), '\1');
      return SpareWeight();
    });
  }

  const memory::desc layout_ = row_major(IntVector{kRows, kColumns});
  std::atomic<int> filled_{0};
};

TEST_F(WeightStores, ThatHaveOneBlockHoldTheirSharesOfIt) {
  const Tensor given = weight();
  WeightStore first;
  WeightStore second;
  const auto block = get(first, 0, name(given));
  first.fill_pending();
  EXPECT_EQ(block[0], '\1');
  EXPECT_EQ(first.bytes(), given.bytes());
  EXPECT_EQ(get(second, 7, name(given)), block);
  EXPECT_EQ(first.bytes() + second.bytes(), given.bytes());
  // Without a name it is the store's own.
  EXPECT_NE(get(second, 8, std::nullopt), block);
  second.fill_pending();
  EXPECT_EQ(second.bytes(), given.bytes() / 2 + given.bytes());
  EXPECT_EQ(filled_, 2);
}

TEST_F(WeightStores, PackWhatIsPendingOnceOnAllThreads) {
  const ThreadCountScope threads(2);
  const Tensor given = weight();
  WeightStore store;
  std::vector<WeightStore::Memory> blocks;
  for (int id = 0; id < 20; ++id) blocks.push_back(get(store, id, name(weight())));
  const auto first = get(store, 20, name(given));
  EXPECT_EQ(get(store, 21, name(given)), first);
  EXPECT_EQ(get(store, 20, name(given)), first);
  EXPECT_EQ(filled_, 0);
  store.fill_pending();
  EXPECT_EQ(filled_, 21);
  for (const auto& block : blocks) EXPECT_EQ(block[kRows * kColumns - 1], '\1');
  EXPECT_EQ(store.bytes(), 21 * given.bytes());
}

TEST_F(WeightStores, HaveNothingOfWhatWasDropped) {
  const Tensor given = weight();
  WeightStore store;
  get(store, 0, name(given));
  store.drop_pending();
  store.fill_pending();
  EXPECT_EQ(filled_, 0);
  EXPECT_EQ(store.bytes(), 0U);
  EXPECT_FALSE(store.known_layout(0));
  WeightStore other;
  get(other, 0, name(given));
  other.fill_pending();
  EXPECT_EQ(filled_, 1);
}

}  // namespace
}  // namespace tierup::kernels::net
