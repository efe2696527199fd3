// See tir_checker.h.
#include "tests/tir/tir_checker.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "tests/tir/tir_analysis.h"
#include "tests/tir/tir_file.h"
#include "tests/tir/tir_match.h"
#include "tests/tir/tir_program.h"
#include "tierup/ir/graph_hash.h"
#include "tierup/ir/verifier.h"
#include "tierup/passes/core/pass_runner.h"
#include "tierup/passes/pipeline.h"

namespace tierup::tests {
namespace {

std::vector<std::string> words(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> result;
  for (std::string word; stream >> word;) result.push_back(word);
  return result;
}

class Checker {
 public:
  explicit Checker(const std::string& path) : file_(read_tir_file(path)), program_(file_) {
    for (const std::string& text : file_.header_texts("test")) {
      const std::vector<std::string> parts = words(text);
      if (parts.empty()) continue;
      if (parts[0] == "precise") {
        is_precise_ = true;
        continue;
      }
      mode_ = parts[0];
      for (size_t i = 1; i < parts.size(); ++i) {
        const passes::Pass* pass = passes::find_pass(parts[i]);
        if (pass == nullptr) {
          report(1, "unknown pass " + parts[i]);
        } else {
          passes_.push_back(*pass);
        }
      }
    }
    if (mode_.empty()) report(1, "no \"# test: MODE\"");
  }

  std::vector<std::string> run() {
    for (TirGraph& graph : file_.graphs) check_graph(graph);
    if (is_precise_ && std::getenv("TIERUP_BLESS") != nullptr) bless();
    return std::move(problems_);
  }

 private:
  void report(int line, const std::string& what) {
    problems_.push_back(fmt::format("{}:{}: {}", file_.path, line, what));
  }

  void check_graph(TirGraph& text) {
    if (mode_ == "verify") return check_errors(text);
    try {
      const std::shared_ptr<ir::Graph> original = program_.parse(text);
      const std::shared_ptr<ir::Graph> graph = original->clone();
      ir::verify_graph(*original, "parsing");
      passes::PassOptions options;
      options.verify_each = true;
      const auto reports = passes::run_passes(*graph, passes_, options);
      results_[text.name] = graph;
      check_result(text, *original, *graph, reports);
      check_runs(text, original, graph);
    } catch (const std::exception& error) {
      report(text.first_line, error.what());
    }
  }

  void check_result(TirGraph& text, const ir::Graph& original, const ir::Graph& graph,
                    const passes::PipelineReport& reports) {
    const std::string printed = ir::print_graph(graph);
    for (const std::string& problem : match_text(printed, text.directives)) {
      report(text.first_line, problem + "\n" + printed);
    }
    if (mode_ == "parse") check_parse(text, printed);
    if (mode_ == "analysis") {
      const auto line_of = [&](const ir::Node* node) { return program_.line_of(node); };
      for (const std::string& problem : check_analysis(original, text.directives, line_of)) {
        report(text.first_line, problem);
      }
    }
    for (const Directive& directive : text.directives) {
      if (directive.name == "stats") check_stats(directive, reports);
      if (directive.name == "equivalent") check_equivalent(directive, graph);
    }
    if (!is_precise_) return;
    if (std::getenv("TIERUP_BLESS") != nullptr) {
      text.golden = printed;
    } else if (text.golden != printed) {
      report(text.first_line, "expected\n" + text.golden + "but got\n" + printed);
    }
  }

  // The text without comments must be what is printed.
  void check_parse(const TirGraph& text, const std::string& printed) {
    std::istringstream stream(text.text);
    std::string plain;
    for (std::string line; std::getline(stream, line);) {
      const size_t comment = line.find(" # ");
      if (comment != std::string::npos) line.resize(comment);
      line.resize(line.find_last_not_of(' ') + 1);
      if (!line.empty()) plain += line + "\n";
    }
    if (plain != printed) report(text.first_line, "prints as\n" + printed);
  }

  void check_stats(const Directive& directive, const passes::PipelineReport& reports) {
    passes::Counters sums;
    for (const passes::PassReport& one : reports) {
      for (const auto& [name, count] : one.counters) sums[name] += count;
    }
    for (const std::string& part : words(directive.text)) {
      const size_t equals = part.find('=');
      const auto found = sums.find(part.substr(0, equals));
      const int64_t have = found == sums.end() ? 0 : found->second;
      if (have != std::stoll(part.substr(equals + 1))) {
        report(directive.line, fmt::format("stats: {}, but it is {}", part, have));
      }
    }
  }

  void check_equivalent(const Directive& directive, const ir::Graph& graph) {
    const auto other = results_.find(directive.text.substr(directive.text.find('@') + 1));
    if (other == results_.end()) {
      report(directive.line, "equivalent: no such graph above: " + directive.text);
    } else if (ir::graph_hash(*other->second) != ir::graph_hash(graph)) {
      report(directive.line,
             "not equivalent:\n" + ir::print_graph(*other->second) + ir::print_graph(graph));
    }
  }

  void check_runs(const TirGraph& text, const std::shared_ptr<ir::Graph>& original,
                  const std::shared_ptr<ir::Graph>& graph) {
    for (const Directive& directive : text.directives) {
      if (directive.name != "run") continue;
      check_run(directive, original, "as written");
      if (!passes_.empty()) check_run(directive, graph, "after the passes");
      const std::shared_ptr<ir::Graph> piped = original->clone();
      passes::PassOptions options;
      options.verify_each = true;
      passes::run_no_opt_pipeline(*piped, options);
      check_run(directive, piped, "after the whole pipeline");
    }
  }

  // "(1, 2) == 3" or "(1, 0) raises division".
  void check_run(const Directive& directive, const std::shared_ptr<const ir::Graph>& graph,
                 const std::string& when) {
    const std::string& text = directive.text;
    const size_t equals = text.rfind(" == ");
    const size_t raises = text.rfind(" raises ");
    const size_t end = std::min(equals, raises);
    if (end == std::string::npos) return report(directive.line, "run: no == and no raises");
    // The arguments are the items of a tuple.
    const IValue args = ir::parse_constant_text("tuple" + text.substr(0, end), program_.context());
    std::string result;
    try {
      result = run_graph(graph, args.to_tuple().items);
    } catch (const Error& error) {
      const std::string expected = raises != std::string::npos ? text.substr(raises + 8) : "";
      if (expected.empty() || error.message().find(expected) == std::string::npos) {
        report(directive.line, fmt::format("run {} raised {}", when, error.what()));
      }
      return;
    }
    if (equals == std::string::npos) {
      report(directive.line, fmt::format("run {} gave {} and did not raise", when, result));
    } else if (result != text.substr(equals + 4)) {
      report(directive.line, fmt::format("run {} gave {}", when, result));
    }
  }

  void check_errors(const TirGraph& text) {
    std::vector<std::pair<int, std::string>> found;
    try {
      const std::shared_ptr<ir::Graph> graph = program_.parse(text);
      for (const ir::GraphIssue& issue : ir::find_issues(*graph)) {
        const int line = program_.line_of(issue.node);
        found.emplace_back(line > 0 ? line : text.first_line, issue.message);
      }
    } catch (const Error& error) {
      const std::string_view message = error.message();
      const size_t at = message.find("line ");
      found.emplace_back(at == std::string_view::npos
                             ? text.first_line
                             : std::atoi(std::string(message.substr(at + 5)).c_str()),
                         std::string(message));
    }
    for (const Directive& directive : text.directives) {
      if (directive.name != "error") continue;
      const auto match = std::find_if(found.begin(), found.end(), [&](const auto& issue) {
        return issue.first == directive.line &&
               issue.second.find(directive.text) != std::string::npos;
      });
      if (match == found.end()) {
        report(directive.line, "no such error: " + directive.text);
      } else {
        found.erase(match);
      }
    }
    for (const auto& [line, message] : found) report(line, "unexpected error: " + message);
  }

  void bless() {
    std::ofstream out(file_.path);
    size_t at = 0;
    const auto copy_until = [&](size_t end) {
      for (; at < end; ++at) out << file_.lines[at] << '\n';
    };
    for (const TirGraph& graph : file_.graphs) {
      copy_until(graph.golden_line);
      std::istringstream lines(graph.golden);
      for (std::string line; std::getline(lines, line);) out << "#| " << line << '\n';
      at += graph.golden_count;
    }
    copy_until(file_.lines.size());
  }

  TirFile file_;
  TirProgram program_;
  std::string mode_;
  bool is_precise_ = false;
  std::vector<passes::Pass> passes_;
  std::map<std::string, std::shared_ptr<ir::Graph>> results_;
  std::vector<std::string> problems_;
};

}  // namespace

std::vector<std::string> check_tir_file(const std::string& path) { return Checker(path).run(); }

}  // namespace tierup::tests
