#include "tierup/training/checkpoint.h"

#include <algorithm>
#include <cstring>

#include "tierup/archive/atomic_file.h"
#include "tierup/archive/model_archive.h"
#include "tierup/archive/torch_save.h"
#include "tierup/base/error.h"
#include "tierup/kernels/memory/copy.h"

namespace tierup::training {
namespace {

constexpr std::string_view kModel = "model";
constexpr std::string_view kOptimizers = "optimizers";
constexpr std::string_view kSchedules = "schedules";
constexpr std::string_view kGenerator = "rng";
constexpr std::string_view kEpoch = "epoch";

using NamedStates = std::vector<std::pair<std::string, IValue>>;

Tensor bytes_tensor(const std::string& bytes) {
  const Tensor tensor =
      Tensor::empty(IntVector{static_cast<int64_t>(bytes.size())}, ScalarType::kByte);
  std::memcpy(tensor.raw(), bytes.data(), bytes.size());
  return tensor;
}

void write_states(archive::PickleWriter& pickle, std::string_view key, const NamedStates& states) {
  pickle.text(key);
  if (states.empty()) return pickle.empty_dict();
  pickle.begin_dict();
  for (const auto& [name, state] : states) {
    pickle.text(name);
    pickle.value(state, fmt::format("{}.{}", key, name));
  }
  pickle.end_dict();
}

[[noreturn]] void refuse(const std::string& path, std::string_view what) {
  fail(ErrorCode::kUnsupported,
       "{}: no checkpoint: {}; expected is a dict with \"model\", \"optimizers\", \"schedules\", "
       "\"rng\" as tierup or torch.save writes it",
       path, what);
}

NamedStates states_of(const std::string& path, const IValue& value, std::string_view key) {
  if (!value.is_dict()) refuse(path, fmt::format("\"{}\" is a {}", key, value.tag_name()));
  NamedStates result;
  for (const auto& [name, state] : value.to_dict().entries()) {
    if (!name.is_str()) refuse(path, fmt::format("\"{}\" has keys that are no names", key));
    result.emplace_back(name.to_str(), state);
  }
  return result;
}

archive::NamedTensors tensors_of(const std::string& path, const IValue& value) {
  archive::NamedTensors result;
  for (auto& [name, item] : states_of(path, value, kModel)) {
    if (!item.is_tensor()) {
      refuse(path, fmt::format("\"model\" holds a {} as '{}'", item.tag_name(), name));
    }
    result.emplace_back(name, item.to_tensor());
  }
  return result;
}

std::string generator_of(const std::string& path, const IValue& value) {
  const bool is_bytes = value.is_tensor() && value.to_tensor().dtype() == ScalarType::kByte &&
                        value.to_tensor().is_contiguous();
  if (!is_bytes) refuse(path, "\"rng\" is no tensor of uint8");
  const Tensor tensor = value.to_tensor();
  return {static_cast<const char*>(tensor.raw()), tensor.bytes()};
}

// What keeps a checkpoint's weights from going into a module, one line each.
std::string state_problems(const archive::NamedTensors& own, const archive::NamedTensors& saved) {
  std::string problems;
  const auto find = [](const archive::NamedTensors& in, const std::string& name) {
    return std::ranges::find_if(in, [&](const auto& entry) { return entry.first == name; });
  };
  for (const auto& [name, tensor] : saved) {
    const auto found = find(own, name);
    if (found == own.end()) {
      problems += fmt::format("\n- unexpected: {}", name);
    } else if (!std::ranges::equal(found->second.sizes(), tensor.sizes())) {
      problems +=
          fmt::format("\n- size mismatch: {} is {} in the module but {} in the checkpoint", name,
                      shape_string(found->second.sizes()), shape_string(tensor.sizes()));
    }
  }
  for (const auto& [name, tensor] : own) {
    if (find(saved, name) == saved.end()) problems += fmt::format("\n- missing: {}", name);
  }
  return problems;
}

}  // namespace

void copy_state(const archive::NamedTensors& from, const archive::NamedTensors& to) {
  for (const auto& [name, tensor] : from) {
    const auto target =
        std::ranges::find_if(to, [&](const auto& entry) { return entry.first == name; });
    if (target == to.end()) continue;
    kernels::copy_into(target->second, tensor);
    target->second.bump_version();
  }
}

void restore(const Checkpoint& saved, const std::string& path, const RestoreTarget& target) {
  const std::string problems = state_problems(target.state, saved.model);
  require(problems.empty(), ErrorCode::kInvalidArgument,
          "{}: the checkpoint does not fit the module:{}", path, problems);
  const size_t schedules = target.schedule != nullptr ? 1 : 0;
  require(saved.optimizers.size() == 1 && saved.schedules.size() == schedules,
          ErrorCode::kInvalidArgument,
          "{}: the checkpoint has {} optimizers and {} schedules instead of 1 and {}", path,
          saved.optimizers.size(), saved.schedules.size(), schedules);
  target.optimizer->load_state_dict(saved.optimizers[0].second);
  if (target.schedule != nullptr) target.schedule->load_state_dict(saved.schedules[0].second);
  if (!saved.generator.empty()) target.generator->set_state(saved.generator);
  copy_state(saved.model, target.state);
}

void save_checkpoint(const std::string& path, const Checkpoint& checkpoint) {
  archive::PickleWriter pickle(archive::PickleDialect::kTorchSave);
  pickle.begin_dict();
  pickle.text(kModel);
  pickle.state_dict(checkpoint.model);
  write_states(pickle, kOptimizers, checkpoint.optimizers);
  write_states(pickle, kSchedules, checkpoint.schedules);
  if (!checkpoint.generator.empty()) {
    pickle.text(kGenerator);
    pickle.value(IValue(bytes_tensor(checkpoint.generator)), std::string(kGenerator));
  }
  pickle.text(kEpoch);
  pickle.value(IValue(checkpoint.epoch), std::string(kEpoch));
  for (const auto& [name, value] : checkpoint.extra) {
    pickle.text(name);
    pickle.value(value, name);
  }
  pickle.end_dict();
  archive::AtomicFile file(path);
  archive::write_torch_save(file, pickle);
  file.commit();
}

Checkpoint load_checkpoint(const std::string& path) {
  const Ref<archive::ModelArchive> archive = archive::ModelArchive::open(path);
  archive->require_kind(archive::ArchiveKind::kTorchSave);
  archive::NoClasses classes;
  const IValue root = archive->unpickle("data", classes);
  if (!root.is_dict()) refuse(path, fmt::format("it holds a {}", root.tag_name()));
  Checkpoint result;
  bool has_model = false;
  for (const auto& [key, value] : root.to_dict().entries()) {
    const std::string name = key.is_str() ? key.to_str() : to_text(key);
    if (name == kModel) {
      result.model = tensors_of(path, value);
      has_model = true;
    } else if (name == kOptimizers) {
      result.optimizers = states_of(path, value, kOptimizers);
    } else if (name == kSchedules) {
      result.schedules = states_of(path, value, kSchedules);
    } else if (name == kGenerator) {
      result.generator = generator_of(path, value);
    } else if (name == kEpoch && value.is_int()) {
      result.epoch = value.to_int();
    } else {
      result.extra.emplace_back(name, value);
    }
  }
  if (!has_model) refuse(path, "it has no \"model\"");
  return result;
}

}  // namespace tierup::training
