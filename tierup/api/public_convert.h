// Between the public options and values and the runtime's own; what public_*.cc share.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tierup/api/model.h"
#include "tierup/module.h"

namespace tierup::v1 {

struct Module::Impl {
  Ref<api::Model> model;
};

api::ModelOptions model_options(const Options& options);
api::RunOptions run_options(const RunOptions& options);
std::vector<IValue> unwrap_all(std::vector<Value> values);
api::NamedValues unwrap_all(NamedValues values);
archive::NamedTensors unwrap_all(const NamedTensors& tensors);

}  // namespace tierup::v1
