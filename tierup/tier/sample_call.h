// SampleCall: one call that tier 0 answered, as it came and as it was answered, for a job to run a
// plan on and compare.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "tierup/runtime/program.h"
#include "tierup/runtime/step_observer.h"

namespace tierup::tier {

// Of a function whose plan leaves no trace. Made in the caller's thread, where it copies the
// tensors that go in (the caller may write to them later), but for the module's own; read in jobs.
class SampleCall {
 public:
  SampleCall(std::span<const IValue> args, const Ref<ObjectValue>& self, const ops::Policy& policy);
  // Copies the result, if it can be compared: a future's value may not be there yet.
  void set_result(const IValue& result);
  // Null where there is none to compare with.
  const IValue* result() const { return result_ ? &*result_ : nullptr; }
  std::span<const IValue> args() const { return args_; }
  // What a plan of the same function gives for it, with nobody who hears prints and warnings.
  IValue run(runtime::Program& program, const runtime::Plan& plan,
             runtime::StepObserver* observer = nullptr) const;

 private:
  std::vector<IValue> args_;
  const ops::Policy policy_;
  std::optional<IValue> result_;
};

// Whether an argument is the module that the function is called on: that is never copied.
bool is_called_on(const IValue& arg, const Ref<ObjectValue>& self);

// The bytes of the tensors in it, in lists, tuples and dictionaries too; nothing where it holds
// what is not taken apart (an object).
std::optional<size_t> tensor_bytes(const IValue& value);

}  // namespace tierup::tier
