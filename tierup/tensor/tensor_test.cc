#include "tierup/tensor/tensor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tierup/tensor/ivalue.h"

namespace tierup {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

TEST(Tensor, ANumberHasNoSizesToAskFor) {
  const Tensor number = Tensor::scalar(Scalar(1.0));
  EXPECT_THROW(number.size(0), Error);
  EXPECT_THROW(number.size(-1), Error);
  EXPECT_THROW(number.stride(0), Error);
}

// Also at the ends of 64 bits, where the largest number is no double, and for what is no number.
TEST(Scalar, BecomesAnElementOnlyWhereTheTypeReachesIt) {
  const double two63 = 9223372036854775808.0;
  EXPECT_EQ(Scalar(-two63).to<int64_t>(), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(Scalar(two63).to<uint64_t>(), uint64_t{1} << 63);
  EXPECT_EQ(Scalar(2147483647.0).to<int32_t>(), 2147483647);
  EXPECT_EQ(Scalar(-3.9).to<int8_t>(), -3);
  EXPECT_EQ(Scalar(-255).to<uint8_t>(), 1);
  for (const double v : {two63, 1e300, -1e300, kInf, -kInf, std::nan("")}) {
    EXPECT_THROW(Scalar(v).to<int64_t>(), Error) << v;
    EXPECT_THROW(Scalar(v).to_int(), Error) << v;
    EXPECT_THROW(Scalar(v).to<uint8_t>(), Error) << v;
  }
  EXPECT_THROW(Scalar(2 * two63).to<uint64_t>(), Error);
  EXPECT_THROW(Scalar(2147483648.0).to<int32_t>(), Error);
  EXPECT_THROW(Scalar(128).to<int8_t>(), Error);
  EXPECT_THROW(Scalar(-256).to<uint8_t>(), Error);
  EXPECT_THROW(Scalar(1e300).to<float>(), Error);
  EXPECT_THROW(Scalar(complex128(1, 2)).to<int64_t>(), Error);
  EXPECT_EQ(Scalar(kInf).to<float>(), std::numeric_limits<float>::infinity());
}

TEST(Tensor, EmptyIsContiguousAndAligned) {
  const Tensor t = Tensor::empty(IntVector{2, 3}, ScalarType::kFloat);
  EXPECT_TRUE(t.is_contiguous());
  EXPECT_EQ(t.numel(), 6);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(t.raw()) % 64, 0U);
}

// Addresses of views are computed from a storage's, also where it has no bytes.
TEST(Tensor, ViewsOfNothingHaveAddresses) {
  const Tensor empty = Tensor::empty(IntVector{0, 4}, ScalarType::kFloat);
  const Tensor column = empty.as_view(IntVector{0}, IntVector{4}, 3);
  ASSERT_NE(empty.raw(), nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(empty.raw()) % 64, 0U);
  EXPECT_EQ(column.data<float>(), empty.data<float>() + 3);
  const Ref<Storage> grown = Storage::allocate(0);
  grown->resize(8);
  static_cast<char*>(grown->data())[7] = 1;
  grown->resize(0);
  EXPECT_NE(Storage::borrow(nullptr, 0, {})->data(), nullptr);
  const Device meta{DeviceType::kMeta};
  EXPECT_EQ(Storage::borrow(nullptr, 0, {}, meta)->data(), nullptr);
}

TEST(Tensor, ChannelsLastIsSuggestedBack) {
  const Tensor t =
      Tensor::empty(IntVector{2, 3, 4, 5}, ScalarType::kFloat, MemoryFormat::kChannelsLast);
  EXPECT_FALSE(t.is_contiguous());
  EXPECT_TRUE(t.is_contiguous(MemoryFormat::kChannelsLast));
  EXPECT_EQ(t.suggest_memory_format(), MemoryFormat::kChannelsLast);
  EXPECT_TRUE(t.is_non_overlapping_and_dense());
}

TEST(Tensor, RefusesStridesOutsideTheStorage) {
  const Tensor t = Tensor::empty(IntVector{4}, ScalarType::kFloat);
  EXPECT_THROW(t.as_view(IntVector{2, 3}, IntVector{2, 1}, 0), Error);
  EXPECT_THROW(t.as_view(IntVector{4}, IntVector{-1}, 0), Error);
  EXPECT_THROW(t.as_view(IntVector{2}, IntVector{INT64_MAX}, 0), Error);
  EXPECT_NO_THROW(t.as_view(IntVector{2, 2}, IntVector{2, 1}, 0));
}

TEST(Tensor, ViewStridesFollowContiguousRuns) {
  const IntVector sizes{2, 3, 4};
  const IntVector strides{12, 4, 1};
  const auto as_span = [](const IntVector& v) { return IntSpan(v.data(), v.size()); };
  EXPECT_EQ(*view_strides(as_span(sizes), as_span(strides), IntVector{6, 4}), (IntVector{4, 1}));
  EXPECT_FALSE(view_strides(IntVector{3, 2}, IntVector{1, 3}, IntVector{6}).has_value());
  EXPECT_EQ(*view_strides(IntVector{}, IntVector{}, IntVector{1, 1}), (IntVector{1, 1}));
}

TEST(Tensor, PromotionFollowsCategories) {
  EXPECT_EQ(promote_types(ScalarType::kByte, ScalarType::kChar), ScalarType::kShort);
  EXPECT_EQ(promote_types(ScalarType::kLong, ScalarType::kHalf), ScalarType::kHalf);
  EXPECT_EQ(promote_types(ScalarType::kHalf, ScalarType::kBFloat16), ScalarType::kFloat);
  EXPECT_EQ(promote_types(ScalarType::kComplexFloat, ScalarType::kDouble),
            ScalarType::kComplexDouble);
  EXPECT_EQ(promote_types(ScalarType::kDouble, ScalarType::kComplexDouble),
            ScalarType::kComplexDouble);
  EXPECT_EQ(promote_types(ScalarType::kComplexHalf, ScalarType::kHalf), ScalarType::kComplexHalf);
}

TEST(Tensor, HalfRoundsToNearestEven) {
  EXPECT_EQ(Half(65504.0F).bits, 0x7bff);
  EXPECT_EQ(Half(65520.0F).bits, 0x7c00);
  EXPECT_EQ(Half(5.9604645e-8F).bits, 0x0001);
  EXPECT_EQ(Half(2.9802322e-8F).bits, 0x0000);
  for (uint32_t bits = 0; bits < 0x7c00; ++bits) {
    Half h;
    h.bits = static_cast<uint16_t>(bits);
    ASSERT_EQ(Half(static_cast<float>(h)).bits, bits);
  }
}

TEST(IValue, TextIsTorchScripts) {
  EXPECT_EQ(to_text(IValue(1.0)), "1.");
  EXPECT_EQ(to_text(IValue(0.1)), "0.10000000000000001");
  EXPECT_EQ(to_text(IValue(1e20)), "1e+20");
  EXPECT_EQ(to_text(make_tuple({IValue(1)})), "(1,)");
  EXPECT_EQ(to_text(make_int_list(IntVector{1, 2})), "[1, 2]");
}

TEST(IValue, DeeplyNestedValuesAreReleased) {
  IValue list = make_ref<ListValue>(Type::any());
  IValue tuple(1);
  IValue dict = make_ref<DictValue>(Type::str(), Type::any());
  for (int i = 0; i < 200000; ++i) {
    list = make_ref<ListValue>(Type::any(), std::vector<IValue>{list});
    tuple = make_tuple({tuple, IValue(1)});
    auto next = make_ref<DictValue>(Type::str(), Type::any());
    next->set(IValue(1), dict);
    dict = next;
  }
  const IValue kept = list.to_list().items[0];
  list = IValue();
  EXPECT_EQ(kept.to_list().items.size(), 1U);
}

TEST(IValue, DictKeepsInsertionOrderOverErasure) {
  auto dict = make_ref<DictValue>(Type::str(), Type::integer());
  for (int i = 0; i < 40; ++i) dict->set(IValue(std::to_string(i)), IValue(i));
  for (int i = 0; i < 40; i += 2) dict->erase(IValue(std::to_string(i)));
  for (int i = 0; i < 30; i += 2) dict->erase(IValue(std::to_string(i + 1)));
  dict->set(IValue("x"), IValue(1));
  const auto entries = dict->entries();
  ASSERT_EQ(entries.size(), dict->size());
  EXPECT_EQ(entries.back().first.to_str(), "x");
  for (const auto& [key, item] : entries) EXPECT_EQ(dict->find(key)->to_int(), item.to_int());
}

TEST(IValue, DeepCopyKeepsSharedStorage) {
  const Tensor base = Tensor::empty(IntVector{4}, ScalarType::kFloat);
  const Tensor view = base.as_view(IntVector{2}, IntVector{1}, 2);
  const IValue copy = deep_copy(make_tuple({base, view, base}));
  const auto& items = copy.to_tuple().items;
  EXPECT_EQ(items[0].to_tensor().storage(), items[1].to_tensor().storage());
  EXPECT_TRUE(items[0].is_same(items[2]));
  EXPECT_NE(items[0].to_tensor().storage(), base.storage());
}

TEST(Type, SubtypesFollowTheFormat) {
  const TypePtr opt_int = Type::optional(Type::integer());
  EXPECT_TRUE(is_subtype(Type::integer(), opt_int));
  EXPECT_FALSE(is_subtype(Type::list(Type::integer()), Type::list(opt_int)));
  EXPECT_FALSE(is_subtype(Type::integer(), Type::floating()));
  EXPECT_FALSE(is_subtype(Type::boolean(), Type::number()));
  EXPECT_EQ(unify(Type::none(), Type::integer())->to_string(), "Optional[int]");
  EXPECT_EQ(unify(Type::integer(), Type::floating()), nullptr);
}

TEST(DictKeys, TuplesAreFoundByTheirItems) {
  const auto key = [](int64_t a, const char* b) { return make_tuple({IValue(a), IValue(b)}); };
  const auto dict = make_ref<DictValue>(Type::any(), Type::any());
  dict->set(key(1, "x"), IValue(10));
  dict->set(key(2, "x"), IValue(20));
  dict->set(key(1, "x"), IValue(30));
  EXPECT_EQ(dict->entries().size(), 2U);
  ASSERT_NE(dict->find(key(1, "x")), nullptr);
  EXPECT_EQ(dict->find(key(1, "x"))->to_int(), 30);
  EXPECT_EQ(dict->find(key(1, "y")), nullptr);
  EXPECT_EQ(dict->find(make_tuple({IValue(1)})), nullptr);
  EXPECT_TRUE(dict->erase(key(2, "x")));
}

}  // namespace
}  // namespace tierup
