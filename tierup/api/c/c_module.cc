// The C API's part of modules beyond running them: state, signatures, explanations.
#include "tierup/api/c/c_handles.h"

namespace tierup::v1 {

static_assert(TIERUP_GRAPH_NOT_FASTER == static_cast<int>(GraphState::kNotFaster));
static_assert(TIERUP_MISS_WEIGHTS_CHANGED == static_cast<int>(MissReason::kWeightsChanged));

const Module& module_of(const tierup_module* module) {
  require_argument(module != nullptr, "the module is null");
  return module->module;
}

NamedTensors named_tensors(const tierup_value* dict) {
  NamedTensors result;
  for (const auto& [key, value] : value_of(dict).entries()) {
    result.emplace_back(key.to_string(), value.to_tensor());
  }
  return result;
}

namespace {

std::string method_of(const char* method) { return method == nullptr ? "forward" : method; }

const Signature& signature_of(const tierup_signature* handle) {
  require_argument(handle != nullptr, "the signature is null");
  return handle->signature;
}

template <typename T>
const T& item_of(const std::vector<T>& items, size_t index, const char* what) {
  require_argument(index < items.size(), what);
  return items[index];
}

void fill_spec(tierup_value_spec* given, const ValueSpec& spec) {
  tierup_value_spec full{};
  full.name = spec.name.c_str();
  full.type = spec.type.c_str();
  full.has_dtype = spec.dtype ? 1 : 0;
  if (spec.dtype) full.dtype = static_cast<tierup_dtype>(*spec.dtype);
  full.has_sizes = spec.sizes ? 1 : 0;
  full.rank = spec.sizes ? spec.sizes->size() : 0;
  full.is_constant = spec.is_constant ? 1 : 0;
  full.is_used = spec.is_used ? 1 : 0;
  full.is_keyword_only = spec.is_keyword_only ? 1 : 0;
  full.has_default = spec.default_value ? 1 : 0;
  fill(given, full);
}

void fill_size(tierup_size_spec* given, const ValueSpec& spec, size_t dim) {
  require_argument(given != nullptr, "the place for the description is null");
  require_argument(spec.sizes && dim < spec.sizes->size(), "there is no such dimension");
  const SizeSpec& size = (*spec.sizes)[dim];
  *given = {size.text.c_str(),      size.value ? 1 : 0, size.value.value_or(0), size.least ? 1 : 0,
            size.least.value_or(0), size.most ? 1 : 0,  size.most.value_or(0)};
}

const GraphInfo& graph_of(const tierup_explanation* handle, size_t graph) {
  require_argument(handle != nullptr, "the explanation is null");
  return item_of(handle->explanation.graphs, graph, "there is no such graph");
}

const PlanInfo& plan_of(const tierup_explanation* handle, size_t graph, size_t plan) {
  return item_of(graph_of(handle, graph).plans, plan, "there is no such plan");
}

const FusedRegion& region_of(const tierup_explanation* handle, size_t graph, size_t plan,
                             size_t region) {
  return item_of(plan_of(handle, graph, plan).regions, region, "there is no such region");
}

const char* line_of(const std::vector<std::string>& lines, size_t index) {
  return index < lines.size() ? lines[index].c_str() : nullptr;
}

tierup_explanation* new_explanation(Explanation explanation) {
  auto* handle = new tierup_explanation{std::move(explanation), {}};
  for (const GraphInfo& graph : handle->explanation.graphs) {
    auto& plans = handle->unfused.emplace_back();
    for (const PlanInfo& plan : graph.plans) {
      auto& lines = plans.emplace_back();
      for (const UnfusedOperator& left : plan.unfused)
        lines.push_back(left.name + ": " + left.reason);
    }
  }
  return handle;
}

}  // namespace
}  // namespace tierup::v1

using namespace tierup::v1;  // NOLINT(google-build-using-namespace): this file is its C face.

extern "C" {

tierup_value* tierup_module_state(const tierup_module* module, tierup_error** error) {
  return c_guarded(error, [&] {
    std::vector<std::pair<Value, Value>> entries;
    for (const auto& [name, tensor] : module_of(module).state_dict()) {
      entries.emplace_back(Value(name), Value(tensor));
    }
    return new_value(Value::dict(std::move(entries)));
  });
}

tierup_code tierup_module_load_state(const tierup_module* module, const tierup_value* state,
                                     int strict, tierup_error** error) {
  return c_guarded(error, [&] {
    module_of(module).load_state_dict(named_tensors(state), strict != 0);
    return TIERUP_OK;
  });
}

tierup_value* tierup_module_attribute(const tierup_module* module, const char* path,
                                      tierup_error** error) {
  return c_guarded(error, [&] {
    require_argument(path != nullptr, "the path is null");
    return new_value(module_of(module).attribute(path));
  });
}

tierup_code tierup_module_set_attribute(const tierup_module* module, const char* path,
                                        const tierup_value* value, tierup_error** error) {
  return c_guarded(error, [&] {
    require_argument(path != nullptr, "the path is null");
    module_of(module).set_attribute(path, value_of(value));
    return TIERUP_OK;
  });
}

tierup_code tierup_tensor_mark_written(const tierup_value* value, tierup_error** error) {
  return c_guarded(error, [&] {
    value_of(value).to_tensor().mark_written();
    return TIERUP_OK;
  });
}

tierup_code tierup_module_flush(const tierup_module* module, tierup_error** error) {
  return c_guarded(error, [&] {
    module_of(module).flush();
    return TIERUP_OK;
  });
}

tierup_code tierup_module_wait_for_compilation(const tierup_module* module, int64_t timeout_ms,
                                               int* done, tierup_error** error) {
  return c_guarded(error, [&] {
    std::optional<std::chrono::milliseconds> timeout;
    if (timeout_ms >= 0) timeout = std::chrono::milliseconds(timeout_ms);
    const bool is_done = module_of(module).wait_for_compilation(timeout);
    if (done != nullptr) *done = is_done ? 1 : 0;
    return TIERUP_OK;
  });
}

char* tierup_module_graph_text(const tierup_module* module, const char* method,
                               tierup_error** error) {
  return c_guarded(error,
                   [&] { return new_text(module_of(module).graph_text(method_of(method))); });
}

char* tierup_module_plan_text(const tierup_module* module, const char* method,
                              tierup_error** error) {
  return c_guarded(error, [&] { return new_text(module_of(module).plan_text(method_of(method))); });
}

tierup_signature* tierup_module_signature(const tierup_module* module, const char* method,
                                          tierup_error** error) {
  return c_guarded(
      error, [&] { return new tierup_signature{module_of(module).signature(method_of(method))}; });
}

tierup_signature* tierup_executor_signature(const tierup_executor* executor, tierup_error** error) {
  return c_guarded(error, [&] {
    require_argument(executor != nullptr, "the executor is null");
    return new tierup_signature{executor->executor.signature()};
  });
}

void tierup_signature_free(tierup_signature* signature) { delete signature; }

const char* tierup_signature_text(const tierup_signature* signature) {
  return signature == nullptr ? "" : signature->signature.text.c_str();
}
size_t tierup_signature_input_count(const tierup_signature* signature) {
  return signature == nullptr ? 0 : signature->signature.inputs.size();
}
size_t tierup_signature_output_count(const tierup_signature* signature) {
  return signature == nullptr ? 0 : signature->signature.outputs.size();
}

tierup_code tierup_signature_input(const tierup_signature* signature, size_t index,
                                   tierup_value_spec* spec, tierup_error** error) {
  return c_guarded(error, [&] {
    fill_spec(spec, item_of(signature_of(signature).inputs, index, "there is no such input"));
    return TIERUP_OK;
  });
}

tierup_code tierup_signature_output(const tierup_signature* signature, size_t index,
                                    tierup_value_spec* spec, tierup_error** error) {
  return c_guarded(error, [&] {
    fill_spec(spec, item_of(signature_of(signature).outputs, index, "there is no such output"));
    return TIERUP_OK;
  });
}

tierup_code tierup_signature_input_size(const tierup_signature* signature, size_t index, size_t dim,
                                        tierup_size_spec* spec, tierup_error** error) {
  return c_guarded(error, [&] {
    fill_size(spec, item_of(signature_of(signature).inputs, index, "there is no such input"), dim);
    return TIERUP_OK;
  });
}

tierup_code tierup_signature_output_size(const tierup_signature* signature, size_t index,
                                         size_t dim, tierup_size_spec* spec, tierup_error** error) {
  return c_guarded(error, [&] {
    fill_size(spec, item_of(signature_of(signature).outputs, index, "there is no such output"),
              dim);
    return TIERUP_OK;
  });
}

tierup_value* tierup_signature_default(const tierup_signature* signature, size_t index,
                                       tierup_error** error) {
  return c_guarded(error, [&] {
    const ValueSpec& spec =
        item_of(signature_of(signature).inputs, index, "there is no such input");
    require_argument(spec.default_value.has_value(), "the input has no default");
    return new_value(*spec.default_value);
  });
}

tierup_explanation* tierup_module_explain(const tierup_module* module, tierup_error** error) {
  return c_guarded(error, [&] { return new_explanation(module_of(module).explain()); });
}

void tierup_explanation_free(tierup_explanation* explanation) { delete explanation; }

const char* tierup_explanation_options(const tierup_explanation* explanation) {
  return explanation == nullptr ? "" : explanation->explanation.options.c_str();
}
size_t tierup_explanation_graph_count(const tierup_explanation* explanation) {
  return explanation == nullptr ? 0 : explanation->explanation.graphs.size();
}

tierup_code tierup_explanation_graph(const tierup_explanation* explanation, size_t graph,
                                     tierup_graph_info* info, tierup_error** error) {
  return c_guarded(error, [&] {
    const GraphInfo& one = graph_of(explanation, graph);
    tierup_graph_info full{};
    full.name = one.name.c_str();
    full.method = one.method.c_str();
    full.calls = one.calls;
    full.tier0_calls = one.tier0_calls;
    full.checked_calls = one.checked_calls;
    full.plans_made = one.plans_made;
    full.budget_left = one.budget_left;
    full.evictions = one.evictions;
    full.invalidations = one.invalidations;
    full.state = static_cast<tierup_graph_state>(one.state);
    full.detail = one.detail.c_str();
    full.profile_text = one.profile_text.c_str();
    full.plan_count = one.plans.size();
    full.failed_jobs = one.failed_jobs;
    fill(info, full);
    return TIERUP_OK;
  });
}

uint64_t tierup_explanation_misses(const tierup_explanation* explanation, size_t graph,
                                   tierup_miss_reason reason) {
  if (explanation == nullptr || graph >= explanation->explanation.graphs.size()) return 0;
  for (const MissCount& miss : explanation->explanation.graphs[graph].misses) {
    if (static_cast<int>(miss.reason) == static_cast<int>(reason)) return miss.count;
  }
  return 0;
}

tierup_code tierup_explanation_plan(const tierup_explanation* explanation, size_t graph,
                                    size_t plan, tierup_plan_info* info, tierup_error** error) {
  return c_guarded(error, [&] {
    const PlanInfo& one = plan_of(explanation, graph, plan);
    tierup_plan_info full{};
    full.serial = one.serial;
    full.is_static = one.is_static ? 1 : 0;
    full.compile_ms = one.compile_ms;
    full.hits = one.hits;
    full.held_bytes = one.held_bytes;
    full.guard_text = one.guard.text.c_str();
    full.profile_text = one.profile.text.c_str();
    full.graph_text = one.graph_text.c_str();
    full.plan_text = one.plan_text.c_str();
    full.note_count = one.notes.size();
    full.region_count = one.regions.size();
    full.unfused_count = one.unfused.size();
    fill(info, full);
    return TIERUP_OK;
  });
}

tierup_code tierup_explanation_region(const tierup_explanation* explanation, size_t graph,
                                      size_t plan, size_t region, tierup_region_info* info,
                                      tierup_error** error) {
  return c_guarded(error, [&] {
    const FusedRegion& one = region_of(explanation, graph, plan, region);
    tierup_region_info full{};
    full.is_net = one.kind == FusedRegion::Kind::kNet ? 1 : 0;
    full.compiled = one.compiled;
    full.twin_calls = one.twin_calls;
    full.held_bytes = one.held_bytes;
    full.operator_count = one.operators.size();
    full.note_count = one.notes.size();
    full.text = one.text.c_str();
    full.place = one.place.c_str();
    fill(info, full);
    return TIERUP_OK;
  });
}

const char* tierup_explanation_note(const tierup_explanation* explanation, size_t graph,
                                    size_t plan, size_t note) {
  return c_guarded(nullptr, [&] { return line_of(plan_of(explanation, graph, plan).notes, note); });
}

const char* tierup_explanation_region_operator(const tierup_explanation* explanation, size_t graph,
                                               size_t plan, size_t region, size_t index) {
  return c_guarded(nullptr, [&] {
    return line_of(region_of(explanation, graph, plan, region).operators, index);
  });
}

const char* tierup_explanation_region_note(const tierup_explanation* explanation, size_t graph,
                                           size_t plan, size_t region, size_t note) {
  return c_guarded(
      nullptr, [&] { return line_of(region_of(explanation, graph, plan, region).notes, note); });
}

const char* tierup_explanation_unfused(const tierup_explanation* explanation, size_t graph,
                                       size_t plan, size_t index) {
  return c_guarded(nullptr, [&] {
    static_cast<void>(plan_of(explanation, graph, plan));
    return line_of(explanation->unfused[graph][plan], index);
  });
}

}  // extern "C"
