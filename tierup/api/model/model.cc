#include "tierup/api/model/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "tierup/api/model/load_ahead.h"
#include "tierup/api/model/open_compiled.h"
#include "tierup/api/model/option_checks.h"
#include "tierup/api/model/prepare_graph.h"
#include "tierup/api/model/reachable_graphs.h"
#include "tierup/base/error.h"
#include "tierup/base/fork_hooks.h"
#include "tierup/base/instruction_limit.h"
#include "tierup/base/parallel.h"
#include "tierup/base/wait_policy.h"

namespace tierup::api {

using frontend::MissingOperator;

namespace {

size_t fork_thread_count(const ModelOptions& options) {
  // Branches of a graph share the pool of the program's own forks.
  if (options.tiering.inter_op_threads > 1) {
    const int forks = std::max(options.fork_threads, 0);
    return std::max<size_t>(static_cast<size_t>(forks), options.tiering.inter_op_threads - 1);
  }
  if (options.fork_threads < 0) return 0;
  if (options.fork_threads > 0) return static_cast<size_t>(options.fork_threads);
  return static_cast<size_t>(std::max(1, usable_cores() - 1));
}

std::string list_missing(const std::vector<MissingOperator>& missing) {
  std::string text;
  for (const MissingOperator& item : missing) {
    text += fmt::format("\n- {}: {}", item.name, item.reason);
    if (!item.range.empty()) text += "\n  at " + item.range.highlight();
  }
  return text;
}

}  // namespace

Model::Model(ModelOptions options)
    : options_(std::move(options)), generator_(make_ref<kernels::Generator>()) {
  if (options_.seed) generator_->set_seed(*options_.seed);
  if (!options_.plugins.empty()) {
    plugins_ = std::make_shared<const executor::Plugins>(options_.plugins);
  }
  user_passes_ = make_user_passes(options_.passes, plugins_.get());
  runtime::ProgramOptions program_options;
  program_options.fork_threads = fork_thread_count(options_);
  program_ = std::make_shared<runtime::Program>(
      [to_cpu = options_.devices_to_cpu, plugins = plugins_, user = user_passes_,
       disabled = options_.tiering.disabled_passes](const ir::Function& function) {
        return prepare_graph(function, {.devices_to_cpu = to_cpu,
                                        .plugins = plugins.get(),
                                        .passes = user ? &user->tier0 : nullptr,
                                        .disabled = disabled});
      },
      program_options);
  tiered_ = std::make_unique<tier::TieredProgram>(*program_, tiering());
}

// With the passes of the user's for specialised graphs.
tier::TieringOptions Model::tiering() const {
  tier::TieringOptions result = options_.tiering;
  if (user_passes_) {
    result.user_passes =
        std::shared_ptr<const passes::PassRegistry>(user_passes_, &user_passes_->specialized);
  }
  return result;
}

Model::Model(const Model& older, Ref<ObjectValue> root)
    : options_(older.options_),
      generator_(older.generator_),
      plugins_(older.plugins_),
      user_passes_(older.user_passes_),
      module_(older.module_),
      exported_(older.exported_),
      program_(older.program_),
      tiered_(std::make_unique<tier::TieredProgram>(*program_, tiering(), older.tiered_->queue())) {
  module_.root = std::move(root);
  for (const Method& method : older.methods_) add_method(method.name, *method.function);
}

Model::~Model() {
  tiered_ = nullptr;   // Its compile jobs use the program's plans.
  program_ = nullptr;  // Its plans point into the module's code.
}

Ref<Model> Model::load(Ref<archive::ByteSource> source, ModelOptions options) {
  require_whole_process();
  const ForkUnsafeScope scope;
  check_options(options);
  instruction_limit();  // An unknown one is an error here, rather than in the first kernel.
  Ref<Model> model(new Model(std::move(options)));
  model->read(std::move(source));
  return model;
}

void Model::read(Ref<archive::ByteSource> source) {
  ahead_ = std::make_unique<LoadAhead>();
  ahead_->start(source->size());
  Ref<archive::ModelArchive> archive = archive::ModelArchive::read(std::move(source));
  if (archive->kind() == archive::ArchiveKind::kExported) {
    read_exported(std::move(archive));
  } else {
    read_torchscript(std::move(archive));
  }
  make_methods();
  ahead_->stop();
}

void Model::make_methods() {
  for (const auto& [name, callable] : root()->type->methods()) {
    add_method(name, ir::as_function(*callable));
  }
  if (!options_.allow_unsupported) {
    check_support();
    plan_forward();
  }
}

void Model::read_torchscript(Ref<archive::ModelArchive> archive) {
  frontend::torchscript::LoadOptions options;
  if (ahead_->is_running()) {
    options.parse_ahead = [&](SideThread::Work parse) {
      ahead_->add_code(*archive, std::move(parse));
      ahead_->add_pages(archive->source());
    };
  }
  if (plugins_) options.operators = &plugins_->operators();
  if (options_.run_model_code) {
    options.run = [this](const ir::Function& function, std::vector<IValue> args) {
      const ThreadCountScope threads(options_.threads);
      ops::RunContext run_context = context();
      return program_->run(function, args, run_context, run_state({}));
    };
  }
  module_ = frontend::torchscript::load_torchscript(archive, options);
}

frontend::exported::ExportedOptions Model::exported_options() const {
  frontend::exported::ExportedOptions options;
  options.model = options_.exported_model;
  if (plugins_) options.operators = &plugins_->operators();
  if (plugins_ && plugins_->takes_packages(kAotInductor)) {
    options.open_compiled = [this](const archive::ModelArchive& from, const std::string& model) {
      return open_compiled(*plugins_, from, model);
    };
  }
  if (options_.devices_to_cpu) {
    for (const DeviceType type :
         {DeviceType::kCuda, DeviceType::kMps, DeviceType::kXpu, DeviceType::kOther}) {
      options.placement.emplace_back(Device{type, -1}, Device{});
    }
  }
  return options;
}

void Model::read_exported(Ref<archive::ModelArchive> archive) {
  ahead_->add_pages(archive->source());
  frontend::exported::ExportedProgram program =
      frontend::exported::load_exported(*archive, exported_options());
  module_.archive = std::move(archive);
  take_exported(std::move(program));
}

void Model::take_exported(frontend::exported::ExportedProgram program) {
  auto exported = std::make_shared<frontend::exported::ExportedProgram>(std::move(program));
  // Weights belong to this generation alone, so that they can go when it goes.
  module_.root = std::move(exported->root);
  exported_ = std::move(exported);
  for (const std::string& warning : exported_->warnings) {
    if (options_.warn) options_.warn(warning);
  }
}

Ref<Model> Model::from_exported_json(std::string_view json, const archive::NamedTensors& weights,
                                     ModelOptions options) {
  Ref<Model> model(new Model(std::move(options)));
  const auto find = [&](const std::string& name) {
    const auto found = std::find_if(weights.begin(), weights.end(),
                                    [&](const auto& weight) { return weight.first == name; });
    return found == weights.end() ? Tensor() : found->second;
  };
  model->take_exported(
      frontend::exported::load_exported_json(json, find, model->exported_options()));
  model->make_methods();
  return model;
}

// Code that names something missing may be gone once calls are inlined and constants have decided
// the branches: only what is left in the prepared graphs counts.
std::vector<MissingOperator> Model::missing() const {
  if (exported_) return exported_->missing;
  std::vector<MissingOperator> named = frontend::torchscript::missing_operators(*module_.root);
  if (named.empty()) return named;
  std::map<std::string, MissingOperator> left;
  try {
    visit_reachable(
        *this,
        [&](const ir::Function& function) -> const ir::Graph& {
          return program_->plan_of(function).graph();
        },
        [&](const ir::Node& node, bool is_conditional) {
          if (!node.is(ir::NodeKind::kTrap) || !node.has_attr(ir::AttrName::kName)) return;
          MissingOperator item{node.attr<std::string>(ir::AttrName::kName),
                               node.attr<std::string>(ir::AttrName::kNote), node.range(),
                               is_conditional};
          auto& known = left.try_emplace(item.name + item.reason, item).first->second;
          known.is_conditional = known.is_conditional && is_conditional;
        });
  } catch (const Error&) {
    return named;  // Some of it does not even type-check, and is listed as such.
  }
  std::erase_if(
      named, [](const MissingOperator& item) { return item.name.find("::") != std::string::npos; });
  for (auto& [key, item] : left) named.push_back(std::move(item));
  return named;
}

// What only some inputs reach is no reason to refuse the others; it is listed by missing(), and an
// error that names it if a run gets there.
void Model::check_support() const {
  std::vector<MissingOperator> list = missing();
  std::erase_if(list, [](const MissingOperator& item) { return item.is_conditional; });
  require(list.empty(), ErrorCode::kUnsupported,
          "the model uses {} operator(s) or construct(s) that tierup does not support:{}",
          list.size(), list_missing(list));
}

// What a first call would wait for otherwise. A plan that can't be made is told by that call.
void Model::plan_forward() {
  const auto forward = std::find_if(methods_.begin(), methods_.end(),
                                    [](const Method& method) { return method.name == "forward"; });
  if (forward == methods_.end()) return;
  try {
    program_->plan_of(*forward->function);
  } catch (const Error&) {
  }
}

void Model::add_method(std::string name, const ir::Function& function) {
  tier::TieredGraph& graph = tiered_->add(program_->slot_of(function), root());
  methods_.push_back({std::move(name), &function, &graph});
}

// The last of one name counts, as in Python. A method that was saved as overloads (nn.LSTM's
// forward__0 for tensors, forward__1 for packed sequences) answers to its own name with the first
// of them.
const Model::Method& Model::entry(const std::string& name) const {
  const auto named = [&](std::string_view suffix) {
    return std::find_if(methods_.rbegin(), methods_.rend(), [&](const Method& method) {
      const std::string_view own = method.name;
      return own.size() == name.size() + suffix.size() && own.starts_with(name) &&
             own.ends_with(suffix);
    });
  };
  for (const std::string_view suffix : {"", "__0"}) {
    if (const auto method = named(suffix); method != methods_.rend()) return *method;
  }
  std::string known;
  for (const Method& method : methods_) known += (known.empty() ? "" : ", ") + method.name;
  fail(ErrorCode::kNotFound, "the module has no method '{}'; it has: {}", name,
       known.empty() ? "none" : known);
}

const ir::Function& Model::method(const std::string& name) const { return *entry(name).function; }

std::vector<const ir::Function*> Model::methods() const {
  std::vector<const ir::Function*> result;
  for (const Method& method : methods_) result.push_back(method.function);
  return result;
}

ops::RunContext Model::context(bool gradients) const {
  ops::RunContext context;
  if (gradients) {
    context.tape = &tape_;
    context.policy.grad_mode = true;
  }
  context.generator = generator_.get();
  // By reference, as the generator: a copy of what they hold would cost each run as much as a small
  // operator.
  if (options_.print) context.print = [&host = options_.print](const auto& text) { host(text); };
  if (options_.warn) context.warn = [&host = options_.warn](const auto& text) { host(text); };
  return context;
}

Ref<const runtime::RunState> Model::run_state(const RunOptions& options) const {
  auto state = make_ref<runtime::RunState>();
  state->cancelled = options.cancelled;
  state->max_call_depth = options_.max_call_depth;
  state->observer = options.observer;
  state->outputs = options.outputs;
  state->on_poll = options.on_poll;
  const int64_t limit = options.time_limit_ms.value_or(options_.time_limit_ms);
  if (options.deadline) {
    state->deadline = options.deadline;
  } else if (limit > 0) {
    state->deadline = runtime::RunState::Clock::now() + std::chrono::milliseconds(limit);
  }
  return Ref<const runtime::RunState>(state.get());
}

IValue Model::execute(tier::TieredGraph& graph, std::vector<IValue> args,
                      const RunOptions& options) const {
  require_whole_process();
  const ForkUnsafeScope scope;
  const ThreadCountScope threads(options_.threads);
  const WaitPolicyScope waits(
      std::max(allowed_threads(), static_cast<int>(options_.tiering.inter_op_threads)));
  ops::RunContext run_context = context(options.gradients);
  run_count_.fetch_add(1, std::memory_order_relaxed);
  try {
    IValue result = graph.run(args, run_context, run_state(options));
    if (options.gradients) tape_.finish_results(result);
    return result;
  } catch (const std::exception&) {
    error_count_.fetch_add(1, std::memory_order_relaxed);
    throw;
  }
}

void Model::backward(std::vector<Tensor> outputs) const {
  ops::BackwardRequest request;
  request.outputs = std::move(outputs);
  backward(request);
}

void Model::backward(const ops::BackwardRequest& request) const {
  const ThreadCountScope threads(options_.threads);
  ops::RunContext run_context = context(true);
  tape_.backward(run_context, request);
}

IValue Model::run(const std::string& name, std::vector<IValue> args, NamedValues kwargs,
                  const RunOptions& options) const {
  if (exported_ && name == "forward") return run_exported(std::move(args), kwargs, options);
  const Method& method = entry(name);
  return execute(
      *method.graph,
      bind_arguments(method.function->schema(), IValue(root()), std::move(args), std::move(kwargs)),
      options);
}

IValue Model::run_exported(std::vector<IValue> args, const NamedValues& kwargs,
                           const RunOptions& options) const {
  std::vector<IValue> leaves = exported_->flatten_inputs(std::move(args), kwargs);
  leaves.insert(leaves.begin(), IValue(root()));
  return exported_->unflatten_outputs(execute(*entry("forward").graph, std::move(leaves), options));
}

IValue Model::call(std::vector<IValue> args, NamedValues kwargs, const RunOptions& options) const {
  const auto& type = *root()->type;
  if (type.forward_pre_hooks().empty() && type.forward_hooks().empty()) {
    return run("forward", std::move(args), std::move(kwargs), options);
  }
  require(kwargs.empty(), ErrorCode::kInvalidArgument,
          "a module with hooks takes its arguments by position only");
  return call_with_hooks(std::move(args), options);
}

// A pre-hook gets the arguments as a tuple and may return others, as a tuple or a single value;
// a hook gets them and the result, and may return another result.
IValue Model::call_with_hooks(std::vector<IValue> args, const RunOptions& options) const {
  const auto& type = *root()->type;
  for (const std::string& hook : type.forward_pre_hooks()) {
    const IValue changed = run(hook, {make_tuple(args)}, {}, options);
    if (changed.is_tuple()) {
      args = changed.to_tuple().items;
    } else if (!changed.is_none()) {
      args = {changed};
    }
  }
  IValue result = run("forward", args, {}, options);
  for (const std::string& hook : type.forward_hooks()) {
    IValue changed = run(hook, {make_tuple(args), result}, {}, options);
    if (!changed.is_none()) result = std::move(changed);
  }
  return result;
}

}  // namespace tierup::api
