// JsonWriter: builds one JSON text; commas and escapes are its business.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tierup::cli {

class JsonWriter {
 public:
  JsonWriter& begin_object() { return open('{'); }
  JsonWriter& end_object() { return shut('}'); }
  JsonWriter& begin_array() { return open('['); }
  JsonWriter& end_array() { return shut(']'); }
  JsonWriter& key(std::string_view name);
  JsonWriter& string(std::string_view value);
  // Infinities and NaN become null.
  JsonWriter& number(double value);
  JsonWriter& number(size_t value) { return raw(std::to_string(value)); }
  JsonWriter& number(int value) { return raw(std::to_string(value)); }
  JsonWriter& integer(int64_t value) { return raw(std::to_string(value)); }
  // Always with a point or exponent, so that it reads back as a float.
  JsonWriter& floating(double value);
  JsonWriter& boolean(bool value) { return raw(value ? "true" : "false"); }
  JsonWriter& null() { return raw("null"); }

  const std::string& text() const { return text_; }

 private:
  JsonWriter& open(char bracket);
  JsonWriter& shut(char bracket);
  JsonWriter& raw(std::string_view value);
  void separate();
  void quote(std::string_view value);

  std::string text_;
  bool needs_comma_ = false;
};

}  // namespace tierup::cli
