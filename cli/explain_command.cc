// tierup explain: runs a model on a case for a while and tells how each graph runs, and why so.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>

#include "case_calls.h"
#include "code_generator_notice.h"
#include "commands.h"
#include "explanation.h"
#include "failure.h"
#include "json_writer.h"
#include "model_options.h"

namespace tierup::cli {
namespace {

struct ExplainArguments {
  ModelArguments model;
  std::vector<std::string> inputs;
  int calls = 10;
  bool graph = false;
  bool json = false;
  std::string html;
  std::string trace;
};

void print_plan(const v1::PlanInfo& plan, bool with_graph) {
  fmt::print("  plan {} ({}): {} hits, made in {:.2f} ms\n", plan.serial,
             plan.is_static ? "static shapes" : "any shapes", plan.hits, plan.compile_ms);
  std::string_view guard = plan.guard.text;
  while (!guard.empty()) {
    const size_t end = guard.find('\n');
    fmt::print("    guard: {}\n", guard.substr(0, end));
    guard = end == std::string_view::npos ? std::string_view() : guard.substr(end + 1);
  }
  for (const std::string& note : plan.notes) fmt::print("    {}\n", note);
  for (const v1::ArenaInfo& memory : plan.memory) {
    fmt::print(
        "    memory: {} tensors in {:.1f} KiB, {:.3f} of the lower bound; {:.1f} KiB side by "
        "side\n",
        memory.tensors, static_cast<double>(memory.arena_bytes) / 1024,
        static_cast<double>(memory.arena_bytes) /
            static_cast<double>(std::max<uint64_t>(memory.lower_bound_bytes, 1)),
        static_cast<double>(memory.total_bytes) / 1024);
  }
  if (with_graph) fmt::print("{}\n", plan.graph_text);
}

void print_report(const v1::Explanation& report, bool with_graph) {
  fmt::print("options: {}\n", report.options);
  for (const v1::GraphInfo& graph : report.graphs) {
    fmt::print("{}: {} calls, {} of them at tier 0; {}{}{}\n", graph.name, graph.calls,
               graph.tier0_calls, v1::state_text(graph.state), graph.detail.empty() ? "" : ": ",
               graph.detail);
    fmt::print("  {} plans made, {} left in the budget, {} evicted, {} withdrawn after a write\n",
               graph.plans_made, graph.budget_left, graph.evictions, graph.invalidations);
    if (graph.failed_jobs > 0) fmt::print("  {} compile jobs failed\n", graph.failed_jobs);
    for (const v1::MissCount& miss : graph.misses) {
      fmt::print("  guard failed {} times: {}\n", miss.count, v1::miss_text(miss.reason));
    }
    for (const v1::PlanInfo& plan : graph.plans) print_plan(plan, with_graph);
  }
}

void write_plan(JsonWriter& writer, const v1::PlanInfo& plan, bool with_graph) {
  writer.begin_object();
  writer.key("serial").number(static_cast<size_t>(plan.serial));
  writer.key("static").boolean(plan.is_static);
  writer.key("compile_ms").number(plan.compile_ms);
  writer.key("held_bytes").number(static_cast<size_t>(plan.held_bytes));
  writer.key("hits").number(static_cast<size_t>(plan.hits));
  writer.key("guard").string(plan.guard.text);
  writer.key("notes").begin_array();
  for (const std::string& note : plan.notes) writer.string(note);
  writer.end_array();
  writer.key("refusals").begin_array();
  for (const v1::RegionRefusal& refusal : plan.refusals) {
    writer.begin_object();
    writer.key("region").string(refusal.region);
    writer.key("reason").string(refusal.reason);
    writer.key("text").string(refusal.text);
    writer.key("operator").string(refusal.operation);
    writer.key("place").string(refusal.place);
    writer.key("count").number(static_cast<size_t>(refusal.count));
    writer.end_object();
  }
  writer.end_array();
  writer.key("memory").begin_array();
  for (const v1::ArenaInfo& memory : plan.memory) {
    writer.begin_object();
    writer.key("tensors").number(static_cast<size_t>(memory.tensors));
    writer.key("arena_bytes").number(static_cast<size_t>(memory.arena_bytes));
    writer.key("lower_bound_bytes").number(static_cast<size_t>(memory.lower_bound_bytes));
    writer.key("total_bytes").number(static_cast<size_t>(memory.total_bytes));
    writer.end_object();
  }
  writer.end_array();
  if (with_graph) writer.key("graph").string(plan.graph_text);
  writer.end_object();
}

void print_json(const ExplainArguments& arguments, const v1::Explanation& report) {
  JsonWriter writer;
  writer.begin_object();
  write_code_generator(writer, arguments.model);
  writer.key("options").string(report.options);
  writer.key("graphs").begin_array();
  for (const v1::GraphInfo& graph : report.graphs) {
    writer.begin_object();
    writer.key("name").string(graph.name);
    writer.key("calls").number(static_cast<size_t>(graph.calls));
    writer.key("tier0_calls").number(static_cast<size_t>(graph.tier0_calls));
    writer.key("reason").string(v1::state_text(graph.state));
    writer.key("detail").string(graph.detail);
    writer.key("guard_failures").begin_object();
    for (int i = 1; i <= static_cast<int>(v1::MissReason::kWeightsChanged); ++i) {
      const auto reason = static_cast<v1::MissReason>(i);
      const auto miss = std::find_if(graph.misses.begin(), graph.misses.end(),
                                     [&](const auto& one) { return one.reason == reason; });
      writer.key(v1::miss_text(reason));
      writer.number(miss == graph.misses.end() ? 0 : static_cast<size_t>(miss->count));
    }
    writer.end_object();
    writer.key("plans").begin_array();
    for (const v1::PlanInfo& plan : graph.plans) write_plan(writer, plan, arguments.graph);
    writer.end_array();
    writer.end_object();
  }
  writer.end_array();
  writer.end_object();
  fmt::print("{}\n", writer.text());
}

double now_ms() {
  return std::chrono::duration<double, std::milli>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

uint64_t tier0_calls(const v1::Module& module) {
  uint64_t calls = 0;
  for (const v1::GraphInfo& graph : module.explain().graphs) calls += graph.tier0_calls;
  return calls;
}

// Runs one call, then waits for the compilation that it may have caused.
CallRecord record_call(const v1::Module& module, const RecordedCall& call) {
  const uint64_t before = tier0_calls(module);
  const double begin = now_ms();
  make_call_or_fail_as_expected(module, call);
  const double end = now_ms();
  module.wait_for_compilation();
  return {begin, end - begin, now_ms() - end, tier0_calls(module) == before};
}

void write_text(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  require(file.good(), v1::ErrorCode::kNotFound, "cannot write '{}'", path);
}

int explain(const ExplainArguments& arguments) {
  const v1::Module module = arguments.model.load(true);
  std::vector<CaseFile> cases;
  for (const std::string& path : arguments.inputs) cases.emplace_back(path);
  Explanation explanation;
  explanation.model = std::filesystem::path(arguments.model.path).filename().string();
  for (int i = 0; i < arguments.calls; ++i) {
    for (const RecordedCall& call : cases[static_cast<size_t>(i) % cases.size()].calls()) {
      explanation.calls.push_back(record_call(module, call));
    }
  }
  if (!explanation.calls.empty()) {
    const double begin = explanation.calls.front().begin_ms;
    for (CallRecord& call : explanation.calls) call.begin_ms -= begin;
  }
  explanation.report = module.explain();
  if (!arguments.html.empty()) write_text(arguments.html, explanation_page(explanation));
  if (!arguments.trace.empty()) write_text(arguments.trace, explanation_trace(explanation));
  const v1::Explanation& report = explanation.report;
  if (arguments.json) {
    print_json(arguments, report);
    return kOk;
  }
  print_missing_code_generator(arguments.model);
  print_report(report, arguments.graph);
  return kOk;
}

}  // namespace

void add_explain_command(CLI::App& app, Action& action) {
  auto arguments = std::make_shared<ExplainArguments>();
  CLI::App* command = app.add_subcommand("explain", "How each graph of a model runs, and why");
  arguments->model.add_to(*command);
  command->add_option("--inputs", arguments->inputs, "Case files, called in turn")->required();
  command->add_option("--calls", arguments->calls, "Calls to make before the report")
      ->check(CLI::Range(1, 1000000));
  command->add_flag("--graph", arguments->graph, "Print the specialised graphs");
  command->add_option("--html", arguments->html, "Write a page: one file, no network needed");
  command->add_option("--trace", arguments->trace, "Write a trace for Perfetto");
  command->add_flag("--json", arguments->json, "One JSON object");
  command->callback([arguments, &action] {
    action.json = arguments->json;
    action.run = [arguments] { return explain(*arguments); };
  });
}

}  // namespace tierup::cli
