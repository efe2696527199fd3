// Each reason for which a line of operators is not compiled; those for which a pass leaves an
// operator out are in tests/passes/net_refusals.tir.
#include <cstring>

#include "tierup/ops/regions/neural_net_fixture.h"

namespace tierup::ops {
namespace {

using L = Line;
using net::NetRefusal;

struct Prepared {
  NetRefusal reason = NetRefusal::kNone;
  std::optional<size_t> operation;
};
Prepared refusal_of(NeuralNet& object, std::vector<IValue> inputs) {
  EXPECT_FALSE(object.prepare(inputs, 1));
  const std::vector<RefusedNet> refusals = object.refusals();
  if (refusals.empty()) return {};
  EXPECT_EQ(refusals.size(), 1U);
  EXPECT_EQ(object.step_report().refusal, refusals[0].text());
  return {refusals[0].reason, object.refused_operation()};
}

int point_convolution(Line& line, int input, int64_t channels = 4) {
  return line.convolution(input, numbers({channels, channels, 1, 1}, 1), Tensor(), 1, 0, 1, 1);
}

// Of a convolution and one more operator; which is at fault where one is.
Prepared refusal_behind_convolution(const char* op, std::vector<net::Arg> rest) {
  Line line;
  rest.insert(rest.begin(), L::v(point_convolution(line, 0)));
  const auto object = line.make({line.add(op, std::move(rest))});
  return refusal_of(*object, {numbers({1, 4, 5, 5}, 3)});
}

TEST(NetRefusals, of_arguments) {
  const Prepared found =
      refusal_behind_convolution("aten::adaptive_avg_pool2d", {L::c(ints({3, 3}))});
  EXPECT_EQ(found.reason, NetRefusal::kArguments);
  EXPECT_EQ(found.operation, 1U);
}

TEST(NetRefusals, of_padding) {
  Line line;
  const int y =
      line.add("aten::conv2d.padding",
               {L::v(0), L::c(numbers({4, 4, 1, 1}, 1)), L::c(IValue()), L::c(ints({1, 1})),
                L::c(IValue(std::string("other"))), L::c(ints({1, 1})), L::c(1)});
  const Prepared found = refusal_of(*line.make({y}), {numbers({1, 4, 5, 5}, 3)});
  EXPECT_EQ(found.reason, NetRefusal::kPadding);
  EXPECT_EQ(found.operation, 0U);
}

TEST(NetRefusals, of_factors) {
  Line line;
  const int y = line.add("aten::linear", {L::v(0), L::c(numbers({4, 7}, 1)), L::c(IValue())});
  EXPECT_EQ(refusal_of(*line.make({y}), {numbers({3, 8}, 3)}).reason, NetRefusal::kFactors);
}

TEST(NetRefusals, of_operands_that_both_broadcast) {
  Line line;
  const int other = line.input();
  const int y = line.add("aten::add.Tensor", {L::v(0), L::v(other), L::c(1)});
  EXPECT_EQ(refusal_of(*line.make({y}), {numbers({3, 1}, 3), numbers({1, 4}, 3)}).reason,
            NetRefusal::kBothBroadcast);
}

TEST(NetRefusals, of_shapes_of_attention) {
  Line line;
  const int y = line.add("aten::scaled_dot_product_attention",
                         {L::v(0), L::v(0), L::v(0), L::c(IValue()), L::c(0.0), L::c(false),
                          L::c(IValue()), L::c(false)});
  EXPECT_EQ(refusal_of(*line.make({y}), {numbers({3, 5, 8}, 3)}).reason,
            NetRefusal::kAttentionShapes);
}

TEST(NetRefusals, of_a_fill_with_more_places_than_are_filled) {
  Line line;
  const int mask = line.input();
  const int y = point_convolution(line, 0);
  const int z = line.add("aten::masked_fill.Scalar", {L::v(y), L::v(mask), L::c(-1.0)});
  const Tensor none = Tensor::empty(IntVector{2, 4, 5, 5}, ScalarType::kBool);
  std::memset(none.raw(), 0, none.bytes());
  const Prepared found = refusal_of(*line.make({z}), {numbers({1, 4, 5, 5}, 3), none});
  EXPECT_EQ(found.reason, NetRefusal::kLooseFill);
  EXPECT_EQ(found.operation, 1U);
}

TEST(NetRefusals, of_no_elements) {
  Line line;
  const auto object = line.make({point_convolution(line, 0)});
  EXPECT_EQ(refusal_of(*object, {numbers({0, 4, 5, 5}, 3)}).reason, NetRefusal::kNoElements);
}

// The convolution's own check of its sizes.
TEST(NetRefusals, of_what_kernels_do_not_take) {
  Line line;
  const auto object = line.make({point_convolution(line, 0)});
  EXPECT_EQ(refusal_of(*object, {numbers({1, 3, 5, 5}, 3)}).reason, NetRefusal::kNotTaken);
}

TEST(NetRefusals, of_an_output_that_is_no_tensor) {
  Line line;
  const int y = point_convolution(line, 0);
  const auto object = line.make({line.add("aten::size.int", {L::v(y), L::c(1)})});
  EXPECT_EQ(refusal_of(*object, {numbers({1, 4, 5, 5}, 3)}).reason, NetRefusal::kNoTensor);
}

TEST(NetRefusals, of_inputs_of_other_kinds) {
  Line line;
  const auto object = line.make({point_convolution(line, 0)});
  EXPECT_EQ(refusal_of(*object, {IValue(std::string("text"))}).reason, NetRefusal::kOtherInputs);
}

void raises(OpCall& /*call*/) { fail(ErrorCode::kInvalidArgument, "planted"); }

TEST(NetRefusals, where_tier_0_raises) {
  Line line;
  const int y = point_convolution(line, 0);
  line.replace_kernel(&raises);
  const auto object = line.make({y});
  EXPECT_EQ(refusal_of(*object, {numbers({1, 4, 5, 5}, 3)}).reason, NetRefusal::kTier0Raises);
}

TEST(NetRefusals, of_gaps) {
  const Prepared found = refusal_behind_convolution("aten::select.int", {L::c(3), L::c(0)});
  EXPECT_EQ(found.reason, NetRefusal::kLeavesGaps);
  EXPECT_EQ(found.operation, 1U);
}

void one_more(OpCall& call) {
  OpTable::instance().find("aten::relu")->kernel()(call);
  const Tensor result = call.results[0].to_tensor();
  for (int64_t i = 0; i < result.numel(); ++i) result.data<float>()[i] += 1;
}

TEST(NetRefusals, of_a_difference_from_tier_0) {
  Line line;
  const int z = line.add("aten::relu", {L::v(point_convolution(line, 0))});
  line.replace_kernel(&one_more);
  const Prepared found = refusal_of(*line.make({z}), {numbers({1, 4, 5, 5}, 3)});
  EXPECT_EQ(found.reason, NetRefusal::kDiffers);
  EXPECT_EQ(found.operation, std::nullopt);
}

TEST(NetRefusals, of_a_failure_on_the_way) {
  class WithoutMemory final : public BackgroundWork {
   public:
    void push(std::function<void()> /*work*/) override { throw std::bad_alloc(); }
  };
  Line line;
  const auto object = line.make({point_convolution(line, 0)});
  WithoutMemory background;
  RunContext context;
  context.background = &background;
  std::vector<IValue> inputs{numbers({1, 4, 5, 5}, 9)};
  for (int i = 0; i < 3; ++i) object->run(inputs, context);
  ASSERT_EQ(object->refusals().size(), 1U) << "it is told once";
  EXPECT_EQ(object->refusals()[0].reason, NetRefusal::kFailed);
}

}  // namespace
}  // namespace tierup::ops
