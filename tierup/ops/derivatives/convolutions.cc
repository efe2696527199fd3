// Convolutions: the gradients of one are convolutions.
#include <algorithm>

#include "tierup/ops/derivatives/tables.h"
#include "tierup/ops/derivatives/term.h"

namespace tierup::ops::derivatives {
namespace {

// The numbers of all spatial dimensions, for one that may stand for all.
IntVector per_dimension(GradContext& c, const char* name) {
  const IntVector given = c.ints_of(name);
  const auto rank = static_cast<size_t>(c.rank("weight") - 2);
  return given.size() == rank ? given : IntVector(rank, given.empty() ? 0 : given[0]);
}

void convolution(GradContext& c) {
  const GradArg bias_sizes = c.is_tensor("bias") ? GradArg(c.shape("bias")) : GradArg(nullptr);
  const std::vector<GradValue> made =
      c.ops(3, "aten::convolution_backward", c.grad(), c.arg(0), c.arg(1), bias_sizes,
            per_dimension(c, "stride"), per_dimension(c, "padding"), per_dimension(c, "dilation"),
            c.bool_of("transposed"), per_dimension(c, "output_padding"), c.int_of("groups"),
            flags({c.wants(0), c.wants(1), c.wants(2)}));
  c.give(0, [&] { return made[0]; });
  c.give(1, [&] { return made[1]; });
  c.give(2, [&] { return made[2]; });
}

// The call as the one convolution; an input without a batch gets one.
Term convolved(GradContext& c, const Term& input, const IntVector& padding, bool transposed,
               const IntVector& output_padding) {
  const bool unbatched = c.rank(0) == c.rank("weight") - 1;
  const Term images = unbatched ? unsqueeze(input, 0) : input;
  const Term made = images.then("aten::convolution", arg(c, "weight"), optional(c, "bias"),
                                per_dimension(c, "stride"), padding, per_dimension(c, "dilation"),
                                transposed, output_padding, c.int_of("groups"));
  return unbatched ? squeeze(made, 0) : made;
}
void conv(GradContext& c) {
  const IntVector none(static_cast<size_t>(c.rank("weight") - 2), 0);
  c.set_result(0, convolved(c, arg(c, 0), per_dimension(c, "padding"), false, none));
}
void conv_transpose(GradContext& c) {
  c.set_result(0, convolved(c, arg(c, 0), per_dimension(c, "padding"), true,
                            per_dimension(c, "output_padding")));
}
// "same": what is odd is padded at the end.
void conv_mode(GradContext& c) {
  const auto rank = static_cast<size_t>(c.rank("weight") - 2);
  const IntVector none(rank, 0);
  if (c.string_of("padding") == "valid")
    return c.set_result(0, convolved(c, arg(c, 0), none, false, none));
  const IntVector dilation = per_dimension(c, "dilation");
  IntVector padding(rank, 0);
  IntVector extra;
  for (size_t i = rank; i-- > 0;) {
    const int64_t total = dilation[i] * (c.shape("weight")[i + 2] - 1);
    padding[i] = total / 2;
    extra.push_back(0);
    extra.push_back(total % 2);
  }
  Term input = arg(c, 0);
  if (std::any_of(extra.begin(), extra.end(), [](int64_t e) { return e != 0; }))
    input = input.then("aten::constant_pad_nd", extra, 0);
  c.set_result(0, convolved(c, input, padding, false, none));
}
void conv_tbc(GradContext& c) {
  const Term images = arg(c, 0).then("aten::permute", IntVector{1, 2, 0});
  const Term kernel = arg(c, 1).then("aten::permute", IntVector{2, 1, 0});
  const Term made = images.then("aten::convolution", kernel, arg(c, 2), IntVector{1},
                                IntVector{c.int_of("pad")}, IntVector{1}, false, IntVector{0}, 1);
  c.set_result(0, made.then("aten::permute", IntVector{2, 0, 1}));
}

// dx, dw and db are convolutions of grad (0), input (1) and weight (2).
void convolution_backward(GradContext& c) {
  const IntVector stride = c.ints_of("stride");
  const IntVector padding = c.ints_of("padding");
  const IntVector dilation = c.ints_of("dilation");
  const bool transposed = c.bool_of("transposed");
  const IntVector output_padding = c.ints_of("output_padding");
  const int64_t groups = c.int_of("groups");
  const auto forward = [&](const Term& x, const Term& w) {
    return x.then("aten::convolution", w, nullptr, stride, padding, dilation, transposed,
                  output_padding, groups);
  };
  const auto backward = [&](const Term& x, const Term& w, bool wants_input) {
    const std::vector<GradValue> made =
        c.ops(3, "aten::convolution_backward", c.arg(0), x.operator GradValue(),
              w.operator GradValue(), nullptr, stride, padding, dilation, transposed,
              output_padding, groups, flags({wants_input, !wants_input, false}));
    return Term(c, made[wants_input ? 0 : 1]);
  };
  c.give(0, [&] {
    Term sum(c, GradValue());
    if (c.has_grad(0)) sum = sum + forward(grad(c, 0), arg(c, 2));
    if (c.has_grad(1)) sum = sum + forward(arg(c, 1), grad(c, 1));
    if (c.has_grad(2)) {
      IntVector sizes(static_cast<size_t>(c.rank(0)), 1);
      sizes[1] = c.size(0, 1);
      sum = sum + reshape(grad(c, 2), sizes).then("aten::expand", c.sizes(0));
    }
    return sum;
  });
  c.give(1, [&] { return c.has_grad(1) ? backward(arg(c, 1), grad(c, 1), true) : grad(c, 1); });
  c.give(2, [&] { return c.has_grad(0) ? backward(grad(c, 0), arg(c, 2), false) : grad(c, 0); });
}

void im2col(GradContext& c) {
  c.give(0, [&] {
    const int64_t rank = c.rank(0);
    const IntVector size{c.size(0, rank - 2), c.size(0, rank - 1)};
    return grad(c).then("aten::col2im", size, c.ints_of(1), c.ints_of(2), c.ints_of(3),
                        c.ints_of(4));
  });
}
void col2im(GradContext& c) {
  c.give(0, [&] {
    return grad(c).then("aten::im2col", c.ints_of(2), c.ints_of(3), c.ints_of(4), c.ints_of(5));
  });
}

constexpr auto kDecomposed = DerivativeKind::kDecomposition;

constexpr DerivativeRow kRows[] = {
    {"aten::convolution", &convolution},
    {"aten::_convolution", &convolution},
    {"aten::_convolution.deprecated", &convolution},
    {"aten::conv1d", kDecomposed, &conv},
    {"aten::conv2d", kDecomposed, &conv},
    {"aten::conv3d", kDecomposed, &conv},
    {"aten::conv1d.padding", kDecomposed, &conv_mode},
    {"aten::conv2d.padding", kDecomposed, &conv_mode},
    {"aten::conv3d.padding", kDecomposed, &conv_mode},
    {"aten::_convolution_mode", kDecomposed, &conv_mode},
    {"aten::conv_transpose1d", kDecomposed, &conv_transpose},
    {"aten::conv_transpose2d.input", kDecomposed, &conv_transpose},
    {"aten::conv_transpose3d.input", kDecomposed, &conv_transpose},
    {"aten::conv_tbc", kDecomposed, &conv_tbc},
    {"aten::convolution_backward", &convolution_backward},
    {"aten::im2col", &im2col},
    {"aten::col2im", &col2im},
};

}  // namespace

std::span<const DerivativeRow> convolutions_derivatives() { return kRows; }

}  // namespace tierup::ops::derivatives
