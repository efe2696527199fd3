// What our own convolutions do to a result before they store it.
#pragma once

#include <cstdint>

namespace tierup::kernels::net {

struct StoreStep {
  enum class Kind : uint8_t {
    kSum,
    kRelu,
    kClip,
    kLinear,
    kSwish,
    kHardswish,
    kGeluErf,
    kGeluTanh,
    kLeakyRelu,
    kElu,
    kSigmoid,
    kTanh
  };
  Kind kind;  // kSum adds what lies in the result's place.
  float alpha = 0;
  float beta = 0;
};

}  // namespace tierup::kernels::net
