// The HTML form of an explanation.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "explanation.h"

namespace tierup::cli {
namespace {

constexpr const char* kHead = R"(<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<style>
.options{overflow-wrap:anywhere}
:root{color-scheme:light dark;--ink:#1d2430;--soft:#5b6574;--line:#d6dbe2;--page:#fbfbfc;--card:#fff;
--zero:#c8853a;--one:#2f7d6b;--job:#7a68b8}
@media (prefers-color-scheme:dark){:root{--ink:#e6e9ee;--soft:#9aa4b2;--line:#333b47;--page:#14181e;
--card:#1b2129;--zero:#e0a868;--one:#63bfa8;--job:#a898e0}}
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--page);margin:0 auto;
max-width:72rem;padding:2rem 1.5rem}
h1{font-size:1.5rem;margin:0}h2{font-size:1.15rem;margin:2.2rem 0 .4rem}h3{font-size:1rem;margin:1rem 0 .2rem}
p{margin:.3rem 0}.soft{color:var(--soft)}code,pre{font:13px/1.45 ui-monospace,monospace}
.card{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:.8rem 1rem;margin:.8rem 0}
table{border-collapse:collapse}td,th{text-align:left;padding:.15rem 1.2rem .15rem 0;vertical-align:top}
th{color:var(--soft);font-weight:500}pre{overflow:auto;margin:.4rem 0;max-height:24rem}
svg{width:100%;height:auto;display:block}.zero{fill:var(--zero)}.one{fill:var(--one)}
.block{fill:var(--one);fill-opacity:.35;stroke:var(--one)}text{fill:var(--soft);font:11px system-ui,sans-serif}
.key{display:inline-block;width:.7rem;height:.7rem;border-radius:2px;margin:0 .3rem 0 .9rem}
</style>
)";

std::string escape(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    switch (c) {
      case '&': safe += "&amp;"; break;
      case '<': safe += "&lt;"; break;
      case '>': safe += "&gt;"; break;
      case '"': safe += "&quot;"; break;
      default: safe += c;
    }
  }
  return safe;
}

std::string time_text(double ms) {
  if (ms < 1) return fmt::format("{:.1f} µs", ms * 1000);
  return ms < 1000 ? fmt::format("{:.2f} ms", ms) : fmt::format("{:.2f} s", ms / 1000);
}

// One bar a call; heights by the logarithm of the time, between the fastest and the slowest call.
std::string time_line(const std::vector<CallRecord>& calls) {
  if (calls.empty()) return {};
  const auto [least, most] = std::minmax_element(
      calls.begin(), calls.end(),
      [](const CallRecord& a, const CallRecord& b) { return a.took_ms < b.took_ms; });
  const double low = std::log(std::max(least->took_ms, 1e-6));
  const double span = std::max(std::log(std::max(most->took_ms, 1e-6)) - low, 1e-9);
  const double step = 1000.0 / static_cast<double>(calls.size());
  std::string svg = R"(<svg viewBox="0 0 1000 150" role="img" aria-label="time of each call">)";
  for (size_t i = 0; i < calls.size(); ++i) {
    const double height = 12 + 110 * (std::log(std::max(calls[i].took_ms, 1e-6)) - low) / span;
    svg += fmt::format(
        R"(<rect class="{}" x="{:.2f}" y="{:.2f}" width="{:.2f}" height="{:.2f}"><title>call {}: {}</title></rect>)",
        calls[i].specialized ? "one" : "zero", static_cast<double>(i) * step, 125 - height,
        std::max(step * 0.85, 0.4), height, i + 1, time_text(calls[i].took_ms));
  }
  svg += fmt::format(R"(<text x="0" y="145">{} calls; fastest {}, slowest {}</text></svg>)",
                     calls.size(), time_text(least->took_ms), time_text(most->took_ms));
  return svg +
         R"-(<p class="soft"><span class="key" style="background:var(--zero);margin-left:0"></span>tier 0)-"
         R"-(<span class="key" style="background:var(--one)"></span>specialised plan</p>)-";
}

// Time to the right, addresses downwards.
std::string memory_picture(const v1::ArenaInfo& memory) {
  uint32_t end = 1;
  for (const v1::ArenaBlock& block : memory.blocks) end = std::max(end, block.end);
  const double x = 1000.0 / end;
  const double y = 180.0 / static_cast<double>(std::max<uint64_t>(memory.arena_bytes, 1));
  std::string svg = R"(<svg viewBox="0 0 1000 182" role="img" aria-label="arena layout">)";
  for (const v1::ArenaBlock& block : memory.blocks) {
    svg += fmt::format(
        R"(<rect class="block" x="{:.2f}" y="{:.2f}" width="{:.2f}" height="{:.2f}"><title>{} bytes at {}</title></rect>)",
        block.begin * x, static_cast<double>(block.offset) * y, (block.end - block.begin) * x,
        static_cast<double>(block.bytes) * y, block.bytes, block.offset);
  }
  return svg +
         fmt::format(
             R"(</svg><p class="soft">{} tensors in {:.1f} KiB, {:.3f} of the lower bound; side by side {:.1f} KiB</p>)",
             memory.tensors, static_cast<double>(memory.arena_bytes) / 1024,
             static_cast<double>(memory.arena_bytes) /
                 static_cast<double>(std::max<uint64_t>(memory.lower_bound_bytes, 1)),
             static_cast<double>(memory.total_bytes) / 1024);
}

std::string plan_card(const v1::PlanInfo& plan) {
  std::string html =
      fmt::format(R"(<div class="card"><h3>Plan {}</h3><p class="soft">{}; {} hits; made in {}</p>)"
                  R"(<p>Holds while</p><pre>{}</pre>)",
                  plan.serial, plan.is_static ? "for exactly these sizes" : "for any sizes",
                  plan.hits, time_text(plan.compile_ms), escape(plan.guard.text));
  if (!plan.notes.empty()) {
    html += "<p>What was done</p><pre>";
    for (const std::string& note : plan.notes) html += escape(note) + "\n";
    html += "</pre>";
  }
  for (const v1::ArenaInfo& memory : plan.memory) {
    html += "<p>Memory</p>" + memory_picture(memory);
  }
  return html + "<details><summary>Graph</summary><pre>" + escape(plan.graph_text) +
         "</pre></details></div>";
}

std::string graph_section(const v1::GraphInfo& graph) {
  std::string html = fmt::format("<h2><code>{}</code></h2><p>{}{}{}.</p><table>",
                                 escape(graph.name), v1::state_text(graph.state),
                                 graph.detail.empty() ? "" : ": ", escape(graph.detail));
  const auto row = [&](std::string_view name, uint64_t value) {
    html += fmt::format("<tr><th>{}</th><td>{}</td></tr>", name, value);
  };
  row("calls", graph.calls);
  row("at tier 0", graph.tier0_calls);
  row("plans made", graph.plans_made);
  row("left in the budget", graph.budget_left);
  row("evicted", graph.evictions);
  row("withdrawn after a write to a weight", graph.invalidations);
  row("compile jobs failed", graph.failed_jobs);
  for (const v1::MissCount& miss : graph.misses) {
    row(fmt::format("guard failed: {}", v1::miss_text(miss.reason)), miss.count);
  }
  html += "</table>";
  if (!graph.profile_text.empty()) {
    html += "<h3>Profile</h3><pre>" + escape(graph.profile_text) + "</pre>";
  }
  for (const v1::PlanInfo& plan : graph.plans) html += plan_card(plan);
  return html;
}

}  // namespace

std::string explanation_page(const Explanation& explanation) {
  std::string html = kHead;
  html += fmt::format(
      R"(<title>tierup explain {0}</title></head><body><h1>How <code>{0}</code> runs</h1>)"
      R"(<p class="soft options"><code>{1}</code></p><h2>Calls against tier</h2>)",
      escape(explanation.model), escape(explanation.report.options));
  html += time_line(explanation.calls);
  for (const v1::GraphInfo& graph : explanation.report.graphs) html += graph_section(graph);
  return html + "</body></html>\n";
}

}  // namespace tierup::cli
