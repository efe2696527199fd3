#include "tierup/kernels/memory/cast.h"

#include <algorithm>
#include <array>

#include "tierup/kernels/memory/float8.h"
#include "tierup/kernels/memory/vector_casts.h"

namespace tierup::kernels {
namespace {

// Between a reduced type and these, PyTorch's way leads over floats.
template <typename To, typename From>
inline constexpr bool kByWayOfFloats =
    kIsReduced<To> != kIsReduced<From> && !std::is_same_v<To, float> &&
    !std::is_same_v<From, float> && !std::is_same_v<To, bool> && !std::is_same_v<From, bool> &&
    !kIsComplex<To> && !kIsComplex<From>;

template <typename To, typename From>
void run(char* const* pointers, const int64_t* strides, int64_t count);

template <typename To, typename From>
void run_by_way_of_floats(char* out, const char* in, int64_t count) {
  constexpr int64_t kBlock = 512;
  std::array<float, kBlock> floats;
  char* const middle = reinterpret_cast<char*>(floats.data());
  for (int64_t i = 0; i < count; i += kBlock) {
    const int64_t part = std::min(kBlock, count - i);
    char* const first[2] = {middle, const_cast<char*>(in) + i * sizeof(From)};
    const int64_t first_steps[2] = {sizeof(float), sizeof(From)};
    run<float, From>(first, first_steps, part);
    char* const second[2] = {out + i * sizeof(To), middle};
    const int64_t second_steps[2] = {sizeof(To), sizeof(float)};
    run<To, float>(second, second_steps, part);
  }
}

template <typename To, typename From>
void run(char* const* pointers, const int64_t* strides, int64_t count) {
  char* out = pointers[0];
  const char* in = pointers[1];
  if (strides[0] == sizeof(To) && strides[1] == sizeof(From)) {
    if constexpr (kByWayOfFloats<To, From>) return run_by_way_of_floats<To, From>(out, in, count);
    constexpr bool kTruncates =
        std::is_floating_point_v<From> && std::is_integral_v<To> && !std::is_same_v<To, bool>;
    constexpr bool kWidens =
        std::is_same_v<To, float> && std::is_unsigned_v<From> && sizeof(From) == 1;
    if constexpr (kIsReduced<To> != kIsReduced<From> || kTruncates || kWidens) {
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

template <typename Body>
decltype(auto) dispatch_float8(ScalarType type, const Body& body) {
  switch (type) {
    case ScalarType::kFloat8E5M2: return body.template operator()<&kE5M2>();
    case ScalarType::kFloat8E4M3FNUZ: return body.template operator()<&kE4M3FNUZ>();
    case ScalarType::kFloat8E5M2FNUZ: return body.template operator()<&kE5M2FNUZ>();
    case ScalarType::kFloat8E8M0FNU: return body.template operator()<&kE8M0FNU>();
    default: return body.template operator()<&kE4M3FN>();
  }
}

bool is_float8(ScalarType type) {
  switch (type) {
    case ScalarType::kFloat8E4M3FN:
    case ScalarType::kFloat8E5M2:
    case ScalarType::kFloat8E4M3FNUZ:
    case ScalarType::kFloat8E5M2FNUZ:
    case ScalarType::kFloat8E8M0FNU: return true;
    default: return false;
  }
}

// As floats of 32 bits, by way of which PyTorch converts from and to every other type.
template <const Float8Format* format>
const std::array<float, 256>& values_of() {
  static const std::array<float, 256> values = float8_values(*format);
  return values;
}

template <const Float8Format* to, typename From>
void run_to_float8(char* const* pointers, const int64_t* strides, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    const From value = *reinterpret_cast<const From*>(pointers[1] + i * strides[1]);
    *reinterpret_cast<uint8_t*>(pointers[0] + i * strides[0]) =
        to_float8(*to, convert<float>(value));
  }
}

template <typename To, const Float8Format* from>
void run_from_float8(char* const* pointers, const int64_t* strides, int64_t count) {
  const std::array<float, 256>& values = values_of<from>();
  for (int64_t i = 0; i < count; ++i) {
    const auto bits = *reinterpret_cast<const uint8_t*>(pointers[1] + i * strides[1]);
    *reinterpret_cast<To*>(pointers[0] + i * strides[0]) = convert<To>(values[bits]);
  }
}

template <const Float8Format* to, const Float8Format* from>
void run_between_float8(char* const* pointers, const int64_t* strides, int64_t count) {
  const std::array<float, 256>& values = values_of<from>();
  for (int64_t i = 0; i < count; ++i) {
    const auto bits = *reinterpret_cast<const uint8_t*>(pointers[1] + i * strides[1]);
    *reinterpret_cast<uint8_t*>(pointers[0] + i * strides[0]) = to_float8(*to, values[bits]);
  }
}

CastRun run_from_float8(ScalarType to, ScalarType from) {
  return dispatch_float8(from, [&]<const Float8Format * kFrom>() -> CastRun {
    if (is_float8(to)) {
      return dispatch_float8(to, [&]<const Float8Format * kTo>() -> CastRun {
        return &run_between_float8<kTo, kFrom>;
      });
    }
    return dispatch_castable(to, [&](auto to_tag) -> CastRun {
      return &run_from_float8<typename decltype(to_tag)::type, kFrom>;
    });
  });
}

CastRun run_to_float8(ScalarType to, ScalarType from) {
  return dispatch_float8(to, [&]<const Float8Format * kTo>() -> CastRun {
    return dispatch_castable(from, [&](auto from_tag) -> CastRun {
      return &run_to_float8<kTo, typename decltype(from_tag)::type>;
    });
  });
}

}  // namespace

CastRun cast_run(ScalarType to, ScalarType from) {
  if (is_float8(from)) return run_from_float8(to, from);
  if (is_float8(to)) return run_to_float8(to, from);
  return dispatch_castable(to, [&](auto to_tag) -> CastRun {
    using To = typename decltype(to_tag)::type;
    return dispatch_castable(from, [&](auto from_tag) -> CastRun {
      return &run<To, typename decltype(from_tag)::type>;
    });
  });
}

}  // namespace tierup::kernels
