#include "tierup/tier/sample_call.h"

#include <algorithm>

#include "tierup/tensor/comparison.h"
#include "tierup/tier/silent_context.h"

namespace tierup::tier {

SampleCall::SampleCall(std::span<const IValue> args, const Ref<ObjectValue>& self,
                       const ops::Policy& policy)
    : policy_(policy) {
  for (const IValue& arg : args) args_.push_back(is_called_on(arg, self) ? arg : deep_copy(arg));
}

void SampleCall::set_result(const IValue& result) {
  if (is_comparable(result)) result_ = deep_copy(result);
}

IValue SampleCall::run(runtime::Program& program, const runtime::Plan& plan,
                       runtime::StepObserver* observer) const {
  std::vector<IValue> args = args_;
  SilentContext silent(policy_);
  auto state = make_ref<runtime::RunState>();
  state->observer = observer;
  return program.run_single(plan, args, silent.context(),
                            Ref<const runtime::RunState>(state.get()));
}

bool is_called_on(const IValue& arg, const Ref<ObjectValue>& self) {
  return self && arg.is_object() && arg.object_ref() == self;
}

std::optional<size_t> tensor_bytes(const IValue& value) {
  size_t total = 0;
  const auto add = [&](const IValue& item) {
    const std::optional<size_t> bytes = tensor_bytes(item);
    total += bytes.value_or(0);
    return bytes.has_value();
  };
  bool is_known = true;
  switch (value.tag()) {
    case IValue::Tag::kTensor: return value.to_tensor().bytes();
    case IValue::Tag::kList: is_known = std::ranges::all_of(value.to_list().items, add); break;
    case IValue::Tag::kTuple: is_known = std::ranges::all_of(value.to_tuple().items, add); break;
    case IValue::Tag::kDict:
      is_known = std::ranges::all_of(value.to_dict().entries(), [&](const DictValue::Entry& entry) {
        return add(entry.first) && add(entry.second);
      });
      break;
    default: is_known = !value.is_object() && !value.is_capsule(); break;
  }
  return is_known ? std::optional(total) : std::nullopt;
}

}  // namespace tierup::tier
