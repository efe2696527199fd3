#include "tierup/frontend/exported/program_data.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tierup/base/error.h"

namespace tierup::frontend::exported {
namespace {

// The least program: one tensor in and out.
std::string program(const std::string& nodes = "[]",
                    const std::string& version = R"({"major":8,"minor":20})") {
  return R"({"schema_version":)" + version +
         R"(,"graph_module":{"graph":{"inputs":[{"as_tensor":{"name":"x"}}],"outputs":[{"as_tensor":{"name":"x"}}],"nodes":)" +
         nodes +
         R"(,"tensor_values":{"x":{"dtype":7,"sizes":[{"as_int":2}],"strides":[{"as_int":1}]}}},"signature":{"input_specs":[{"user_input":{"arg":{"as_tensor":{"name":"x"}}}}],"output_specs":[{"user_output":{"arg":{"as_tensor":{"name":"x"}}}}]},"module_call_graph":[{"fqn":"","signature":{"in_spec":"[1,{}]","out_spec":"[1,{}]"}}]}})";
}

std::string message_of(const std::string& json) {
  try {
    parse_program(json);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(ProgramData, DtypeNumbersAreNotScalarTypeCodes) {
  EXPECT_EQ(parse_program(program()).graph.tensor_values.at("x").dtype, ScalarType::kFloat);
}

TEST(ProgramData, ComplaintsNameTheJsonPath) {
  const std::string node =
      R"([{"target":"t","inputs":[{"name":"a","arg":{"as_int":"3"}}],"outputs":[]}])";
  EXPECT_NE(message_of(program(node))
                .find("graph_module.graph.nodes[0].inputs[0].arg.as_int: expected an integer"),
            std::string::npos);
}

TEST(ProgramData, UnknownVariantsAreErrorsNotNone) {
  const std::string node =
      R"([{"target":"t","inputs":[{"name":"a","arg":{"as_foo":1}}],"outputs":[]}])";
  EXPECT_NE(message_of(program(node)).find("argument variant 'as_foo' is newer than schema 8.20"),
            std::string::npos);
  EXPECT_NE(message_of(program(node, R"({"major":8,"minor":31})")).find("try a newer tierup"),
            std::string::npos);
}

TEST(ProgramData, RefusesAnotherMajorVersion) {
  EXPECT_NE(
      message_of(program("[]", R"({"major":9,"minor":0})")).find("schema 9.0 is not supported"),
      std::string::npos);
}

TEST(ProgramData, ReadsBareTokensAndStringsOfNonFiniteNumbers) {
  const std::string node =
      R"([{"target":"t Infinity","inputs":[{"name":"a","arg":{"as_floats":[Infinity,-Infinity,"NaN"]}}],"outputs":[]}])";
  const ProgramData data = parse_program(program(node));
  const auto& items = data.graph.nodes[0].inputs[0].value.items;
  EXPECT_EQ(items[0].floating, INFINITY);
  EXPECT_EQ(items[1].floating, -INFINITY);
  EXPECT_TRUE(std::isnan(items[2].floating));
  EXPECT_EQ(data.graph.nodes[0].target, "t Infinity");
}

// Every field of the document, removed or of another type: an error or a default, never a crash.
TEST(ProgramData, SurvivesEveryFieldMissingOrOfAnotherType) {
  const std::string node =
      R"([{"target":"t","name":"n","metadata":{"stack_trace":"s"},"inputs":[{"name":"a","arg":{"as_sym_ints":[{"as_int":3},{"as_name":"q"}]}}],"outputs":[{"as_tensor":{"name":"y"}}]}])";
  const std::string text = program(node);
  for (size_t at = text.find('"'); at != std::string::npos; at = text.find('"', at + 1)) {
    const size_t end = text.find('"', at + 1);
    if (end == std::string::npos) break;
    std::string renamed = text;
    renamed.insert(end, "_");
    message_of(renamed);
    if (end + 1 < text.size() && text[end + 1] == ':') {
      for (const char* other :
           {"null,\"z\":", "7,\"z\":", "[],\"z\":", "{},\"z\":", "\"s\",\"z\":"}) {
        std::string changed = text;
        changed.insert(end + 2, other);
        message_of(changed);
      }
    }
    at = end;
  }
}

TEST(ProgramData, TruncatedTextIsAnError) {
  const std::string text = program();
  for (size_t length = 0; length < text.size(); length += 7) {
    EXPECT_NE(message_of(text.substr(0, length)), "") << length;
  }
}

}  // namespace
}  // namespace tierup::frontend::exported
