// See tir_file.h.
#include "tests/tir/tir_file.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <string_view>

namespace tierup::tests {
namespace {

constexpr auto kNames = std::to_array<std::string_view>(
    {"test",      "class",   "method",     "check",      "next",  "not",      "count",
     "error",     "stats",   "run",        "equivalent", "alias", "no_alias", "written",
     "unwritten", "effects", "no_effects", "last_use",   "trace", "no_trace"});

std::string trim(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  const size_t end = text.find_last_not_of(" \t\r");
  return std::string(text.substr(begin, end - begin + 1));
}

// The directive in a line, if it has one.
std::optional<Directive> directive_of(const std::string& line, int number) {
  for (size_t at = line.find("# "); at != std::string::npos; at = line.find("# ", at + 1)) {
    const size_t colon = line.find(':', at);
    if (colon == std::string::npos) return std::nullopt;
    const std::string name = trim(std::string_view(line).substr(at + 2, colon - at - 2));
    if (std::find(kNames.begin(), kNames.end(), name) == kNames.end()) continue;
    return Directive{name, trim(std::string_view(line).substr(colon + 1)), number};
  }
  return std::nullopt;
}

}  // namespace

std::vector<std::string> TirFile::header_texts(std::string_view name) const {
  std::vector<std::string> texts;
  for (const Directive& directive : header) {
    if (directive.name == name) texts.push_back(directive.text);
  }
  return texts;
}

TirFile read_tir_file(const std::string& path) {
  TirFile file;
  file.path = path;
  std::ifstream stream(path);
  if (!stream) throw std::runtime_error("cannot read " + path);
  for (std::string line; std::getline(stream, line);) file.lines.push_back(line);
  bool is_inside = false;
  for (size_t i = 0; i < file.lines.size(); ++i) {
    const std::string& line = file.lines[i];
    const int number = static_cast<int>(i) + 1;
    if (line.starts_with("graph @")) {
      const size_t end = line.find('(');
      file.graphs.push_back({.name = line.substr(7, end - 7), .first_line = number});
      is_inside = true;
    }
    TirGraph* graph = file.graphs.empty() ? nullptr : &file.graphs.back();
    if (is_inside) graph->text += line + "\n";
    if (line.starts_with("}")) {
      is_inside = false;
      graph->golden_line = i + 1;
      graph->golden_count = 0;
    } else if (line.starts_with("#|") && graph != nullptr && !is_inside) {
      if (graph->golden_count++ == 0) graph->golden_line = i;
      graph->golden += (line.size() > 3 ? line.substr(3) : "") + "\n";
    } else if (const auto directive = directive_of(line, number)) {
      (graph == nullptr ? file.header : graph->directives).push_back(*directive);
    }
  }
  if (file.graphs.empty()) throw std::runtime_error(path + " holds no graph");
  return file;
}

}  // namespace tierup::tests
