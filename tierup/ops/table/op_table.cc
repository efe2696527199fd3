// The families stand here in registration order, which decides among overloads of one name:
// tensor families first, then the language's own (numbers, strings, lists, dicts).
#include "tierup/ops/table/op_table.h"

#include <algorithm>
#include <array>

#include "tierup/base/error.h"
#include "tierup/ops/table/derivative.h"
#include "tierup/ops/table/families.h"

namespace tierup::ops {
namespace {

constexpr auto kFamilies = std::to_array<Family>({
#define TIERUP_FAMILY(name) {#name, &name##_rows},
#include "tierup/ops/table/families.def"
#undef TIERUP_FAMILY
});

// "aten::add.Tensor(..." -> {"aten::add", "Tensor"}.
std::pair<std::string_view, std::string_view> split_name(std::string_view schema) {
  const std::string_view qualified = schema.substr(0, schema.find('('));
  const size_t colons = qualified.find("::");
  const size_t dot = qualified.find('.', colons == std::string_view::npos ? 0 : colons);
  if (dot == std::string_view::npos) return {qualified, {}};
  return {qualified.substr(0, dot), qualified.substr(dot + 1)};
}

}  // namespace

Op::Op(const OpRow& row) : row_(&row) {
  schema_ = ir::parse_schema(row.schema);
  effects_ = row.effects;
  derivative_ = find_derivative(schema_);
}

Op::Op(const OpRow& row, const Op& of) : row_(of.row_), derivative_(of.derivative_) {
  schema_ = ir::parse_schema(row.schema);
  effects_ = of.effects_;
}

std::span<const Family> families() { return kFamilies; }

OpTable::OpTable() {
  by_name_.reserve(2048);
  for (const Family& family : kFamilies) {
    for (const OpRow& row : family.rows()) {
      const auto [name, overload] = split_name(row.schema);
      auto entry = std::make_unique<Entry>();
      entry->row = &row;
      entry->overload = overload;
      first_of_role_.emplace(row.facts.role, entry.get());
      first_of_kind_.emplace(row.facts.net, entry.get());
      by_name_[name].push_back(std::move(entry));
    }
  }
}

const OpTable& OpTable::instance() {
  static const OpTable table;
  return table;
}

const Op* OpTable::get(const Entry& entry) const {
  std::call_once(entry.parsed, [&] {
    const OpRow& row = *entry.row;
    if (row.same_as == nullptr) {
      entry.op = std::make_unique<Op>(row);
      return;
    }
    const Op* of = find(row.same_as);
    require(of != nullptr, ErrorCode::kInternal, "{} is another name of {}, which there is not",
            entry.row->schema, row.same_as);
    entry.op = std::make_unique<Op>(row, *of);
  });
  return entry.op.get();
}

const Op* OpTable::find(std::string_view qualified_name) const {
  const auto [name, overload] = split_name(qualified_name);
  const auto found = by_name_.find(name);
  if (found == by_name_.end()) return nullptr;
  for (const auto& entry : found->second) {
    if (entry->overload == overload || (overload == "default" && entry->overload.empty())) {
      return get(*entry);
    }
  }
  return nullptr;
}

const Op& OpTable::with(Role role) const { return *get(*first_of_role_.at(role)); }

const Op& OpTable::with(kernels::net::OpKind kind) const { return *get(*first_of_kind_.at(kind)); }

std::vector<const Op*> OpTable::overloads(std::string_view name) const {
  std::vector<const Op*> result;
  const auto found = by_name_.find(name);
  if (found == by_name_.end()) return result;
  for (const auto& entry : found->second) result.push_back(get(*entry));
  return result;
}

std::vector<const Op*> OpTable::all() const {
  std::vector<const Op*> result;
  for (const auto& [name, entries] : by_name_) {
    for (const auto& entry : entries) result.push_back(get(*entry));
  }
  std::sort(result.begin(), result.end(), [](const Op* a, const Op* b) {
    return a->schema().qualified_name() < b->schema().qualified_name();
  });
  return result;
}

}  // namespace tierup::ops
