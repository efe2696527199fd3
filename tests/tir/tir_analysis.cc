// See tir_analysis.h.
#include "tests/tir/tir_analysis.h"

#include <fmt/format.h>

#include <map>
#include <sstream>

#include "tierup/analysis/alias.h"
#include "tierup/analysis/liveness.h"

namespace tierup::tests {
namespace {

class AnalysisChecker {
 public:
  AnalysisChecker(const ir::Graph& graph, const std::function<int(const ir::Node*)>& line_of)
      : alias_(graph), liveness_(graph), leaves_no_trace_(analysis::leaves_no_trace(graph)) {
    collect(graph.block(), line_of);
  }

  void check(const Directive& directive) {
    if (directive.name == "alias" || directive.name == "no_alias") {
      check_alias(directive);
    } else if (directive.name == "written" || directive.name == "unwritten") {
      const ir::Value* value = find(directive, directive.text);
      expect(directive,
             value != nullptr && alias_.has_writers(value) == (directive.name == "written"));
    } else if (directive.name == "effects" || directive.name == "no_effects") {
      const ir::Node* node = node_at(directive);
      expect(directive,
             node != nullptr && alias_.has_effects(node) == (directive.name == "effects"));
    } else if (directive.name == "trace" || directive.name == "no_trace") {
      expect(directive, leaves_no_trace_ == (directive.name == "no_trace"));
    } else if (directive.name == "last_use") {
      check_last_uses(directive);
    }
  }

  std::vector<std::string> take_problems() { return std::move(problems_); }

 private:
  void collect(const ir::Block& block, const std::function<int(const ir::Node*)>& line_of) {
    for (const ir::Value* param : block.params()) values_["%" + param->name()] = param;
    for (const ir::Node* node : block.nodes()) {
      nodes_[line_of(node)] = node;
      for (const ir::Value* output : node->outputs()) values_["%" + output->name()] = output;
      for (const ir::Block* inner : node->blocks()) collect(*inner, line_of);
    }
  }

  void expect(const Directive& directive, bool holds) {
    if (holds) return;
    problems_.push_back(fmt::format("line {}: {}: {} does not hold", directive.line, directive.name,
                                    directive.text));
  }

  const ir::Value* find(const Directive& directive, const std::string& name) {
    const auto found = values_.find(name);
    if (found != values_.end()) return found->second;
    problems_.push_back(fmt::format("line {}: no value {}", directive.line, name));
    return nullptr;
  }

  const ir::Node* node_at(const Directive& directive) {
    const auto found = nodes_.find(directive.line);
    return found == nodes_.end() ? nullptr : found->second;
  }

  void check_alias(const Directive& directive) {
    std::istringstream stream(directive.text);
    std::string a;
    std::string b;
    stream >> a >> b;
    const ir::Value* x = find(directive, a);
    const ir::Value* y = find(directive, b);
    if (x == nullptr || y == nullptr) return;
    expect(directive, alias_.may_alias(x, y) == (directive.name == "alias"));
  }

  // The values named are the ones that die behind the node, and no others.
  void check_last_uses(const Directive& directive) {
    const ir::Node* node = node_at(directive);
    if (node == nullptr) return expect(directive, false);
    std::istringstream stream(directive.text);
    size_t count = 0;
    for (std::string name; stream >> name; ++count) {
      const ir::Value* value = find(directive, name);
      if (value != nullptr) expect(directive, liveness_.last_use(value) == node);
    }
    expect(directive, liveness_.dying_after(node).size() == count);
  }

  analysis::AliasAnalysis alias_;
  analysis::Liveness liveness_;
  const bool leaves_no_trace_;
  std::map<std::string, const ir::Value*> values_;
  std::map<int, const ir::Node*> nodes_;
  std::vector<std::string> problems_;
};

}  // namespace

std::vector<std::string> check_analysis(const ir::Graph& graph,
                                        const std::vector<Directive>& directives,
                                        const std::function<int(const ir::Node*)>& line_of) {
  AnalysisChecker checker(graph, line_of);
  for (const Directive& directive : directives) checker.check(directive);
  return checker.take_problems();
}

}  // namespace tierup::tests
