// Every field of exported programs' JSON in turn: missing, of every other type, unknown, huge.
//
// A damaged program is refused with a message, or is a program still (fields that only describe).
// What loads is run, with a time limit: it must answer, or fail with an Error of the caller's kind.
#include <gtest/gtest.h>

#include "tierup/api/model/model.h"
#include "tierup/archive/zip_builder.h"
#include "tierup/base/error.h"
#include "tierup/cases/model_cases.h"

namespace tierup {
namespace {

using archive::ModelArchive;
using archive::testing::ZipBuilder;

// A value of a JSON text, by its bytes; of an object's member, those of its key and comma too.
struct Field {
  std::string path;
  size_t begin;
  size_t end;
  size_t member_begin;
  size_t member_end;
};

// All values of a well-formed text, at any depth.
class FieldFinder {
 public:
  explicit FieldFinder(const std::string& text) : text_(text) {}
  std::vector<Field> run() {
    value("");
    return std::move(fields_);
  }

 private:
  char peek() {
    while (std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
    return text_[at_];
  }
  std::string string() {
    const size_t begin = ++at_;
    while (text_[at_] != '"') at_ += text_[at_] == '\\' ? 2 : 1;
    return text_.substr(begin, at_++ - begin);
  }
  void value(const std::string& path) {
    const char first = peek();
    const size_t begin = at_;
    if (first == '{' || first == '[') {
      container(path, first == '{');
    } else if (first == '"') {
      string();
    } else {
      while (at_ < text_.size() && std::string_view(",]} \n").find(text_[at_]) == std::string::npos)
        ++at_;
    }
    fields_.push_back({path, begin, at_, begin, at_});
  }
  void container(const std::string& path, bool is_object) {
    const char close = is_object ? '}' : ']';
    ++at_;
    for (size_t i = 0; peek() != close; ++i) {
      const size_t begin = at_;
      std::string inner = path + "[" + std::to_string(i) + "]";
      if (is_object) {
        inner = path + "." + string();
        peek();
        ++at_;  // The colon.
      }
      value(inner);
      if (peek() == ',') ++at_;
      fields_.back().member_begin = begin;
      fields_.back().member_end = at_;
    }
    ++at_;
  }

  const std::string& text_;
  size_t at_ = 0;
  std::vector<Field> fields_;
};

class JsonFields : public testing::TestWithParam<std::pair<const char*, const char*>> {
 protected:
  void SetUp() override {
    const auto archive = ModelArchive::open(GetParam().first);
    for (const auto& entry : archive->zip().entries()) {
      records_.emplace_back(entry.name.substr(entry.name.find('/') + 1),
                            archive->zip().read(entry));
    }
    call_ = api::read_model_case(GetParam().second).calls[0];
    // Of a package, one model's records alone.
    if (std::string_view(GetParam().first).find("packages") == std::string_view::npos) return;
    model_ = "parts/decoder";
  }

  // Empty if it loads and runs, else the error's text.
  std::string outcome(const std::string& name, const std::string& content) {
    ZipBuilder builder;
    for (const auto& [other, bytes] : records_) {
      builder.add("m/" + other, other == name ? content : bytes);
    }
    api::ModelOptions options;
    options.time_limit_ms = 2000;
    options.warn = [](const std::string&) {};
    options.exported_model = model_;
    try {
      const auto model = api::Model::load(archive::own_bytes(builder.finish()), options);
      model->call(deep_copy(make_tuple(call_.args)).to_tuple().items);
    } catch (const Error& error) {
      EXPECT_NE(error.code(), ErrorCode::kInternal) << error.what();
      EXPECT_FALSE(error.message().empty());
      return error.what();
    }
    return {};
  }

  bool is_read(const std::string& name) const {
    return name.ends_with(".json") && (model_.empty() || name.find(model_) != std::string::npos);
  }

  std::string model_;
  std::vector<std::pair<std::string, std::string>> records_;
  api::CaseCall call_;
};

TEST_P(JsonFields, AnyDamageIsRefusedOrHarmless) {
  size_t refused = 0;
  size_t harmless = 0;
  for (const auto& record : records_) {
    const std::string& name = record.first;
    const std::string& content = record.second;
    if (!is_read(name)) continue;
    for (const Field& field : FieldFinder(content).run()) {
      const auto try_one = [&](size_t begin, size_t end, const char* text) {
        std::string damaged = content;
        damaged.replace(begin, end - begin, text);
        SCOPED_TRACE(name + field.path + " = " + text);
        ++(outcome(name, damaged).empty() ? harmless : refused);
      };
      if (field.member_begin != field.begin) try_one(field.member_begin, field.member_end, "");
      for (const char* text : {"null", "{}", "[]", "\"nobody\"", "-1", "9223372036854775807", "1.5",
                               "true", "{\"as_nothing\": 1}", "{\"as_none\": true}", "[[[[]]]]"}) {
        try_one(field.begin, field.end, text);
      }
      if (HasFailure()) FAIL() << "at " << name << field.path;
    }
  }
  // Most fields matter.
  EXPECT_GT(refused, harmless);
  RecordProperty("refused", static_cast<int>(refused));
  RecordProperty("harmless", static_cast<int>(harmless));
}

INSTANTIATE_TEST_SUITE_P(
    Archives, JsonFields,
    testing::Values(std::pair("tests/data/exported/torch_2_10_mlp.pt2",
                              "tests/data/exported/torch_2_10_mlp.case0.safetensors"),
                    std::pair("tests/data/exported/torch_2_15_branches.pt2",
                              "tests/data/exported/torch_2_15_branches.case0.safetensors"),
                    std::pair("tests/data/packages/two_models.pt2",
                              "tests/data/packages/decoder.case0.safetensors")));

// The message says where in the document.
TEST_P(JsonFields, MissingPartsAreNamedByTheirPath) {
  for (const auto& [name, content] : records_) {
    if (!is_read(name) || !name.starts_with("models/")) continue;
    for (const Field& field : FieldFinder(content).run()) {
      const bool is_node = field.path.starts_with(".graph_module.graph.nodes[") &&
                           (field.path.ends_with("].target") || field.path.ends_with("].inputs"));
      if (!is_node) continue;
      std::string damaged = content;
      damaged.erase(field.member_begin, field.member_end - field.member_begin);
      const size_t parent = field.path.rfind('.');
      EXPECT_NE(outcome(name, damaged).find(field.path.substr(1, parent - 1)), std::string::npos)
          << name << field.path << ": " << outcome(name, damaged);
    }
  }
}

}  // namespace
}  // namespace tierup
