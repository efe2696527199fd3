// See matrix_plan.h.
#include "tierup/ops/regions/matrix_plan.h"

#include <algorithm>

#include "tierup/ops/regions/group_loads.h"

namespace tierup::ops {
namespace {

constexpr int64_t kLine = 64;
constexpr size_t kDims = MatrixMetaTensors::kMaxRank;

bool suits(const MatrixPlan& plan, const MatrixInputs& inputs) {
  for (size_t i = 0; i < plan.inputs.size(); ++i) {
    if (!plan.inputs[i].holds(*inputs[i])) return false;
  }
  return true;
}

std::vector<Tensor> metas_of(const MatrixInputs& inputs) {
  std::vector<Tensor> metas;
  for (const TensorImpl* input : inputs) {
    metas.push_back(meta_tensor({input->sizes.data(), input->sizes.size()},
                                {input->strides.data(), input->strides.size()}, input->dtype));
  }
  return metas;
}

class Planner {
 public:
  Planner(const GroupProgram& program, const CompiledMatrices& kernels, const MatrixInputs& inputs,
          MatrixPlan& plan)
      : program_(program), kernels_(kernels), metas_(program, metas_of(inputs)), plan_(plan) {
    for (const TensorImpl* input : inputs) input_items_.push_back(item(input->dtype));
  }

  bool run() {
    if (metas_.refusal()) return false;
    plan_.scratch.assign(program_.members.size(), -1);
    for (const uint32_t output : program_.outputs) {
      const Tensor& made = metas_.member(output);
      plan_.outputs.push_back({{made.sizes().begin(), made.sizes().end()},
                               {made.strides().begin(), made.strides().end()},
                               made.is_contiguous()});
    }
    for (const MatrixStage& stage : kernels_.stages) {
      plan_.steps.push_back({&stage});
      MatrixPlan::Step& step = plan_.steps.back();
      if (stage.called != MatrixStage::kNoMember) {
        add_call(step);
      } else if (!add_kernel(step)) {
        return false;
      }
    }
    return true;
  }

 private:
  static int64_t item(ScalarType dtype) { return static_cast<int64_t>(item_size(dtype)); }
  int64_t item_of(GroupArgument::Source source, uint32_t index) const {
    return source == GroupArgument::Source::kInput ? input_items_[index]
                                                   : item(kernels_.members[index].dtype);
  }

  void add_call(MatrixPlan::Step& step) {
    plan_.has_calls = true;
    for (const GroupArgument& argument : program_.members[step.stage->called].arguments) {
      step.arguments.emplace_back();
      if (argument.source == GroupArgument::Source::kConstant) continue;
      step.arguments.back() = {
          metas_.value_of(argument),
          argument.source == GroupArgument::Source::kInput && !argument.is_viewed()};
    }
  }

  bool add_kernel(MatrixPlan::Step& step) {
    const MatrixStage& stage = *step.stage;
    const Tensor& space = metas_.member(stage.outputs[0]);
    const int64_t columns = space.dim() == 0 ? 1 : space.size(-1);
    step.sizes.assign(kDims, 1);
    for (int64_t d = 1; d <= space.dim(); ++d)
      step.sizes[kDims - static_cast<size_t>(d)] = space.size(-d);
    for (const uint32_t output : stage.outputs) {
      const Tensor& made = metas_.member(output);
      if (!has_same_sizes(made, space)) return false;
      add_place(step, GroupArgument::Source::kMember, output, made);
      find_scratch(output, made);
    }
    for (const MatrixRead& read : stage.reads) {
      const Tensor value = metas_.value_of(read.source, read.index, read.chain);
      if (!allows(value, columns, read.step)) return false;
      add_place(step, read.source, read.index, expand_to(value, space.sizes()));
    }
    for (size_t p = 0; p < stage.products.size(); ++p) {
      if (!add_product(step, stage.products[p], stage.right_steps[p], space)) return false;
    }
    return true;
  }

  bool add_product(MatrixPlan::Step& step, uint32_t member, ColumnStep right_step,
                   const Tensor& space) {
    const Factors& factors = metas_.factors(member);
    if (!std::equal(factors.sizes.begin(), factors.sizes.end(), space.sizes().begin(),
                    space.sizes().end()) ||
        !allows(factors.right, factors.right.size(-1), right_step)) {
      return false;
    }
    const ProductArguments places = product_arguments(program_.members[member].op->facts().product);
    const std::vector<GroupArgument>& arguments = program_.members[member].arguments;
    const GroupArgument& left = arguments[factors.are_swapped ? places.right : places.left];
    const GroupArgument& right = arguments[factors.are_swapped ? places.left : places.right];
    add_factor(step, left.source, left.index, factors.left);
    if (const uint32_t turned = program_.members[member].turned; turned != UINT32_MAX) {
      add_factor(step, GroupArgument::Source::kInput, turned, factors.right);
    } else {
      add_factor(step, right.source, right.index, factors.right);
    }
    step.sizes.push_back(factors.depth);
    return true;
  }

  // Batches of one matrix are repeated.
  void add_factor(MatrixPlan::Step& step, GroupArgument::Source source, uint32_t index,
                  const Tensor& factor) const {
    add_place(step, source, index, factor);
    int64_t* strides = step.strides.data() + step.strides.size() - kDims;
    for (size_t d = 0; d + 2 < kDims; ++d) {
      const auto from_back = static_cast<int64_t>(kDims - d);
      if (factor.dim() < from_back || factor.size(-from_back) == 1) strides[d] = 0;
    }
  }

  void add_place(MatrixPlan::Step& step, GroupArgument::Source source, uint32_t index,
                 const Tensor& value) const {
    const int64_t bytes = item_of(source, index);
    const bool is_input = source == GroupArgument::Source::kInput;
    const auto inputs = static_cast<uint32_t>(input_items_.size());
    step.places.push_back({is_input ? index : inputs + index, value.offset() * bytes});
    const int64_t rank = value.dim();
    for (auto d = static_cast<int64_t>(kDims); d > 0; --d) {
      step.strides.push_back(d > rank ? 0 : value.stride(-d) * bytes);
    }
  }

  void find_scratch(uint32_t member, const Tensor& made) {
    const auto& outputs = program_.outputs;
    if (std::find(outputs.begin(), outputs.end(), member) != outputs.end()) return;
    plan_.scratch[member] = plan_.scratch_bytes;
    const int64_t bytes = made.numel() * item(kernels_.members[member].dtype);
    plan_.scratch_bytes += (bytes + kLine - 1) / kLine * kLine;
  }

  static bool has_same_sizes(const Tensor& a, const Tensor& b) {
    return std::equal(a.sizes().begin(), a.sizes().end(), b.sizes().begin(), b.sizes().end());
  }

  const GroupProgram& program_;
  const CompiledMatrices& kernels_;
  const MatrixMetaTensors metas_;
  MatrixPlan& plan_;
  std::vector<int64_t> input_items_;
};

}  // namespace

Ref<const MatrixPlan> plan_of(const GroupProgram& program, const CompiledMatrices& kernels,
                              const MatrixInputs& inputs) {
  auto plan = make_ref<MatrixPlan>();
  for (size_t i = 0; i < program.input_count; ++i) plan->inputs.emplace_back(*inputs[i]);
  try {
    plan->fits = Planner(program, kernels, inputs, *plan).run();
  } catch (const Error&) {
    // Something does not broadcast as before.
  }
  return plan;
}

Ref<const MatrixPlan> MatrixPlans::find(const GroupProgram& program,
                                        const CompiledMatrices& kernels,
                                        const MatrixInputs& inputs) const {
  const auto known = [&] {
    return plans_.find([&](const Ref<const MatrixPlan>& plan) { return suits(*plan, inputs); });
  };
  if (Ref<const MatrixPlan> plan = known()) return plan;
  Ref<const MatrixPlan> made = plan_of(program, kernels, inputs);
  const std::lock_guard<std::mutex> lock(mutex_);
  if (Ref<const MatrixPlan> plan = known()) return plan;
  plans_.add(made, [](const auto& plans) { return plans.size() > kMost; });
  return made;
}

}  // namespace tierup::ops
