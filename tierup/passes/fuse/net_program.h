// net_program: the members of a region as the program that a compiled net is made from.
#pragma once

#include <span>
#include <unordered_map>
#include <vector>

#include "tierup/ops/regions/neural_net.h"
#include "tierup/passes/fuse/region_members.h"

namespace tierup::passes {

// Of values that share memory with another, the value that was made first.
using MemoryRoots = std::unordered_map<const ir::Value*, const ir::Value*>;
const ir::Value* root_of(const MemoryRoots& roots, const ir::Value* value);

struct NetProgram {
  kernels::net::Program program;
  std::vector<const ops::Op*> rows;  // Of each of its operators; null for lists.
  std::vector<ir::Value*> inputs;    // In order of their first use.
};
// `results` become its outputs. What is in place in the graph has a new value there.
NetProgram net_program(const std::vector<RegionMember>& members,
                       std::span<const ir::Value* const> results, const MemoryRoots& roots);

}  // namespace tierup::passes
