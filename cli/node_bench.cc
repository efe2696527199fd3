#include "node_bench.h"

#include <fmt/format.h>

#include <chrono>

#include "code_generator_notice.h"
#include "json_writer.h"
#include "tierup/node_times.h"

namespace tierup::cli {
namespace {

using Clock = std::chrono::steady_clock;

using Call = std::function<void(size_t, const v1::RunOptions&)>;

size_t call_for(const Call& call, double seconds, const v1::RunOptions& options) {
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  size_t count = 0;
  do {
    call(count++, options);
  } while (Clock::now() < end);
  return count;
}

size_t call_times(const Call& call, size_t times, const v1::RunOptions& options) {
  for (size_t i = 0; i < times; ++i) call(i, options);
  return times;
}

double giga(double amount, double nanoseconds) {
  return nanoseconds > 0 ? amount / nanoseconds : 0;
}

void write_rows(JsonWriter& json, const std::vector<v1::NodeTime>& rows, double total,
                double calls) {
  json.begin_array();
  for (const v1::NodeTime& row : rows) {
    json.begin_object();
    json.key("kind").string(row.op);
    json.key("us_per_run").number(row.nanoseconds / calls / 1000);
    json.key("share").number(row.nanoseconds / total);
    json.key("calls_per_run").number(static_cast<double>(row.calls) / calls);
    json.key("gflop_per_s").number(giga(row.operations, row.nanoseconds));
    json.key("gb_per_s").number(giga(row.bytes, row.nanoseconds));
    if (!row.shapes.empty()) json.key("shapes").string(row.shapes);
    if (!row.place.empty()) json.key("place").string(row.place);
    json.end_object();
  }
  json.end_array();
}

void print_rows(const std::vector<v1::NodeTime>& rows, double total, double calls) {
  fmt::print("{:>10} {:>6} {:>7} {:>9} {:>7}  {}\n", "us/run", "share", "calls", "GFLOP/s", "GB/s",
             "kind and shapes");
  for (const v1::NodeTime& row : rows) {
    fmt::print("{:10.2f} {:5.1f}% {:7.1f} {:9.2f} {:7.2f}  {} {}\n", row.nanoseconds / calls / 1000,
               100 * row.nanoseconds / total, static_cast<double>(row.calls) / calls,
               giga(row.operations, row.nanoseconds), giga(row.bytes, row.nanoseconds), row.op,
               row.shapes);
  }
}

}  // namespace

void bench_nodes(const Call& call, const NodeBenchOptions& options, const ModelArguments& model) {
  const bool counts = options.main_runs > 0;
  // The tiers settle.
  counts ? call_times(call, options.warmup_runs, {}) : call_for(call, options.seconds, {});
  const v1::NodeTimes times;
  v1::RunOptions measured;
  measured.node_times = times;
  const auto calls = static_cast<double>(counts ? call_times(call, options.main_runs, measured)
                                                : call_for(call, options.seconds, measured));
  double total = 0;
  for (const v1::NodeTime& node : times.kinds()) total += node.nanoseconds;
  if (options.json) {
    JsonWriter writer;
    writer.begin_object();
    write_code_generator(writer, model);
    writer.key("runs").number(calls);
    writer.key("us_per_run").number(total / calls / 1000);
    write_rows(writer.key("nodes"), times.nodes(), total, calls);
    write_rows(writer.key("kinds"), times.kinds(), total, calls);
    writer.end_object();
    fmt::print("{}\n", writer.text());
    return;
  }
  print_missing_code_generator(model);
  fmt::print("{} runs, {:.1f} us in nodes each\n", calls, total / calls / 1000);
  print_rows(times.nodes(), total, calls);
  fmt::print("\nby kind\n");
  print_rows(times.kinds(), total, calls);
}

}  // namespace tierup::cli
