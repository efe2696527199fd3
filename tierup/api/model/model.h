// Model: a loaded TorchScript module or exported program: its objects, its code, how to call it.
//
// What the public API (include/tierup) and the command line stand on. Loading compiles what the
// entry points can reach and lists everything unsupported in it at once.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tierup/api/model/arguments.h"
#include "tierup/api/model/user_passes.h"
#include "tierup/archive/safetensors.h"
#include "tierup/autodiff/recording_tape.h"
#include "tierup/executor/delegation.h"
#include "tierup/executor/servable.h"
#include "tierup/frontend/exported/exported_program.h"
#include "tierup/frontend/torchscript/module_loader.h"
#include "tierup/kernels/random/generator.h"
#include "tierup/runtime/program.h"
#include "tierup/tier/tiered_program.h"

namespace tierup::api {

class LoadAhead;

using TextCallback = std::function<void(const std::string&)>;

struct ModelOptions {
  int threads = 0;                 // For one operator; 0: the cores the process may use.
  int fork_threads = 0;            // For torch.jit.fork; 0: one less than those cores; -1: none.
  int64_t time_limit_ms = 0;       // Of each run; 0: none.
  size_t max_call_depth = 10000;   // Calls of the model's functions within each other.
  std::optional<uint64_t> seed;    // Of the random generator; PyTorch's default if absent.
  bool devices_to_cpu = true;      // Run code that names CUDA devices on the CPU.
  bool allow_unsupported = false;  // Load also what no run can do without something unsupported.
  bool run_model_code = true;      // False: refuse models that run code while they are loaded.
  bool load_into_memory = false;   // Files are read whole, not mapped.
  // Of several models in a torch.export archive; empty: the only one.
  std::string exported_model;
  // Shared objects with operators, delegates and passes (include/tierup/plugin.h): native code.
  std::vector<std::string> plugins;
  std::vector<executor::UserPass> passes;  // Then those of plugins.
  tier::TieringOptions tiering = tier::TieringOptions::from_environment();
  TextCallback print;  // Null: stdout.
  TextCallback warn;   // Null: stderr.

  // A file with a model or weights, as load_into_memory says. Throws as map_file().
  Ref<archive::ByteSource> open(const std::string& path) const {
    return load_into_memory ? archive::read_file(path) : archive::map_file(path);
  }
};

// Of one run.
struct RunOptions {
  std::shared_ptr<const std::atomic<bool>> cancelled;            // May be null.
  std::optional<int64_t> time_limit_ms;                          // Instead of the model's; 0: none.
  std::optional<runtime::RunState::Clock::time_point> deadline;  // Instead of both.
  runtime::StepObserver* observer = nullptr;                     // For measuring: see NodeTimes.
  kernels::BoundOutputs* outputs = nullptr;                      // The caller's; may be null.
  bool (*on_poll)() = nullptr;                                   // False cancels; may be null.
  bool gradients = false;                                        // Record for a backward pass.
};

struct ModelStats {
  int64_t run_count = 0;
  int64_t error_count = 0;
};

// Thread rule: any thread may call any method. Runs that change attributes, and set_attribute,
// need the caller's order, as in PyTorch.
class Model final : public executor::Servable {
 public:
  // Also makes the plan of `forward`, if there is one. Throws what the archive reader, the front
  // end or a __setstate__ throws, and kUnsupported with the complete list of what is missing.
  static Ref<Model> load(Ref<archive::ByteSource> source, ModelOptions options = {});
  // Of an exported program's JSON, with weights by qualified name, which are shared.
  static Ref<Model> from_exported_json(std::string_view json, const archive::NamedTensors& weights,
                                       ModelOptions options = {});
  ~Model() override;

  const ModelOptions& options() const { return options_; }
  const Ref<ObjectValue>& root() const { return module_.root; }
  const frontend::torchscript::LoadedModule& module() const { return module_; }
  runtime::Program& program() const { return *program_; }

  // A method of the root module. Throws kNotFound naming those there are.
  const ir::Function& method(const std::string& name) const;
  std::vector<const ir::Function*> methods() const;

  // Runs a method. "forward" runs without the root's hooks; call() runs pre-hooks, forward, hooks.
  IValue run(const std::string& method, std::vector<IValue> args, NamedValues kwargs = {},
             const RunOptions& options = {}) const;
  IValue call(std::vector<IValue> args, NamedValues kwargs = {},
              const RunOptions& options = {}) const;

  // Adds the gradients of these results of recorded calls to those of the leaves behind them.
  void backward(std::vector<Tensor> outputs) const;
  void backward(const ops::BackwardRequest& request) const;

  // Everything unsupported that the entry points reach, also what only some inputs would.
  std::vector<frontend::MissingOperator> missing() const;
  // The calling convention and checks of a torch.export program; null for TorchScript.
  const frontend::exported::ExportedProgram* exported() const { return exported_.get(); }
  tier::TieredProgram& tiers() const { return *tiered_; }
  // Null without.
  const executor::Plugins* plugins() const { return plugins_.get(); }

  // An attribute by its path: "layers.0.scale". Throws kNotFound.
  IValue attribute(const std::string& path) const;
  void set_attribute(const std::string& path, IValue value) const;
  // Takes the other model's parameters, by name, for its own. Throws kInvalidArgument with every
  // misfit before anything changes.
  void share_parameters(const Model& other) const;
  // Sets `training` on every module that has it.
  void set_training(bool training) const;

  // Parameters and buffers by name. load_state copies into them, with conversion of the dtype; with
  // `strict`, every name must be on both sides. Throws kInvalidArgument with all names that
  // are missing, unexpected or of another shape, before anything is changed.
  archive::NamedTensors state() const;
  void load_state(const archive::NamedTensors& state, bool strict) const;
  // Writes an archive of the kind that the model came from, with its weights and attributes as they
  // are now. Throws kUnsupported, naming the path, for what no file can hold, and kNotFound if the
  // file cannot be written; the old file then is as it was. Nothing may run meanwhile that writes.
  void save(const std::string& path) const;

  // Servable: a model with weights of its own and the same code, for the Executor
  // (model_serving.cc).
  IValue serve(std::vector<IValue> args, NamedValues kwargs,
               const executor::RunLimits& limits) const override;
  std::vector<IValue> serve_flat(std::vector<IValue> leaves,
                                 const executor::RunLimits& limits) const override;
  archive::NamedTensors weights() const override { return state(); }
  Ref<executor::Servable> with_weights(const archive::NamedTensors& weights,
                                       bool strict) const override;
  void prepare_like(const executor::Servable& older) const override;
  size_t idle_frames() const override;
  size_t trim_frames() const override;

  void set_seed(uint64_t seed) const { generator_->set_seed(seed); }
  // The random stream of all runs; nothing may run while it is changed.
  kernels::Generator& generator() const { return *generator_; }
  ModelStats stats() const { return {run_count_.load(), error_count_.load()}; }

 private:
  explicit Model(ModelOptions options);
  // A generation: the code of `older`, with another root.
  Model(const Model& older, Ref<ObjectValue> root);
  void read(Ref<archive::ByteSource> source);
  void read_torchscript(Ref<archive::ModelArchive> archive);
  void read_exported(Ref<archive::ModelArchive> archive);
  frontend::exported::ExportedOptions exported_options() const;
  void take_exported(frontend::exported::ExportedProgram program);
  void make_methods();
  IValue run_exported(std::vector<IValue> args, const NamedValues& kwargs,
                      const RunOptions& options) const;
  void check_support() const;
  void plan_forward();
  tier::TieringOptions tiering() const;
  ops::RunContext context(bool gradients = false) const;
  Ref<const runtime::RunState> run_state(const RunOptions& options) const;
  struct Method {
    std::string name;
    const ir::Function* function;
    tier::TieredGraph* graph;
  };
  void add_method(std::string name, const ir::Function& function);
  const Method& entry(const std::string& name) const;
  IValue execute(tier::TieredGraph& graph, std::vector<IValue> args,
                 const RunOptions& options) const;
  IValue call_with_hooks(std::vector<IValue> args, const RunOptions& options) const;
  std::pair<Ref<ObjectValue>, std::string> holder_of(const std::string& path) const;

  const ModelOptions options_;
  Ref<kernels::Generator> generator_;
  std::shared_ptr<const executor::Plugins> plugins_;  // Null without; before all that uses it.
  std::shared_ptr<const UserPasses> user_passes_;     // The same.
  frontend::torchscript::LoadedModule module_;
  std::shared_ptr<const frontend::exported::ExportedProgram> exported_;
  // Shared by generations. Before the module: its plans use the code.
  std::shared_ptr<runtime::Program> program_;
  std::unique_ptr<tier::TieredProgram> tiered_;  // Its jobs end before the program goes.
  std::vector<Method> methods_;                  // Of the root.
  mutable autodiff::RecordingTape tape_;
  mutable std::atomic<int64_t> run_count_{0};
  mutable std::atomic<int64_t> error_count_{0};
  std::unique_ptr<LoadAhead> ahead_;  // Of a model that was read; may be ending still.
};

}  // namespace tierup::api
