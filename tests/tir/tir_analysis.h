// The directives of mode "analysis"; see tir_checker.h.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tests/tir/tir_file.h"
#include "tierup/ir/graph.h"

namespace tierup::tests {

std::vector<std::string> check_analysis(const ir::Graph& graph,
                                        const std::vector<Directive>& directives,
                                        const std::function<int(const ir::Node*)>& line_of);

}  // namespace tierup::tests
