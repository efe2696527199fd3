#include "tierup/kernels/random/drop_elements.h"

#include "tierup/base/interrupt.h"
#include "tierup/kernels/memory/floating_work.h"

namespace tierup::kernels {

Tensor drop_elements(const Tensor& tensor, double p, Generator& generator) {
  require(p >= 0 && p <= 1, ErrorCode::kInvalidArgument,
          "dropout probability has to be between 0 and 1, but got {}", p);
  const Tensor out = clone(tensor, MemoryFormat::kContiguous);
  const auto lock = generator.lock();
  dispatch_work(out.dtype(), "dropout", [&]<typename Tag>(Tag) {
    using T = typename Tag::type;
    T* x = out.data<T>();
    for (int64_t i = 0; i < out.numel(); ++i) {
      if (i % 65536 == 0) poll_interrupt();
      const double uniform =
          static_cast<double>(generator.next64() & ((uint64_t{1} << 53) - 1)) * 0x1p-53;
      x[i] = uniform < 1 - p ? static_cast<T>(static_cast<double>(x[i]) / (1 - p)) : T{0};
    }
  });
  return out;
}

}  // namespace tierup::kernels
