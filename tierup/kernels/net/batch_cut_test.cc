#include "tierup/kernels/net/batch_cut.h"

#include <gtest/gtest.h>

#include "tierup/base/parallel.h"

namespace tierup::kernels::net {
namespace {

constexpr int64_t kMegabyte = 1 << 20;
constexpr MovedBytes::Caches kCaches{kMegabyte, 16 * kMegabyte};

// Layers one behind the other: products of [entries * rows, width] with [width, width].
class Net {
 public:
  Net(int64_t entries, int64_t rows, int64_t width, int layers) : entries_(entries) {
    for (int i = 0; i <= layers; ++i) net_.values.push_back({IntVector{entries * rows, width}});
    for (int i = 0; i < layers; ++i) {
      Layer layer;
      layer.kind = LayerKind::kGemm;
      layer.inputs = {i};
      layer.output = i + 1;
      layer.axis = 1;
      layer.weight = Tensor::empty(IntVector{width, width}, ScalarType::kFloat);
      net_.layers.push_back(std::move(layer));
    }
  }
  MovedBytes moved(int threads, MovedBytes::Caches caches = kCaches) const {
    const ThreadCountScope scope(threads);
    return {net_, entries_, threads, caches, 16};
  }

 private:
  LayerNet net_;
  const int64_t entries_;
};

// 512 KiB for each entry and layer.
TEST(MovedBytes, AreFewestWhereAPiecesLayersStayInACoresOwnCache) {
  const MovedBytes moved = Net(8, 1024, 64, 10).moved(1);
  EXPECT_LT(moved.of_pieces(1), moved.of_whole() / 4);
  EXPECT_LT(moved.of_pieces(1), moved.of_pieces(2) / 4);
}

TEST(MovedBytes, CountAgainBeyondTheCacheThatAllShare) {
  const Net net(64, 1024, 64, 10);
  EXPECT_NEAR(net.moved(1).of_whole(), 2 * net.moved(1, {kMegabyte, 1024 * kMegabyte}).of_whole(),
              1);
}

// 4 MiB of weights for each layer.
TEST(MovedBytes, OfWeightsThatFewRowsReadComeForEachPiece) {
  const MovedBytes moved = Net(8, 1, 1024, 4).moved(1);
  EXPECT_GT(moved.of_pieces(1), 4 * moved.of_whole());
  EXPECT_GT(moved.of_pieces(1), 7 * 4 * 4 * kMegabyte);
}

TEST(MovedBytes, CountWhatThreadsOfAWholeNetWaitForEachOther) {
  const Net net(2, 512, 64, 10);
  EXPECT_LT(net.moved(2).of_pieces(1), net.moved(2).of_whole());
  EXPECT_EQ(net.moved(1).of_whole(), 0);
}

TEST(BatchCut, InputsOfAPieceArePartsOfThoseOfTheBatch) {
  const Tensor batch = Tensor::empty(IntVector{6, 2}, ScalarType::kFloat);
  const Tensor other = Tensor::empty(IntVector{5, 2}, ScalarType::kFloat);
  const std::vector<IValue> inputs{batch, other, IValue(6), make_int_list(IntVector{6, 4})};
  const std::vector<IValue> part = inputs_of({6, 2}, inputs, 1);
  EXPECT_EQ(part[0].to_tensor().raw(), batch.data<float>() + 4);
  EXPECT_EQ(part[0].to_tensor().size(0), 2);
  EXPECT_EQ(part[1].to_tensor().raw(), other.raw());
  EXPECT_EQ(part[2].to_int(), 2);
  EXPECT_EQ(part[3].to_list().items[0].to_int(), 2);
  EXPECT_EQ(part[3].to_list().items[1].to_int(), 4);
}

}  // namespace
}  // namespace tierup::kernels::net
