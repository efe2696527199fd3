// A delegate of tierup's that runs what PyTorch's AOTInductor compiled, by libtorch.
//
// The library of a package is loaded from the folder that the host extracts; tensors go to it as
// views of the host's memory, and results are copied into the host's. Nothing throws into the host.
#include <ATen/core/Tensor.h>
#include <ATen/ops/from_blob.h>
#include <c10/core/InferenceMode.h>
#include <tierup/plugin.h>
#include <torch/csrc/inductor/aoti_runner/model_container_runner_cpu.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

using Runner = torch::inductor::AOTIModelContainerRunnerCpu;

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

// The library that holds the model; kernels may have one of their own beside it.
std::string library_of(const tierup_host* host, tierup_plugin_package* package) {
  std::string found;
  for (size_t i = 0; i < host->package_file_count(package); ++i) {
    const std::string name = host->package_file_name(package, i);
    if (!ends_with(name, ".so")) continue;
    if (found.empty() || ends_with(name, ".wrapper.so")) found = name;
  }
  return found;
}

// "cpu", as far as the package's metadata tells.
std::string device_of(const tierup_host* host, tierup_plugin_package* package) {
  for (size_t i = 0; i < host->package_file_count(package); ++i) {
    if (!ends_with(host->package_file_name(package, i), "_metadata.json")) continue;
    const void* bytes = nullptr;
    size_t size = 0;
    if (host->package_file(package, i, &bytes, &size) != TIERUP_PLUGIN_OK) continue;
    const std::string_view text(static_cast<const char*>(bytes), size);
    constexpr std::string_view kKey = "\"AOTI_DEVICE_KEY\"";
    const size_t key = text.find(kKey);
    if (key == std::string_view::npos) continue;
    const size_t begin = text.find('"', key + kKey.size());
    if (begin == std::string_view::npos) continue;
    const size_t end = text.find('"', begin + 1);
    if (end != std::string_view::npos) return std::string(text.substr(begin + 1, end - begin - 1));
  }
  return "cpu";
}

// As many calls at once as there are cores; each instance has its own intermediate values, and all
// share the weights.
size_t instance_count() { return std::clamp<size_t>(std::thread::hardware_concurrency(), 1, 16); }

void* open_package(const tierup_host* host, tierup_plugin_package* package, void*) {
  try {
    const std::string device = device_of(host, package);
    if (device != "cpu") {
      return host->package_fail(package, ("it was compiled for " + device + ", not cpu").c_str());
    }
    const std::string library = library_of(host, package);
    if (library.empty()) return host->package_fail(package, "it has no shared object");
    const char* folder = host->package_folder(package);
    if (folder == nullptr) return nullptr;
    auto runner = std::make_unique<Runner>(std::string(folder) + "/" + library, instance_count());
    const std::vector<std::string> convention = runner->get_call_spec();
    if (convention.size() == 2) {
      host->package_convention(package, convention[0].c_str(), convention[1].c_str());
    }
    return runner.release();
  } catch (const std::exception& error) {
    return host->package_fail(package, error.what());
  }
}

void destroy(void* compiled, void*) { delete static_cast<Runner*>(compiled); }

at::Tensor view_of(const tierup_plugin_tensor& tensor) {
  return at::from_blob(tensor.data, at::IntArrayRef(tensor.sizes, tensor.rank),
                       at::IntArrayRef(tensor.strides, tensor.rank),
                       at::TensorOptions(static_cast<at::ScalarType>(tensor.dtype)));
}

int run_or_throw(const tierup_host* host, tierup_plugin_call* call, Runner& runner) {
  const c10::InferenceMode inference;
  std::vector<at::Tensor> inputs;
  for (size_t i = 0; i < host->argument_count(call); ++i) {
    tierup_plugin_tensor tensor;
    if (host->argument_tensor(call, i, &tensor) != TIERUP_PLUGIN_OK) return TIERUP_PLUGIN_FAILED;
    inputs.push_back(view_of(tensor));
  }
  const std::vector<at::Tensor> outputs = runner.boxed_run(std::move(inputs));
  for (size_t i = 0; i < outputs.size(); ++i) {
    tierup_plugin_tensor result;
    const at::IntArrayRef sizes = outputs[i].sizes();
    const int status = host->make_result(call, i, static_cast<int32_t>(outputs[i].scalar_type()),
                                         sizes.data(), sizes.size(), &result);
    if (status != TIERUP_PLUGIN_OK) return status;
    view_of(result).copy_(outputs[i]);
  }
  return TIERUP_PLUGIN_OK;
}

int run(const tierup_host* host, tierup_plugin_call* call, void* compiled, void*) {
  try {
    return run_or_throw(host, call, *static_cast<Runner*>(compiled));
  } catch (const std::exception& error) {
    return host->fail(call, error.what());
  }
}

constexpr tierup_plugin_delegate kDelegate = {
    sizeof(tierup_plugin_delegate),
    "aotinductor",
    0,
    nullptr,
    nullptr,
    nullptr,
    run,
    destroy,
    "aotinductor",
    open_package,
};
const tierup_plugin_delegate* const kDelegates[] = {&kDelegate};
constexpr tierup_plugin kPlugin = {
    sizeof(tierup_plugin), TIERUP_PLUGIN_ABI, "AOTInductor", nullptr, 0, kDelegates, 1};

}  // namespace

extern "C" __attribute__((visibility("default"))) const tierup_plugin* tierup_plugin_main(
    const tierup_host* host) {
  const bool has_packages = host->size >= sizeof(tierup_host);
  return host->abi == TIERUP_PLUGIN_ABI && has_packages ? &kPlugin : nullptr;
}
