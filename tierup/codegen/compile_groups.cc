#include "tierup/codegen/compile_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "tierup/base/instruction_limit.h"
#include "tierup/base/parallel.h"
#include "tierup/base/piece_queue.h"
#include "tierup/codegen/code_cache.h"
#include "tierup/codegen/fold_kernel.h"
#include "tierup/codegen/fold_stages.h"
#include "tierup/codegen/group_kernel.h"
#include "tierup/codegen/group_stages.h"
#include "tierup/codegen/matrix_stages.h"
#include "tierup/kernels/simd/instruction_set.h"
#include "tierup/ops/regions/fused_loop.h"
#include "tierup/ops/regions/fusion_group.h"
#include "tierup/ops/regions/group_loads.h"
#include "tierup/ops/regions/matrix_loop.h"
#include "tierup/ops/table/role.h"

namespace tierup::codegen {
namespace {

// Expression nodes beyond which kernels work on several registers at a time.
constexpr size_t kLongBody = 24;

class MachineCode final : public RefCounted {
 public:
  MachineCode(const CodegenApi* api, CompiledObject* object) : api_(api), object_(object) {}
  ~MachineCode() override { api_->release(object_); }

 private:
  const CodegenApi* api_;
  CompiledObject* object_;
};

int vector_bits(const CompileOptions& options) {
  return options.max_vector_bits > 0 ? options.max_vector_bits : process_options().max_vector_bits;
}

// Two passes over the groups: the first one collects the kernels that are not in the process's
// cache, which threads then compile side by side, and the second one finds them there.
class GroupCompiler {
 public:
  GroupCompiler(const std::function<const Library&()>& library, const CompileOptions& options)
      : library_(library), options_(options) {}

  void run(const ir::Block& block, const std::atomic<bool>& cancelled) {
    if (!options_.print_ir) {  // To be seen, kernels are made in order.
      is_collecting_ = true;
      visit(block, cancelled);
      is_collecting_ = false;
      compile_wanted(cancelled);
      report_.groups = 0;
    }
    visit(block, cancelled);
  }

  GroupReport take_report() { return std::move(report_); }

 private:
  void visit(const ir::Block& block, const std::atomic<bool>& cancelled) {
    for (const ir::Node* node : block.nodes()) {
      if (cancelled.load()) return;
      for (const ir::Block* inner : node->blocks()) visit(*inner, cancelled);
      if (!node->is(ir::NodeKind::kOp) ||
          ops::op_of(*node->op()).role() != ops::Role::kFusionGroup) {
        continue;
      }
      const ir::Node* capsule = node->inputs().back()->node();
      if (capsule == nullptr || !capsule->is(ir::NodeKind::kConstant)) continue;
      compile(ops::fusion_group_of(capsule->attr<IValue>(ir::AttrName::kValue)));
    }
  }

  // With the threads of this job, which are its callers'.
  void compile_wanted(const std::atomic<bool>& cancelled) {
    if (wanted_.size() < 2) return;  // The second pass compiles one by itself.
    std::vector<std::pair<const std::string, std::function<CachedKernel()>>*> wanted;
    for (auto& each : wanted_) wanted.push_back(&each);
    const auto pieces = static_cast<int64_t>(wanted.size());
    const int64_t workers = piece_workers(pieces, intra_op_threads());
    parallel_long_pieces(pieces, workers, [&](int64_t i, int64_t) {
      if (cancelled.load()) return;
      const auto& [key, compile] = *wanted[static_cast<size_t>(i)];
      const CachedKernel compiled = compile();
      if (compiled.code) CodeCache::instance().add(key, compiled);
    });
  }

  void compile(ops::FusionGroup& group) {
    ++report_.groups;
    if (group.kernel_count() > 0) return;  // Two nodes of unrolled code may share one.
    if (ops::has_products(group.program())) {
      install_matrices(group);
    } else if (group.program().components > 0) {
      install_components(group);
    } else if (ops::folds_parts(group.program())) {
      install_folds(group);
    } else {
      install_points(group);
    }
    if (group.kernel_count() == 0 && !is_collecting_ && !report_.refusal)
      report_.refusal = group.refusal();
  }

  void install_points(ops::FusionGroup& group) {
    std::vector<bool> any;  // But what has no dimensions is one element for certain.
    for (const ops::ValueForm& form : group.expected()) {
      any.push_back(form.category != ops::PromotionCategory::kDimensioned);
    }
    const Columns columns = has_short_rows(group) ? Columns::kSpread : Columns::kUniform;
    // Of views, nothing is known to be uniform.
    if (!reads_loads(group.program()) && group.expected_uniform() != any)
      install(group, group.expected_uniform(), any, columns);
    install(group, any, any, columns);
  }

  // Too short to begin a kernel for each of them: RowLoop brings rows together, and no kernel reads
  // an input as the same all over a row.
  bool has_short_rows(const ops::FusionGroup& group) const {
    const int64_t width = group.expected_short_row();
    return width > 0 && width < short_run_of(group.program().members.size());
  }
  static int64_t short_run_of(size_t nodes) {
    return nodes > kLongBody ? ops::FusionGroup::kLongRun : 32;
  }

  // One kernel for everything.
  void install_components(ops::FusionGroup& group) {
    GroupForms forms = forms_of(group.program(), group.expected());
    if (forms.refusal) return group.refuse(std::move(forms.refusal));
    ops::CompiledKernel stage;
    const GroupKernel kernel = build_component_fold(group, forms, stage);
    if (kernel.refusal) return group.refuse(kernel.refusal);
    if (kernel.operands.size() > ops::FusedLoop::kMaxOperands) {
      return group.refuse(ops::GroupRefusal::kManyOperands);
    }
    const CachedKernel compiled = find(kernel, group);
    if (is_collecting_ || compiled.function == nullptr) return;
    stage.function = compiled.function;
    stage.code = compiled.code;
    group.install(ops::CompiledGroup{group.expected(),
                                     std::move(forms.members),
                                     {std::move(stage)},
                                     grain_of(kernel.expressions.nodes().size())});
    ++report_.kernels;
  }

  // A kernel for each stage.
  void install_folds(ops::FusionGroup& group) {
    GroupForms forms = forms_of(group.program(), group.expected());
    if (forms.refusal) return group.refuse(std::move(forms.refusal));
    FoldKernels built = build_folds(group, forms);
    size_t nodes = 0;
    for (size_t s = 0; s < built.kernels.size(); ++s) {
      const GroupKernel& kernel = built.kernels[s];
      if (kernel.operands.size() > ops::FusedLoop::kMaxOperands) {
        return group.refuse(ops::GroupRefusal::kManyOperands);
      }
      const CachedKernel compiled = find(kernel, group);
      if (compiled.function == nullptr && !is_collecting_) return;
      built.stages[s].function = compiled.function;
      built.stages[s].code = compiled.code;
      nodes += kernel.expressions.nodes().size();
    }
    if (is_collecting_) return;
    group.install(ops::CompiledFolds{
        group.expected(), std::move(forms.members), group.expected_uniform(),
        group.expected_still(), std::move(built.values), std::move(built.stages), grain_of(nodes)});
    ++report_.kernels;
  }

  // Elements that are worth a thread.
  static int64_t grain_of(size_t nodes) {
    return std::max<int64_t>(2048, 2 * kNumbersForThread / (1 + static_cast<int64_t>(nodes) / 16));
  }

  // For inputs that lie in order, and constants as they lie.
  void install_matrices(ops::FusionGroup& group) {
    const ops::GroupProgram& program = group.program();
    const GroupForms forms = forms_of(program, group.expected());
    if (forms.refusal) return group.refuse(forms.refusal);
    std::vector<Tensor> inputs;
    for (const IntVector& sizes : group.expected_sizes()) {
      const size_t given = inputs.size();
      inputs.push_back(given < program.input_count
                           ? ops::meta_tensor(sizes)
                           : program.constants[given - program.input_count]);
    }
    const ops::MatrixMetaTensors metas(program, inputs);
    if (metas.refusal()) return group.refuse(metas.refusal());
    ops::CompiledMatrices made{group.expected(), forms.members, matrix_stages_of(program, metas)};
    for (ops::MatrixStage& stage : made.stages) {
      if (stage.called != ops::MatrixStage::kNoMember) continue;
      const MatrixKernel kernel =
          build_matrix_kernel(program, forms, made.inputs, stage, metas, vector_bits(options_));
      if (kernel.body.refusal) return group.refuse(kernel.body.refusal);
      const CachedKernel compiled = find(kernel, group);
      if (compiled.matrix == nullptr && !is_collecting_) return;
      stage.function = compiled.matrix;
      stage.code = compiled.code;
    }
    if (is_collecting_) return;
    group.install(std::move(made));
    ++report_.kernels;
  }

  void install(ops::FusionGroup& group, const std::vector<bool>& uniform,
               const std::vector<bool>& single, Columns columns) {
    const ops::GroupProgram& program = group.program();
    GroupForms forms = forms_of(program, group.expected());
    if (forms.refusal) return group.refuse(std::move(forms.refusal));
    ops::CompiledGroup made{group.expected(), std::move(forms.members), {}, 0};
    size_t nodes = 0;
    made.stages = stages_of(program, uniform, single, columns);
    for (uint32_t s = 0; s < made.stages.size(); ++s) {
      ops::CompiledKernel& stage = made.stages[s];
      if (stage.outputs.empty()) continue;
      const GroupKernel kernel =
          build_group_kernel(program, made.inputs, made.members, stage.inputs, stage.outputs, s);
      if (kernel.refusal) return group.refuse(kernel.refusal);
      if (kernel.operands.size() > ops::FusedLoop::kMaxOperands) {
        return group.refuse(ops::GroupRefusal::kManyOperands);
      }
      for (uint32_t i = 0; i < kernel.loads.size(); ++i) {
        stage.inputs.push_back({ops::GroupArgument::Source::kInput, i, false});
      }
      stage.loads = kernel.loads;
      const CachedKernel compiled = find(kernel, group);
      if (compiled.function == nullptr && !is_collecting_) return;
      stage.function = compiled.function;
      stage.code = compiled.code;
      const size_t body = kernel.expressions.nodes().size();
      // Of rows, by the whole group's members: it decides for all stages, before there are bodies.
      stage.short_run = short_run_of(program.row_rank > 0 ? program.members.size() : body);
      nodes += body;
    }
    if (is_collecting_) return;
    made.grain = grain_of(nodes);
    group.install(std::move(made));
    ++report_.kernels;
  }

  // From the process's cache, or compiled now; without a function if that failed, or if it is to be
  // compiled with others.
  template <typename Kernel>
  CachedKernel find(const Kernel& kernel, ops::FusionGroup& group) {
    // To be seen, it must be made; and without the library there are no kernels.
    if (options_.print_ir || library_().api() == nullptr) return compile(kernel, group);
    const std::string key = fmt::format("{}:{}:{}:{}", Kernel::kKind, vector_bits(options_),
                                        options_.generic, kernel.key());
    if (const std::optional<CachedKernel> known = CodeCache::instance().find(key)) return *known;
    if (is_collecting_) {
      wanted_.emplace(key, [this, kernel, &group] { return compile(kernel, group); });
      return {};
    }
    const CachedKernel compiled = compile(kernel, group);
    if (compiled.code) CodeCache::instance().add(key, compiled);
    return compiled;
  }

  CachedKernel compile(const GroupKernel& kernel, ops::FusionGroup& group) {
    const KernelSpec spec = kernel.spec("fused");
    return compiled_by([&](const CodegenApi& api) { return api.compile(&spec, &options_); }, group);
  }
  CachedKernel compile(const MatrixKernel& kernel, ops::FusionGroup& group) {
    const MatrixSpec spec = kernel.spec("fused_matrices");
    return compiled_by([&](const CodegenApi& api) { return api.compile_matrix(&spec, &options_); },
                       group);
  }

  template <typename Compile>
  CachedKernel compiled_by(const Compile& call, ops::FusionGroup& group) {
    const CodegenApi* api = library_().api();
    if (api == nullptr) {
      if (!is_collecting_) group.refuse({ops::GroupRefusal::kNoGenerator, library_().error()});
      return {};
    }
    const auto begin = std::chrono::steady_clock::now();
    const CompileResult result = call(*api);
    const std::lock_guard<std::mutex> lock(mutex_);
    report_.compile_ms +=
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
    if (result.object == nullptr) {
      group.refuse({ops::GroupRefusal::kGeneratorFailed, result.error});
      return {};
    }
    ++report_.compiled;
    return {result.function, result.matrix, Ref<RefCounted>(new MachineCode(api, result.object)),
            result.object_size};
  }

  const std::function<const Library&()>& library_;
  const CompileOptions& options_;
  bool is_collecting_ = false;
  std::map<std::string, std::function<CachedKernel()>> wanted_;  // By key.
  std::mutex mutex_;                                             // Of what compilations report.
  GroupReport report_;
};

}  // namespace

CompileOptions process_options() {
  CompileOptions options{};
  options.generic = instruction_limit() != InstructionLimit::kNone;
  switch (kernels::instruction_set()) {
    case kernels::InstructionSet::kBase: options.max_vector_bits = 128; break;
    case kernels::InstructionSet::kAvx2: options.max_vector_bits = 256; break;
    case kernels::InstructionSet::kAvx512: options.max_vector_bits = 512; break;
  }
  return options;
}

GroupReport compile_groups(ir::Graph& graph, const std::function<const Library&()>& library,
                           const CompileOptions& options, const std::atomic<bool>& cancelled) {
  GroupCompiler compiler(library, options);
  compiler.run(graph.block(), cancelled);
  GroupReport report = compiler.take_report();
  if (report.compile_ms > 0) library().give_back_pages();
  return report;
}

}  // namespace tierup::codegen
