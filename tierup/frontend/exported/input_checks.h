// InputChecks: what an exported program assumes of its inputs, checked before a run.
//
// Arity and constants, dtype, rank, static sizes; symbols bound from sizes must agree, lie in
// their declared ranges, and satisfy the exporter's guards. Every complaint names the input by its
// Python path, the dimension, what was expected and why.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tierup/frontend/exported/program_data.h"
#include "tierup/frontend/exported/symbolic_expression.h"
#include "tierup/frontend/exported/tree_spec.h"

namespace tierup::frontend::exported {

struct CheckOptions {
  // A lower bound of 2 means only that the exporter assumed "not 0 or 1"; PyTorch lets 0 and 1
  // pass, and so does tierup unless this is set. It also enforces bounds of plain int inputs.
  bool strict_ranges = false;
  // Evaluate the exporter's guards.
  bool guards = true;
};

// One leaf of the calling convention.
struct InputLeaf {
  std::string name;  // The graph's name of it.
  std::string path;  // Python-like: "x", "d['z'][0]".
  Argument::Kind kind = Argument::Kind::kTensor;
  bool is_constant = false;
  bool is_used = true;
  IValue constant;  // What a constant input must equal.
  ScalarType dtype = ScalarType::kFloat;
  std::vector<Expression> sizes;
  std::optional<Expression> number;  // The symbol of an int input.
};

// One leaf of the result.
struct OutputLeaf {
  std::string name;  // The graph's; empty for a constant.
  Argument::Kind kind = Argument::Kind::kTensor;
  std::optional<ScalarType> dtype;  // Of tensors, where the program tells.
  std::vector<Expression> sizes;
};

// Constant after construction; check() may run in any number of threads.
class InputChecks {
 public:
  // `symbols` is the program's table; names of leaves come from the signature.
  InputChecks(const ProgramData& program, const TreeSpec& in_spec, SymbolTable symbols);

  const std::vector<InputLeaf>& leaves() const { return leaves_; }
  void set_used(size_t leaf, bool used) { leaves_[leaf].is_used = used; }
  const SymbolTable& symbols() const { return symbols_; }
  // Guards that this build could not read; they are not checked.
  const std::vector<std::string>& dropped_guards() const { return dropped_guards_; }

  // Leaf values in order, absent where the caller gave none (only constants may be absent). Returns
  // the values that the graph takes: all but the constants. Throws kInvalidArgument.
  std::vector<IValue> check(const std::vector<std::optional<IValue>>& values,
                            const CheckOptions& options) const;
  // The declared bounds of a size; none where nothing is declared of it.
  Range range_of(const Expression& expression) const;
  struct NamedRange {
    std::string text;
    Expression expression;
    Range range;
  };
  const std::vector<NamedRange>& ranges() const { return ranges_; }
  // "relu: float32[s77, 10]".
  std::string describe(const OutputLeaf& leaf) const;
  // "x: float32[s77, 3]" per leaf, for inspection.
  std::vector<std::string> describe() const;
  // "s77 in [2, 64]" per constrained symbol or expression.
  std::vector<std::string> describe_ranges() const;

 private:
  friend class FastChecks;
  struct Guard {
    std::string text;
    Expression expression;
  };
  void read_leaves(const ProgramData& program, const TreeSpec& in_spec);
  void read_guards(const ProgramData& program);
  void check_leaf(const InputLeaf& leaf, const IValue& value) const;
  bool bind_size(const InputLeaf& leaf, size_t dim, int64_t size, SymbolValues& symbols) const;
  void bind_sizes(const std::vector<std::optional<IValue>>& values, SymbolValues& symbols) const;
  void check_ranges(const std::vector<std::optional<IValue>>& values, const SymbolValues& symbols,
                    bool strict) const;
  void check_guards(const std::vector<std::optional<IValue>>& values) const;
  std::string sizes_text(const std::vector<Expression>& sizes) const;
  std::string first_size_with(const std::vector<std::optional<IValue>>& values,
                              const Expression& expression) const;

  std::vector<InputLeaf> leaves_;
  SymbolTable symbols_;
  std::vector<NamedRange> ranges_;
  SymbolTable guard_sources_;
  std::vector<std::optional<std::pair<size_t, int64_t>>>
      guard_slots_;  // Leaf and dimension (-1: its value).
  std::vector<Guard> guards_;
  std::vector<std::string> dropped_guards_;
};

}  // namespace tierup::frontend::exported
