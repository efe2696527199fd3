#include "tierup/kernels/linalg/lapack_library.h"

#include <dlfcn.h>

#include <array>
#include <cstdlib>
#include <mutex>
#include <string>

#include "tierup/base/instruction_limit.h"

namespace tierup::kernels::lapack {
namespace {

constexpr auto kRoutines = static_cast<size_t>(Routine::kCount);
constexpr size_t kTypes = 4;

// Names without the type letter: for real and for complex matrices.
struct Name {
  const char* real;
  const char* complex;
};
constexpr std::array<Name, kRoutines> kNames = {{
    {"potrf_", "potrf_"}, {"potri_", "potri_"}, {"potrs_", "potrs_"}, {"getrf_", "getrf_"},
    {"getrs_", "getrs_"}, {"geqrf_", "geqrf_"}, {"orgqr_", "ungqr_"}, {"ormqr_", "unmqr_"},
    {"gesdd_", "gesdd_"}, {"syevd_", "heevd_"}, {"geev_", "geev_"},   {"sytrf_", "sytrf_"},
    {"sytrs_", "sytrs_"}, {"sytrf_", "hetrf_"}, {"sytrs_", "hetrs_"}, {"gels_", "gels_"},
    {"gelsy_", "gelsy_"}, {"gelsd_", "gelsd_"}, {"gelss_", "gelss_"}, {"trsm_", "trsm_"},
}};
constexpr std::array<char, kTypes> kLetters = {'s', 'd', 'c', 'z'};

size_t type_index(ScalarType type) {
  switch (type) {
    case ScalarType::kFloat: return 0;
    case ScalarType::kDouble: return 1;
    case ScalarType::kComplexFloat: return 2;
    case ScalarType::kComplexDouble: return 3;
    default: fail_dtype("linalg", type);
  }
}

// OpenBLAS's kind of core that has what a limit allows; null for no limit.
const char* core_of(InstructionLimit limit) {
  switch (limit) {
#if defined(__x86_64__)
    case InstructionLimit::kBase: return "Nehalem";
#else
    case InstructionLimit::kBase: return "ARMV8";
#endif
    case InstructionLimit::kAvx2: return "Haswell";
    case InstructionLimit::kAvx512: return "SkylakeX";
    case InstructionLimit::kNone: break;
  }
  return nullptr;
}

// Loaded once and never unloaded: its threads and tables live as long as the process.
class Library {
 public:
  static const Library& instance() {
    static const Library library;
    return library;
  }
  void* find(Routine routine, size_t type) const {
    return symbols_[static_cast<size_t>(routine)][type];
  }
  std::unique_lock<std::mutex> enter() const {
    return is_reentrant_ ? std::unique_lock<std::mutex>() : std::unique_lock(mutex_);
  }
  std::string core() const {
    void* const ask = dlsym(handle_, "openblas_get_corename");
    return ask != nullptr ? reinterpret_cast<const char* (*)()>(ask)() : "";
  }

 private:
  Library() : handle_(open()) {
    void* const handle = handle_;
    // One thread: the callers spread batches themselves, and results must not depend on a count.
    if (void* set_threads = dlsym(handle, "openblas_set_num_threads"); set_threads != nullptr) {
      reinterpret_cast<void (*)(int)>(set_threads)(1);
    }
    // OpenBLAS built for one thread hands out its buffers without a lock.
    if (void* get_parallel = dlsym(handle, "openblas_get_parallel"); get_parallel != nullptr)
      is_reentrant_ = reinterpret_cast<int (*)()>(get_parallel)() != 0;
    for (size_t r = 0; r < kRoutines; ++r) {
      for (size_t t = 0; t < kTypes; ++t) {
        const std::string name =
            kLetters[t] + std::string(t < 2 ? kNames[r].real : kNames[r].complex);
        symbols_[r][t] = dlsym(handle, name.c_str());
      }
    }
  }
  // OpenBLAS chooses its kernels while it is loaded, and asks the environment alone.
  static void* open() {
    if (const char* core = core_of(instruction_limit())) setenv("OPENBLAS_CORETYPE", core, 1);
    for (const char* name : {"libopenblas.so.0", "libopenblas.so", "liblapack.so.3"}) {
      if (void* handle = dlopen(name, RTLD_NOW | RTLD_LOCAL); handle != nullptr) return handle;
    }
    fail(ErrorCode::kUnsupported,
         "linear algebra operators need LAPACK, which is not installed: install libopenblas0");
  }

  void* const handle_;
  bool is_reentrant_ = true;
  mutable std::mutex mutex_;  // Taken within runs of models alone, for which a fork waits.
  std::array<std::array<void*, kTypes>, kRoutines> symbols_{};
};

}  // namespace

void* find_routine(Routine routine, ScalarType type) {
  const size_t t = type_index(type);
  void* symbol = Library::instance().find(routine, t);
  require(symbol != nullptr, ErrorCode::kUnsupported,
          "the LAPACK library lacks the routine {}{}; install libopenblas0", kLetters[t],
          kNames[static_cast<size_t>(routine)].real);
  return symbol;
}

std::unique_lock<std::mutex> enter_library() { return Library::instance().enter(); }

std::string core_name() { return Library::instance().core(); }

}  // namespace tierup::kernels::lapack
