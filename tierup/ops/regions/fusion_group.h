// FusionGroup: several point-wise calls as one step, and the kernels compiled for it.
//
// The step `tierup::fusion_group` holds one as its last argument. It looks at the actual inputs: if
// a kernel was compiled for their dtypes, it works out the shape by broadcasting, allocates the
// outputs and runs it in tiles over threads; else the *twin* runs: the members one by one through
// their rows' kernels, as if they had never been fused. The members are pure, so either gives the
// same, and the twin may run behind kernels whose sums left the range of floats.
//
// Kernels are installed by the compile job before the plan that holds the group is published; after
// that a group is constant but for its counters.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "tierup/kernels/pointwise/fused_kernel.h"
#include "tierup/ops/regions/look_ups.h"
#include "tierup/ops/regions/refusal.h"
#include "tierup/ops/regions/row_meaning.h"
#include "tierup/ops/regions/twin_calls.h"

namespace tierup::ops {

// An operator that gives a view of its first argument, or a list of views.
struct ViewStep {
  const Op* op = nullptr;
  std::vector<IValue> rest;  // Its other arguments.
  int64_t part = -1;         // Which of the list; -1 if it is none.
};
// What a member reads a value through.
struct ViewChain {
  std::vector<ViewStep> steps;
  PromotionCategory category =
      PromotionCategory::kDimensioned;  // Of the last view, as it is expected.
};

struct GroupArgument {
  enum class Source : uint8_t { kInput, kMember, kConstant };
  Source source = Source::kConstant;
  uint32_t index = 0;  // Of the input, or of the earlier member.
  IValue constant;
  uint32_t chain = UINT32_MAX;  // Of views, if there is one.
  // Of a row member whose dimensions count from the first one: the same, counted from the last one
  // of `GroupProgram::rank` dimensions.
  IValue from_back;

  const IValue& on_rows() const { return from_back.is_none() ? constant : from_back; }
  bool is_viewed() const { return chain != UINT32_MAX; }
};
struct GroupMember {
  const Op* op = nullptr;
  std::vector<GroupArgument> arguments;
  bool by_rows = false;  // Not point-wise: its role is kRowwise.
  // Not point-wise: a join (join_kinds.h). The tensors of its list are its first arguments;
  // kernels go over them one after another.
  bool joins = false;
  // Not point-wise: reads a table, an input, at the places that another input names. The elements
  // of a list of indices are its last arguments.
  LookUpKind looks_up = LookUpKind::kNone;
  // Not point-wise: a matrix product (product_kinds.h).
  bool multiplies = false;
  // Of a product: the input, if there is one, that holds its right factor row by row. The operator
  // itself does not read it.
  uint32_t turned = UINT32_MAX;
  // What a row member gives for each row. A point-wise member of values without the rows'
  // dimensions (kFlat) is flat as well; all others are as wide as what they read.
  RowSpace space = RowSpace::kFull;
  // Of a row member: how many of a row's dimensions, the first ones, it goes over.
  uint32_t folded = 0;
  // Which result of the call. Those after the first one follow it, with the same arguments, and
  // are made with it.
  uint32_t result = 0;
};
// Members in an order of dependence.
struct GroupProgram {
  uint32_t input_count = 0;
  std::vector<Tensor> constants;  // Are inputs, too, behind those that a call gives.
  std::vector<GroupMember> members;
  std::vector<uint32_t> outputs;  // Members.
  std::vector<ViewChain> chains;  // In groups without row members only.
  uint32_t row_rank = 1;          // How many of the last dimensions row members go over.
  uint32_t rank = 0;  // The dimensions of their space; 0 if kernels do not depend on it.
  // If not 0, the elements of the last dimension, which kernels take apart (component_loop.h): row
  // members are folds over it, or over what ends before it.
  uint32_t components = 0;
};

// How many results a member's call has that are members: it and those after it.
size_t results_of(const GroupProgram& program, uint32_t member);
// Into how many parts joined values fall; 0 if there are none.
size_t join_parts_of(const GroupProgram& program);
bool has_look_ups(const GroupProgram& program);
bool has_products(const GroupProgram& program);
// Whether row members fold a part of a row's dimensions: fold_loop.h.
bool folds_parts(const GroupProgram& program);
// Whether kernels read loads in place of the group's inputs, in groups without row members.
bool reads_loads(const GroupProgram& program);
// Which argument of a look-up is its index, and the dimension of the table.
struct LookUpArguments {
  uint32_t index = 0;  // Of the group's inputs, like the table's.
  uint32_t table = 0;
  int64_t dim = 0;
};
LookUpArguments look_up_arguments(const GroupMember& member);

// An input, or what was looked up in one, as kernels read it: views of it, each perhaps of its
// broadcast to a member's shape. What members compute of the views of a value is computed of views
// of what that value is made of. The part of all that is made beside one part of a joined value is
// such a view as well.
struct LoadStep {
  uint32_t member = UINT32_MAX;
  uint32_t chain = UINT32_MAX;
  uint32_t part = UINT32_MAX;  // If there is no chain.
  friend auto operator<=>(const LoadStep&, const LoadStep&) = default;
};
struct Load {
  GroupArgument::Source source = GroupArgument::Source::kInput;  // Or a member that looks up.
  uint32_t index = 0;
  std::vector<LoadStep> steps;
};

// A value that a kernel reads: an input of the group, or what a member gave before.
struct KernelInput {
  GroupArgument::Source source = GroupArgument::Source::kInput;
  uint32_t index = 0;
  // Whether it must be the same for all elements of an innermost run; else it may be.
  bool uniform = false;
  uint32_t chain = UINT32_MAX;  // Of views through which it is read, if there is one.
  // If the group's last dimension is taken apart: how many elements it has there, all or one.
  uint32_t components = 0;
};
struct CompiledKernel {
  std::vector<uint32_t> rows;  // Row members that run before it.
  std::vector<KernelInput> inputs;
  std::vector<uint32_t> outputs;     // Members; if there are none, there is no function.
  RowSpace space = RowSpace::kFull;  // Of the outputs; but for kFull a run goes from row to row.
  // If there are chains of views, joined values or look-ups: what stands for `inputs`.
  std::vector<Load> loads;
  int64_t short_run = 0;  // Runs of fewer elements are better brought together.
  kernels::FusedFunction function = nullptr;
  Ref<RefCounted> code;  // Keeps the machine code.
};

// Machine code for inputs of certain forms.
//
// Members that work on whole rows (means, softmaxes, norms...) part the others into stages, which
// run one after another. A group that joins values has one for each part; other groups have one,
// which does such members as well if a short last dimension is taken apart.
struct CompiledGroup {
  std::vector<ValueForm> inputs;
  std::vector<ValueForm> members;
  std::vector<CompiledKernel> stages;
  int64_t grain = 0;  // Elements that are worth a thread.
};

// The kernels of a group with products (matrix_stage.h), and what runs them.
struct CompiledMatrices;
class MatrixLoop;
// The kernels of a group that folds parts of rows (fold_stage.h).
struct CompiledFolds;

// How an input of a group with row members is read.
enum class InputUse : uint8_t {
  kWide,       // As part of the space [..., row].
  kFlat,       // By members without the rows' dimensions.
  kParameter,  // As a row member's parameter alone.
  kLookedUp,   // By look-ups alone.
};

class FusionGroup final : public RefCounted, public HasTwin {
 public:
  explicit FusionGroup(GroupProgram program);
  ~FusionGroup() override;

  const GroupProgram& program() const { return program_; }
  // What the inputs are expected to be, from which kernels are compiled.
  const std::vector<ValueForm>& expected() const { return expected_; }
  // Which inputs are expected to be the same for all elements of an innermost run.
  const std::vector<bool>& expected_uniform() const { return expected_uniform_; }
  // Which of them are expected to be the same all along what is folded; if the last dimension is
  // taken apart, along the one before.
  const std::vector<bool>& expected_still() const { return expected_still_; }
  void expect(std::vector<ValueForm> forms, std::vector<bool> uniform,
              std::vector<bool> still = {}) {
    expected_ = std::move(forms);
    expected_uniform_ = std::move(uniform);
    expected_still_ = std::move(still);
  }

  // Of a group with row members: the elements of a row, if they are known and fewer than kLongRun.
  static constexpr int64_t kLongRun = 128;
  int64_t expected_short_row() const { return expected_short_row_; }
  void expect_short_rows(int64_t width) { expected_short_row_ = width; }
  InputUse use(uint32_t input) const { return uses_[input]; }

  // Of a group with products: the sizes that its inputs are expected to have.
  const std::vector<IntVector>& expected_sizes() const { return expected_sizes_; }
  void expect_sizes(std::vector<IntVector> sizes) { expected_sizes_ = std::move(sizes); }

  // In the compile job, before the group is run by anybody. Kernels are tried in order.
  void install(CompiledGroup kernel) { kernels_.push_back(std::move(kernel)); }
  void install(CompiledMatrices kernels);
  void install(CompiledFolds kernels);
  // Why no kernel was made; for explain.
  void refuse(RefusedGroup refusal) { refusal_ = std::move(refusal); }
  const RefusedGroup& refusal() const { return refusal_; }
  size_t kernel_count() const { return kernels_.size() + (matrices_ ? 1 : 0) + (folds_ ? 1 : 0); }

  // Arguments: the inputs, perhaps more. Results: the outputs.
  void run(OpCall& call) const;
  // The members one by one.
  void run_twin(OpCall& call) const;

  uint64_t compiled_runs() const { return compiled_runs_.load(std::memory_order_relaxed); }
  uint64_t twin_runs() const { return twin_calls_.total(); }
  StepReport step_report() const override;
  // "add(mul(0, 1), 2)": the outputs as expressions of the inputs.
  std::string to_string() const;

 private:
  bool run_kernel(const CompiledGroup& kernel, OpCall& call) const;
  bool suits(const std::vector<ValueForm>& forms, const OpCall& call) const;

  GroupProgram program_;
  bool has_row_members_;
  std::vector<InputUse> uses_;
  std::vector<std::vector<uint32_t>> support_;  // Of each output: the inputs it depends on.
  std::vector<uint32_t> last_use_;              // Of each member: the last member that reads it.
  std::vector<ValueForm> expected_;
  std::vector<bool> expected_uniform_;
  std::vector<bool> expected_still_;
  int64_t expected_short_row_ = 0;
  std::vector<IntVector> expected_sizes_;
  std::vector<CompiledGroup> kernels_;
  std::unique_ptr<const MatrixLoop> matrices_;  // Of a group with products.
  std::unique_ptr<const CompiledFolds> folds_;  // Of one that folds parts of rows.
  RefusedGroup refusal_;
  mutable std::atomic<uint64_t> compiled_runs_{0};
  mutable TwinCalls twin_calls_;
};

// The group behind a call's last argument.
FusionGroup& fusion_group_of(const IValue& capsule);

}  // namespace tierup::ops
