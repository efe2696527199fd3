// What a node must be to stand in a fusion group, whichever planner asks.
#pragma once

#include <optional>
#include <vector>

#include "tierup/ops/regions/row_meaning.h"
#include "tierup/passes/core/pass.h"
#include "tierup/passes/core/value_forms.h"

namespace tierup::passes {

// A call of an operator that works on rows.
struct RowCall {
  ops::RowMeaning meaning;                      // Of the first result...
  std::vector<ops::RowMeaning> more;            // ...and the others.
  std::vector<ops::MeaningArgument> arguments;  // Dimensions count from the last one...
  uint32_t rank = 0;                            // ...of so many, if they did not before.

  // Whether a row has dimensions behind those that the call goes over.
  bool goes_over_part() const { return meaning.folded < meaning.row_rank; }
};

// Whether a node may work on rows: see ops::Role::kRowwise.
bool has_row_role(const ir::Node& node);
// A call on rows (row_meaning.h) of a tensor whose rank is known. Also notes the results' forms and
// shapes.
std::optional<RowCall> row_call_of(const ir::Node& node, const analysis::AliasAnalysis& alias,
                                   ValueForms& forms);

// Why a node, whose operator has a body, is no member, if it may not be one; else its result's form
// and shape are noted. It may read memory that is written: see reads_only_kept_memory().
ops::RefusedGroup point_refusal(const ir::Node& node, const analysis::AliasAnalysis& alias,
                                ValueForms& forms);
ops::PointwiseMeaning point_meaning(const ir::Node& node, ValueForms& forms);

// Notes on the node and in the report why it is in no group; counted by reason.
void refuse_group(PassContext& context, ir::Node* node, const ops::RefusedGroup& refusal);

// Whether nothing that a node reads or gives is ever written.
bool reads_only_kept_memory(const ir::Node& node, const analysis::AliasAnalysis& alias);
// Whether a node may stand behind what follows it.
bool can_move(const ir::Node& node, const analysis::AliasAnalysis& alias);

}  // namespace tierup::passes
