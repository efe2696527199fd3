// Operator: what the IR knows about an operator; the table in `ops` derives from it.
#pragma once

#include <cstdint>
#include <string_view>

#include "tierup/ir/schema.h"

namespace tierup::ir {

// Effects beyond what the schema's alias marks say. Bits.
enum Effect : uint8_t {
  kNoEffect = 0,
  kRandom = 1,    // Draws from the generator: not folded, merged or reordered with other draws.
  kMayRaise = 2,  // Raises depending on values (not only shapes): not hoisted, not removed if used
                  // as a check.
  kSideEffect = 4,        // Prints, warns, changes the run's policy word: never removed.
  kNondeterministic = 8,  // Uninitialised memory and the like: not folded, not merged.
  kReadsPolicy = 16,      // Depends on grad mode or another policy bit.
};

class Operator {
 public:
  virtual ~Operator() = default;
  const Schema& schema() const { return schema_; }
  uint8_t effects() const { return effects_; }
  bool has_effect(Effect effect) const { return (effects_ & effect) != 0; }

 protected:
  Operator() = default;
  Schema schema_;
  uint8_t effects_ = kNoEffect;
};

// How the IR parser finds operators without knowing the table.
class OperatorLookup {
 public:
  virtual ~OperatorLookup() = default;
  // By "aten::add.Tensor"; null if unknown.
  virtual const Operator* find(std::string_view qualified_name) const = 0;
};

}  // namespace tierup::ir
