// OpTable: all operators, found by name. Constant after construction; schemas are parsed on
// first use, so that a process that needs twenty operators does not pay for two thousand.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tierup/ops/table/op.h"

namespace tierup::ops {

class OpTable final : public ir::OperatorLookup {
 public:
  // The table of this build. Thread-safe.
  static const OpTable& instance();

  // By "aten::add.Tensor" ("aten::relu" for a default overload); null if unknown.
  const Op* find(std::string_view qualified_name) const override;
  // All overloads of "aten::add", in registration order; empty if unknown.
  std::vector<const Op*> overloads(std::string_view name) const;
  // The first row of this role, in registration order, for passes that make one; there must be one.
  const Op& with(Role role) const;
  // The same, of what nets take it for.
  const Op& with(kernels::net::OpKind kind) const;
  // Every row, sorted by qualified name; parses all schemas.
  std::vector<const Op*> all() const;

 private:
  OpTable();
  struct Entry {
    const OpRow* row;
    std::string_view overload;
    mutable std::once_flag parsed;
    mutable std::unique_ptr<Op> op;
  };
  const Op* get(const Entry& entry) const;

  std::unordered_map<std::string_view, std::vector<std::unique_ptr<Entry>>> by_name_;
  std::unordered_map<Role, const Entry*> first_of_role_;
  std::unordered_map<kernels::net::OpKind, const Entry*> first_of_kind_;
};

// The families, in registration order (it decides overload choice; see op_table.cc).
struct Family {
  const char* name;
  std::span<const OpRow> (*rows)();
};
std::span<const Family> families();

}  // namespace tierup::ops
