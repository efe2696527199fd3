#include "tierup/kernels/onednn_engine.h"

#include <dnnl.hpp>

namespace tierup::kernels {

const dnnl::engine& onednn_engine() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

dnnl::stream& onednn_stream() {
  thread_local dnnl::stream stream(onednn_engine());
  return stream;
}

}  // namespace tierup::kernels
