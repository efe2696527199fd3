// tierup._core: the C++ API (include/tierup, nothing else of tierup) as Python sees it.
//
// A call: arguments are read by their types' carriers (carriers.h, values.h), without copying;
// the run goes without the GIL unless such runs are short (calls.h); results are made in the kind
// of the first array among the arguments. Errors arrive as the classes of tierup._errors
// (errors.h). References that a run held are dropped where the GIL is (pending.h). What needs no
// speed is written in Python over this.
#include <nanobind/nanobind.h>
#include <tierup/c_api.h>
#include <tierup/machine.h>
#include <tierup/options.h>

#include "carriers.h"
#include "closing.h"
#include "errors.h"
#include "executor.h"
#include "explain.h"
#include "live_weights.h"
#include "model.h"
#include "pending.h"
#include "training.h"
#include "values.h"

namespace nb = nanobind;

NB_MODULE(_core, module) {
  using namespace tierup::python;
  watch_forks();
  nb::set_leak_warnings(false);  // Caches of types and of wake-ups last as long as the process.
  module.attr("version") = tierup_version();
  register_errors();
  bind_tensor(module);
  bind_values(module);
  bind_model(module);
  bind_executor(module);
  bind_explain(module);
  bind_live_weights(module);
  bind_training(module);
  // A function of its own, since an exception of a signal's handler can come between any two steps
  // of Python code.
  module.def("_end_interpreter", [] {
    ExecutorHandle::close_all();
    end_interpreter();
  });
  module.def("set_memory_limit", &tierup::set_memory_limit, nb::arg("max_bytes"),
             "Tensors of all models together may take this many bytes; 0: no limit.");
  module.def("machine_info", [] {
    const tierup::MachineInfo info = tierup::machine_info();
    nb::dict result;
    result["instruction_set"] = info.instruction_set.c_str();
    result["allowed_cores"] = info.allowed_cores;
    result["cpu_quota"] = info.cpu_quota;
    result["threads"] = info.threads;
    return result;
  });
  module.def("memory_stats", [] {
    const tierup::MemoryStats stats = tierup::memory_stats();
    nb::dict result;
    result["live_bytes"] = stats.live_bytes;
    result["peak_bytes"] = stats.peak_bytes;
    result["allocation_count"] = stats.allocation_count;
    return result;
  });
}
