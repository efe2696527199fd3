// TirFile: a text test taken apart into graphs and directives.
//
// Directives are comments of the form "# name: text", on a line of their own or behind code. Those
// before the first graph are the file's; others belong to the graph that they stand in or follow.
// Lines "#| ..." behind a graph are its expected text (test mode "precise").
#pragma once

#include <string>
#include <vector>

namespace tierup::tests {

struct Directive {
  std::string name;
  std::string text;
  int line;  // 1-based, in the file.
};

struct TirGraph {
  std::string name;
  std::string text;
  int first_line;
  std::vector<Directive> directives;
  std::string golden;  // Lines of "#| ", without the mark.
  size_t golden_line;  // Index of the first of them, or where they are to go.
  size_t golden_count;
};

struct TirFile {
  std::string path;
  std::vector<std::string> lines;
  std::vector<Directive> header;
  std::vector<TirGraph> graphs;

  // Texts of the header directives of this name.
  std::vector<std::string> header_texts(std::string_view name) const;
};

// Throws std::runtime_error if the file cannot be read or holds no graph.
TirFile read_tir_file(const std::string& path);

}  // namespace tierup::tests
