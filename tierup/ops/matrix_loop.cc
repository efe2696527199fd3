// See matrix_loop.h.
#include "tierup/ops/matrix_loop.h"

namespace tierup::ops {
namespace {

// What is no operator's answer to its arguments, and would only be met again by the twin.
bool stops_a_run(ErrorCode code) {
  return code == ErrorCode::kCancelled || code == ErrorCode::kDeadlineExceeded ||
         code == ErrorCode::kOutOfMemory;
}

class Run {
 public:
  Run(const GroupProgram& program, const CompiledMatrices& kernels, const MatrixPlan& plan,
      std::span<const Tensor> inputs, RunContext& context)
      : program_(program), kernels_(kernels), plan_(plan), inputs_(inputs), context_(context) {
    begins_.resize(program.members.size());
    values_.resize(program.members.size());
    if (plan.scratch_bytes > 0) {
      scratch_ = Tensor::empty(IntVector{plan.scratch_bytes}, ScalarType::kByte);
    }
    for (uint32_t i = 0; i < plan.scratch.size(); ++i) {
      if (plan.scratch[i] >= 0) begins_[i] = static_cast<char*>(scratch_.raw()) + plan.scratch[i];
    }
  }

  void run(std::span<IValue> results) {
    make_outputs();
    for (const MatrixPlan::Step& step : plan_.steps) {
      step.stage->called == MatrixStage::kNoMember ? run_kernel(step) : run_call(step);
    }
    for (size_t i = 0; i < results.size(); ++i) {
      results[i] = IValue(std::move(values_[program_.outputs[i]]));
    }
  }

 private:
  void make_outputs() {
    for (size_t i = 0; i < program_.outputs.size(); ++i) {
      const uint32_t member = program_.outputs[i];
      if (program_.members[member].by_rows) continue;  // Makes its own.
      const MatrixPlan::Output& output = plan_.outputs[i];
      const ScalarType dtype = kernels_.members[member].dtype;
      values_[member] = output.is_contiguous
                            ? Tensor::empty(output.sizes, dtype)
                            : Tensor::empty_strided(output.sizes, output.strides, dtype);
      begins_[member] = static_cast<char*>(values_[member].raw());
    }
  }

  void run_kernel(const MatrixPlan::Step& step) {
    SmallVector<char*, 24> data;
    for (const MatrixPlan::Place& place : step.places) {
      char* begin =
          place.is_input ? static_cast<char*>(inputs_[place.index].raw()) : begins_[place.index];
      data.push_back(begin + place.offset);
    }
    step.stage->function(data.data(), step.strides.data(), step.sizes.data());
  }

  void run_call(const MatrixPlan::Step& step) {
    const uint32_t index = step.stage->called;
    const GroupMember& member = program_.members[index];
    SmallVector<IValue, 8> arguments;
    for (size_t i = 0; i < member.arguments.size(); ++i) {
      arguments.push_back(argument_of(member.arguments[i], step.arguments[i]));
    }
    IValue result;
    OpCall call{{arguments.data(), arguments.size()}, {&result, 1}, context_};
    member.op->kernel()(call);
    values_[index] = std::move(result).to_tensor();
    begins_[index] = static_cast<char*>(values_[index].raw());
  }

  IValue argument_of(const GroupArgument& argument, const MatrixPlan::Argument& planned) const {
    if (!planned.layout.defined()) return argument.on_rows();
    const bool is_input = argument.source == GroupArgument::Source::kInput;
    if (planned.is_whole) return IValue(inputs_[argument.index]);
    const Tensor& layout = planned.layout;
    const Tensor& value = is_input ? inputs_[argument.index] : values_[argument.index];
    if (value.defined()) {
      return IValue(Tensor::from_storage(value.storage(), value.dtype(), layout.sizes(),
                                         layout.strides(), value.offset() + layout.offset()));
    }
    const ScalarType dtype = kernels_.members[argument.index].dtype;
    const int64_t begin = plan_.scratch[argument.index] / static_cast<int64_t>(item_size(dtype));
    return IValue(Tensor::from_storage(scratch_.storage(), dtype, layout.sizes(), layout.strides(),
                                       begin + layout.offset()));
  }

  const GroupProgram& program_;
  const CompiledMatrices& kernels_;
  const MatrixPlan& plan_;
  std::span<const Tensor> inputs_;
  RunContext& context_;
  Tensor scratch_;
  SmallVector<char*, 24> begins_;   // Of members that lie somewhere.
  SmallVector<Tensor, 24> values_;  // Of outputs and row members.
};

}  // namespace

bool MatrixLoop::run(OpCall& call) const {
  SmallVector<Tensor, 8> inputs;
  for (size_t i = 0; i < kernels_.inputs.size(); ++i) inputs.push_back(call.args[i].to_tensor());
  const std::span<const Tensor> all(inputs.data(), inputs.size());
  const Ref<const MatrixPlan> plan = plans_.find(program_, kernels_, all);
  if (!plan->fits) return false;
  try {
    Run(program_, kernels_, *plan, all, call.context).run(call.results);
  } catch (const Error& error) {
    if (stops_a_run(error.code())) throw;
    return false;
  }
  return true;
}

}  // namespace tierup::ops
