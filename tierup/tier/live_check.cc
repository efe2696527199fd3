#include "tierup/tier/live_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tierup/kernels/complex_views.h"
#include "tierup/kernels/copy.h"
#include "tierup/tier/first_node.h"
#include "tierup/tier/silent_context.h"

namespace tierup::tier {
namespace {

std::string shape_text(const Tensor& tensor) {
  return fmt::format("{}[{}]", dtype_name(tensor.dtype()), fmt::join(tensor.sizes(), ", "));
}

std::vector<double> numbers(const Tensor& tensor) {
  const Tensor wide = kernels::contiguous(kernels::to_dtype(tensor, ScalarType::kDouble));
  const auto* data = wide.data<double>();
  return {data, data + wide.numel()};
}

std::optional<std::string> tensor_difference(const Tensor& expected, const Tensor& got) {
  if (expected.dtype() != got.dtype() ||
      !std::equal(expected.sizes().begin(), expected.sizes().end(), got.sizes().begin(),
                  got.sizes().end())) {
    return fmt::format("{} instead of {}", shape_text(got), shape_text(expected));
  }
  if (is_complex(expected.dtype())) {
    return tensor_difference(kernels::view_as_real(expected), kernels::view_as_real(got));
  }
  const std::vector<double> want = numbers(expected);
  const std::vector<double> have = numbers(got);
  double largest = 0;
  for (const double value : want) {
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  }
  const double bound = check_tolerance(expected.dtype()) * largest;
  for (size_t i = 0; i < want.size(); ++i) {
    const bool same = want[i] == have[i] || (std::isnan(want[i]) && std::isnan(have[i])) ||
                      std::abs(want[i] - have[i]) <= bound;
    if (!same) {
      return fmt::format("element {} of {} is {} instead of {}", i, shape_text(expected), have[i],
                         want[i]);
    }
  }
  return std::nullopt;
}

std::optional<std::string> items_difference(const std::vector<IValue>& expected,
                                            const std::vector<IValue>& got) {
  if (expected.size() != got.size()) {
    return fmt::format("{} items instead of {}", got.size(), expected.size());
  }
  for (size_t i = 0; i < expected.size(); ++i) {
    if (auto difference = first_difference(expected[i], got[i])) {
      return fmt::format("[{}]: {}", i, *difference);
    }
  }
  return std::nullopt;
}

}  // namespace

double check_tolerance(ScalarType dtype) {
  switch (dtype) {
    case ScalarType::kFloat:
    case ScalarType::kComplexFloat: return 1e-3;
    case ScalarType::kDouble:
    case ScalarType::kComplexDouble: return 1e-9;
    case ScalarType::kHalf: return 1e-2;
    case ScalarType::kBFloat16: return 5e-2;
    default: return 0;
  }
}

std::optional<std::string> first_difference(const IValue& expected, const IValue& got) {
  if (expected.tag() != got.tag()) return "a value of another kind";
  switch (expected.tag()) {
    case IValue::Tag::kTensor: return tensor_difference(expected.to_tensor(), got.to_tensor());
    case IValue::Tag::kTuple:
      return items_difference(expected.to_tuple().items, got.to_tuple().items);
    case IValue::Tag::kList: return items_difference(expected.to_list().items, got.to_list().items);
    case IValue::Tag::kInt:
    case IValue::Tag::kBool:
    case IValue::Tag::kStr:
      if (values_equal(expected, got)) return std::nullopt;
      return fmt::format("{} instead of {}", to_text(got), to_text(expected));
    case IValue::Tag::kFloat: {
      const double want = expected.to_float();
      const double have = got.to_float();
      if (want == have || (std::isnan(want) && std::isnan(have)) ||
          std::abs(want - have) <= 1e-3 * std::abs(want)) {
        return std::nullopt;
      }
      return fmt::format("{} instead of {}", have, want);
    }
    default: return std::nullopt;  // Objects, dicts and futures are not compared.
  }
}

LiveCheck::LiveCheck(runtime::Program& program, runtime::Program::PlanSlot& slot,
                     Ref<const InstalledPlan> plan, const Ref<ObjectValue>& self,
                     std::span<const IValue> args, const ops::RunContext& context)
    : program_(program), slot_(slot), plan_(std::move(plan)), policy_(context.policy) {
  for (const IValue& arg : args) {
    const bool is_self = self && arg.is_object() && arg.object_ref() == self;
    args_.push_back(is_self ? arg : deep_copy(arg));
  }
}

IValue LiveCheck::run(const runtime::Plan& plan, runtime::StepObserver* observer) const {
  std::vector<IValue> args = args_;
  SilentContext silent(policy_);
  auto state = make_ref<runtime::RunState>();
  state->observer = observer;
  return program_.run_single(plan, args, silent.context(),
                             Ref<const runtime::RunState>(state.get()));
}

std::optional<std::string> LiveCheck::difference() const {
  std::optional<std::string> difference;
  try {
    difference = first_difference(run(program_.plan_of(slot_)), result_);
  } catch (const std::exception& error) {
    difference = fmt::format("tier 0 raised: {}", error.what());
  }
  if (!difference || !plan_->guard.weights_hold()) return std::nullopt;
  const auto node = first_differing_node(
      program_.plan_of(slot_), *plan_->plan,
      [&](const runtime::Plan& plan, runtime::StepObserver& observer) { run(plan, &observer); });
  if (node) *difference += "; first at " + *node;
  return difference;
}

}  // namespace tierup::tier
