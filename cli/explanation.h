// Explanation: what `tierup explain` found out, and the forms it is told in.
#pragma once

#include <string>
#include <vector>

#include "tierup/explain.h"

namespace tierup::cli {

// One call of the model, in milliseconds since the first.
struct CallRecord {
  double begin_ms;
  double took_ms;
  double waited_ms;  // For compile jobs, behind the call.
  bool specialized;  // No graph ran at tier 0 in it.
};

struct Explanation {
  std::string model;  // The file's name, without its folders.
  v1::Explanation report;
  std::vector<CallRecord> calls;
};

// A page of its own: one file, nothing from the network, readable in light and dark.
std::string explanation_page(const Explanation& explanation);
// The calls and compilations in the trace event format that Perfetto and chrome://tracing read.
std::string explanation_trace(const Explanation& explanation);

}  // namespace tierup::cli
