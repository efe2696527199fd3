// ScriptProgram: one code file with its cases, compiled and run without an archive around it.
#pragma once

#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tierup/base/error.h"
#include "tierup/frontend/torchscript/compilation_unit.h"
#include "tierup/kernels/random/generator.h"
#include "tierup/passes/pipeline.h"
#include "tierup/runtime/program.h"
#include "tierup/tier/tiered_program.h"

namespace tierup {

// How a function's graph is treated before it is run. kTiered: by plans, each made before its call
// from what a rehearsal of it showed, or as the environment variable TIERUP_TIERING says.
enum class Preparation : uint8_t { kNone, kNoOpt, kSpecialized, kTiered };

inline tier::TieringOptions tiering_of_tests() {
  if (std::getenv("TIERUP_TIERING") != nullptr) return tier::TieringOptions::from_environment();
  tier::TieringOptions options;
  options.apply("compile=blocking,profiled_runs=1,verify_passes=on,poison=on");
  return options;
}

inline std::shared_ptr<const ir::Graph> prepare_graph(const ir::Function& function,
                                                      Preparation preparation) {
  if (preparation == Preparation::kNone) return function.graph();
  passes::PassOptions options;
  options.verify_each = true;
  const std::shared_ptr<ir::Graph> graph = function.graph()->clone();
  passes::run_no_opt_pipeline(*graph, options);
  if (preparation == Preparation::kSpecialized) passes::run_specialized_pipeline(*graph, options);
  return graph;
}

// Line ends and backslashes as the recorded texts write them.
inline std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '\n') {
      result += "\\n";
    } else if (c == '\\') {
      result += "\\\\";
    } else {
      result += c;
    }
  }
  return result;
}

class ScriptProgram {
 public:
  // `text` becomes code/__torch__.py. Throws what parsing throws.
  ScriptProgram(std::string text, Preparation preparation, int64_t version = 10,
                const tier::TieringOptions& tiering = tiering_of_tests())
      : unit_(make_unit(std::move(text), version)),
        program_([preparation](const ir::Function& f) { return prepare_graph(f, preparation); }) {
    context_.generator = generator_.get();
    context_.print = context_.warn = [](const std::string&) {};
    if (preparation == Preparation::kTiered) tiers_.emplace(program_, tiering);
  }

  // Calls __torch__.NAME.
  IValue run(const std::string& name, std::vector<IValue> args = {}) {
    const auto& definition = unit_->find("__torch__." + name);
    require(static_cast<bool>(definition.function), ErrorCode::kNotFound, "no function {}", name);
    if (tiers_) {
      tier::TieredGraph*& graph = graphs_[name];
      if (graph == nullptr) graph = &tiers_->add(program_.slot_of(*definition.function), nullptr);
      return graph->run(args, context_, state_);
    }
    return program_.run(*definition.function, args, context_, state_);
  }
  // The same under a tape; without one where it is null.
  IValue run_recorded(const std::string& name, std::vector<IValue> args, ops::Tape* tape) {
    context_.tape = tape;
    context_.policy.grad_mode = tape != nullptr;
    IValue result = run(name, std::move(args));
    context_.tape = nullptr;
    return result;
  }
  void wait_for_jobs() {
    if (tiers_) tiers_->wait_for_jobs();
  }
  // Of what ran through tiers.
  tier::TierReport report() const { return tiers_->report(); }

 private:
  static std::shared_ptr<frontend::torchscript::CompilationUnit> make_unit(std::string text,
                                                                           int64_t version) {
    using namespace frontend::torchscript;
    auto read = [text = std::move(text)](const std::string& record) -> std::optional<std::string> {
      if (record != "code/__torch__.py") return std::nullopt;
      return text;
    };
    CompileOptions options;
    options.version = version;
    return CompilationUnit::make(SourceIndex(std::move(read)), options);
  }

  std::shared_ptr<frontend::torchscript::CompilationUnit> unit_;
  Ref<kernels::Generator> generator_ = make_ref<kernels::Generator>();
  ops::RunContext context_;
  Ref<const runtime::RunState> state_{make_ref<runtime::RunState>()};
  runtime::Program program_;
  std::optional<tier::TieredProgram> tiers_;          // Its jobs end before the program goes.
  std::map<std::string, tier::TieredGraph*> graphs_;  // By function.
};

}  // namespace tierup
