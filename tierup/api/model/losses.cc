#include "tierup/api/model/losses.h"

#include <fmt/ranges.h>

#include <array>

#include "tierup/autodiff/recording_tape.h"
#include "tierup/base/error.h"
#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/random/generator.h"
#include "tierup/ops/table/op_table.h"

namespace tierup::api {
namespace {

constexpr std::array kLosses{
    Loss{.name = "cross_entropy", .op = "aten::cross_entropy_loss", .has_classes = true},
    Loss{.name = "nll", .op = "aten::nll_loss_nd", .has_classes = true},
    Loss{.name = "mse", .op = "aten::mse_loss"},
    Loss{.name = "l1", .op = "aten::l1_loss"},
    Loss{.name = "smooth_l1", .op = "aten::smooth_l1_loss"},
    Loss{.name = "huber", .op = "aten::huber_loss"},
    Loss{
        .name = "bce", .op = "aten::binary_cross_entropy", .has_two_sides = true, .threshold = 0.5},
    Loss{.name = "bce_with_logits",
         .op = "aten::binary_cross_entropy_with_logits",
         .has_two_sides = true},
    Loss{.name = "output"}};

Tensor call_row(std::string_view name, std::vector<IValue> args, bool gradients) {
  const ops::Op& op = *ops::OpTable::instance().find(name);
  for (size_t i = args.size(); i < op.schema().arguments.size(); ++i) {
    args.push_back(*op.schema().arguments[i].default_value);
  }
  std::vector<IValue> results(op.schema().returns.size());
  autodiff::RecordingTape tape;
  kernels::Generator generator;
  ops::RunContext context;
  context.generator = &generator;
  ops::OpCall call{args, results, context};
  if (gradients) {
    context.tape = &tape;
    context.policy.grad_mode = true;
    tape.call(op, call, nullptr);
  } else {
    op.kernel()(call);
  }
  return results[0].to_tensor();
}

const float* floats(const Tensor& tensor, Tensor& kept) {
  kept = kernels::contiguous(kernels::to_dtype(tensor, ScalarType::kFloat));
  return kept.data<float>();
}

// Outputs [N, C, ...] or [C], targets [N, ...] or [].
Decisions count_classes(const Tensor& output, const Tensor& target) {
  const int64_t rows = output.dim() > 1 ? output.size(0) : 1;
  const int64_t classes = output.size(output.dim() > 1 ? 1 : 0);
  const int64_t places = output.numel() / std::max<int64_t>(1, rows * classes);
  if (is_floating(target.dtype()) || target.numel() != rows * places) return {};
  Tensor kept;
  const float* scores = floats(output, kept);
  const Tensor labels = kernels::contiguous(kernels::to_dtype(target, ScalarType::kLong));
  Decisions decisions;
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t p = 0; p < places; ++p) {
      const int64_t label = labels.data<int64_t>()[r * places + p];
      if (label < 0) continue;  // Ignored.
      const float* at = scores + r * classes * places + p;
      int64_t best = 0;
      for (int64_t c = 1; c < classes; ++c) {
        if (at[c * places] > at[best * places]) best = c;
      }
      decisions.right += best == label ? 1 : 0;
      ++decisions.all;
    }
  }
  return decisions;
}

}  // namespace

const Loss& loss_of(std::string_view name) {
  for (const Loss& loss : kLosses) {
    if (loss.name == name) return loss;
  }
  fail(ErrorCode::kInvalidArgument, "there is no loss '{}'; there are {}", name,
       fmt::join(loss_names(), ", "));
}

std::vector<std::string> loss_names() {
  std::vector<std::string> names;
  for (const Loss& loss : kLosses) names.emplace_back(loss.name);
  return names;
}

Tensor mean_loss(const Loss& loss, const Tensor& output, const Tensor& target, bool gradients) {
  // Indices may be stored narrow.
  const bool are_indices = loss.has_classes && is_integral(target.dtype(), false);
  const Tensor wanted = are_indices ? kernels::to_dtype(target, ScalarType::kLong) : target;
  return call_row(loss.op, {IValue(output), IValue(wanted)}, gradients);
}

Decisions count_right(const Loss& loss, const Tensor& output, const Tensor& target) {
  if (loss.has_classes) return count_classes(output, target);
  if (!loss.has_two_sides || output.numel() != target.numel()) return {};
  Tensor kept;
  Tensor kept_target;
  const float* scores = floats(output, kept);
  const float* wanted = floats(target, kept_target);
  Decisions decisions{0, output.numel()};
  for (int64_t i = 0; i < output.numel(); ++i) {
    const bool says = scores[i] > static_cast<float>(loss.threshold);
    decisions.right += says == (wanted[i] > 0.5F) ? 1 : 0;
  }
  return decisions;
}

}  // namespace tierup::api
