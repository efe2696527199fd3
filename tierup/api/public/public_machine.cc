#include <sched.h>

#include "tierup/api/model/option_checks.h"
#include "tierup/api/public/facade.h"
#include "tierup/api/public/public_convert.h"
#include "tierup/base/machine.h"
#include "tierup/base/parallel.h"
#include "tierup/kernels/simd/instruction_set.h"
#include "tierup/machine.h"
#include "tierup/tier/code_generator.h"

namespace tierup::v1 {
namespace {

// What kernels are chosen by, in the words of TIERUP_INSTRUCTION_SET.
std::string level_in_force() {
#if defined(__aarch64__)
  return "neon";
#else
  switch (kernels::instruction_set()) {
    case kernels::InstructionSet::kAvx512: return "avx512";
    case kernels::InstructionSet::kAvx2: return "avx2";
    case kernels::InstructionSet::kBase: break;
  }
  return "sse42";
#endif
}

}  // namespace

MachineInfo machine_info() {
  return guarded([] {
    cpu_set_t cores;
    CPU_ZERO(&cores);
    sched_getaffinity(0, sizeof(cores), &cores);
    return MachineInfo{level_in_force(), CPU_COUNT(&cores), cpu_quota(""), usable_cores()};
  });
}

std::string code_generator_failure(const Options& options) {
  return guarded([&] { return tier::code_generator_failure(model_options(options).tiering); });
}

struct ThreadScope::Impl {
  explicit Impl(const api::ModelOptions& options) : scope(options.threads) {}
  ThreadCountScope scope;
};

ThreadScope::ThreadScope(int threads)
    : impl_(guarded([&] {
        api::ModelOptions options;
        options.threads = threads;
        api::check_options(options);
        return std::make_unique<Impl>(options);
      })) {}
ThreadScope::~ThreadScope() = default;

}  // namespace tierup::v1
