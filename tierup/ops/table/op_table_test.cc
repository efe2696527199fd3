#include "tierup/ops/table/op_table.h"

#include <gtest/gtest.h>

namespace tierup::ops {
namespace {

TEST(OpTable, OtherNamesDoWhatTheirOperatorDoes) {
  size_t count = 0;
  for (const Family& family : families()) {
    for (const OpRow& row : family.rows()) {
      if (row.same_as == nullptr) continue;
      ++count;
      const Op* of = OpTable::instance().find(row.same_as);
      ASSERT_NE(of, nullptr) << row.schema;
      const ir::Schema schema = ir::parse_schema(row.schema);
      const Op* op = OpTable::instance().find(schema.qualified_name());
      ASSERT_NE(op, nullptr) << row.schema;
      EXPECT_EQ(op->schema().qualified_name(), schema.qualified_name());
      EXPECT_EQ(&op->row(), &of->row()) << row.schema;
      EXPECT_EQ(op->derivative(), of->derivative()) << row.schema;
    }
  }
  EXPECT_GT(count, 0U);
}

// Kernels find arguments by their places.
TEST(OpTable, OtherNamesTakeTheirOperatorsArguments) {
  for (const Family& family : families()) {
    for (const OpRow& row : family.rows()) {
      if (row.same_as == nullptr) continue;
      const ir::Schema schema = ir::parse_schema(row.schema);
      const ir::Schema& of = OpTable::instance().find(row.same_as)->schema();
      ASSERT_EQ(schema.arguments.size(), of.arguments.size()) << row.schema;
      ASSERT_EQ(schema.returns.size(), of.returns.size()) << row.schema;
      for (size_t i = 0; i < of.arguments.size(); ++i) {
        EXPECT_EQ(schema.arguments[i].type->to_string(), of.arguments[i].type->to_string())
            << row.schema;
        EXPECT_EQ(schema.arguments[i].alias.set, of.arguments[i].alias.set) << row.schema;
        EXPECT_EQ(schema.arguments[i].alias.is_write, of.arguments[i].alias.is_write) << row.schema;
      }
    }
  }
}

}  // namespace
}  // namespace tierup::ops
