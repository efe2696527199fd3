// Module: a TorchScript model, loaded from a .pt archive and ready to be called.
//
//   tierup::Module module = tierup::Module::load("model.pt");
//   tierup::Value result = module({input});
//
// The first calls run at once: nothing is compiled on the caller's time.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tierup/error.h"
#include "tierup/explain.h"
#include "tierup/export.h"
#include "tierup/options.h"
#include "tierup/signature.h"
#include "tierup/tensor.h"
#include "tierup/value.h"

namespace tierup::v1 {

using NamedValues = std::vector<std::pair<std::string, Value>>;
using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

// Where an archive comes from when it is neither a file nor in memory: a decrypting or remote
// reader, whose plain bytes never touch a disk.
struct Reader {
  uint64_t size = 0;
  // Fills `out` with the bytes from `offset` on, or throws. May be called from many threads.
  std::function<void(uint64_t offset, std::span<std::byte> out)> read;
};

struct MethodInfo {
  struct Argument {
    std::string name;
    std::string type;  // "Tensor", "Optional[int]"...
    bool has_default = false;
  };
  std::string name;
  std::string qualified_name;  // "__torch__.M.forward"
  std::vector<Argument> arguments;
  std::string result_type;
  std::string signature;  // "forward(Tensor x, int n=1) -> Tensor"
};

// Something that the model's code names and tierup does not have.
struct Unsupported {
  std::string name;             // "aten::foo"
  std::string reason;           // What is wrong with it, if it is not just unknown.
  std::string place;            // The model's own line.
  bool is_conditional = false;  // Only some inputs may reach it.
};

// What a file says of itself.
struct ModelInfo {
  bool is_exported = false;  // torch.export; else TorchScript.
  int64_t version = 0;       // Of the archive's format; of the schema's minor one if exported.
  std::string class_name;    // Of TorchScript's root module.
  // Of torch.export:
  std::string torch_version;
  std::string dialect;  // "ATen" or "training".
  std::string model;    // Of those in the archive.
  std::vector<std::string> models;
  std::vector<std::string> missing_weights;  // Named by the program, without data.
  std::vector<std::string> warnings;
};

// An operator of this build.
struct OperatorInfo {
  std::string name;    // "aten::add.Tensor"
  std::string schema;  // "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"
  std::string traits;  // "random, may raise"...
  // How gradients pass: "formula", "decomposition", "zero", "none", "missing"; empty where there is
  // nothing to pass.
  std::string derivative;
};
// All of them, in the table's order.
TIERUP_API std::vector<OperatorInfo> operator_table();

// A delegate of the options' plugins.
struct DelegateInfo {
  std::string name;
  std::string library;
  bool takes_packages = false;  // Models that stand in an archive compiled already.
  uint64_t nodes = 0;           // Of `forward` at tier 0 that it runs.
};

struct ModuleStats {
  int64_t run_count = 0;
  int64_t error_count = 0;
};

// A handle; copies are the same module. All functions throw Error. Thread rule: any number of
// threads may run one module at once; changing attributes or weights needs the caller's order.
class TIERUP_API Module {
 public:
  // The source files of a TorchScript archive, whose code is neither compiled nor run.
  static std::vector<std::pair<std::string, std::string>> read_sources(const std::string& path);
  // The file is mapped: weights are read when first used and shared between processes. Replace it
  // by rename while it is in use, or see Options::load_into_memory.
  static Module load(const std::string& path, const Options& options = {});
  // Copies the bytes.
  static Module load(std::span<const std::byte> bytes, const Options& options = {});
  static Module load(Reader reader, const Options& options = {});
  // A torch.export program without an archive: the JSON that a .pt2 holds of it, and its weights by
  // qualified name. Their memory is shared: after writing to one, Tensor::mark_written().
  static Module from_exported_json(std::string_view json, const NamedTensors& weights,
                                   const Options& options = {});
  ~Module();
  Module(const Module&) noexcept;
  Module& operator=(const Module&) noexcept;

  // Calls a method. Missing arguments take their defaults; ints are taken for floats.
  Value run(const std::string& method, std::vector<Value> args, NamedValues kwargs = {},
            const RunOptions& options = {}) const;
  // run("forward", ...): without the module's own hooks.
  Value forward(std::vector<Value> args, NamedValues kwargs = {},
                const RunOptions& options = {}) const;
  // As Python's module(...): pre-hooks, forward, hooks.
  Value call(std::vector<Value> args, NamedValues kwargs = {},
             const RunOptions& options = {}) const;
  Value operator()(std::vector<Value> args) const { return call(std::move(args)); }

  std::vector<MethodInfo> methods() const;
  bool has_method(const std::string& name) const;
  // Names, types and defaults of what a method takes and gives; of an exported program also dtypes,
  // symbolic sizes and their ranges. Throws kNotFound.
  Signature signature(const std::string& method = "forward") const;
  ModelInfo info() const;
  std::vector<DelegateInfo> delegates() const;
  // Operators that the methods can reach, by qualified name, with the number of places.
  std::vector<std::pair<std::string, uint64_t>> operators() const;
  // What some inputs may reach and would fail on; what every run needs keeps a model from loading.
  std::vector<Unsupported> unsupported() const;

  // By dotted name, in the order of declaration; the tensors are the module's own. After writing to
  // one through its data(): Tensor::mark_written(). A parameter with several names (tied weights)
  // comes once, by its first one; the state dict has it by each.
  NamedTensors parameters() const;
  NamedTensors buffers() const;
  // Both.
  NamedTensors state_dict() const;
  // Makes the other module's parameters this one's: the same tensors, so that a step of an
  // optimiser moves both. Buffers and the random stream stay this one's own. Throws, with every
  // misfit listed, before anything is changed. While neither runs.
  void share_parameters(const Module& other) const;
  // Copies into parameters and buffers. With `strict`, names must match exactly; shapes always
  // must. Throws, with every misfit listed, before anything is changed.
  void load_state_dict(const NamedTensors& state, bool strict = true) const;
  // From a torch.save or safetensors file.
  void load_state_dict(const std::string& path, bool strict = true) const;

  // Writes an archive of the kind that this module came from, which PyTorch opens as well: its code
  // as it was, its weights, buffers and attributes as they are now. What shared memory goes on
  // sharing it. The file appears whole or not at all, and may be the one that was loaded. Throws,
  // naming the path, for attributes that no file can hold, before anything is written. Nothing may
  // run meanwhile that writes to the module.
  void save(const std::string& path) const;
  // Parameters and buffers: as safetensors if the path ends so, else as torch.load with
  // weights_only=True reads it.
  void save_state_dict(const std::string& path) const;

  // Attributes by dotted path ("encoder.scale").
  Value attribute(const std::string& path) const;
  void set_attribute(const std::string& path, const Value& value) const;
  bool has_attribute(const std::string& path) const;

  void train(bool mode = true) const;
  void eval() const { train(false); }
  void set_seed(uint64_t seed) const;

  // Files saved along with the model (_extra_files).
  std::vector<std::pair<std::string, std::string>> extra_files() const;
  ModuleStats stats() const;

  // Where steady calls spend their time: call() with these arguments, first so many times
  // unmeasured, with a wait for the compile jobs that they cause, then so many times measured.
  NodeBenchmark benchmark_nodes(const std::vector<Value>& args, uint32_t warmup_runs = 10,
                                uint32_t main_runs = 10) const;
  // How each graph that was called runs, and why so. Waits for no compilation.
  Explanation explain() const;
  // Drops all plans and profiles: the next calls begin anew at tier 0. Calls in flight end as they
  // began; outputs stay what they are.
  void flush() const;
  // Returns when no compile job of the module waits or runs, or when the time is over; whether none
  // does. Calls from then on may ask for more.
  bool wait_for_compilation(std::optional<std::chrono::milliseconds> timeout = std::nullopt) const;
  // No compile job waits or runs, and calls no longer take turns between a plan and tier 0 to find
  // the faster one. After some dozens of calls with arguments of the same kinds and sizes.
  bool is_settled() const;
  // A method's graph as it was loaded, and the steps that tier 0 runs for it, as text for people.
  // Throws kNotFound, and what making the plan throws.
  std::string graph_text(const std::string& method = "forward") const;
  std::string plan_text(const std::string& method = "forward") const;

 private:
  friend struct Access;
  struct Impl;
  explicit Module(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

}  // namespace tierup::v1
