#include "tierup/kernels/onednn/onednn_engine.h"

#include <dnnl.hpp>

#include <algorithm>
#include <cstdlib>

#include "tierup/base/error.h"
#include "tierup/base/wait_policy.h"
#include "tierup/base/workers.h"
#include "tierup/kernels/onednn/onednn_level.h"

namespace tierup::kernels {

namespace {

// Of code that oneDNN keeps for primitives made again: each takes up to 200 KB, and sizes that keep
// changing would fill oneDNN's own limit of 1024. Threads keep as many that they use
// (PrimitiveCache).
constexpr int kKeptPrimitives = 128;

// On AArch64 the numbers of x86-64's levels stand for others: the lowest, 1, for plain vectors, the
// next for SVE, of which tierup has no level.
InstructionLimit level_in_use() {
  switch (dnnl::get_effective_cpu_isa()) {
    case dnnl::cpu_isa::sse41: return InstructionLimit::kBase;
#if defined(__x86_64__)
    case dnnl::cpu_isa::avx:
    case dnnl::cpu_isa::avx2: return InstructionLimit::kAvx2;
    case dnnl::cpu_isa::avx512_core: return InstructionLimit::kAvx512;
#endif
    default: return InstructionLimit::kNone;
  }
}

void require_kept(bool kept) {
  require(kept, ErrorCode::kUnsupported,
          "TIERUP_INSTRUCTION_SET={} cannot be kept: oneDNN was used before, or takes no limit",
          instruction_limit_name(instruction_limit()));
}

#if defined(__x86_64__)
// oneDNN takes a limit until it first asks what the processor has.
void set_most(dnnl::cpu_isa most) {
  require_kept(dnnl::set_max_cpu_isa(most) == dnnl::status::success);
}
void limit_onednn(InstructionLimit limit) {
  switch (limit) {
    case InstructionLimit::kBase: set_most(dnnl::cpu_isa::sse41); break;
    case InstructionLimit::kAvx2: set_most(dnnl::cpu_isa::avx2); break;
    case InstructionLimit::kAvx512: set_most(dnnl::cpu_isa::avx512_core); break;
    case InstructionLimit::kNone: break;
  }
}
#else
// Its function for limits knows x86-64 alone; the variable is read when it first asks what the
// processor has, and a word that it does not know is ignored.
void limit_onednn(InstructionLimit limit) {
  if (limit != InstructionLimit::kBase) return;
  setenv("ONEDNN_MAX_CPU_ISA", "ADVANCED_SIMD", 1);
  require_kept(level_in_use() == InstructionLimit::kBase);
}
#endif

// Announcing generated code to profilers looks for them through the whole library path (1 ms), and
// then costs a call per primitive.
dnnl::engine make_engine() {
  limit_onednn(instruction_limit());
  dnnl::set_jit_profiling_flags(0);
  dnnl::set_primitive_cache_capacity(kKeptPrimitives);
  return dnnl::engine(dnnl::engine::kind::cpu, 0);
}

}  // namespace

const dnnl::engine& onednn_engine() {
  static const dnnl::engine engine = make_engine();
  return engine;
}

InstructionLimit onednn_level() {
  onednn_engine();
  return level_in_use();
}

bool onednn_has_bfloat16() {
#if defined(__x86_64__)
  static const bool has = [] {
    onednn_engine();
    const dnnl::cpu_isa isa = dnnl::get_effective_cpu_isa();
    return isa == dnnl::cpu_isa::avx512_core_bf16 || isa == dnnl::cpu_isa::avx512_core_amx;
  }();
  return has;
#else
  return false;
#endif
}

dnnl::stream& onednn_stream() {
  thread_local dnnl::stream stream(onednn_engine());
  return stream;
}

int threads_worth(int64_t multiplications, int64_t numbers, int64_t most_for_one) {
  constexpr int64_t kForANumber = 8;  // Multiplications that take as long as moving one.
  return multiplications + kForANumber * numbers <= most_for_one ? 1 : intra_op_threads();
}

namespace {

using Clock = std::chrono::steady_clock;

// Multiplications in a nanosecond that one thread was seen to reach at best; 0: not seen yet.
std::atomic<double>& pace_of_one() {
  static std::atomic<double> pace{0};
  return pace;
}

bool is_limited_and_short(double multiplications) {
  if (prepare_team() != TeamState::kLimited) return false;
  const double nanoseconds = static_cast<double>(time_slice().count());
  const double pace = pace_of_one().load(std::memory_order_relaxed);
  if (pace == 0 || multiplications < pace * nanoseconds) return true;
  start_workers();
  return false;
}

}  // namespace

PrimitiveThreads::PrimitiveThreads(int64_t multiplications, int64_t numbers, int64_t most_for_one)
    : multiplications_(static_cast<double>(multiplications)),
      is_alone_(threads_worth(multiplications, numbers, most_for_one) > 1 &&
                is_limited_and_short(multiplications_)),
      begin_(is_alone_ ? Clock::now() : Clock::time_point()),
      threads_(is_alone_ ? 1 : threads_worth(multiplications, numbers, most_for_one)) {}

PrimitiveThreads::~PrimitiveThreads() {
  if (!is_alone_) return;
  const std::chrono::duration<double, std::nano> took = Clock::now() - begin_;
  const double pace = multiplications_ / std::max(took.count(), 1.0);
  if (pace > pace_of_one().load(std::memory_order_relaxed))
    pace_of_one().store(pace, std::memory_order_relaxed);
}

}  // namespace tierup::kernels
