#include "tierup/kernels/memory/cast.h"

#include "tierup/kernels/memory/vector_casts.h"

namespace tierup::kernels {
namespace {

template <typename To, typename From>
void run(char* const* pointers, const int64_t* strides, int64_t count) {
  char* out = pointers[0];
  const char* in = pointers[1];
  if (strides[0] == sizeof(To) && strides[1] == sizeof(From)) {
    if constexpr (kIsReduced<To> != kIsReduced<From>) {
      const DenseCast vector = dense_cast(kDTypeOf<To>, kDTypeOf<From>, instruction_set());
      if (vector != nullptr) return vector(out, in, count);
    }
    To* typed_out = reinterpret_cast<To*>(out);
    const From* typed_in = reinterpret_cast<const From*>(in);
    for (int64_t i = 0; i < count; ++i) typed_out[i] = convert<To>(typed_in[i]);
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    *reinterpret_cast<To*>(out + i * strides[0]) =
        convert<To>(*reinterpret_cast<const From*>(in + i * strides[1]));
  }
}

template <typename Body>
decltype(auto) dispatch_castable(ScalarType type, const Body& body) {
  switch (type) {
    case ScalarType::kUInt16: return body(TypeTag<uint16_t>{});
    case ScalarType::kUInt32: return body(TypeTag<uint32_t>{});
    case ScalarType::kUInt64: return body(TypeTag<uint64_t>{});
    default: return dispatch_all(type, "copy_", body);
  }
}

}  // namespace

CastRun cast_run(ScalarType to, ScalarType from) {
  return dispatch_castable(to, [&](auto to_tag) -> CastRun {
    using To = typename decltype(to_tag)::type;
    return dispatch_castable(from, [&](auto from_tag) -> CastRun {
      return &run<To, typename decltype(from_tag)::type>;
    });
  });
}

}  // namespace tierup::kernels
