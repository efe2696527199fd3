// TirProgram: the graphs, classes and functions of one text test, parsed and ready to run.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/tir/tir_file.h"
#include "tierup/ir/function.h"
#include "tierup/ir/text.h"

namespace tierup::tests {

// A function whose body is a graph of the file.
class TextFunction final : public ir::Function {
 public:
  TextFunction(std::string name, std::shared_ptr<const ir::Graph> graph);
  const ir::Schema& schema() const override { return schema_; }
  const std::shared_ptr<const ir::Graph>& graph() const override { return graph_; }
  // Lets go of what names types: one may be the very class that this is a method of.
  void forget_code() {
    graph_.reset();
    schema_ = {};
  }

 private:
  ir::Schema schema_;
  std::shared_ptr<const ir::Graph> graph_;
};

class TirProgram {
 public:
  // Declares the header's classes: "# class: Counter(n : int, inner : Other)".
  explicit TirProgram(const TirFile& file);
  TirProgram(const TirProgram&) = delete;
  TirProgram& operator=(const TirProgram&) = delete;
  ~TirProgram();

  // Parses a graph; later ones may call it as @name, and it becomes the methods that its directives
  // "# method: Counter.step" name. Throws kSyntax with the file's line numbers.
  std::shared_ptr<ir::Graph> parse(const TirGraph& graph);
  // The line of a node of a parsed graph; 0 if unknown.
  int line_of(const ir::Node* node) const;
  ir::TextContext context() const;

 private:
  std::map<std::string, std::shared_ptr<ClassType>, std::less<>> classes_;
  std::map<std::string, Ref<TextFunction>, std::less<>> functions_;
  std::map<const ir::Node*, int> lines_;
};

// Runs a graph at tier 0: its outputs, as constants' text joined by ", ". Throws what it raises.
std::string run_graph(const std::shared_ptr<const ir::Graph>& graph, std::vector<IValue> args);

}  // namespace tierup::tests
