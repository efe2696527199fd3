#include "buffers.h"

#include <dlfcn.h>

#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "pending.h"

namespace tierup::python {
namespace {

// PyBUF_STRIDES | PyBUF_FORMAT, and what a requester may ask for.
constexpr int kStridesAndFormat = 0x1c;
constexpr int kWantsFormat = 0x4;
constexpr int kWantsStrides = 0x18;
constexpr int kWantsShape = 0x8;
constexpr int kGetBufferSlot = 1;
constexpr int kReleaseBufferSlot = 2;

using GetBuffer = int (*)(PyObject*, Buffer*, int);
using ReleaseBuffer = void (*)(Buffer*);

GetBuffer get_buffer() {
  static const auto function =
      reinterpret_cast<GetBuffer>(dlsym(RTLD_DEFAULT, "PyObject_GetBuffer"));
  return function;
}
ReleaseBuffer release_buffer() {
  static const auto function =
      reinterpret_cast<ReleaseBuffer>(dlsym(RTLD_DEFAULT, "PyBuffer_Release"));
  return function;
}

std::optional<DType> integer_of(bool is_signed, Py_ssize_t bytes) {
  switch (bytes) {
    case 1: return is_signed ? DType::kInt8 : DType::kUInt8;
    case 2: return is_signed ? DType::kInt16 : DType::kUInt16;
    case 4: return is_signed ? DType::kInt32 : DType::kUInt32;
    case 8: return is_signed ? DType::kInt64 : DType::kUInt64;
    default: return std::nullopt;
  }
}

// Of struct's format characters; null: bytes without a format.
std::optional<DType> dtype_of(const char* format, Py_ssize_t bytes) {
  if (format == nullptr) return integer_of(false, bytes);
  std::string_view text(format);
  const bool is_big = text.starts_with('>') || text.starts_with('!');
  if (is_big && bytes > 1) {
    throw ArgumentError{false, "the buffer is big-endian: give its bytes in the machine's order"};
  }
  if (!text.empty() && std::string_view("@=<>!").find(text[0]) != std::string_view::npos) {
    text.remove_prefix(1);
  }
  if (text == "Zf") return DType::kComplex64;
  if (text == "Zd") return DType::kComplex128;
  if (text.size() != 1) return std::nullopt;
  switch (text[0]) {
    case 'e': return DType::kFloat16;
    case 'f': return DType::kFloat32;
    case 'd': return DType::kFloat64;
    case '?': return DType::kBool;
    case 'b':
    case 'h':
    case 'i':
    case 'l':
    case 'q':
    case 'n': return integer_of(true, bytes);
    case 'B':
    case 'H':
    case 'I':
    case 'L':
    case 'Q':
    case 'N': return integer_of(false, bytes);
    default: return std::nullopt;
  }
}

const char* format_of(DType dtype) {
  switch (dtype) {
    case DType::kUInt8: return "B";
    case DType::kInt8: return "b";
    case DType::kInt16: return "h";
    case DType::kInt32: return "i";
    case DType::kInt64: return "q";
    case DType::kUInt16: return "H";
    case DType::kUInt32: return "I";
    case DType::kUInt64: return "Q";
    case DType::kFloat16: return "e";
    case DType::kFloat32: return "f";
    case DType::kFloat64: return "d";
    case DType::kBool: return "?";
    case DType::kComplex64: return "Zf";
    case DType::kComplex128: return "Zd";
    default: return nullptr;
  }
}

// Copies item by item from memory with any strides.
void copy_items(char* to, const char* from, size_t item, int rank, const Py_ssize_t* shape,
                const Py_ssize_t* strides) {
  if (rank == 0) {
    std::memcpy(to, from, item);
    return;
  }
  size_t inner = item;
  for (int d = 1; d < rank; ++d) inner *= static_cast<size_t>(shape[d]);
  for (Py_ssize_t i = 0; i < shape[0]; ++i) {
    copy_items(to + static_cast<size_t>(i) * inner, from + i * strides[0], item, rank - 1,
               shape + 1, strides + 1);
  }
}

void release_capsule(PyObject* capsule) {
  auto* buffer = static_cast<Buffer*>(PyCapsule_GetPointer(capsule, nullptr));
  release_buffer()(buffer);
  delete buffer;
}

// What a memoryview of a tensor points into.
struct View {
  Tensor tensor;
  std::vector<Py_ssize_t> shape;
  std::vector<Py_ssize_t> strides;
};

int tensor_get_buffer(PyObject* object, void* out, int flags) {
  auto* buffer = static_cast<Buffer*>(out);
  buffer->owner = nullptr;
  try {
    const Tensor& source = *nb::inst_ptr<Tensor>(object);
    const char* const format = format_of(source.dtype());
    if (format == nullptr) {
      PyErr_Format(PyExc_BufferError, "buffers have no %s: take to('float32') or DLPack",
                   dtype_name(source.dtype()).c_str());
      return -1;
    }
    if ((flags & kWantsStrides) != kWantsStrides && !source.is_contiguous()) {
      PyErr_SetString(PyExc_BufferError, "the tensor is not contiguous");
      return -1;
    }
    auto view = std::make_unique<View>(View{source, {}, {}});
    const auto item = static_cast<Py_ssize_t>(dtype_size(source.dtype()));
    Py_ssize_t count = 1;
    for (size_t d = 0; d < source.shape().size(); ++d) {
      view->shape.push_back(source.shape()[d]);
      view->strides.push_back(source.strides()[d] * item);
      count *= source.shape()[d];
    }
    static char empty = 0;
    buffer->data = count == 0 ? &empty : source.data();
    buffer->bytes = count * item;
    buffer->item_bytes = item;
    buffer->is_read_only = 0;
    buffer->rank = static_cast<int>(view->shape.size());
    buffer->format = (flags & kWantsFormat) != 0 ? const_cast<char*>(format) : nullptr;
    buffer->shape = (flags & kWantsShape) != 0 ? view->shape.data() : nullptr;
    buffer->strides = (flags & kWantsStrides) == kWantsStrides ? view->strides.data() : nullptr;
    buffer->suboffsets = nullptr;
    buffer->internal = view.release();
    Py_INCREF(object);
    buffer->owner = object;
    return 0;
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_BufferError, error.what());
    return -1;
  }
}

void tensor_release_buffer(PyObject*, void* out) {
  delete static_cast<View*>(static_cast<Buffer*>(out)->internal);
}

}  // namespace

Tensor tensor_over(void* data, DType dtype, int rank, const Py_ssize_t* shape,
                   const Py_ssize_t* byte_strides, bool must_copy, Use use, PyObject* owner) {
  nb::object held = nb::steal(owner);
  const size_t item = dtype_size(dtype);
  constexpr int kMaxRank = 64;  // Of NumPy's arrays and of buffers.
  if (rank > kMaxRank) throw ArgumentError{false, "it has more than 64 dimensions"};
  const std::span<const int64_t> sizes(shape, static_cast<size_t>(rank));
  int64_t strides[kMaxRank];
  bool is_empty = false;
  for (int d = 0; d < rank; ++d) {
    const auto step = static_cast<int64_t>(byte_strides[d]);
    const auto unit = static_cast<int64_t>(item);
    is_empty = is_empty || shape[d] == 0;
    must_copy = must_copy || (shape[d] > 1 && (step < 0 || step % unit != 0));
    strides[d] = shape[d] > 1 ? step / unit : 1;
  }
  if (is_empty) return Tensor::empty(sizes, dtype);
  const size_t alignment =
      dtype == DType::kComplex64 || dtype == DType::kComplex128 ? item / 2 : item;
  if (must_copy || reinterpret_cast<uintptr_t>(data) % alignment != 0) {
    if (use == Use::kWrite) {
      throw ArgumentError{
          false, "results cannot be written there: the memory is read-only, reversed or unaligned"};
    }
    Tensor copy = Tensor::empty(sizes, dtype);
    copy_items(static_cast<char*>(copy.data()), static_cast<const char*>(data), item, rank, shape,
               byte_strides);
    return copy;
  }
  PyObject* const kept = held.ptr();
  Tensor result = Tensor::borrow(
      data, sizes, dtype, [kept] { drop_later(kept); }, std::span(strides, sizes.size()));
  held.release();
  return result;
}

Tensor read_buffer(PyObject* object, Use use) {
  if (get_buffer() == nullptr || release_buffer() == nullptr) {
    throw ArgumentError{true, "this Python offers no buffers"};
  }
  auto buffer = std::make_unique<Buffer>();
  if (get_buffer()(object, buffer.get(), kStridesAndFormat) != 0) throw nb::python_error();
  Buffer* const view = buffer.get();
  PyObject* const capsule = PyCapsule_New(buffer.release(), nullptr, release_capsule);
  if (capsule == nullptr) throw nb::python_error();
  nb::object held = nb::steal(capsule);
  const std::optional<DType> dtype = dtype_of(view->format, view->item_bytes);
  if (!dtype || static_cast<Py_ssize_t>(dtype_size(*dtype)) != view->item_bytes) {
    throw ArgumentError{true, std::string("no tensor has elements of the format '") +
                                  (view->format == nullptr ? "" : view->format) + "'"};
  }
  return tensor_over(view->data, *dtype, view->rank, view->shape, view->strides,
                     view->is_read_only != 0, use, held.release().ptr());
}

const PyType_Slot* tensor_buffer_slots() {
  static const PyType_Slot slots[] = {
      {kGetBufferSlot, reinterpret_cast<void*>(tensor_get_buffer)},
      {kReleaseBufferSlot, reinterpret_cast<void*>(tensor_release_buffer)},
      {0, nullptr}};
  return slots;
}

}  // namespace tierup::python
