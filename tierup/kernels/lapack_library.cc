#include "tierup/kernels/lapack_library.h"

#include <dlfcn.h>

#include <array>
#include <string>

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

 private:
  Library() {
    void* handle = open();
    // One thread: the callers spread batches themselves, and results must not depend on a count.
    if (void* set_threads = dlsym(handle, "openblas_set_num_threads"); set_threads != nullptr) {
      reinterpret_cast<void (*)(int)>(set_threads)(1);
    }
    for (size_t r = 0; r < kRoutines; ++r) {
      for (size_t t = 0; t < kTypes; ++t) {
        const std::string name =
            kLetters[t] + std::string(t < 2 ? kNames[r].real : kNames[r].complex);
        symbols_[r][t] = dlsym(handle, name.c_str());
      }
    }
  }
  static void* open() {
    for (const char* name : {"libopenblas.so.0", "libopenblas.so", "liblapack.so.3"}) {
      if (void* handle = dlopen(name, RTLD_NOW | RTLD_LOCAL); handle != nullptr) return handle;
    }
    fail(ErrorCode::kUnsupported,
         "linear algebra operators need LAPACK, which is not installed: install libopenblas0");
  }

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

}  // namespace tierup::kernels::lapack
