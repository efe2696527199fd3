// The content of an exported program's JSON as plain structs (schema 8), before any meaning.
//
// Field names follow torch.export's schema; enums are translated to tierup's (the file's dtype
// numbers are not the scalar type codes). Reading checks types, ranges and enums, nothing else.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tierup/tensor/device.h"
#include "tierup/tensor/dtype.h"

namespace tierup::frontend::exported {

struct GraphData;

// A size, stride or offset: a number, or the text of a sympy expression with an example value.
struct SymInt {
  int64_t value = 0;       // The number, or the hint (0 if there is none).
  std::string expression;  // Empty for a number.
  bool is_static() const { return expression.empty(); }
};

struct TensorMeta {
  ScalarType dtype = ScalarType::kFloat;
  std::vector<SymInt> sizes;
  std::vector<SymInt> strides;
  SymInt storage_offset;
  Device device;
  bool requires_grad = false;
  bool strided = true;
};

struct Argument {
  enum class Kind : uint8_t {
    kNone,
    kInt,
    kFloat,
    kBool,
    kString,
    kComplex,
    kScalarType,
    kMemoryFormat,
    kLayout,
    kDevice,
    kTensor,
    kSymInt,
    kSymFloat,
    kSymBool,
    kCustomObject,
    kToken,  // References by name.
    kList,
    kDict,
    kGraph,
    kOperator,
  };
  Kind kind = Kind::kNone;
  int64_t integer = 0;  // Also bool, and the codes of dtype, memory format and layout.
  double floating = 0;  // Also the real part.
  double imaginary = 0;
  std::string text;  // A string, an operator, or the name referred to.
  Device device;
  std::vector<Argument> items;    // Of a list, or the values of a dict.
  std::vector<std::string> keys;  // Of a dict.
  std::string variant;            // As the file says: "as_ints" tells an empty list's type.
  std::shared_ptr<const GraphData> graph;

  bool is_reference() const { return kind >= Kind::kTensor && kind <= Kind::kToken; }
};

struct NamedArgument {
  std::string name;
  Argument value;
};

struct NodeData {
  std::string target;
  std::vector<NamedArgument> inputs;
  std::vector<Argument> outputs;
  std::string name;
  std::string stack_trace;  // Python's, of the exporting program.
};

struct GraphData {
  std::vector<Argument> inputs;
  std::vector<Argument> outputs;
  std::vector<NodeData> nodes;
  std::unordered_map<std::string, TensorMeta> tensor_values;
  std::unordered_map<std::string, SymInt> sym_int_values;
  bool is_single_tensor_return = false;
};

struct InputSpec {
  enum class Kind : uint8_t {
    kUserInput,
    kParameter,
    kBuffer,
    kTensorConstant,
    kCustomObject,
    kToken,
    kConstantInput,
  };
  Kind kind = Kind::kUserInput;
  Argument argument;   // Of a constant input: its value; `name` is then the input's.
  std::string target;  // Fully qualified name of the parameter, buffer or constant.
  std::string name;
  bool persistent = true;
};

struct OutputSpec {
  enum class Kind : uint8_t {
    kUserOutput,
    kLossOutput,
    kBufferMutation,
    kParameterMutation,
    kUserInputMutation,
    kGradientToParameter,
    kGradientToUserInput,
    kToken,
  };
  Kind kind = Kind::kUserOutput;
  Argument argument;
  std::string target;  // Buffer, parameter or user input that is written.
};

struct Range {
  std::optional<int64_t> low;
  std::optional<int64_t> high;
};

struct ProgramData {
  int64_t schema_major = 0;
  int64_t schema_minor = 0;
  std::string torch_version;
  std::vector<std::string> verifiers;  // {"TRAINING"} or {"ATEN"}.
  GraphData graph;
  std::vector<InputSpec> inputs;
  std::vector<OutputSpec> outputs;
  std::map<std::string, Range> range_constraints;  // By the text of an expression.
  std::vector<std::string> guards;
  std::string in_spec;  // Tree specifications, JSON texts.
  std::string out_spec;
  std::vector<std::string> forward_arg_names;
  std::unordered_map<std::string, std::vector<std::string>> namedtuple_fields;
};

// How a tensor lies in its payload record.
struct Payload {
  std::string path_name;
  bool is_param = false;
  bool use_pickle = false;
  std::optional<TensorMeta> meta;
};
using PayloadConfig = std::map<std::string, Payload>;

// Newest minor of schema 8 that this build knows whole.
inline constexpr int64_t kKnownSchemaMinor = 20;

// Throws kCorruptArchive with the JSON path, kUnsupported for another major version.
ProgramData parse_program(std::string_view json);
PayloadConfig parse_payload_config(std::string_view json);

}  // namespace tierup::frontend::exported
