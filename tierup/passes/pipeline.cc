// The pipelines, as programs: each line's place has its reason beside it.
#include "tierup/passes/pipeline.h"

#include <algorithm>

#include "tierup/passes/cleanup/autocast_regions.h"
#include "tierup/passes/cleanup/canonicalize.h"
#include "tierup/passes/cleanup/check_strict_fusion.h"
#include "tierup/passes/cleanup/constant_pooling.h"
#include "tierup/passes/cleanup/constant_propagation.h"
#include "tierup/passes/cleanup/cse.h"
#include "tierup/passes/cleanup/dead_code_elimination.h"
#include "tierup/passes/cleanup/inliner.h"
#include "tierup/passes/cleanup/lower_tuples.h"
#include "tierup/passes/cleanup/number_constants.h"
#include "tierup/passes/cleanup/peephole.h"
#include "tierup/passes/cleanup/remove_expands.h"
#include "tierup/passes/cleanup/remove_mutation.h"
#include "tierup/passes/core/pass_runner.h"
#include "tierup/passes/fuse/fuse_pointwise.h"
#include "tierup/passes/fuse/fuse_products.h"
#include "tierup/passes/fuse/neural_regions.h"
#include "tierup/passes/specialize/batch_loop_products.h"
#include "tierup/passes/specialize/einsum_products.h"
#include "tierup/passes/specialize/fold_tensors.h"
#include "tierup/passes/specialize/fork_branches.h"
#include "tierup/passes/specialize/join_products.h"
#include "tierup/passes/specialize/join_rolls.h"
#include "tierup/passes/specialize/keep_recurrent_weights.h"
#include "tierup/passes/specialize/lay_out_matrices.h"
#include "tierup/passes/specialize/loop_unrolling.h"
#include "tierup/passes/specialize/propagate_dtypes.h"
#include "tierup/passes/specialize/propagate_shapes.h"
#include "tierup/passes/specialize/split_stacks.h"

namespace tierup::passes {
namespace {

Pass dead_code_pass(UnusedEffects unused) {
  return {"dead_code_elimination",
          [unused](PassContext& context) { dead_code_elimination(context, unused); }};
}

}  // namespace

Pass specialized_dead_code_elimination() { return dead_code_pass(UnusedEffects::kKeep); }

std::span<const Pass> no_opt_passes() {
  static const std::vector<Pass> passes = {
      // First: everything below sees through calls only once their bodies are here.
      {"inliner", inliner},
      // Before constants: a constant that travelled through a tuple is one again.
      {"lower_tuples", lower_tuples},
      // Arguments of inlined calls decide branches ("if bias is not None"), which shrinks the rest.
      {"constant_propagation", constant_propagation},
      // The regions' settings are constants by now.
      {"autocast_regions", autocast_regions},
      // The constants of traces, before anything asks which dtype a product has.
      {"number_constants", number_constants},
      // Behind the branches: expand's `implicit` argument is a constant by now.
      {"remove_expands", remove_expands},
      // Unhooks unused outputs of Ifs and Loops, which elimination cannot do by itself.
      {"canonicalize", canonicalize},
      // Takes away what the passes above left without a use.
      dead_code_pass(UnusedEffects::kRemove),
      // Last, over the constants that are left: a plan holds each once, before its first step.
      {"constant_pooling", constant_pooling},
  };
  return passes;
}

std::span<const Pass> specialized_passes() {
  static const std::vector<Pass> passes = {
      // Frozen attributes decide branches ("if self.training"), which shrinks the rest.
      {"constant_propagation", constant_propagation},
      // Lists of tensors that are joined (dense networks) become plain arguments.
      {"remove_list_mutation", remove_list_mutation},
      // Ranks and sizes, so that checks of them become constants, and with them their branches.
      {"propagate_shapes", propagate_shapes},
      // Conversions to another tensor's element type become conversions to a constant one.
      {"propagate_dtypes", propagate_dtypes},
      {"peephole", peephole},
      {"constant_propagation", constant_propagation},
      // Casts that the branches left; tuples behind them come apart next.
      {"canonicalize", canonicalize},
      // Trip counts are constants by now, as far as they ever are; before mutation goes, since what
      // the copies do to lists and memory can be told apart.
      {"loop_unrolling", [](PassContext& context) { loop_unrolling(context); }},
      // Again, for the copies, whose counters are constants.
      {"constant_propagation", constant_propagation},
      {"remove_list_mutation", remove_list_mutation},
      {"propagate_shapes", propagate_shapes},
      // With sizes that are known to be equal; before what counts on the dtypes of products.
      {"einsum_products", einsum_products},
      {"propagate_shapes", propagate_shapes},
      {"propagate_dtypes", propagate_dtypes},
      {"peephole", peephole},
      {"constant_propagation", constant_propagation},
      // Sizes are constants by now; what traces compute of them becomes numbers.
      {"number_tensors", number_tensors},
      {"constant_propagation", constant_propagation},
      {"canonicalize", canonicalize},
      // What follows moves and merges pure operators; written memory would hold it back.
      {"remove_tensor_mutation", remove_tensor_mutation},
      {"cse", cse},
      // Before what asks whether an operand is a constant.
      {"fold_tensors", fold_tensors},
      // Again, with the sizes of what was folded.
      {"einsum_products", einsum_products},
      // Equal operands are one value by now; before what makes other steps out of products.
      {"join_products", join_products},
      specialized_dead_code_elimination(),
      // Behind what asks operators for their shapes.
      {"keep_recurrent_weights", keep_recurrent_weights},
      // Before point-wise fusion, which would take apart what hangs on convolutions and products.
      {"neural_regions", neural_regions},
      // Behind nets, which stack in their arenas; before what reads parts.
      {"split_stacks", split_stacks},
      // Behind nets, which roll in layouts of their own; before groups, which read slices as they
      // lie.
      {"join_rolls", join_rolls},
      specialized_dead_code_elimination(),
      {"constant_pooling", constant_pooling},
  };
  return passes;
}

PipelineReport run_specialized_pipeline(ir::Graph& graph, const PassOptions& options) {
  return run_passes(graph, specialized_passes(), options);
}

std::span<const Pass> differentiated_passes() {
  static const std::vector<Pass> passes = {
      // Values that forward and formulas compute twice.
      {"cse", cse},
      {"join_products", join_products},
      {"lay_out_matrices", lay_out_matrices},
      // What no result and no capture needs.
      specialized_dead_code_elimination(),
      // One constant for each number that formulas were given.
      {"constant_pooling", constant_pooling},
  };
  return passes;
}

std::span<const Pass> all_passes() {
  static const std::vector<Pass> passes = [] {
    const auto no_opt = no_opt_passes();
    std::vector<Pass> all(no_opt.begin(), no_opt.end());
    all.push_back({"batch_loop_products", batch_loop_products});
    all.push_back({"check_strict_fusion", check_strict_fusion});
    all.push_back({"cse", cse});
    // Without a profile, as if each operator took a millisecond.
    all.push_back({"einsum_products", einsum_products});
    all.push_back({"fold_tensors", fold_tensors});
    all.push_back(
        {"fork_branches", [](PassContext& context) { fork_branches(context, {}, {}, 1e6); }});
    all.push_back({"fuse_pointwise", [](PassContext& context) { fuse_pointwise(context); }});
    all.push_back({"fuse_products", [](PassContext& context) { fuse_products(context); }});
    all.push_back({"join_products", join_products});
    all.push_back({"join_rolls", join_rolls});
    all.push_back({"keep_recurrent_weights", keep_recurrent_weights});
    all.push_back({"lay_out_matrices", lay_out_matrices});
    all.push_back({"loop_unrolling", [](PassContext& context) { loop_unrolling(context); }});
    all.push_back({"neural_regions", neural_regions});
    all.push_back({"number_tensors", number_tensors});
    all.push_back({"peephole", peephole});
    all.push_back({"propagate_dtypes", propagate_dtypes});
    all.push_back({"propagate_shapes", propagate_shapes});
    all.push_back({"remove_list_mutation", remove_list_mutation});
    all.push_back({"remove_tensor_mutation", remove_tensor_mutation});
    all.push_back({"split_stacks", split_stacks});
    return all;
  }();
  return passes;
}

PipelineReport run_no_opt_pipeline(ir::Graph& graph, const PassOptions& options) {
  return run_passes(graph, no_opt_passes(), options);
}

const Pass* find_pass(std::string_view name) {
  const auto passes = all_passes();
  const auto found = std::find_if(passes.begin(), passes.end(),
                                  [&](const Pass& pass) { return pass.name == name; });
  return found == passes.end() ? nullptr : &*found;
}

}  // namespace tierup::passes
