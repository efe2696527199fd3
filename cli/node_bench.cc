#include "node_bench.h"

#include <fmt/format.h>

#include <chrono>

#include "code_generator_notice.h"
#include "json_writer.h"
#include "tierup/api/node_times.h"

namespace tierup::cli {
namespace {

using Clock = std::chrono::steady_clock;

size_t call_for(const std::function<void(size_t, const api::RunOptions&)>& call, double seconds,
                const api::RunOptions& options) {
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  size_t count = 0;
  do {
    call(count++, options);
  } while (Clock::now() < end);
  return count;
}

double giga(double amount, double nanoseconds) {
  return nanoseconds > 0 ? amount / nanoseconds : 0;
}

void write_rows(JsonWriter& json, const std::vector<api::NodeTime>& rows, double total,
                double calls) {
  json.begin_array();
  for (const api::NodeTime& row : rows) {
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

void print_rows(const std::vector<api::NodeTime>& rows, double total, double calls) {
  fmt::print("{:>10} {:>6} {:>7} {:>9} {:>7}  {}\n", "us/run", "share", "calls", "GFLOP/s", "GB/s",
             "kind and shapes");
  for (const api::NodeTime& row : rows) {
    fmt::print("{:10.2f} {:5.1f}% {:7.1f} {:9.2f} {:7.2f}  {} {}\n", row.nanoseconds / calls / 1000,
               100 * row.nanoseconds / total, static_cast<double>(row.calls) / calls,
               giga(row.operations, row.nanoseconds), giga(row.bytes, row.nanoseconds), row.op,
               row.shapes);
  }
}

}  // namespace

void bench_nodes(const std::function<void(size_t, const api::RunOptions&)>& call, double seconds,
                 const ModelArguments& model, bool json) {
  call_for(call, seconds, {});  // The tiers settle.
  api::NodeTimes times;
  api::RunOptions options;
  options.observer = &times;
  const auto calls = static_cast<double>(call_for(call, seconds, options));
  double total = 0;
  for (const api::NodeTime& node : times.operators()) total += node.nanoseconds;
  if (json) {
    JsonWriter writer;
    writer.begin_object();
    write_code_generator(writer, model);
    writer.key("runs").number(calls);
    writer.key("us_per_run").number(total / calls / 1000);
    write_rows(writer.key("nodes"), times.nodes(), total, calls);
    write_rows(writer.key("kinds"), times.operators(), total, calls);
    writer.end_object();
    fmt::print("{}\n", writer.text());
    return;
  }
  print_missing_code_generator(model);
  fmt::print("{} runs, {:.1f} us in nodes each\n", calls, total / calls / 1000);
  print_rows(times.nodes(), total, calls);
  fmt::print("\nby kind\n");
  print_rows(times.operators(), total, calls);
}

}  // namespace tierup::cli
