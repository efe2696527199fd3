#include "tierup/api/model/plain_json.h"

#include "tierup/base/error.h"

namespace tierup::api {

using simdjson::dom::element;
using simdjson::dom::element_type;

IValue plain_value(const element& json) {
  switch (json.type()) {
    case element_type::OBJECT: {
      const auto dict = make_ref<DictValue>(Type::str(), Type::any());
      for (const auto& [key, value] : json.get_object()) {
        dict->set(IValue(std::string_view(key)), plain_value(value));
      }
      return IValue(dict);
    }
    case element_type::ARRAY: {
      const auto list = make_ref<ListValue>(Type::any());
      for (const element item : json.get_array()) list->items.push_back(plain_value(item));
      return IValue(list);
    }
    case element_type::BOOL: return IValue(bool{json});
    case element_type::INT64: return IValue(int64_t{json});
    case element_type::DOUBLE: return IValue(double{json});
    case element_type::STRING: return IValue(std::string_view{json});
    default: return {};
  }
}

IValue plain_json(std::string_view text) {
  simdjson::dom::parser parser;
  element json;
  const auto problem = parser.parse(text.data(), text.size()).get(json);
  require(problem == simdjson::SUCCESS, ErrorCode::kInvalidArgument, "\"{}\" is no JSON: {}", text,
          simdjson::error_message(problem));
  return plain_value(json);
}

}  // namespace tierup::api
