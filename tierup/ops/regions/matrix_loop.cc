// See matrix_loop.h.
#include "tierup/ops/regions/matrix_loop.h"

#include <array>

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
      const MatrixInputs& inputs, OpCall& call)
      : program_(program), kernels_(kernels), plan_(plan), inputs_(inputs), call_(call) {
    values_.resize(program.members.size());
    begins_.resize(inputs.size() + program.members.size());
    for (size_t i = 0; i < inputs.size(); ++i) {
      begins_[i] = static_cast<char*>(inputs[i]->storage->data()) +
                   inputs[i]->offset * static_cast<int64_t>(item_size(inputs[i]->dtype));
    }
    // Row members read empty tensors, too.
    if (plan.scratch_bytes > 0 || plan.has_calls) find_scratch();
  }

  void run() {
    make_outputs();
    for (const MatrixPlan::Step& step : plan_.steps) {
      step.stage->called == MatrixStage::kNoMember ? run_kernel(step) : run_call(step);
    }
    for (size_t i = 0; i < call_.results.size(); ++i) {
      call_.results[i] = IValue(std::move(values_[program_.outputs[i]]));
    }
  }

 private:
  static constexpr int64_t kNearBytes = 4096;

  char*& begin_of(uint32_t member) { return begins_[inputs_.size() + member]; }

  // Row members read tensors; for kernels some bytes of the stack will do.
  void find_scratch() {
    char* begin = near_.data();
    if (plan_.has_calls || plan_.scratch_bytes > kNearBytes) {
      scratch_ = Tensor::empty(IntVector{plan_.scratch_bytes}, ScalarType::kByte);
      begin = static_cast<char*>(scratch_.raw());
    }
    for (uint32_t i = 0; i < plan_.scratch.size(); ++i) {
      if (plan_.scratch[i] >= 0) begin_of(i) = begin + plan_.scratch[i];
    }
  }

  void make_outputs() {
    for (size_t i = 0; i < program_.outputs.size(); ++i) {
      const uint32_t member = program_.outputs[i];
      if (program_.members[member].by_rows) continue;  // Makes its own.
      const MatrixPlan::Output& output = plan_.outputs[i];
      const ScalarType dtype = kernels_.members[member].dtype;
      values_[member] = output.is_contiguous
                            ? Tensor::empty(output.sizes, dtype)
                            : Tensor::empty_strided(output.sizes, output.strides, dtype);
      begin_of(member) = static_cast<char*>(values_[member].raw());
    }
  }

  void run_kernel(const MatrixPlan::Step& step) const {
    SmallVector<char*, 24> data;
    for (const MatrixPlan::Place& place : step.places) {
      data.push_back(begins_[place.value] + place.offset);
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
    OpCall call{{arguments.data(), arguments.size()}, {&result, 1}, call_.context};
    member.op->kernel()(call);
    values_[index] = std::move(result).to_tensor();
    begin_of(index) = static_cast<char*>(values_[index].raw());
  }

  IValue argument_of(const GroupArgument& argument, const MatrixPlan::Argument& planned) const {
    if (!planned.layout.defined()) return argument.on_rows();
    const bool is_input = argument.source == GroupArgument::Source::kInput;
    if (planned.is_whole) return IValue(input(argument.index));
    const Tensor& layout = planned.layout;
    const Tensor value = is_input ? input(argument.index) : values_[argument.index];
    if (value.defined()) {
      return IValue(Tensor::from_storage(value.storage(), value.dtype(), layout.sizes(),
                                         layout.strides(), value.offset() + layout.offset()));
    }
    const ScalarType dtype = kernels_.members[argument.index].dtype;
    const int64_t begin = plan_.scratch[argument.index] / static_cast<int64_t>(item_size(dtype));
    return IValue(Tensor::from_storage(scratch_.storage(), dtype, layout.sizes(), layout.strides(),
                                       begin + layout.offset()));
  }
  Tensor input(uint32_t index) const {
    const uint32_t given = program_.input_count;
    return index < given ? call_.args[index].to_tensor() : program_.constants[index - given];
  }

  const GroupProgram& program_;
  const CompiledMatrices& kernels_;
  const MatrixPlan& plan_;
  const MatrixInputs& inputs_;
  OpCall& call_;
  Tensor scratch_;
  SmallVector<char*, 48> begins_;   // Of inputs, and of members that lie somewhere.
  SmallVector<Tensor, 24> values_;  // Of outputs and row members.
  alignas(64) std::array<char, kNearBytes> near_;
};

}  // namespace

bool MatrixLoop::run(OpCall& call) const {
  MatrixInputs inputs;
  for (size_t i = 0; i < program_.input_count; ++i) inputs.push_back(call.args[i].tensor_impl());
  for (const Tensor& constant : program_.constants) inputs.push_back(constant.impl());
  const Ref<const MatrixPlan> plan = plans_.find(program_, kernels_, inputs);
  if (!plan->fits) return false;
  try {
    Run(program_, kernels_, *plan, inputs, call).run();
  } catch (const Error& error) {
    if (stops_a_run(error.code())) throw;
    return false;
  }
  return true;
}

}  // namespace tierup::ops
