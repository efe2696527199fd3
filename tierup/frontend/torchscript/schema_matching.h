// Schema matching: which overload a call means, and its complete inputs (section 12 of the format).
//
// A candidate is matched in two steps: first it is only planned, without touching the graph, so
// that candidates which fail leave nothing behind; the plan of the winner is then carried out.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tierup/frontend/torchscript/conversion.h"
#include "tierup/ir/schema.h"

namespace tierup::frontend::torchscript {

struct NamedActual {
  std::string_view name;
  Actual actual;
};

// The arguments of one call as written.
struct CallArguments {
  std::optional<Actual> self;  // The receiver of a method-style call of an operator.
  std::vector<Actual> positional;
  std::vector<NamedActual> keywords;

  bool any_poisoned(const OpBuilder& builder) const;
  // All values in order, receiver first.
  std::vector<ir::Value*> values() const;
};

// Type variables of a schema ("t", "tVal") bound by a match.
using TypeBindings = std::unordered_map<std::string, TypePtr>;
// `type` with its variables replaced; unbound ones stay.
TypePtr substitute(const TypePtr& type, const TypeBindings& bindings);
bool has_variables(const TypePtr& type);

struct MatchedCall {
  std::vector<ir::Value*> inputs;  // One per argument of the schema, then those of "...".
  std::vector<TypePtr> results;    // One per return, variables replaced.
};

// Matches one schema and inserts the conversions; nullopt if it does not match, then `why` (if
// not null) is set to one sentence.
std::optional<MatchedCall> match_schema(OpBuilder& builder, const ir::Schema& schema,
                                        const CallArguments& call, Conversions allowed,
                                        std::string* why = nullptr);

// "(Tensor, int, alpha=int)": what a call was given, for messages.
std::string describe_arguments(const CallArguments& call);

}  // namespace tierup::frontend::torchscript
