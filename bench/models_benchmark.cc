// Whole models: how long a call takes at tier 0 and on its plan, how near that is to the roofline,
// and which three nodes of the plan take the longest.
//
//   models_benchmark FOLDER [--seconds S]: each archive in it that has a case beside it, the first
//   call of its first case. Peaks are measured first, in the same process (roofline.h).
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <filesystem>

#include "roofline.h"
#include "tierup/api/model/node_times.h"
#include "tierup/archive/byte_source.h"
#include "tierup/base/error.h"
#include "tierup/base/parallel.h"
#include "tierup/cases/model_check.h"

namespace tierup::bench {
namespace {

using Clock = std::chrono::steady_clock;
using api::CaseCall;
using api::Model;

constexpr size_t kHottest = 3;
constexpr int kSettlingRounds = 3;

struct Arguments {
  std::string folder;
  double seconds = 1;  // Of timed calls, for each model and tier.
};

Ref<Model> load(const std::string& path, tier::CompileMode compile) {
  api::ModelOptions options;
  options.tiering.compile = compile;
  options.print = [](const std::string&) {};
  return Model::load(archive::map_file(path), std::move(options));
}

IValue call_model(const Model& model, const CaseCall& call, const api::RunOptions& options = {}) {
  // A copy: a model may write to its arguments.
  std::vector<IValue> args = deep_copy(make_tuple(call.args)).to_tuple().items;
  return call.method == "forward" ? model.call(std::move(args), {}, options)
                                  : model.run(call.method, std::move(args), {}, options);
}

// Calls until the plans that calls ask for are made.
void settle(const Model& model, const CaseCall& call) {
  for (int round = 0; round < kSettlingRounds; ++round) {
    for (int i = 0; i < kSettlingRounds; ++i) call_model(model, call);
    model.tiers().wait_for_jobs();
  }
}

double median_ms(const Model& model, const CaseCall& call, double seconds) {
  std::vector<double> times;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  while (times.size() < 5 || Clock::now() < end) {
    const auto start = Clock::now();
    call_model(model, call);
    times.push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count());
  }
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

// "aten::linear 41 %, ...": of the time that all nodes take.
std::string hottest_nodes(const Model& model, const CaseCall& call, double seconds) {
  api::NodeTimes times;
  api::RunOptions options;
  options.observer = &times;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  do {
    call_model(model, call, options);
  } while (Clock::now() < end);
  const std::vector<api::NodeTime> nodes = times.nodes();
  double total = 0;
  for (const api::NodeTime& node : nodes) total += node.nanoseconds;
  std::string text;
  for (size_t i = 0; i < std::min(kHottest, nodes.size()); ++i) {
    text += fmt::format("    {:4.1f} %  {} {}\n", 100 * nodes[i].nanoseconds / total, nodes[i].op,
                        nodes[i].shapes);
  }
  return text;
}

void measure(const std::string& path, const CaseCall& call, const Machine& machine,
             double seconds) {
  const Ref<Model> tier0 = load(path, tier::CompileMode::kOff);
  call_model(*tier0, call);
  const Work work = work_of(*tier0, call);
  const double tier0_ms = median_ms(*tier0, call, seconds);
  const Ref<Model> tiered = load(path, tier::CompileMode::kBackground);
  settle(*tiered, call);
  const double plan_ms = median_ms(*tiered, call, seconds);
  const double limit_ms = least_ms(machine, work);
  fmt::print("{:32} {:10.4f} {:10.4f} {:8.2f} {:10.4f} {:7.1f} %\n",
             std::filesystem::path(path).filename().string(), tier0_ms, plan_ms, tier0_ms / plan_ms,
             limit_ms, 100 * limit_ms / plan_ms);
  fmt::print("{}", hottest_nodes(*tiered, call, seconds / 2));
}

// Archives of the folder that have cases.
std::vector<std::string> models_in(const std::string& folder) {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string extension = entry.path().extension().string();
    if (extension != ".pt" && extension != ".pt2") continue;
    if (!api::case_paths_of(entry.path().string()).empty()) paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

int run(const Arguments& arguments) {
  const std::vector<std::string> paths = models_in(arguments.folder);
  require(!paths.empty(), ErrorCode::kNotFound, "no model with a case in '{}'", arguments.folder);
  const Machine machine = measure_machine();
  fmt::print(
      "{} threads; products {:.1f} GFLOP/s (f32, {} cubed, the best of 2 s), memory {:.2f} GB/s "
      "(reading {} MiB, the best of 2 s)\n"
      "roofline: the longer of arithmetic / products and (weights + arguments + results, each "
      "once) "
      "/ memory;\nabove 100 % where weights stay in a cache or an algorithm multiplies less "
      "(Winograd)\n\n{:32} {:>10} {:>10} {:>8} {:>10} {:>9}\n",
      usable_cores(), machine.flops_per_s * 1e-9, kProductSide, machine.bytes_per_s * 1e-9,
      kReadBytes >> 20, "model (p50 in ms)", "tier 0", "plan", "faster", "roofline", "share");
  int failures = 0;
  for (const std::string& path : paths) {
    try {
      const api::ModelCase model_case = api::read_model_case(api::case_paths_of(path).front());
      measure(path, model_case.calls.front(), machine, arguments.seconds);
    } catch (const Error& error) {
      fmt::print("{:32} {}\n", std::filesystem::path(path).filename().string(), error.what());
      ++failures;
    }
    std::fflush(stdout);
  }
  return failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace tierup::bench

int main(int argc, char** argv) {
  CLI::App app("Times whole models against the roofline.", "models_benchmark");
  tierup::bench::Arguments arguments;
  app.add_option("folder", arguments.folder, "Models with cases beside them")->required();
  app.add_option("--seconds", arguments.seconds, "Seconds of timed calls, for each model and tier");
  CLI11_PARSE(app, argc, argv);
  try {
    return tierup::bench::run(arguments);
  } catch (const tierup::Error& error) {
    fmt::print(stderr, "models_benchmark: {}\n", error.what());
    return 3;
  }
}
