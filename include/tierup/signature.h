// Signature: what a method takes and gives, as far as the file says.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tierup/tensor.h"
#include "tierup/value.h"

namespace tierup::v1 {

// Bounds that an exported program declares of a size; absent: none.
struct SizeRange {
  std::string text;  // The symbol or expression: "s77".
  std::optional<int64_t> least;
  std::optional<int64_t> most;
};

// One dimension of a tensor.
struct SizeSpec {
  std::string text;              // "3", "s77", "2*s0".
  std::optional<int64_t> value;  // Of a size that was static at export.
  std::optional<int64_t> least;  // Of a symbolic one, where its bounds are declared.
  std::optional<int64_t> most;
};

// An argument or result. An exported program's are the leaves of its calling convention in order,
// named as Python reaches them; TorchScript's are the arguments of the method and its one result.
struct ValueSpec {
  std::string name;                            // "x", "d['z'][0]".
  std::string type;                            // "Tensor", "Optional[int]".
  std::optional<DType> dtype;                  // Of tensors of exported programs.
  std::optional<std::vector<SizeSpec>> sizes;  // The same.
  bool is_constant = false;                    // Must equal `default_value`, and may be left out.
  bool is_used = true;                         // False: no run looks at it.
  bool is_keyword_only = false;
  std::optional<Value> default_value;
};

struct Signature {
  std::string method;
  std::string text;  // "forward(Tensor x, int n=1) -> Tensor".
  bool is_exported = false;
  std::vector<ValueSpec> inputs;  // Empty of a compiled library without its program.
  std::vector<ValueSpec> outputs;
  std::vector<SizeRange> ranges;  // Every declared one.
};

}  // namespace tierup::v1
