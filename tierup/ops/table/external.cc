#include "tierup/ops/table/external.h"

#include "tierup/base/error.h"
#include "tierup/ops/table/op_table.h"

namespace tierup::ops {

void call_external(OpCall& call) {
  const auto* target = static_cast<const ExternalTarget*>(call.args.back().to_capsule());
  OpCall inner{call.args.first(call.args.size() - 1), call.results, call.context};
  target->call(inner);
}

const Ref<ExternalTarget>* external_target(const Op& op) {
  if (op.kernel() != &call_external) return nullptr;
  return &static_cast<const ExternalOperators::Row&>(op.row()).target;
}

const Op& ExternalOperators::add(std::string schema, uint8_t effects, Ref<ExternalTarget> target) {
  Row& row = rows_.emplace_back();
  row.text = std::move(schema);
  row.schema = row.text.c_str();
  row.kernel = &call_external;
  row.effects = effects;
  row.target = std::move(target);
  try {
    const Entry& entry = entries_.emplace_back(row);
    const std::string name = entry.op.schema().qualified_name();
    require(OpTable::instance().find(name) == nullptr && find(name) == &entry.op,
            ErrorCode::kInvalidArgument, "the operator {} is there already", name);
    return entry.op;
  } catch (...) {
    if (entries_.size() == rows_.size()) entries_.pop_back();
    rows_.pop_back();
    throw;
  }
}

const Op* ExternalOperators::find(std::string_view qualified_name) const {
  std::string_view wanted = qualified_name;
  if (wanted.ends_with(".default")) wanted.remove_suffix(8);
  for (const Entry& entry : entries_) {
    if (entry.op.schema().qualified_name() == wanted) return &entry.op;
  }
  return nullptr;
}

std::vector<const Op*> ExternalOperators::overloads(std::string_view name) const {
  std::vector<const Op*> result;
  for (const Entry& entry : entries_) {
    if (entry.op.schema().name == name) result.push_back(&entry.op);
  }
  return result;
}

}  // namespace tierup::ops
