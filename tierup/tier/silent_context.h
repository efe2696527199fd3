// SilentContext: for runs at tier 0 that nobody asked for: rehearsals and live checks.
#pragma once

#include "tierup/kernels/random/generator.h"
#include "tierup/ops/table/run_context.h"

namespace tierup::tier {

// The caller's policy, a random generator of its own, and nobody who hears prints and warnings.
class SilentContext {
 public:
  explicit SilentContext(const ops::Policy& policy) : generator_(make_ref<kernels::Generator>()) {
    context_.policy = policy;
    context_.generator = generator_.get();
    context_.print = [](const std::string&) {};
    context_.warn = [](const std::string&) {};
  }
  SilentContext(const SilentContext&) = delete;
  SilentContext& operator=(const SilentContext&) = delete;

  ops::RunContext& context() { return context_; }

 private:
  const Ref<kernels::Generator> generator_;
  ops::RunContext context_;
};

}  // namespace tierup::tier
