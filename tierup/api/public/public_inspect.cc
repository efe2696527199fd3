// What v1::Module tells of its file and its nodes: info, operators, delegates, times.
#include <algorithm>

#include "tierup/api/model/reachable_graphs.h"
#include "tierup/api/public/facade.h"
#include "tierup/api/public/public_convert.h"
#include "tierup/ops/table/derivative.h"
#include "tierup/ops/table/op_table.h"

namespace tierup::v1 {
namespace {

uint64_t count_nodes(const ir::Block& block, const ir::Operator* op) {
  uint64_t count = 0;
  for (const ir::Node* node : block.nodes()) {
    if (node->is(ir::NodeKind::kOp) && node->op() == op) ++count;
    for (const ir::Block* inner : node->blocks()) count += count_nodes(*inner, op);
  }
  return count;
}

// What a row says beyond its schema.
std::string traits_of(const ops::Op& op) {
  const std::pair<ir::Effect, const char*> effects[] = {
      {ir::kRandom, "random"},
      {ir::kMayRaise, "may raise"},
      {ir::kSideEffect, "side effect"},
      {ir::kNondeterministic, "nondeterministic"},
      {ir::kReadsPolicy, "reads policy"},
  };
  std::string text;
  for (const auto& [effect, name] : effects) {
    if (op.has_effect(effect)) text += std::string(text.empty() ? "" : ", ") + name;
  }
  return text;
}

bool takes_tensors(const ops::Op& op) {
  return std::ranges::any_of(op.schema().arguments, [](const ir::Argument& argument) {
    return argument.type != nullptr &&
           argument.type->to_string().find("Tensor") != std::string::npos;
  });
}

// Empty where there is nothing to pass: no tensors, or results in tensors of the caller's, which
// refuse gradients.
std::string derivative_of(const ops::Op& op) {
  const ops::Derivative& derivative = *op.derivative();
  if (!derivative.makes_tensors || derivative.is_out || !takes_tensors(op)) return {};
  switch (derivative.kind) {
    case ops::DerivativeKind::kFormula: return "formula";
    case ops::DerivativeKind::kDecomposition: return "decomposition";
    case ops::DerivativeKind::kZero: return "zero";
    case ops::DerivativeKind::kNone: return "none";
    case ops::DerivativeKind::kMissing: break;
  }
  return "missing";
}

}  // namespace

std::vector<OperatorInfo> operator_table() {
  return guarded([&] {
    std::vector<OperatorInfo> result;
    for (const ops::Op* op : ops::OpTable::instance().all()) {
      if (op->kernel() == nullptr) continue;
      result.push_back({op->schema().qualified_name(), op->schema().to_string(), traits_of(*op),
                        derivative_of(*op)});
    }
    return result;
  });
}

NodeTimes::NodeTimes() : impl_(std::make_shared<Impl>()) {}
NodeTimes::~NodeTimes() = default;
NodeTimes::NodeTimes(const NodeTimes&) noexcept = default;
NodeTimes& NodeTimes::operator=(const NodeTimes&) noexcept = default;

std::vector<NodeTime> NodeTimes::nodes() const {
  return guarded([&] { return impl_->times.nodes(); });
}
std::vector<NodeTime> NodeTimes::kinds() const {
  return guarded([&] { return impl_->times.operators(); });
}
void NodeTimes::clear() {
  guarded([&] { impl_->times.clear(); });
}

NodeBenchmark benchmark_of(const api::Model& model, const std::vector<Value>& args,
                           uint32_t warmup_runs, uint32_t main_runs) {
  const std::vector<IValue> inner = unwrap_all(std::vector<Value>(args));
  for (uint32_t i = 0; i < warmup_runs; ++i) {
    static_cast<void>(model.call(inner));
    model.tiers().wait_for_jobs();
  }
  api::NodeTimes times;
  api::RunOptions options;
  options.observer = &times;
  const auto begin = std::chrono::steady_clock::now();
  for (uint32_t i = 0; i < main_runs; ++i) static_cast<void>(model.call(inner, {}, options));
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
  NodeBenchmark result;
  result.warmup_runs = warmup_runs;
  result.main_runs = main_runs;
  result.run_ms = main_runs == 0 ? 0 : took.count() / main_runs;
  result.nodes = times.nodes();
  result.kinds = times.operators();
  return result;
}

NodeBenchmark Module::benchmark_nodes(const std::vector<Value>& args, uint32_t warmup_runs,
                                      uint32_t main_runs) const {
  return guarded([&] { return benchmark_of(*impl_->model, args, warmup_runs, main_runs); });
}

std::vector<DelegateInfo> delegates_of(const api::Model& model) {
  std::vector<DelegateInfo> result;
  const executor::Plugins* plugins = model.plugins();
  if (plugins == nullptr) return result;
  const auto forward = model.root()->type->find_method("forward");
  for (const executor::Delegate& delegate : plugins->delegates()) {
    DelegateInfo& info = result.emplace_back();
    info.name = delegate.table->name;
    info.library = delegate.library->path();
    info.takes_packages = delegate.package != nullptr;
    if (!forward) continue;
    const ir::Block& block = model.program().plan_of(model.method("forward")).graph().block();
    info.nodes = count_nodes(block, delegate.op);
    if (delegate.package != nullptr) info.nodes += count_nodes(block, delegate.package);
  }
  return result;
}

std::vector<DelegateInfo> Module::delegates() const {
  return guarded([&] { return delegates_of(*impl_->model); });
}

std::vector<std::pair<std::string, uint64_t>> Module::operators() const {
  return guarded([&] {
    std::vector<std::pair<std::string, uint64_t>> result;
    for (const auto& [name, count] : api::count_operators(*impl_->model)) {
      result.emplace_back(name, count);
    }
    return result;
  });
}

ModelInfo Module::info() const {
  return guarded([&] {
    const api::Model& model = *impl_->model;
    ModelInfo info;
    const auto* program = model.exported();
    if (program == nullptr) {
      info.version = static_cast<int64_t>(model.module().archive->version());
      info.class_name = model.root()->type->name();
      return info;
    }
    info.is_exported = true;
    info.version = program->schema_minor;
    info.torch_version = program->torch_version;
    info.dialect = program->is_training_dialect ? "training" : "ATen";
    info.model = program->model;
    info.models = frontend::exported::exported_models(*model.module().archive);
    info.missing_weights = program->missing_weights;
    info.warnings = program->warnings;
    return info;
  });
}

std::vector<std::pair<std::string, std::string>> Module::read_sources(const std::string& path) {
  return guarded([&] {
    const auto archive = archive::ModelArchive::open(path);
    archive->require_kind(archive::ArchiveKind::kTorchScript);
    std::vector<std::pair<std::string, std::string>> result;
    for (const std::string& record : archive->records("code/")) {
      if (record.ends_with(".py")) result.emplace_back(record, archive->read_record(record));
    }
    return result;
  });
}

}  // namespace tierup::v1
