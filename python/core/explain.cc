// Explanations and signatures as plain Python values; their classes are in tierup/_explain.py.
#include "explain.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <chrono>

#include "executor.h"
#include "values.h"

namespace tierup::python {
namespace {

nb::list as_list(const std::vector<std::string>& texts) {
  nb::list result;
  for (const std::string& text : texts) result.append(text);
  return result;
}

nb::dict region_dict(const FusedRegion& region) {
  nb::dict result;
  result["kind"] = region.kind == FusedRegion::Kind::kNet ? "net" : "group";
  result["operators"] = as_list(region.operators);
  result["text"] = region.text;
  result["compiled"] = region.compiled;
  result["twin_calls"] = region.twin_calls;
  result["held_bytes"] = region.held_bytes;
  result["notes"] = as_list(region.notes);
  result["place"] = region.place;
  return result;
}

nb::dict plan_dict(const PlanInfo& plan) {
  nb::dict result;
  result["serial"] = plan.serial;
  result["is_static"] = plan.is_static;
  result["compile_ms"] = plan.compile_ms;
  result["hits"] = plan.hits;
  result["held_bytes"] = plan.held_bytes;
  result["guard"] = plan.guard.text;
  nb::list regions;
  for (const FusedRegion& region : plan.regions) regions.append(region_dict(region));
  result["regions"] = regions;
  nb::list unfused;
  for (const UnfusedOperator& op : plan.unfused) {
    unfused.append(nb::make_tuple(op.name, op.reason, op.place));
  }
  result["unfused"] = unfused;
  nb::list refusals;
  for (const RegionRefusal& refusal : plan.refusals) {
    nb::dict one;
    one["region"] = refusal.region;
    one["reason"] = refusal.reason;
    one["text"] = refusal.text;
    one["operator"] = refusal.operation;
    one["place"] = refusal.place;
    one["count"] = refusal.count;
    refusals.append(one);
  }
  result["refusals"] = refusals;
  nb::list steps;
  for (const PlanStep& step : plan.steps)
    steps.append(nb::make_tuple(step.name, step.milliseconds));
  result["passes"] = steps;
  result["notes"] = as_list(plan.notes);
  result["graph"] = plan.graph_text;
  result["steps"] = plan.plan_text;
  return result;
}

nb::dict graph_dict(const GraphInfo& graph) {
  nb::dict result;
  result["name"] = graph.name;
  result["method"] = graph.method;
  result["calls"] = graph.calls;
  result["tier0_calls"] = graph.tier0_calls;
  result["state"] = std::string(state_text(graph.state));
  result["detail"] = graph.detail;
  result["plans_made"] = graph.plans_made;
  result["budget_left"] = graph.budget_left;
  result["invalidations"] = graph.invalidations;
  result["failed_jobs"] = graph.failed_jobs;
  nb::dict misses;
  for (const MissCount& miss : graph.misses) {
    misses[std::string(miss_text(miss.reason)).c_str()] = miss.count;
  }
  result["misses"] = misses;
  result["profile"] = graph.profile_text;
  nb::list plans;
  for (const PlanInfo& plan : graph.plans) plans.append(plan_dict(plan));
  result["plans"] = plans;
  return result;
}

nb::dict explain(const ModelHandle& model) {
  const Module module = model.get();
  const Explanation explanation = [&] {
    const WorkWithoutGil released;
    return module.explain();
  }();
  nb::list graphs;
  for (const GraphInfo& graph : explanation.graphs) graphs.append(graph_dict(graph));
  nb::dict result;
  result["options"] = explanation.options;
  result["graphs"] = graphs;
  return result;
}

nb::object size_of(const SizeSpec& size) {
  return size.value ? nb::object(nb::int_(*size.value)) : nb::object(nb::str(size.text.c_str()));
}

nb::dict value_dict(const ValueSpec& spec) {
  nb::dict result;
  result["name"] = spec.name;
  result["type"] = spec.type;
  result["dtype"] = spec.dtype ? nb::object(nb::str(dtype_name(*spec.dtype).c_str())) : nb::none();
  if (spec.sizes) {
    nb::list sizes;
    for (const SizeSpec& size : *spec.sizes) sizes.append(size_of(size));
    result["shape"] = nb::tuple(sizes);
  } else {
    result["shape"] = nb::none();
  }
  result["is_constant"] = spec.is_constant;
  result["is_used"] = spec.is_used;
  result["has_default"] = spec.default_value.has_value();
  result["default"] =
      spec.default_value ? write_value(*spec.default_value, ResultKind::kOwn, nullptr) : nb::none();
  return result;
}

nb::dict signature(const ModelHandle& model, const std::string& method) {
  const Signature signature = model.get().signature(method);
  nb::dict result;
  result["text"] = signature.text;
  result["is_exported"] = signature.is_exported;
  nb::list inputs;
  for (const ValueSpec& spec : signature.inputs) inputs.append(value_dict(spec));
  result["inputs"] = inputs;
  nb::list outputs;
  for (const ValueSpec& spec : signature.outputs) outputs.append(value_dict(spec));
  result["outputs"] = outputs;
  nb::dict ranges;
  for (const SizeRange& range : signature.ranges) {
    ranges[range.text.c_str()] = nb::make_tuple(range.least, range.most);
  }
  result["ranges"] = ranges;
  return result;
}

bool wait(const ModelHandle& model, nb::handle timeout) {
  const Module module = model.get();
  std::optional<std::chrono::milliseconds> limit;
  if (!timeout.is_none()) limit = std::chrono::milliseconds(milliseconds(timeout));
  const WorkWithoutGil released;
  return module.wait_for_compilation(limit);
}

void flush(const ModelHandle& model) {
  const Module module = model.get();
  const WorkWithoutGil released;
  module.flush();
}

}  // namespace

void bind_explain(nb::module_& module) {
  module.def("explain", &explain, nb::arg("model"));
  module.def("signature", &signature, nb::arg("model"), nb::arg("method"));
  module.def("wait_until_compiled", &wait, nb::arg("model"), nb::arg("timeout").none());
  module.def("flush", &flush, nb::arg("model"));
}

}  // namespace tierup::python
