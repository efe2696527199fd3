// The trace form of an explanation: one row of calls, one of compile jobs.
#include "explanation.h"
#include "json_writer.h"

namespace tierup::cli {
namespace {

void write_event(JsonWriter& writer, const std::string& name, int row, double begin_ms,
                 double took_ms) {
  writer.begin_object();
  writer.key("name").string(name);
  writer.key("ph").string("X");
  writer.key("pid").number(1);
  writer.key("tid").number(row);
  writer.key("ts").number(begin_ms * 1000);
  writer.key("dur").number(took_ms * 1000);
  writer.end_object();
}

void write_row_name(JsonWriter& writer, const std::string& name, int row) {
  writer.begin_object();
  writer.key("name").string("thread_name");
  writer.key("ph").string("M");
  writer.key("pid").number(1);
  writer.key("tid").number(row);
  writer.key("args").begin_object();
  writer.key("name").string(name);
  writer.end_object();
  writer.end_object();
}

}  // namespace

std::string explanation_trace(const Explanation& explanation) {
  JsonWriter writer;
  writer.begin_object();
  writer.key("displayTimeUnit").string("ms");
  writer.key("traceEvents").begin_array();
  write_row_name(writer, "calls", 1);
  write_row_name(writer, "compile jobs", 2);
  for (const CallRecord& call : explanation.calls) {
    write_event(writer, call.specialized ? "tier 1" : "tier 0", 1, call.begin_ms, call.took_ms);
    if (call.waited_ms > 0.01) {
      write_event(writer, "compile", 2, call.begin_ms + call.took_ms, call.waited_ms);
    }
  }
  writer.end_array();
  writer.end_object();
  return writer.text();
}

}  // namespace tierup::cli
