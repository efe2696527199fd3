// Windows of signal processing, and vander.
#include "tierup/kernels/memory/type_promotion.h"
#include "tierup/kernels/pointwise/creation.h"
#include "tierup/ops/table/factory_arguments.h"
#include "tierup/ops/table/families.h"

namespace tierup::ops {
namespace {

namespace k = kernels;

ScalarType or_default(Dtype dtype) { return dtype.value_or(k::kDefaultDtype); }

Tensor hann(int64_t length, Dtype dtype, const IValue&, OptionalDevice, Pin) {
  return k::hamming_window(length, true, 0.5, 0.5, or_default(dtype));
}
Tensor hann_periodic(int64_t length, bool periodic, Dtype dtype, const IValue&, OptionalDevice,
                     Pin) {
  return k::hamming_window(length, periodic, 0.5, 0.5, or_default(dtype));
}
Tensor hamming(int64_t length, Dtype dtype, const IValue&, OptionalDevice, Pin) {
  return k::hamming_window(length, true, 0.54, 0.46, or_default(dtype));
}
Tensor hamming_periodic(int64_t length, bool periodic, Dtype dtype, const IValue&, OptionalDevice,
                        Pin) {
  return k::hamming_window(length, periodic, 0.54, 0.46, or_default(dtype));
}
Tensor hamming_alpha(int64_t length, bool periodic, double alpha, Dtype dtype, const IValue&,
                     OptionalDevice, Pin) {
  return k::hamming_window(length, periodic, alpha, 0.46, or_default(dtype));
}
Tensor hamming_beta(int64_t length, bool periodic, double alpha, double beta, Dtype dtype,
                    const IValue&, OptionalDevice, Pin) {
  return k::hamming_window(length, periodic, alpha, beta, or_default(dtype));
}
Tensor blackman(int64_t length, Dtype dtype, const IValue&, OptionalDevice, Pin) {
  return k::blackman_window(length, true, or_default(dtype));
}
Tensor blackman_periodic(int64_t length, bool periodic, Dtype dtype, const IValue&, OptionalDevice,
                         Pin) {
  return k::blackman_window(length, periodic, or_default(dtype));
}
Tensor bartlett(int64_t length, Dtype dtype, const IValue&, OptionalDevice, Pin) {
  return k::bartlett_window(length, true, or_default(dtype));
}
Tensor bartlett_periodic(int64_t length, bool periodic, Dtype dtype, const IValue&, OptionalDevice,
                         Pin) {
  return k::bartlett_window(length, periodic, or_default(dtype));
}
Tensor kaiser(int64_t length, Dtype dtype, const IValue&, OptionalDevice, Pin) {
  return k::kaiser_window(length, true, 12.0, or_default(dtype));
}
Tensor kaiser_periodic(int64_t length, bool periodic, Dtype dtype, const IValue&, OptionalDevice,
                       Pin) {
  return k::kaiser_window(length, periodic, 12.0, or_default(dtype));
}
Tensor kaiser_beta(int64_t length, bool periodic, double beta, Dtype dtype, const IValue&,
                   OptionalDevice, Pin) {
  return k::kaiser_window(length, periodic, beta, or_default(dtype));
}

constexpr OpRow kRows[] = {
    {"aten::hann_window(int window_length, *, ScalarType? dtype=None, Layout? layout=None, Device? "
     "device=None, bool? pin_memory=None) -> Tensor",
     boxed<&hann>},
    {"aten::hann_window.periodic(int window_length, bool periodic, *, ScalarType? dtype=None, "
     "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
     boxed<&hann_periodic>},
    {"aten::hamming_window(int window_length, *, ScalarType? dtype=None, Layout? layout=None, "
     "Device? device=None, bool? pin_memory=None) -> Tensor",
     boxed<&hamming>},
    {"aten::hamming_window.periodic(int window_length, bool periodic, *, ScalarType? dtype=None, "
     "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
     boxed<&hamming_periodic>},
    {"aten::hamming_window.periodic_alpha(int window_length, bool periodic, float alpha, *, "
     "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> "
     "Tensor",
     boxed<&hamming_alpha>},
    {"aten::hamming_window.periodic_alpha_beta(int window_length, bool periodic, float alpha, "
     "float beta, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "
     "pin_memory=None) -> Tensor",
     boxed<&hamming_beta>},
    {"aten::blackman_window(int window_length, *, ScalarType? dtype=None, Layout? layout=None, "
     "Device? device=None, bool? pin_memory=None) -> Tensor",
     boxed<&blackman>},
    {"aten::blackman_window.periodic(int window_length, bool periodic, *, ScalarType? dtype=None, "
     "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
     boxed<&blackman_periodic>},
    {"aten::bartlett_window(int window_length, *, ScalarType? dtype=None, Layout? layout=None, "
     "Device? device=None, bool? pin_memory=None) -> Tensor",
     boxed<&bartlett>},
    {"aten::bartlett_window.periodic(int window_length, bool periodic, *, ScalarType? dtype=None, "
     "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
     boxed<&bartlett_periodic>},
    {"aten::kaiser_window(int window_length, *, ScalarType? dtype=None, Layout? layout=None, "
     "Device? device=None, bool? pin_memory=None) -> Tensor",
     boxed<&kaiser>},
    {"aten::kaiser_window.periodic(int window_length, bool periodic, *, ScalarType? dtype=None, "
     "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
     boxed<&kaiser_periodic>},
    {"aten::kaiser_window.beta(int window_length, bool periodic, float beta, *, ScalarType? "
     "dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
     boxed<&kaiser_beta>},
};

}  // namespace

std::span<const OpRow> windows_rows() { return kRows; }

}  // namespace tierup::ops
