// Between the public options and values and the runtime's own; what public_*.cc share.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tierup/api/model/model.h"
#include "tierup/api/model/node_times.h"
#include "tierup/module.h"

namespace tierup::v1 {

struct Module::Impl {
  Ref<api::Model> model;
};

struct NodeTimes::Impl {
  api::NodeTimes times;
};

std::vector<DelegateInfo> delegates_of(const api::Model& model);
NodeBenchmark benchmark_of(const api::Model& model, const std::vector<Value>& args,
                           uint32_t warmup_runs, uint32_t main_runs);
Signature signature_of(const api::Model& model, const std::string& method);
std::vector<executor::UserPass> inner_passes(const std::vector<GraphPass>& passes);
api::ModelOptions model_options(const Options& options);
api::RunOptions run_options(const RunOptions& options);
std::vector<IValue> unwrap_all(std::vector<Value> values);
api::NamedValues unwrap_all(NamedValues values);
archive::NamedTensors unwrap_all(const NamedTensors& tensors);

}  // namespace tierup::v1
