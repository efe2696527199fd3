// JsonCursor: a place in a JSON document that knows its path, so that every complaint names it:
// "graph_module.graph.nodes[17].inputs[2].arg: expected an object".
//
// Cursors point to their parents on the stack; they are passed down, never kept.
#pragma once

#include <simdjson.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tierup::frontend::exported {

class JsonCursor {
 public:
  explicit JsonCursor(simdjson::dom::element value) : value_(value) {}

  std::string path() const;
  [[noreturn]] void fail(const std::string& problem) const;

  bool is_null() const { return value_.is_null(); }
  bool is_object() const { return value_.is_object(); }
  bool is_array() const { return value_.is_array(); }
  bool is_string() const { return value_.is_string(); }
  bool is_bool() const { return value_.is_bool(); }

  // Typed reads; each fails with the path if the value is of another type or out of range.
  int64_t as_int() const;
  double as_double() const;  // Also "Infinity", "-Infinity" and "NaN" as strings.
  bool as_bool() const;
  std::string_view as_string() const;

  // Member of an object. `at` fails if it is missing; `find` gives nothing if missing or null.
  JsonCursor at(std::string_view key) const;
  std::optional<JsonCursor> find(std::string_view key) const;

  // body(JsonCursor element) for every array element; fails if this is no array.
  template <typename Body>
  void each(Body&& body) const {
    size_t index = 0;
    for (simdjson::dom::element element : array()) body(JsonCursor(element, this, {}, index++));
  }
  // body(std::string_view key, JsonCursor value) for every member; fails if this is no object.
  template <typename Body>
  void each_member(Body&& body) const {
    for (auto member : object()) body(member.key, JsonCursor(member.value, this, member.key, 0));
  }
  // The one member of a union: its variant's name and value. Fails for none or several.
  std::pair<std::string_view, JsonCursor> variant() const;

 private:
  JsonCursor(simdjson::dom::element value, const JsonCursor* parent, std::string_view key,
             size_t index)
      : value_(value), parent_(parent), key_(key), index_(index) {}
  simdjson::dom::array array() const;
  simdjson::dom::object object() const;

  simdjson::dom::element value_;
  const JsonCursor* parent_ = nullptr;
  std::string_view key_;
  size_t index_ = 0;
};

}  // namespace tierup::frontend::exported
