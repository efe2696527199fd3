#include "tierup/frontend/exported/json_cursor.h"

#include <limits>

#include "tierup/base/error.h"

namespace tierup::frontend::exported {

std::string JsonCursor::path() const {
  if (parent_ == nullptr) return "";
  std::string path = parent_->path();
  if (key_.data() == nullptr) return path + "[" + std::to_string(index_) + "]";
  if (!path.empty()) path += ".";
  return path + std::string(key_);
}

void JsonCursor::fail(const std::string& problem) const {
  const std::string where = path();
  throw Error(ErrorCode::kCorruptArchive,
              (where.empty() ? "exported program" : where) + ": " + problem);
}

int64_t JsonCursor::as_int() const {
  int64_t result = 0;
  if (value_.get(result) != simdjson::SUCCESS) fail("expected an integer of 64 bits");
  return result;
}

double JsonCursor::as_double() const {
  double result = 0;
  if (value_.get(result) == simdjson::SUCCESS) return result;
  std::string_view text;
  if (value_.get(text) == simdjson::SUCCESS) {
    if (text == "Infinity") return std::numeric_limits<double>::infinity();
    if (text == "-Infinity") return -std::numeric_limits<double>::infinity();
    if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
  }
  fail("expected a number");
}

bool JsonCursor::as_bool() const {
  bool result = false;
  if (value_.get(result) != simdjson::SUCCESS) fail("expected true or false");
  return result;
}

std::string_view JsonCursor::as_string() const {
  std::string_view result;
  if (value_.get(result) != simdjson::SUCCESS) fail("expected a string");
  return result;
}

simdjson::dom::array JsonCursor::array() const {
  simdjson::dom::array result;
  if (value_.get(result) != simdjson::SUCCESS) fail("expected a list");
  return result;
}

simdjson::dom::object JsonCursor::object() const {
  simdjson::dom::object result;
  if (value_.get(result) != simdjson::SUCCESS) fail("expected an object");
  return result;
}

JsonCursor JsonCursor::at(std::string_view key) const {
  simdjson::dom::element element;
  if (object().at_key(key).get(element) != simdjson::SUCCESS) {
    fail("the field '" + std::string(key) + "' is missing");
  }
  return {element, this, key, 0};
}

std::optional<JsonCursor> JsonCursor::find(std::string_view key) const {
  simdjson::dom::element element;
  if (object().at_key(key).get(element) != simdjson::SUCCESS || element.is_null()) {
    return std::nullopt;
  }
  return JsonCursor(element, this, key, 0);
}

std::pair<std::string_view, JsonCursor> JsonCursor::variant() const {
  const simdjson::dom::object members = object();
  if (members.size() != 1) {
    fail("a union needs exactly one variant, got " + std::to_string(members.size()));
  }
  const auto member = *members.begin();
  return {member.key, JsonCursor(member.value, this, member.key, 0)};
}

}  // namespace tierup::frontend::exported
