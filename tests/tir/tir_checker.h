// The checker of text tests (*.tir). The header line "# test: MODE..." says what is tested:
//
//   pass NAME...   the passes run over each graph, in this order; then the directives of
//   tir_match.h,
//                  "stats: folded=1" (counters of all of them), and the runs
//   parse          each graph must print back as it stands
//   verify         the verifier must complain at exactly the lines marked "# error: TEXT"
//   analysis       "alias: %a %b", "no_alias: %a %b", "written: %a", "unwritten: %a"; and on the
//                  line of a node "effects:", "no_effects:", "last_use: %a"
//
// and, beside one of those, "precise": the result must be the lines "#| ..." behind the graph,
// which TIERUP_BLESS=1 rewrites. In every mode but verify, "run: (ARGS) == RESULTS" (or "raises
// TEXT") runs the graph: as written, after the passes, and after the whole no-opt pipeline;
// "equivalent: @other" says that this graph and the other are the same after the passes.
#pragma once

#include <string>
#include <vector>

namespace tierup::tests {

// What is wrong in the file, with line numbers; empty if it passes.
std::vector<std::string> check_tir_file(const std::string& path);

}  // namespace tierup::tests
