// Convolutions whose windows ask for another form than an image's, in a net, against the twin.
#include <gtest/gtest.h>

#include "tierup/base/parallel.h"
#include "tierup/kernels/simd/instruction_set_fixture.h"
#include "tierup/ops/regions/neural_net_fixture.h"

namespace tierup::ops {
namespace {

using kernels::InstructionSet;
using kernels::limit_instruction_set;
using L = Line;

class NetOfWindows : public kernels::OnInstructionSet {};

// Each test has geometries of its own per instruction set: nothing is noted of one that was
// measured before.
void expect_as_twin(Line& line, int result, std::vector<IValue> inputs, const std::string& noted) {
  RunContext context;
  const IValue expected = line.make({result})->run(inputs, context)[0];
  const auto net = line.make({result});
  ASSERT_TRUE(net->prepare(inputs, 2)) << ::testing::PrintToString(net->notes());
  const std::vector<std::string> notes = net->notes();
  EXPECT_TRUE(std::any_of(notes.begin(), notes.end(), [&](const std::string& note) {
    return note.find(noted) != std::string::npos;
  })) << ::testing::PrintToString(notes);
  expect_close(expected, net->run(inputs, context)[0]);
  EXPECT_EQ(net->twin_calls(), 0);
}

// Series of many channels, and words of a sentence, as images of one channel.
TEST_P(NetOfWindows, as_wide_as_the_image_move_along_a_line_of_its_rows) {
  struct Form {
    int64_t lines, width, kernel, stride, padding, dilation;
  };
  const ThreadCountScope threads(2);
  for (const Form& f : {Form{50, 24, 6, 1, 0, 1}, Form{130, 40, 3, 1, 2, 1},
                        Form{60, 17, 4, 2, 1, 3}, Form{210, 5, 3, 1, 0, 1}}) {
    SCOPED_TRACE(f.lines);
    const int64_t lines = f.lines + static_cast<int64_t>(GetParam());
    Line line;
    const int y = line.add("aten::conv2d",
                           {L::v(0), L::c(numbers({20, 1, f.kernel, f.width}, 1, 0.3F)),
                            L::c(numbers({20}, 2)), L::c(ints({f.stride, 1})),
                            L::c(ints({f.padding, 0})), L::c(ints({f.dilation, 1})), L::c(1)});
    const int r = line.add("aten::relu", {L::v(y)});
    expect_as_twin(line, r, {numbers({3, 1, lines, f.width}, 3)},
                   "convolution " + std::to_string(f.width) + "x" + std::to_string(lines) + "x1 ");
  }
}

// Attention to places: two planes of statistics give one of weights.
TEST_P(NetOfWindows, over_a_few_channels_that_give_fewer) {
  const ThreadCountScope threads(2);
  for (const int64_t in : {2, 5}) {
    for (const int64_t out : {1, 3}) {
      for (const int64_t stride : {1, 2}) {
        SCOPED_TRACE(in * 100 + out * 10 + stride);
        const int64_t lines = 33 + static_cast<int64_t>(GetParam());
        Line line;
        const int y = line.convolution(0, numbers({out, in, 7, 7}, 1, 0.2F), numbers({out}, 2),
                                       stride, 3, 1, 1);
        const int s = line.add("aten::sigmoid", {L::v(y)});
        const int r = line.add("aten::add.Tensor", {L::v(s), L::v(line.input()), L::c(1)});
        const int64_t below = (lines - 1) / stride + 1;
        const int64_t beside = (25 - 1) / stride + 1;
        expect_as_twin(line, r,
                       {numbers({3, in, lines, 25}, 3), numbers({3, out, below, beside}, 4)},
                       "planes ");
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sets, NetOfWindows,
                         ::testing::Values(InstructionSet::kBase, InstructionSet::kAvx2,
                                           InstructionSet::kAvx512));

}  // namespace
}  // namespace tierup::ops
