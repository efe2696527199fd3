// compile_groups: gives every fusion group of a graph its kernels. Runs in compile jobs.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>

#include "tierup/codegen/library.h"
#include "tierup/ir/graph.h"
#include "tierup/ops/regions/refusal.h"

namespace tierup::codegen {

struct GroupReport {
  size_t groups = 0;
  size_t kernels = 0;   // Installed.
  size_t compiled = 0;  // By the code generator, now; the others were in the cache.
  double compile_ms = 0;
  ops::RefusedGroup refusal;  // The first group's that got none.
};

// For kernels of no more instructions than those that they are compared with have
// (kernels/simd/instruction_set.h), and none beyond what TIERUP_INSTRUCTION_SET allows.
CompileOptions process_options();

// Kernels are made for the forms that the groups expect, equal ones once in a process (CodeCache).
// A group that cannot be compiled keeps its twin and says why; nothing here throws for that. Stops
// early once `cancelled`.
GroupReport compile_groups(ir::Graph& graph, const std::function<const Library&()>& library,
                           const CompileOptions& options, const std::atomic<bool>& cancelled);

}  // namespace tierup::codegen
