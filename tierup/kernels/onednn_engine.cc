#include "tierup/kernels/onednn_engine.h"

#include <dnnl.hpp>

namespace tierup::kernels {

namespace {

// Announcing generated code to profilers looks for them through the whole library path (1 ms), and
// then costs a call per primitive.
dnnl::engine make_engine() {
  dnnl::set_jit_profiling_flags(0);
  return dnnl::engine(dnnl::engine::kind::cpu, 0);
}

}  // namespace

const dnnl::engine& onednn_engine() {
  static const dnnl::engine engine = make_engine();
  return engine;
}

dnnl::stream& onednn_stream() {
  thread_local dnnl::stream stream(onednn_engine());
  return stream;
}

}  // namespace tierup::kernels
