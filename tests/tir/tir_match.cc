// Patterns become regular expressions; captures are filled in as text once they are known.
#include "tests/tir/tir_match.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <regex>
#include <sstream>

namespace tierup::tests {
namespace {

bool is_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::string escape(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (std::string_view("\\^$.|?*+()[]{}").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

class Matcher {
 public:
  explicit Matcher(const std::string& text) {
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) lines_.push_back(line);
  }

  std::vector<std::string> run(const std::vector<Directive>& directives) {
    std::vector<const Directive*> refused;
    for (const Directive& directive : directives) {
      if (directive.name == "not") {
        refused.push_back(&directive);
      } else if (directive.name == "check" || directive.name == "next") {
        const size_t found = find(directive);
        for (const Directive* other : refused) refuse(*other, at_, std::min(found, lines_.size()));
        refused.clear();
        if (found < lines_.size()) at_ = found + 1;
      } else if (directive.name == "count") {
        count(directive);
      }
    }
    for (const Directive* other : refused) refuse(*other, at_, lines_.size());
    return std::move(problems_);
  }

 private:
  void report(const Directive& directive, const std::string& what) {
    problems_.push_back(
        fmt::format("line {}: {}: {}: {}", directive.line, directive.name, directive.text, what));
  }

  // The line that holds the directive's pattern; past the end if there is none.
  size_t find(const Directive& directive) {
    const bool is_next = directive.name == "next";
    const size_t end = is_next ? std::min(at_ + 1, lines_.size()) : lines_.size();
    for (size_t i = at_; i < end; ++i) {
      if (matches(lines_[i], directive.text, true)) return i;
    }
    report(directive,
           is_next && at_ < lines_.size() ? "next line is: " + lines_[at_] : "not found");
    return lines_.size();
  }

  void refuse(const Directive& directive, size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      if (matches(lines_[i], directive.text, false)) report(directive, "found: " + lines_[i]);
    }
  }

  void count(const Directive& directive) {
    size_t digits = 0;
    const size_t wanted = std::stoul(directive.text, &digits);
    const std::string pattern =
        directive.text.substr(directive.text.find_first_not_of(' ', digits));
    const auto have = static_cast<size_t>(
        std::count_if(lines_.begin(), lines_.end(),
                      [&](const std::string& line) { return matches(line, pattern, false); }));
    if (have != wanted) report(directive, fmt::format("found {}", have));
  }

  bool matches(const std::string& line, const std::string& pattern, bool capture) {
    std::vector<std::string> names;
    const std::regex expression(compile(pattern, names));
    std::smatch match;
    if (!std::regex_search(line, match, expression)) return false;
    if (capture) {
      for (size_t i = 0; i < names.size(); ++i) captures_[names[i]] = match[i + 1].str();
    }
    return true;
  }

  std::string compile(const std::string& pattern, std::vector<std::string>& names) const {
    std::string out;
    for (size_t i = 0; i < pattern.size();) {
      if (pattern.compare(i, 3, "...") == 0) {
        out += ".*";
        i += 3;
      } else if (pattern[i] == '$' && i + 1 < pattern.size() && is_name(pattern[i + 1])) {
        size_t end = i + 1;
        while (end < pattern.size() && is_name(pattern[end])) ++end;
        const std::string name = pattern.substr(i + 1, end - i - 1);
        const auto known = captures_.find(name);
        const auto seen = std::find(names.begin(), names.end(), name);
        if (known != captures_.end()) {
          out += escape(known->second) + "(?![\\w.#])";
        } else if (seen != names.end()) {
          out += fmt::format("\\{}(?![\\w.#])", seen - names.begin() + 1);
        } else {
          out += "(%[\\w.#]+)";
          names.push_back(name);
        }
        i = end;
      } else {
        out += escape(pattern.substr(i, 1));
        ++i;
      }
    }
    return out;
  }

  std::vector<std::string> lines_;
  std::vector<std::string> problems_;
  std::map<std::string, std::string> captures_;
  size_t at_ = 0;
};

}  // namespace

std::vector<std::string> match_text(const std::string& text,
                                    const std::vector<Directive>& directives) {
  return Matcher(text).run(directives);
}

}  // namespace tierup::tests
