// tierup bench --nodes: where the time of steady calls goes.
#pragma once

#include <functional>

#include "model_options.h"
#include "tierup/api/model.h"

namespace tierup::cli {

// Calls `call(number, options)`, which runs `model`, for so long, after a warm-up as long, and
// prints time, share, kind, shapes and rates of each node.
void bench_nodes(const std::function<void(size_t, const api::RunOptions&)>& call, double seconds,
                 const ModelArguments& model, bool json);

}  // namespace tierup::cli
